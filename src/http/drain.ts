import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * For graceful shutdown. The returned function closes idle connections, including those on which no byte has arrived,
 * and each busy one as soon as its response has been sent. By itself Node waits for the first request of a connection
 * that a client has opened in advance, and keeps connections that were busy when the server began to close.
 */
export function idleCloser(server: Server): () => void {
  const unused = new Set<Socket>()
  let closing = false
  const closeIdle = () => {
    for (const socket of unused) if (socket.bytesRead === 0) socket.destroy()
    server.closeIdleConnections()
  }
  server.on('connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  server.on('request', ({ socket }, response) => {
    unused.delete(socket)
    // the connection counts as idle only after the listeners of this event
    response.once('close', () => closing && setImmediate(closeIdle))
  })
  return () => {
    closing = true
    closeIdle()
  }
}
