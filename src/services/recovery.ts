import type { Context } from '../context.js'
import { endExpiredMemberships } from './members.js'
import { followLinksSoon } from './merge-requests/links.js'
import { takeUpMergeRequests } from './merge-requests/take-up.js'
import { takeUpImports } from './projects/import.js'
import { removeDoomed } from './projects/update.js'
import { catchUp, settleIntents } from './pushes.js'
import { finishRemovals } from './user-removal.js'

/** Milliseconds after the start when leftovers are looked for once more: those too young to be called stale at the start are then old enough. */
const AGAIN = 4_000
const HOUR = 3_600_000

/** At start: finishes or undoes what a killed process left half done (SEC-158, SEC-159, SEC-134). What was acknowledged is there before the first request. */
export async function recover(ctx: Context): Promise<void> {
  const merged = await settleIntents(ctx)
  await finishRemovals(ctx)
  await catchUp(ctx)
  const clean = async () => {
    const removed = await ctx.git.clean()
    if (removed.length > 0) ctx.log.warn({ removed: removed.length }, 'removed what a killed process left behind')
  }
  ctx.jobs.add('remove leftovers', clean)
  ctx.jobs.add('remove repositories', () => removeDoomed(ctx))
  setTimeout(() => ctx.jobs.add('remove leftovers', clean), AGAIN).unref()
  takeUpImports(ctx)
  followLinksSoon(ctx)
  takeUpMergeRequests(ctx, merged)
  const endMemberships = () => ctx.jobs.add('expired memberships', () => endExpiredMemberships(ctx))
  endMemberships()
  setInterval(endMemberships, HOUR).unref()
}
