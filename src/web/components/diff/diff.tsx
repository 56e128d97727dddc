import { createHash } from 'node:crypto'
import type { ComponentChildren } from 'preact'
import type { Diff, FileDiff, GitRepository } from '../../../git/types.js'
import { hasHidden } from '../../../lib/text/hidden-characters.js'
import { linesOfDiff } from '../../../rules/reviews/diff-lines.js'
import { isPicture } from '../../../rules/reviews/picture-size.js'
import { plural, t } from '../../language/language.js'
import type { ProjectLinks } from '../../links.js'
import { PagePart } from '../../page-part.js'
import { Badge } from '../list.js'
import { CodeText, HiddenNotice, Rendered } from '../markup.js'
import { type LineColors, type Piece, piecesOf } from './diff-colors.js'
import type { Line, Part } from './diff-marks.js'

export type { Line }

const KINDS = { '@': 'hunk', ' ': 'context', '+': 'added', '-': 'removed', '\\': 'none' } as const

/** The lines of the text of a file's diff, without its header. */
export const linesOf = (diff: string): Line[] => linesOfDiff(diff).map(({ sign, ...line }) => ({ ...line, kind: KINDS[sign] }))

/** The anchor of a file in a diff (SHA-1 of its path, as in line codes). */
export const fileAnchor = (path: string) => createHash('sha1').update(path).digest('hex')

/** Whether lines have hidden characters (WB-395). */
export const haveHidden = (lines: Line[]): boolean => lines.some(({ text, old, new: number }) => hasHidden(text, old === 1 || number === 1))

/** The numbers of added and removed lines. */
export const countsOf = (lines: Line[]) => ({
  added: lines.filter(({ kind }) => kind === 'added').length,
  removed: lines.filter(({ kind }) => kind === 'removed').length,
})

export interface DiffProps {
  files: FileDiff[]
  truncated: boolean
  similarity: Diff['similarity']
  /** The files before and after as a whole, by which their lines get colours. */
  blobs: Diff['blobs']
  repository: GitRepository
  links: ProjectLinks
  /** The revisions before and after, for links to the files. */
  from: string | null
  to: string
  parallel: boolean
  /** Whether changes of white space are left out. */
  ignoreSpace?: boolean
  /** Where the whole change is as text; null: nowhere. */
  raw: string | null
  /** The file whose unchanged lines are shown, with them. */
  whole?: FileDiff | null
  review?: DiffReview
  /** How often lines ran in tests, by path and line after the change. */
  coverage?: ReadonlyMap<string, ReadonlyMap<number, number>>
}

/** What a review adds to a diff. */
export interface DiffReview {
  /** The list of the files; null: the usual one. */
  list: ComponentChildren
  /** Beside the name of a file. */
  head(file: FileDiff): ComponentChildren
  /** Above the lines of a file. */
  above(file: FileDiff): ComponentChildren
  /** Rows under a line. */
  under(file: FileDiff, line: Line): ComponentChildren
  /** The id of the form whose buttons begin a comment on a line; null where that is not possible. */
  formOf(file: FileDiff): string | null
  /** Whether a comment on this line has a place. */
  mayComment(file: FileDiff, line: Line): boolean
  isClosed(file: FileDiff): boolean
  /** A picture after the change with marks on what notes are about; null without any. */
  picture(file: FileDiff, address: string): ComponentChildren
  /** In place of lines that are not on this page. */
  instead(file: FileDiff): ComponentChildren
  /** Whether the lines of a file have nothing under them, and all of them a button or none. */
  isPlain(file: FileDiff): boolean
}

/** The lines of a file as rows of a table, which were rendered before the page. */
export interface DiffTable {
  added: number
  removed: number
  /** Empty without lines. */
  rows: string
  /** Whether a line has hidden characters. */
  hidden: boolean
}

/** The changes of files, each in a box, with a list of them before. */
export const DiffFiles = ({ files, truncated, similarity, links, from, to, parallel, raw, review, tables }: DiffProps & { tables: DiffTable[] }) => (
  <div class={review?.list ? 'changes' : undefined}>
    {review?.list ?? (
      <details class="summary" open={files.length <= 20}>
        <summary>
          {truncated
            ? t('More than {count} files changed', { count: files.length })
            : plural(files.length, '1 file changed', '{count} files changed')}
        </summary>
        <ul>
          {files.map(({ new_path }, i) => (
            <li key={new_path}>
              <a href={`#${fileAnchor(new_path)}`}>{new_path}</a> <Counts {...(tables[i] as DiffTable)} />
            </li>
          ))}
        </ul>
      </details>
    )}
    <div>
      {files.map((file, i) => (
        <PagePart key={file.new_path}>
          <FileBox
            file={file}
            {...(tables[i] as DiffTable)}
            similarity={similarity[file.new_path]}
            links={links}
            from={from}
            to={to}
            parallel={parallel}
            review={review}
          />
        </PagePart>
      ))}
      {truncated && (
        <p class="flash alert">
          {t('This change is too large to be shown whole.')} {raw && <a href={raw}>{t('The whole change as text')}</a>}
        </p>
      )}
    </div>
  </div>
)

export const Counts = ({ added, removed }: Pick<DiffTable, 'added' | 'removed'>) => (
  <span class="counts">
    <span class="plus">+{added}</span> <span class="minus">−{removed}</span>
  </span>
)

type Words = ReadonlyMap<Line, Part[]>

interface FileProps extends Pick<DiffProps, 'links' | 'from' | 'to' | 'parallel'>, Pick<DiffTable, 'rows' | 'hidden'> {
  review: DiffReview | undefined
  file: FileDiff
  /** Of a renamed file, in percent. */
  similarity: number | undefined
}

function FileBox({ file, rows, hidden, similarity, links, from, to, parallel, review }: FileProps) {
  const { old_path, new_path, new_file, deleted_file, renamed_file, a_mode, b_mode } = file
  const anchor = fileAnchor(new_path)
  const revision = deleted_file ? from : to
  const instead = review?.instead(file)
  return (
    <div class="box diff" id={anchor}>
      <div class="corner">
        {review?.head(file)}
        {revision && (
          <a href={links.blob(revision, deleted_file ? old_path : new_path)} aria-label={t('View file {newPath}', { newPath: new_path })}>
            {t('View file')}
          </a>
        )}
      </div>
      <details open={!review?.isClosed(file)}>
        <summary class="head">
          {renamed_file ? `${old_path} → ${new_path}` : new_path}{' '}
          {renamed_file && similarity !== undefined && <Badge>{t('renamed, {similarity} % the same', { similarity })}</Badge>}{' '}
          {new_file && <Badge kind="success">{t('new')}</Badge>}
          {deleted_file && <Badge kind="danger">{t('deleted')}</Badge>}{' '}
          {!new_file && !deleted_file && a_mode !== b_mode && <Badge>{`${a_mode} → ${b_mode}`}</Badge>}
        </summary>
        {review?.above(file)}
        {hidden && !instead && <HiddenNotice of={t('This change')} />}
        {instead ? (
          instead
        ) : rows === '' && isPicture(new_path) ? (
          <p class="picture">
            {!new_file && from && <img src={links.raw(from, old_path)} alt={t('Before')} loading="lazy" />}{' '}
            {!deleted_file &&
              (review?.picture(file, links.raw(to, new_path)) ?? <img src={links.raw(to, new_path)} alt={t('After')} loading="lazy" />)}
          </p>
        ) : rows === '' ? (
          <p class="note">{whyNoLines(file)}</p>
        ) : (
          <Rendered class={parallel ? 'lines parallel' : 'lines'} rows={rows} {...(parallel && { columns: PARALLEL })} />
        )}
      </details>
    </div>
  )
}

/** The header of a part spans columns. */
const PARALLEL = ['numbers', '', 'numbers', '']

const whyNoLines = ({ diff, a_mode, b_mode, new_file, deleted_file, renamed_file }: FileDiff) => {
  if (diff.startsWith('Binary files')) return t('A binary file.')
  if (diff !== '') return t('Only white space has changed.')
  if (!new_file && !deleted_file && a_mode !== b_mode) return t('Only the mode has changed.')
  return renamed_file ? t('Renamed without changes.') : t('Nothing to compare: the file is empty, or too large to be shown here.')
}

/** The colours of a line. */
export const runsOfLine = (colors: LineColors | null | undefined, { old, new: now }: Line): string | undefined =>
  now === null ? colors?.old.get(old ?? 0) : colors?.now.get(now)

/** The text of a line in colours, with marks on its changed words. */
const Text = ({ line, words, colors }: { line: Line | null } & Pick<RowsProps, 'words' | 'colors'>) => {
  if (!line) return null
  const parts = words?.get(line)
  const runs = runsOfLine(colors, line)
  const isFirst = line.old === 1 || line.new === 1
  if (!parts && !runs) return <CodeText text={line.text} isFirst={isFirst} />
  const whole = parts ?? [{ text: line.text, changed: false }]
  return (
    <>
      {(runs ? piecesOf(whole, runs) : whole.map((part) => ({ ...part, pieces: [{ text: part.text, color: '' }] }))).map(({ changed, pieces }, i) => {
        const shown = <Pieces key={i} pieces={pieces} isFirst={isFirst && i === 0} />
        return changed ? <mark key={i}>{shown}</mark> : shown
      })}
    </>
  )
}

const Pieces = ({ pieces, isFirst }: { pieces: Piece[]; isFirst: boolean }) => (
  <>
    {pieces.map(({ text, color }, i) => {
      const shown = <CodeText key={i} text={text} isFirst={isFirst && i === 0} />
      return color ? (
        <i key={i} class={color}>
          {shown}
        </i>
      ) : (
        shown
      )
    })}
  </>
)

const SIGNS = { added: '+', removed: '-', context: ' ', hunk: '', none: '' }

/** What stands beside and under the lines of a file. */
export interface Beside {
  /** The id of the form whose button begins a comment on this line. */
  formOf(line: Line): string | null
  under(line: Line): ComponentChildren
  /** How often it ran in tests; undefined where that is not known. */
  hitsOf?(line: Line): number | undefined
}

/** The cell of a number after the change says whether tests cover the line. */
function coverageOf(beside: Beside | undefined, line: Line | null): { class: string; title?: string } {
  const hits = line && beside?.hitsOf?.(line)
  if (hits === undefined || hits === null) return { class: 'number' }
  return hits > 0
    ? { class: 'number covered', title: t('Tests ran this line {hits} times', { hits }) }
    : { class: 'number uncovered', title: t('No test ran this line') }
}

export const isNumbered = ({ kind }: Line) => kind !== 'hunk' && kind !== 'none'

/** A button that begins a comment on a line. */
const CommentButton = ({ formOf, line }: Pick<Beside, 'formOf'> & { line: Line }) => {
  const form = formOf(line)
  return form === null ? null : (
    <button
      type="submit"
      class="remark"
      form={form}
      name="line"
      value={`${line.old ?? ''}_${line.new ?? ''}`}
      aria-label={line.new === null ? t('Comment on removed line {old}', { old: line.old }) : t('Comment on line {new}', { new: line.new })}
    >
      +
    </button>
  )
}

interface RowsProps {
  lines: Line[]
  words?: Words
  colors?: LineColors | null
  anchor?: string
  beside?: Beside
}

/** Lines below one another; without an anchor they have no addresses. */
export const UnifiedRows = ({ lines, words, colors, anchor, beside }: RowsProps) => (
  <>
    {lines.map((line, i) => (
      <>
        <tr key={i} class={line.kind} {...(anchor && isNumbered(line) && { id: `${anchor}_${line.old ?? ''}_${line.new ?? ''}` })}>
          <td class="number" data-number={line.old ?? ''} />
          <td {...coverageOf(beside, line)} data-number={line.new ?? ''}>
            {beside && isNumbered(line) && <CommentButton formOf={beside.formOf} line={line} />}
          </td>
          <td class="code" data-sign={SIGNS[line.kind]}>
            <Text line={line} words={words} colors={colors} />
          </td>
        </tr>
        {isNumbered(line) && <UnderLine columns={3}>{beside?.under(line)}</UnderLine>}
      </>
    ))}
  </>
)

/** A row for what was said about a line. */
const UnderLine = ({ columns, children }: { columns: number; children: ComponentChildren }) =>
  children ? (
    <tr class="under">
      <td colspan={columns}>{children}</td>
    </tr>
  ) : null

/** What stands side by side. */
export interface Pair {
  left: Line | null
  right: Line | null
}

/** Pairs removed lines with the added ones that follow them. */
export function pairsOf(lines: Line[]): Pair[] {
  const pairs: Pair[] = []
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as Line
    if (line.kind !== 'removed' && line.kind !== 'added') {
      pairs.push({ left: line, right: line })
      at++
      continue
    }
    const removed: Line[] = []
    const added: Line[] = []
    for (; lines[at]?.kind === 'removed'; at++) removed.push(lines[at] as Line)
    for (; lines[at]?.kind === 'added'; at++) added.push(lines[at] as Line)
    for (let i = 0; i < Math.max(removed.length, added.length); i++) pairs.push({ left: removed[i] ?? null, right: added[i] ?? null })
  }
  return pairs
}

export const ParallelRows = ({ pairs, words, colors, anchor, beside }: Omit<Required<RowsProps>, 'lines'> & { pairs: Pair[] }) => (
  <>
    {pairs.map(({ left, right }, i) =>
      left === right && (left?.kind === 'hunk' || left?.kind === 'none') ? (
        <tr key={i} class={left.kind}>
          <td class="number" />
          <td class="code" colspan={3}>
            <CodeText text={left.text} />
          </td>
        </tr>
      ) : (
        <>
          <tr key={i} id={`${anchor}_${left?.old ?? ''}_${right?.new ?? ''}`}>
            <td class="number" data-number={left?.old ?? ''}>
              {left?.kind === 'removed' && <CommentButton formOf={beside.formOf} line={left} />}
            </td>
            <td class={`code ${left?.kind ?? 'absent'}`}>
              <Text line={left} words={words} colors={colors} />
            </td>
            <td {...coverageOf(beside, right)} data-number={right?.new ?? ''}>
              {right && <CommentButton formOf={beside.formOf} line={right} />}
            </td>
            <td class={`code ${right?.kind ?? 'absent'}`}>
              <Text line={right} words={words} colors={colors} />
            </td>
          </tr>
          {left && left !== right && <UnderLine columns={4}>{beside.under(left)}</UnderLine>}
          {right && <UnderLine columns={4}>{beside.under(right)}</UnderLine>}
        </>
      ),
    )}
  </>
)
