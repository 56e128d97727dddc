import type { FastifyRequest } from 'fastify'
import type { Caller } from '../access/actor.js'
import { authenticate } from '../access/authenticate.js'
import type { Context } from '../context.js'
import { emptyParameterBag, type ParameterBag } from './form.js'

/**
 * Authenticates a request outside /api/v4 by credentials in the headers or the query, which must be valid for a GET of
 * `path` in the API.
 */
export function callerOf(ctx: Context, request: FastifyRequest, path: string): Promise<Caller> {
  const bag: ParameterBag = Object.assign(emptyParameterBag(), request.query as ParameterBag)
  return authenticate(ctx, request.headers, bag, { method: 'GET', path }, request.ip)
}
