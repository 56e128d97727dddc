import type { Context } from '../../context.js'

/** Timestamps of a new row. They are equal, so that clients can tell that the row has not been updated. */
export function createdNow(ctx: Pick<Context, 'now'>): { created_at: Date; updated_at: Date } {
  const now = ctx.now()
  return { created_at: now, updated_at: now }
}
