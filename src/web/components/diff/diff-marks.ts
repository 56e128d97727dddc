import type { Steps } from '../../../lib/async/slices.js'

/** A line of a unified diff. */
export interface Line {
  kind: 'hunk' | 'context' | 'added' | 'removed' | 'none'
  old: number | null
  new: number | null
  text: string
}

/** How much work the marks of a page may take: cells of the tables that compare two lists. */
const MAX_CELLS = 2_000_000
/** Longer lines are not compared by words. */
const MAX_LINE = 2_000
/** Pairs of lines, and changes, that are compared in one step. */
const STEP = 20
/** The share of a line that two versions must have in common for their words to be compared. */
const LIKENESS = 0.4

export interface Budget {
  cells: number
  /** Whether something was not compared for want of cells. */
  isShort: boolean
}

export const aBudget = (): Budget => ({ cells: MAX_CELLS, isShort: false })

/** The items that two lists have in common, in their order, as pairs of positions; only both ends once the budget is spent. */
export function commonOf(a: readonly string[], b: readonly string[], budget: Budget): [number, number][] {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let [endA, endB] = [a.length, b.length]
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) [endA, endB] = [endA - 1, endB - 1]
  const pairs: [number, number][] = []
  for (let i = 0; i < start; i++) pairs.push([i, i])
  const [rows, columns] = [endA - start, endB - start]
  if (rows * columns > budget.cells) budget.isShort = true
  else if (rows > 0 && columns > 0) {
    budget.cells -= rows * columns
    const [before = NONE, after = NONE] = numbered(a.slice(start, endA), b.slice(start, endB))
    const width = columns + 1
    // the length of the longest common part of what follows each pair of positions
    const lengths = new Uint16Array((rows + 1) * width)
    for (let i = rows - 1; i >= 0; i--)
      for (let j = columns - 1; j >= 0; j--)
        lengths[i * width + j] =
          before[i] === after[j]
            ? (lengths[(i + 1) * width + j + 1] as number) + 1
            : Math.max(lengths[(i + 1) * width + j] as number, lengths[i * width + j + 1] as number)
    for (let i = 0, j = 0; i < rows && j < columns; ) {
      if (before[i] === after[j]) pairs.push([start + i++, start + j++])
      else if ((lengths[(i + 1) * width + j] as number) >= (lengths[i * width + j + 1] as number)) i++
      else j++
    }
  }
  for (let i = 0; endA + i < a.length; i++) pairs.push([endA + i, endB + i])
  return pairs
}

const NONE = new Int32Array()

/** Equal items as equal numbers: long ones that begin alike take long to compare, once for each cell. */
function numbered(...lists: string[][]): Int32Array[] {
  const numbers = new Map<string, number>()
  return lists.map((items) =>
    Int32Array.from(items, (item) => {
      const known = numbers.get(item) ?? numbers.size
      numbers.set(item, known)
      return known
    }),
  )
}

/** The removed lines of a change, and the added ones that follow them. */
interface Block {
  /** The position of its first line. */
  at: number
  removed: Line[]
  added: Line[]
}

function* blocksOf(lines: Line[]): Generator<Block> {
  for (let at = 0; at < lines.length; at++) {
    const block: Block = { at, removed: [], added: [] }
    for (; lines[at]?.kind === 'removed'; at++) block.removed.push(lines[at] as Line)
    for (; lines[at]?.kind === 'added'; at++) block.added.push(lines[at] as Line)
    if (block.removed.length + block.added.length > 0) {
      yield block
      at--
    }
  }
}

/** A part of a line, and whether the other version of the line lacks it. */
export interface Part {
  text: string
  changed: boolean
}

const wordsIn = (text: string): string[] => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? []

/** The changed words of lines that have another version, a change at each step. */
export function* changedWords(lines: Line[], budget: Budget): Steps<Map<Line, Part[]>> {
  const marked = new Map<Line, Part[]>()
  let blocks = 0
  for (const { removed, added } of blocksOf(lines)) {
    for (let i = 0; i < Math.min(removed.length, added.length); i++) {
      const [before, after] = [removed[i] as Line, added[i] as Line]
      if (Math.max(before.text.length, after.text.length) > MAX_LINE) continue
      const [a, b] = [wordsIn(before.text), wordsIn(after.text)]
      const common = commonOf(a, b, budget)
      const length = common.reduce((sum, [at]) => sum + (/^\s/.test(a[at] as string) ? 0 : (a[at] as string).length), 0)
      if (length === 0 || length < LIKENESS * Math.min(before.text.trim().length, after.text.trim().length)) continue
      marked.set(before, partsOf(a, new Set(common.map(([at]) => at))))
      marked.set(after, partsOf(b, new Set(common.map(([, at]) => at))))
      if (i % STEP === STEP - 1) yield
    }
    if (++blocks % STEP === 0) yield
  }
  return marked
}

/** Joins words that are equally changed. */
function partsOf(words: string[], common: ReadonlySet<number>): Part[] {
  const parts: Part[] = []
  for (const [i, text] of words.entries()) {
    const changed = !common.has(i)
    const last = parts.at(-1)
    if (last?.changed === changed) last.text += text
    else parts.push({ text, changed })
  }
  return parts
}

/** Shows lines that differ in white space alone as unchanged; hunks without another change are left out. */
export function withoutSpace(lines: Line[], budget: Budget): Line[] {
  const shown: Line[] = []
  let done = 0
  for (const { at, removed, added } of blocksOf(lines)) {
    shown.push(...lines.slice(done, at))
    done = at + removed.length + added.length
    const bare = (line: Line) => line.text.replace(/\s+/g, '')
    let [left, right] = [0, 0]
    for (const [i, j] of [...commonOf(removed.map(bare), added.map(bare), budget), [removed.length, added.length] as const]) {
      shown.push(...removed.slice(left, i), ...added.slice(right, j))
      const [before, after] = [removed[i], added[j]]
      if (before && after) shown.push({ kind: 'context', old: before.old, new: after.new, text: after.text })
      ;[left, right] = [i + 1, j + 1]
    }
  }
  shown.push(...lines.slice(done))
  return withoutEmptyHunks(shown)
}

function withoutEmptyHunks(lines: Line[]): Line[] {
  const hunks: Line[][] = []
  for (const line of lines) {
    if (line.kind === 'hunk') hunks.push([])
    hunks.at(-1)?.push(line)
  }
  return hunks.filter((hunk) => hunk.some(({ kind }) => kind === 'added' || kind === 'removed')).flat()
}

/** Puts the unchanged lines of the file between the hunks, from its text after the change. */
export function withContext(lines: Line[], text: readonly string[], limit: number): Line[] {
  const shown: Line[] = []
  /** The lines that come next on each side. */
  let [old, now] = [1, 1]
  let room = limit
  const fill = (until: number): boolean => {
    if (until - now > room) return false
    room -= Math.max(0, until - now)
    while (now < until) shown.push({ kind: 'context', old: old++, new: now, text: text[now++ - 1] ?? '' })
    return true
  }
  for (const [i, line] of lines.entries()) {
    if (line.kind === 'hunk') {
      const first = lines[i + 1]
      const until = first ? (first.new ?? now + (first.old ?? old) - old) : now
      if (!fill(until)) shown.push(line)
      continue
    }
    shown.push(line)
    if (line.old !== null) old = line.old + 1
    if (line.new !== null) now = line.new + 1
  }
  fill(text.length + 1)
  return shown
}
