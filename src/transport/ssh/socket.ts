import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../context.js'
import { findSshLogin } from '../../services/identity/ssh-logins.js'
import { runCommand } from './command.js'
import { FRAME, FrameWriter, firstLine, frame, type KeyResponse, type RunRequest, type SocketRequest } from './frames.js'

/** Maximum bytes of a request line. */
const MAX_REQUEST_BYTES = 65_536
export interface SocketServer {
  /** Closes after running commands have ended, or after `wait` milliseconds. */
  close(wait: number): Promise<void>
}

/** Wraps the handling of a request, to delay or track it. */
export type RequestWrapper = (socket: Socket, handleRequest: () => Promise<void>) => Promise<void>

/**
 * Serves requests on a Unix socket that only the service account can connect to. Its clients are the SSH thread and the
 * commands for an OpenSSH server. Worker processes share the socket.
 */
export async function serveSocket(ctx: Context, path: string, wrap: RequestWrapper = (_, handleRequest) => handleRequest()): Promise<SocketServer> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: false }, (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    wrap(socket, () => handleRequest(ctx, socket)).catch((error: unknown) => {
      ctx.log.error({ err: error }, 'an SSH request failed')
      socket.destroy()
    })
  })
  server.listen(path)
  await once(server, 'listening')
  return {
    async close(wait) {
      server.close()
      const deadline = Date.now() + wait
      while (sockets.size > 0 && Date.now() < deadline) await sleep(20)
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function handleRequest(ctx: Context, socket: Socket): Promise<void> {
  const line = await firstLine(socket, MAX_REQUEST_BYTES)
  if (line === null) return void socket.destroy()
  const request = JSON.parse(line) as SocketRequest
  if (request.ask === 'run') return run(ctx, socket, request)
  const login = await findSshLogin(ctx, { sha256: request.sha256 })
  socket.end(`${JSON.stringify({ key: login?.key.id ?? null } satisfies KeyResponse)}\n`)
}

async function run(ctx: Context, socket: Socket, request: RunRequest): Promise<void> {
  const disconnected = new AbortController()
  socket.once('close', () => disconnected.abort(new Error('the client has gone')))
  const before = socket.bytesRead
  const code = await runCommand(ctx, request, {
    input: socket,
    output: new FrameWriter(socket, FRAME.out).on('error', () => {}),
    received: () => socket.bytesRead - before,
    writeError: (line) => void socket.write(frame(FRAME.err, Buffer.from(`${line}\n`))),
    outlet: request.outlet && { ...request.outlet, opened: () => void socket.write(frame(FRAME.outlet, Buffer.of(0))) },
    disconnected,
  })
  socket.end(frame(FRAME.exit, Buffer.from([code])))
  // discard what the client still sends
  socket.resume()
}
