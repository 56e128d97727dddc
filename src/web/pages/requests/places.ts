import type { FileDiff } from '../../../git/types.js'
import type { DraftNote } from '../../../services/notes/drafts.js'
import type { DiscussionRecord } from '../../../services/notes/list.js'
import { type Line, linesOf } from '../../components/diff/diff.js'

/** The notes about a file: on its lines, on the file, and on lines that the shown diff does not have. */
export interface Placed<T> {
  lines: Map<string, T[]>
  file: T[]
  outdated: T[]
}

export const keyOf = ({ old, new: now }: Pick<Line, 'old' | 'new'>): string => `${old ?? ''}_${now ?? ''}`

type Position = Pick<DraftNote, 'position' | 'excerpt'>

export const positionOfThread = ({ notes }: DiscussionRecord): Position => notes[0]?.note ?? { position: null, excerpt: null }

interface Shown {
  from: string | null
  to: string | null
  files: FileDiff[]
}

/**
 * Finds the lines of a diff that notes are about. A note of the same diff has its line; one of another version has the
 * nearest line with the same text after the same line, or none: it is outdated then (WB-93).
 */
export function placesOf<T>(things: T[], positionOf: (thing: T) => Position, { from, to, files }: Shown): Map<string, Placed<T>> {
  const byPath = new Map(files.flatMap((file) => [[file.old_path, file] as const, [file.new_path, file] as const]))
  const lines = new Map<FileDiff, Line[]>()
  const placed = new Map<string, Placed<T>>()
  for (const thing of things) {
    const { position, excerpt } = positionOf(thing)
    const file = position && (byPath.get(position.new_path) ?? byPath.get(position.old_path))
    if (!position || !file) continue
    const own = placed.get(file.new_path) ?? { lines: new Map<string, T[]>(), file: [] as T[], outdated: [] as T[] }
    placed.set(file.new_path, own)
    if (position.position_type !== 'text') {
      own.file.push(thing)
      continue
    }
    const shown = lines.get(file) ?? linesOf(file.diff)
    lines.set(file, shown)
    const line = { old: position.old_line, new: position.new_line }
    const isSame = position.base_sha === from && position.head_sha === to
    const found = isSame && shown.some((each) => keyOf(each) === keyOf(line)) ? line : sameLine(shown, line, linesOf(excerpt ?? ''))
    if (!found) own.outdated.push(thing)
    else {
      const key = keyOf(found)
      own.lines.set(key, [...(own.lines.get(key) ?? []), thing])
    }
  }
  return placed
}

/** The nearest line with the text of the last one of an excerpt, after a line with that of the one before. */
function sameLine(shown: Line[], { old, new: now }: Pick<Line, 'old' | 'new'>, excerpt: Line[]): Line | null {
  const [before, wanted] = excerpt.filter(({ kind }) => kind !== 'hunk').slice(-2).length === 2 ? excerpt.slice(-2) : [null, excerpt.at(-1)]
  if (!wanted || wanted.kind === 'hunk') return null
  const side = now === null ? 'old' : 'new'
  const number = now ?? old ?? 0
  let best: Line | null = null
  const distance = (line: Line) => Math.abs((line[side] ?? 0) - number)
  for (const [i, line] of shown.entries()) {
    if (line[side] === null || !line.text.startsWith(wanted.text) || (wanted.text.length < 300 && line.text !== wanted.text)) continue
    let at = i - 1
    while (shown[at] && shown[at]?.kind !== 'hunk' && shown[at]?.[side] === null) at--
    const previous = shown[at]
    const follows = !before || before[side] === null || previous?.kind === 'hunk' || previous?.text === before.text
    if (follows && (!best || distance(line) < distance(best))) best = line
  }
  return best
}
