import { z } from 'zod'
import { dropCounters } from '../../access/counters.js'
import type { Context } from '../../context.js'
import { enqueue } from '../../jobs/enqueue.js'
import { defineJob, type Job } from '../../jobs/kinds.js'
import { endExpiredMemberships } from '../groups/members.js'
import { deferredMerges, dueMergeRequests } from '../issuables/merge-requests/merging/resume.js'
import { finishDeletions, removeFiles } from '../projects/remove.js'
import { removeOrphanedObjects, removeStalledUploads } from '../repository/lfs/objects.js'
import { dropExpiredObjects } from '../repository/lfs/unreferenced.js'
import { resolveAbandonedIntents } from '../repository/push/recovery.js'
import { clearOrphans } from './orphans.js'
import { checkRepositories } from './repository-checks.js'

/**
 * Milliseconds after the start, and after another process was killed, when leftovers are removed again: what was too
 * young before, such as packs without an index and then quarantines, is then old enough to be known as stale.
 */
const LEFTOVER_CLEANUP_DELAYS_MS = [4_000, 15_000, 75_000]
/** Milliseconds after the start when what is looked through begins: the first answers come before. */
const START_DELAY_MS = 1_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Milliseconds between two checks for pushes of this process that a lost connection cut short. */
const OWN_INTENTS_INTERVAL_MS = 5_000

const noInput = z.object({})

/** Finishes or drops the pushes, commits and merges that killed processes have left half done (SEC-158, SEC-185). */
const unfinishedPushes = defineJob({
  kind: 'unfinished pushes',
  input: noInput,
  run: (ctx: Context) => settleLeftIntents(ctx),
  priority: 'high',
  every: 5_000,
})

const leftovers = defineJob({
  kind: 'remove leftovers',
  input: noInput,
  async run(ctx: Context) {
    await removeStalledUploads(ctx)
    const removed = await ctx.git.removeLeftovers()
    if (removed.length > 0) ctx.log.warn({ removed: removed.length }, 'removed what a killed process left behind')
  },
  priority: 'low',
  deadline: HOUR_MS,
  every: HOUR_MS,
})

/** What is cleared once a day, when nothing else is to be done. */
const daily = (kind: string, run: (ctx: Context) => Promise<void>) =>
  defineJob({ kind, input: noInput, run: (ctx: Context) => run(ctx), priority: 'low', deadline: DAY_MS, every: DAY_MS })

const orphans = daily('orphan repositories', clearOrphans)
const unnamedObjects = daily('unnamed LFS objects', removeOrphanedObjects)
const unreferencedObjects = daily('unreferenced LFS objects', dropExpiredObjects)

const repositoryChecks = defineJob({
  kind: 'repository checks',
  input: noInput,
  run: (ctx: Context) => checkRepositories(ctx),
  priority: 'low',
  deadline: DAY_MS,
  every: 60_000,
})

const expiredMemberships = defineJob({
  kind: 'expired memberships',
  input: noInput,
  run: (ctx: Context) => endExpiredMemberships(ctx),
  every: HOUR_MS,
})

const oldCounters = defineJob({
  kind: 'old counters',
  input: noInput,
  run: ({ db }: Context) => dropCounters(db, new Date()),
  every: 60_000,
})

/** What finds unfinished work. */
const UNFINISHED_WORK_JOBS = [unfinishedPushes, deferredMerges, dueMergeRequests, removeFiles]

/** What is repeated by itself, and finds what killed processes have left. */
export const recoveryJobs = [
  unfinishedPushes,
  leftovers,
  orphans,
  unnamedObjects,
  unreferencedObjects,
  repositoryChecks,
  expiredMemberships,
  oldCounters,
]

/**
 * At the start: finishes or undoes what a killed process left half done (SEC-158, SEC-159, SEC-134), where jobs would
 * do it a little later. Everything that was acknowledged is there before the first request.
 */
export async function recover(ctx: Context): Promise<void> {
  // with a database of its own no other service can be receiving or creating anything, and this is its first process
  const alone = ctx.config.databaseUrl === undefined
  await resolveAbandonedIntents(ctx, { start: true, alone })
  if (alone) {
    await removeStalledUploads(ctx, 0)
    ctx.jobs.add('remove files', () => finishDeletions(ctx, { alone }))
  }
  await runNow(ctx, [...UNFINISHED_WORK_JOBS, leftovers, orphans, expiredMemberships], START_DELAY_MS)
  scheduleLeftoverCleanups(ctx)
}

/** After another process of this service was killed: finishes or undoes what it left, where jobs would do it later. */
export async function recoverKilledProcess(ctx: Context): Promise<void> {
  await runNow(ctx, [...UNFINISHED_WORK_JOBS, leftovers])
  scheduleLeftoverCleanups(ctx)
}

/** While a process runs: finds what a lost connection to the database has left half done. */
export function startContinuousRecovery(ctx: Context): void {
  ctx.db.onBack(() => ctx.jobs.add('the database is back', () => runNow(ctx, UNFINISHED_WORK_JOBS)))
  const timer = setInterval(() => (ctx.stopping.aborted ? clearInterval(timer) : settleOwnIntents(ctx)), OWN_INTENTS_INTERVAL_MS).unref()
}

function scheduleLeftoverCleanups(ctx: Context): void {
  for (const delay of LEFTOVER_CLEANUP_DELAYS_MS) setTimeout(() => ctx.jobs.add('remove leftovers', () => runNow(ctx, [leftovers])), delay).unref()
}

/** Runs jobs that are repeated without waiting for their time. */
async function runNow(ctx: Context, repeated: Job<Context, typeof noInput>[], delay = 0): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    for (const job of repeated) await enqueue(tx, job, {}, { key: '', lane: job.kind, delay })
  })
}

/** Pushes of this process that a lost connection cut short: no other process may tell that they are not under way. */
function settleOwnIntents(ctx: Context): void {
  if ([...ctx.intents.values()].includes('abandoned'))
    ctx.jobs.coalesce('left intents', 1_000, 'unfinished pushes', () => resolveAbandonedIntents(ctx))
}
