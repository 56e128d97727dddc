import * as ldap from 'ldapjs'

type Attributes = Record<string, string | string[]>

/**
 * A directory with entries that a test may change. Only those who have bound with a password may search; a bind without
 * one succeeds and proves nothing, as the standard has it.
 */
export async function ldapServer() {
  const directory = {
    url: '',
    /** DN → attributes; `userPassword` opens the entry. */
    entries: new Map<string, Attributes>(),
    /** Filters of the searches so far. */
    filters: [] as string[],
    /** Whether it answers "busy". */
    busy: false,
    close: () => server.close(() => undefined),
  }
  const server = ldap.createServer()
  const normal = (dn: { toString(): string }) => dn.toString().replace(/, */g, ',').toLowerCase()
  const entryOf = (dn: string) => [...directory.entries].find(([own]) => normal(own) === dn)

  server.bind('', (request, response, next) => {
    if (directory.busy) return next(new ldap.BusyError('busy'))
    const password = request.credentials
    const [, entry] = entryOf(normal(request.dn)) ?? []
    if (password !== '' && entry?.['userPassword'] !== password) return next(new ldap.InvalidCredentialsError())
    response.end()
    return next()
  })
  server.search('', (request, response, next) => {
    if (normal(request.connection.ldap.bindDN) === 'cn=anonymous') return next(new ldap.InsufficientAccessRightsError())
    const base = normal(request.dn)
    directory.filters.push(request.filter.toString())
    const isBase = /^(0|base)/.test(String(request.scope))
    if (isBase && !entryOf(base)) return next(new ldap.NoSuchObjectError(base))
    for (const [dn, { userPassword: _, ...attributes }] of directory.entries) {
      const isBelow = normal(dn) === base || (!isBase && normal(dn).endsWith(`,${base}`))
      if (isBelow && request.filter.matches(attributes)) response.send({ dn, attributes })
    }
    response.end()
    return next()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  directory.url = server.url
  return directory
}
