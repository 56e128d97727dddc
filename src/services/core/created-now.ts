import type { Context } from '../../context.js'

/** The times of a row that is created now: the same, so that clients see that it was not changed since. */
export function createdNow(ctx: Context): { created_at: Date; updated_at: Date } {
  const now = ctx.now()
  return { created_at: now, updated_at: now }
}
