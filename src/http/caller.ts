import type { FastifyRequest } from 'fastify'
import { ANONYMOUS, type Caller } from '../access/actor.js'
import { authenticate } from '../access/authenticate.js'
import { findSession, needsSecondFactor, type Session, sessionValue } from '../access/sessions.js'
import type { Context } from '../context.js'
import { forbidden } from '../failures.js'
import { emptyParameterBag, type ParameterBag } from './form.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The session of the browser, once looked up; null without one. */
    session?: Promise<Session | null>
  }
}

/** The session of a request, looked up once. */
export function sessionOf(ctx: Context, request: FastifyRequest): Promise<Session | null> {
  request.session ??= findSession(ctx, sessionValue(ctx, request.headers), request.ip)
  return request.session
}

/** The caller of a page with a session: anonymous before the second factor. */
export const callerOfSession = (session: Session | null): Caller => (session && !session.awaitsSecondFactor ? session.caller : ANONYMOUS)

/**
 * Authenticates a GET outside /api/v4 by credentials in the headers or the query, which must be valid for a GET of `path`
 * in the API, or else by the session of a browser.
 */
export async function callerOf(ctx: Context, request: FastifyRequest, path: string): Promise<Caller> {
  const bag: ParameterBag = Object.assign(emptyParameterBag(), request.query as ParameterBag)
  const known = await authenticate(ctx, request.headers, bag, { method: 'GET', path }, request.ip)
  if (known.user) return known
  const session = await sessionOf(ctx, request)
  const caller = callerOfSession(session)
  // what a session cannot open as a page it opens nowhere (WB-13, WB-24)
  if (caller.user && session?.passwordExpired) throw forbidden(`Change your password first: ${ctx.links.base}/-/profile/password/new`)
  if (caller.user && session && needsSecondFactor(session, ctx.now()))
    throw forbidden(`Set up a second factor first: ${ctx.links.base}/-/profile/two_factor_auth`)
  return caller
}
