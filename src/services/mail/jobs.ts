import { z } from 'zod'
import type { Context } from '../../context.js'
import { enqueueAll } from '../../jobs/enqueue.js'
import { defineJob } from '../../jobs/kinds.js'
import { MAIL_JOB, MAIL_LANE } from '../core/mail.js'
import { changesFor, claimChanges } from '../outbox/changes.js'
import { Notification, REASONS } from './notification.js'
import { notificationsOf } from './notifications.js'
import { recipientsOf } from './recipients.js'
import { sendNotification } from './send.js'

/** Sends one mail to one user (ML-10). The input is stored with the key `occasion`. */
export const sendMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: send',
  input: z.object({ user: z.int(), reason: z.enum(REASONS), occasion: Notification }),
  run: (ctx: Context, { user, reason, occasion: notification }, { id, signal }) =>
    sendNotification(ctx, { user, reason, notification }, { id, signal }),
})

/** Turns the changes of one transaction into mails; a trigger enqueues it in that transaction. */
export const dispatchMail = defineJob({
  kind: 'mail: dispatch',
  input: z.object({ transaction: z.string().regex(/^\d+$/) }),
  slots: 'messages',
  async run(ctx: Context, { transaction }) {
    const changes = await changesFor(ctx, 'mail', BigInt(transaction))
    if (changes.length === 0) return
    const mails: { user: number; reason: (typeof REASONS)[number]; occasion: Notification }[] = []
    if (ctx.mail)
      for (const found of await notificationsOf(ctx, changes))
        for (const recipient of await recipientsOf(ctx, found)) mails.push({ ...recipient, occasion: found.notification })
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
