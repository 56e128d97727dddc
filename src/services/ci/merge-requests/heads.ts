import { type SQL, sql } from 'drizzle-orm'
import type { Transaction } from '../../../db/client.js'
import { mergeRequestPipelines, mergeRequests, pipelines } from '../../../db/schema/index.js'

/** Lists, and what is the newest, leave out child pipelines (CI-307). */
export const isNoChild = sql`${pipelines.source} <> 'parent_pipeline'`
/** A pipeline for a merge request, not for the branch whose name it may have (CI-205). */
const isOfRequest = sql`${pipelines.source} = 'merge_request_event'`
/** Of the pipelines with the name of a branch those of the branch: merge requests of forks have pipelines with it too. */
export const isOfRef = sql`(${pipelines.source} <> 'merge_request_event' or ${pipelines.ref} like 'refs/merge-requests/%')`

/**
 * The pipeline of a head of the merge request `r`: the newest of its own, or else of its source branch (MR-610). Null if
 * there is none.
 */
export const headPipelineOf = (head: SQL) => sql`(select p.id from ${pipelines} p
    left join ${mergeRequestPipelines} t on t.pipeline_id = p.id and t.merge_request_id = r.id
    where p.project_id = r.source_project_id and p.sha = ${head} and p.source <> 'parent_pipeline'
      and (t.pipeline_id is not null or (p.ref = r.source_branch and not p.tag and p.source <> 'merge_request_event'))
    order by p.source = 'merge_request_event' desc, p.id desc limit 1)`

/**
 * A new pipeline becomes the head pipeline of its merge request, or of those of its branch that have none of their own,
 * if its commit is their head (ST-21, PL-6, MR-610).
 */
export async function becomeHead(
  tx: Transaction,
  { project_id, ref, tag, sha }: Pick<typeof pipelines.$inferSelect, 'project_id' | 'ref' | 'tag' | 'sha'>,
  request: number | null,
): Promise<void> {
  if (tag) return
  // locked first, so that of two new pipelines the second sees the first
  const { rows } = await tx.execute<{ id: string }>(sql`select r.id from ${mergeRequests} r
    where r.source_project_id = ${project_id} and ${request === null ? sql`r.source_branch = ${ref}` : sql`r.id = ${request}`}
      and r.sha = ${sha} and r.state = 'opened' and r.deleted_at is null order by r.id for no key update`)
  if (rows.length === 0) return
  const ids = sql.param(rows.map(({ id }) => Number(id)))
  await tx.execute(sql`update ${mergeRequests} r set head_pipeline_id = ${headPipelineOf(sql`r.sha`)} where r.id = any(${ids}::bigint[])`)
}

/** Whether a merge request has a pipeline of its own of a commit, as SQL. */
export const hasOwnPipeline = sql<boolean>`exists (select 1 from ${mergeRequestPipelines} t join ${pipelines} on ${pipelines.id} = t.pipeline_id
  where t.merge_request_id = ${mergeRequests.id} and ${pipelines.sha} = ${mergeRequests.sha} and ${isOfRequest})`
