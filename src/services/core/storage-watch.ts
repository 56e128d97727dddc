import { setTimeout as sleep } from 'node:timers/promises'
import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../db/client.js'
import { storageFailures } from '../../db/schema/index.js'
import { Unavailable } from '../../lib/unavailable.js'
import type { Settings } from './settings-table.js'

/** How often the failures recorded by all processes are read, and due checks started. */
const CHECK_INTERVAL_MS = 1_000
/** How long one round waits for a check to finish. */
const MAX_WAIT_MS = 500

interface FailureRecord {
  failures: number
  /** When the last check failed, in `performance.now()` of this process. */
  failedAt: number
}

/** A running check of a storage; one that hangs is not started again. */
interface Check {
  begun: number
  outcome: Promise<boolean>
}

export interface StorageWatchOptions {
  db: Database
  storages: readonly string[]
  settings(): Promise<Settings>
  /** Accesses a storage; rejects, or never settles, when the storage is not usable. */
  probe(storage: string): Promise<void>
  onChange(storage: string, blocked: boolean): void
  onFault(fault: unknown): void
}

/**
 * A circuit breaker for storages. It checks them periodically, counts failures across all processes, and blocks a
 * storage that failed too often: calls that need it are refused at once until the reset time is over (SEC-188).
 * Refusing needs no query.
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

  /** The error for calls that need a blocked storage; null when it is not blocked. */
  refusal(storage: string): Unavailable | null {
    const remainingMs = this.#blockedFor(storage)
    return remainingMs > 0 ? new Unavailable('The storage of the repository is not available', Math.ceil(remainingMs / 1_000)) : null
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
    for (const storage of this.#options.storages) this.#notifyChange(storage)
  }

  async #readFailures(): Promise<void> {
    const rows = await this.#options.db.readRows('storage failures', READ_FAILURES, [])
    this.#failures.clear()
    for (const [storage, failures, age] of rows)
      this.#failures.set(String(storage), { failures: Number(failures), failedAt: performance.now() - Number(age) * 1_000 })
  }

  async #checkIfDue(storage: string, settings: Settings): Promise<void> {
    const { circuitbreaker_check_interval: interval, circuitbreaker_storage_timeout: timeout } = settings
    const now = performance.now()
    if (this.#blockedFor(storage) > 0 || now - (this.#checkedAt.get(storage) ?? Number.NEGATIVE_INFINITY) < interval * 1_000) return
    const ok = await this.#passes(storage, settings)
    if (ok === null) return
    this.#checkedAt.set(storage, performance.now())
    const known = this.#failures.get(storage)
    if (ok && known) await this.#options.db.write.execute(sql`/* storages */ delete from ${storageFailures} where storage = ${storage}`)
    // when several processes see the same failure, it counts once
    if (!ok) await this.#options.db.write.execute(countFailure(storage, settings, Math.min(interval, timeout)))
    if (known || !ok) await this.#readFailures()
  }

  /** Whether one of the attempts succeeds in time; null while an attempt is still running within its timeout. */
  async #passes(storage: string, settings: Settings): Promise<boolean | null> {
    const { circuitbreaker_access_retries: attempts, circuitbreaker_storage_timeout: timeout } = settings
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const check = this.#checks.get(storage) ?? this.#begin(storage)
      const remainingMs = check.begun + Math.max(MAX_WAIT_MS, timeout * 1_000) - performance.now()
      const outcome = await Promise.race([check.outcome, sleep(Math.max(0, Math.min(remainingMs, MAX_WAIT_MS)), 'late' as const, { ref: false })])
      if (outcome === true) return true
      // a hanging attempt is not repeated in parallel: each one would occupy another thread
      if (outcome === 'late') return remainingMs > MAX_WAIT_MS ? null : this.#restartTimeout(storage)
    }
    return false
  }

  /** The check keeps running; it counts as a failure again after another timeout. */
  #restartTimeout(storage: string): false {
    const check = this.#checks.get(storage)
    if (check) check.begun = performance.now()
    return false
  }

  #begin(storage: string): Check {
    const outcome = this.#options.probe(storage).then(
      () => true,
      () => false,
    )
    const check = { begun: performance.now(), outcome }
    this.#checks.set(storage, check)
    void outcome.then(() => this.#checks.delete(storage))
    return check
  }

  /** How long the storage stays blocked, in milliseconds; 0 or less when it is not. */
  #blockedFor(storage: string): number {
    const record = this.#failures.get(storage)
    if (!record || !this.#settings || record.failures <= this.#settings.circuitbreaker_failure_count_threshold) return 0
    return record.failedAt + this.#settings.circuitbreaker_failure_reset_time * 1_000 - performance.now()
  }

  #notifyChange(storage: string): void {
    const blocked = this.#blockedFor(storage) > 0
    if (blocked === this.#blocked.has(storage)) return
    if (blocked) this.#blocked.add(storage)
    else this.#blocked.delete(storage)
    this.#options.onChange(storage, blocked)
  }
}

const READ_FAILURES = '/* storages */ select storage, failures, extract(epoch from pg_catalog.now() - failed_at)::float8 from storage_failures'

/** Counts a failure; the count restarts at 1 when the last failure is older than the reset time. */
const countFailure = (storage: string, { circuitbreaker_failure_reset_time: reset }: Settings, apart: number): SQL =>
  sql`/* storages */ insert into ${storageFailures} as f (storage, failures) values (${storage}, 1)
    on conflict (storage) do update set failed_at = pg_catalog.now(),
      failures = case when f.failed_at < pg_catalog.now() - ${reset}::float8 * interval '1 second' then 1 else f.failures + 1 end
    where f.failed_at <= pg_catalog.now() - ${apart}::float8 * interval '0.5 second'`
