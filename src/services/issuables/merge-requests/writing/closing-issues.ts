import type { Caller, SignedIn } from '../../../../access/actor.js'
import type { IssueSubject } from '../../../../access/issues.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import { fullPathOf, type ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import type { mergeRequests } from '../../../../db/schema/index.js'
import { closingKeys, closingReferences, type IssueReference } from '../../../../rules/references.js'
import { resolveIssues } from '../../../activity/referenced-issues.js'
import { type Page, type Paging, slice } from '../../../core/page.js'
import { type ExternalIssue, externalIssueOf } from '../../../integrations/references.js'
import { type IssueRecord, loadIssues } from '../../issues/list.js'
import { closeIssue } from '../../issues/update.js'
import { commitMessagesOf } from '../reading/contents.js'

type Request = typeof mergeRequests.$inferSelect

/** All texts in which a merge request may mention issues: title, description and commit messages. */
export async function* textsOf(
  ctx: Context,
  project: ProjectSubject['project'],
  request: Pick<Request, 'id' | 'project_id' | 'version_id' | 'title' | 'description'>,
): AsyncGenerator<string> {
  yield request.title
  yield request.description
  yield* commitMessagesOf(ctx, project, request)
}

/**
 * The issues that merging a merge request closes, limited to those the caller sees: the ones that it says it closes, of
 * projects that let it (MR-82, MR-85, PR-42).
 */
export const issuesClosedBy: typeof issuesNamedBy = async (...given) =>
  (await issuesNamedBy(...given)).filter(({ project }) => project.autoclose_referenced_issues)

/** The issues that the texts of a merge request say it closes, if its target is the default branch. */
export async function issuesNamedBy(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  request: Pick<Request, 'id' | 'project_id' | 'version_id' | 'title' | 'description' | 'target_branch'>,
): Promise<IssueSubject[]> {
  const { project } = subject
  if (request.target_branch !== project.default_branch) return []
  async function* references(): AsyncGenerator<IssueReference> {
    for await (const text of textsOf(ctx, project, request)) yield* await closingReferences(ctx.cpu.slices, text, ctx.links.base)
  }
  return resolveIssues(ctx, caller, subject, references())
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

/** The issues of another tracker that the texts of a merge request say it closes (SV-21). */
async function externalIssuesNamedBy(ctx: Context, { project }: ProjectSubject, request: Request): Promise<ExternalIssue[]> {
  if (!project.external_services?.tracker || request.target_branch !== project.default_branch) return []
  const found = new Map<string, ExternalIssue>()
  for await (const text of textsOf(ctx, project, request))
    for (const reference of [...(await closingKeys(ctx.cpu.slices, text)), ...(await closingReferences(ctx.cpu.slices, text))]) {
      const issue = externalIssueOf(project, reference)
      if (issue && found.size < MAX_EXTERNAL) found.set(issue.key, issue)
    }
  return [...found.values()]
}

/** The most issues of another tracker that one merge request closes. */
const MAX_EXTERNAL = 100

/** Lists the issues that a merge request closes (MR-81), those of another tracker last (SV-21). */
export async function listClosedIssues(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: MergeRequestSubject,
  paging: Paging,
): Promise<Page<IssueRecord | ExternalIssue>> {
  const own = await issuesClosedBy(ctx, caller, subject, subject.request)
  const { items, total } = slice([...own, ...(await externalIssuesNamedBy(ctx, subject, subject.request))], paging)
  const recordById = new Map(
    (
      await loadIssues(
        ctx,
        caller,
        items.flatMap((item) => ('issue' in item ? [item.issue.id] : [])),
      )
    ).map((record) => [record.issue.id, record]),
  )
  return {
    items: items.flatMap((item): (IssueRecord | ExternalIssue)[] =>
      'issue' in item ? [recordById.get(item.issue.id)].filter((record) => record !== undefined) : [item],
    ),
    total,
  }
}
