/**
 * A `catch` handler that returns this value for a missing file; a folder in place of a file, or a name that is too
 * long, counts as missing too.
 */
export function ignoreMissing<T>(value: T) {
  return (fault: NodeJS.ErrnoException): T => {
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP'].includes(fault.code ?? '')) return value
    throw fault
  }
}
