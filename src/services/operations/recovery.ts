import type { Context } from '../../context.js'
import { endExpiredMemberships } from '../groups/members.js'
import { finishAcceptedInBackground } from '../issuables/merge-requests/merging/post-merge.js'
import { resumeMergeRequests } from '../issuables/merge-requests/merging/resume.js'
import { updateIssueLinksSoon } from '../issuables/merge-requests/writing/issue-links.js'
import { takeUpImports } from '../projects/import.js'
import { finishDeletions } from '../projects/remove.js'
import { clearBrokenUploads, clearUnnamedObjects } from '../repository/lfs/objects.js'
import { dropDueObjects } from '../repository/lfs/unreferenced.js'
import { settleLeftIntents } from '../repository/push/settle.js'
import { catchUp } from '../repository/push/upkeep.js'
import { clearOrphans } from './orphans.js'
import { checkRepositories } from './repository-checks.js'
import { finishRemovals } from './user-removal.js'

/**
 * Milliseconds after the start when leftovers are removed again: those too young to be stale at the start are then old
 * enough.
 */
const AGAIN = 4_000
const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Milliseconds between two runs of repository checks. */
const CHECKS = 60_000
/**
 * Milliseconds between two checks for intents that nobody works on, and for work on merge requests that rows say is
 * due.
 */
const INTENTS = 5_000
const DUE = 60_000

/**
 * At the start: finishes or undoes what a killed process left half done (SEC-158, SEC-159, SEC-134). Everything that
 * was acknowledged is there before the first request.
 */
export async function recover(ctx: Context): Promise<void> {
  const merged = await settleLeftIntents(ctx, { start: true })
  await finishRemovals(ctx)
  await catchUp(ctx)
  const clean = async () => {
    await clearBrokenUploads(ctx)
    const removed = await ctx.git.clean()
    if (removed.length > 0) ctx.log.warn({ removed: removed.length }, 'removed what a killed process left behind')
  }
  // with a database of its own no other service can be receiving anything
  const alone = ctx.config.databaseUrl === undefined
  if (alone) await clearBrokenUploads(ctx, 0)
  ctx.jobs.add('remove leftovers', clean)
  ctx.jobs.add('remove repositories', () => finishDeletions(ctx, { alone }))
  setTimeout(() => ctx.jobs.add('remove leftovers', clean), AGAIN).unref()
  takeUpImports(ctx)
  updateIssueLinksSoon(ctx)
  resumeMergeRequests(ctx, merged)
  settleWhileRunning(ctx)
  every(ctx, HOUR, () => ctx.jobs.add('remove leftovers', clean))
  const orphans = () => ctx.jobs.add('orphan repositories', () => clearOrphans(ctx))
  orphans()
  every(ctx, DAY, orphans)
  every(ctx, DAY, () => ctx.jobs.add('unnamed LFS objects', () => clearUnnamedObjects(ctx)))
  every(ctx, DAY, () => ctx.jobs.add('unreferenced LFS objects', () => dropDueObjects(ctx)))
  every(ctx, CHECKS, () => ctx.jobs.coalesce('repository checks', 1_000, 'repository checks', () => checkRepositories(ctx)))
  const endMemberships = () => ctx.jobs.add('expired memberships', () => endExpiredMemberships(ctx))
  endMemberships()
  every(ctx, HOUR, endMemberships)
}

/** Finishes while the service runs what a lost connection to the database cut short (SEC-158), as a start would. */
function settleWhileRunning(ctx: Context): void {
  const settle = () =>
    ctx.jobs.coalesce('left intents', 1_000, 'unfinished pushes', async () => finishAcceptedInBackground(ctx, await settleLeftIntents(ctx)))
  const resume = () => {
    settle()
    resumeMergeRequests(ctx, [])
    updateIssueLinksSoon(ctx)
    ctx.jobs.coalesce('pending deletions', 1_000, 'remove repositories', () => finishDeletions(ctx))
  }
  ctx.db.onBack(resume)
  every(ctx, INTENTS, settle)
  every(ctx, DUE, resume)
}

/** Repeats work until the service stops. */
function every(ctx: Context, milliseconds: number, work: () => void): void {
  const timer = setInterval(() => (ctx.stopping.aborted ? clearInterval(timer) : work()), milliseconds).unref()
}
