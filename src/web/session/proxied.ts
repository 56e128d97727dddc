import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.js'
import { addressFilter } from '../../lib/networks.js'
import { cleanProfile, type Profile } from '../../services/identity/sign-in/sign-on.js'

const MAX_NAME = 255

/**
 * The person whom a proxy has authenticated, as a header says (WB-53). The peer of the connection itself must be the proxy:
 * what `X-Forwarded-For` names is not asked.
 */
export function proxiedPerson({ config }: Pick<Context, 'config'>, { headers, socket }: FastifyRequest): Profile | null {
  const { header } = config.signOn
  if (!header) return null
  const named = (name: string) => textOf(headers[name.toLowerCase()])
  const username = named(header.username)
  if (username === '' || username.length > MAX_NAME || !addressFilter(header.from)(socket.remoteAddress ?? '')) return null
  const email = header.email === undefined ? '' : named(header.email)
  return cleanProfile({ uid: username, username, name: username, email, verified: true, groups: [] })
}

/** A header, which Node.js reads as Latin-1 and proxies send as UTF-8; empty if it is there twice. */
function textOf(value: string | string[] | undefined): string {
  if (typeof value !== 'string') return ''
  return Buffer.from(value, 'latin1').toString('utf8').trim()
}
