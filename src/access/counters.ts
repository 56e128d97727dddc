import { createHash } from 'node:crypto'
import { and, eq, gt, inArray, lte, sql } from 'drizzle-orm'
import type { Database } from '../db/client.js'
import { counters } from '../db/schema/index.js'
import { statement } from '../db/statement.js'

/** Maximum number of stored counters; those whose windows end first are dropped (SEC-150). */
const MAX_COUNTERS = 50_000

/** The value of a counter, and when its window ends. */
export interface Count {
  count: number
  until: Date
}

interface PendingCount {
  key: string
  /** In milliseconds. */
  window: number
  resolve(count: Count): void
  reject(fault: unknown): void
}

const selectCounts = statement('counters', (db) =>
  db
    .select({ key: counters.key, count: counters.count, until: counters.until })
    .from(counters)
    .where(sql`${counters.key} = any(${sql.placeholder('keys')})`),
)

/**
 * Fixed-window counters in Postgres, shared by all processes of the service. Names are stored as digests, because they
 * contain addresses and login names.
 */
export class Counters {
  #pending: PendingCount[] = []
  #writing = false

  constructor(
    private readonly db: Database,
    private readonly now: () => Date,
  ) {}

  /**
   * Increments a counter; starts a new window of `window` seconds if the last one is over. Calls made while a statement
   * is running are batched into the next one.
   */
  add(name: string, window: number): Promise<Count> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ key: keyOf(name), window: window * 1000, resolve, reject })
      if (!this.#writing) void this.#write()
    })
  }

  /** The current counts; 0 for counters whose windows are over. */
  async read(names: string[]): Promise<Count[]> {
    const keys = names.map(keyOf)
    const now = this.now()
    const rows = await selectCounts(this.db, null).execute({ keys })
    return keys.map((key) => rows.find((row) => row.key === key && row.until > now) ?? { count: 0, until: now })
  }

  /** Takes back one that was added, if its window is not over. */
  async takeBack(name: string): Promise<void> {
    await this.db.write
      .update(counters)
      .set({ count: sql`${counters.count} - 1` })
      .where(and(eq(counters.key, keyOf(name)), gt(counters.until, this.now()), gt(counters.count, 0)))
  }

  async reset(name: string): Promise<void> {
    await this.db.write.delete(counters).where(eq(counters.key, keyOf(name)))
  }

  async #write(): Promise<void> {
    this.#writing = true
    for (let batch = this.#takeBatch(); batch.length > 0; batch = this.#takeBatch()) {
      try {
        await this.#increment(batch)
      } catch (fault) {
        for (const { reject } of batch) reject(fault)
      }
    }
    this.#writing = false
  }

  #takeBatch(): PendingCount[] {
    const batch = this.#pending
    this.#pending = []
    return batch
  }

  /** Increments all counters of a batch in one statement; each caller gets its own count. */
  async #increment(batch: PendingCount[]): Promise<void> {
    const now = this.now().getTime()
    const byKey = new Map<string, PendingCount[]>()
    for (const pending of batch) byKey.set(pending.key, [...(byKey.get(pending.key) ?? []), pending])
    // in the same order in all processes, to avoid deadlocks
    const added = [...byKey]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, all]) => ({ key, count: all.length, until: now + (all[0]?.window ?? 0) }))
    const at = sql`to_timestamp(${now}::float8 / 1000)`
    const rows = await this.db.write
      .insert(counters)
      .select(
        sql`select key, count, to_timestamp("until" / 1000) from jsonb_to_recordset(${JSON.stringify(added)}::jsonb) as a (key text, count int, "until" float8)`,
      )
      .onConflictDoUpdate({
        target: counters.key,
        set: {
          count: sql`excluded.count + case when ${counters.until} > ${at} then ${counters.count} else 0 end`,
          until: sql`case when ${counters.until} > ${at} then ${counters.until} else excluded."until" end`,
        },
      })
      .returning()
    for (const { key, count, until } of rows) {
      const all = byKey.get(key) ?? []
      for (const [i, { resolve }] of all.entries()) resolve({ count: count - all.length + 1 + i, until })
    }
  }
}

const keyOf = (name: string) => createHash('sha256').update(name).digest('base64url')

/** Deletes counters whose windows are over, and those beyond the maximum. */
export async function dropCounters(db: Database, now: Date): Promise<void> {
  await db.write.delete(counters).where(lte(counters.until, now))
  const excess = db.write.select({ key: counters.key }).from(counters).orderBy(sql`${counters.until} desc`).offset(MAX_COUNTERS)
  await db.write.delete(counters).where(inArray(counters.key, excess))
}
