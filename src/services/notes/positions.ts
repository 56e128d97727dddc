import { and, eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { mergeRequestVersions, type Position } from '../../db/schema/index.js'
import { refused } from '../../failures.js'
import { type Commit, type DiffLine, type DiffPaths, type FileDiff, type Oid, ZERO } from '../../git/types.js'
import { linesOfDiff } from '../../rules/reviews/diff-lines.js'
import { VERSION_LIMITS } from '../issuables/merge-requests/versions/limits.js'
import { repositoryOf } from '../repository/repositories.js'
import type { NoteableSubject } from './noteables.js'
import type { ThreadColumns } from './write.js'

/** The commits of a diff, and the head of the target branch at that time. */
interface Range {
  base_sha: Oid
  start_sha: Oid
  head_sha: Oid
}

/** A position as the caller gives it; it must be complete and correct (DI-3, DI-10). */
export type GivenPosition = { [part in keyof Position]?: Position[part] | undefined }

/** The range of a commit's diff, against its first parent or the empty tree. */
export function commitRange({ noteable }: NoteableSubject): Range {
  const { oid, parents } = noteable.commit as Commit
  const [parent = ZERO] = parents
  return { base_sha: parent, start_sha: parent, head_sha: oid }
}

/** Validates a range: it must be that of the commit, or of one of the merge request's versions. Null if it is not. */
async function rangeOf(ctx: Context, subject: NoteableSubject, given: Range): Promise<Range | null> {
  const { noteable } = subject
  if (noteable.type === 'Commit') {
    const range = commitRange(subject)
    return range.base_sha === given.base_sha && range.start_sha === given.start_sha && range.head_sha === given.head_sha ? range : null
  }
  const [version] = await ctx.db.write
    .select({ id: mergeRequestVersions.id })
    .from(mergeRequestVersions)
    .where(
      and(
        eq(mergeRequestVersions.project_id, noteable.project_id),
        eq(mergeRequestVersions.merge_request_id, sql`${noteable.id}`),
        eq(mergeRequestVersions.base_commit_sha, given.base_sha),
        eq(mergeRequestVersions.start_commit_sha, given.start_sha),
        eq(mergeRequestVersions.head_commit_sha, given.head_sha),
      ),
    )
    .limit(1)
  return version ? given : null
}

/** A thread at a line of a diff; undefined if the diff has no such line, or if the file's old path differs. */
export async function threadAtLine(
  ctx: Context,
  { project }: NoteableSubject,
  range: Range,
  { old_path, new_path, old_line, new_line }: { old_path?: string | undefined; new_path: string } & Omit<DiffLine, 'path'>,
): Promise<ThreadColumns | undefined> {
  const from = range.base_sha === ZERO ? null : range.base_sha
  const paths: DiffPaths | null = await repositoryOf(ctx, project).diffLine(from, range.head_sha, { path: new_path, old_line, new_line })
  if (!paths || (old_path !== undefined && old_path !== paths.old_path)) return undefined
  const thread =
    new_line === null ? { line: old_line, line_type: 'old' as const } : { line: new_line, line_type: old_line === null ? ('new' as const) : null }
  const file = await fileOf(ctx, project, range, new_path)
  const excerpt = file && excerptOf(file.diff, { old_line, new_line })
  return { type: 'DiffNote', position: { ...range, position_type: 'text', ...paths, old_line, new_line }, path: new_path, ...thread, excerpt }
}

/** A file in a diff as versions show it, which is usually cached; null if it is beyond the limits. */
async function fileOf(ctx: Context, project: NoteableSubject['project'], { base_sha, head_sha }: Range, path: string): Promise<FileDiff | null> {
  const { files } = await repositoryOf(ctx, project).diff(base_sha === ZERO ? null : base_sha, head_sha, VERSION_LIMITS)
  return files.find(({ new_path }) => new_path === path) ?? null
}

/** Lines before that of a note which its excerpt has, and its longest line. */
const EXCERPT_LINES = 4
const EXCERPT_WIDTH = 300

/** The header of the part of a file's diff, the line and those before it; null if the diff does not show the line. */
function excerptOf(diff: string, { old_line, new_line }: Omit<DiffLine, 'path'>): string | null {
  const lines = linesOfDiff(diff)
  const at = lines.findIndex((line) => line.old === old_line && line.new === new_line && line.sign !== '@')
  if (at < 0) return null
  const from = Math.max(lines.findLastIndex(({ sign }, i) => i < at && sign === '@') + 1, at - EXCERPT_LINES + 1)
  const shown = lines.slice(from, at + 1)
  const [first] = shown
  const start = (side: 'old' | 'new') => first?.[side] ?? shown.find((line) => line[side] !== null)?.[side] ?? 0
  return [`@@ -${start('old')} +${start('new')} @@`, ...shown.map(({ sign, text }) => sign + text.slice(0, EXCERPT_WIDTH))].join('\n')
}

/** A thread about a file as a whole; undefined if the diff does not have it. */
async function threadAtFile(ctx: Context, { project }: NoteableSubject, range: Range, path: string): Promise<ThreadColumns | undefined> {
  const file = await fileOf(ctx, project, range, path)
  if (!file) return undefined
  const { old_path, new_path } = file
  return { type: 'DiffNote', position: { ...range, position_type: 'file', old_path, new_path, old_line: null, new_line: null } }
}

/** The columns of a new thread for a given position (DI-3, DI-10). */
export async function threadAtPosition(ctx: Context, subject: NoteableSubject, given: GivenPosition): Promise<ThreadColumns> {
  const { base_sha, start_sha, head_sha, old_line = null, new_line = null } = given
  const new_path = given.new_path || given.old_path
  const isFile = given.position_type === 'file'
  const parts = { base_sha, start_sha, head_sha, new_path, ...(!isFile && { line: old_line ?? new_line }) }
  const missing = Object.entries(parts).filter(([, each]) => !each)
  if (missing.length > 0) throw refused(`Position is incomplete: ${missing.map(([name]) => name).join(', ')}`)
  const range = await rangeOf(ctx, subject, { base_sha, start_sha, head_sha } as Range)
  if (!range) throw refused('Position is not of a version of this: base_sha, start_sha and head_sha must be those of one difference')
  const thread = isFile
    ? await threadAtFile(ctx, subject, range, new_path as string)
    : await threadAtLine(ctx, subject, range, { old_path: given.old_path || undefined, new_path: new_path as string, old_line, new_line })
  if (!thread) throw refused('Position is not in the difference')
  return thread
}
