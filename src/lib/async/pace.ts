import type { IncomingMessage } from 'node:http'

/** Bytes of a body that must come in so many milliseconds. */
export interface Pace {
  every: number
  bytes: number
}

/** SEC-142: 1 KiB/s. */
export const PACE: Pace = { every: 10_000, bytes: 10 * 1024 }

/** Tells once when less of a body came than should have while nothing of it waited to be read (SEC-142). Gives the function that ends the watch. */
export function watchPace(body: IncomingMessage, { every, bytes }: Pace, slow: () => void): () => void {
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
