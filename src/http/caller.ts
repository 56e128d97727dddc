import type { FastifyRequest } from 'fastify'
import type { Caller } from '../access/actor.js'
import { authenticate } from '../access/authenticate.js'
import { findSession, sessionValue } from '../access/sessions.js'
import type { Context } from '../context.js'
import { emptyParameterBag, type ParameterBag } from './form.js'

/**
 * Authenticates a GET outside /api/v4 by credentials in the headers or the query, which must be valid for a GET of `path`
 * in the API, or else by the session of a browser.
 */
export async function callerOf(ctx: Context, request: FastifyRequest, path: string): Promise<Caller> {
  const bag: ParameterBag = Object.assign(emptyParameterBag(), request.query as ParameterBag)
  const caller = await authenticate(ctx, request.headers, bag, { method: 'GET', path }, request.ip)
  if (caller.user) return caller
  const session = await findSession(ctx, sessionValue(ctx, request.headers), request.ip)
  return session && !session.awaitsSecondFactor ? session.caller : caller
}
