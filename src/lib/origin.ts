import type { FastifyRequest } from 'fastify'
import type { Links } from '../links.js'

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/**
 * Scheme, host and port as the client used them, with the path prefix of the service; Fastify uses forwarded values
 * only from a trusted proxy (G-58, SEC-28). An invalid Host header yields the origin of the configured URL.
 */
export function originOf(request: FastifyRequest, { base, prefix }: Pick<Links, 'base' | 'prefix'>): string {
  const origin = HOST.test(request.host) ? `${request.protocol === 'https' ? 'https' : 'http'}://${request.host}` : new URL(base).origin
  return origin + prefix
}

/** The URL of a request without the path prefix, whether or not the proxy has already removed it. */
export const withoutPrefix = (url: string, prefix: string): string =>
  prefix !== '' && url.startsWith(prefix) && /^(?:$|[/?])/.test(url.slice(prefix.length)) ? url.slice(prefix.length).replace(/^(?!\/)/, '/') : url
