import { stringifySetCookie } from 'cookie'
import type { FastifyReply } from 'fastify'
import type { Context } from '../../context.js'
import type { Flash } from '../page.js'

const isSecure = ({ links }: Pick<Context, 'links'>) => links.base.startsWith('https:')
export const cookieName = (ctx: Pick<Context, 'links'>, name: string) => `${isSecure(ctx) ? '__Host-' : ''}roost_${name}`

/** The cookie of a visitor who is not signed in, which their forms are tied to. */
export const visitorCookie = (ctx: Pick<Context, 'links'>) => cookieName(ctx, 'visitor')
/** The cookie of the sentence on the next page. */
export const flashCookie = (ctx: Pick<Context, 'links'>) => cookieName(ctx, 'flash')

/** The cookie with the ids of the messages that were dismissed. */
export const dismissedCookie = (ctx: Pick<Context, 'links'>) => cookieName(ctx, 'dismissed')

/** Sets or removes a cookie that no script reads and that other sites do not send (WB-10). */
export function setCookie(
  ctx: Pick<Context, 'links'>,
  reply: FastifyReply,
  { name, value, maxAge }: { name: string; value: string | null; maxAge?: number | undefined },
): void {
  const text = stringifySetCookie({
    name,
    value: value ?? '',
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure(ctx),
    path: '/',
    ...(value === null ? { maxAge: 0 } : maxAge !== undefined && { maxAge }),
  })
  // Fastify keeps several of this header
  reply.header('set-cookie', text)
}

const MAX_FLASH = 500

export const flashText = ({ kind, text }: Flash): string => `${kind === 'alert' ? '!' : '.'}${text.slice(0, MAX_FLASH)}`

/** Reads a flash cookie; null for anything else. */
export function readFlash(value: string | undefined): Flash | null {
  if (!value || value.length < 2 || value.length > MAX_FLASH + 1) return null
  return { kind: value.startsWith('!') ? 'alert' : 'notice', text: value.slice(1) }
}

/** The most messages that a browser remembers as dismissed. */
const MAX_DISMISSED = 50
export const YEAR_S = 365 * 86_400

/** The ids of the messages that were dismissed. */
export const readDismissed = (value: string | undefined): number[] =>
  (value ?? '')
    .split('.', MAX_DISMISSED)
    .filter((part) => /^\d{1,15}$/.test(part))
    .map(Number)

/** The cookie after one more message is dismissed. */
export const withDismissed = (ctx: Pick<Context, 'links'>, dismissed: readonly number[], id: number) => ({
  name: dismissedCookie(ctx),
  value: [id, ...dismissed.filter((other) => other !== id)].slice(0, MAX_DISMISSED).join('.'),
  maxAge: YEAR_S,
})
