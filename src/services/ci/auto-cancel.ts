import { and, asc, eq, inArray, lt, ne, notInArray, sql } from 'drizzle-orm'
import type { Project } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { builds, commitStatuses, mergeRequestPipelines, mergeRequests, pipelines } from '../../db/schema/index.js'
import { repositoryOf } from '../repository/repositories.js'
import { cancelJobs, openJobs } from './builds/cancel.js'
import { changeJobs } from './builds/change.js'

/** Pipelines that one newer pipeline cancels at most. */
const MAX_CANCELED = 100
const STOPPABLE = ['created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled'] as const

/** What a pipeline is made for; `merge_request`: its id, of pipelines of merge requests. */
interface Made {
  ref: string
  tag: boolean
  sha: string
  merge_request?: number | undefined
}

/** Whether a commit is the head of the branch, tag or merge request. */
async function isHead(ctx: Context, project: Project, { ref, tag, sha, merge_request }: Made): Promise<boolean> {
  if (merge_request !== undefined) {
    const [request] = await ctx.db.write.select({ sha: mergeRequests.sha }).from(mergeRequests).where(eq(mergeRequests.id, merge_request))
    return request?.sha === sha
  }
  const repository = repositoryOf(ctx, project)
  const head = await repository.ref(tag ? `refs/tags/${ref}` : `refs/heads/${ref}`)
  return head !== null && (await repository.resolve(head))?.commit === sha
}

/**
 * Cancels what the newest pipeline of the head of a branch, tag or merge request makes redundant: earlier ones of other
 * commits, as far as their configuration lets it (CI-200). It may run again for the same commit.
 */
export async function cancelRedundant(ctx: Context, project: Project, made: Made): Promise<void> {
  const { ref, tag, sha, merge_request } = made
  if (!project.auto_cancel_pending_pipelines || !(await isHead(ctx, project, made))) return
  const sameRequest =
    merge_request === undefined
      ? ne(pipelines.source, 'merge_request_event')
      : sql`exists (select 1 from ${mergeRequestPipelines} t where t.pipeline_id = ${pipelines.id} and t.merge_request_id = ${merge_request})`
  const sameRef = and(eq(pipelines.project_id, project.id), eq(pipelines.ref, ref), eq(pipelines.tag, tag), sameRequest)
  const newest = ctx.db.write
    .select({ id: sql`max(${pipelines.id})` })
    .from(pipelines)
    .where(and(sameRef, eq(pipelines.sha, sha)))
  const found = await ctx.db.write
    .select({ id: pipelines.id })
    .from(pipelines)
    .where(
      and(
        sameRef,
        ne(pipelines.sha, sha),
        notInArray(pipelines.source, ['external', 'parent_pipeline']),
        inArray(pipelines.status, [...STOPPABLE]),
        lt(pipelines.id, sql`(${newest})`),
      ),
    )
    .orderBy(asc(pipelines.id))
    .limit(MAX_CANCELED)
  for (const each of found) await cancelAsItAllows(ctx, each.id)
}

async function cancelAsItAllows(ctx: Context, id: number): Promise<void> {
  await changeJobs(ctx, id, async (tx, pipeline) => {
    const mode = pipeline.auto_cancel?.on_new_commit ?? 'conservative'
    if (mode === 'none') return null
    const jobs = await tx
      .select({
        id: commitStatuses.id,
        status: commitStatuses.status,
        interruptible: sql<boolean>`(${builds.definition} ->> 'interruptible')::boolean`,
      })
      .from(commitStatuses)
      .innerJoin(builds, eq(builds.job_id, commitStatuses.id))
      .where(and(eq(commitStatuses.project_id, pipeline.project_id), eq(commitStatuses.pipeline_id, id)))
    const mustStay = jobs.some(({ status, interruptible }) => !interruptible && ['running', 'success', 'failed'].includes(status))
    if (mode === 'conservative' && mustStay) return null
    const open = await openJobs(tx, pipeline)
    const stoppable = new Set(jobs.flatMap((job) => (job.interruptible ? [job.id] : [])))
    await cancelJobs(ctx, tx, mode === 'conservative' ? open : open.filter((job) => stoppable.has(job)))
    return true
  })
}
