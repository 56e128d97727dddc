import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { users } from '../../db/schema/index.js'
import { enqueue } from '../../jobs/enqueue.js'
import { type Attempt, defineJob } from '../../jobs/kinds.js'
import { MAIL_JOB, MAIL_LANE, mailHost, messageId, sendMessage } from '../core/mail.js'
import type { User } from './users.js'

const Credential = z.object({ user: z.int(), kind: z.enum(['An SSH key', 'An access token']), name: z.string(), detail: z.string() })

/**
 * Mails a user that an SSH key or a token was added to their account (ML-32). The input names it, because the mail is
 * due even if it has been removed since.
 */
export const credentialMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: credential',
  priority: 'high',
  input: Credential,
  async run(ctx: Context, { user: userId, kind, name, detail }, { id, signal }: Attempt) {
    const user = await recipientOf(ctx, userId)
    if (!user) return
    const message = {
      kind: 'credential',
      to: { name: user.name, address: user.email },
      subject: `${kind} was added to your account`,
      messageId: messageId(ctx, `mail-${id}`),
      parts: [
        `${kind} was added to the account ${user.username} at ${mailHost(ctx.links.base)}:`,
        `${name} (${detail})`,
        'If that was not you or an administrator, remove it and change your password.',
      ],
      footer: [{ text: 'Sent by', link: ctx.links.base }],
    }
    await sendMessage(ctx, message, signal)
  },
})

/** The user, if mails about the account can be sent to its primary address; null otherwise. */
async function recipientOf(ctx: Context, userId: number): Promise<User | null> {
  const [user] = await ctx.db.write.select().from(users).where(eq(users.id, userId))
  return user?.state === 'active' && user.kind === 'human' && user.removal === null && user.confirmed_at !== null ? user : null
}

/** Mails a user that so many wrong codes of the second factor were given that no more are checked for a while (ML-54). */
export const wrongCodesMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: wrong codes',
  priority: 'high',
  input: z.object({ user: z.int(), codes: z.int(), until: z.iso.datetime() }),
  async run(ctx: Context, { user: userId, codes, until }, { id, signal }: Attempt) {
    const user = await recipientOf(ctx, userId)
    if (!user) return
    const message = {
      kind: 'wrong_codes',
      to: { name: user.name, address: user.email },
      subject: 'Many wrong codes for your account',
      messageId: messageId(ctx, `mail-${id}`),
      parts: [
        `${codes} wrong codes were given for the account ${user.username} at ${mailHost(ctx.links.base)}, each after the right password. No further code is checked before ${until.slice(0, 16).replace('T', ' ')} UTC; security keys go on working.`,
        'If that was not you, somebody knows your password: change it.',
        { text: 'Set a new password', link: `${ctx.links.base}/users/password/new`, button: true },
      ],
      footer: [{ text: 'Sent by', link: ctx.links.base }],
    }
    await sendMessage(ctx, message, signal)
  },
})

/** Enqueues such a mail in the transaction that adds the key or the token; no-op when mail is off (ML-1). */
export async function mailCredential(ctx: Pick<Context, 'mail'>, tx: Transaction, credential: z.infer<typeof Credential>): Promise<void> {
  if (ctx.mail !== null) await enqueue(tx, credentialMail, credential, MAIL_LANE)
}
