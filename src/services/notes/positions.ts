import { and, eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { mergeRequestVersions, type Position } from '../../db/schema/index.js'
import { refused } from '../../failures.js'
import { type Commit, type DiffLine, type DiffPaths, type Oid, ZERO } from '../../git/types.js'
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
  return { type: 'DiffNote', position: { ...range, position_type: 'text', ...paths, old_line, new_line }, path: new_path, ...thread }
}

/** The columns of a new thread for a given position (DI-3, DI-10). */
export async function threadAtPosition(ctx: Context, subject: NoteableSubject, given: GivenPosition): Promise<ThreadColumns> {
  const { base_sha, start_sha, head_sha, old_line = null, new_line = null } = given
  const new_path = given.new_path || given.old_path
  const missing = Object.entries({ base_sha, start_sha, head_sha, new_path, line: old_line ?? new_line }).filter(([, each]) => !each)
  if (missing.length > 0) throw refused(`Position is incomplete: ${missing.map(([name]) => name).join(', ')}`)
  const range = await rangeOf(ctx, subject, { base_sha, start_sha, head_sha } as Range)
  if (!range) throw refused('Position is not of a version of this: base_sha, start_sha and head_sha must be those of one difference')
  const thread = await threadAtLine(ctx, subject, range, { old_path: given.old_path || undefined, new_path: new_path as string, old_line, new_line })
  if (!thread) throw refused('Position is not in the difference')
  return thread
}
