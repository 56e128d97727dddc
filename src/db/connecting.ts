import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { runningTimeout } from '../lib/async/running-timeout.js'
import { codeOf } from './errors.js'

/** How long a start tries to connect, in milliseconds: on a busy machine, or while Postgres recovers, it takes a while. */
const START_PATIENCE_MS = 60_000
const RETRY_DELAY_MS = 250

/** Connects; rejects after `limit` milliseconds in which this process could have read an answer. */
export async function connectWithin(client: pg.Client, limit: number): Promise<void> {
  const cancel = runningTimeout(limit, () => client.connection.stream.destroy(new Error('timeout expired')))
  try {
    await client.connect()
  } finally {
    cancel()
  }
}

/** Whether a server is there, but cannot take a connection yet. */
export const isSlowServer = (error: unknown): boolean =>
  error instanceof Error && (/time/i.test(error.message) || codeOf(error) === 'ETIMEDOUT' || codeOf(error) === '57P03')

/** Repeats `connect` for a minute while it fails with what may pass. */
export async function connectAgain<T>(connect: () => Promise<T>, mayPass: (error: unknown) => boolean, signal?: AbortSignal): Promise<T> {
  const deadline = performance.now() + START_PATIENCE_MS
  for (;;) {
    try {
      return await connect()
    } catch (error) {
      if (!mayPass(error) || performance.now() > deadline) throw error
    }
    await sleep(RETRY_DELAY_MS, undefined, { signal })
  }
}
