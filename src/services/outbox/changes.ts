import { and, asc, eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { hookChanges } from '../../db/schema/index.js'

/** A row of the outbox. */
export type HookChange = typeof hookChanges.$inferSelect

/** The ids in a column of a row that has several. */
export const idsIn = (value: unknown): number[] => (Array.isArray(value) ? value.map(Number) : [])

/** The consumers of the outbox; each has its own flag on a row. */
type Reader = 'hooks' | 'mail'

const pendingFor = (reader: Reader, transaction: bigint) => and(eq(hookChanges.transaction, transaction), hookChanges[reader])

/** The changes of a transaction that one reader has not claimed yet, in order. */
export const changesFor = (ctx: Context, reader: Reader, transaction: bigint): Promise<HookChange[]> =>
  ctx.db.write.select().from(hookChanges).where(pendingFor(reader, transaction)).orderBy(asc(hookChanges.id))

/**
 * Claims these changes for a reader and deletes rows that both readers have claimed. False when another run was faster.
 */
export async function claimChanges(tx: Transaction, reader: Reader, transaction: bigint): Promise<boolean> {
  const claimed = await tx
    .update(hookChanges)
    .set({ [reader]: false })
    .where(pendingFor(reader, transaction))
    .returning({ id: hookChanges.id })
  // a separate statement, so that it sees what the other reader has claimed meanwhile
  await tx.delete(hookChanges).where(and(eq(hookChanges.transaction, transaction), sql`not (${hookChanges.hooks} or ${hookChanges.mail})`))
  return claimed.length > 0
}
