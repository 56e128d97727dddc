import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** The graceful end of an HTTP server. */
export interface Drain {
  /** Whether it has begun: readiness is false, so that proxies send requests elsewhere. */
  readonly begun: boolean
  /**
   * From now on each response ends its connection. The server still takes connections and requests: those that a client
   * or a proxy has sent before it could know would be lost.
   */
  begin(): void
  /**
   * Closes idle connections, including those on which no byte has arrived, and each busy one as soon as its response
   * has been sent. By itself Node waits for the first request of a connection that a client has opened in advance, and
   * keeps connections that were busy when the server began to close.
   */
  closeIdle(): void
}

export function drainOf(server: Server): Drain {
  const unused = new Set<Socket>()
  let begun = false
  let closing = false
  const closeIdle = () => {
    for (const socket of unused) if (socket.bytesRead === 0) socket.destroy()
    server.closeIdleConnections()
  }
  server.on('connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  // before the listener that answers
  server.prependListener('request', ({ socket }, response) => {
    unused.delete(socket)
    if (begun) response.setHeader('connection', 'close')
    // the connection counts as idle only after the listeners of this event
    response.once('close', () => closing && setImmediate(closeIdle))
  })
  return {
    get begun() {
      return begun
    },
    begin() {
      begun = true
    },
    closeIdle() {
      begun = true
      closing = true
      closeIdle()
    },
  }
}
