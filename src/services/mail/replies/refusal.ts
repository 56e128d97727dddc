import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import { users } from '../../../db/schema/index.js'
import { enqueue } from '../../../jobs/enqueue.js'
import { defineJob } from '../../../jobs/kinds.js'
import { MAIL_JOB, MAIL_LANE, messageId, sendMessage } from '../../core/mail.js'

/** A mail says why an answer was not taken (ML-627). */
export const refusalMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: answer was not taken',
  input: z.object({ user: z.int(), address: z.string(), subject: z.string(), thread: z.string().nullable(), why: z.string() }),
  async run(ctx: Context, { user: id, address, subject, thread, why }, attempt) {
    const [user] = await ctx.db.write.select().from(users).where(eq(users.id, id))
    if (user?.state !== 'active') return
    await sendMessage(
      ctx,
      {
        kind: 'reply_refused',
        to: { name: user.name, address },
        subject: `Re: ${subject.replace(/^(?:re|aw|sv|antw): /i, '')}`,
        messageId: messageId(ctx, `mail-${attempt.id}`),
        ...(thread !== null && { thread }),
        parts: ['Your answer by mail was not taken:', why, 'Nothing of it was stored.'],
        footer: ['You get this mail because you answered a mail of this service.'],
        headers: { 'X-Roost-Event': 'reply_refused', 'Auto-Submitted': 'auto-replied' },
      },
      attempt.signal,
    )
  },
})

/** The longest subject, and reason, that a refusal has. */
const MAX_TEXT = 500

/** Says by mail why an answer was not taken. */
export const refuseByMail = (
  ctx: Context,
  given: { user: number; address: string; subject: string | undefined; thread: string | undefined; why: string },
): Promise<unknown> =>
  enqueue(
    ctx.db,
    refusalMail,
    {
      ...given,
      subject: (given.subject ?? '').slice(0, MAX_TEXT),
      thread: /^<[^<>\s]{1,500}>$/.test(given.thread ?? '') ? (given.thread ?? null) : null,
      why: given.why.slice(0, MAX_TEXT),
    },
    MAIL_LANE,
  )
