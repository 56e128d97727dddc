import { and, asc, eq, inArray, or, sql } from 'drizzle-orm'
import type { Caller } from '../../../../access/actor.js'
import type { IssueSubject } from '../../../../access/issues.js'
import { findMergeRequestFor } from '../../../../access/merge-requests.js'
import { type ViewerKind, viewerKindOf, visibleMergeRequests } from '../../../../access/visible.js'
import type { Context } from '../../../../context.js'
import { totalCount } from '../../../../db/decoded.js'
import { mergeRequestIssues, mergeRequests, projects } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import type { Keyset } from '../../../../lib/keyset.js'
import { type IssueReference, referencesIn } from '../../../../rules/references.js'
import { projectResolver } from '../../../activity/referenced-issues.js'
import { afterRow, type Page, type Paging } from '../../../core/page.js'
import { loadPage, type MergeRequestRecord } from './load.js'

interface Shape {
  viewerKind: ViewerKind
  which: 'closing' | 'related'
}

/** Merge requests linked to an issue that the caller may read; `extra` are ids of others to include. */
const selectRequests = statement('merge requests of an issue', (db, { viewerKind, which }: Shape) => {
  const linked = db.select({ id: mergeRequestIssues.merge_request_id }).from(mergeRequestIssues)
  const issue = eq(mergeRequestIssues.issue_id, sql.placeholder('issue'))
  return db
    .select({ id: mergeRequests.id, total: totalCount() })
    .from(mergeRequests)
    .innerJoin(projects, eq(projects.id, mergeRequests.project_id))
    .where(
      and(
        which === 'closing'
          ? and(inArray(mergeRequests.id, linked.where(and(issue, mergeRequestIssues.closes))), eq(mergeRequests.state, 'opened'))
          : or(inArray(mergeRequests.id, linked.where(issue)), sql`${mergeRequests.id} = any(${sql.placeholder('extra')}::bigint[])`),
        afterRow(mergeRequests.id),
        visibleMergeRequests(viewerKind, sql`${sql.placeholder('user')}::bigint`),
      ),
    )
    .orderBy(asc(mergeRequests.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

async function list(
  ctx: Context,
  { user }: Pick<Caller, 'user'>,
  { issue }: IssueSubject,
  { which, extraIds, ...paging }: { which: Shape['which']; extraIds: number[] } & Paging & Keyset,
): Promise<Page<MergeRequestRecord>> {
  const query = selectRequests(ctx.db, { viewerKind: viewerKindOf(user), which })
  return loadPage(ctx, query, { issue: issue.id, user: user?.id ?? 0, extra: extraIds }, paging)
}

/** Open merge requests that will close the issue when they are merged (IS-14, PR-42). */
export const listClosing = async (ctx: Context, caller: Pick<Caller, 'user'>, subject: IssueSubject, paging: Paging & Keyset) =>
  subject.project.autoclose_referenced_issues ? list(ctx, caller, subject, { which: 'closing', extraIds: [], ...paging }) : { items: [], total: 0 }

/** The most references in one text that are resolved; further ones are ignored. */
const MAX_REFERENCES = 100

/** Merge requests that mention the issue, and those that it mentions (IS-15). */
export async function listRelated(ctx: Context, caller: Pick<Caller, 'user'>, subject: IssueSubject, paging: Paging & Keyset) {
  const { issue } = subject
  const mentioned = (await referencesIn(ctx.cpu.slices, `${issue.description}\n\n${issue.title}`, ctx.links.base))
    .filter((each): each is IssueReference => each.kind === 'merge_request')
    .slice(0, MAX_REFERENCES)
  const projectOf = projectResolver(ctx, caller, subject)
  const extraIds: number[] = []
  for (const { project, number } of mentioned) {
    const referencedProject = await projectOf(project)
    const request = referencedProject && (await findMergeRequestFor(ctx, caller, referencedProject, number))
    if (request) extraIds.push(request.request.id)
  }
  return list(ctx, caller, subject, { which: 'related', extraIds, ...paging })
}
