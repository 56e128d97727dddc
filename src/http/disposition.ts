/** `Content-Disposition` of a download under any name: as it is where that is safe, else with a plain stand-in and the whole name encoded (RFC 6266, SEC-70). */
export function attachment(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/gu, '_')
  const value = `attachment; filename="${plain}"`
  if (plain === filename) return value
  const encoded = encodeURIComponent(filename.toWellFormed()).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
  return `${value}; filename*=UTF-8''${encoded}`
}
