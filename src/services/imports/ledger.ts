import { and, asc, eq, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { countWhere } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { importItems, imports } from '../../db/schema/index.js'

/** One item that could not be imported. */
export interface LeftOut {
  kind: string
  name: string
  reason: string
}

/** The outcome of each item of a source server: stored in Postgres, or only counted in a dry run. */
export interface Ledger {
  dry: boolean
  /** The imported items among these keys, with their local ids. */
  findImported(kind: string, keys: string[]): Promise<Map<string, number | null>>
  /** Records an imported item, in the transaction that inserts it. */
  recordImported(tx: Transaction, kind: string, key: string, here: number | null): Promise<void>
  /** Records an item in a dry run; otherwise does nothing. */
  countImported(kind: string, key: string): void
  reportLeftOut(kind: string, key: string, name: string, reason: string): Promise<void>
  /** Removes the report of an earlier run, as the list has now been read in full. */
  clearLeftOut(kind: string, key: string): Promise<void>
  /** Imported items by kind and items left out, of all runs. */
  totals(): Promise<{ came: Record<string, number>; left_out: LeftOut[]; left_out_count: number }>
}

/** Left-out items that a report lists; the rest is only counted. */
const MAX_LISTED = 10_000
const MAX_REASON = 500
const MAX_KEY = 1_000
const MAX_NAME = 300

/** For texts chosen by the source server. Postgres stores no NUL. */
const truncate = (text: string, maxLength: number) => text.slice(0, maxLength).replaceAll('\0', '\ufffd')

/** Opens the ledger of a source server, which is identified by its URL. */
export async function openLedger(ctx: Context, url: string): Promise<Ledger> {
  const { db } = ctx
  const { id } = onlyRow(
    await db.write
      .insert(imports)
      .values({ url, created_at: ctx.now() })
      .onConflictDoUpdate({ target: imports.url, set: { url } })
      .returning({ id: imports.id }),
  )
  const ofThisServer = eq(importItems.import_id, id)
  const write = (on: Pick<Transaction, 'insert'>, row: Omit<typeof importItems.$inferInsert, 'import_id'>) =>
    on
      .insert(importItems)
      .values({ import_id: id, ...row })
      .onConflictDoUpdate({
        target: [importItems.import_id, importItems.kind, importItems.key],
        set: { here: row.here ?? null, fault: row.fault ?? null, name: row.name ?? null },
      })
  return {
    dry: false,
    async findImported(kind, keys) {
      if (keys.length === 0) return new Map()
      const rows = await db.write
        .select({ key: importItems.key, here: importItems.here })
        .from(importItems)
        .where(and(ofThisServer, eq(importItems.kind, kind), inArray(importItems.key, keys), isNull(importItems.fault)))
      return new Map(rows.map(({ key, here }) => [key, here]))
    },
    async recordImported(tx, kind, key, here) {
      await write(tx, { kind, key: truncate(key, MAX_KEY), here })
    },
    countImported: () => undefined,
    async reportLeftOut(kind, key, name, reason) {
      await write(db.write, { kind, key: truncate(key, MAX_KEY), name: truncate(name, MAX_NAME), fault: truncate(reason, MAX_REASON) })
    },
    async clearLeftOut(kind, key) {
      await db.write.delete(importItems).where(and(ofThisServer, eq(importItems.kind, kind), eq(importItems.key, key)))
    },
    totals: () => totalsOf(db, ofThisServer),
  }
}

async function totalsOf({ write }: Context['db'], ofThisServer: SQL): ReturnType<Ledger['totals']> {
  const { kind, fault, name } = importItems
  const counts = await write
    .select({ kind, came: countWhere(isNull(fault)) })
    .from(importItems)
    .where(ofThisServer)
    .groupBy(kind)
    .orderBy(asc(kind))
  const faults = and(ofThisServer, isNotNull(fault))
  const left = await write
    .select({ kind, name: sql<string>`${name}`, reason: sql<string>`${fault}` })
    .from(importItems)
    .where(faults)
    .orderBy(kind, fault, name)
    .limit(MAX_LISTED)
  return { came: countsByKind(counts), left_out: left, left_out_count: await write.$count(importItems, faults) }
}

/** Kinds that start with a dash mark progress and are not reported. */
const countsByKind = (counts: { kind: string; came: number }[]) =>
  Object.fromEntries(counts.flatMap(({ kind, came }) => (kind.startsWith('-') || came === 0 ? [] : [[kind, came]])))

/** A ledger in memory. */
export function dryLedger(): Ledger {
  const counts = new Map<string, Set<string>>()
  const left = new Map<string, LeftOut>()
  return {
    dry: true,
    findImported: async (kind, keys) => new Map(keys.filter((key) => counts.get(kind)?.has(key)).map((key) => [key, 0])),
    recordImported: () => Promise.reject(new Error('a dry run writes nothing')),
    countImported(kind, key) {
      counts.set(kind, (counts.get(kind) ?? new Set()).add(key))
    },
    async reportLeftOut(kind, key, name, reason) {
      left.set(`${kind} ${key}`, { kind, name: name.slice(0, MAX_NAME), reason: reason.slice(0, MAX_REASON) })
    },
    clearLeftOut: async () => undefined,
    async totals() {
      const came = countsByKind([...counts].map(([kind, keys]) => ({ kind, came: keys.size })))
      return { came, left_out: [...left.values()].slice(0, MAX_LISTED), left_out_count: left.size }
    },
  }
}
