import { eq, isNull, sql } from 'drizzle-orm'
import type { Context, StatusEvent } from '../../../../context.js'
import { mergeRequests, pipelines, todos } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import { findReadyDeferredMerges, runDeferredMerges } from './accept.js'

const selectRequestsOfHead = statement('open merge requests of a head', (db) =>
  db
    .select({ id: mergeRequests.id })
    .from(mergeRequests)
    .where(
      sql`${eq(mergeRequests.source_project_id, sql.placeholder('source'))} and ${mergeRequests.sha} = ${sql.placeholder('sha')} and ${mergeRequests.state} = 'opened' and ${isNull(mergeRequests.deleted_at)}
        and (${mergeRequests.head_pipeline_id} = ${sql.placeholder('pipeline')} or not exists (select 1 from ${pipelines} p
          where p.id in (${mergeRequests.head_pipeline_id}, ${sql.placeholder('pipeline')}) and p.source = 'merge_request_event'))`,
    ),
)

/**
 * Adds a todo for the authors of open merge requests whose head pipeline has failed, unless they have one (ST-22). Of the
 * pipelines of merge requests each counts for its own alone (MR-610).
 */
export async function addFailureTodos(ctx: Context, { caller, projectId, sha, pipeline, status }: StatusEvent): Promise<void> {
  if (status !== 'failed') return
  const heads = await selectRequestsOfHead(ctx.db, null).execute({ source: projectId, sha, pipeline })
  if (heads.length === 0) return
  const now = ctx.now().toISOString()
  await ctx.db.write.execute(sql`insert into ${todos} (user_id, author_id, project_id, target_type, target_id, action, created_at, updated_at)
    select r.author_id, ${caller.user.id}, r.project_id, 'MergeRequest', r.id, 'build_failed', ${now}::timestamptz, ${now}::timestamptz
    from ${mergeRequests} r where r.id = any(${`{${heads.map(({ id }) => id).join(',')}}`}::bigint[]) on conflict do nothing`)
}

const selectWaitingRequests = statement('merge requests that wait for a pipeline', (db) =>
  db
    .select({ id: mergeRequests.id })
    .from(mergeRequests)
    .where(
      sql`${mergeRequests.head_pipeline_id} = ${sql.placeholder('pipeline')} and ${mergeRequests.merge_when_pipeline_succeeds} and ${mergeRequests.state} = 'opened'`,
    ),
)

/** Groups the statuses that are posted to one pipeline at about the same time. */
const COALESCE_DELAY_MS = 50

/** Performs the deferred merges that wait for a pipeline, soon after it has succeeded (MR-66). */
export async function mergeAfterPipeline(ctx: Context, { pipeline, status }: StatusEvent): Promise<void> {
  if (status !== 'success') return
  ctx.jobs.coalesce(`deferred merges ${pipeline}`, COALESCE_DELAY_MS, 'deferred merges', async () => {
    for (const { id } of await selectWaitingRequests(ctx.db, null).execute({ pipeline }))
      await runDeferredMerges(ctx, await findReadyDeferredMerges(ctx, id))
  })
}
