import type { FastifyRequest } from 'fastify'
import { unauthenticated } from '../../failures.js'
import type { ParameterBag } from '../../http/form.js'

/** The token of a call, in its header or as `access_token`. */
export function bearerOf({ headers, query, body }: FastifyRequest): string {
  const parameters = { ...(query as ParameterBag), ...(body as ParameterBag | undefined) }
  const bearer = /^Bearer\s+(.+)$/i.exec(headers.authorization ?? '')?.[1] ?? parameters['access_token']
  if (typeof bearer !== 'string') throw unauthenticated()
  return bearer.trim()
}
