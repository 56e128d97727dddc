import { z } from 'zod'
import type { Context } from '../../context.js'
import { enqueueAll } from '../../jobs/enqueue.js'
import { defineJob } from '../../jobs/kinds.js'
import { MAIL_LANE } from '../core/mail.js'
import { deliverOnce } from './deliver.js'
import { dispatch } from './dispatch.js'
import { sendIntegrationMail } from './integrations/mail.js'

/** Concurrent deliveries to one receiver, so that a slow one does not block all others (HK-29). */
const PER_RECEIVER = 4

/** Attempts one delivery, and runs again later while attempts are left (HK-12, HK-26). */
export const deliverHook = defineJob({
  kind: 'hooks: deliver',
  input: z.object({ delivery: z.int(), receiver: z.string() }),
  slots: 'network',
  perLane: PER_RECEIVER,
  run: async (ctx: Context, { delivery }) => {
    const wait = await deliverOnce(ctx, delivery)
    return wait === null ? undefined : new Date(Date.now() + wait)
  },
})

const laneOf = ({ receiver }: { receiver: string }) => `receiver ${receiver}`

/** Turns the changes of one transaction into deliveries; a trigger enqueues it in that transaction. */
export const dispatchHooks = defineJob({
  kind: 'hooks: dispatch',
  input: z.object({ transaction: z.string().regex(/^\d+$/) }),
  slots: 'messages',
  run: (ctx: Context, { transaction }) =>
    dispatch(ctx, BigInt(transaction), async (tx, { deliveries, mails }) => {
      await enqueueAll(
        tx,
        deliverHook,
        deliveries.map((input) => ({ input, lane: laneOf(input) })),
      )
      await enqueueAll(
        tx,
        sendIntegrationMail,
        mails.map((input) => ({ input, ...MAIL_LANE })),
      )
    }),
})
