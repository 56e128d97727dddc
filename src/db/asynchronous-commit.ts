import { sql } from 'drizzle-orm'
import type { Transaction } from './client.js'

/**
 * Makes the commit of this transaction asynchronous. Only for writes that precede the end of an intent, or of a row
 * that marks work as due: a power loss undoes both, and the work is repeated.
 */
export async function commitAsynchronously(tx: Pick<Transaction, 'execute'>): Promise<void> {
  await tx.execute(sql`set local synchronous_commit = off`)
}
