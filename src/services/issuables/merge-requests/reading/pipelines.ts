import { and, desc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import { fullPathOf } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import { totalCount } from '../../../../db/decoded.js'
import { mergeRequestCommits, pipelines } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import { forbidden } from '../../../../failures.js'
import type { Keyset } from '../../../../lib/keyset.js'
import { basicColumns, isNoChild, type PipelineBasicRecord } from '../../../ci/pipelines.js'
import { afterRow, type Page, type Paging, pageFrom } from '../../../core/page.js'
import { sourceOf } from './load.js'

const selectPipelines = statement('pipelines of a merge request', (db) =>
  db
    .select({ ...basicColumns, total: totalCount() })
    .from(pipelines)
    .where(
      and(
        eq(pipelines.project_id, sql.placeholder('source')),
        eq(pipelines.ref, sql.placeholder('branch')),
        afterRow(pipelines.id),
        isNoChild,
        sql`exists (select 1 from ${mergeRequestCommits} c where c.merge_request_id = ${sql.placeholder('request')} and c.sha = ${pipelines.sha})`,
      ),
    )
    .orderBy(desc(pipelines.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/**
 * Pipelines of the source branch whose commit belongs to any version, and the full path of their project (MR-89). The
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
