/** A missing file has this value; a folder read as a file, or a name too long for the disk, counts as missing too. */
export function ignoreMissing<T>(value: T) {
  return (fault: NodeJS.ErrnoException): T => {
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP'].includes(fault.code ?? '')) return value
    throw fault
  }
}
