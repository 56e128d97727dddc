import type { FastifyRequest } from 'fastify'
import { ANONYMOUS, type Caller } from '../access/actor.js'
import { authenticate } from '../access/authenticate.js'
import { findSession, type Session, sessionValue } from '../access/sessions.js'
import type { Context } from '../context.js'
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

/** The caller of a request with a session: anonymous before the second factor. */
export const callerOfSession = (session: Session | null): Caller => (session && !session.awaitsSecondFactor ? session.caller : ANONYMOUS)

/**
 * Authenticates a GET outside /api/v4 by credentials in the headers or the query, which must be valid for a GET of `path`
 * in the API, or else by the session of a browser.
 */
export async function callerOf(ctx: Context, request: FastifyRequest, path: string): Promise<Caller> {
  const bag: ParameterBag = Object.assign(emptyParameterBag(), request.query as ParameterBag)
  const caller = await authenticate(ctx, request.headers, bag, { method: 'GET', path }, request.ip)
  return caller.user ? caller : callerOfSession(await sessionOf(ctx, request))
}
