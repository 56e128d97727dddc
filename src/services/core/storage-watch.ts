import { setTimeout as sleep } from 'node:timers/promises'
import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../db/client.js'
import { storageFailures } from '../../db/schema/index.js'
import type { StorageAccess } from '../../git/types.js'
import { isShortage, Unavailable } from '../../lib/unavailable.js'
import type { Settings } from './settings-table.js'

/** How often the failures recorded by all processes are read, and due checks started. */
const CHECK_INTERVAL_MS = 1_000
/** How long one round waits for a check to finish. */
const MAX_WAIT_MS = 500
/** Good checks in a row after which a blocked access is possible again. */
const MIN_PASSES = 3
/** The longest time that a refused caller is asked to wait, in seconds: a storage may be usable again at any moment. */
const MAX_RETRY_AFTER = 30

interface FailureRecord {
  failures: number
  /** When the last check failed, in `performance.now()` of this process. */
  failedAt: number
}

/** The end of a check; `unknown` when this process was short of something that has nothing to do with the storage. */
type Outcome = 'passed' | 'failed' | 'unknown'

/** A running check of an access; one that hangs is not started again. */
interface Check {
  begun: number
  outcome: Promise<Outcome>
}

export interface StorageWatchOptions {
  db: Database
  storages: readonly string[]
  settings(): Promise<Settings>
  /** Accesses a storage; rejects, or never settles, when that is not possible. */
  probe(storage: string, access: StorageAccess): Promise<void>
  onChange(storage: string, access: StorageAccess, blocked: boolean): void
  onFault(fault: unknown): void
}

/**
 * Circuit breakers for reading and for writing each storage. It checks them periodically, counts failures across all
 * processes, and blocks an access that failed too often: calls that need it are refused at once until it has passed
 * several checks, or the reset time is over (SEC-188). Refusing needs no query.
 */
export class StorageWatch {
  readonly #options: StorageWatchOptions
  readonly #failures = new Map<string, FailureRecord>()
  readonly #blocked = new Set<string>()
  readonly #checks = new Map<string, Check>()
  /** When each storage was last checked. */
  readonly #checkedAt = new Map<string, number>()
  #settings: Settings | undefined
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined

  constructor(options: StorageWatchOptions) {
    this.#options = options
  }

  /** Starts checking periodically. */
  start(): void {
    this.#timer = setInterval(() => void this.checkAll(), CHECK_INTERVAL_MS).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  /** The error for calls that need a blocked access; null when it is not blocked. What writes reads as well. */
  refusal(storage: string, access: StorageAccess): Unavailable | null {
    const refused = (remainingMs: number, what: string) =>
      remainingMs > 0 ? new Unavailable(`The storage of the repository ${what}`, Math.min(Math.ceil(remainingMs / 1_000), MAX_RETRY_AFTER)) : null
    const unreadable = refused(this.#blockedFor(storage, 'read'), 'is not available')
    if (unreadable || access === 'read') return unreadable
    return refused(this.#blockedFor(storage, 'write'), 'cannot be written')
  }

  /** Reads the failures that all processes recorded and runs due checks; concurrent calls share one round. */
  checkAll(): Promise<void> {
    this.#running ??= this.#checkAll()
      .catch((fault: unknown) => this.#options.onFault(fault))
      .finally(() => {
        this.#running = undefined
      })
    return this.#running
  }

  async #checkAll(): Promise<void> {
    const settings = await this.#options.settings()
    this.#settings = settings
    await this.#readFailures()
    await Promise.all(this.#options.storages.map((storage) => this.#checkIfDue(storage, settings)))
    for (const storage of this.#options.storages) for (const access of ['read', 'write'] as const) this.#notifyChange(storage, access)
  }

  async #readFailures(): Promise<void> {
    const rows = await this.#options.db.readRows('storage failures', READ_FAILURES, [])
    this.#failures.clear()
    for (const [storage, access, failures, age] of rows)
      this.#failures.set(`${storage} ${access}`, { failures: Number(failures), failedAt: performance.now() - Number(age) * 1_000 })
  }

  async #checkIfDue(storage: string, settings: Settings): Promise<void> {
    const { circuitbreaker_check_interval: interval } = settings
    if (performance.now() - (this.#checkedAt.get(storage) ?? Number.NEGATIVE_INFINITY) < interval * 1_000) return
    // whether a storage that cannot be read could be written does not matter
    const read = await this.#check(storage, 'read', settings)
    const write = read === 'passed' ? await this.#check(storage, 'write', settings) : read
    if (write !== null) this.#checkedAt.set(storage, performance.now())
  }

  /** Checks one access and records the outcome; null while the check is still running within its timeout. */
  async #check(storage: string, access: StorageAccess, settings: Settings): Promise<Outcome | null> {
    const { circuitbreaker_check_interval: interval, circuitbreaker_storage_timeout: timeout } = settings
    const outcome = await this.#outcomeOf(storage, access, settings)
    const known = this.#failures.has(`${storage} ${access}`)
    const apart = Math.min(interval, timeout)
    const record =
      outcome === 'failed'
        ? countFailure(storage, access, settings, apart)
        : outcome === 'passed' && known
          ? countPass(storage, access, { apart, needed: this.#blockedFor(storage, access) > 0 ? MIN_PASSES : 1 })
          : null
    if (!record) return outcome
    await this.#options.db.write.execute(record)
    await this.#readFailures()
    return outcome
  }

  /** `passed` if one of the attempts succeeds in time; null while an attempt is still running within its timeout. */
  async #outcomeOf(storage: string, access: StorageAccess, settings: Settings): Promise<Outcome | null> {
    const { circuitbreaker_access_retries: attempts, circuitbreaker_storage_timeout: timeout } = settings
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const check = this.#checks.get(`${storage} ${access}`) ?? this.#begin(storage, access)
      const remainingMs = check.begun + Math.max(MAX_WAIT_MS, timeout * 1_000) - performance.now()
      const outcome = await Promise.race([check.outcome, sleep(Math.max(0, Math.min(remainingMs, MAX_WAIT_MS)), 'late' as const, { ref: false })])
      if (outcome === 'passed' || outcome === 'unknown') return outcome
      // a hanging attempt is not repeated in parallel: each one would occupy another thread
      if (outcome === 'late') return remainingMs > MAX_WAIT_MS ? null : restartTimeout(check)
    }
    return 'failed'
  }

  #begin(storage: string, access: StorageAccess): Check {
    const outcome = this.#options.probe(storage, access).then(
      () => 'passed' as const,
      (error: unknown) => (isShortage(error) ? 'unknown' : 'failed'),
    )
    const check = { begun: performance.now(), outcome }
    this.#checks.set(`${storage} ${access}`, check)
    void outcome.then(() => this.#checks.delete(`${storage} ${access}`))
    return check
  }

  /** How long the access stays blocked at most, in milliseconds; 0 or less when it is not. */
  #blockedFor(storage: string, access: StorageAccess): number {
    const record = this.#failures.get(`${storage} ${access}`)
    if (!record || !this.#settings || record.failures <= this.#settings.circuitbreaker_failure_count_threshold) return 0
    return record.failedAt + this.#settings.circuitbreaker_failure_reset_time * 1_000 - performance.now()
  }

  #notifyChange(storage: string, access: StorageAccess): void {
    const [name, blocked] = [`${storage} ${access}`, this.#blockedFor(storage, access) > 0]
    if (blocked === this.#blocked.has(name)) return
    if (blocked) this.#blocked.add(name)
    else this.#blocked.delete(name)
    this.#options.onChange(storage, access, blocked)
  }
}

/** A check that hangs keeps running; it counts as a failure again after another timeout. */
function restartTimeout(check: Check): 'failed' {
  check.begun = performance.now()
  return 'failed'
}

const READ_FAILURES =
  '/* storages */ select storage, access, failures, extract(epoch from pg_catalog.now() - failed_at)::float8 from storage_failures'

/**
 * Counts a failure; the count restarts at 1 when the last failure is older than the reset time. What several processes
 * see at the same time counts once: outcomes are at least half of `apart` seconds apart.
 */
const countFailure = (storage: string, access: StorageAccess, { circuitbreaker_failure_reset_time: reset }: Settings, apart: number): SQL =>
  sql`/* storages */ insert into ${storageFailures} as f (storage, access, failures) values (${storage}, ${access}, 1)
    on conflict (storage, access) do update set failed_at = pg_catalog.now(), passes = 0,
      failures = case when f.failed_at < pg_catalog.now() - ${reset}::float8 * interval '1 second' then 1 else f.failures + 1 end
    where f.failed_at <= pg_catalog.now() - ${apart}::float8 * interval '0.5 second'`

/** Counts a good check, and forgets the failures when as many as needed came in a row. */
const countPass = (storage: string, access: StorageAccess, { apart, needed }: { apart: number; needed: number }): SQL =>
  sql`/* storages */ with passed as (
      update ${storageFailures} set passes = passes + 1, passed_at = pg_catalog.now()
      where storage = ${storage} and access = ${access} and passes + 1 < ${needed}
        and (passed_at is null or passed_at <= pg_catalog.now() - ${apart}::float8 * interval '0.5 second'))
    delete from ${storageFailures} where storage = ${storage} and access = ${access} and passes + 1 >= ${needed}
      and (passes = 0 or passed_at <= pg_catalog.now() - ${apart}::float8 * interval '0.5 second')`
