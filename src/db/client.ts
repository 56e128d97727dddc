import { setTimeout as sleep } from 'node:timers/promises'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PgTransactionConfig } from 'drizzle-orm/pg-core'
import type pg from 'pg'
import type { Logger } from 'pino'
import { currentHookChain } from '../lib/async/hook-chain.js'
import { runningTimeout } from '../lib/async/running-timeout.js'
import { Unavailable } from '../lib/unavailable.js'
import { connectWithin } from './connecting.js'
import { READ_PIPELINES } from './connection-count.js'
import {
  Availability,
  BoundedPool,
  Connection,
  type ConnectionConfig,
  MAX_WAITING,
  PipelinedConnection,
  READ_ONLY,
  type Statement,
} from './connections.js'
import { codeOf, databaseError, isConnectionLoss, translateError } from './errors.js'
import { Servers } from './servers.js'
import { TRANSACTION_SETTINGS } from './sql/names.js'

export interface DatabaseOptions {
  log: Pick<Logger, 'warn' | 'info'>
  poolSize?: number
  /** Use few connections, each for several purposes, and close them soon; for a service with few callers. */
  compact?: boolean
  /**
   * Send statements without names and connect without startup parameters, for poolers that share a connection between
   * transactions.
   */
  unnamedStatements?: boolean
  /** Called with the text of every statement before it is sent; for tests that count. */
  onQuery?: (text: string) => void
  /** Milliseconds that one statement may run: on a read pipeline, and in the pool or a batch. */
  readTimeout?: number
  writeTimeout?: number
  /** Milliseconds that a call may wait for a connection of the pool. */
  waitTimeout?: number
}

/** The query builder of the read pipeline: no writes or transactions, because all callers share its connections. */
export type ReadDatabase = Pick<NodePgDatabase, 'select' | 'selectDistinct' | 'selectDistinctOn' | '$with' | 'with' | '$count' | 'execute'>
export type Transaction = Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0]

/** The connection that carries the statements of a batch (see `batch`); `batchStatement` of statement.ts prepares them on it. */
export interface Sender {
  client: pg.Client
}

/**
 * How a prepared statement is planned. `auto`: as Postgres chooses. `once`: one generic plan, where planning would cost
 * more than running and the same plan suits all values. `each`: for each call with its values, where a plan for one
 * value is disastrous for another, as in searches that match few or many rows.
 */
export type Plan = 'auto' | 'once' | 'each'

export interface Database {
  /** Short autocommit reads, pipelined over few connections. Build statements for `statement` on it. */
  read: ReadDatabase
  /**
   * Runs a statement on a read pipeline, prepared if it has a name; rows are arrays. Used by `statement` of statement.ts.
   */
  readRows(name: string | undefined, text: string, values: unknown[], plan?: Plan): Promise<unknown[][]>
  /** Single writes and long reads, on a pool. */
  write: NodePgDatabase
  /**
   * Runs `work` in a transaction, and repeats it from the start after a serialization failure or a deadlock: `work`
   * must be repeatable.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, config?: PgTransactionConfig): Promise<T>
  /**
   * A batch is one short transaction whose statements are all sent before the first result arrives, for contended rows:
   * its locks are not held during our own work, nor during the flush to disk while other batches are in progress.
   * Resolves when the commit is durable. `send` must start all statements in order without awaiting any; if one fails,
   * nothing is written. Repeated after a conflict, like `transaction`.
   */
  batch<T extends Promise<unknown>[]>(send: (on: Sender) => [...T]): Promise<{ [K in keyof T]: Awaited<T[K]> }>
  /** A batch of one statement; without concurrent batches it runs without a transaction around it. */
  single<T>(send: (on: Sender) => Promise<T>): Promise<T>
  /**
   * A batch on the job queue's own connection, which is opened on first use: the queue neither waits for calls nor
   * delays them. With `durable` false it resolves before the commit is on disk.
   */
  queueBatch<T extends Promise<unknown>[]>(send: (on: Sender) => [...T], options: { durable: boolean }): Promise<{ [K in keyof T]: Awaited<T[K]> }>
  /** Resolves when the read pipelines and the pool answer; rejects with Unavailable within two seconds otherwise. */
  ping(): Promise<void>
  /**
   * Registers a listener that is called when the database answers again after lost connections, which may have
   * interrupted work.
   */
  onReconnect(listener: () => void): void
  /** Registers a listener for commits of transactions and batches marked with `notifyAfterCommit`. */
  onCommitted(listener: () => void): void
  /** Calls the `onCommitted` listeners, for a commit that `notifyAfterCommit` did not mark. */
  notifyCommitted(): void
  /** Connections of the pool, and calls that wait for one. */
  poolStats(): { busy: number; idle: number; waiting: number }
  /** Waits for running statements, then closes all connections. */
  close(): Promise<void>
}

const DEFAULT_POOL_SIZE = 8
const READ_TIMEOUT_MS = 5_000
const WRITE_TIMEOUT_MS = 15_000
const WAIT_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 2_000
const PING_TIMEOUT_MS = 1_500
const MAX_ATTEMPTS = 6
/**
 * Milliseconds after a statement's timeout before the connection is abandoned, because Postgres did not enforce the
 * timeout.
 */
const QUERY_TIMEOUT_GRACE_MS = 2_000
const GENERIC_PLAN = '-c plan_cache_mode=force_generic_plan'
/** Begins a transaction whose commit does not wait for the disk. */
const BEGIN_UNFLUSHED = 'begin; set local synchronous_commit = off'
/** The comments let tests and metrics tell the job queue from other callers. */
const QUEUE_TRANSACTION = {
  durable: ['/* jobs */ begin', '/* jobs */ commit'],
  unflushed: [`/* jobs */ ${BEGIN_UNFLUSHED}`, '/* jobs */ commit'],
} as const

/** 26000: the statement was to be prepared by an earlier batch, which failed before that */
const RETRYABLE_CODES = new Set(['40001', '40P01', '26000'])

/** Repeats the work after a serialization failure, a deadlock, or a missing prepared statement. */
async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (thrown) {
      const error = translateError(databaseError(thrown))
      if (!RETRYABLE_CODES.has(codeOf(error))) throw error
      if (attempt === MAX_ATTEMPTS) throw new Unavailable('Too many callers change the same thing', 1, { cause: error })
      await sleep(Math.random() * 10 * 2 ** attempt)
    }
  }
}

/** Runs the work for all callers together, one run at a time; a run serves the callers that asked before it began. */
function coalesced(work: () => Promise<unknown>): () => Promise<unknown> {
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

/** Opens the connections of one database. */
interface Connector {
  servers: Servers
  availability: Availability
  /** `timeout`: of statements, in milliseconds; `more`: further startup options. */
  settings(timeout: number, more?: string): ConnectionConfig
}

function createConnector(url: string, options: DatabaseOptions, listeners: CommitListeners): Connector {
  const availability = new Availability(options.log)
  const servers = new Servers(url)
  const shared = { ...options, onEnqueued: () => listeners.notify(), availability, servers }
  return {
    servers,
    availability,
    settings: (timeout, more = '') => ({
      shared,
      keepAlive: true,
      application_name: 'roost',
      query_timeout: timeout + QUERY_TIMEOUT_GRACE_MS,
      ...(!options.unnamedStatements && { statement_timeout: timeout, options: `-c TimeZone=UTC${more}` }),
    }),
  }
}

function openPipeline({ availability, servers }: Connector, config: ConnectionConfig): PipelinedConnection {
  return new PipelinedConnection(async (onLoss) => {
    const client = new Connection({ ...config, pipeline: true })
    client.on('error', (error) => {
      onLoss()
      availability.lost(error)
      servers.lost(client.server)
    })
    client.on('end', onLoss)
    await connectWithin(client, CONNECT_TIMEOUT_MS).catch((error: unknown) => {
      availability.lost(error)
      servers.lost(client.server)
      throw translateError(error)
    })
    return client
  }, servers)
}

/** The pipelines of a database; with `compact` some of them are the same. */
function openPipelines(
  connector: Connector,
  { readTimeout, writeTimeout, compact = false }: { readTimeout: number; writeTimeout: number; compact?: boolean | undefined },
) {
  const reads = () => openPipeline(connector, connector.settings(readTimeout, ` ${READ_ONLY}`))
  const queue = openPipeline(connector, connector.settings(writeTimeout))
  if (compact) {
    const pipeline = reads()
    return { pipelines: [pipeline], plannedOnce: pipeline, batches: queue, queue }
  }
  return {
    pipelines: Array.from({ length: READ_PIPELINES }, reads),
    plannedOnce: openPipeline(connector, connector.settings(readTimeout, ` ${READ_ONLY} ${GENERIC_PLAN}`)),
    // batches look up rows by key, for which generic plans are right
    batches: openPipeline(connector, connector.settings(writeTimeout, ` ${GENERIC_PLAN}`)),
    queue,
  }
}

function createPool({ availability, servers, settings }: Connector, timeout: number, options: DatabaseOptions): BoundedPool {
  const config: pg.PoolConfig & ConnectionConfig = {
    ...settings(timeout),
    // statements that a transaction sends without awaiting each other are sent together
    pipeline: true,
    ...(!options.unnamedStatements && { idle_in_transaction_session_timeout: timeout * 2 }),
    max: options.poolSize ?? DEFAULT_POOL_SIZE,
    idleTimeoutMillis: options.compact ? 2_000 : 30_000,
    connectionTimeoutMillis: options.waitTimeout ?? WAIT_TIMEOUT_MS,
    Client: Connection as unknown as new () => pg.ClientBase,
  }
  const pool = new BoundedPool(config, servers)
  // without a listener, losing an idle connection would end the process
  pool.on('error', (error) => {
    // `pool.end` does not wait for its sockets, so Postgres may stop first
    if (pool.ending) return
    availability.lost(error)
    servers.lost(servers.current)
  })
  return pool
}

const notifying = new WeakSet<object>()

/** Marks a transaction or batch: its commit notifies the listeners of `onCommitted`. */
export const notifyAfterCommit = (on: Transaction | Sender): void => void notifying.add(on)

/** Listeners of commits. */
class CommitListeners {
  readonly #listeners: (() => void)[] = []

  add(listener: () => void) {
    this.#listeners.push(listener)
  }

  notify() {
    for (const listener of this.#listeners) listener()
  }

  /** Notifies the listeners if this transaction or batch was marked. */
  committed(on: object) {
    if (notifying.has(on)) this.notify()
  }
}

/**
 * The statement that makes the chain of webhooks known to a transaction: rows of jobs and deliveries take it as their
 * default (HK-30). Null for work that no delivery led to.
 */
function chainSetting(): pg.QueryConfig | null {
  const chain = currentHookChain()
  return chain.length === 0 ? null : { text: `select set_config('${TRANSACTION_SETTINGS.hookChain}', $1, true)`, values: [`{${chain.join(',')}}`] }
}

/** Adds the chain of webhooks to the statements of a batch. */
function withChain(send: (on: Sender) => Promise<unknown>[]): (on: Sender) => Promise<unknown>[] {
  const setting = chainSetting()
  return setting ? (on) => [on.client.query(setting), ...send(on)] : send
}

/** The first and last statement of a transaction. */
type TransactionEnds = readonly [begin: string, commit: string]
const FLUSHED: TransactionEnds = ['begin', 'commit']
const UNFLUSHED: TransactionEnds = [BEGIN_UNFLUSHED, 'commit']

/** Sends all statements of a transaction at once; the result holds those of `send` only. */
async function sendTogether(
  pipeline: PipelinedConnection,
  [begin, commit]: TransactionEnds,
  send: (on: Sender) => Promise<unknown>[],
  listeners: CommitListeners,
): Promise<unknown[]> {
  return withRetries(async () => {
    const on: Sender = { client: await pipeline.client() }
    const statements: Promise<unknown>[] = [on.client.query(begin)]
    try {
      statements.push(...send(on), on.client.query(commit))
    } catch (fault) {
      void Promise.allSettled([...statements, on.client.query('rollback')])
      throw fault
    }
    const settled = await Promise.allSettled(statements)
    // the first failure caused the later ones
    const results = settled.map((each) => {
      if (each.status === 'rejected') throw each.reason
      return each.value
    })
    listeners.committed(on)
    return results.slice(1, -1)
  })
}

/**
 * The batches of a database, on a pipeline of their own. Concurrent batches are made durable by one later commit through the
 * pool; a single one waits for the disk in its own commit, which saves a round trip.
 */
function createBatches(pipeline: PipelinedConnection, pool: pg.Pool, listeners: CommitListeners): Pick<Database, 'batch' | 'single'> {
  // a commit that is flushed to disk makes all earlier commits durable
  const flushToDisk = coalesced(() => pool.query({ text: "select pg_logical_emit_message(true, 'roost', '')" }))
  let active = 0
  const runBatch = async <T>(whenAlone: () => Promise<T>, whenConcurrent: () => Promise<T>): Promise<T> => {
    if (active >= MAX_WAITING) throw new Unavailable('Too many calls wait for the database')
    active++
    try {
      if (active === 1) return await whenAlone()
      const results = await whenConcurrent()
      await flushToDisk()
      return results
    } finally {
      active--
    }
  }
  const pipelined = (ends: TransactionEnds, send: (on: Sender) => Promise<unknown>[]) => async () => {
    const results = await sendTogether(pipeline, ends, withChain(send), listeners)
    return (chainSetting() ? results.slice(1) : results) as never
  }
  const autocommitted =
    <T>(send: (on: Sender) => Promise<T>) =>
    () =>
      withRetries(async () => {
        const on: Sender = { client: await pipeline.client() }
        const result = await send(on)
        listeners.committed(on)
        return result
      })
  return {
    batch: (send) => runBatch(pipelined(FLUSHED, send), pipelined(UNFLUSHED, send)),
    single: (send) => {
      const within = (ends: TransactionEnds) => async () => (await pipelined(ends, (on) => [send(on)])())[0]
      return runBatch(chainSetting() ? within(FLUSHED) : autocommitted(send), within(UNFLUSHED))
    },
  }
}

/**
 * Transactions through drizzle, repeated after a conflict. The connection is taken and given back here: drizzle keeps
 * one whose `begin` has failed, so that the pool would miss it for ever (SEC-234).
 */
function createTransaction(pool: BoundedPool, listeners: CommitListeners): Database['transaction'] {
  return (work, config) =>
    withRetries(async () => {
      const client = await pool.connect()
      let used: Transaction | undefined
      let lost = false
      try {
        const result = await drizzle({ client }).transaction(async (tx) => {
          used = tx
          const setting = chainSetting()
          if (setting) await client.query(setting)
          return work(tx)
        }, config)
        if (used) listeners.committed(used)
        return result
      } catch (error) {
        lost = isConnectionLoss(databaseError(error))
        throw error
      } finally {
        client.release(lost)
      }
    })
}

/** Runs one statement in a transaction of its own that knows its chain of webhooks. */
async function queryInChain(pool: BoundedPool, config: Statement, values?: unknown[]): Promise<pg.QueryResult> {
  const client = await pool.connect()
  let lost = false
  try {
    await client.query('begin')
    await client.query(chainSetting() as pg.QueryConfig)
    const result = await client.query(config, values)
    await client.query('commit')
    return result
  } catch (error) {
    lost = isConnectionLoss(databaseError(error))
    if (!lost) await client.query('rollback')
    throw error
  } finally {
    client.release(lost)
  }
}

/** Resolves when all promises do; rejects with Unavailable when they take too long. */
async function withinPingTimeout(answers: Promise<unknown>[]): Promise<void> {
  let cancel = () => {}
  const late = new Promise<never>((_, reject) => {
    cancel = runningTimeout(PING_TIMEOUT_MS, () => reject(new Unavailable('The database does not answer')))
  })
  try {
    await Promise.race([Promise.all(answers), late])
  } finally {
    cancel()
  }
}

/** A pooler between this process and Postgres ignores the startup parameters. */
export class StartupParametersIgnored extends Error {
  constructor() {
    super('startup parameters are ignored')
  }
}

/**
 * Connects to Postgres; rejects with Unavailable if nothing answers, and with StartupParametersIgnored. Lost
 * connections are reopened (SEC-162).
 */
export async function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const { readTimeout = READ_TIMEOUT_MS, writeTimeout = WRITE_TIMEOUT_MS } = options
  const listeners = new CommitListeners()
  const connector = createConnector(url, options, listeners)
  const { pipelines, plannedOnce, batches, queue } = openPipelines(connector, { readTimeout, writeTimeout, compact: options.compact })
  let turn = 0
  const nextPipeline = () => pipelines[turn++ % pipelines.length] as PipelinedConnection
  const query = (config: Statement, values?: unknown[]) => nextPipeline().query(config, values)
  const pool = createPool(connector, writeTimeout, options)
  // a single statement gets a transaction around it only where it belongs to a chain of webhooks
  const single = (config: Statement, values?: unknown[]) => (chainSetting() ? queryInChain(pool, config, values) : pool.query(config, values))
  const write = drizzle({ client: { query: single } as unknown as pg.Client })

  const database: Database = {
    read: drizzle({ client: { query } as unknown as pg.Client }),
    write,
    readRows: (name, text, values, plan = 'auto') => (plan === 'once' ? plannedOnce : nextPipeline()).rows(name, text, values),
    transaction: createTransaction(pool, listeners),
    ...createBatches(batches, pool, listeners),
    async queueBatch(send, { durable }) {
      return (await sendTogether(queue, QUEUE_TRANSACTION[durable ? 'durable' : 'unflushed'], send, listeners)) as never
    },
    ping: () => withinPingTimeout([...pipelines.map((pipeline) => pipeline.query({ text: 'select 1' })), pool.query('select 1')]),
    onReconnect: (listener) => connector.availability.onReconnect(listener),
    onCommitted: (listener) => listeners.add(listener),
    notifyCommitted: () => listeners.notify(),
    poolStats: () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    async close() {
      connector.availability.close()
      await Promise.all([...[...new Set([...pipelines, plannedOnce, batches, queue])].map((pipeline) => pipeline.close()), pool.end()])
    },
  }
  const checkParameters = async () => {
    const [row] = await database.readRows(undefined, "select current_setting('default_transaction_read_only')", [])
    if (!options.unnamedStatements && row?.[0] !== 'on') throw new StartupParametersIgnored()
  }
  try {
    await Promise.all([database.ping(), checkParameters()])
  } catch (error) {
    await database.close()
    throw error
  }
  return database
}
