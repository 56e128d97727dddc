import { sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import type { Database, Transaction } from '../../../db/client.js'
import { emails, users } from '../../../db/schema/index.js'
import { enqueue } from '../../../jobs/enqueue.js'
import { type Attempt, defineJob } from '../../../jobs/kinds.js'
import { digestOf } from '../../../lib/crypto/secret.js'
import { emailFault } from '../../../rules/email.js'
import { MAIL_JOB, MAIL_LANE, mailHost, messageId, sendMessage } from '../../core/mail.js'
import { createLink } from './links.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/**
 * Why a link is mailed: to confirm an address, to reset a forgotten password, to set the first password, or because
 * somebody wanted to sign up with an address that an account has.
 */
const PURPOSES = ['confirm', 'reset', 'welcome', 'taken'] as const
type Purpose = (typeof PURPOSES)[number]

interface Kind {
  /** Whether a mail of this kind is sent to the address. */
  accepts(address: Address): boolean
  link: 'confirm' | 'reset'
  lifetimeMs: number
  subject: string
  text(address: { name: string; username: string; email: string; host: string }): string
  button: string
  expiryNotice: string
}

interface Address {
  id: number
  name: string
  username: string
  primary: boolean
  confirmed: boolean
}

const KINDS: Record<Purpose, Kind> = {
  confirm: {
    accepts: ({ confirmed }) => !confirmed,
    link: 'confirm',
    lifetimeMs: 3 * DAY_MS,
    subject: 'Confirm your e-mail address',
    text: ({ email, host }) =>
      `Somebody gave ${email} as the address of an account at ${host}. Please confirm it. If that was not you, there is nothing to do.`,
    button: 'Confirm the address',
    expiryNotice: 'The link works once, within three days.',
  },
  reset: {
    accepts: ({ confirmed }) => confirmed,
    link: 'reset',
    lifetimeMs: 6 * HOUR_MS,
    subject: 'Set a new password',
    text: ({ name }) => `Hello ${name}, somebody has asked for a new password for your account. If that was not you, there is nothing to do.`,
    button: 'Set a new password',
    expiryNotice: 'The link works once, within six hours.',
  },
  taken: {
    accepts: ({ confirmed }) => confirmed,
    link: 'reset',
    lifetimeMs: 6 * HOUR_MS,
    subject: 'You have an account already',
    text: ({ host, username }) =>
      `Somebody wanted to make an account at ${host} with this address. The account ${username} has it already, and no other was made. If you have forgotten the password, set a new one with the link below. If that was not you, there is nothing to do.`,
    button: 'Set a new password',
    expiryNotice: 'The link works once, within six hours.',
  },
  welcome: {
    accepts: ({ primary }) => primary,
    link: 'reset',
    lifetimeMs: 3 * DAY_MS,
    subject: 'Your new account',
    text: ({ host, username }) =>
      `An account at ${host} was made for you; your username is ${username}. Please set your password with the link below. Then sign in with both, and add an SSH key or an access token for Git and other programs.`,
    button: 'Set your password',
    expiryNotice: 'The link works once, within three days.',
  },
}

const PAGES = { confirm: '/users/confirmation?confirmation_token=', reset: '/users/password/edit?reset_password_token=' }

/**
 * Mails a link to an address if it belongs to an active user and the purpose applies to it (ML-18 to ML-26). The token
 * is created by the job, so that the database only ever holds its digest. An unconfirmed address may be anybody's: its
 * mail has no text that users choose, such as names (ML-28), but for the username that an administrator gives a new
 * account (ML-31).
 */
export const accountMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: account',
  priority: 'high',
  input: z.object({ purpose: z.enum(PURPOSES), email: z.string(), user: z.int().optional() }),
  async run(ctx: Context, { purpose, email, user }, { id, signal }: Attempt) {
    const { accepts, link, lifetimeMs, subject, text, button, expiryNotice } = KINDS[purpose]
    const address = ctx.mail ? await ownerOf(ctx, { email, user, link }) : null
    if (!address || !accepts(address)) return
    const token = await createLink(ctx, { user_id: address.id, email, purpose: link, job_id: id, lifetimeMs })
    if (token === null) return void ctx.log.warn({ user: address.id, mail: purpose }, 'a mail was not sent: too many were requested')
    const message = {
      kind: `account_${purpose}`,
      to: { name: address.confirmed ? address.name : '', address: email },
      subject,
      messageId: messageId(ctx, `mail-${id}`),
      parts: [
        text({ name: address.name, username: address.username, email, host: mailHost(ctx.links.base) }),
        { text: button, link: ctx.links.base + PAGES[link] + token, button: true },
        expiryNotice,
      ],
      footer: [{ text: 'Sent by', link: ctx.links.base }],
    }
    await sendMessage(ctx, message, signal)
  },
})

/**
 * The user with this primary or secondary address, who is active or, to confirm it, waits for approval. Of several who
 * claim it: who has it as primary or confirmed one, or else has added it last.
 */
async function ownerOf(
  ctx: Context,
  { email, user = null, link }: { email: string; user?: number | null | undefined; link: Kind['link'] },
): Promise<Address | null> {
  const { rows } = await ctx.db.write.execute<{ id: string; name: string; username: string; primary: boolean; confirmed: boolean }>(sql`
    select u.id, u.name, u.username, lower(u.email) = ${email} as "primary",
      case when lower(u.email) = ${email} then u.confirmed_at else e.confirmed_at end is not null as confirmed
    from ${users} u left join ${emails} e on e.user_id = u.id and lower(e.email) = ${email}
    where u.id in (select id from ${users} where lower(email) = ${email} union select user_id from ${emails} where lower(email) = ${email})
      and u.state in ('active', 'deactivated', ${link === 'confirm' ? 'blocked_pending_approval' : 'active'}) and u.kind = 'human' and u.removal is null
      and (${user}::bigint is null or u.id = ${user})
    order by "primary" desc, confirmed desc, e.id desc limit 1`)
  const [row] = rows
  return row ? { ...row, id: Number(row.id) } : null
}

/**
 * Enqueues a mail with a link to a normalised address, in the caller's transaction; no-op when mail is off (ML-1). `user`
 * is the account that the link is for, where others may claim the address too.
 */
export async function mailLink(
  ctx: Pick<Context, 'mail'>,
  db: Transaction | Database,
  purpose: Purpose,
  email: string,
  user?: number,
): Promise<void> {
  if (ctx.mail === null || emailFault(email) !== null) return
  await enqueue(
    db,
    accountMail,
    { purpose, email, user },
    { ...MAIL_LANE, key: digestOf([purpose, email, ...(user === undefined ? [] : [user])].join(' ')) },
  )
}
