import { randomBytes } from 'node:crypto'
import type { SignedIn } from '../access/actor.js'
import type { Context } from '../context.js'

/** Seconds for which a sent form is remembered. */
const REMEMBERED = 3_600

/** A hidden value that says which opening of a form was sent; another one each time that the form is shown. */
export const Once = () => <input type="hidden" name="once" value={randomBytes(16).toString('base64url')} />

/** Whether this opening of a form is sent for the first time (WB-125). */
export async function isFirst(ctx: Context, { user }: SignedIn, once: string | undefined): Promise<boolean> {
  if (!once) return true
  const { count } = await ctx.access.counters.add(`form ${user.id} ${once.slice(0, 64)}`, REMEMBERED)
  return count === 1
}
