import { sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import { setForTransaction } from '../../db/sql/names.js'

/** The actor id of a removed or unknown user. */
export const UNKNOWN_ACTOR = 0

/**
 * Sets the acting user of a transaction, which webhook payloads name (HK-28). Send it together with another statement,
 * so that it costs no extra round trip.
 */
export async function actAs(tx: Pick<Transaction, 'execute'>, userId: number | null): Promise<void> {
  await tx.execute(sql`select ${setForTransaction('actor', sql`${String(userId ?? UNKNOWN_ACTOR)}`)}`)
}

/** Suppresses webhooks and mail for the changes of this transaction. */
export async function actSilently(tx: Pick<Transaction, 'execute'>): Promise<void> {
  await tx.execute(sql`select ${setForTransaction('silent', sql`'yes'`)}`)
}
