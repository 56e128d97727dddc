import { parseUrl } from '../../../lib/url.js'

/** Where an application without an address of its own is sent: the code is shown to copy (RFC 8252 calls it out of band). */
export const NATIVE = 'urn:ietf:wg:oauth:2.0:oob'

const MAX_LENGTH = 2_000
/** Schemes that do something in the browser itself. */
const FORBIDDEN = new Set(['about:', 'blob:', 'data:', 'file:', 'filesystem:', 'javascript:', 'vbscript:', 'view-source:', 'ws:', 'wss:'])

/** What is wrong with an address that an application registers; null if nothing is (CR-31). */
export function redirectUriFault(uri: string): string | null {
  if (uri === NATIVE) return null
  if (uri.length > MAX_LENGTH) return `is too long (maximum is ${MAX_LENGTH} characters)`
  const url = parseUrl(uri)
  if (!url || !/^[\x21-\x7e]+$/.test(uri)) return 'must be an absolute URI'
  if (uri.includes('#')) return 'cannot contain a fragment'
  if (FORBIDDEN.has(url.protocol)) return 'is forbidden by the server'
  if (/^https?:$/.test(url.protocol) && (url.username !== '' || url.password !== '')) return 'cannot contain a password'
  return null
}

const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::\d{1,5})?(?=[/?]|$)/

/**
 * Whether an address is one of those registered: the same text. Programs on the machine of the user listen on any free port, so
 * that of a loopback address does not count (RFC 8252, section 7.3).
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  const withoutPort = (text: string) => text.replace(LOOPBACK, '$1')
  return (
    redirectUriFault(uri) === null && registered.some((known) => known === uri || (LOOPBACK.test(uri) && withoutPort(known) === withoutPort(uri)))
  )
}

/** An address with parameters added. */
export function withParameters(uri: string, parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`
}
