import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Context } from '../../../../context.js'
import { isOpen } from '../../../../db/conditions.js'
import { mergeRequests } from '../../../../db/schema/index.js'
import { mapConcurrently } from '../../../../lib/async/concurrency.js'
import { makeVersions } from '../versions/make.js'
import { headsOf, type MergeRequestRefs, selectMergeRequestRefs } from '../versions/refs.js'
import { mergeStatus } from './merge-status.js'

/** Merge requests checked together; their results are written in one statement. */
const BATCH = 40
/** Fewer than git runs for one repository, so that others can read it meanwhile. */
const AT_ONCE = 2

/** Checks these merge requests, until none is unchecked or others are checking them. */
export async function checkMergeability(ctx: Context, ids: number[]): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const unknown = await selectMergeRequestRefs(ctx.db.write, and(inArray(mergeRequests.id, ids), isUnchecked))
    if (unknown.length === 0) return
    await decideAll(ctx, unknown)
  }
  for (const project of new Set((await selectMergeRequestRefs(ctx.db.write, inArray(mergeRequests.id, ids))).map((request) => request.project_id)))
    checkMergeabilitySoon(ctx, project)
}

const isUnchecked = and(eq(mergeRequests.merge_status, 'unchecked'), isOpen)

/**
 * Checks the current heads only, whatever the branches were before. A merge request whose source has moved unnoticed
 * gets its version first.
 */
async function decideAll(ctx: Context, requests: MergeRequestRefs[]): Promise<void> {
  const late: number[] = []
  const found = await mapConcurrently(AT_ONCE, requests, async (request) => {
    const heads = await headsOf(ctx, request)
    if (heads.head && heads.start && (heads.head !== request.sha || request.version_due)) {
      late.push(request.id)
      return null
    }
    return { request: request.id, checks: request.merge_checks, status: await mergeStatus(ctx, request, heads) }
  })
  const known = found.filter((one) => one !== null)
  if (known.length > 0) {
    // a row that became unchecked again meanwhile stays so; one write for each row, which is no change of the merge
    // request (MR-55)
    await ctx.db.write.execute(sql`update ${mergeRequests} r set merge_status = d.status
      from jsonb_to_recordset(${JSON.stringify(known)}::jsonb) as d (request bigint, checks int, status text)
      where r.id = d.request and r.merge_checks = d.checks and r.merge_status = 'unchecked'`)
  }
  await makeVersions(ctx, late, { verdict: true })
}

/**
 * Checks what is unchecked in a project, in the background: the rows say what is due, however many moves made it so.
 */
export function checkMergeabilitySoon(ctx: Context, projectId: number): void {
  ctx.jobs.coalesce(`merge status ${projectId}`, 0, 'merge status', async () => {
    for (let after = 0; ; ) {
      const unknown = await selectMergeRequestRefs(
        ctx.db.write,
        and(eq(mergeRequests.project_id, projectId), isUnchecked, sql`${mergeRequests.id} > ${after}`),
      ).limit(BATCH)
      const last = unknown.at(-1)
      if (!last) return
      await decideAll(ctx, unknown)
      after = last.id
    }
  })
}

/** The same for a few merge requests that somebody waits for, ahead of all others. */
export const checkTheseSoon = (ctx: Context, ids: number[]) => ctx.jobs.add('merge status', () => checkMergeability(ctx, ids))

/** At the start: checks what was left unchecked. */
export async function resumeMergeChecks(ctx: Context): Promise<void> {
  const left = await ctx.db.write.selectDistinct({ project: mergeRequests.project_id }).from(mergeRequests).where(isUnchecked)
  for (const { project } of left) checkMergeabilitySoon(ctx, project)
}
