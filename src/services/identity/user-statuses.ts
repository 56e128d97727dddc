import { eq } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { userStatuses } from '../../db/schema/index.js'
import { invalidRecord } from '../../failures.js'
import { lengthOf, tooLong } from '../../rules/path.js'

export type UserStatus = typeof userStatuses.$inferSelect

/** The user's status; null if none is set. */
export async function findUserStatus(ctx: Context, userId: number): Promise<UserStatus | null> {
  const [status] = await ctx.db.read.select().from(userStatuses).where(eq(userStatuses.user_id, userId))
  return status ?? null
}

/** Replaces the whole status; an empty one clears it (OT-4). */
export async function setUserStatus(
  ctx: Context,
  userId: number,
  {
    emoji,
    message,
    availability,
  }: { emoji?: string | undefined; message?: string | null | undefined; availability?: 'busy' | 'not_set' | undefined },
): Promise<UserStatus | null> {
  const faults: Record<string, string[]> = {}
  if (emoji && !/^[a-z0-9_+-]{1,255}$/.test(emoji)) faults['emoji'] = ['is not a valid emoji name']
  if (message && lengthOf(message) > 100) faults['message'] = [tooLong(100)]
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  if (!emoji && !message && !availability) {
    await ctx.db.write.delete(userStatuses).where(eq(userStatuses.user_id, userId))
    return null
  }
  const values = { emoji: emoji || 'speech_balloon', message: message || null, availability: availability ?? 'not_set', updated_at: ctx.now() }
  const [status] = await ctx.db.write
    .insert(userStatuses)
    .values({ user_id: userId, ...values })
    .onConflictDoUpdate({ target: userStatuses.user_id, set: values })
    .returning()
  return status ?? null
}
