import { Socket } from 'node:net'
import pg from 'pg'
import type { Logger } from 'pino'
import { startTiming } from '../lib/async/call-times.js'
import { Unavailable } from '../lib/unavailable.js'
import { isConnectionLoss, isReadOnly, translateError } from './errors.js'
import { PreparedReads } from './prepared-reads.js'
import type { Servers } from './servers.js'
import { ENQUEUED_NOTICE } from './sql/names.js'
import { TYPES } from './value-types.js'

/** Calls that may wait for one pipeline, the pool or batches; further calls are refused. */
export const MAX_WAITING = 1_000
const SESSION_STATEMENT = /^\s*(begin|start\s+transaction|commit|end|rollback|abort|savepoint|release|prepare|set|lock|listen|declare)\b/i

/** A statement as pg accepts it. */
export interface Statement extends pg.QueryConfig {
  name?: string
  rowMode?: string
}
type Send = (config: Statement, values?: unknown[]) => Promise<pg.QueryResult>

/**
 * Tracks whether the database answers, and logs one line when connections are lost and one when a statement succeeds
 * again.
 */
export class Availability {
  #lostAt: number | undefined
  #closed = false
  readonly #listeners: (() => void)[] = []

  constructor(private readonly log: Pick<Logger, 'warn' | 'info'>) {}

  lost(error: unknown) {
    if (this.#closed || this.#lostAt !== undefined) return
    this.#lostAt = Date.now()
    const cause = error instanceof Unavailable ? error.cause : error
    this.log.warn({ reason: cause instanceof Error ? cause.message : String(cause) }, 'the database is gone')
  }

  recovered() {
    if (this.#lostAt === undefined) return
    const seconds = Math.round((Date.now() - this.#lostAt) / 1000)
    this.#lostAt = undefined
    this.log.info({ seconds }, 'the database is back')
    for (const listener of this.#listeners) listener()
  }

  onReconnect(listener: () => void) {
    this.#listeners.push(listener)
  }

  close() {
    this.#closed = true
  }
}

export interface ConnectionOptions {
  /** Send statements without names. */
  unnamedStatements?: boolean
  /** Called with the text of every statement before it is sent. */
  onQuery?: (text: string) => void
  /** Called after a commit in which a trigger has enqueued a job. */
  onEnqueued?: () => void
}

const BEGINS_TRANSACTION = /^\s*(\/\*.*?\*\/\s*)?(begin|start\s+transaction)\b/i
const ENDS_TRANSACTION = /^\s*(\/\*.*?\*\/\s*)?(commit|end|rollback(?!\s+to)|abort)\b/i

/** Startup option of read-only connections. */
export const READ_ONLY = '-c default_transaction_read_only=on'

/**
 * A socket that sends everything written in one tick of the event loop at once: a system call per statement would cost
 * as much as everything else that sending takes.
 */
class BatchingSocket extends Socket {
  #corked = false

  override cork() {
    if (this.#corked) return
    this.#corked = true
    super.cork()
    setImmediate(() => {
      this.#corked = false
      super.uncork()
    })
  }

  override uncork() {}
}

/** A connection that knows the URL of its server. */
export interface ServerConnection {
  readonly server: string
}

/** A connection for prepared reads. */
export interface ReadConnection {
  /** Rows are arrays; a read without a name is prepared for this execution only. */
  rows: (name: string | undefined, text: string, values: unknown[]) => Promise<unknown[][]>
}

/** What the connections of a database share; they get it with their configuration, since the pool makes its own. */
export interface SharedByConnections extends ConnectionOptions {
  availability: Availability
  servers: Servers
}

export interface ConnectionConfig extends pg.ClientConfig {
  shared: SharedByConnections
}

/** A connection that reports every statement, drops statement names on request, and turns losses into Unavailable. */
export class Connection extends pg.Client implements ServerConnection, ReadConnection {
  readonly server: string
  readonly rows: ReadConnection['rows']

  constructor({ shared: { availability, servers, unnamedStatements, onQuery, onEnqueued }, ...config }: ConnectionConfig) {
    super({ ...config, connectionString: servers.current, stream: () => new BatchingSocket() })
    this.server = servers.current
    // an `error` event without a listener would end the process, and pg has none between the statements of a
    // transaction
    this.on('error', () => undefined)
    // a commit that timed out waiting for its replica would be lost by a failover
    let replicationTimeouts = 0
    let enqueued = false
    this.on('notice', ({ routine, code }) => {
      if (routine === 'SyncRepWaitForLSN') replicationTimeouts++
      if (code === ENQUEUED_NOTICE) enqueued = true
    })
    let inTransaction = false
    const writes = !config.options?.includes(READ_ONLY)
    const tracked = async <T>(text: string, run: () => Promise<T>): Promise<T> => {
      onQuery?.(text)
      if (BEGINS_TRANSACTION.test(text)) inTransaction = true
      if (ENDS_TRANSACTION.test(text)) inTransaction = false
      const commits = !inTransaction
      const stopTiming = startTiming('database', text)
      const before = replicationTimeouts
      try {
        const result = await run()
        availability.recovered()
        if (replicationTimeouts !== before) throw new Unavailable('The database could not replicate the change')
        if (enqueued && commits) {
          enqueued = false
          onEnqueued?.()
        }
        return result
      } catch (thrown) {
        const error = writes && isReadOnly(thrown) ? new Unavailable('The database takes no writes', 1, { cause: thrown }) : translateError(thrown)
        if (isConnectionLoss(error) || (writes && isReadOnly(thrown))) {
          availability.lost(error)
          servers.lost(this.server)
        }
        // a late result on this connection would go to the next caller
        if (thrown instanceof Error && thrown.message === 'Query read timeout') (this as unknown as pg.Client).end().catch(() => undefined)
        throw error
      } finally {
        stopTiming()
      }
    }
    const send = super.query.bind(this) as unknown as Send
    const query: Send = (config, values) => {
      const statement = typeof config === 'string' ? { text: config as string } : config
      const typed = statement.types ? { ...statement, types: TYPES } : statement
      return tracked(statement.text, () => send(unnamedStatements ? { ...typed, name: undefined } : typed, values))
    }
    this.query = query as unknown as pg.Client['query']
    const reads = new PreparedReads(this.connection, super.query.bind(this))
    this.rows = (name, text, values) => tracked(text, () => reads.rows(unnamedStatements ? undefined : name, text, values))
  }
}

/**
 * A pool that refuses callers when too many wait, and drops connections that have failed or belong to a server that is
 * no longer in use.
 */
export class BoundedPool extends pg.Pool {
  constructor(
    config: pg.PoolConfig,
    private readonly servers: Servers,
  ) {
    super(config)
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: (err: Error | undefined, client: pg.PoolClient | undefined, done: (release?: unknown) => void) => void): void
  override connect(callback?: unknown): Promise<pg.PoolClient> | undefined {
    if (callback !== undefined) throw new TypeError('this pool has promises only')
    if (this.waitingCount >= MAX_WAITING) return Promise.reject(new Unavailable('Too many calls wait for the database'))
    return this.#connect()
  }

  async #connect(): Promise<pg.PoolClient> {
    for (;;) {
      if (!this.servers.isFound) await this.servers.find()
      const { current } = this.servers
      const client = await super.connect().catch((error: unknown) => {
        this.servers.lost(current)
        throw translateError(error)
      })
      if ((client as unknown as ServerConnection).server === this.servers.current) return client
      client.release(true)
    }
  }

  // the overloads of the library cannot be repeated here; drizzle and our code use only this signature
  override query = (async (config: Statement, values?: unknown[]) => {
    const client = await this.connect()
    let lost = false
    try {
      return await client.query(config, values)
    } catch (error) {
      lost = isConnectionLoss(error)
      throw error
    } finally {
      client.release(lost)
    }
  }) as unknown as pg.Pool['query']
}

type LaneConnection = pg.Client & ServerConnection & ReadConnection

/** One pipelined connection, reopened after a loss; reads in progress are then repeated, which is harmless. */
export class PipelinedConnection {
  #connected: Promise<LaneConnection> | undefined
  /** The URL of the connected server. */
  #server: string | undefined
  #waiting = 0
  #closed = false

  constructor(
    private readonly open: (onLoss: () => void) => Promise<LaneConnection>,
    private readonly servers: Servers,
  ) {}

  query(config: Statement, values?: unknown[]): Promise<pg.QueryResult> {
    return this.#run(typeof config === 'string' ? config : config.text, (client) => client.query(config, values))
  }

  rows(name: string | undefined, text: string, values: unknown[]): Promise<unknown[][]> {
    return this.#run(text, (client) => client.rows(name, text, values))
  }

  async #run<T>(text: string, send: (client: LaneConnection) => Promise<T>): Promise<T> {
    if (SESSION_STATEMENT.test(text)) throw new Error('the read pipeline is shared: no transaction and no session state belongs there')
    if (this.#waiting >= MAX_WAITING) throw new Unavailable('Too many calls wait for the database')
    this.#waiting++
    try {
      const used = this.client()
      try {
        return await send(await used)
      } catch (error) {
        if (!isConnectionLoss(error)) throw error
        if (this.#connected === used) this.#connected = undefined
        return await send(await this.client())
      }
    } finally {
      this.#waiting--
    }
  }

  /** The connection, opened if necessary. */
  client(): Promise<LaneConnection> {
    if (this.#closed) return Promise.reject(new Unavailable('The database connection was closed'))
    if (this.#connected && (this.#server === this.servers.current || this.#server === undefined)) return this.#connected
    const previous = this.#connected
    // statements sent to the previous server complete or fail
    previous?.then((client) => client.end()).catch(() => undefined)
    this.#server = undefined
    const connected: Promise<LaneConnection> = this.#open(() => {
      if (this.#connected === connected) this.#connected = undefined
    })
    this.#connected = connected
    connected.catch(() => {
      if (this.#connected === connected) this.#connected = undefined
    })
    return connected
  }

  async #open(onLoss: () => void): Promise<LaneConnection> {
    if (!this.servers.isFound) await this.servers.find()
    const client = await this.open(onLoss)
    this.#server = client.server
    return client
  }

  async close() {
    this.#closed = true
    const client = await this.#connected?.catch(() => undefined)
    await client?.end()
  }
}
