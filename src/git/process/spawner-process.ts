import { type ChildProcess, fork } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { makeSocketFolder } from '../../lib/files/socket-folder.js'
import { Unavailable } from '../../lib/unavailable.js'
import { gitEnvironment } from './environment.js'
import { type GitProcess, kill, type Spawner, type SpawnOptions } from './spawner.js'
import { HEADER, type SpawnFault, type SpawnReport, type SpawnRequest } from './spawner-protocol.js'

/**
 * Milliseconds in which a process must have been started; a spawner process that reports nothing for so long is ended.
 */
const PATIENCE = 30_000
const SOCKET = 'spawner'

/** A start that was asked for. */
interface Starting {
  request: SpawnRequest
  sockets: (Socket | null)[]
  /** Once it has been started. */
  process: RemoteProcess | undefined
  resolve(process: GitProcess): void
  reject(reason: unknown): void
}

/**
 * Starts processes from a small process of its own. Starting one directly stops the service for as long as the kernel
 * copies its page tables and until the new process has been scheduled: up to forty milliseconds on a busy machine
 * (docs/adr/0013).
 */
export class SpawnerProcess implements Spawner {
  #helper: Promise<Helper> | undefined
  #closed = false

  /** `entry`: the program of the process. */
  constructor(readonly entry: string) {}

  /** Starts the process, so that the first call does not wait for it; a failure is one of that call. */
  prepare(): void {
    this.#running().catch(() => {})
  }

  async spawn(program: string, args: string[], options: SpawnOptions): Promise<GitProcess> {
    for (let attempt = 1; ; attempt++) {
      if (this.#closed) throw new Unavailable('the service is stopping')
      const helper = await this.#running()
      try {
        return await helper.spawn(program, args, options)
      } catch (error) {
        if (!(error instanceof Lost)) throw error
        // an outlet may have been used by the first attempt
        if (attempt > 1 || options.stdio.some((kind) => typeof kind !== 'string')) throw new Unavailable('git cannot be started', 1, { cause: error })
      }
    }
  }

  async close() {
    this.#closed = true
    await (await this.#helper)?.close()
  }

  /** The process, started anew when it has ended. */
  #running(): Promise<Helper> {
    this.#helper ??= Helper.start(this.entry, () => {
      this.#helper = undefined
    }).catch((error) => {
      this.#helper = undefined
      throw error
    })
    return this.#helper
  }
}

/** The spawner process ended before it answered. */
class Lost extends Error {
  override name = 'Lost'
}

/** One spawner process, with the socket that it connects to. */
class Helper {
  readonly #starting = new Map<number, Starting>()
  readonly #processes = new Map<number, RemoteProcess>()
  #last = 0
  /** When the process last reported something. */
  #heard = 0

  static async start(entry: string, lost: () => void): Promise<Helper> {
    const place = await makeSocketFolder('roost-git-socket', SOCKET)
    const server = createServer()
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(join(place, SOCKET), resolve))
    server.unref()
    const child = fork(entry, [join(place, SOCKET)], {
      cwd: '/',
      env: gitEnvironment(),
      execArgv: ['--max-old-space-size=64', '--max-semi-space-size=1'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      detached: true,
    })
    child.unref()
    child.channel?.unref()
    return new Helper(child, server, place, lost)
  }

  private constructor(
    readonly child: ChildProcess,
    readonly server: Server,
    readonly place: string,
    readonly lost: () => void,
  ) {
    server.on('connection', (socket) => this.#welcome(socket))
    child.on('message', (report: SpawnReport) => this.#hear(report))
    child.on('error', () => this.#end())
    child.once('exit', () => this.#end())
  }

  spawn(program: string, args: string[], options: SpawnOptions): Promise<GitProcess> {
    const request = { id: ++this.#last, program, args, ...options }
    return new Promise<GitProcess>((resolve, reject) => {
      const asked = performance.now()
      const late = setTimeout(() => {
        if (this.#heard < asked) this.child.kill('SIGKILL')
        else this.#fail(starting, new Unavailable('git could not be started in time'))
      }, PATIENCE)
      const starting: Starting = {
        ...{ request, sockets: request.stdio.map(() => null), process: undefined },
        resolve(process) {
          clearTimeout(late)
          resolve(process)
        },
        reject(reason) {
          clearTimeout(late)
          reject(reason)
        },
      }
      this.#starting.set(request.id, starting)
      this.child.send(request, (error) => error && this.#fail(starting, new Lost('the spawner process cannot be reached', { cause: error })))
    })
  }

  async close() {
    const ended = new Promise<void>((resolve) => this.child.once('exit', () => resolve()))
    if (this.child.exitCode === null && this.child.signalCode === null) {
      if (this.child.connected) this.child.disconnect()
      await ended
    }
    await rm(this.place, { recursive: true, force: true })
  }

  /** A connection says in its header whose it is. */
  #welcome(socket: Socket) {
    socket.on('error', () => {})
    const read = () => {
      const header = socket.read(HEADER) as Buffer | null
      if (header === null) return
      socket.off('readable', read)
      const starting = this.#starting.get(header.readUInt32BE())
      if (!starting) {
        socket.destroy()
        return
      }
      starting.sockets[header.readUInt32BE(4)] = socket
      this.#settle(starting)
    }
    socket.on('readable', read)
  }

  #hear(report: SpawnReport) {
    this.#heard = performance.now()
    if ('code' in report) {
      this.#processes.get(report.id)?.end(report.code)
      this.#processes.delete(report.id)
      return
    }
    const starting = this.#starting.get(report.id)
    if (!starting) return
    if ('error' in report) this.#fail(starting, faultOf(report.error))
    else {
      starting.process = new RemoteProcess(report.pid, starting.sockets)
      this.#processes.set(report.id, starting.process)
      this.#settle(starting)
    }
  }

  /** Hands a process over once all its connections are there. */
  #settle(starting: Starting) {
    const { request, sockets, process } = starting
    if (!process || sockets.some((socket, i) => socket === null && request.stdio[i] === 'pipe')) return
    this.#starting.delete(request.id)
    process.begin()
    starting.resolve(process)
  }

  #fail(starting: Starting, reason: unknown) {
    this.#starting.delete(starting.request.id)
    for (const socket of starting.sockets) socket?.destroy()
    starting.reject(reason)
  }

  /** Nobody would say when its processes end: they are killed. */
  #end() {
    this.lost()
    this.server.close()
    void rm(this.place, { recursive: true, force: true }).catch(() => {}) // the next one has a folder of its own
    for (const starting of [...this.#starting.values()]) this.#fail(starting, new Lost('the spawner process has ended'))
    for (const process of this.#processes.values()) process.abandon()
    this.#processes.clear()
  }
}

class RemoteProcess implements GitProcess {
  running = true
  readonly exited: Promise<number | null>
  closed!: Promise<number | null>
  #ended!: (code: number | null) => void

  constructor(
    readonly pid: number,
    readonly stdio: (Socket | null)[],
  ) {
    this.exited = new Promise((resolve) => {
      this.#ended = resolve
    })
  }

  get stdin() {
    return this.stdio[0] ?? null
  }
  get stdout() {
    return this.stdio[1] ?? null
  }
  get stderr() {
    return this.stdio[2] ?? null
  }

  /** Call it when all connections are there. */
  begin() {
    // nothing comes from there, but its end must be noticed
    this.stdin?.resume()
    const open = this.stdio.slice(1).filter((socket) => socket && !socket.closed)
    const read = open.map((socket) => new Promise((resolve) => socket?.once('close', resolve)))
    this.closed = Promise.all([this.exited, ...read]).then(([code]) => code as number | null)
  }

  end(code: number | null) {
    this.running = false
    this.stdin?.destroy()
    this.#ended(code)
  }

  abandon() {
    kill(this)
    this.end(null)
  }
}

const faultOf = ({ message, code, syscall }: SpawnFault) => Object.assign(new Error(message), { code, syscall })
