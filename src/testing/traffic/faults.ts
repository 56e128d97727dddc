import { STATUS_CODES } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type CallTarget, filterFields, matcher } from './matching.js'

const MAX_FAULTS = 1_000
/** Seconds. */
const MAX_DELAY_SECONDS = 600

const Header = z
  .string()
  .regex(/^[^\r\n\0]*$/, 'is not the value of a header')
  .max(4_000)

/** A fault to inject into matching calls. */
export const Fault = z
  .strictObject({
    ...filterFields,
    status: z.int().min(400).max(599).optional(),
    body: z.union([z.string().max(1_000_000), z.record(z.string(), z.unknown()), z.array(z.unknown())]).optional(),
    headers: z.record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'is not the name of a header'), Header).optional(),
    disconnect: z.literal(true).optional(),
    cut: z
      .int()
      .min(1)
      .max(2 ** 31)
      .optional(),
    delay: z.number().min(0).max(MAX_DELAY_SECONDS).optional(),
    times: z.union([z.int().min(1).max(1_000_000), z.literal('always')]).default(1),
    after: z.int().min(0).max(1_000_000).default(0),
  })
  .refine(
    ({ status, disconnect, cut }) => [status, disconnect, cut].filter((way) => way !== undefined).length <= 1,
    'has more than one of status, disconnect and cut',
  )
  .refine(
    ({ status, disconnect, cut, delay }) => [status, disconnect, cut, delay].some((way) => way !== undefined),
    'has none of status, disconnect, cut and delay',
  )
  .refine(
    ({ status, body, headers }) => status !== undefined || (body === undefined && headers === undefined),
    'has a body or headers without a status',
  )

export type Fault = z.output<typeof Fault>

interface ActiveFault {
  fault: Fault
  matches(target: CallTarget): boolean
  /** Calls to skip first, and calls to inject the fault into. */
  after: number
  remaining: number
}

/** Active faults in the order of creation; the first that matches a call applies. */
export class Faults {
  #active: ActiveFault[] = []

  /** Returns false if there are too many. */
  add(fault: Fault): boolean {
    if (this.#active.length >= MAX_FAULTS) return false
    const remaining = fault.times === 'always' ? Number.POSITIVE_INFINITY : fault.times
    this.#active.push({ fault, matches: matcher(fault), after: fault.after, remaining })
    return true
  }

  /** The fault for a call, which is counted; null if there is none. */
  next(target: CallTarget): Fault | null {
    for (const active of this.#active) {
      if (!active.matches(target)) continue
      if (active.after-- > 0) continue
      active.after = 0
      if (--active.remaining <= 0) this.#active = this.#active.filter((other) => other !== active)
      return active.fault
    }
    return null
  }

  clear(): void {
    this.#active = []
  }
}

/** Applies a fault; true if the call has been answered. */
export async function applyFault(
  fault: Fault,
  request: FastifyRequest,
  reply: FastifyReply,
  { target, cut }: { target: CallTarget; cut(after: number): void },
) {
  if (fault.delay) {
    const remaining = new AbortController()
    reply.raw.once('close', () => remaining.abort())
    await sleep(fault.delay * 1_000, undefined, { signal: remaining.signal, ref: false }).catch(() => undefined)
  }
  if (fault.cut !== undefined) cut(fault.cut)
  if (fault.disconnect) {
    reply.hijack()
    request.raw.socket.resetAndDestroy()
    return true
  }
  if (fault.status === undefined) return false
  const { type, text, headers } = answerOf(fault.status, target.route?.startsWith('/:project.git/') === true, fault.body)
  // the body has not been read
  reply.code(fault.status).headers({ 'content-type': type, ...headers, ...fault.headers })
  reply.serializer(String).send(text)
  return true
}

/** The words of the service itself, or of a proxy before it, for a status. */
function answerOf(status: number, git: boolean, body: Fault['body']): { type: string; text: string; headers: Record<string, string> } {
  const name = `${status} ${STATUS_CODES[status] ?? 'Unknown'}`
  const headers: Record<string, string> = status === 429 || status === 503 ? { 'retry-after': '1' } : {}
  if (typeof body === 'string') return { type: 'text/plain; charset=utf-8', text: body, headers }
  if (body !== undefined) return { type: 'application/json', text: JSON.stringify(body), headers }
  if (status === 429) return { type: 'text/plain; charset=utf-8', text: 'Retry later', headers }
  if (status === 502 || status === 504) {
    const text = `<html>\r\n<head><title>${name}</title></head>\r\n<body>\r\n<center><h1>${name}</h1></center>\r\n</body>\r\n</html>\r\n`
    return { type: 'text/html', text, headers }
  }
  if (git) {
    if (status === 401) headers['www-authenticate'] = 'Basic realm="Roost"'
    return { type: 'text/plain', text: status === 503 ? 'The service is busy. Please try again.\n' : `${name.slice(4)}\n`, headers }
  }
  const message = status === 404 ? '404 Not found' : status === 503 ? `${name}: The service is busy` : name
  return { type: 'application/json', text: JSON.stringify({ message }), headers }
}
