import { sql } from 'drizzle-orm'
import type { Transaction } from './client.js'

/**
 * Commits a transaction asynchronously. For what is written before the end of an intent, or of a row that marks work as
 * due: a loss of power takes both, and the work is repeated.
 */
export async function commitAsynchronously(tx: Pick<Transaction, 'execute'>): Promise<void> {
  await tx.execute(sql`set local synchronous_commit = off`)
}
