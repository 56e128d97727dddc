import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { firstLine } from './frames.js'

/** Limits of the greeting. */
const MAX_GREETING_BYTES = 64
const GREETING_TIMEOUT_MS = 10_000

/** A target to which one command may write. */
export interface Outlet {
  path: string
  /** A one-time secret that a connection sends first. */
  greeting: string
  /** The connection of git; rejects if the outlet is closed first. */
  source: Promise<Socket>
  close(): void
}

/** A Unix socket to which git writes directly, bypassing the service process. Only the service account can connect. */
export class Outlets {
  readonly #expected = new Map<string, (socket: Socket) => void>()

  static async listen(path: string): Promise<Outlets> {
    rmSync(path, { force: true }) // a crashed thread leaves its socket behind
    const outlets = new Outlets(path)
    const server = createServer((socket) => void outlets.#accept(socket))
    server.listen(path)
    await once(server, 'listening')
    server.unref()
    return outlets
  }

  private constructor(readonly path: string) {}

  open(): Outlet {
    const token = randomBytes(16).toString('hex')
    let socket: Socket | undefined
    let refuse: (reason: Error) => void = () => {}
    const source = new Promise<Socket>((resolve, reject) => {
      refuse = reject
      this.#expected.set(token, (given) => {
        this.#expected.delete(token)
        socket = given
        resolve(given)
      })
    })
    source.catch(() => {}) // users of `source` see the error
    const close = () => {
      this.#expected.delete(token)
      socket?.destroy()
      refuse(new Error('the outlet was closed'))
    }
    return { path: this.path, greeting: `${token}\n`, source, close }
  }

  async #accept(socket: Socket) {
    socket.on('error', () => {})
    const timer = setTimeout(() => socket.destroy(), GREETING_TIMEOUT_MS)
    const token = await firstLine(socket, MAX_GREETING_BYTES)
    clearTimeout(timer)
    const accept = token === null ? undefined : this.#expected.get(token)
    if (accept) accept(socket)
    else socket.destroy()
  }
}
