import { sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'

/** Stands for somebody who is gone, or is not known. */
export const NOBODY = 0

/**
 * Says in whose name a transaction changes things; hooks are told (HK-28). Send it beside another statement, so that it
 * costs no round trip of its own.
 */
export async function actAs(tx: Pick<Transaction, 'execute'>, userId: number | null): Promise<void> {
  await tx.execute(sql`select set_config('roost.actor', ${String(userId ?? NOBODY)}, true)`)
}

/** What this transaction changes calls no webhook and sends no mail. */
export async function actSilently(tx: Pick<Transaction, 'execute'>): Promise<void> {
  await tx.execute(sql`select set_config('roost.silent', 'yes', true)`)
}
