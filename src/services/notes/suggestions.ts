import { and, eq, inArray, isNull } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notes, type Position, suggestions } from '../../db/schema/index.js'
import { conflict, forbidden, notFound, refused } from '../../failures.js'
import type { Commit, GitRepository, Oid } from '../../git/types.js'
import { groupedBy } from '../../lib/grouped-by.js'
import { SUGGESTION_MESSAGE, suggestionMessage } from '../../rules/reviews/suggestions.js'
import { findVisibleProject } from '../identity/acting-users.js'
import { createCommit } from '../repository/commits/create.js'
import { branchProtectionsOf, mayPushTo } from '../repository/protection.js'
import { repositoryOf } from '../repository/repositories.js'
import { resolveDiscussion } from './discussions.js'
import type { NoteableSubject } from './noteables.js'
import type { Suggestion } from './suggestion-records.js'

/** The most suggestions that one commit applies, and the largest file that they change. */
const MAX_TOGETHER = 100
const MAX_FILE = 10 * 1024 * 1024

interface Located {
  suggestion: Suggestion
  position: Position
  discussion: string
  /** The first line that it replaces, from 0, and the line after the last one. */
  from: number
  to: number
}

/** What a note suggests, or a draft of one. */
export type Suggested = Pick<Suggestion, 'content' | 'lines_above' | 'lines_below' | 'applied_at'>

/** A suggestion with the lines that it replaces. */
export interface SuggestionRecord {
  suggestion: Suggestion
  from: number
  to: number
  before: string
}

/** The source project of an open merge request whose branch the caller may push to; null without that right. */
export async function pushableSource(ctx: Context, caller: SignedIn, { request }: NoteableSubject): Promise<ProjectSubject | null> {
  const row = request?.request
  if (row?.state !== 'opened' || row.source_project_id === null) return null
  const source = await findVisibleProject(ctx, caller, row.source_project_id)
  return source && mayPushTo(source, await branchProtectionsOf(ctx, source.project.id), row.source_branch) ? source : null
}

/** Applies suggestions as one commit on the source branch, and resolves their threads (WB-101, WB-102). */
export async function applySuggestions(
  ctx: Context,
  caller: SignedIn,
  subject: NoteableSubject,
  { ids, message }: { ids: number[]; message?: string | undefined },
): Promise<{ commit: Commit; applied: SuggestionRecord[] }> {
  const source = await pushableSource(ctx, caller, subject)
  const { noteable } = subject
  const branch = subject.request?.request.source_branch
  if (!source || branch === undefined) throw forbidden()
  const wanted = [...new Set(ids)]
  if (wanted.length === 0 || wanted.length > MAX_TOGETHER) throw refused(`Choose between one and ${MAX_TOGETHER} suggestions`)
  const rows = await ctx.db.write
    .select({ suggestion: suggestions, position: notes.position, discussion: notes.discussion_id })
    .from(suggestions)
    .innerJoin(notes, eq(notes.id, suggestions.note_id))
    .where(
      and(
        inArray(suggestions.id, wanted),
        eq(notes.project_id, noteable.project_id),
        eq(notes.noteable_type, 'MergeRequest'),
        eq(notes.noteable_id, noteable.id as number),
      ),
    )
  if (rows.length < wanted.length) throw notFound('Suggestion')
  if (rows.some(({ suggestion }) => suggestion.applied_at !== null)) throw refused('A suggestion has been applied already')
  const located = rows.map(({ suggestion, position, discussion }): Located => {
    const line = position?.new_line ?? 1
    const from = Math.max(0, line - 1 - suggestion.lines_above)
    return { suggestion, position: position as Position, discussion, from, to: line + suggestion.lines_below }
  })
  const byPath = groupedBy(located, ({ position }) => position.new_path)
  const repository = repositoryOf(ctx, source.project)
  const head = await repository.ref(`refs/heads/${branch}`)
  if (!head) throw refused('The source branch does not exist')
  const paths = [...byPath.keys()]
  const newest = await repository.lastCommits(head, paths)
  const actions = await Promise.all(
    paths.map(async (path, i) => ({
      action: 'update',
      file_path: path,
      content: (await changed(repositoryOf(ctx, subject.project), repository, { path, head, own: byPath.get(path) as Located[] })).toString('base64'),
      encoding: 'base64',
      last_commit_id: newest[i] ?? undefined,
    })),
  )
  const { project } = subject
  const values = {
    branch_name: branch,
    files_count: paths.length,
    file_paths: paths.join(', '),
    project_name: project.name,
    project_path: fullPathOf(project),
    suggestions_count: rows.length,
    user_full_name: caller.user.name,
    username: caller.user.username,
  }
  const applied = await Promise.all(
    located.map(async ({ suggestion, position, from, to }): Promise<SuggestionRecord> => {
      const before = (await linesAt(ctx, subject, { position }, suggestion)) ?? []
      return { suggestion, from: from + 1, to, before: before.map((line) => `${line}\n`).join('') }
    }),
  )
  const commit_message = message?.trim() || suggestionMessage(project.suggestion_commit_message?.trim() || SUGGESTION_MESSAGE, values)
  const { commit } = await createCommit(ctx, source, caller, { branch, commit_message, actions })
  await ctx.db.write
    .update(suggestions)
    .set({ applied_at: ctx.now(), commit_id: commit.oid })
    .where(and(inArray(suggestions.id, wanted), isNull(suggestions.applied_at)))
  for (const discussion of new Set(located.map((each) => each.discussion)))
    await resolveDiscussion(ctx, caller, subject, { discussion, resolved: true })
  return { commit, applied }
}

/** The lines of a file, each with its end, as Latin-1: whatever their encoding, their bytes stay. */
async function linesIn(repository: GitRepository, commit: Oid, path: string): Promise<string[] | null> {
  const entry = await repository.entry(commit, path)
  if (entry?.type !== 'blob') return null
  const info = await repository.objectInfo(entry.oid)
  if (!info || info.size > MAX_FILE) return null
  return (await repository.blob(entry.oid))?.toString('latin1').match(/[^\n]*\n|[^\n]+$/g) ?? []
}

/** The file with the suggestions; refused if the lines are no longer those that they were made for. */
async function changed(
  target: GitRepository,
  source: GitRepository,
  { path, head, own }: { path: string; head: Oid; own: Located[] },
): Promise<Buffer> {
  const lines = await linesIn(source, head, path)
  if (!lines) throw refused(`${path} cannot be changed: it is gone, or too large`)
  const before = new Map<Oid, string[] | null>()
  for (const { position } of own)
    if (position.head_sha !== head && !before.has(position.head_sha)) before.set(position.head_sha, await linesIn(target, position.head_sha, path))
  const ordered = own.toSorted((a, b) => b.from - a.from)
  for (const [i, { position, from, to }] of ordered.entries()) {
    const meant = position.head_sha === head ? lines : before.get(position.head_sha)
    if (meant?.slice(from, to).join('') !== lines.slice(from, to).join('') || to > lines.length)
      throw conflict(`The lines of ${path} have changed since the suggestion was made`)
    const below = ordered[i - 1]
    if (below && below.from < to) throw refused(`Two suggestions change the same lines of ${path}: apply one of them`)
  }
  for (const { suggestion, from, to } of ordered) {
    const ending = lines[from]?.endsWith('\r\n') ? '\r\n' : '\n'
    const text = Buffer.from(suggestion.content, 'utf8').toString('latin1').replaceAll('\n', ending)
    // the last line of the file may have no end
    const isOpen = to === lines.length && !lines.at(-1)?.endsWith('\n')
    lines.splice(from, to - from, isOpen ? text.slice(0, -ending.length) : text)
  }
  return Buffer.from(lines.join(''), 'latin1')
}

/** The lines that a suggestion replaces, as they were in the version that it was made for; null if they cannot be read. */
export async function linesAt(ctx: Context, { project }: NoteableSubject, { position }: { position: Position | null }, suggestion: Suggested) {
  if (!position?.new_line || suggestion.applied_at !== null) return null
  const lines = await linesIn(repositoryOf(ctx, project), position.head_sha, position.new_path).catch(() => null)
  const from = Math.max(0, position.new_line - 1 - suggestion.lines_above)
  return (
    lines
      ?.slice(from, position.new_line + suggestion.lines_below)
      .map((line) => Buffer.from(line.replace(/\r?\n$/, ''), 'latin1').toString('utf8')) ?? null
  )
}
