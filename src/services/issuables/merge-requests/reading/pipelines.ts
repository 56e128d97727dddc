import { and, desc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import { fullPathOf } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { totalCount } from '../../../../db/decoded.js'
import { mergeRequestCommits, mergeRequestPipelines, pipelines } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import { forbidden } from '../../../../failures.js'
import type { Keyset } from '../../../../lib/keyset.js'
import { isNoChild } from '../../../ci/merge-requests/heads.js'
import { basicColumns, type PipelineBasicRecord } from '../../../ci/pipelines.js'
import { afterRow, type Page, type Paging, pageFrom } from '../../../core/page.js'
import { sourceOf } from './load.js'

const selectPipelines = statement('pipelines of a merge request', (db) =>
  db
    .select({ ...basicColumns, total: totalCount() })
    .from(pipelines)
    .where(
      and(
        eq(pipelines.project_id, sql.placeholder('source')),
        afterRow(pipelines.id),
        isNoChild,
        sql`${pipelines.id} in (
          select t.pipeline_id from ${mergeRequestPipelines} t where t.merge_request_id = ${sql.placeholder('request')}
          union all select p.id from ${mergeRequestCommits} c
            join ${pipelines} p on p.project_id = ${sql.placeholder('source')} and p.sha = c.sha
              and p.ref = ${sql.placeholder('branch')} and p.source <> 'merge_request_event'
            where c.merge_request_id = ${sql.placeholder('request')})`,
      ),
    )
    .orderBy(desc(pipelines.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/**
 * Pipelines of the merge request, those of the source branch whose commit belongs to any version, and the full path of
 * their project (MR-89, MR-611). The
 * page is empty if the caller does not see the source project (SEC-42).
 */
export async function listRequestPipelines(
  ctx: Context,
  caller: SignedIn,
  subject: MergeRequestSubject,
  paging: Paging & Keyset,
): Promise<{ page: Page<PipelineBasicRecord>; fullPath: string }> {
  if (!subject.can('read_pipeline')) throw forbidden()
  const { request } = subject
  const source = await sourceOf(ctx, caller, subject, request)
  if (!source?.can('read_pipeline')) return { page: { items: [], total: 0 }, fullPath: '' }
  return {
    page: await pageFrom(selectPipelines(ctx.db, null), { source: source.project.id, branch: request.source_branch, request: request.id }, paging),
    fullPath: fullPathOf(source.project),
  }
}
