import type { FastifyRequest } from 'fastify'

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/** Scheme, host and port as the client used them; forwarded ones only from a trusted proxy (G-58, SEC-28). An odd Host header gives the configured URL's origin. */
export function originOf(request: FastifyRequest, trustedProxies: readonly string[], base: string): string {
  const trusted = trustedProxies.includes(request.socket.remoteAddress ?? '')
  const forwarded = (name: string) =>
    trusted
      ? String(request.headers[name] ?? '')
          .split(',', 1)[0]
          ?.trim()
      : ''
  const host = forwarded('x-forwarded-host') || request.headers.host || ''
  if (!HOST.test(host)) return new URL(base).origin
  return `${forwarded('x-forwarded-proto') === 'https' ? 'https' : 'http'}://${host}`
}
