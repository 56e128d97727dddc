import { z } from 'zod'
import type { Context } from '../../context.js'
import { enqueueAll } from '../../jobs/enqueue.js'
import { defineJob } from '../../jobs/kinds.js'
import { deliverOnce } from './deliver.js'
import { dispatch } from './dispatch.js'

/** Deliveries to one receiver at a time, so that a slow one does not take all places (HK-29). */
const PER_RECEIVER = 4

/** The rest of one delivery: it is due again while there is something left to try (HK-12, HK-26). */
export const deliverHook = defineJob({
  kind: 'hooks: deliver',
  input: z.object({ delivery: z.int(), receiver: z.string() }),
  network: true,
  perLane: PER_RECEIVER,
  run: async (ctx: Context, { delivery }) => {
    const wait = await deliverOnce(ctx, delivery)
    return wait === null ? undefined : new Date(Date.now() + wait)
  },
})

const laneOf = ({ receiver }: { receiver: string }) => `receiver ${receiver}`

/** Makes deliveries of the changes of one transaction; a trigger enqueues it in that transaction. */
export const dispatchHooks = defineJob({
  kind: 'hooks: dispatch',
  input: z.object({ transaction: z.string().regex(/^\d+$/) }),
  run: (ctx: Context, { transaction }) =>
    dispatch(ctx, BigInt(transaction), (tx, due) =>
      enqueueAll(
        tx,
        deliverHook,
        due.map((input) => ({ input, lane: laneOf(input) })),
      ),
    ),
})
