import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.js'
import { refused } from '../../failures.js'
import { addressFilter } from '../../lib/networks.js'
import { cleanProfile, type Profile } from '../../services/identity/sign-in/sign-on.js'

const MAX_NAME = 255

/**
 * The person whom a proxy has authenticated, as a header says (WB-53). The peer of the connection itself must be the proxy:
 * what `X-Forwarded-For` names is not asked.
 */
export function proxiedPerson({ config }: Pick<Context, 'config'>, request: FastifyRequest): Profile | null {
  const header = trustedHeader(config, request)
  if (!header) return null
  const named = (name: string) => textOf(valuesOf(request, name))
  const username = named(header.username)
  if (username === '' || username.length > MAX_NAME) return null
  const email = header.email === undefined ? '' : named(header.email)
  return cleanProfile({ uid: username, username, name: username, email, verified: true, groups: [] })
}

/** Refuses a request in which the proxy has left a header of somebody else beside its own (WB-53). */
export function checkProxied({ config }: Pick<Context, 'config'>, request: FastifyRequest): void {
  const header = trustedHeader(config, request)
  for (const name of header ? [header.username, header.email] : [])
    if (name !== undefined && valuesOf(request, name).length > 1) throw refused(`The header ${name} is there more than once`)
}

/** The configured header, if the peer may send it. */
const trustedHeader = ({ signOn: { header } }: Context['config'], { socket }: FastifyRequest) =>
  header && addressFilter(header.from)(socket.remoteAddress ?? '') ? header : undefined

/** All values of a header: where Node.js does not know it, `headers` has them as one text. */
const valuesOf = ({ raw }: FastifyRequest, name: string): string[] => raw.headersDistinct[name.toLowerCase()] ?? []

/** The value of a header, which Node.js reads as Latin-1 and proxies send as UTF-8; empty unless there is one. */
const textOf = ([value = '', ...more]: string[]): string => (more.length > 0 ? '' : Buffer.from(value, 'latin1').toString('utf8').trim())
