import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CallTimes } from '../lib/async/call-times.js'

declare module 'fastify' {
  interface FastifyRequest {
    spent: CallTimes
  }
}

/**
 * The cost of a request for the log: milliseconds in total, in git and in the database, and the size of the response in
 * bytes.
 */
export function costOf({ spent }: FastifyRequest, reply: FastifyReply) {
  const length = Number(reply.getHeader('content-length') ?? Number.NaN)
  return {
    ms: Math.round(reply.elapsedTime),
    ...(spent.git > 0 && { git_ms: Math.round(spent.git) }),
    ...(spent.database > 0 && { database_ms: Math.round(spent.database) }),
    ...(Number.isSafeInteger(length) && { bytes: length }),
  }
}
