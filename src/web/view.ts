import { randomBytes } from 'node:crypto'
import { parseCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Session, sessionValue } from '../access/sessions.js'
import type { Context } from '../context.js'
import { callerOfSession } from '../http/caller.js'
import { urlOfRouter } from '../lib/text/byte-path.js'
import { messagesFor } from '../services/core/broadcast-messages.js'
import type { KnownSettings } from '../services/core/settings-cache.js'
import { languageOf } from './language/language.js'
import type { PageView } from './page.js'
import { dismissedCookie, flashCookie, readDismissed, readFlash, setCookie, visitorCookie } from './session/cookies.js'
import { formTokenFor, isFromHere } from './session/form-token.js'
import { proxiedPerson } from './session/proxied.js'
import { readTheme, themeCookie } from './session/theme.js'

/** What the forms of a browser are tied to: its session, or else its cookie of a visitor. */
export const seedOf = (ctx: Pick<Context, 'links'>, { headers }: FastifyRequest): string | undefined =>
  sessionValue(ctx, headers) ?? parseCookie(headers.cookie ?? '')[visitorCookie(ctx)]

/** What the tokens of forms are made for: also whom an administrator acts as, so that no form is sent as another person. */
export const formSeedOf = (seed: string, session: Session | null) => (session?.impersonator ? `${seed} as ${session.caller.user.id}` : seed)

/** What the components of a page need. */
export async function viewOf(ctx: Context, session: Session | null, request: FastifyRequest, reply: FastifyReply): Promise<PageView> {
  const { settings } = ctx.caches
  return viewWith({ settings: await settings.read(), broadcasts: await settings.broadcasts() }, ctx, session, request, reply)
}

/** The same with given settings and messages. */
export function viewWith(
  { settings, broadcasts }: KnownSettings,
  ctx: Context,
  session: Session | null,
  request: FastifyRequest,
  reply: FastifyReply,
): PageView {
  const cookies = parseCookie(request.headers.cookie ?? '')
  const flash = readFlash(cookies[flashCookie(ctx)])
  const dismissed = readDismissed(cookies[dismissedCookie(ctx)])
  const [path = '/'] = request.url.split('?', 1)
  let seed = seedOf(ctx, request)
  let token: string | undefined
  let [page, keys] = ['', 0]
  return {
    links: ctx.links,
    viewer: callerOfSession(session).user,
    avatarService: ctx.caches.settings.avatarServiceOf(settings),
    session,
    settings,
    now: ctx.now(),
    address: urlOfRouter(request.url),
    flash,
    broadcasts: messagesFor(broadcasts, path, ctx.now()).filter(({ id }) => !dismissed.includes(id)),
    dismissed,
    browser: seed,
    proxied: proxiedPerson(ctx, request),
    submitted: null,
    fromHere: isFromHere(ctx, request),
    searchAt: '/search',
    frame: { band: null, project: null, openRequests: 0 },
    language: languageOf(session?.language, request.headers['accept-language']),
    theme: readTheme(cookies[themeCookie(ctx)]),
    formToken() {
      if (seed === undefined) {
        seed = randomBytes(24).toString('base64url')
        setCookie(ctx, reply, { name: visitorCookie(ctx), value: seed })
      }
      // one for a page: its forms are many, and random bytes are not compressed
      token ??= formTokenFor(ctx, formSeedOf(seed, session))
      return token
    },
    formKey() {
      page ||= randomBytes(12).toString('base64url')
      return `${page}-${keys++}`
    },
  }
}
