import type { FastifyRequest } from 'fastify'
import type { Links } from '../links.js'

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/**
 * Scheme, host and port as the client used them, and the path prefix of the service; Fastify trusts forwarded ones only
 * from a trusted proxy (G-58, SEC-28). An invalid Host header gives the configured URL's origin.
 */
export function originOf(request: FastifyRequest, { base, prefix }: Pick<Links, 'base' | 'prefix'>): string {
  const origin = HOST.test(request.host) ? `${request.protocol === 'https' ? 'https' : 'http'}://${request.host}` : new URL(base).origin
  return origin + prefix
}

/** A request's URL without the path prefix, whether or not the proxy in front has removed it already. */
export const withoutPrefix = (url: string, prefix: string): string =>
  prefix !== '' && url.startsWith(prefix) && /^(?:$|[/?])/.test(url.slice(prefix.length)) ? url.slice(prefix.length).replace(/^(?!\/)/, '/') : url
