import { sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'

/**
 * Takes the advisory lock of a name until the transaction ends. Of transactions that count rows and insert one, each
 * then sees those of the one before, so that concurrent calls do not exceed a limit together (SEC-268).
 */
export async function lockName(tx: Pick<Transaction, 'execute'>, name: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`)
}
