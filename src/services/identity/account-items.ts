import { and, asc, eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { decoded } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import type { emails, gpgKeys, sshKeys } from '../../db/schema/index.js'
import { retryOnUniqueViolation } from '../../db/taken.js'
import { invalidRecord, notFound } from '../../failures.js'
import { type Audited, audit } from '../core/audit.js'
import { limits, type Page, type Paging } from '../core/page.js'

/** The account that keys and addresses belong to. */
export interface Owner {
  id: number
  username: string
}

type AccountItem = typeof sshKeys | typeof gpgKeys | typeof emails

/** How many items of each kind an account may have (SEC-130). */
const MAX = 100

/**
 * Listing, finding, adding and removing, as keys and addresses have them in common. `noun` is what a 404 names, `type`
 * the audit's.
 */
export function accountItems<T extends AccountItem>(given: T, noun: string, type: 'key' | 'gpg_key' | 'email') {
  type Row = T['$inferSelect']
  // the tables do not differ in what is used here
  const table = given as typeof emails

  const tell = (ctx: Context, db: Pick<Transaction, 'insert'>, owner: Owner, row: Row, what: 'added' | 'removed') => {
    const name = 'email' in row ? row.email : row.fingerprint
    const event: Audited = { action: `${type}_${what}`, target: { type, id: row.id, name }, changes: { user_id: owner.id, username: owner.username } }
    return audit(ctx, db, event)
  }

  return {
    /** The items of an account, by id (K-1). */
    list: (ctx: Context, owner: Owner, paging: Paging) => pageOf(ctx, table, owner, paging) as Promise<Page<Row>>,

    /** One item; 404 also for those of other accounts (K-2). */
    async find(ctx: Context, owner: Owner, id: number): Promise<Row> {
      const [row] = await ctx.db.read
        .select()
        .from(table)
        .where(and(eq(table.id, id), eq(table.user_id, owner.id)))
      if (!row) throw notFound(noun)
      return row as Row
    },

    /**
     * Stores what `check` finds valid, and does what follows in the same transaction; when another call was faster, it
     * is checked again and the fault is reported.
     */
    async add(
      ctx: Context,
      owner: Owner,
      values: Omit<T['$inferInsert'], 'user_id'>,
      check: (tx: Transaction) => Promise<Record<string, string[]>>,
      then?: (tx: Transaction) => Promise<void>,
    ): Promise<Row> {
      const store = () =>
        ctx.db.transaction(async (tx) => {
          const faults = await check(tx)
          if (Object.keys(faults).length > 0) throw invalidRecord(faults)
          const held = await tx.$count(table, eq(table.user_id, owner.id))
          if (held >= MAX) throw invalidRecord({ base: [`there are already ${MAX}`] })
          const row = { ...values, user_id: owner.id, created_at: ctx.now(), updated_at: ctx.now() } as typeof emails.$inferInsert
          const stored = onlyRow(await tx.insert(table).values(row).returning()) as Row
          await tell(ctx, tx, owner, stored, 'added')
          await then?.(tx)
          return stored
        })
      return retryOnUniqueViolation(store)
    },

    async remove(ctx: Context, owner: Owner, row: Row): Promise<void> {
      await ctx.db.transaction(async (tx) => {
        const gone = await tx.delete(table).where(eq(table.id, row.id)).returning({ id: table.id })
        if (gone.length > 0) await tell(ctx, tx, owner, row, 'removed')
      })
    },
  }
}

/** A page of the rows of an account, by id. */
async function pageOf(ctx: Context, table: typeof emails, owner: Owner, paging: Paging): Promise<Page<typeof emails.$inferSelect>> {
  const { limit, offset } = limits(paging)
  const mine = eq(table.user_id, owner.id)
  const [items, [count]] = await Promise.all([
    ctx.db.read.select().from(table).where(mine).orderBy(asc(table.id)).limit(limit).offset(offset),
    ctx.db.read
      .select({ total: decoded(sql<number>`count(*)`, Number) })
      .from(table)
      .where(mine),
  ])
  return { items, total: count?.total ?? 0 }
}
