import { and, asc, eq, gte } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { users } from '../../../db/schema/index.js'
import { enqueue } from '../../../jobs/enqueue.js'
import { type Attempt, defineJob } from '../../../jobs/kinds.js'
import { MAIL_JOB, MAIL_LANE, mailHost, messageId, sendMessage } from '../../core/mail.js'
import { readSettings, type Settings } from '../../core/settings.js'

/** How long accounts that wait are collected for one mail. */
const COLLECT_MS = 60_000
/** The most accounts that a mail lists. */
const MAX_LISTED = 50

/** Mails `admin_notification_email` the accounts that have recently signed up and wait for approval (US-74). */
export const waitingMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: waiting accounts',
  input: z.object({ since: z.iso.datetime() }),
  async run(ctx: Context, { since }, { id, signal }: Attempt) {
    const { admin_notification_email: address } = await readSettings(ctx)
    if (!ctx.mail || !address) return
    const waiting = await ctx.db.write
      .select({ username: users.username, name: users.name, email: users.email })
      .from(users)
      .where(and(eq(users.state, 'blocked_pending_approval'), gte(users.created_at, new Date(since))))
      .orderBy(asc(users.id))
      .limit(MAX_LISTED + 1)
    if (waiting.length === 0) return
    const message = {
      kind: 'waiting_accounts',
      to: { name: '', address },
      subject: 'New accounts wait for approval',
      messageId: messageId(ctx, `mail-${id}`),
      parts: [
        `At ${mailHost(ctx.links.base)} new accounts wait for an administrator:`,
        ...waiting.slice(0, MAX_LISTED).map(({ username, name, email }) => `${username} (${name}), ${email}`),
        ...(waiting.length > MAX_LISTED ? ['There are more.'] : []),
        { text: 'Approve or reject them', link: `${ctx.links.base}/admin/users?filter=waiting`, button: true },
        'roost user NAME --approve lets one in; POST /api/v4/users/ID/approve and /reject let one in or remove it.',
      ],
      footer: [{ text: 'Sent by', link: ctx.links.base }],
    }
    await sendMessage(ctx, message, signal)
  },
})

/** Enqueues one mail about all accounts that begin to wait within `COLLECT_MS`, in the transaction that makes the first. */
export async function mailWaiting(ctx: Context, tx: Transaction, { admin_notification_email }: Settings): Promise<void> {
  if (ctx.mail === null || !admin_notification_email) return
  const since = new Date(ctx.now().getTime() - COLLECT_MS).toISOString()
  await enqueue(tx, waitingMail, { since }, { ...MAIL_LANE, key: 'waiting accounts', delay: COLLECT_MS })
}

/** Mails a user that an administrator has approved the account (US-72); nothing that users choose is in it (ML-28). */
export const approvalMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: approved account',
  priority: 'high',
  input: z.object({ user: z.int() }),
  async run(ctx: Context, { user: userId }, { id, signal }: Attempt) {
    const [user] = await ctx.db.write.select().from(users).where(eq(users.id, userId))
    if (user?.state !== 'active' || user.removal !== null) return
    const message = {
      kind: 'approved_account',
      to: { name: '', address: user.email },
      subject: 'Your account is approved',
      messageId: messageId(ctx, `mail-${id}`),
      parts: [
        `An administrator has approved your account at ${mailHost(ctx.links.base)}.`,
        { text: 'Sign in', link: `${ctx.links.base}/users/sign_in`, button: true },
      ],
      footer: [{ text: 'Sent by', link: ctx.links.base }],
    }
    await sendMessage(ctx, message, signal)
  },
})

/** Enqueues such a mail in the transaction that approves the account; no-op when mail is off (ML-1). */
export async function mailApproval(ctx: Pick<Context, 'mail'>, tx: Transaction, user: number): Promise<void> {
  if (ctx.mail !== null) await enqueue(tx, approvalMail, { user }, MAIL_LANE)
}
