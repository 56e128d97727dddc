import { and, eq, inArray, isNull } from 'drizzle-orm'
import type { ActorUser } from '../../access/actor.js'
import { seesIssue, seesMergeRequest } from '../../access/can.js'
import type { ProjectSubject } from '../../access/rules.js'
import { seesInProject } from '../../access/snippets.js'
import type { Context } from '../../context.js'
import { issues, mergeRequests, notes, pipelines, releases, snippets } from '../../db/schema/index.js'
import { titleOf } from '../../rules/commit-title.js'
import { tagInAddress } from '../../rules/path.js'
import { linesOfDiff } from '../../rules/reviews/diff-lines.js'
import { changesOfRequest, hasTruncatedChanges } from '../issuables/merge-requests/reading/contents.js'
import { repositoryOf } from '../repository/repositories.js'
import type { Notification } from './notification.js'

/** What a mail is about, as its recipient sees it at this time. */
export interface MailTarget {
  /** Such as `Issue #1`. */
  name: string
  /** For the subject. */
  title: string
  /** The text of a mail about a new target. */
  text: string
  assignees: readonly number[]
  reviewers: readonly number[]
  url: string
  /** Which branches a new merge request is about, and how much it changes, for those who read code. */
  changes?: string | null
  /** The id of the mail thread (ML-16). */
  thread: string
}

export interface MailNote {
  id: number
  text: string
  /** Path and line of a note on a diff, and the lines that it is about, as the diff has them. */
  location: string | null
  lines: string | null
}

type Find = (ctx: Context, subject: ProjectSubject & { user: ActorUser }, page: string, notification: Notification) => Promise<MailTarget | null>

const NO_PEOPLE = { assignees: [], reviewers: [] }

const FINDERS: Record<Notification['target'], Find> = {
  async Issue(ctx, subject, page, { id }) {
    const [issue] = await ctx.db.write
      .select()
      .from(issues)
      .where(and(eq(issues.id, id ?? 0), eq(issues.project_id, subject.project.id)))
    if (!issue || !seesIssue(subject, issue)) return null
    const { iid, title, description, assignee_ids } = issue
    const name = `Issue #${iid}`
    return {
      name,
      title: `${title} (#${iid})`,
      text: description,
      ...NO_PEOPLE,
      assignees: assignee_ids,
      url: `${page}/issues/${iid}`,
      thread: `issue-${id}`,
    }
  },
  async MergeRequest(ctx, subject, page, { id, event }) {
    const [request] = await ctx.db.write
      .select()
      .from(mergeRequests)
      .where(and(eq(mergeRequests.id, id ?? 0), eq(mergeRequests.project_id, subject.project.id), isNull(mergeRequests.deleted_at)))
    if (!request || !seesMergeRequest(subject, request)) return null
    const { iid, title, description, assignee_ids, reviewer_ids } = request
    const [name, url] = [`Merge request !${iid}`, `${page}/merge_requests/${iid}`]
    const changes = event === 'new_merge_request' && subject.can('download_code') ? await changesIn(ctx, subject.project, request) : null
    const people = { assignees: assignee_ids, reviewers: reviewer_ids }
    return { name, title: `${title} (!${iid})`, text: description, ...people, url, changes, thread: `merge-request-${id}` }
  },
  async Commit(ctx, subject, page, { sha }) {
    const commit = sha !== null && subject.can('download_code') ? await repositoryOf(ctx, subject.project).commit(sha) : null
    if (!commit) return null
    const short = commit.oid.slice(0, 8)
    const title = `${titleOf(commit.message)} (${short})`
    const thread = `commit-${subject.project.id}-${commit.oid}`
    return { name: `Commit ${short}`, title, text: '', ...NO_PEOPLE, url: `${page}/commit/${commit.oid}`, thread }
  },
  async Snippet(ctx, subject, page, { id }) {
    const [snippet] = await ctx.db.write
      .select()
      .from(snippets)
      .where(and(eq(snippets.id, id ?? 0), eq(snippets.project_id, subject.project.id)))
    if (!snippet || !subject.can('read_snippet') || !seesInProject(subject, snippet)) return null
    const name = `Snippet $${id}`
    return { name, title: `${snippet.title} ($${id})`, text: '', ...NO_PEOPLE, url: `${page}/snippets/${id}`, thread: `snippet-${id}` }
  },
  async Pipeline(ctx, subject, page, { id }) {
    const [pipeline] = await ctx.db.write
      .select()
      .from(pipelines)
      .where(and(eq(pipelines.id, id ?? 0), eq(pipelines.project_id, subject.project.id)))
    if (!pipeline || !subject.can('read_pipeline')) return null
    const name = `Pipeline #${id}`
    const of = pipeline.ref.replace(/^refs\/merge-requests\/(\d+)\/head$/, '!$1')
    const title = `${name} for ${of} (${pipeline.sha.slice(0, 8)})`
    return { name, title, text: '', ...NO_PEOPLE, url: `${page}/pipelines/${id}`, thread: `pipeline-${id}` }
  },
  async Release(ctx, subject, page, { id }) {
    const [release] = await ctx.db.write
      .select()
      .from(releases)
      .where(and(eq(releases.id, id ?? 0), eq(releases.project_id, subject.project.id)))
    if (!release || !subject.can('download_code')) return null
    const title = `Release ${release.name ?? release.tag}`
    const url = `${page}/-/releases/${encodeURIComponent(tagInAddress(release.tag))}`
    return { name: title, title, text: release.description, ...NO_PEOPLE, url, thread: `release-${id}` }
  },
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** The branches of a merge request, and how much it changes, in one line (WB-99). */
async function changesIn(ctx: Context, project: ProjectSubject['project'], request: typeof mergeRequests.$inferSelect): Promise<string> {
  const files = await changesOfRequest(ctx, project, request)
  const signs = files.flatMap(({ diff }) => linesOfDiff(diff).map(({ sign }) => sign))
  const [added, removed] = ['+', '-'].map((wanted) => signs.filter((sign) => sign === wanted).length)
  const size = `${counted(files.length, 'file')} changed, +${added} -${removed}`
  return `${request.source_branch} into ${request.target_branch}: ${hasTruncatedChanges(request) ? 'more than ' : ''}${size}`
}

/** The target of a mail; null if it no longer exists or the recipient does not see it (ML-11). */
export const findTarget: Find = (ctx, subject, page, notification) => FINDERS[notification.target](ctx, subject, page, notification)

/** The most notes of a review that a mail has (ML-600). */
export const MAX_NOTES = 50
/** The most lines of a diff that a note in a mail has. */
const MAX_LINES = 8

/** The notes that a mail is about and that still exist, in their order; of a review one more than it may show. Lines are for those who read code. */
export async function findNotes(
  ctx: Context,
  subject: ProjectSubject,
  { note, notes: ids, target, id, sha, project }: Notification,
): Promise<MailNote[]> {
  const mayRead = subject.can('download_code')
  const wanted = note === null ? ids.slice(0, MAX_NOTES + 1) : [note]
  if (wanted.length === 0) return []
  const rows = await ctx.db.write
    .select()
    .from(notes)
    .where(and(inArray(notes.id, wanted), eq(notes.project_id, project), eq(notes.noteable_type, target as 'Issue')))
    .orderBy(notes.id)
  return rows
    .filter((row) => !row.system && row.noteable_id === id && row.commit_id === sha)
    .map(({ id, note: text, position, path, line, excerpt }) => {
      const number = position?.new_line ?? position?.old_line ?? line
      const file = position?.new_path ?? path
      const location = file === null || number === null ? file : `${file}:${number}`
      return { id, text, location, lines: mayRead && excerpt ? excerpt.split('\n').slice(1).slice(-MAX_LINES).join('\n') : null }
    })
}
