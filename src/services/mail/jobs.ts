import { z } from 'zod'
import type { Context } from '../../context.js'
import { enqueueAll } from '../../jobs/enqueue.js'
import { defineJob } from '../../jobs/kinds.js'
import { changesFor, claimChanges } from '../core/hook-changes.js'
import { MAIL_JOB, MAIL_LANE } from '../core/mail.js'
import { Occasion, REASONS } from './occasion.js'
import { occasionsOf } from './occasions.js'
import { recipientsOf } from './recipients.js'
import { sendNotification } from './send.js'

/** Sends one mail to one person (ML-10). */
export const sendMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: send',
  input: z.object({ user: z.int(), reason: z.enum(REASONS), occasion: Occasion }),
  run: (ctx: Context, input, { id, signal }) => sendNotification(ctx, input, { id, signal }),
})

/** Makes mails of the changes of one transaction; a trigger enqueues it in that transaction. */
export const dispatchMail = defineJob({
  kind: 'mail: dispatch',
  input: z.object({ transaction: z.string().regex(/^\d+$/) }),
  async run(ctx: Context, { transaction }) {
    const changes = await changesFor(ctx, 'mail', BigInt(transaction))
    if (changes.length === 0) return
    const mails: { user: number; reason: (typeof REASONS)[number]; occasion: Occasion }[] = []
    if (ctx.mailer)
      for (const happened of await occasionsOf(ctx, changes))
        for (const recipient of await recipientsOf(ctx, happened)) mails.push({ ...recipient, occasion: happened.occasion })
    await ctx.db.transaction(async (tx) => {
      if (!(await claimChanges(tx, 'mail', BigInt(transaction)))) return
      await enqueueAll(
        tx,
        sendMail,
        mails.map((input) => ({ input, ...MAIL_LANE })),
      )
    })
  },
})
