import { z } from 'zod'
import type { Context } from '../../../context.js'
import { defineJob } from '../../../jobs/kinds.js'
import { takeMessages } from '../../../lib/mail/imap.js'
import { unavailableIn } from '../../../lib/unavailable.js'
import { MAX_MESSAGE_BYTES, receiveMail } from './receive.js'

const MINUTE_MS = 60_000
const MAX_WAIT_MS = 60 * MINUTE_MS

/**
 * Every minute: takes the answers in the mailbox, in one process at a time (ML-628). While the mailbox cannot be read,
 * the attempts become rarer, up to one an hour.
 */
export const fetchMail = defineJob({
  kind: 'mail: fetch',
  input: z.object({}),
  every: MINUTE_MS,
  concurrency: 1,
  deadline: 10 * MINUTE_MS,
  retries: (attempts) => Math.min(MINUTE_MS * 2 ** (attempts - 1), MAX_WAIT_MS),
  async run(ctx: Context, _, { signal }) {
    const mailbox = ctx.config.replies?.mailbox
    if (!mailbox) return undefined
    const more = await takeMessages(mailbox, MAX_MESSAGE_BYTES, (source) => take(ctx, source), signal)
    return more ? ctx.now() : undefined
  },
})

/** Takes one message. One that fails for a reason of its own does not hold up the others. */
async function take(ctx: Context, source: Buffer | null): Promise<void> {
  if (source === null) return void ctx.log.warn('a mail in the mailbox is too large, and was left out')
  try {
    const outcome = await receiveMail(ctx, source)
    ctx.log.info({ outcome }, 'a mail was read')
  } catch (error) {
    if (unavailableIn(error)) throw error
    ctx.log.error({ err: error }, 'a mail could not be taken')
  }
}
