import { eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import { feedTokenFor } from '../../../access/feed-tokens.js'
import type { Context } from '../../../context.js'
import { users } from '../../../db/schema/index.js'

/** The caller's token for feeds. */
export async function getFeedToken(ctx: Context, { user: { id } }: SignedIn): Promise<string> {
  const [found] = await ctx.db.read.select({ version: users.feed_token_version }).from(users).where(eq(users.id, id))
  return feedTokenFor(ctx, { id, version: found?.version ?? 0 })
}

/** Replaces the caller's token for feeds. */
export async function resetFeedToken(ctx: Context, { user: { id } }: SignedIn): Promise<void> {
  await ctx.db.write
    .update(users)
    .set({ feed_token_version: sql`${users.feed_token_version} + 1` })
    .where(eq(users.id, id))
}
