import type { FastifyRequest } from 'fastify'
import { ANONYMOUS, type Caller } from '../../access/actor.js'
import { findSession, type Session, sessionValue } from '../../access/sessions.js'
import type { Context } from '../../context.js'

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
