import { createHash } from 'node:crypto'
import type { VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { Context } from '../../../context.js'
import type { FileDiff, Oid } from '../../../git/types.js'
import type { Steps } from '../../../lib/async/slices.js'
import { currentLanguage, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import type { PageView } from '../../page.js'
import { RenderedPart, renderInParts } from '../../page-part.js'
import {
  type Beside,
  countsOf,
  DiffFiles,
  type DiffProps,
  type DiffTable,
  fileAnchor,
  haveHidden,
  isNumbered,
  type Line,
  linesOf,
  type Pair,
  ParallelRows,
  pairsOf,
  runsOfLine,
  UnifiedRows,
} from './diff.js'
import { aColorBudget, type ColorBudget, colorsOf, type LineColors, type Side, textOfBlob } from './diff-colors.js'
import { aBudget, type Budget, changedWords, type Part, withoutSpace } from './diff-marks.js'

/** Rows that are rendered in one step, and pieces of them. */
const STEP = 50
const STEP_PIECES = 1_000

/** The files whose lines are beyond what a page shows; the first one that is not too long itself is always shown. */
export function filesBeyond(files: FileDiff[], most: number): ReadonlySet<FileDiff> {
  const beyond = new Set<FileDiff>()
  let lines = 0
  for (const file of files) {
    const own = countLines(file.diff)
    if (own > most || (lines > 0 && lines + own > most)) beyond.add(file)
    else lines += own
  }
  return beyond
}

function countLines(text: string): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

/** Says that the lines of a file are not on this page, with a link to them. */
export const LeftOut = ({ file, to }: { file: FileDiff; to: string | null }) => (
  <p class="note">
    <Phrase text="{countLines} lines are not shown here." countLines={countLines(file.diff)} />{' '}
    {to && (
      <a href={to} data-into={fileAnchor(file.new_path)} aria-label={t('Show them: the changes of {newPath}', { newPath: file.new_path })}>
        {t('Show them')}
      </a>
    )}
  </p>
)

/** The most lines of a page of changes, and of one file alone (WB-371). */
const MAX_LINES = 1_500
const MAX_LINES_OF_ONE = 20_000

/** The files that a page of a commit or a comparison shows: all of them, or the one that its address names. */
export function shownFiles(view: PageView, files: FileDiff[], only: string | undefined) {
  const own = only === undefined ? [] : files.filter(({ new_path }) => fileAnchor(new_path) === only)
  const isOne = own.length > 0
  const shown = isOne ? own : files
  let beyond: ReadonlySet<FileDiff> | undefined
  const isBeyond = (file: FileDiff) => {
    beyond ??= filesBeyond(shown, isOne ? MAX_LINES_OF_ONE : MAX_LINES)
    return beyond.has(file)
  }
  const [path = '', query = ''] = view.address.split('?', 2)
  const to = (anchor: string | null) => {
    const parameters = new URLSearchParams(query)
    if (anchor) parameters.set('only', anchor)
    else parameters.delete('only')
    return `${view.links.prefix}${path}?${parameters}`
  }
  return {
    files: shown,
    /** Leads back to all files. */
    all: isOne && (
      <p>
        <a href={to(null)}>{t('All files')}</a>
      </p>
    ),
    instead: (file: FileDiff) => (isBeyond(file) ? <LeftOut file={file} to={isOne ? null : to(fileAnchor(file.new_path))} /> : null),
  }
}

/**
 * The changes of files; their lines are rendered in slices, and kept if nothing stands under them (WB-370). With a key,
 * which says all that makes them, they are kept as a whole.
 */
export async function diffFiles(ctx: Context, props: DiffProps, key: unknown[] | null = null): Promise<VNode> {
  const colorBudget = aColorBudget()
  if (!key) return tablesOf(ctx, props, colorBudget)
  const name = shownKeyOf(key)
  let kept = ctx.caches.changes.get(name)
  if (!kept) {
    kept = await renderInParts(ctx.cpu.slices, await tablesOf(ctx, props, colorBudget))
    // what has no colours yet may have them on the next page
    if (!colorBudget.isShort) ctx.caches.changes.set(name, kept)
  }
  return <RenderedPart part={kept} />
}

async function tablesOf(ctx: Context, props: DiffProps, colorBudget: ColorBudget) {
  const budget = aBudget()
  const tables: DiffTable[] = []
  for (const file of props.files) tables.push(await tableOf(ctx, props, file, budget, colorBudget))
  return <DiffFiles {...props} tables={tables} />
}

const NO_COLORS = { colors: null, isFinal: true }

async function tableOf(ctx: Context, props: DiffProps, given: FileDiff, budget: Budget, colorBudget: ColorBudget): Promise<DiffTable> {
  const { whole, review, parallel, ignoreSpace = false, repository, blobs, coverage } = props
  if (given.diff === '') return { added: 0, removed: 0, rows: '', hidden: false }
  const file = whole?.new_path === given.new_path ? whole : given
  const isLeft = Boolean(review?.instead(given))
  const hits = coverage?.get(given.new_path)
  const form = review?.formOf(given) ?? null
  const isPlain = isLeft || (review?.isPlain(given) ?? true)
  const [before = null, after = null] = blobs[given.new_path] ?? []
  const sides = [file.old_path, before, after]
  const key =
    isPlain && shownKeyOf([file.new_path, file.diff, ...(isLeft ? [] : [...sides, parallel, ignoreSpace, form]), ...(hits ? [[...hits]] : [])])
  const kept = key ? ctx.caches.diffTables.get(key) : undefined
  if (kept) {
    colorBudget.rows -= kept.rows.length
    return kept
  }
  const isShort = budget.isShort
  budget.isShort = false
  const beside: Beside = {
    formOf: (line) => (isNumbered(line) && review?.mayComment(given, line) ? form : null),
    under: (line) => review?.under(given, line) ?? null,
    ...(hits && { hitsOf: ({ new: now }) => (now === null ? undefined : hits.get(now)) }),
  }
  const side = (path: string, oid: Oid | null): Side | null => (oid === null ? null : { path, text: () => textOfBlob(repository, oid) })
  if (colorBudget.rows <= 0) budget.isShort = true
  const { colors, isFinal } =
    isLeft || colorBudget.rows <= 0
      ? NO_COLORS
      : await colorsOf(
          ctx,
          {
            key: keyOf([file.new_path, file.diff, ...sides]),
            lines: () => linesOf(file.diff),
            old: side(file.old_path, before),
            now: side(file.new_path, after),
          },
          colorBudget,
        )
  const table = isLeft
    ? await ctx.cpu.slices.run(() => ({ ...countsOf(linesOf(given.diff)), rows: '', hidden: false }))
    : await ctx.cpu.slices.steps(() => rendered(file, { parallel, ignoreSpace, beside, budget, colors }))
  colorBudget.rows -= table.rows.length
  // less marked for what other files of the page have used up, it is not what its key says
  if (key && !budget.isShort && isFinal) ctx.caches.diffTables.set(key, table)
  budget.isShort ||= isShort
  return table
}

/** What everything that makes something is kept by. */
export const keyOf = (parts: unknown[]) => createHash('sha256').update(JSON.stringify(parts)).digest('base64')

/** The same of what has texts of pages, which each language has its own of. */
export const shownKeyOf = (parts: unknown[]) => keyOf([currentLanguage(), ...parts])

interface Options {
  parallel: boolean
  ignoreSpace: boolean
  beside: Beside
  budget: Budget
  colors: LineColors | null
}

function* rendered(file: FileDiff, { parallel, ignoreSpace, beside, budget, colors }: Options): Steps<DiffTable> {
  yield
  const all = linesOf(file.diff)
  const lines = ignoreSpace ? withoutSpace(all, budget) : all
  const words = yield* changedWords(lines, budget)
  const weight = weightOf({ words, colors })
  const weightOfPair = ({ left, right }: Pair) => (left ? weight(left) : 0) + (right && right !== left ? weight(right) : 0)
  const shared = { words, colors, anchor: fileAnchor(file.new_path), beside }
  const rows = parallel
    ? yield* inSteps(pairsOf(lines), (pairs) => <ParallelRows pairs={pairs} {...shared} />, weightOfPair)
    : yield* inSteps(lines, (part) => <UnifiedRows lines={part} {...shared} />, weight)
  yield
  return { ...countsOf(lines), rows, hidden: haveHidden(lines) }
}

/** About the pieces of a line. */
export const weightOf =
  ({ words, colors }: { words: ReadonlyMap<Line, Part[]>; colors: LineColors | null }) =>
  (line: Line): number =>
    (runsOfLine(colors, line)?.length ?? 0) / 3 + (words.get(line)?.length ?? 0)

export function* inSteps<T>(items: T[], show: (items: T[]) => VNode, weightOf: (item: T) => number): Steps<string> {
  const parts: string[] = []
  for (let from = 0; from < items.length; ) {
    let to = from
    for (let pieces = 0; to < items.length && to - from < STEP && pieces < STEP_PIECES; to++) pieces += weightOf(items[to] as T)
    parts.push(renderToString(show(items.slice(from, to))))
    from = to
    yield
  }
  return parts.join('')
}
