import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { openConnections } from '../cli/database.js'
import { checkFolders, settleAddress, settleSsh } from '../cli/host.js'
import { DRAIN, type Life } from '../cli/life.js'
import { listen, type loadProgram, stopListening } from '../cli/open-service.js'
import type { Config } from '../config.js'
import type { Context } from '../context.js'
import type { Database } from '../db/client.js'
import { installTestClock } from '../db/test-clock.js'
import type { Spawner } from '../git/process/spawner.js'
import { requestIds } from '../lib/request-id.js'
import { type TestClock, testClock } from './clock.js'
import { Traffic } from './traffic/traffic.js'

/** The program of the thread that speaks SSH, beside this one where it is built. */
const SSH_PROGRAM = new URL('./ssh.js', import.meta.url)
/** Connections of a world's pool: its callers are few. */
const POOL_SIZE = 3

/** What all worlds of a process share. */
export interface Foundation {
  program: Awaited<ReturnType<typeof loadProgram>>
  life: Life
  spawner: Spawner
  /** Adds hooks to the application of a world before its routes are declared. */
  prepare(world: World, app: FastifyInstance): void
}

export interface WorldOptions extends Foundation {
  name: string
  /** Whether it is the world of the start. */
  first: boolean
  config: Config
  /** Of a migrated and empty database of its own. */
  databaseUrl: string
  pid: number
  /** The moment at which its clock stands; undefined: it has the machine's. */
  clock: Date | undefined
}

/** What a program has to know to use a world. */
export interface WorldLine {
  name: string
  url: string
  username: string
  token: string
  password: string
  pid: number
}

type Listener = () => void | Promise<void>

/** One service among those of the process: its own database, folder, port, application and context. */
export class World {
  readonly #resets: Listener[] = []
  readonly #ends: Listener[] = []
  #app: FastifyInstance | undefined
  /** Sent along by the test service's own calls. */
  readonly secret = randomBytes(16).toString('hex')
  readonly traffic = new Traffic(this.secret)

  private constructor(
    private readonly options: WorldOptions,
    readonly config: Config & { baseUrl: string },
    readonly db: Database,
    /** Its members are replaced when the world is reset; the object stays the same. */
    readonly ctx: Context,
    /** Null: it has the machine's. */
    readonly clock: TestClock | null,
  ) {}

  static async open(options: WorldOptions): Promise<World> {
    const { program, life, databaseUrl } = options
    const config = await settleAddress(await settleSsh(options.config, (fault) => life.log.warn(`SSH is off: ${fault.message}`)))
    await checkFolders(config)
    const clock = options.clock ? testClock(options.clock) : null
    if (clock) await installTestClock(databaseUrl, clock.now())
    const db = await openConnections(databaseUrl, config, { log: life.log, poolSize: POOL_SIZE })
    const ctx = await program.createContext(config, db, life.log, options.spawner, { workers: 1, ...(clock && { source: clock }) })
    const world = new World(options, config, db, ctx, clock)
    try {
      await world.#begin()
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

  /** The application, which listens. Hooks for all its routes come from extensions. */
  get app(): FastifyInstance {
    if (!this.#app) throw new Error('the world is not open yet')
    return this.#app
  }

  get line(): WorldLine {
    const { baseUrl: url, admin } = this.config
    return { name: this.name, url, username: admin.username, token: admin.token ?? '', password: admin.password ?? '', pid: this.options.pid }
  }

  /** Registers a listener that is called while nothing is answered, when the world has got another state. */
  onReset(listener: Listener): void {
    this.#resets.push(listener)
  }

  /** Ends it and removes its files; the database is its opener's to drop. */
  async close(): Promise<void> {
    for (let end = this.#ends.pop(); end; end = this.#ends.pop()) await end()
    await this.ctx.close()
    await this.db.close()
    await rm(this.config.dataDir, { recursive: true, force: true, maxRetries: 5 })
  }

  async #begin(): Promise<void> {
    const { ctx, options } = this
    const { program } = options
    await program.bootstrapAdministrator(ctx)
    await program.announceMail(ctx)
    await ctx.jobs.start({ alone: true })
    ctx.storages.start()
    program.keepRecovering(ctx)
    const app = await program.buildApp(ctx, {
      prepare: (app) => options.prepare(this, app),
      ...(this.clock && { requestId: requestIds(this.clock.requestId) }),
    })
    this.#app = app
    this.#ends.push(() => stopListening(app, DRAIN))
    await listen(app, this.config)
    if (this.config.ssh.port === null) return
    const ssh = await program.startSsh(ctx, { program: SSH_PROGRAM })
    this.#ends.push(() => ssh.close(DRAIN))
  }
}
