import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Closes, when it is called, the connections on which no byte has come. Clients open some ahead, and a server that
 * closes would wait for their first request.
 */
export function silentCloser(server: Server): () => void {
  const silent = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })
  server.on('request', ({ socket }) => silent.delete(socket))
  return () => {
    for (const socket of silent) if (socket.bytesRead === 0) socket.destroy()
  }
}
