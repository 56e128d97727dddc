import { and, eq, isNull } from 'drizzle-orm'
import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { findMergeRequestFor, type MergeRequestSubject } from '../../../access/merge-requests.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { mergeRequests, mergeRequestVersions } from '../../../db/schema/index.js'
import { Failure } from '../../../failures.js'
import { defineJob } from '../../../jobs/kinds.js'
import { headRef } from '../../../rules/refs/merge-request-refs.js'
import { findActiveUser, findVisibleProject } from '../../identity/acting-users.js'
import { mayMergeInto, mayPushTo, protectionsOf } from '../../repository/protection.js'
import { repositoryOf } from '../../repository/repositories.js'
import { createPipeline, type NewPipeline, refusedPipeline, runsJobs } from '../create.js'
import { getPipeline, type PipelineRecord } from '../pipelines.js'
import { hasOwnPipeline } from './heads.js'

/** A merge request as far as its pipelines are concerned; `has_own`: there is one of its head. */
async function loadRequest(ctx: Context, id: number) {
  const [row] = await ctx.db.write
    .select({
      id: mergeRequests.id,
      iid: mergeRequests.iid,
      project_id: mergeRequests.project_id,
      source_project_id: mergeRequests.source_project_id,
      source_branch: mergeRequests.source_branch,
      state: mergeRequests.state,
      sha: mergeRequests.sha,
      commits: mergeRequestVersions.commits_count,
      has_own: hasOwnPipeline,
    })
    .from(mergeRequests)
    .leftJoin(mergeRequestVersions, eq(mergeRequestVersions.id, mergeRequests.version_id))
    .where(and(eq(mergeRequests.id, id), isNull(mergeRequests.deleted_at)))
  return row?.sha && row.commits ? { ...row, sha: row.sha } : null
}
type Request = NonNullable<Awaited<ReturnType<typeof loadRequest>>>

/** Where the pipeline of a merge request is made, which is its source project; a text: why the caller may not (CI-212, CI-213). */
async function targetFor(ctx: Context, caller: SignedIn, { iid, project_id, source_project_id, source_branch }: Request) {
  const subject = source_project_id === null ? null : await findVisibleProject(ctx, caller, source_project_id)
  if (subject && !runsJobs(subject.project)) return 'Pipelines are disabled!'
  if (!subject?.can('create_pipeline')) return 'Insufficient permissions to create a new pipeline'
  const protections = await protectionsOf(ctx, subject.project.id)
  if (!mayPushTo(subject, protections, source_branch) && !mayMergeInto(subject, protections, source_branch))
    return `You do not have sufficient permission to run a pipeline on '${source_branch}'.`
  if (source_project_id === project_id) return { subject, ref: headRef(iid) }
  return (await repositoryOf(ctx, subject.project).ref(`refs/heads/${source_branch}`)) ? { subject, ref: source_branch } : 'Reference not found'
}

const create = (
  ctx: Context,
  caller: SignedIn,
  { id, sha }: Request,
  { subject, ref }: { subject: ProjectSubject; ref: string },
  given: Pick<NewPipeline, 'made_by' | 'strict'>,
) =>
  createPipeline(ctx, caller, subject, {
    ...given,
    source: 'merge_request_event',
    ref,
    tag: false,
    sha,
    before_sha: null,
    variables: [],
    merge_request: id,
  })

/** Makes the pipeline of a merge request that was opened, reopened or pushed to, unless its head has one (CI-206). */
export const requestPipeline = defineJob({
  kind: 'pipeline of a merge request',
  input: z.object({ merge_request: z.int(), user: z.int() }),
  async run(ctx: Context, { merge_request, user }, { id: job }) {
    const caller = await findActiveUser(ctx, user)
    const request = await loadRequest(ctx, merge_request)
    if (!caller || request?.state !== 'opened' || request.has_own) return
    // its jobs are told what only those who may read it may know
    const target = await findVisibleProject(ctx, caller, request.project_id)
    if (!target || !(await findMergeRequestFor(ctx, caller, target, request.iid))) return
    const at = await targetFor(ctx, caller, request)
    if (typeof at !== 'string') await create(ctx, caller, request, at, { made_by: job, strict: false })
  },
})

/** Makes another pipeline of a merge request, as the API and the page do (CI-212). */
export async function runRequestPipeline(
  ctx: Context,
  caller: SignedIn,
  { request: { id } }: MergeRequestSubject,
): Promise<{ pipeline: PipelineRecord; fullPath: string }> {
  const request = await loadRequest(ctx, id)
  if (!request) throw new Failure('method_not_allowed', { message: '405 Method Not Allowed' })
  const at = await targetFor(ctx, caller, request)
  if (typeof at === 'string') throw refusedPipeline([at])
  const made = await create(ctx, caller, request, at, { made_by: null, strict: 'if empty' })
  if (made === null) throw refusedPipeline(['No stages / jobs for this pipeline.'])
  return { pipeline: await getPipeline(ctx, at.subject, made), fullPath: fullPathOf(at.subject.project) }
}

/** Whether the caller may make a pipeline of a merge request, as far as is known before its configuration is read. */
export async function mayRunRequestPipeline(ctx: Context, caller: SignedIn, { request: { id } }: MergeRequestSubject): Promise<boolean> {
  const request = await loadRequest(ctx, id)
  return request !== null && typeof (await targetFor(ctx, caller, request)) !== 'string'
}
