import pg from 'pg'
import { StartFault } from '../lib/start-fault.js'
import { Unavailable } from '../lib/unavailable.js'
import { parseServers, type ServerList } from './server-urls.js'

const CONNECT_TIMEOUT_MS = 2_000
/** Milliseconds in which one failed search answers for all. */
const FAILURE_TTL_MS = 200

/** Whether a server takes writes: it is no standby, and nobody has made it read-only. */
const TAKES_WRITES = `select not pg_is_in_recovery() and (select reset_val from pg_settings where name = 'default_transaction_read_only') = 'off'`

/**
 * Which of the servers of a URL is in use. One that is lost, or has become read-only, is looked for anew among all of
 * them; until it is found connections are refused as unavailable.
 */
export class Servers {
  readonly #named: ServerList
  #current: string
  #found: boolean
  #searching: Promise<void> | undefined
  #failed: { at: number; error: unknown } | undefined

  constructor(url: string) {
    this.#named = parseServers(url)
    this.#current = this.#named.urls[0]
    this.#found = !this.#named.writable && this.#named.urls.length === 1
  }

  /** The URL of the server in use. */
  get current(): string {
    return this.#current
  }

  /** Whether the server in use is known, so that nobody has to wait for `find`. */
  get isFound(): boolean {
    return this.#found
  }

  /** A connection to this server was lost, could not be made, or takes no writes: it is looked for by the next call. */
  lost(url: string): void {
    if (url === this.#current && (this.#named.writable || this.#named.urls.length > 1)) this.#found = false
  }

  /** Resolves when `current` can be used; throws Unavailable where no server can. */
  async find(): Promise<void> {
    if (this.#found) return
    if (this.#failed && performance.now() - this.#failed.at < FAILURE_TTL_MS) throw this.#failed.error
    this.#searching ??= this.#search().finally(() => {
      this.#searching = undefined
    })
    return this.#searching
  }

  async #search(): Promise<void> {
    const { urls, writable } = this.#named
    const faults: unknown[] = []
    const answers = await Promise.all(
      urls.map((url) =>
        isUsable(url, writable).catch((fault: unknown) => {
          faults.push(fault)
          return false
        }),
      ),
    )
    // the one in use, where it still is the right one
    const at = answers[urls.indexOf(this.#current)] ? urls.indexOf(this.#current) : answers.indexOf(true)
    if (at < 0) {
      const error = new Unavailable('The database is not available', 1, { cause: faults[0] ?? new Error('no server of the database takes writes') })
      this.#failed = { at: performance.now(), error }
      throw error
    }
    this.#current = urls[at] as string
    this.#found = true
    this.#failed = undefined
  }
}

async function isUsable(url: string, writable: boolean): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
    application_name: 'roost find',
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    if (!writable) return true
    const { rows } = await client.query({ text: TAKES_WRITES, rowMode: 'array' })
    return rows[0]?.[0] === true
  } finally {
    await client.end().catch(() => undefined)
  }
}

/**
 * A connection of its own to the server that is in use now, for one piece of work; whoever asks ends it. Where there is
 * none, or it does not answer, this throws a StartFault.
 */
export async function connectOnce(url: string, name: string): Promise<pg.Client> {
  const servers = new Servers(url)
  const unreachable = (error: Error) => {
    throw new StartFault(`cannot reach the database: ${(error.cause instanceof Error ? error.cause : error).message || 'no answer'}`)
  }
  await servers.find().catch(unreachable)
  const client = new pg.Client({ connectionString: servers.current, connectionTimeoutMillis: 5_000, application_name: name })
  client.on('error', () => undefined)
  await client.connect().catch((error: Error) => {
    void client.end().catch(() => undefined)
    unreachable(error)
  })
  return client
}
