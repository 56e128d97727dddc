import { and, asc, eq, inArray, lt, ne, notInArray, sql } from 'drizzle-orm'
import type { Project } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { builds, commitStatuses, pipelines } from '../../db/schema/index.js'
import { repositoryOf } from '../repository/repositories.js'
import { cancelJobs, openJobs } from './builds/cancel.js'
import { changeJobs } from './builds/change.js'

/** Pipelines that one newer pipeline cancels at most. */
const MAX_CANCELED = 100
const STOPPABLE = ['created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled'] as const

/**
 * Cancels what the newest pipeline of the head of a branch or tag makes redundant: earlier ones of other commits, as far as
 * their configuration lets it (CI-200). It may run again for the same commit.
 */
export async function cancelRedundant(ctx: Context, project: Project, { ref, tag, sha }: { ref: string; tag: boolean; sha: string }): Promise<void> {
  if (!project.auto_cancel_pending_pipelines) return
  const repository = repositoryOf(ctx, project)
  const head = await repository.ref(tag ? `refs/tags/${ref}` : `refs/heads/${ref}`)
  if (head === null || (await repository.resolve(head))?.commit !== sha) return
  const sameRef = and(eq(pipelines.project_id, project.id), eq(pipelines.ref, ref), eq(pipelines.tag, tag))
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
