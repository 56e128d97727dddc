import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CallTimes } from '../lib/async/call-times.js'

declare module 'fastify' {
  interface FastifyRequest {
    spent: CallTimes
  }
}

/**
 * What a request has cost, for the log: milliseconds in all, in git and in the database, and the bytes of its answer.
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
