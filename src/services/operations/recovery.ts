import { z } from 'zod'
import { dropCounters } from '../../access/counters.js'
import type { Context } from '../../context.js'
import { enqueue } from '../../jobs/enqueue.js'
import { defineJob, type Job } from '../../jobs/kinds.js'
import { recordWikis } from '../content/record-wikis.js'
import { removeStalledUploads } from '../core/stalled-uploads.js'
import { dropOldInvitations } from '../groups/invitations.js'
import { endExpiredMemberships } from '../groups/members.js'
import { directoryCheck } from '../identity/sign-in/ldap.js'
import { oldSessions } from '../identity/sign-in/sessions.js'
import { deferredMerges, dueMergeRequests } from '../issuables/merge-requests/merging/resume.js'
import { finishDeletions, removeFiles } from '../projects/remove.js'
import { removeStalledLayers } from '../registry/blobs.js'
import { removeOrphanedObjects } from '../repository/lfs/objects.js'
import { dropExpiredObjects } from '../repository/lfs/unreferenced.js'
import { resolveAbandonedIntents } from '../repository/push/recovery.js'
import { dueDeletions } from './due-deletions.js'
import { clearOrphans } from './orphans.js'
import { checkRepositories } from './repository-checks.js'

/**
 * Delays after the start, and after another process was killed, before leftovers are removed again: files that were too
 * young before, such as packs without an index and quarantines, are then known to be stale.
 */
const LEFTOVER_CLEANUP_DELAYS_MS = [4_000, 15_000, 75_000]
/** Delays these jobs after the start, so that they do not slow down the first requests. */
const START_DELAY_MS = 1_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** How often this process looks for its own pushes that a lost database connection has interrupted. */
const OWN_INTENTS_INTERVAL_MS = 5_000

const noInput = z.object({})

/** Finishes or drops pushes, commits and merges that killed processes have left unfinished (SEC-158, SEC-185). */
const unfinishedPushes = defineJob({
  kind: 'unfinished pushes',
  input: noInput,
  run: (ctx: Context) => resolveAbandonedIntents(ctx),
  priority: 'high',
  every: 5_000,
})

const storesOf = ({ lfs, artifacts, packages }: Context) => [lfs, artifacts, packages]

/** Every hour: files of uploads and of Git that a killed process left behind. */
export const leftovers = defineJob({
  kind: 'remove leftovers',
  input: noInput,
  async run(ctx: Context) {
    for (const store of storesOf(ctx)) await removeStalledUploads(ctx, store)
    await removeStalledLayers(ctx)
    const removed = await ctx.git.removeLeftovers()
    if (removed.length > 0) ctx.log.warn({ removed: removed.length }, 'removed leftovers of a killed process')
  },
  slots: 'upkeep',
  priority: 'low',
  deadline: HOUR_MS,
  every: HOUR_MS,
})

/** A cleanup that runs once a day with low priority. */
const daily = (kind: string, run: (ctx: Context) => Promise<void>) =>
  defineJob({ kind, input: noInput, run: (ctx: Context) => run(ctx), slots: 'upkeep', priority: 'low', deadline: DAY_MS, every: DAY_MS })

const orphans = daily('orphan repositories', clearOrphans)
const unnamedObjects = daily('unnamed LFS objects', removeOrphanedObjects)
const wikis = daily('record wikis', recordWikis)
const unreferencedObjects = daily('unreferenced LFS objects', dropExpiredObjects)

const repositoryChecks = defineJob({
  kind: 'repository checks',
  input: noInput,
  run: (ctx: Context) => checkRepositories(ctx),
  slots: 'upkeep',
  priority: 'low',
  deadline: DAY_MS,
  every: 60_000,
})

const expiredMemberships = defineJob({
  kind: 'expired memberships',
  input: noInput,
  async run(ctx: Context) {
    await endExpiredMemberships(ctx)
    await dropOldInvitations(ctx)
  },
  every: HOUR_MS,
})

const oldCounters = defineJob({
  kind: 'old counters',
  input: noInput,
  run: ({ db }: Context) => dropCounters(db, new Date()),
  every: 60_000,
})

/** Jobs that find unfinished work. */
const UNFINISHED_WORK_JOBS = [unfinishedPushes, deferredMerges, dueMergeRequests, dueDeletions, removeFiles]

/** Periodic jobs that clean up and recover work of killed processes. */
export const recoveryJobs = [
  unfinishedPushes,
  leftovers,
  orphans,
  unnamedObjects,
  unreferencedObjects,
  wikis,
  repositoryChecks,
  expiredMemberships,
  dueDeletions,
  oldCounters,
  oldSessions,
  directoryCheck,
]

/**
 * Finishes or undoes unfinished work at the start (SEC-158, SEC-159, SEC-134), before periodic jobs would do it, so
 * that everything that was acknowledged is visible to the first request.
 */
export async function recover(ctx: Context): Promise<void> {
  // with the embedded database no other process of a service can be running yet
  const alone = ctx.config.databaseUrl === undefined
  await resolveAbandonedIntents(ctx, { start: true, alone })
  if (alone) {
    for (const store of storesOf(ctx)) await removeStalledUploads(ctx, store, 0)
    ctx.jobs.add('remove files', () => finishDeletions(ctx, { alone }))
  }
  await runNow(ctx, [...UNFINISHED_WORK_JOBS, leftovers, orphans, wikis, expiredMemberships], START_DELAY_MS)
  scheduleLeftoverCleanups(ctx)
}

/** Finishes or undoes the work of another process that was killed, before periodic jobs would do it. */
export async function recoverKilledProcess(ctx: Context): Promise<void> {
  await runNow(ctx, [...UNFINISHED_WORK_JOBS, leftovers])
  scheduleLeftoverCleanups(ctx)
}

/** Recovers work that lost database connections leave unfinished, while this process runs. */
export function startContinuousRecovery(ctx: Context): void {
  ctx.db.onReconnect(() => ctx.jobs.add('the database is back', () => runNow(ctx, UNFINISHED_WORK_JOBS)))
  const timer = setInterval(() => (ctx.process.stopping.aborted ? clearInterval(timer) : settleOwnIntents(ctx)), OWN_INTENTS_INTERVAL_MS).unref()
}

function scheduleLeftoverCleanups(ctx: Context): void {
  for (const delay of LEFTOVER_CLEANUP_DELAYS_MS) setTimeout(() => ctx.jobs.add('remove leftovers', () => runNow(ctx, [leftovers])), delay).unref()
}

/** Enqueues periodic jobs ahead of their schedule. */
async function runNow(ctx: Context, repeated: Job<Context, typeof noInput>[], delay = 0): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    for (const job of repeated) await enqueue(tx, job, {}, { key: '', lane: job.kind, delay })
  })
}

/** Settles interrupted pushes of this process; no other process can know that they are no longer in progress. */
function settleOwnIntents(ctx: Context): void {
  if ([...ctx.process.intents.values()].includes('abandoned'))
    ctx.jobs.coalesce('left intents', 1_000, 'unfinished pushes', () => resolveAbandonedIntents(ctx))
}
