import { sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { emails, users } from '../../db/schema/index.js'
import { emailFault, normaliseEmail } from '../../lib/email.js'
import { accountItems, type Owner } from './account-items.js'

export type Email = typeof emails.$inferSelect

const own = accountItems(emails, 'Email', 'email')
export const { list: listEmails, find: findEmail, remove: removeEmail } = own

/**
 * Whether anybody has this address, as a primary or a secondary one; `but` names an account whose addresses do not
 * count.
 */
export async function isEmailTaken(tx: Transaction, email: string, but = 0): Promise<boolean> {
  const [taken] = await tx
    .select({ one: sql`1` })
    .from(users)
    .where(sql`lower(${users.email}) = ${email} and ${users.id} <> ${but}`)
    .union(tx.select({ one: sql`1` }).from(emails).where(sql`lower(${emails.email}) = ${email} and ${emails.user_id} <> ${but}`))
  return taken !== undefined
}

/** Adds a secondary address, unconfirmed (K-17 to K-19); 400 when it is invalid or in use, by the owner too. */
export async function addEmail(ctx: Context, owner: Owner, given: string): Promise<Email> {
  const email = normaliseEmail(given)
  return own.add(ctx, owner, { email }, async (tx): Promise<Record<string, string[]>> => {
    const fault = emailFault(email) ?? ((await isEmailTaken(tx, email)) ? 'has already been taken' : null)
    return fault ? { email: [fault] } : {}
  })
}
