import { parseUrl } from '../lib/url.js'

/** An unusable URL; the message is a predicate that says why. */
class InvalidDatabaseUrl extends Error {
  override name = 'InvalidDatabaseUrl'
}

const MAX_HOSTS = 16

/** The servers of a Postgres URL, one URL each, and whether the one in use must accept writes. */
export interface ServerList {
  urls: [string, ...string[]]
  writable: boolean
}

/**
 * Parses a URL that may name several hosts in the syntax of libpq, `postgresql://user@one:5432,two/name`, with
 * `target_session_attrs` of `any`, `read-write` or `primary`. With several hosts the default is the one that accepts
 * writes.
 */
export function parseServers(url: string): ServerList {
  const [, scheme, user = '', hosts = '', rest = ''] = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#@]*)(.*)$/.exec(url) ?? []
  if (scheme === undefined) throw new InvalidDatabaseUrl('is not a postgres URL')
  const hostList = hosts.split(',')
  if (hostList.length > MAX_HOSTS) throw new InvalidDatabaseUrl(`names more than ${MAX_HOSTS} hosts`)
  if (hostList.length > 1 && hostList.includes('')) throw new InvalidDatabaseUrl('has an empty host')
  let targetSessionAttrs: string | null = null
  const urls = hostList.map((host) => {
    const one = `${scheme}${user}${host}${rest}`
    const parsed = parseUrl(one)
    if (!parsed) throw new InvalidDatabaseUrl('is not a postgres URL')
    if (!parsed.searchParams.has('target_session_attrs')) return one
    targetSessionAttrs = parsed.searchParams.get('target_session_attrs')
    parsed.searchParams.delete('target_session_attrs')
    return parsed.href
  }) as ServerList['urls']
  if (targetSessionAttrs !== null && !['any', 'read-write', 'primary'].includes(targetSessionAttrs))
    throw new InvalidDatabaseUrl(`has target_session_attrs=${targetSessionAttrs}, which is none of any, read-write and primary`)
  return { urls, writable: targetSessionAttrs === null ? urls.length > 1 : targetSessionAttrs !== 'any' }
}

/** What is wrong with a URL, as a predicate; null if nothing is. */
export function databaseUrlFault(url: string): string | null {
  try {
    parseServers(url)
    return null
  } catch (error) {
    return (error as InvalidDatabaseUrl).message
  }
}
