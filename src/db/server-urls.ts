import { parseUrl } from '../lib/url.js'

/** A URL that cannot be used as it is; the message says why. */
class BadDatabaseUrl extends Error {
  override name = 'BadDatabaseUrl'
}

const MAX_HOSTS = 16

/** What a URL of Postgres names: a server each, and whether it must be one that takes writes. */
export interface NamedServers {
  urls: [string, ...string[]]
  writable: boolean
}

/**
 * Reads a URL that may name several hosts, as libpq writes them: `postgresql://user@one:5432,two/name`, with
 * `target_session_attrs` (`any`, `read-write` or `primary`). With several hosts the one that takes writes is meant.
 */
export function serversOf(url: string): NamedServers {
  const [, scheme, user = '', hosts = '', rest = ''] = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#@]*)(.*)$/.exec(url) ?? []
  if (scheme === undefined) throw new BadDatabaseUrl('is not a postgres URL')
  const named = hosts.split(',')
  if (named.length > MAX_HOSTS) throw new BadDatabaseUrl(`names more than ${MAX_HOSTS} hosts`)
  if (named.length > 1 && named.includes('')) throw new BadDatabaseUrl('has an empty host')
  let wanted: string | null = null
  const urls = named.map((host) => {
    const one = `${scheme}${user}${host}${rest}`
    const parsed = parseUrl(one)
    if (!parsed) throw new BadDatabaseUrl('is not a postgres URL')
    if (!parsed.searchParams.has('target_session_attrs')) return one
    wanted = parsed.searchParams.get('target_session_attrs')
    parsed.searchParams.delete('target_session_attrs')
    return parsed.href
  }) as NamedServers['urls']
  if (wanted !== null && !['any', 'read-write', 'primary'].includes(wanted))
    throw new BadDatabaseUrl(`has target_session_attrs=${wanted}, which is none of any, read-write and primary`)
  return { urls, writable: wanted === null ? urls.length > 1 : wanted !== 'any' }
}

/** What is wrong with such a URL, as a predicate; null: nothing. */
export function faultOfUrl(url: string): string | null {
  try {
    serversOf(url)
    return null
  } catch (error) {
    return (error as BadDatabaseUrl).message
  }
}
