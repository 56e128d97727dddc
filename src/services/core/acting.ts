import { sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'

/** The actor id of a removed or unknown user. */
export const UNKNOWN_ACTOR = 0

/**
 * Sets the acting user of a transaction, which webhook payloads name (HK-28). Send it together with another statement,
 * so that it costs no extra round trip.
 */
export async function actAs(tx: Pick<Transaction, 'execute'>, userId: number | null): Promise<void> {
  await tx.execute(sql`select set_config('roost.actor', ${String(userId ?? UNKNOWN_ACTOR)}, true)`)
}

/** Suppresses webhooks and mail for the changes of this transaction. */
export async function actSilently(tx: Pick<Transaction, 'execute'>): Promise<void> {
  await tx.execute(sql`select set_config('roost.silent', 'yes', true)`)
}
