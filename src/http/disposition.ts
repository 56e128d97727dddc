/**
 * `Content-Disposition` of a download: the file name itself if it is safe, otherwise a plain substitute together with
 * the encoded name (RFC 6266, SEC-70).
 */
export function attachment(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/gu, '_')
  const value = `attachment; filename="${plain}"`
  if (plain === filename) return value
  const encoded = encodeURIComponent(filename.toWellFormed()).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
  return `${value}; filename*=UTF-8''${encoded}`
}

const ARCHIVE_TYPES = { tar: 'application/x-tar', 'tar.gz': 'application/gzip', 'tar.bz2': 'application/x-bzip2', zip: 'application/zip' }

/** The type and name of an archive. */
export const archiveHeaders = ({ kind, filename }: { kind: keyof typeof ARCHIVE_TYPES; filename: string }) => ({
  'content-type': ARCHIVE_TYPES[kind],
  'content-disposition': attachment(filename),
})
