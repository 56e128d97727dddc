import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { firstLine } from './frames.js'

/** Bytes of a greeting, and milliseconds for it to come. */
const MAX_GREETING_BYTES = 64
const GREETING_TIMEOUT_MS = 10_000

/** Where one command may write. */
export interface Outlet {
  path: string
  /** What a connection says first: a secret that is good once. */
  greeting: string
  /** What is written there; rejects when it is closed before. */
  source: Promise<Socket>
  close(): void
}

/** A Unix socket to which git writes without passing the service. Only the service's own account reaches it. */
export class Outlets {
  readonly #expected = new Map<string, (socket: Socket) => void>()

  static async listen(path: string): Promise<Outlets> {
    rmSync(path, { force: true }) // a thread that has failed leaves its own
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
    source.catch(() => {}) // who waits for it learns
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
