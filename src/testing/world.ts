import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { OpenContext } from '../cli/create-context.js'
import { openConnections } from '../cli/database.js'
import { checkFolders, resolveAddress, resolveSshPort } from '../cli/host.js'
import { DRAIN_TIMEOUT_MS, type Lifecycle } from '../cli/lifecycle.js'
import { listen, type loadProgram, stopListening } from '../cli/open-service.js'
import type { Config } from '../config.js'
import type { Context } from '../context.js'
import type { Database } from '../db/client.js'
import { DatabaseSnapshots, readCatalog } from '../db/snapshots.js'
import { installTestClock, setTestClock } from '../db/test-clock.js'
import { Failure } from '../failures.js'
import type { Spawner } from '../git/process/spawner.js'
import { isAnythingDue, postponeJobs } from '../jobs/store.js'
import { KeyedMutex } from '../lib/async/keyed-mutex.js'
import { settlesWithin } from '../lib/async/settles-within.js'
import type { Argon2 } from '../lib/crypto/argon2.js'
import { requestIds } from '../lib/request-id.js'
import { Unavailable } from '../lib/unavailable.js'
import { type ClockState, type TestClock, testClock } from './clock.js'
import { FolderSnapshots } from './folder-snapshots.js'
import { Gate } from './gate.js'
import type { Seeded } from './seed/declaration.js'
import { Traffic } from './traffic/traffic.js'
import { WorldDatabase } from './world-database.js'

/** The program of the thread that speaks SSH, beside this one where it is built. */
const SSH_PROGRAM = new URL('./ssh.js', import.meta.url)
/** Connections of a world's pool: its callers are few, and a connection takes 5 MB. */
const POOL_SIZE = 2
/** Snapshots of a world at a time. */
const MAX_SNAPSHOTS = 64
/** The snapshot that `reset` restores; callers cannot use this name. */
const START_SNAPSHOT = ''
/** How long calls may take to end before a restore, and before a snapshot, in milliseconds. */
const RESTORE_DRAIN_MS = 1_000
const SNAPSHOT_DRAIN_MS = 10_000
/** How long stopped jobs may take to end, in milliseconds. */
const JOB_STOP_TIMEOUT_MS = 10_000
/** How long a snapshot waits for background work, and how often it polls, in milliseconds. */
const IDLE_TIMEOUT_MS = 2_000
const POLL_INTERVAL_MS = 10

/** What all worlds of a process share. */
export interface SharedResources {
  program: Awaited<ReturnType<typeof loadProgram>>
  lifecycle: Lifecycle
  spawner: Spawner
  argon2: Argon2
  /** Adds hooks to the application of a world before its routes are declared. */
  prepare(world: World, app: FastifyInstance): void
}

export interface WorldOptions extends SharedResources {
  name: string
  /** Whether it is the world that is opened when the server starts. */
  first: boolean
  config: Config
  /** URL of its own database, migrated and empty. */
  databaseUrl: string
  /** Where its snapshots are kept: beside its folder, on the same file system. */
  snapshots: string
  pid: number
  /** The time at which its clock is frozen; undefined: it uses the system clock. */
  clock?: Date | undefined
}

/** What a client needs to use a world. */
export interface WorldInfo {
  name: string
  url: string
  username: string
  token: string
  password: string
  pid: number
}

/** When a snapshot was taken. */
interface SnapshotTime {
  /** By `performance.now()`. */
  at: number
  /** The state of the clock; null: the system clock. */
  clock: ClockState | null
}

type Listener = () => void | Promise<void>

/** One service among those of the process: its own database, folder, port, application and context. */
export class World {
  readonly #gate = new Gate()
  /** Serializes changes of the state. */
  readonly #stateMutex = new KeyedMutex()
  readonly #folders: FolderSnapshots
  readonly #snapshots = new Set<string>()
  readonly #resets: Listener[] = []
  readonly #closers: Listener[] = []
  readonly #snapshotTimes = new Map<string, SnapshotTime>()
  #ended = false
  #databases!: DatabaseSnapshots
  #app!: FastifyInstance
  #ctx!: OpenContext
  /** A header value by which the test server's own calls are recognised. */
  readonly secret = randomBytes(16).toString('hex')
  readonly traffic = new Traffic(this.secret)
  /** The result of its initial seed. */
  seeded: Promise<Seeded> | undefined

  private constructor(
    private readonly options: WorldOptions,
    readonly config: Config & { baseUrl: string },
    private readonly database: WorldDatabase,
    /** Null: it uses the system clock. */
    readonly clock: TestClock | null,
  ) {
    this.#folders = new FolderSnapshots(config.dataDir, options.snapshots)
  }

  static async open(options: WorldOptions): Promise<World> {
    const { lifecycle, databaseUrl } = options
    const config = await resolveAddress(await resolveSshPort(options.config, (fault) => lifecycle.log.warn(`SSH is off: ${fault.message}`)))
    await checkFolders(config)
    const clock = options.clock ? testClock(options.clock) : null
    if (clock) await installTestClock(databaseUrl, clock.now())
    const db = await openConnections(databaseUrl, config, { log: lifecycle.log, poolSize: POOL_SIZE, compact: true })
    const world = new World(options, config, new WorldDatabase(db), clock)
    try {
      await world.#start()
    } catch (error) {
      await world.close()
      throw error
    }
    return world
  }

  get name(): string {
    return this.options.name
  }

  get first(): boolean {
    return this.options.first
  }

  get databaseUrl(): string {
    return this.options.databaseUrl
  }

  get db(): Database {
    return this.database.facade
  }

  /** The application, which listens. Hooks for all its routes come from extensions. */
  get app(): FastifyInstance {
    return this.#app
  }

  /** Its members are replaced with each change of the state; the object stays the same. */
  get ctx(): Context {
    return this.#ctx
  }

  get info(): WorldInfo {
    const { baseUrl: url, admin } = this.config
    return { name: this.name, url, username: admin.username, token: admin.token ?? '', password: admin.password ?? '', pid: this.options.pid }
  }

  /** Registers a listener that is called after the state has been replaced, before the next call is answered. */
  onReset(listener: Listener): void {
    this.#resets.push(listener)
  }

  /** Saves the current state under a name; replaces a snapshot of the same name. */
  async snapshot(name: string): Promise<void> {
    if (!this.#snapshots.has(name) && this.#snapshots.size >= MAX_SNAPSHOTS)
      throw new Failure('conflict', { message: `there are ${MAX_SNAPSHOTS} snapshots already` })
    await this.#saveWhenIdle(name)
    this.#snapshots.add(name)
  }

  /** Restores a snapshot. */
  async restore(name: string): Promise<void> {
    if (!this.#snapshots.has(name)) throw new Failure('not_found', { message: `there is no snapshot called ${name}` })
    await this.#restoreState(name)
  }

  /** Restores the state of the start. */
  reset(): Promise<void> {
    return this.#restoreState(START_SNAPSHOT)
  }

  /** Makes the current state the one that `reset` restores. */
  saveAsStart(): Promise<void> {
    return this.#saveWhenIdle(START_SNAPSHOT)
  }

  /** Ends it and removes its files; the caller that opened it must drop the database. */
  close(): Promise<void> {
    return this.#stateMutex.runHere('state', () => this.#close())
  }

  async #close(): Promise<void> {
    this.#ended = true
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) await close()
    await this.#ctx?.close()
    await this.#databases?.close()
    await this.database.close()
    for (const folder of [this.config.dataDir, this.options.snapshots]) await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }

  async #start(): Promise<void> {
    const { program, lifecycle } = this.options
    this.#ctx = await this.#createContext()
    const prepare = (app: FastifyInstance) => {
      this.#gate.watch(app)
      this.options.prepare(this, app)
    }
    const requestId = this.clock && { requestId: requestIds(this.clock.requestId) }
    // one waits for the database while the other uses the processor
    const [app] = await Promise.all([program.buildApp(this.#ctx, { prepare, ...requestId }), this.#prepareStart()])
    this.#app = app
    this.#closers.push(() => stopListening(app, DRAIN_TIMEOUT_MS))
    await listen(app, this.config)
    if (this.config.ssh.port === null) return
    // SSH lives as long as the world, longer than its first context
    const worldContext: Context = Object.create(this.#ctx, {
      process: { get: () => ({ ...this.#ctx.process, stopping: lifecycle.signal }) },
    })
    const ssh = await program.startSsh(worldContext, { program: SSH_PROGRAM, wrap: (socket, answer) => this.#gate.runCall(socket, answer) })
    this.#closers.push(() => ssh.close(DRAIN_TIMEOUT_MS))
  }

  /** Creates the state of the start. */
  async #prepareStart(): Promise<void> {
    const { program } = this.options
    await program.bootstrapAdministrator(this.#ctx)
    await program.recordMailEnabled(this.#ctx)
    this.#databases = new DatabaseSnapshots(this.db, await readCatalog(this.db))
    await this.#take(START_SNAPSHOT)
    await this.#startBackgroundWork(this.#ctx)
  }

  #createContext(): Promise<OpenContext> {
    const { program, lifecycle, spawner, argon2 } = this.options
    const onUse = (directory: string) => this.#folders.markUsed(directory)
    const contextOptions = { workers: 1, argon2, onUse, ...(this.clock && { source: this.clock }) }
    return program.createContext(this.config, this.db, lifecycle.log, spawner, contextOptions)
  }

  /** Starts background work. */
  async #startBackgroundWork(ctx: OpenContext): Promise<void> {
    // no other process is at work here; work that was in progress at the snapshot is restarted
    await ctx.jobs.start({ exclusive: true })
    ctx.storages.start()
    this.options.program.startContinuousRecovery(ctx)
  }

  #saveWhenIdle(name: string): Promise<void> {
    return this.#whilePaused(SNAPSHOT_DRAIN_MS, async () => {
      const until = Date.now() + IDLE_TIMEOUT_MS
      while (Date.now() < until && (await isAnythingDue(this.db))) await sleep(POLL_INTERVAL_MS)
      return () => this.#take(name)
    })
  }

  async #take(name: string): Promise<void> {
    this.#snapshotTimes.set(name, { at: performance.now(), clock: this.clock?.state() ?? null })
    await Promise.all([this.#databases.take(name), this.#folders.take(name)])
  }

  #restoreState(name: string): Promise<void> {
    return this.#whilePaused(RESTORE_DRAIN_MS, async () => {
      // the state that the jobs work on is about to be replaced
      await this.#ctx.jobs.stop(0)
      return async () => {
        await Promise.all([this.#databases.restore(name), this.#folders.restore(name)])
        const { at, clock } = this.#snapshotTimes.get(name) as SnapshotTime
        // delayed jobs wait for as long as they had left at the snapshot
        await postponeJobs(this.db, performance.now() - at)
        if (clock) await setTestClock(this.db, new Date(clock.moment))
        if (clock) this.clock?.restore(clock)
        for (const listener of this.#resets) await listener()
      }
    })
  }

  /**
   * Runs what `prepare` returns while no call, job or git process is running. Then creates a new context, so that no
   * cache of the former state is used.
   */
  #whilePaused(timeout: number, prepare: () => Promise<() => Promise<unknown>>): Promise<void> {
    return this.#stateMutex.runHere('state', () => {
      if (this.#ended) throw new Failure('not_found', { message: `the world ${this.name} has ended` })
      return this.#gate.runWhenIdle(timeout, async () => {
        const work = await prepare()
        await this.#ctx.close()
        this.database.forgetListeners()
        try {
          // a job that is still running would write to the restored state
          if (!(await settlesWithin(JOB_STOP_TIMEOUT_MS, this.#ctx.jobs.untilEnded()))) throw new Unavailable('A job does not end')
          await work()
        } finally {
          const newContext = await this.#createContext()
          Object.assign(this.#ctx, newContext)
          await this.#startBackgroundWork(newContext)
        }
      })
    })
  }
}
