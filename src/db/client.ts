import { setTimeout as sleep } from 'node:timers/promises'
import { DrizzleQueryError } from 'drizzle-orm'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PgTransactionConfig } from 'drizzle-orm/pg-core'
import pg from 'pg'
import type { Logger } from 'pino'
import { spending } from '../lib/async/spent.js'
import { Unavailable } from '../lib/unavailable.js'

export interface DatabaseOptions {
  log: Pick<Logger, 'warn' | 'info'>
  poolSize?: number
  /**
   * Send statements without names and connect without startup parameters, for poolers that share a connection between
   * transactions.
   */
  unnamedStatements?: boolean
  /** Called with the text of every statement before it is sent; for tests that count. */
  onQuery?: (text: string) => void
  /** Milliseconds one statement may run, in the lane and in the pool. */
  readTimeout?: number
  writeTimeout?: number
  /** Milliseconds a call may wait for a connection of the pool. */
  waitTimeout?: number
}

/**
 * The query builder of the read lane: without writes and transactions, because its connections are shared by all
 * callers.
 */
export type ReadDatabase = Pick<NodePgDatabase, 'select' | 'selectDistinct' | 'selectDistinctOn' | '$with' | 'with' | '$count' | 'execute'>
export type Transaction = Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0]

/** The connection a burst is sent on, for `step` of statement.ts. */
export interface Sender {
  client: pg.Client
}

export interface Database {
  /** Short autocommit reads, pipelined over few connections; prepare statements on it. */
  read: ReadDatabase
  /** Runs a statement on the read lane, prepared if it has a name; rows are arrays. For `statement` of statement.ts. */
  readRows(name: string | undefined, text: string, values: unknown[]): Promise<unknown[][]>
  /** Single writes, and reads that may take long; a pool. */
  write: NodePgDatabase
  /**
   * Runs `work` in a transaction, and again from the start after a serialisation failure or a deadlock: `work` must be
   * repeatable.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, config?: PgTransactionConfig): Promise<T>
  /**
   * One short transaction whose statements are all sent before the first is answered, for rows that many callers want
   * at once: its locks are held neither during our own work nor during the write to disk. It settles when the commit is
   * durable. `send` starts all statements in order without awaiting any; if one fails, nothing is written. Repeated
   * after a conflict, like `transaction`.
   */
  burst<T extends Promise<unknown>[]>(send: (on: Sender) => [...T]): Promise<{ [K in keyof T]: Awaited<T[K]> }>
  /**
   * The same on the job queue's own connection, which is opened when it is first used: the queue neither waits for
   * calls nor keeps them waiting. `durable` false: it settles before the commit is on disk.
   */
  queueBurst<T extends Promise<unknown>[]>(send: (on: Sender) => [...T], options: { durable: boolean }): Promise<{ [K in keyof T]: Awaited<T[K]> }>
  /** Settles when the lane and the pool both answer; rejects with Unavailable within two seconds otherwise. */
  ping(): Promise<void>
  /**
   * Registers a listener for the return of the database after lost connections, when work may have been left half done.
   */
  onBack(listener: () => void): void
  /** Registers a listener for commits of what was marked with `tellAfterCommit`. */
  onCommitted(listener: () => void): void
  /** The connections of the pool, and how many calls wait for one. */
  poolUse(): { busy: number; idle: number; waiting: number }
  /** Tells those listeners of a commit that was not marked. */
  committed(): void
  /** Waits for running statements, then closes every connection. */
  close(): Promise<void>
}

const LANES = 2
const READ_TIMEOUT = 5_000
const WRITE_TIMEOUT = 15_000
const WAIT_TIMEOUT = 5_000
const CONNECT_TIMEOUT = 2_000
const PING_TIMEOUT = 1_500
const MAX_WAITING = 1_000
const TRIES = 6
/**
 * Milliseconds beyond a statement's time limit after which the connection is given up, because Postgres itself did not
 * answer.
 */
const GRACE = 2_000
/** Begins a transaction whose commit does not wait for the disk. */
const UNFLUSHED = 'begin; set local synchronous_commit = off'
/** Told apart by those who count statements. */
const QUEUE_ENDS = { durable: ['/* jobs */ begin', '/* jobs */ commit'], unflushed: [`/* jobs */ ${UNFLUSHED}`, '/* jobs */ commit'] } as const

const RETRIED = new Set(['40001', '40P01'])
/** Error codes of Postgres and the system that mean unavailability, not a fault of the statement. */
const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  '25P03', // idle in transaction for too long
  '53000', // insufficient resources
  '53100', // disk full
  '53200', // out of memory
  '53300', // too many connections
  '55P03', // lock not available
  '58030', // the disk does not work
  '57014', // statement time limit
  '57P01', // shutting down
  '57P02', // crashed
  '57P03', // starting
  '57P05', // idle session ended
])
const UNAVAILABLE_TEXT =
  /^(Cannot use a pool after calling end|Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client (was closed|has encountered a connection error))/
const LOST = /^(08|57P0[1235])|^E[A-Z_]+$/
const TRANSACTION_WORDS = /^\s*(begin|start\s+transaction|commit|end|rollback|abort|savepoint|release|prepare|set|lock|listen|declare)\b/i

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '')

/**
 * The error of Postgres or the connection, without the query builder's wrapper, whose message contains parameters and
 * must not be logged (SEC-167).
 */
export function databaseError(error: unknown): unknown {
  return error instanceof DrizzleQueryError && error.cause !== undefined ? error.cause : error
}

/** Whether a row violated a unique index. */
export const isUniqueViolation = (error: unknown) => codeOf(databaseError(error)) === '23505'

/** Whether a row violated a foreign key. */
export const isMissingReference = (error: unknown) => codeOf(databaseError(error)) === '23503'

function translated(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Unavailable) return error
  const code = codeOf(error)
  if (!UNAVAILABLE_CODES.has(code) && !code.startsWith('08') && !UNAVAILABLE_TEXT.test(error.message)) return error
  return new Unavailable(code === '57014' ? 'The database took too long' : 'The database is not available', 1, { cause: error })
}

function isLoss(error: unknown) {
  const cause = error instanceof Unavailable ? error.cause : error
  return cause instanceof Error && (LOST.test(codeOf(cause)) || UNAVAILABLE_TEXT.test(cause.message))
}

/** Timestamps, dates and intervals stay text and are decoded by their columns, as drizzle does it. */
const TEXT_TYPES = new Set<number>([
  pg.types.builtins.TIMESTAMPTZ,
  pg.types.builtins.TIMESTAMP,
  pg.types.builtins.DATE,
  pg.types.builtins.INTERVAL,
  // arrays of them and of numeric
  1231,
  1115,
  1185,
  1187,
  1182,
])
const asText = (value: string) => value
const TYPES = {
  getTypeParser: (id: number, format?: string) => (TEXT_TYPES.has(id) ? asText : pg.types.getTypeParser(id, format as 'text')),
} as pg.CustomTypesConfig

interface Statement extends pg.QueryConfig {
  name?: string
  rowMode?: string
}
type Send = (config: Statement, values?: unknown[]) => Promise<pg.QueryResult>

/**
 * Tracks whether the database answers; logs one line when connections are lost and one when a statement succeeds again.
 */
class Availability {
  #lostAt: number | undefined
  #closed = false
  readonly #listeners: (() => void)[] = []

  constructor(private readonly log: DatabaseOptions['log']) {}

  lost(error: unknown) {
    if (this.#closed || this.#lostAt !== undefined) return
    this.#lostAt = Date.now()
    const cause = error instanceof Unavailable ? error.cause : error
    this.log.warn({ reason: cause instanceof Error ? cause.message : String(cause) }, 'the database is gone')
  }

  works() {
    if (this.#lostAt === undefined) return
    const seconds = Math.round((Date.now() - this.#lostAt) / 1000)
    this.#lostAt = undefined
    this.log.info({ seconds }, 'the database is back')
    for (const listener of this.#listeners) listener()
  }

  onBack(listener: () => void) {
    this.#listeners.push(listener)
  }

  close() {
    this.#closed = true
  }
}

/**
 * A connection class that reports every statement, drops statement names if asked to, and turns losses into
 * Unavailable.
 */
function connectionClass({ unnamedStatements, onQuery }: DatabaseOptions, availability: Availability) {
  return class Connection extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config)
      // an `error` event without a listener ends the process, and between the statements of a transaction there is none
      this.on('error', () => undefined)
      const send = super.query.bind(this) as unknown as Send
      const query: Send = async (config, values) => {
        const statement = typeof config === 'string' ? { text: config as string } : config
        onQuery?.(statement.text)
        const spent = spending('database')
        try {
          const result = await send(unnamedStatements ? { ...statement, name: undefined } : statement, values)
          availability.works()
          return result
        } catch (error) {
          if (isLoss(translated(error))) availability.lost(error)
          // the late answer of this connection would go to the next caller
          if (error instanceof Error && error.message === 'Query read timeout') (this as unknown as pg.Client).end().catch(() => undefined)
          throw translated(error)
        } finally {
          spent()
        }
      }
      this.query = query as unknown as pg.Client['query']
    }
  }
}

/** A pool that refuses callers when too many wait, and drops connections that failed. */
class BoundedPool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>
  override connect(callback: (err: Error | undefined, client: pg.PoolClient | undefined, done: (release?: unknown) => void) => void): void
  override connect(callback?: unknown): Promise<pg.PoolClient> | undefined {
    if (callback !== undefined) throw new TypeError('this pool has promises only')
    if (this.waitingCount >= MAX_WAITING) return Promise.reject(new Unavailable('Too many calls wait for the database'))
    return super.connect().catch((error: unknown) => {
      throw translated(error)
    })
  }

  // the overloads of the library's types cannot be repeated here; drizzle and our own code use only this one
  override query = (async (config: Statement, values?: unknown[]) => {
    const client = await this.connect()
    let lost = false
    try {
      return await client.query(config, values)
    } catch (error) {
      lost = isLoss(error)
      throw error
    } finally {
      client.release(lost)
    }
  }) as unknown as pg.Pool['query']
}

/** One pipelined connection, reopened after a loss; reads that were under way are repeated, which is harmless. */
class Lane {
  #connected: Promise<pg.Client> | undefined
  #waiting = 0
  #closed = false

  constructor(private readonly open: (onLoss: () => void) => Promise<pg.Client>) {}

  async query(config: Statement, values?: unknown[]): Promise<pg.QueryResult> {
    const text = typeof config === 'string' ? config : config.text
    if (TRANSACTION_WORDS.test(text)) throw new Error('the read lane is shared: no transaction and no session state belongs there')
    if (this.#waiting >= MAX_WAITING) throw new Unavailable('Too many calls wait for the database')
    this.#waiting++
    try {
      const used = this.client()
      try {
        return await (await used).query(config, values)
      } catch (error) {
        if (!isLoss(error)) throw error
        if (this.#connected === used) this.#connected = undefined
        return await (await this.client()).query(config, values)
      }
    } finally {
      this.#waiting--
    }
  }

  /** The connection itself. */
  client(): Promise<pg.Client> {
    if (this.#closed) return Promise.reject(new Unavailable('The database connection was closed'))
    if (this.#connected) return this.#connected
    const connected: Promise<pg.Client> = this.open(() => {
      if (this.#connected === connected) this.#connected = undefined
    })
    this.#connected = connected
    connected.catch(() => {
      if (this.#connected === connected) this.#connected = undefined
    })
    return connected
  }

  async close() {
    this.#closed = true
    const client = await this.#connected?.catch(() => undefined)
    await client?.end()
  }
}

const marked = new WeakSet<object>()

/** Tells the listeners of `onCommitted` when this transaction or burst has been committed. */
export const tellAfterCommit = (on: Transaction | Sender): void => void marked.add(on)

/** Sends all statements of one transaction at once; the result holds those of `send` only. */
async function sendTogether(
  lane: Lane,
  [begin, commit]: readonly [string, string],
  send: (on: Sender) => Promise<unknown>[],
  committed: (on: Sender) => void,
): Promise<unknown[]> {
  return retried(async () => {
    const on: Sender = { client: await lane.client() }
    const statements: Promise<unknown>[] = [on.client.query(begin)]
    try {
      statements.push(...send(on), on.client.query(commit))
    } catch (fault) {
      void Promise.allSettled([...statements, on.client.query('rollback')])
      throw fault
    }
    const settled = await Promise.allSettled(statements)
    // later statements failed because of the first failure
    const results = settled.map((each) => {
      if (each.status === 'rejected') throw each.reason
      return each.value
    })
    committed(on)
    return results.slice(1, -1)
  })
}

/** Repeats the work after a serialisation failure or a deadlock. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await work()
    } catch (thrown) {
      const error = translated(databaseError(thrown))
      if (!RETRIED.has(codeOf(error))) throw error
      if (tried === TRIES) throw new Unavailable('Too many callers change the same thing', 1, { cause: error })
      await sleep(Math.random() * 10 * 2 ** tried)
    }
  }
}

/** Runs the work once at a time for all callers; a run serves the callers that asked before it began. */
function together(work: () => Promise<unknown>): () => Promise<unknown> {
  let running: Promise<unknown> | undefined
  let next: Promise<unknown> | undefined
  const run = () => {
    next = undefined
    const own = work().finally(() => {
      if (running === own) running = undefined
    })
    running = own
    return own
  }
  return () => {
    if (!running) return run()
    next ??= running.then(run, run)
    return next
  }
}

/** Connects to Postgres; rejects with Unavailable if nothing answers. Lost connections are reopened (SEC-162). */
export async function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const { log, poolSize = 8, unnamedStatements = false } = options
  const availability = new Availability(log)
  const Connection = connectionClass(options, availability)
  const settings = (timeout: number, more: string): pg.ClientConfig => ({
    connectionString: url,
    keepAlive: true,
    application_name: 'roost',
    query_timeout: timeout + GRACE,
    ...(!unnamedStatements && { statement_timeout: timeout, options: `-c TimeZone=UTC${more}` }),
  })

  const readTimeout = options.readTimeout ?? READ_TIMEOUT
  const writeTimeout = options.writeTimeout ?? WRITE_TIMEOUT
  const pipelined = (config: pg.ClientConfig) =>
    new Lane(async (onLoss) => {
      const client = new Connection({ ...config, pipeline: true, connectionTimeoutMillis: CONNECT_TIMEOUT })
      client.on('error', (error) => {
        onLoss()
        availability.lost(error)
      })
      client.on('end', onLoss)
      await client.connect().catch((error: unknown) => {
        availability.lost(error)
        throw translated(error)
      })
      return client
    })
  const lanes = Array.from({ length: LANES }, () => pipelined(settings(readTimeout, ' -c default_transaction_read_only=on')))
  // planned once: bursts look rows up by key, and planning costs more than running
  const bursts = pipelined(settings(writeTimeout, ' -c plan_cache_mode=force_generic_plan'))
  const queue = pipelined(settings(writeTimeout, ''))
  let turn = 0
  const lane = {
    query: (config: Statement, values?: unknown[]) => (lanes[turn++ % LANES] as Lane).query(config, values),
  }

  const pool = new BoundedPool({
    ...settings(writeTimeout, ''),
    // statements that a transaction sends without awaiting each other go out at once
    pipeline: true,
    ...(!unnamedStatements && { idle_in_transaction_session_timeout: writeTimeout * 2 }),
    max: poolSize,
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: options.waitTimeout ?? WAIT_TIMEOUT,
    Client: Connection,
  })
  // without a listener, the loss of an idle connection ends the process
  pool.on('error', (error) => {
    // the pool's end does not wait for its sockets, so Postgres may stop first
    if (!pool.ending) availability.lost(error)
  })

  const write = drizzle({ client: pool })
  // a commit that waits for the disk makes all earlier commits durable
  const onDisk = together(() => pool.query({ text: "select pg_logical_emit_message(true, 'roost', '')" }))
  let bursting = 0
  const listeners: (() => void)[] = []
  const tell = () => {
    for (const listener of listeners) listener()
  }
  const committed = (on: object) => {
    if (marked.has(on)) tell()
  }

  const database: Database = {
    read: drizzle({ client: lane as unknown as pg.Client }),
    write,

    async readRows(name, text, values) {
      const { rows } = await lane.query({ ...(name !== undefined && { name }), text, values, rowMode: 'array', types: TYPES })
      return rows as unknown[][]
    },

    transaction: (work, config) =>
      retried(async () => {
        let used: Transaction | undefined
        const result = await write.transaction((tx) => {
          used = tx
          return work(tx)
        }, config)
        if (used) committed(used)
        return result
      }),

    async burst(send) {
      if (bursting >= MAX_WAITING) throw new Unavailable('Too many calls wait for the database')
      bursting++
      try {
        const results = await sendTogether(bursts, [UNFLUSHED, 'commit'], send, committed)
        await onDisk()
        return results as never
      } finally {
        bursting--
      }
    },

    async queueBurst(send, { durable }) {
      return (await sendTogether(queue, QUEUE_ENDS[durable ? 'durable' : 'unflushed'], send, committed)) as never
    },

    async ping() {
      const late = new AbortController()
      const timer = sleep(PING_TIMEOUT, undefined, { signal: late.signal }).then(
        () => Promise.reject(new Unavailable('The database does not answer')),
        () => undefined,
      )
      try {
        await Promise.race([Promise.all([...lanes.map((each) => each.query({ text: 'select 1' })), pool.query('select 1')]), timer])
      } finally {
        late.abort()
      }
    },

    onBack: (listener) => availability.onBack(listener),

    onCommitted: (listener) => void listeners.push(listener),
    committed: tell,
    poolUse: () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),

    async close() {
      availability.close()
      await Promise.all([...lanes.map((each) => each.close()), bursts.close(), queue.close(), pool.end()])
    },
  }
  try {
    await database.ping()
  } catch (error) {
    await database.close()
    throw error
  }
  return database
}
