import type { FastifyReply, FastifyRequest } from 'fastify'
import { Faults, meet } from './faults.js'
import { Limits } from './limits.js'
import { Recorder } from './recorder.js'

/** What happens between the clients of a world and the world. */
export class Traffic {
  readonly recorder = new Recorder()
  readonly faults = new Faults()
  readonly limits = new Limits()

  /** `own`: the value of `x-roost-own` in calls of the test service itself, which nothing happens to. */
  constructor(private readonly own: string) {}

  /** Sees each call first; true: it is answered. */
  watch = async (request: FastifyRequest, reply: FastifyReply): Promise<boolean> => {
    if (request.headers['x-roost-own'] === this.own || /^\/-\/(readiness|liveness|health)/.test(request.raw.url ?? '')) return false
    const recorded = this.recorder.begin(request, reply)
    const fault = this.faults.take(recorded.place)
    if (fault && (await meet(fault, request, reply, recorded))) return true
    this.limits.count(request, reply, recorded.place)
    return false
  }

  clear(): void {
    for (const part of [this.recorder, this.faults, this.limits]) part.clear()
  }
}
