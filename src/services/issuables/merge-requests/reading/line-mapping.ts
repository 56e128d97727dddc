import type { ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import type { mergeRequests } from '../../../../db/schema/index.js'
import type { Diff, FileDiff } from '../../../../git/types.js'
import { type LineOfDiff, linesOfDiff } from '../../../../rules/reviews/diff-lines.js'
import { DIFF_LIMITS } from '../../../repository/diff-limits.js'
import { repositoryOf } from '../../../repository/repositories.js'
import { type ShownChanges, shownChanges } from './contents.js'

type Numbers = Pick<LineOfDiff, 'old' | 'new'>

/** Where a comment on a line that is shown, or on a file (null), is in the changes of the version; null if it is not there. */
export type LineMapping = (file: FileDiff, line: Numbers | null) => { file: FileDiff; line: Numbers | null } | null

/**
 * Finds the lines of the version's own changes that lines of other ones stand for: since an earlier version, of a single
 * commit, without white space (WB-263).
 */
export async function lineMappingIn(
  ctx: Context,
  project: ProjectSubject['project'],
  request: typeof mergeRequests.$inferSelect,
  changes: ShownChanges,
): Promise<LineMapping> {
  const { version, from, to } = changes
  if (!version || to === null) return () => null
  const whole = changes.since || changes.commit ? await shownChanges(ctx, project, request, { version: version.id }) : changes
  const later = to === version.head_commit_sha ? null : await repositoryOf(ctx, project).diff(to, version.head_commit_sha, DIFF_LIMITS)
  const files = new Map(whole.files.map((file) => [file.new_path, file]))
  const known = new Map<FileDiff, Record<'old' | 'new', Map<number, Numbers>>>()
  const linesIn = (file: FileDiff) => {
    const found = known.get(file) ?? { old: new Map<number, Numbers>(), new: new Map<number, Numbers>() }
    if (!known.has(file))
      for (const line of linesOfDiff(file.diff)) {
        if (line.new !== null) found.new.set(line.new, { old: line.old, new: line.new })
        else if (line.old !== null) found.old.set(line.old, { old: line.old, new: null })
      }
    known.set(file, found)
    return found
  }
  return (shown, line) => {
    const file = files.get(shown.new_path)
    if (!file) return null
    if (line === null) return { file, line }
    const now = line.new !== null && later ? laterNumber(later, shown.new_path, line.new) : line.new
    const found =
      line.new === null ? whole.from === from && line.old !== null && linesIn(file).old.get(line.old) : now !== null && linesIn(file).new.get(now)
    return found ? { file, line: found } : null
  }
}

/** The number of a line after later changes; null if they have changed it, or cannot be seen whole. */
function laterNumber({ files, truncated }: Diff, path: string, number: number): number | null {
  const file = files.find(({ old_path }) => old_path === path)
  if (!file) return truncated || files.some(({ new_path }) => new_path === path) ? null : number
  if (file.new_path !== path || file.diff === '' || file.diff.startsWith('Binary')) return null
  let moved = 0
  for (const { sign, old } of linesOfDiff(file.diff)) {
    if (old !== null && old >= number) return old === number && sign === '-' ? null : number + moved
    if (sign === '+') moved++
    if (sign === '-') moved--
  }
  return number + moved
}
