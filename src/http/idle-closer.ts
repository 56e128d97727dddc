import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * For a server that is about to close: from the call of what this gives, connections end that wait for a request, those
 * on which no byte has come included, and others as soon as their answer has been sent. By itself a server waits for
 * the first request of a connection that a client has opened ahead, and keeps one that was busy when it began to close.
 */
export function idleCloser(server: Server): () => void {
  const silent = new Set<Socket>()
  let closing = false
  const closeIdle = () => {
    for (const socket of silent) if (socket.bytesRead === 0) socket.destroy()
    server.closeIdleConnections()
  }
  server.on('connection', (socket: Socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })
  server.on('request', ({ socket }, response) => {
    silent.delete(socket)
    // the connection counts as idle after the listeners of this event
    response.once('close', () => closing && setImmediate(closeIdle))
  })
  return () => {
    closing = true
    closeIdle()
  }
}
