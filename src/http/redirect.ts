import type { FastifyReply } from 'fastify'
import { noSuchRoute } from '../failures.js'

/**
 * An address with a scheme, which may lead to another site: one of the settings, of a provider, of a release link, or
 * that an application has registered (SEC-335). Never make one of what a caller sends.
 */
export class WholeAddress {
  readonly href: string

  constructor(href: string) {
    const [, scheme] = /^([a-z][a-z\d+.-]*):/i.exec(href) ?? []
    if (scheme === undefined || /^(?:javascript|data|vbscript|blob|file)$/i.test(scheme)) throw noSuchRoute()
    this.href = escaped(href, /[^\x21-\x7e]/gu)
  }
}

/** Whether a text is a path of this service and nothing else: no host, no backslash, no dot segment, no control character. */
export const isLocalPath = (text: string): boolean =>
  /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(text) && !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(text.split(/[?#]/, 1).join(''))

const escaped = (text: string, characters: RegExp) => text.toWellFormed().replace(characters, encodeURIComponent)

/**
 * Leads to a path of this service, or to a whole address: the only place that writes a `Location` (SEC-335). `before`
 * stands before a path: the prefix of the service or its base URL.
 */
export function redirect(
  reply: FastifyReply,
  { to, before, status }: { to: string | WholeAddress; before: string; status: 301 | 302 | 303 },
): FastifyReply {
  if (to instanceof WholeAddress) return reply.redirect(to.href, status)
  // the backslash, too, which browsers take for a slash
  const path = escaped(to, /[^\x21-\x5b\x5d-\x7e]/gu)
  if (!isLocalPath(path)) throw noSuchRoute()
  return reply.redirect(before + path, status)
}
