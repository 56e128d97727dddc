import { type ChildProcess, fork } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { isUnreachable, makeSocketFolder, restoreSocketFolder } from '../../lib/files/socket-folder.js'
import { Unavailable } from '../../lib/unavailable.js'
import { gitEnvironment } from './environment.js'
import { type GitProcess, kill, type Spawner, type SpawnOptions } from './spawner.js'
import { HEADER_BYTES, type SpawnFault, type SpawnReport, type SpawnRequest } from './spawner-protocol.js'

/** How long a start may take; a spawner process that reports nothing in this time is killed. */
const START_TIMEOUT_MS = 30_000
const SOCKET_NAME = 'spawner'

/** A requested start. */
interface PendingStart {
  request: SpawnRequest
  sockets: (Socket | null)[]
  /** Set when the spawner has reported the start. */
  process: RemoteProcess | undefined
  resolve(process: GitProcess): void
  reject(reason: unknown): void
}

/**
 * Starts processes from a small helper process. Starting one directly blocks the service while the kernel copies its
 * page tables and until the new process is scheduled: up to 40 ms on a busy machine (docs/adr/0013).
 */
export class SpawnerProcess implements Spawner {
  #connection: Promise<SpawnerConnection> | undefined
  #closed = false

  /** `entry` is the spawner's program. */
  constructor(readonly entry: string) {}

  /** Starts the spawner ahead of the first call; a failure is reported by that call. */
  prepare(): void {
    this.#connect().catch(() => {})
  }

  async spawn(program: string, args: string[], options: SpawnOptions): Promise<GitProcess> {
    for (let attempt = 1; ; attempt++) {
      if (this.#closed) throw new Unavailable('the service is stopping')
      const connection = await this.#connect()
      try {
        return await connection.spawn(program, args, options)
      } catch (error) {
        if (!(error instanceof SpawnerExited)) throw error
        // a retry is unsafe with an outlet, which the first attempt may have used
        if (attempt > 1 || options.stdio.some((kind) => typeof kind !== 'string')) throw new Unavailable('git cannot be started', 1, { cause: error })
      }
    }
  }

  async close() {
    this.#closed = true
    await (await this.#connection)?.close()
  }

  /** Returns the running spawner, restarting it if it has ended. */
  #connect(): Promise<SpawnerConnection> {
    this.#connection ??= SpawnerConnection.start(this.entry, () => {
      this.#connection = undefined
    }).catch((error) => {
      this.#connection = undefined
      throw error
    })
    return this.#connection
  }
}

/** The spawner process ended before it reported, or could not reach the socket: nothing was started. */
class SpawnerExited extends Error {
  override name = 'SpawnerExited'
}

/**
 * Listens for the spawner. `exclusive`: in a worker the parent would bind the socket for it, and nothing would listen
 * on it until the worker had received it.
 */
const listenAt = async (path: string) => {
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen({ path, exclusive: true }, resolve))
  return server.unref()
}

/** One spawner process and the socket that it connects to. */
class SpawnerConnection {
  readonly #pending = new Map<number, PendingStart>()
  readonly #processes = new Map<number, RemoteProcess>()
  #lastId = 0
  /** When the spawner last reported something. */
  #lastReportAt = 0
  #server: Server
  /** Resolves when the socket has been created anew; undefined while that is not in progress. */
  #restored: Promise<void> | undefined
  /** The last request that may have met the former socket. */
  #lastIdBefore = 0

  static async start(entry: string, onLost: () => void): Promise<SpawnerConnection> {
    const socketDirectory = await makeSocketFolder('roost-git-socket', SOCKET_NAME)
    const server = await listenAt(join(socketDirectory, SOCKET_NAME))
    const child = fork(entry, [join(socketDirectory, SOCKET_NAME)], {
      cwd: '/',
      env: gitEnvironment(),
      execArgv: ['--max-old-space-size=64', '--max-semi-space-size=1'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      detached: true,
    })
    child.unref()
    child.channel?.unref()
    return new SpawnerConnection(child, server, socketDirectory, onLost)
  }

  private constructor(
    readonly child: ChildProcess,
    server: Server,
    readonly socketDirectory: string,
    readonly onLost: () => void,
  ) {
    this.#server = server
    server.on('connection', (socket) => this.#onConnection(socket))
    child.on('message', (report: SpawnReport) => this.#onReport(report))
    child.on('error', () => this.#onEnd())
    child.once('exit', () => this.#onEnd())
  }

  spawn(program: string, args: string[], options: SpawnOptions): Promise<GitProcess> {
    const request = { id: ++this.#lastId, program, args, ...options }
    return new Promise<GitProcess>((resolve, reject) => {
      const requestedAt = performance.now()
      const timer = setTimeout(() => {
        if (this.#lastReportAt < requestedAt) this.child.kill('SIGKILL')
        else this.#fail(pending, new Unavailable('git could not be started in time'))
      }, START_TIMEOUT_MS)
      const pending: PendingStart = {
        request,
        sockets: request.stdio.map(() => null),
        process: undefined,
        resolve(process) {
          clearTimeout(timer)
          resolve(process)
        },
        reject(reason) {
          clearTimeout(timer)
          reject(reason)
        },
      }
      this.#pending.set(request.id, pending)
      this.child.send(request, (error) => error && this.#fail(pending, new SpawnerExited('the spawner process cannot be reached', { cause: error })))
    })
  }

  async close() {
    const ended = new Promise<void>((resolve) => this.child.once('exit', () => resolve()))
    if (this.child.exitCode === null && this.child.signalCode === null) {
      if (this.child.connected) this.child.disconnect()
      await ended
    }
    await rm(this.socketDirectory, { recursive: true, force: true })
  }

  /** Reads a connection's header, which names its request and descriptor. */
  #onConnection(socket: Socket) {
    socket.on('error', () => {})
    const read = () => {
      const header = socket.read(HEADER_BYTES) as Buffer | null
      if (header === null) return
      socket.off('readable', read)
      const pending = this.#pending.get(header.readUInt32BE())
      if (!pending) {
        socket.destroy()
        return
      }
      pending.sockets[header.readUInt32BE(4)] = socket
      this.#resolveIfConnected(pending)
    }
    socket.on('readable', read)
  }

  #onReport(report: SpawnReport) {
    this.#lastReportAt = performance.now()
    if ('code' in report) {
      this.#processes.get(report.id)?.onExit(report.code)
      this.#processes.delete(report.id)
      return
    }
    const pending = this.#pending.get(report.id)
    if (!pending) return
    if ('error' in report) {
      if (this.#isOwnSocket(report.error)) void this.#restoreSocket(pending)
      else this.#fail(pending, faultOf(report.error))
    } else {
      pending.process = new RemoteProcess(report.pid, pending.sockets)
      this.#processes.set(report.id, pending.process)
      this.#resolveIfConnected(pending)
    }
  }

  /** Resolves a start when the process runs and all its connections have arrived. */
  #resolveIfConnected(pending: PendingStart) {
    const { request, sockets, process } = pending
    if (!process || sockets.some((socket, i) => socket === null && request.stdio[i] === 'pipe')) return
    this.#pending.delete(request.id)
    process.attach()
    pending.resolve(process)
  }

  #isOwnSocket({ code, address }: SpawnFault): boolean {
    return isUnreachable(code) && address === join(this.socketDirectory, SOCKET_NAME)
  }

  /** Creates the socket anew after something else has removed it; then the start fails and may be tried again. */
  async #restoreSocket(pending: PendingStart) {
    const restore = async () => {
      this.#server.close()
      await restoreSocketFolder(this.socketDirectory, SOCKET_NAME)
      this.#server = await listenAt(join(this.socketDirectory, SOCKET_NAME))
      this.#server.on('connection', (socket) => this.#onConnection(socket))
      this.#lastIdBefore = this.#lastId
    }
    if (pending.request.id > this.#lastIdBefore)
      this.#restored ??= restore()
        // the next spawner has a socket elsewhere
        .catch(() => void this.child.kill('SIGKILL'))
        .finally(() => {
          this.#restored = undefined
        })
    await this.#restored
    this.#fail(pending, new SpawnerExited('the socket of the spawner process was removed'))
  }

  #fail(pending: PendingStart, reason: unknown) {
    this.#pending.delete(pending.request.id)
    for (const socket of pending.sockets) socket?.destroy()
    pending.reject(reason)
  }

  /** Kills all processes of this spawner, since their exit could no longer be observed. */
  #onEnd() {
    this.onLost()
    this.#server.close()
    void rm(this.socketDirectory, { recursive: true, force: true }).catch(() => {}) // the next spawner has its own directory
    for (const pending of [...this.#pending.values()]) this.#fail(pending, new SpawnerExited('the spawner process has ended'))
    for (const process of this.#processes.values()) process.killUnwatched()
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

  /** Call when all connections have arrived. */
  attach() {
    // stdin sends no data, but must be read to notice that it was closed
    this.stdin?.resume()
    const open = this.stdio.slice(1).filter((socket) => socket && !socket.closed)
    const read = open.map((socket) => new Promise((resolve) => socket?.once('close', resolve)))
    this.closed = Promise.all([this.exited, ...read]).then(([code]) => code as number | null)
  }

  onExit(code: number | null) {
    this.running = false
    this.stdin?.destroy()
    this.#ended(code)
  }

  killUnwatched() {
    kill(this)
    this.onExit(null)
  }
}

const faultOf = ({ message, code, syscall }: Omit<SpawnFault, 'address'>) => Object.assign(new Error(message), { code, syscall })
