import { sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import type { Database, Transaction } from '../../../db/client.js'
import { emails, users } from '../../../db/schema/index.js'
import { enqueue } from '../../../jobs/enqueue.js'
import { type Attempt, defineJob } from '../../../jobs/kinds.js'
import { digestOf } from '../../../lib/crypto/secret.js'
import { emailFault } from '../../../lib/email.js'
import { MAIL_JOB, MAIL_LANE, messageId, sendMessage } from '../../core/mail.js'
import { makeLink } from './links.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/**
 * What an account gets mail with a link for: to confirm an address, to set a forgotten password, or to set the first
 * one.
 */
const PURPOSES = ['confirm', 'reset', 'welcome'] as const
type Purpose = (typeof PURPOSES)[number]

interface Kind {
  /** Which addresses are mailed to; over the columns of `Address`. */
  admits(address: Address): boolean
  link: 'confirm' | 'reset'
  life: number
  subject: string
  says(name: string, email: string): string
  button: string
  expires: string
}

interface Address {
  id: number
  name: string
  primary: boolean
  confirmed: boolean
}

const KINDS: Record<Purpose, Kind> = {
  confirm: {
    admits: ({ confirmed }) => !confirmed,
    link: 'confirm',
    life: 3 * DAY,
    subject: 'Confirm your e-mail address',
    says: (name, email) => `Hello ${name}, please confirm that ${email} is your address.`,
    button: 'Confirm the address',
    expires: 'The link works once, within three days.',
  },
  reset: {
    admits: ({ confirmed }) => confirmed,
    link: 'reset',
    life: 6 * HOUR,
    subject: 'Set a new password',
    says: (name) => `Hello ${name}, somebody has asked for a new password for your account. If that was not you, there is nothing to do.`,
    button: 'Set a new password',
    expires: 'The link works once, within six hours.',
  },
  welcome: {
    admits: ({ primary }) => primary,
    link: 'reset',
    life: 3 * DAY,
    subject: 'Your new account',
    says: (name) => `Hello ${name}, an account was made for you. Please set your password.`,
    button: 'Set your password',
    expires: 'The link works once, within three days.',
  },
}

const PAGES = { confirm: '/users/confirmation?confirmation_token=', reset: '/users/password/edit?reset_password_token=' }

/**
 * Mails a link to an address, if it is one of an active user for which there is something to do (ML-18 to ML-26). The
 * token is made here, so that no row but its digest ever holds it.
 */
export const accountMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: account',
  priority: 'high',
  input: z.object({ purpose: z.enum(PURPOSES), email: z.string() }),
  async run(ctx: Context, { purpose, email }, { id, signal }: Attempt) {
    const { admits, link, life, subject, says, button, expires } = KINDS[purpose]
    const address = ctx.mailer ? await ownerOf(ctx, email) : null
    if (!address || !admits(address)) return
    const token = await makeLink(ctx, { user_id: address.id, email, purpose: link, job_id: id, life })
    if (token === null) return void ctx.log.warn({ user: address.id, mail: purpose }, 'a mail was not sent: there were too many')
    const message = {
      kind: `account_${purpose}`,
      to: { name: address.name, address: email },
      subject,
      messageId: messageId(ctx, `mail-${id}`),
      parts: [says(address.name, email), { text: button, link: ctx.links.base + PAGES[link] + token }, expires],
      footer: [{ text: 'Sent by', link: ctx.links.base }],
    }
    await sendMessage(ctx, message, signal)
  },
})

/** The active user whose address it is, primary or secondary. */
async function ownerOf(ctx: Context, email: string): Promise<Address | null> {
  const { rows } = await ctx.db.write.execute<{ id: string; name: string; primary: boolean; confirmed: boolean }>(sql`
    select u.id, u.name, lower(u.email) = ${email} as "primary",
      case when lower(u.email) = ${email} then u.confirmed_at else e.confirmed_at end is not null as confirmed
    from ${users} u left join ${emails} e on e.user_id = u.id and lower(e.email) = ${email}
    where u.id in (select id from ${users} where lower(email) = ${email} union select user_id from ${emails} where lower(email) = ${email})
      and u.state = 'active' and u.kind = 'human' and u.removal is null`)
  const [row] = rows
  return row ? { ...row, id: Number(row.id) } : null
}

/** Mails a link to a normalised address, in the transaction of what makes it necessary, while mail is sent (ML-1). */
export async function mailLink(ctx: Context, db: Transaction | Database, purpose: Purpose, email: string): Promise<void> {
  if (ctx.mailer === null || emailFault(email) !== null) return
  await enqueue(db, accountMail, { purpose, email }, { ...MAIL_LANE, key: digestOf(`${purpose} ${email}`) })
}
