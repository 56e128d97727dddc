import type { Caller, SignedIn } from '../../../../access/actor.js'
import type { IssueSubject } from '../../../../access/issues.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import { fullPathOf, type ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import type { mergeRequests } from '../../../../db/schema/index.js'
import { closingReferences, externalClosings, type IssueReference } from '../../../../lib/text/references.js'
import { resolveIssues } from '../../../activity/referenced-issues.js'
import { type Page, type Paging, slice } from '../../../core/page.js'
import { type IssueRecord, loadIssues } from '../../issues/list.js'
import { closeIssue } from '../../issues/update.js'
import { commitMessagesOf } from '../reading/contents.js'

type Request = typeof mergeRequests.$inferSelect

/** All texts in which a merge request may mention issues: title, description and commit messages. */
export const textsOf = async (
  ctx: Context,
  project: ProjectSubject['project'],
  request: Pick<Request, 'id' | 'project_id' | 'version_id' | 'title' | 'description'>,
): Promise<string[]> => [request.title, request.description, ...(await commitMessagesOf(ctx, project, request))]

/**
 * The issues that merging a merge request closes, limited to those the caller sees: the ones that its title,
 * description or commits say it closes, if its target is the default branch (MR-82, MR-85).
 */
export async function issuesClosedBy(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  request: Pick<Request, 'id' | 'project_id' | 'version_id' | 'title' | 'description' | 'target_branch'>,
): Promise<IssueSubject[]> {
  const { project } = subject
  if (request.target_branch !== project.default_branch) return []
  return issuesClosedIn(ctx, caller, subject, await textsOf(ctx, project, request))
}

/** The issues that texts say they close, limited to those the caller sees. */
async function issuesClosedIn(ctx: Context, caller: Pick<Caller, 'user'>, subject: ProjectSubject, texts: string[]): Promise<IssueSubject[]> {
  const references: IssueReference[] = []
  for (const text of texts) for (const each of await closingReferences(ctx.slices, text, ctx.links.base)) references.push(each)
  return references.length === 0 ? [] : resolveIssues(ctx, caller, subject, references)
}

/** The list of issues in the message of a merge commit (MR-67). */
export function issueReferences(subject: ProjectSubject, issues: IssueSubject[]): string {
  const names = issues.map(({ project, issue }) => `${project.id === subject.project.id ? '' : fullPathOf(project)}#${issue.iid}`)
  if (names.length < 3) return names.join(' and ')
  return `${names.slice(0, -1).join(', ')}, and ${names.at(-1)}`
}

/** Closes the issues on behalf of the user who merged, where they may (MR-69). */
export async function closeIssuesOf(ctx: Context, caller: SignedIn, subject: ProjectSubject, request: Request): Promise<void> {
  for (const issue of await issuesClosedBy(ctx, caller, subject, request)) {
    if (issue.issue.state === 'opened' && issue.may('update_issue')) await closeIssue(ctx, caller, issue, ` via merge request !${request.iid}`)
  }
}

/** An issue that a merge request closes: an issue of this service, or the key of one in an external tracker (MR-81). */
export type ClosedIssue = { issue: IssueRecord } | { key: string }

/** Lists the issues that a merge request closes, those of this service first (MR-81). */
export async function listClosedIssues(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: MergeRequestSubject,
  paging: Paging,
): Promise<Page<ClosedIssue>> {
  const { request, project } = subject
  if (request.target_branch !== project.default_branch) return { items: [], total: 0 }
  const texts = await textsOf(ctx, project, request)
  const closedIssues = await issuesClosedIn(ctx, caller, subject, texts)
  const keys = new Set<string>()
  for (const text of texts) for (const key of await externalClosings(ctx.slices, text)) keys.add(key)
  const { items, total } = slice<number | string>([...closedIssues.map(({ issue }) => issue.id), ...keys], paging)
  const ids = items.filter((item) => typeof item === 'number')
  const recordById = new Map((await loadIssues(ctx, caller, ids)).map((issue) => [issue.issue.id, issue]))
  const shown = items.flatMap((item): ClosedIssue[] => {
    if (typeof item === 'string') return [{ key: item }]
    const issue = recordById.get(item)
    return issue ? [{ issue }] : []
  })
  return { items: shown, total }
}
