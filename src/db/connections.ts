import pg from 'pg'
import type { Logger } from 'pino'
import { spending } from '../lib/async/spent.js'
import { Unavailable } from '../lib/unavailable.js'
import { isLoss, translated } from './errors.js'

/** Calls that may wait for one lane, for the pool, or for bursts; more are refused. */
export const MAX_WAITING = 1_000
const TRANSACTION_WORDS = /^\s*(begin|start\s+transaction|commit|end|rollback|abort|savepoint|release|prepare|set|lock|listen|declare)\b/i

/** A statement as pg takes it. */
export interface Statement extends pg.QueryConfig {
  name?: string
  rowMode?: string
}
type Send = (config: Statement, values?: unknown[]) => Promise<pg.QueryResult>

/**
 * Tracks whether the database answers; logs one line when connections are lost and one when a statement succeeds again.
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

export interface ConnectionOptions {
  /** Send statements without names. */
  unnamedStatements?: boolean
  /** Called with the text of every statement before it is sent. */
  onQuery?: (text: string) => void
}

/**
 * A connection class that reports every statement, drops statement names if asked to, and turns losses into
 * Unavailable.
 */
export function connectionClass({ unnamedStatements, onQuery }: ConnectionOptions, availability: Availability) {
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
export class BoundedPool extends pg.Pool {
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
export class Lane {
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
