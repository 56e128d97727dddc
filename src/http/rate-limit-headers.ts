import type { FastifyReply } from 'fastify'
import type { RateLimitState } from '../access/request-limit.js'
import { tooMany } from '../failures.js'

/** Sends how many requests the caller has left (SEC-148, W-34), and fails with 429 if there are none. */
export function sendRateLimitHeaders(reply: FastifyReply, { limit, remaining, observed, reset, wait }: RateLimitState): void {
  reply.headers({ 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-observed': observed, 'ratelimit-reset': reset })
  if (wait > 0) throw tooMany(wait)
}
