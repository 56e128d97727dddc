import { and, eq, inArray, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../../context.js'
import { isOpen } from '../../../../db/conditions.js'
import { mergeRequests } from '../../../../db/schema/index.js'
import { enqueueAll } from '../../../../jobs/enqueue.js'
import { defineJob } from '../../../../jobs/kinds.js'
import { mapConcurrently } from '../../../../lib/async/concurrency.js'
import { makeVersions } from '../versions/make.js'
import { headsOf, type MergeRequestRefs, selectMergeRequestRefs } from '../versions/refs.js'
import { mergeStatus } from './merge-status.js'

/** The number of merge requests checked together; their results are written in one statement. */
const BATCH_SIZE = 40
/** Below the limit of git processes per repository, so that other readers can proceed. */
const CONCURRENCY = 2

/** Checks these merge requests until none is unchecked; after five rounds the rest is left to a job. */
export async function checkMergeability(ctx: Context, ids: number[]): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const unchecked = await selectMergeRequestRefs(ctx.db.write, and(inArray(mergeRequests.id, ids), isUnchecked))
    if (unchecked.length === 0) return
    await checkAll(ctx, unchecked)
  }
  const remaining = await selectMergeRequestRefs(ctx.db.write, inArray(mergeRequests.id, ids))
  await checkProjectsSoon(ctx, [...new Set(remaining.map((request) => request.project_id))])
}

const isUnchecked = and(eq(mergeRequests.merge_status, 'unchecked'), isOpen)

/**
 * Checks whether the current heads can be merged. A merge request whose newest version is outdated gets a new version,
 * which includes the check.
 */
async function checkAll(ctx: Context, requests: MergeRequestRefs[]): Promise<void> {
  const outdated: number[] = []
  const checked = await mapConcurrently(CONCURRENCY, requests, async (request) => {
    const heads = await headsOf(ctx, request)
    if (heads.head && heads.start && (heads.head !== request.sha || request.version_due)) {
      outdated.push(request.id)
      return null
    }
    return { request: request.id, checks: request.merge_checks, ...(await mergeStatus(ctx, request, heads)) }
  })
  const results = checked.filter((one) => one !== null)
  if (results.length > 0) {
    // a row that became unchecked again meanwhile stays so; `updated_at` stays, because the merge request has not
    // changed (MR-55)
    await ctx.db.write.execute(sql`update ${mergeRequests} r set merge_status = d.status, behind_target = d.behind
      from jsonb_to_recordset(${JSON.stringify(results)}::jsonb) as d (request bigint, checks int, status text, behind boolean)
      where r.id = d.request and r.merge_checks = d.checks and r.merge_status = 'unchecked'`)
  }
  await makeVersions(ctx, outdated, { checkMerge: true })
}

/**
 * Checks all unchecked merge requests of a project. The rows record what is unchecked, so one job covers many pushes.
 */
export const mergeChecks = defineJob({
  kind: 'merge status',
  input: z.object({ project: z.int() }),
  async run(ctx: Context, { project }, { signal }) {
    for (let after = 0; ; signal.throwIfAborted()) {
      const unchecked = await selectMergeRequestRefs(
        ctx.db.write,
        and(eq(mergeRequests.project_id, project), isUnchecked, sql`${mergeRequests.id} > ${after}`),
      ).limit(BATCH_SIZE)
      const last = unchecked.at(-1)
      if (!last) return
      await checkAll(ctx, unchecked)
      after = last.id
    }
  },
  // there may be thousands: merges and rebases go first
  priority: 'low',
  deadline: 3_600_000,
})

const checkProjectsSoon = (ctx: Context, projects: number[]) =>
  enqueueAll(
    ctx.db,
    mergeChecks,
    projects.map((project) => ({ input: { project }, key: String(project) })),
  )

/** Checks a few merge requests whose source was just pushed to, ahead of all others. */
export const promptMergeChecks = defineJob({
  kind: 'merge status of pushed branches',
  input: z.object({ merge_requests: z.array(z.int()) }),
  run: (ctx: Context, { merge_requests }) => checkMergeability(ctx, merge_requests),
  priority: 'high',
})

/** Enqueues checks of merge requests that are still unchecked, for example after a crash. */
export async function resumeMergeChecks(ctx: Context): Promise<void> {
  const remaining = await ctx.db.write.selectDistinct({ project: mergeRequests.project_id }).from(mergeRequests).where(isUnchecked)
  const projects = remaining.map(({ project }) => project)
  await checkProjectsSoon(ctx, projects)
}
