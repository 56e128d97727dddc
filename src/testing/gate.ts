import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { settlesWithin } from '../lib/async/settles-within.js'
import { Unavailable } from '../lib/unavailable.js'

/** How long calls may take to end after their connections have been closed, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5_000

declare module 'fastify' {
  interface FastifyRequest {
    /** The generation of the state when the call passed the gate. */
    gateGeneration?: number
  }
}

interface Call {
  description: string
  socket: Socket
}

/** Blocks the calls of a world while its state is replaced, and tracks the running ones. */
export class Gate {
  readonly #running = new Set<Call>()
  #generation = 0
  /** Settles when the gate is opened again. */
  #opening: Promise<void> | null = null
  #onIdle: (() => void) | undefined

  /** Watches all calls of an application; before its routes are declared. */
  watch(app: FastifyInstance): void {
    app.addHook('onRequest', async (request, reply) => {
      await this.#pass()
      request.gateGeneration = this.#generation
      // no close event will come if the client disconnected while the call waited
      if (reply.raw.destroyed) throw new Unavailable('The client has gone')
      reply.raw.once('close', this.#enter(callOf(request)))
    })
    app.addHook('onRoute', (route) => {
      const { handler } = route
      const gate = this
      route.handler = function handle(request, reply) {
        // the client disconnected during authentication, and the state was replaced
        if (request.gateGeneration !== gate.#generation) throw new Unavailable('The state has been replaced')
        const leave = gate.#enter(callOf(request))
        const answer = handler.call(this, request, reply)
        if (answer instanceof Promise) answer.then(leave, leave)
        else leave()
        return answer
      }
    })
  }

  /**
   * Runs `work` while no call is running; new calls wait. After `timeout` milliseconds the connections of running calls
   * are closed. Must not run concurrently.
   */
  async runWhenIdle<T>(timeout: number, work: () => Promise<T>): Promise<T> {
    let open = () => {}
    this.#opening = new Promise((resolve) => {
      open = resolve
    })
    try {
      await this.#idle(timeout)
      this.#generation++
      return await work()
    } finally {
      this.#opening = null
      open()
    }
  }

  /** Runs a request of another protocol as a call. */
  async runCall(socket: Socket, work: () => Promise<void>): Promise<void> {
    await this.#pass()
    const leave = this.#enter({ description: 'SSH', socket })
    await work().finally(leave)
  }

  async #pass(): Promise<void> {
    while (this.#opening) await this.#opening
  }

  /** A call of HTTP is entered twice: until its connection is free again, and until its handler has ended. */
  #enter(call: Call): () => void {
    this.#running.add(call)
    return () => {
      this.#running.delete(call)
      if (this.#running.size === 0) this.#onIdle?.()
    }
  }

  async #idle(timeout: number): Promise<void> {
    if (!(await this.#within(timeout))) {
      for (const { socket } of this.#running) socket.destroy()
      if (!(await this.#within(CLOSE_TIMEOUT_MS))) {
        const [call] = this.#running
        throw new Unavailable(`A call does not end: ${call?.description}`)
      }
    }
    // let handlers of closed connections run
    await setImmediate()
  }

  /** Whether no call is under way any more, within so many milliseconds. */
  #within(milliseconds: number): Promise<boolean> {
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
      if (this.#running.size === 0) resolve()
    })
    return settlesWithin(milliseconds, idle)
  }
}

const callOf = ({ raw, method, url }: FastifyRequest): Call => ({ description: `${method} ${url.split('?', 1)[0]}`, socket: raw.socket })
