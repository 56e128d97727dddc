import type { FastifyRequest } from 'fastify'

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/** Scheme, host and port as the client used them; Fastify believes forwarded ones only from a trusted proxy (G-58, SEC-28). An odd Host header gives the configured URL's origin. */
export function originOf(request: FastifyRequest, base: string): string {
  return HOST.test(request.host) ? `${request.protocol === 'https' ? 'https' : 'http'}://${request.host}` : new URL(base).origin
}
