import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import { connectTo, lowerPriority, whenStarted } from './spawner.js'
import { HEADER_BYTES, type SpawnReport, type SpawnRequest } from './spawner-protocol.js'

/**
 * The spawner process: starts processes on request over its IPC channel. For each descriptor of a process it opens a
 * connection to the socket named on its command line, or to an outlet, and passes that connection on as the descriptor.
 * It exits when its parent does, for whatever reason.
 */
const path = process.argv[2] as string

process.once('disconnect', () => {
  rmSync(dirname(path), { recursive: true, force: true })
  process.exit()
})
// a terminal sends these signals to the whole group; the parent decides when to stop
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('message', (request: SpawnRequest) => void start(request))

// if the parent has just exited, `disconnect` handles it
const report = (message: SpawnReport) => process.connected && process.send?.(message, () => {})

async function start({ id, program, args, cwd, env, stdio, niceness }: SpawnRequest): Promise<void> {
  const sockets: (Socket | null)[] = []
  try {
    for (const [descriptor, kind] of stdio.entries()) {
      if (typeof kind !== 'string') sockets.push(await connectTo(kind.path, kind.greeting))
      else sockets.push(kind === 'pipe' ? await connectTo(path, headerOf(id, descriptor)) : null)
    }
    // Node passes sockets in blocking mode for the first three descriptors only; the others are relayed through a pipe
    const child = spawn(program, args, {
      cwd,
      env,
      detached: true,
      stdio: sockets.map((socket, i) => (socket && (i < 3 ? socket : 'pipe')) || 'ignore'),
    })
    await whenStarted(child)
    child.once('exit', (code) => report({ id, code }))
    if (niceness !== undefined) lowerPriority(child.pid as number, niceness)
    for (const [i, socket] of sockets.entries()) {
      if (i < 3) socket?.destroy()
      else if (socket) join(socket, child.stdio[i] as Duplex)
    }
    report({ id, pid: child.pid as number })
  } catch (error) {
    for (const socket of sockets) socket?.destroy()
    const { message, code, syscall, address } = error as NodeJS.ErrnoException & { address?: string }
    report({ id, error: { message, code, syscall, address } })
  }
}

function headerOf(id: number, descriptor: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32BE(id)
  header.writeUInt32BE(descriptor, 4)
  return header
}

function join(socket: Socket, pipe: Duplex) {
  pipe.on('error', () => socket.destroy())
  socket.pipe(pipe)
  pipe.pipe(socket)
}
