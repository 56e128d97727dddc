import type { SignedIn } from '../../../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import type { mergeRequests } from '../../../../db/schema/index.js'
import { refused } from '../../../../failures.js'
import type { Commit } from '../../../../git/types.js'
import { fillTemplate, type Placeholder, placeholdersIn } from '../../../../rules/message-templates.js'
import { lengthOf } from '../../../../rules/path.js'
import { signatureOf } from '../../../repository/repositories.js'
import { commitsToList } from '../reading/contents.js'
import { approversOf, type NamedUser, reviewedBy } from '../writing/approvals.js'
import { issueReferences, issuesClosedBy } from '../writing/closing-issues.js'

type Request = typeof mergeRequests.$inferSelect

const MAX_MESSAGE = 1_000_000
/** The most commits that `%{all_commits}` lists, and the longest message that it repeats. */
const MAX_LISTED = 100
const MAX_LISTED_LENGTH = 100_000

const TOO_LONG = 'The commit message is too long'

/** Refuses a message that no commit should have. */
export function refuseLongMessage(message: string | undefined): void {
  if (lengthOf(message ?? '') > MAX_MESSAGE) throw refused(TOO_LONG)
}

/** A merge request that is being merged, and by whom. */
interface Merging {
  caller: SignedIn
  subject: ProjectSubject
  request: Request
}

/**
 * The message of the merge commit: the given one, or that of the project's template, or one of branches, title, closed
 * issues and reference (MR-67, PR-44).
 */
export async function mergeMessage(ctx: Context, merging: Merging, given: string | undefined): Promise<string> {
  if (given !== undefined && given.trim() !== '') return given
  const template = merging.subject.project.merge_commit_template
  if (template) return filled(ctx, merging, template)
  const { request, subject } = merging
  const issues = await closedIssues(ctx, merging)
  return [
    `Merge branch '${request.source_branch}' into '${request.target_branch}'`,
    request.title,
    ...(issues === '' ? [] : [issues]),
    `See merge request ${fullPathOf(subject.project)}!${request.iid}`,
  ].join('\n\n')
}

/** The message of the squashed commit: the given one, or that of the project's template, or the title (MR-96, PR-44). */
export async function squashMessage(ctx: Context, merging: Merging, given: string | undefined): Promise<string> {
  if (given !== undefined && given.trim() !== '') return given
  const template = merging.subject.project.squash_commit_template
  return template ? filled(ctx, merging, template) : merging.request.title
}

async function closedIssues(ctx: Context, { caller, subject, request }: Merging): Promise<string> {
  const issues = await issuesClosedBy(ctx, caller, subject, request)
  return issues.length > 0 ? `Closes ${issueReferences(subject, issues)}` : ''
}

/** The title stands for a message that is empty once its placeholders are filled. */
async function filled(ctx: Context, merging: Merging, template: string): Promise<string> {
  const used = placeholdersIn(template)
  const values = Object.fromEntries(await Promise.all(used.map(async (name) => [name, await VALUES[name](ctx, merging)] as const)))
  // before anything is made of a description of a megabyte that the template has many times
  const lengths = used.map((name) => (values[name]?.length ?? 0) * (template.split(`%{${name}}`).length - 1))
  if (lengths.reduce((sum, length) => sum + length, 0) > 2 * MAX_MESSAGE) throw refused(TOO_LONG)
  const message = fillTemplate(template, values) || merging.request.title
  refuseLongMessage(message)
  return message
}

/** The commits, oldest first. */
const commitsOf = async (ctx: Context, { subject, request }: Merging): Promise<Commit[]> =>
  (await commitsToList(ctx, subject.project, request)).reverse()

const isMultiline = ({ message }: Commit) => message.trim().includes('\n')
const identityOf = ({ name, email }: { name: string; email: string }) => `${name} <${email}>`
const listed = ({ message }: Commit) => `* ${message.length > MAX_LISTED_LENGTH ? '(a long message)' : message.trim()}`

/** A line for each user; an address that is not public is replaced by the username. */
const trailers = (key: string, people: NamedUser[]) =>
  people
    .map(({ name, username, public_email: email }) => `${key}: ${email === '' ? `${name} (@${username})` : identityOf({ name, email })}`)
    .join('\n')

const VALUES: Record<Placeholder, (ctx: Context, merging: Merging) => string | Promise<string>> = {
  source_branch: (_, { request }) => request.source_branch,
  target_branch: (_, { request }) => request.target_branch,
  title: (_, { request }) => request.title,
  description: (_, { request }) => request.description,
  issues: closedIssues,
  reference: (_, { subject, request }) => `${fullPathOf(subject.project)}!${request.iid}`,
  url: (ctx, { subject, request }) => `${ctx.links.project(fullPathOf(subject.project))}/-/merge_requests/${request.iid}`,
  merged_by: (ctx, { caller }) => identityOf(signatureOf(ctx, caller)),
  async co_authored_by(ctx, merging) {
    const own = signatureOf(ctx, merging.caller).email
    const authors = (await commitsOf(ctx, merging)).map(({ author }) => author).filter(({ email }) => email !== own)
    return [...new Set(authors.map((author) => `Co-authored-by: ${identityOf(author)}`))].join('\n')
  },
  approved_by: async (ctx, { request }) => trailers('Approved-by', await approversOf(ctx, request.id)),
  reviewed_by: async (ctx, { request }) => trailers('Reviewed-by', await reviewedBy(ctx, request)),
  first_commit: async (ctx, merging) => (await commitsOf(ctx, merging))[0]?.message.trim() ?? '',
  first_multiline_commit: async (ctx, merging) => (await commitsOf(ctx, merging)).find(isMultiline)?.message.trim() ?? merging.request.title,
  all_commits: async (ctx, merging) => (await commitsOf(ctx, merging)).slice(-MAX_LISTED).map(listed).join('\n\n'),
}
