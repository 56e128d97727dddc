import pg from 'pg'
import { StartFault } from '../lib/start-fault.js'
import { Unavailable } from '../lib/unavailable.js'
import { connectAgain, connectWithin, isSlowServer } from './connecting.js'
import { parseServers, type ServerList } from './server-urls.js'

const CONNECT_TIMEOUT_MS = 2_000
const LONE_CONNECT_TIMEOUT_MS = 5_000
/** How long a failed search is reused as the answer, in milliseconds. */
const FAILURE_TTL_MS = 200

/** Whether a server accepts writes: it is no standby and is not configured as read-only. */
const TAKES_WRITES = `select not pg_is_in_recovery() and (select reset_val from pg_settings where name = 'default_transaction_read_only') = 'off'`

/**
 * Tracks which server of a URL is in use. When it is lost or becomes read-only, the next call searches all servers;
 * until one is found, connections are refused as unavailable.
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

  /** Whether the server in use is known, so that `find` can be skipped. */
  get isFound(): boolean {
    return this.#found
  }

  /** Reports that a connection to this server was lost, failed, or accepts no writes: the next call searches again. */
  lost(url: string): void {
    if (url === this.#current && (this.#named.writable || this.#named.urls.length > 1)) this.#found = false
  }

  /** Resolves when `current` can be used; throws Unavailable if no server can. */
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
    // prefer the one in use
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
    query_timeout: CONNECT_TIMEOUT_MS,
    application_name: 'roost find',
  })
  client.on('error', () => undefined)
  try {
    await connectWithin(client, CONNECT_TIMEOUT_MS)
    if (!writable) return true
    const { rows } = await client.query({ text: TAKES_WRITES, rowMode: 'array' })
    return rows[0]?.[0] === true
  } finally {
    await client.end().catch(() => undefined)
  }
}

/**
 * Opens a dedicated connection to the server in use; the caller must end it. Throws a StartFault if no server answers.
 */
export async function connectOnce(url: string, name: string): Promise<pg.Client> {
  return connectAgain(
    () => connectToServer(new Servers(url), name),
    (error) => isSlowServer(causeOf(error)),
  ).catch((error: Error) => {
    throw new StartFault(`cannot reach the database: ${(causeOf(error) as Error).message || 'no answer'}`)
  })
}

const causeOf = (error: unknown) => (error instanceof Error && error.cause instanceof Error ? error.cause : error)

async function connectToServer(servers: Servers, name: string): Promise<pg.Client> {
  await servers.find()
  const client = new pg.Client({ connectionString: servers.current, application_name: name })
  client.on('error', () => undefined)
  try {
    await connectWithin(client, LONE_CONNECT_TIMEOUT_MS)
    return client
  } catch (error) {
    void client.end().catch(() => undefined)
    throw error
  }
}
