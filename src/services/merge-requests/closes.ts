import type { Caller, SignedIn } from '../../access/actor.js'
import type { IssueSubject } from '../../access/issues.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { mergeRequests } from '../../db/schema/index.js'
import { closingReferences } from '../../lib/references.js'
import { issuesMeant } from '../closing.js'
import { closeIssue } from '../issues/update.js'
import { commitMessagesOf } from './read.js'

type Request = typeof mergeRequests.$inferSelect

/** The issues that merging a request closes, as one reader sees them: those named in its title, its description or a commit of its newest version, if it goes to the default branch (MR-82, MR-85). */
export async function issuesClosedBy(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  request: Pick<Request, 'id' | 'project_id' | 'version_id' | 'title' | 'description' | 'target_branch'>,
): Promise<IssueSubject[]> {
  const { project } = subject
  if (request.target_branch !== project.default_branch) return []
  const texts = [request.title, request.description, ...(await commitMessagesOf(ctx, project, request))]
  const references = texts.flatMap((text) => closingReferences(text, ctx.links.base))
  return references.length === 0 ? [] : issuesMeant(ctx, caller, subject, references)
}

/** How a merge commit names them (MR-67). */
export function namesOfIssues(subject: ProjectSubject, issues: IssueSubject[]): string {
  const names = issues.map(({ project, issue }) => `${project.id === subject.project.id ? '' : fullPathOf(project)}#${issue.iid}`)
  if (names.length < 3) return names.join(' and ')
  return `${names.slice(0, -1).join(', ')}, and ${names.at(-1)}`
}

/** Closes them in the name of who merged, where he may (MR-69). */
export async function closeIssuesOf(ctx: Context, caller: SignedIn, subject: ProjectSubject, request: Request): Promise<void> {
  for (const issue of await issuesClosedBy(ctx, caller, subject, request)) {
    if (issue.issue.state === 'opened' && issue.may('update_issue')) await closeIssue(ctx, caller, issue, ` via merge request !${request.iid}`)
  }
}
