/**
 * The URL, or null when the text is none. In place of `URL.canParse`, which refuses letters like ü once Node 20 or 22
 * has optimised it.
 */
export function parseUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base)
  } catch {
    return null
  }
}

/**
 * Whether this is an absolute URL of one of these schemes, without control characters, white space or a user part
 * (SEC-64).
 */
export function isUrl(text: string, schemes: readonly string[]): boolean {
  const [, scheme = '', authority = ''] = /^([a-z]+):\/\/([^/\\?#]+)/i.exec(text) ?? []
  if (!schemes.includes(scheme.toLowerCase()) || authority.includes('@')) return false
  return !/[\s\p{Cc}\p{Surrogate}]/u.test(text) && parseUrl(text) !== null
}

/** The same over HTTP with a user part, by which error trackers identify the sender. */
export const isDsn = (text: string): boolean => isUrl(text.replace(/^(https?:\/\/)[^/\\?#@\s]*@/i, '$1'), ['http', 'https'])
