import { setTimeout } from 'node:timers/promises'
import { and, eq, lt } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { sentForms } from '../../db/schema/index.js'

/** How long a form is known, and how long its second sending waits for the first. */
const KNOWN_MS = 24 * 3_600_000
const WAIT_MS = 5_000
const POLL_MS = 100

/**
 * Does the work of a form once, however often it is sent (WB-90): later sendings get the location of the first, or null
 * while that is not known. What fails may be sent again.
 */
export async function onlyOnce<Result>(
  ctx: Context,
  { user, key }: { user: number; key: string },
  work: () => Promise<Result>,
  locationOf: (result: Result) => string | null,
): Promise<{ result: Result } | { location: string | null }> {
  const own = and(eq(sentForms.user_id, user), eq(sentForms.key, key))
  const now = ctx.now()
  const [first] = await ctx.db.write.insert(sentForms).values({ user_id: user, key, sent_at: now }).onConflictDoNothing().returning()
  if (!first) return { location: await locationOfFirst(ctx, own) }
  try {
    const result = await work()
    await ctx.db.write
      .update(sentForms)
      .set({ location: locationOf(result) })
      .where(own)
    await ctx.db.write.delete(sentForms).where(and(eq(sentForms.user_id, user), lt(sentForms.sent_at, new Date(now.valueOf() - KNOWN_MS))))
    return { result }
  } catch (error) {
    await ctx.db.write.delete(sentForms).where(own)
    throw error
  }
}

async function locationOfFirst(ctx: Context, own: ReturnType<typeof and>): Promise<string | null> {
  for (let waited = 0; waited < WAIT_MS; waited += POLL_MS) {
    const [row] = await ctx.db.write.select({ location: sentForms.location }).from(sentForms).where(own)
    if (!row || row.location !== null) return row?.location ?? null
    await setTimeout(POLL_MS)
  }
  return null
}
