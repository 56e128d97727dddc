import { sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { emails, users } from '../../db/schema/index.js'
import { invalidRecord, notFound } from '../../failures.js'
import { emailFault, normaliseEmail } from '../../rules/email.js'
import { domainFault } from '../../rules/email-domains.js'
import { lockName } from '../core/lock-name.js'
import { readSettings } from '../core/settings.js'
import { accountItems, type Owner } from './account-items.js'
import { mailLink } from './links/mail.js'

export type Email = typeof emails.$inferSelect

const items = accountItems(emails, 'Email', 'email')
export const { list: listEmails, find: findEmail } = items

/** Removes a secondary address, which is then no longer the public one (US-60). */
export const removeEmail = (ctx: Context, owner: Owner, row: Email): Promise<void> =>
  items.remove(ctx, owner, row, (tx) =>
    tx
      .update(users)
      .set({ public_email: '' })
      .where(sql`${users.id} = ${owner.id} and ${users.public_email} = ${normaliseEmail(row.email)}`),
  )

/**
 * Whether an account has this address, as its primary one or as a confirmed secondary one (SEC-126). `but` is the id of an
 * account to ignore.
 */
export async function isEmailTaken(tx: Pick<Transaction, 'select'>, email: string, but = 0): Promise<boolean> {
  const [taken] = await tx
    .select({ one: sql`1` })
    .from(users)
    .where(sql`lower(${users.email}) = ${email} and ${users.id} <> ${but}`)
    .union(
      tx
        .select({ one: sql`1` })
        .from(emails)
        .where(sql`lower(${emails.email}) = ${email} and ${emails.user_id} <> ${but} and ${emails.confirmed_at} is not null`),
    )
  return taken !== undefined
}

/**
 * Makes whoever else writes this address wait for the end of the transaction: main and secondary addresses are in two
 * tables, which no constraint spans. To be called before it is looked up (SEC-126).
 */
export const lockEmail = (tx: Transaction, email: string): Promise<void> => lockName(tx, `address ${email}`)

/** Whether this account has the address as a secondary one, confirmed or not. */
const hasEmail = async (tx: Transaction, userId: number, email: string): Promise<boolean> =>
  (await tx.$count(emails, sql`${emails.user_id} = ${userId} and lower(${emails.email}) = ${email}`)) > 0

/** Removes the address, which this account has confirmed, from others that have it unconfirmed (ML-53). */
export async function dropOtherClaims(tx: Transaction, userId: number, email: string): Promise<void> {
  await tx.delete(emails).where(sql`lower(${emails.email}) = ${email} and ${emails.user_id} <> ${userId} and ${emails.confirmed_at} is null`)
}

/** Mails the link that confirms a secondary address once more (WB-414). */
export async function resendConfirmation(ctx: Context, owner: Owner, { email, confirmed_at }: Email): Promise<void> {
  if (!ctx.mail) throw notFound()
  if (confirmed_at !== null) throw invalidRecord({ email: ['is confirmed already'] })
  await mailLink(ctx, ctx.db, 'confirm', email, owner.id)
}

/**
 * Adds an unconfirmed secondary address and mails a confirmation link (K-17 to K-19, ML-18). 400 when the address is
 * invalid, already in use, or of a domain that only administrators may add (ML-21).
 */
export async function addEmail(ctx: Context, owner: Owner, given: string): Promise<Email> {
  const email = normaliseEmail(given)
  const excluded = ctx.origin?.caller.user?.admin ? null : domainFault(email, await readSettings(ctx))
  const isTaken = async (tx: Transaction) => {
    await lockEmail(tx, email)
    return (await isEmailTaken(tx, email)) || (await hasEmail(tx, owner.id, email))
  }
  const check = async (tx: Transaction): Promise<Record<string, string[]>> => {
    const fault = emailFault(email) ?? ((await isTaken(tx)) ? 'has already been taken' : excluded)
    return fault ? { email: [fault] } : {}
  }
  return items.add(ctx, owner, { email }, check, (tx) => mailLink(ctx, tx, 'confirm', email, owner.id))
}
