import type { IncomingMessage } from 'node:http'

/** At least `bytes` of a body must arrive in every `every` milliseconds. */
export interface MinimumRate {
  every: number
  bytes: number
}

/** 1 KiB/s (SEC-142). */
export const MINIMUM_RATE: MinimumRate = { every: 10_000, bytes: 10 * 1024 }

/**
 * Calls `slow` once when less of a body has arrived than required, while none of it was waiting to be read (SEC-142).
 * Returns the function that ends the watch.
 */
export function watchRate(body: IncomingMessage, { every, bytes }: MinimumRate, slow: () => void): () => void {
  let before = body.socket.bytesRead
  const timer = setInterval(() => {
    const { bytesRead } = body.socket
    if (body.complete) clearInterval(timer)
    else if (bytesRead - before < bytes && body.readableLength === 0) {
      clearInterval(timer)
      slow()
    }
    before = bytesRead
  }, every)
  timer.unref()
  return () => clearInterval(timer)
}
