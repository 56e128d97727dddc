import { sql } from 'drizzle-orm'
import type { Transaction } from './client.js'

/** Lets a transaction end before the disk has it. For what is written before the end of an intent, or of a row that says it is to be done: a loss of power takes both, and it is done again. */
export async function commitAsynchronously(tx: Pick<Transaction, 'execute'>): Promise<void> {
  await tx.execute(sql`set local synchronous_commit = off`)
}
