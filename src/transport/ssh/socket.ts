import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../context.js'
import { findSshLogin } from '../../services/identity/ssh-logins.js'
import { runCommand } from './command.js'
import { FRAME, FrameWriter, firstLine, frame, type KeyAnswer, type Question, type RunQuestion } from './frames.js'

/** Bytes of a question. */
const MAX_QUESTION = 65_536
export interface SshAnswers {
  /** Ends when running commands have ended, or after so many milliseconds. */
  close(wait: number): Promise<void>
}

/** Runs the answer to what a connection asks, when its time has come. */
export type Around = (socket: Socket, answer: () => Promise<void>) => Promise<void>

/**
 * Answers whoever holds SSH connections, on a Unix socket that only the service's own account reaches: the worker
 * thread, and the commands for an OpenSSH server. Several worker processes listen on the same one.
 */
export async function answerOnSocket(ctx: Context, path: string, around: Around = (_, answer) => answer()): Promise<SshAnswers> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: false }, (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    around(socket, () => answer(ctx, socket)).catch((error: unknown) => {
      ctx.log.error({ err: error }, 'a question about SSH was not answered')
      socket.destroy()
    })
  })
  server.listen(path)
  await once(server, 'listening')
  return {
    async close(wait) {
      server.close()
      const late = Date.now() + wait
      while (sockets.size > 0 && Date.now() < late) await sleep(20)
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function answer(ctx: Context, socket: Socket): Promise<void> {
  const line = await firstLine(socket, MAX_QUESTION)
  if (line === null) return void socket.destroy()
  const question = JSON.parse(line) as Question
  if (question.ask === 'run') return run(ctx, socket, question)
  const login = await findSshLogin(ctx, { sha256: question.sha256 })
  socket.end(`${JSON.stringify({ key: login?.key.id ?? null } satisfies KeyAnswer)}\n`)
}

async function run(ctx: Context, socket: Socket, question: RunQuestion): Promise<void> {
  const gone = new AbortController()
  socket.once('close', () => gone.abort(new Error('the client has gone')))
  const before = socket.bytesRead
  const code = await runCommand(ctx, question, {
    input: socket,
    output: new FrameWriter(socket, FRAME.out).on('error', () => {}),
    received: () => socket.bytesRead - before,
    say: (line) => void socket.write(frame(FRAME.err, Buffer.from(`${line}\n`))),
    outlet: question.outlet && { ...question.outlet, opened: () => void socket.write(frame(FRAME.outlet, Buffer.of(0))) },
    gone,
  })
  socket.end(frame(FRAME.exit, Buffer.from([code])))
  // what the client still sends is of no use to anybody
  socket.resume()
}
