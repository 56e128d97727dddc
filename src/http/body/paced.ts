import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { Failure, tooLarge } from '../../failures.js'
import { type MinimumRate, watchRate } from '../../lib/async/minimum-rate.js'

/** A request whose body is not read yet. */
interface BodyCall {
  request: FastifyRequest
  minimumRate: MinimumRate
}

/** Runs work on the body, and ends the connection if it comes too slowly (SEC-142). */
export async function withBody<T>({ request, minimumRate }: BodyCall, work: (body: Readable) => Promise<T>): Promise<T> {
  const body = request.raw
  const stop = watchRate(body, minimumRate, () => body.destroy(new Failure('timeout', { message: '408 Request Timeout' })))
  try {
    return await work(body)
  } finally {
    stop()
  }
}

/** A short body; throws 413 for a longer one. */
export const shortBytes = (call: BodyCall, limit: number): Promise<Buffer> =>
  withBody(call, async (body) => {
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > limit) throw tooLarge()
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  })
