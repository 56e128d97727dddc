/**
 * Parses a URL; null if it is invalid. Used instead of `URL.canParse`, which rejects letters such as ü once Node 20 or
 * 22 has optimised it.
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

/** Whether this is an HTTP URL with a user part, by which error trackers identify the sender (a DSN). */
export const isDsn = (text: string): boolean => isUrl(text.replace(/^(https?:\/\/)[^/\\?#@\s]*@/i, '$1'), ['http', 'https'])

const MASK = '*****'

/** A URL with a user part, with user and password masked. */
export function maskCredentials(url: string): string {
  const at = url.indexOf('://') + 3
  const authority = url.slice(at).split(/[/?#]/, 1)[0] as string
  return `${url.slice(0, at)}${MASK}:${MASK}@${authority.slice(authority.lastIndexOf('@') + 1)}${url.slice(at + authority.length)}`
}
