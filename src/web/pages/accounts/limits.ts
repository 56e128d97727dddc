import { countBadToken } from '../../../access/authenticate.js'
import type { Context } from '../../../context.js'
import { tooMany } from '../../../failures.js'

const addressOf = ({ origin }: Context) => origin?.address ?? ''

/** Counts an invalid link against the client's IP address; 429 after too many (ML-27). */
export const countBadLink = (ctx: Context): Promise<void> => countBadToken(ctx, addressOf(ctx))

/** Counts a request for a mail like a failed sign-in; 429 after too many (ML-27). */
export async function countLinkRequest(ctx: Context, email: string): Promise<void> {
  const account = `mail ${email}`
  const wait = await ctx.access.throttle.wait(addressOf(ctx), account)
  if (wait > 0) await ctx.access.throttle.refuse(tooMany(wait))
  await ctx.access.throttle.failed(addressOf(ctx), account)
}
