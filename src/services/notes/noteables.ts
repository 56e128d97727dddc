import { type SQL, sql } from 'drizzle-orm'
import type { ProjectAbility } from '../../access/abilities/project.js'
import type { IssueSubject } from '../../access/issues.js'
import type { MergeRequestSubject } from '../../access/merge-requests.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { SnippetSubject } from '../../access/snippets.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { mergeRequests, type NOTEABLES, notes } from '../../db/schema/index.js'
import type { Commit } from '../../git/types.js'
import { VISIBILITY_LEVEL } from '../../rules/visibility.js'
import type { Target, TargetType } from '../activity/subscriptions.js'
import { readersAmong } from '../issuables/issues/readers.js'
import { readersAmong as requestReaders } from '../issuables/merge-requests/reading/readers.js'
import { getCommit } from '../repository/commits/read.js'

/** What notes can be about: an issue, merge request, snippet or commit. */
export interface Noteable {
  type: (typeof NOTEABLES)[number]
  project_id: number
  /** Null for a commit. */
  id: number | null
  /** Null for snippets and commits. */
  iid: number | null
  author_id: number | null
  /** All who see the project see it. */
  open: boolean
  /** For a commit only. */
  commit: Commit | null
}

/** A noteable with the caller's abilities on its project. */
export interface NoteableSubject extends ProjectSubject {
  noteable: Noteable
  /** The noteable itself, if it is an issue or a merge request. */
  issue: IssueSubject | null
  request: MergeRequestSubject | null
  may(ability: ProjectAbility): boolean
  /** Of the users that match a condition (on `users` as `u`), the ids of those who can read the noteable. */
  readersAmong(tx: Pick<Transaction, 'execute'>, candidates: SQL): Promise<number[]>
}

const noReaders = async () => []

export const aboutIssue = (subject: IssueSubject): NoteableSubject => {
  const { issue, project } = subject
  return {
    ...subject,
    issue: subject,
    request: null,
    noteable: {
      type: 'Issue',
      project_id: project.id,
      id: issue.id,
      iid: issue.iid,
      author_id: issue.author_id,
      open: !issue.confidential,
      commit: null,
    },
    readersAmong: (tx, candidates) => readersAmong(tx, project, issue, candidates),
  }
}

export const aboutMergeRequest = (subject: MergeRequestSubject): NoteableSubject => {
  const { request, project } = subject
  return {
    ...subject,
    issue: null,
    request: subject,
    noteable: {
      type: 'MergeRequest',
      project_id: project.id,
      id: request.id,
      iid: request.iid,
      author_id: request.author_id,
      open: true,
      commit: null,
    },
    readersAmong: (tx, candidates) => requestReaders(tx, project, request, candidates),
  }
}

export const aboutSnippet = (subject: SnippetSubject): NoteableSubject => {
  const { snippet, project } = subject
  return {
    ...subject,
    issue: null,
    request: null,
    noteable: {
      type: 'Snippet',
      project_id: project.id,
      id: snippet.id,
      iid: null,
      author_id: snippet.author_id,
      open: snippet.visibility === VISIBILITY_LEVEL.public,
      commit: null,
    },
    may: subject.can,
    readersAmong: noReaders,
  }
}

/** The commit with this id or ref; commenting on it needs an ability of its own. */
export async function aboutCommit(ctx: Context, subject: ProjectSubject, sha: string): Promise<NoteableSubject> {
  const commit = await getCommit(ctx, subject, sha)
  return {
    ...subject,
    issue: null,
    request: null,
    noteable: { type: 'Commit', project_id: subject.project.id, id: null, iid: null, author_id: null, open: true, commit },
    may: (ability) => subject.can(ability === 'create_note' ? 'comment_on_commit' : ability),
    readersAmong: noReaders,
  }
}

/** Whether this is an issue or a merge request: only these have todos, subscriptions and a count of notes. */
export const isIssuable = (type: Noteable['type']): type is TargetType => type === 'Issue' || type === 'MergeRequest'

/** The noteable as a target of todos and subscriptions; null for snippets and commits. */
export const targetOf = ({ type, id, project_id }: Noteable): Target | null => (isIssuable(type) ? { type, id: id as number, project_id } : null)

/** The condition for rows of `notes` on a noteable; `id` is its `keyOf`. The values may be placeholders. */
export const isAbout = (type: Noteable['type'], project: SQL, id: SQL): SQL =>
  type === 'Commit'
    ? sql`${notes.project_id} = ${project} and ${notes.noteable_type} = 'Commit' and ${notes.commit_id} = ${id}`
    : sql`${notes.project_id} = ${project} and ${notes.noteable_type} = ${type} and ${notes.noteable_id} = ${id}`

/** The value of `isAbout` that identifies a noteable: its id, or the id of the commit. */
export const keyOf = ({ id, commit }: Noteable): number | string => id ?? (commit as Commit).oid

/** SQL that recounts unresolved threads (DI-9) of merge requests (alias `r`), whose rows must be locked. */
export const recountThreads = (where: SQL): SQL => sql`update ${mergeRequests} r set unresolved_discussions_count = (
    select count(distinct n.discussion_id) from ${notes} n where n.project_id = r.project_id and n.noteable_id = r.id
    and n.noteable_type = 'MergeRequest' and n.type is not null and n.resolved_at is null)
  where ${where}`
