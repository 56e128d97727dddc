import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { rateLimitState } from '../../access/request-limit.js'
import { sendRateLimitHeaders } from '../../http/rate-limit-headers.js'
import { type CallTarget, filterFields, matcher } from './matching.js'

const MAX_LIMITS = 100
/** Maximum callers that one limit tracks. */
const MAX_CALLERS = 10_000

/** So many calls of one credential, or of an address without one, in each window of so many seconds. */
export const Limit = z.strictObject({ ...filterFields, limit: z.int().min(0).max(1_000_000), window: z.number().min(0.1).max(86_400).default(60) })
export type Limit = z.output<typeof Limit>

interface ActiveLimit {
  limit: Limit
  matches(target: CallTarget): boolean
  callers: Map<string, { count: number; until: number }>
}

/** Limits on top of those that the environment sets; their windows go by the machine's clock. */
export class Limits {
  #active: ActiveLimit[] = []

  /** Returns false if there are too many. */
  add(limit: Limit): boolean {
    if (this.#active.length >= MAX_LIMITS) return false
    this.#active.push({ limit, matches: matcher(limit), callers: new Map() })
    return true
  }

  clear(): void {
    this.#active = []
  }

  /** Counts a call and says so in its answer, as the service's own limit does (SEC-148). Throws 429. */
  count(request: FastifyRequest, reply: FastifyReply, target: CallTarget): void {
    const now = Date.now()
    for (const { limit, matches, callers } of this.#active) {
      if (!matches(target)) continue
      const caller = credentialOf(request)
      let window = callers.get(caller)
      if (!window || window.until <= now) {
        if (callers.size >= MAX_CALLERS) callers.clear()
        window = { count: 0, until: now + limit.window * 1_000 }
        callers.set(caller, window)
      }
      sendRateLimitHeaders(reply, rateLimitState(limit.limit, ++window.count, window.until, now))
    }
  }
}

/** Identifies callers before authentication. */
function credentialOf({ headers, raw, ip }: FastifyRequest): string {
  const [, inQuery] = /[?&](?:private_token|access_token|job_token)=([^&]+)/.exec(raw.url ?? '') ?? []
  const credential = headers['private-token'] ?? headers['job-token'] ?? headers.authorization ?? inQuery ?? `from ${ip}`
  return createHash('sha256').update(String(credential)).digest('base64url')
}
