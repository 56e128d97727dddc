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

/** All texts in which a merge request may mention issues. */
export const textsOf = async (
  ctx: Context,
  project: ProjectSubject['project'],
  request: Pick<Request, 'id' | 'project_id' | 'version_id' | 'title' | 'description'>,
): Promise<string[]> => [request.title, request.description, ...(await commitMessagesOf(ctx, project, request))]

/**
 * The issues that merging a request closes, as one reader sees them: those that its title, its description or a commit
 * of its newest version say it closes, if it goes to the default branch (MR-82, MR-85).
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

/** The issues that texts say are closed, as far as a reader sees them. */
async function issuesClosedIn(ctx: Context, caller: Pick<Caller, 'user'>, subject: ProjectSubject, texts: string[]): Promise<IssueSubject[]> {
  const references: IssueReference[] = []
  for (const text of texts) for (const each of await closingReferences(ctx.slices, text, ctx.links.base)) references.push(each)
  return references.length === 0 ? [] : resolveIssues(ctx, caller, subject, references)
}

/** How a merge commit refers to them (MR-67). */
export function issueReferences(subject: ProjectSubject, issues: IssueSubject[]): string {
  const names = issues.map(({ project, issue }) => `${project.id === subject.project.id ? '' : fullPathOf(project)}#${issue.iid}`)
  if (names.length < 3) return names.join(' and ')
  return `${names.slice(0, -1).join(', ')}, and ${names.at(-1)}`
}

/** Closes them in the name of the user who merged, where they may (MR-69). */
export async function closeIssuesOf(ctx: Context, caller: SignedIn, subject: ProjectSubject, request: Request): Promise<void> {
  for (const issue of await issuesClosedBy(ctx, caller, subject, request)) {
    if (issue.issue.state === 'opened' && issue.may('update_issue')) await closeIssue(ctx, caller, issue, ` via merge request !${request.iid}`)
  }
}

/** An issue that is closed, of this service or of another tracker (MR-81). */
export type ClosedIssue = { issue: IssueRecord } | { key: string }

/** The issues that a merge request closes, those of this service first (MR-81). */
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
