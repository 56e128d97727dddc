import { and, asc, eq, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { decoded } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { importItems, imports } from '../../db/schema/index.js'

/** One thing that could not come. */
export interface LeftOut {
  kind: string
  name: string
  reason: string
}

/** What became of each thing of another server: kept in Postgres, or only counted in a dry run. */
export interface Ledger {
  dry: boolean
  /** Those of these keys that have come, with their ids here. */
  known(kind: string, keys: string[]): Promise<Map<string, number | null>>
  /** Writes down that something comes, in the transaction that brings it. */
  came(tx: Transaction, kind: string, key: string, here: number | null): Promise<void>
  /** The same where there is no transaction. */
  counted(kind: string, key: string): void
  leftOut(kind: string, key: string, name: string, reason: string): Promise<void>
  /** What an earlier run could not read has been read. */
  isWhole(kind: string, key: string): Promise<void>
  /** How many of each kind have come in all runs, and what has not. */
  totals(): Promise<{ came: Record<string, number>; left_out: LeftOut[]; left_out_count: number }>
}

/** Things left out that a report names; the others are counted. */
const MAX_NAMED = 10_000
const MAX_REASON = 500
const MAX_KEY = 1_000
const MAX_NAME = 300

/** The other server chooses these texts; Postgres stores no NUL. */
const short = (text: string, most: number) => text.slice(0, most).replaceAll('\0', '\ufffd')

/** The ledger of a server. */
export async function openLedger(ctx: Context, url: string): Promise<Ledger> {
  const { db } = ctx
  const { id } = onlyRow(
    await db.write
      .insert(imports)
      .values({ url, created_at: ctx.now() })
      .onConflictDoUpdate({ target: imports.url, set: { url } })
      .returning({ id: imports.id }),
  )
  const mine = eq(importItems.import_id, id)
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
    async known(kind, keys) {
      if (keys.length === 0) return new Map()
      const rows = await db.write
        .select({ key: importItems.key, here: importItems.here })
        .from(importItems)
        .where(and(mine, eq(importItems.kind, kind), inArray(importItems.key, keys), isNull(importItems.fault)))
      return new Map(rows.map(({ key, here }) => [key, here]))
    },
    async came(tx, kind, key, here) {
      await write(tx, { kind, key: short(key, MAX_KEY), here })
    },
    counted: () => undefined,
    async leftOut(kind, key, name, reason) {
      await write(db.write, { kind, key: short(key, MAX_KEY), name: short(name, MAX_NAME), fault: short(reason, MAX_REASON) })
    },
    async isWhole(kind, key) {
      await db.write.delete(importItems).where(and(mine, eq(importItems.kind, kind), eq(importItems.key, key)))
    },
    totals: () => totalsOf(db, mine),
  }
}

/** What the rows of one server say. */
async function totalsOf({ write }: Context['db'], mine: SQL): ReturnType<Ledger['totals']> {
  const { kind, fault, name } = importItems
  const counts = await write
    .select({ kind, came: decoded(sql<number>`count(*) filter (where ${fault} is null)`, Number) })
    .from(importItems)
    .where(mine)
    .groupBy(kind)
    .orderBy(asc(kind))
  const faults = and(mine, isNotNull(fault))
  const left = await write
    .select({ kind, name: sql<string>`${name}`, reason: sql<string>`${fault}` })
    .from(importItems)
    .where(faults)
    .orderBy(kind, fault, name)
    .limit(MAX_NAMED)
  return { came: cameOf(counts), left_out: left, left_out_count: await write.$count(importItems, faults) }
}

/** Kinds whose name begins with a dash only mark how far the import is. */
const cameOf = (counts: { kind: string; came: number }[]) =>
  Object.fromEntries(counts.flatMap(({ kind, came }) => (kind.startsWith('-') || came === 0 ? [] : [[kind, came]])))

/** A ledger that is forgotten. */
export function dryLedger(): Ledger {
  const counts = new Map<string, Set<string>>()
  const left = new Map<string, LeftOut>()
  return {
    dry: true,
    known: async (kind, keys) => new Map(keys.filter((key) => counts.get(kind)?.has(key)).map((key) => [key, 0])),
    came: () => Promise.reject(new Error('a dry run writes nothing')),
    counted(kind, key) {
      counts.set(kind, (counts.get(kind) ?? new Set()).add(key))
    },
    async leftOut(kind, key, name, reason) {
      left.set(`${kind} ${key}`, { kind, name: name.slice(0, MAX_NAME), reason: reason.slice(0, MAX_REASON) })
    },
    isWhole: async () => undefined,
    async totals() {
      const came = cameOf([...counts].map(([kind, keys]) => ({ kind, came: keys.size })))
      return { came, left_out: [...left.values()].slice(0, MAX_NAMED), left_out_count: left.size }
    },
  }
}
