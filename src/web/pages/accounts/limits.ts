import { countBadToken } from '../../../access/authenticate.js'
import type { Context } from '../../../context.js'
import { tooMany } from '../../../failures.js'

const addressOf = ({ origin }: Context) => origin?.address ?? ''

/** Counts an invalid link against the client's IP address; 429 after too many (ML-27). */
export const countBadLink = (ctx: Context): Promise<void> => countBadToken(ctx, addressOf(ctx), ctx.access.formThrottle)

/** Counts a request for a mail, apart from failed sign-ins; 429 after too many (ML-27). */
export async function countLinkRequest(ctx: Context, email: string): Promise<void> {
  const account = `mail ${email}`
  const { formThrottle } = ctx.access
  const wait = await formThrottle.wait(addressOf(ctx), account)
  if (wait > 0) await formThrottle.refuse(tooMany(wait))
  await formThrottle.failed(addressOf(ctx), account)
}
