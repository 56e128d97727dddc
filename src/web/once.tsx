import { randomBytes } from 'node:crypto'
import type { SignedIn } from '../access/actor.js'
import type { Context } from '../context.js'

/** Seconds for which a sent form is remembered. */
const REMEMBERED = 3_600

/** A hidden value that says which opening of a form was sent; another one each time that the form is shown. */
export const Once = () => <input type="hidden" name="once" value={randomBytes(16).toString('base64url')} />

/** Makes what a form is for; null if this opening of it was sent before (WB-125). What failed can be sent again. */
export async function once<T>(ctx: Context, { user }: SignedIn, opening: string | undefined, make: () => Promise<T>): Promise<T | null> {
  if (!opening) return make()
  const name = `form ${user.id} ${opening.slice(0, 64)}`
  const { count } = await ctx.access.counters.add(name, REMEMBERED)
  if (count > 1) return null
  try {
    return await make()
  } catch (error) {
    await ctx.access.counters.reset(name)
    throw error
  }
}
