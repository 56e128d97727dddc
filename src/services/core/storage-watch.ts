import { setTimeout as sleep } from 'node:timers/promises'
import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../db/client.js'
import { storageFailures } from '../../db/schema/index.js'
import { Unavailable } from '../../lib/unavailable.js'
import type { Settings } from './settings-table.js'

/** Milliseconds between two looks at what other processes have found. */
const LOOK = 1_000
/** Milliseconds that one look waits for a check. */
const WAIT = 500

interface Standing {
  failures: number
  /** When the last check failed, by the clock of this process. */
  failedAt: number
}

/** A check of a storage that is under way; one that hangs stays so. */
interface Check {
  begun: number
  outcome: Promise<boolean>
}

export interface StorageWatchOptions {
  db: Database
  storages: readonly string[]
  settings(): Promise<Settings>
  /** Uses a storage; fails, or never ends, where it cannot be used. */
  use(storage: string): Promise<void>
  onChange(storage: string, blocked: boolean): void
  onFault(fault: unknown): void
}

/**
 * Checks the storages all the time, and blocks those that have failed too often for all processes together: calls that
 * need one are refused at once until the reset time is over (SEC-188). The answer to a call comes from memory.
 */
export class StorageWatch {
  readonly #options: StorageWatchOptions
  readonly #standings = new Map<string, Standing>()
  readonly #blocked = new Set<string>()
  readonly #checks = new Map<string, Check>()
  /** When each storage was last checked. */
  readonly #checkedAt = new Map<string, number>()
  #settings: Settings | undefined
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined

  constructor(options: StorageWatchOptions) {
    this.#options = options
  }

  /** Looks once a second from now on. */
  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }

  /** Why a storage must not be used now; null: it may be. */
  refusal(storage: string): Unavailable | null {
    const left = this.#blockedFor(storage)
    return left > 0 ? new Unavailable('The storage of the repository is not available', Math.ceil(left / 1_000)) : null
  }

  /** Reads what all processes have found and checks what is due; one at a time. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((fault: unknown) => this.#options.onFault(fault))
      .finally(() => {
        this.#looking = undefined
      })
    return this.#looking
  }

  async #look(): Promise<void> {
    const settings = await this.#options.settings()
    this.#settings = settings
    await this.#read()
    await Promise.all(this.#options.storages.map((storage) => this.#checkIfDue(storage, settings)))
    for (const storage of this.#options.storages) this.#tellChange(storage)
  }

  async #read(): Promise<void> {
    const rows = await this.#options.db.readRows('storage failures', READ, [])
    this.#standings.clear()
    for (const [storage, failures, age] of rows)
      this.#standings.set(String(storage), { failures: Number(failures), failedAt: performance.now() - Number(age) * 1_000 })
  }

  async #checkIfDue(storage: string, settings: Settings): Promise<void> {
    const { circuitbreaker_check_interval: interval, circuitbreaker_storage_timeout: timeout } = settings
    const now = performance.now()
    if (this.#blockedFor(storage) > 0 || now - (this.#checkedAt.get(storage) ?? Number.NEGATIVE_INFINITY) < interval * 1_000) return
    const fine = await this.#passes(storage, settings)
    if (fine === null) return
    this.#checkedAt.set(storage, performance.now())
    const known = this.#standings.get(storage)
    if (fine && known) await this.#options.db.write.execute(sql`/* storages */ delete from ${storageFailures} where storage = ${storage}`)
    // of several processes that find the same, one counts
    if (!fine) await this.#options.db.write.execute(countFailure(storage, settings, Math.min(interval, timeout)))
    if (known || !fine) await this.#read()
  }

  /** Whether one of so many attempts succeeds in time; null: the attempt goes on, and its time is not over. */
  async #passes(storage: string, settings: Settings): Promise<boolean | null> {
    const { circuitbreaker_access_retries: attempts, circuitbreaker_storage_timeout: timeout } = settings
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const check = this.#checks.get(storage) ?? this.#begin(storage)
      const left = check.begun + Math.max(WAIT, timeout * 1_000) - performance.now()
      const outcome = await Promise.race([check.outcome, sleep(Math.max(0, Math.min(left, WAIT)), 'late' as const, { ref: false })])
      if (outcome === true) return true
      // what hangs is not begun again beside itself, which would take one thread after another
      if (outcome === 'late') return left > WAIT ? null : this.#late(storage)
    }
    return false
  }

  /** It goes on, and has the same time again before it counts another time. */
  #late(storage: string): false {
    const check = this.#checks.get(storage)
    if (check) check.begun = performance.now()
    return false
  }

  #begin(storage: string): Check {
    const outcome = this.#options.use(storage).then(
      () => true,
      () => false,
    )
    const check = { begun: performance.now(), outcome }
    this.#checks.set(storage, check)
    void outcome.then(() => this.#checks.delete(storage))
    return check
  }

  /** Milliseconds. */
  #blockedFor(storage: string): number {
    const standing = this.#standings.get(storage)
    if (!standing || !this.#settings || standing.failures <= this.#settings.circuitbreaker_failure_count_threshold) return 0
    return standing.failedAt + this.#settings.circuitbreaker_failure_reset_time * 1_000 - performance.now()
  }

  #tellChange(storage: string): void {
    const blocked = this.#blockedFor(storage) > 0
    if (blocked === this.#blocked.has(storage)) return
    if (blocked) this.#blocked.add(storage)
    else this.#blocked.delete(storage)
    this.#options.onChange(storage, blocked)
  }
}

const READ = '/* storages */ select storage, failures, extract(epoch from pg_catalog.now() - failed_at)::float8 from storage_failures'

/** A failure after a quiet reset time is the first one again. */
const countFailure = (storage: string, { circuitbreaker_failure_reset_time: reset }: Settings, apart: number): SQL =>
  sql`/* storages */ insert into ${storageFailures} as f (storage, failures) values (${storage}, 1)
    on conflict (storage) do update set failed_at = pg_catalog.now(),
      failures = case when f.failed_at < pg_catalog.now() - ${reset}::float8 * interval '1 second' then 1 else f.failures + 1 end
    where f.failed_at <= pg_catalog.now() - ${apart}::float8 * interval '0.5 second'`
