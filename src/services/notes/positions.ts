import { createHash } from 'node:crypto'
import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { type LinePoint, mergeRequestVersions, type Position } from '../../db/schema/index.js'
import { refused } from '../../failures.js'
import { type Commit, type DiffLine, type DiffPaths, type FileDiff, type Oid, ZERO } from '../../git/types.js'
import { type LineOfDiff, linesOfDiff } from '../../rules/reviews/diff-lines.js'
import { isPicture } from '../../rules/reviews/picture-size.js'
import { DIFF_LIMITS } from '../repository/diff-limits.js'
import { repositoryOf } from '../repository/repositories.js'
import type { NoteableSubject } from './noteables.js'
import type { ThreadColumns } from './write.js'

/** The commits of a diff, and the head of the target branch at that time. */
interface Range {
  base_sha: Oid
  start_sha: Oid
  head_sha: Oid
}

/** A line as the caller gives it: by its code or by its numbers. */
type GivenPoint = { line_code?: string | undefined; old_line?: number | null | undefined; new_line?: number | null | undefined }

/** A position as the caller gives it; it must be complete and correct (DI-3, DI-10). */
export type GivenPosition = { [part in keyof Omit<Position, 'line_range'>]?: Position[part] | undefined } & {
  line_range?: { start?: GivenPoint | null | undefined; end?: GivenPoint | null | undefined } | null | undefined
}

/** The range of a commit's diff, against its first parent or the empty tree. */
export function commitRange({ noteable }: NoteableSubject): Range {
  const { oid, parents } = noteable.commit as Commit
  const [parent = ZERO] = parents
  return { base_sha: parent, start_sha: parent, head_sha: oid }
}

/** The base in positions on a version: zeros where the histories have none in common (MR-93). */
export const baseShaOf = ({ base_commit_sha }: Pick<typeof mergeRequestVersions.$inferSelect, 'base_commit_sha'>): Oid => base_commit_sha ?? ZERO

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
        given.base_sha === ZERO ? isNull(mergeRequestVersions.base_commit_sha) : eq(mergeRequestVersions.base_commit_sha, given.base_sha),
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
  {
    old_path,
    new_path,
    old_line,
    new_line,
    line_range,
  }: { old_path?: string | undefined; new_path: string } & Omit<DiffLine, 'path'> & Pick<GivenPosition, 'line_range'>,
): Promise<ThreadColumns | undefined> {
  const from = range.base_sha === ZERO ? null : range.base_sha
  const paths: DiffPaths | null = await repositoryOf(ctx, project).diffLine(from, range.head_sha, { path: new_path, old_line, new_line })
  if (!paths || (old_path !== undefined && old_path !== paths.old_path)) return undefined
  const thread =
    new_line === null ? { line: old_line, line_type: 'old' as const } : { line: new_line, line_type: old_line === null ? ('new' as const) : null }
  const file = await fileOf(ctx, project, range, new_path)
  const lines = file ? codedLines(file) : []
  const lineRange = line_range?.start ? rangeOfLines(lines, { old_line, new_line }, line_range) : undefined
  const excerpt = excerptOf(lines, { old_line, new_line }, lineRange)
  const position = { ...range, position_type: 'text' as const, ...paths, old_line, new_line, ...(lineRange && { line_range: lineRange }) }
  return { type: 'DiffNote', position, path: new_path, ...thread, excerpt }
}

type CodedLine = LineOfDiff & { code: string }

/** The lines of a file's diff with their codes: the digest of the path, and where the line is or would be on both sides. */
function codedLines({ diff, new_path }: FileDiff): CodedLine[] {
  const digest = createHash('sha1').update(new_path).digest('hex')
  let [old, now] = [0, 0]
  return linesOfDiff(diff).map((line) => {
    const [, before, after] = (line.sign === '@' && /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line.text)) || []
    if (before && after) [old, now] = [Number(before), Number(after)]
    const code = `${digest}_${old}_${now}`
    if (line.old !== null) old = line.old + 1
    if (line.new !== null) now = line.new + 1
    return { ...line, code }
  })
}

/** The most lines of a range. */
const MAX_RANGE = 200

/** A range of lines of one part of the diff, which ends at the line of the note (DI-11). */
function rangeOfLines(
  lines: CodedLine[],
  { old_line, new_line }: Omit<DiffLine, 'path'>,
  { start, end }: NonNullable<GivenPosition['line_range']>,
): NonNullable<Position['line_range']> {
  const find = ({ line_code, old_line: old, new_line: now }: GivenPoint) =>
    lines.findIndex(
      (line) =>
        line.sign !== '@' &&
        line.sign !== '\\' &&
        (old || now ? (!old || line.old === old) && (!now || line.new === now) : line_code !== undefined && line.code === line_code),
    )
  const last = lines.findIndex((line) => line.sign !== '@' && line.old === old_line && line.new === new_line)
  const first = start ? find(start) : -1
  const between = lines.slice(first, last)
  if (first < 0 || first > last || last - first >= MAX_RANGE || between.some(({ sign }) => sign === '@') || (end && find(end) !== last))
    throw refused(`line_range must be up to ${MAX_RANGE} lines of one part of the difference, and end at the line of the position`)
  const point = ({ sign, old, new: now, code }: CodedLine): LinePoint => ({
    line_code: code,
    type: sign === '+' ? 'new' : sign === '-' ? 'old' : null,
    old_line: old,
    new_line: now,
  })
  return { start: point(lines[first] as CodedLine), end: point(lines[last] as CodedLine) }
}

/** A file in a diff as versions show it, which is usually cached; null if it is beyond the limits. */
async function fileOf(ctx: Context, project: NoteableSubject['project'], { base_sha, head_sha }: Range, path: string): Promise<FileDiff | null> {
  const { files } = await repositoryOf(ctx, project).diff(base_sha === ZERO ? null : base_sha, head_sha, DIFF_LIMITS)
  return files.find(({ new_path }) => new_path === path) ?? null
}

/** Lines before that of a note which its excerpt has, and its longest line. */
const EXCERPT_LINES = 4
const EXCERPT_WIDTH = 300

/** The header of the part of a file's diff, the line and those before it; null if the diff does not show the line. */
function excerptOf(lines: CodedLine[], { old_line, new_line }: Omit<DiffLine, 'path'>, range: Position['line_range']): string | null {
  const at = lines.findIndex((line) => line.old === old_line && line.new === new_line && line.sign !== '@')
  if (at < 0) return null
  const from = Math.max(lines.findLastIndex(({ sign }, i) => i < at && sign === '@') + 1, at - EXCERPT_LINES + 1)
  const first = range ? lines.findIndex(({ code, sign }) => sign !== '@' && code === range.start.line_code) : from
  const shown = lines.slice(Math.min(from, first), at + 1)
  const [top] = shown
  const start = (side: 'old' | 'new') => top?.[side] ?? shown.find((line) => line[side] !== null)?.[side] ?? 0
  return [`@@ -${start('old')} +${start('new')} @@`, ...shown.map(({ sign, text }) => sign + text.slice(0, EXCERPT_WIDTH))].join('\n')
}

/** A thread about a file as a whole; undefined if the diff does not have it. */
async function threadAtFile(ctx: Context, { project }: NoteableSubject, range: Range, path: string): Promise<ThreadColumns | undefined> {
  const file = await fileOf(ctx, project, range, path)
  if (!file) return undefined
  const { old_path, new_path } = file
  return { type: 'DiffNote', position: { ...range, position_type: 'file', old_path, new_path, old_line: null, new_line: null } }
}

/** A thread about a point of a picture; undefined if the diff does not have it (DI-12). */
async function threadAtPoint(
  ctx: Context,
  subject: NoteableSubject,
  range: Range,
  { width, height, x, y, path }: Pick<GivenPosition, 'width' | 'height' | 'x' | 'y'> & { path: string },
): Promise<ThreadColumns | undefined> {
  const about = isPicture(path) ? await threadAtFile(ctx, subject, range, path) : undefined
  if (!about?.position || !width || !height || x === undefined || y === undefined || x > width || y > height) return undefined
  return { ...about, position: { ...about.position, position_type: 'image', width, height, x, y } }
}

/** The columns of a new thread for a given position (DI-3, DI-10). */
export async function threadAtPosition(ctx: Context, subject: NoteableSubject, given: GivenPosition): Promise<ThreadColumns> {
  const { base_sha, start_sha, head_sha, old_line = null, new_line = null } = given
  const new_path = given.new_path || given.old_path
  const type = given.position_type ?? 'text'
  const parts = {
    base_sha,
    start_sha,
    head_sha,
    new_path,
    ...(type === 'text' && { line: old_line ?? new_line }),
    ...(type === 'image' && extentOf(given)),
  }
  const missing = Object.entries(parts).filter(([, each]) => !each && each !== 0)
  if (missing.length > 0) throw refused(`Position is incomplete: ${missing.map(([name]) => name).join(', ')}`)
  const range = await rangeOf(ctx, subject, { base_sha, start_sha, head_sha } as Range)
  if (!range) throw refused('Position is not of a version of this: base_sha, start_sha and head_sha must be those of one difference')
  const path = new_path as string
  const { line_range } = given
  const thread =
    type === 'file'
      ? await threadAtFile(ctx, subject, range, path)
      : type === 'image'
        ? await threadAtPoint(ctx, subject, range, { ...extentOf(given), path })
        : await threadAtLine(ctx, subject, range, { old_path: given.old_path || undefined, new_path: path, old_line, new_line, line_range })
  if (!thread) throw refused('Position is not in the difference')
  return thread
}

const extentOf = ({ width, height, x, y }: GivenPosition) => ({ width, height, x, y })
