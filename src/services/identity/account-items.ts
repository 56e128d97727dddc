import { and, asc, eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { totalCount } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import type { emails, gpgKeys, sshKeys } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { retryOnUniqueViolation } from '../../db/unique-violation.js'
import { invalidRecord, notFound } from '../../failures.js'
import type { Keyset } from '../../lib/keyset.js'
import { type Audited, audit } from '../core/audit.js'
import { createdNow } from '../core/created-now.js'
import { lockName } from '../core/lock-name.js'
import { afterRow, type Page, type Paging, pageFrom } from '../core/page.js'

/** The account that SSH keys, GPG keys and e-mail addresses belong to. */
export interface Owner {
  id: number
  username: string
}

type AccountItem = typeof sshKeys | typeof gpgKeys | typeof emails

/** How many items of each kind an account may have (SEC-130). */
const MAX_ITEMS = 100

/**
 * The operations that keys and addresses have in common. `noun` is the one in 404 messages, `type` the one in the audit
 * log.
 */
export function accountItems<T extends AccountItem>(given: T, noun: string, type: 'key' | 'gpg_key' | 'email') {
  type Row = T['$inferSelect']
  // the columns used here are the same in all three tables
  const table = given as typeof emails

  const ofOwner = eq(table.user_id, sql.placeholder('owner'))
  const selectItems = statement(
    `list ${type}`,
    (db) =>
      db
        .select({ item: table, total: totalCount() })
        .from(table)
        .where(and(ofOwner, afterRow(table.id)))
        .orderBy(asc(table.id))
        .limit(sql.placeholder('limit'))
        .offset(sql.placeholder('offset')),
    'once',
  )
  const selectItem = statement(`find ${type}`, (db) =>
    db
      .select({ item: table })
      .from(table)
      .where(and(ofOwner, eq(table.id, sql.placeholder('id')))),
  )

  const auditItem = (ctx: Context, db: Pick<Transaction, 'insert'>, owner: Owner, row: Row, what: 'added' | 'removed') => {
    const name = 'email' in row ? row.email : row.fingerprint
    const event: Audited = { action: `${type}_${what}`, target: { type, id: row.id, name }, changes: { user_id: owner.id, username: owner.username } }
    return audit(ctx, db, event)
  }

  return {
    /** The items of an account, by id (K-1). */
    async list(ctx: Context, owner: Owner, paging: Paging & Keyset): Promise<Page<Row>> {
      const { items, total } = await pageFrom(selectItems(ctx.db, null), { owner: owner.id }, paging)
      return { items: items.map(({ item }) => item as Row), total }
    },

    /** One item; 404 also for those of other accounts (K-2). */
    async find(ctx: Context, owner: Owner, id: number): Promise<Row> {
      const [found] = await selectItem(ctx.db, null).execute({ owner: owner.id, id })
      if (!found) throw notFound(noun)
      return found.item as Row
    },

    /**
     * Stores an item if `check` finds no faults, and runs `afterInsert` in the same transaction. On a unique violation
     * by a concurrent call it checks again, so that the fault is reported.
     */
    async add(
      ctx: Context,
      owner: Owner,
      values: Omit<T['$inferInsert'], 'user_id'>,
      check: (tx: Transaction) => Promise<Record<string, string[]>>,
      afterInsert?: (tx: Transaction) => Promise<void>,
    ): Promise<Row> {
      const store = () =>
        ctx.db.transaction(async (tx) => {
          const faults = await check(tx)
          if (Object.keys(faults).length > 0) throw invalidRecord(faults)
          await lockName(tx, `${type} of user ${owner.id}`)
          const count = await tx.$count(table, eq(table.user_id, owner.id))
          if (count >= MAX_ITEMS) throw invalidRecord({ base: [`there are already ${MAX_ITEMS}`] })
          const row = { ...values, user_id: owner.id, ...createdNow(ctx) } as typeof emails.$inferInsert
          const stored = onlyRow(await tx.insert(table).values(row).returning()) as Row
          await auditItem(ctx, tx, owner, stored, 'added')
          await afterInsert?.(tx)
          return stored
        })
      return retryOnUniqueViolation(store)
    },

    /** Removes an item, and runs `afterDelete` in the same transaction. */
    async remove(ctx: Context, owner: Owner, row: Row, afterDelete?: (tx: Transaction) => Promise<unknown>): Promise<void> {
      await ctx.db.transaction(async (tx) => {
        const deleted = await tx.delete(table).where(eq(table.id, row.id)).returning({ id: table.id })
        if (deleted.length === 0) throw notFound(noun)
        await auditItem(ctx, tx, owner, row, 'removed')
        await afterDelete?.(tx)
      })
    },
  }
}
