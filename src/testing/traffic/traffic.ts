import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { applyFault, Faults } from './faults.js'
import { Limits } from './limits.js'
import { bareRoute, GIT_ROUTES } from './matching.js'
import { Recorder } from './recorder.js'

/** Records calls, and applies faults and limits to them. */
export class Traffic {
  readonly recorder = new Recorder()
  readonly faults = new Faults()
  readonly limits = new Limits()
  /** The templates that calls may have. */
  readonly routes = new Set(GIT_ROUTES)

  /** `own`: the value of `x-roost-own` in calls of the test service itself, which nothing happens to. */
  constructor(private readonly secret: string) {}

  /** Sees each call of an application. */
  watch(app: FastifyInstance): void {
    app.addHook('onRoute', ({ url }) => void this.routes.add(bareRoute(url)))
    app.addHook('onRequest', (request, reply) => this.#onRequest(request, reply))
  }

  clear(): void {
    for (const part of [this.recorder, this.faults, this.limits]) part.clear()
  }

  async #onRequest(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    if (request.headers['x-roost-own'] === this.secret) {
      request.counted = true
      return
    }
    const recorded = this.recorder.record(request, reply)
    const fault = this.faults.next(recorded.target)
    if (fault && (await applyFault(fault, request, reply, recorded))) return reply
    this.limits.count(request, reply, recorded.target)
  }
}
