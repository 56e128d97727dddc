import type { FileDiff, GitRepository, Oid } from '../../../git/types.js'
import { int, opt, str } from '../../../http/params.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { fileAnchor, type Line, linesOf } from './diff.js'
import { withContext } from './diff-marks.js'

/** Larger files are not opened in a diff. */
const MAX_BYTES = 1024 * 1024
/** Unchanged lines that are added to a diff. */
const MAX_LINES = 5_000

const SIGNS: Record<Line['kind'], string> = { added: '+', removed: '-', context: ' ', none: '\\ ', hunk: '' }

/** The unchanged lines that git shows around a change, and those that a click adds. */
const USUAL = 3
const STEP = 20

/** What the address of a page of changes says of unchanged lines: of which file, and how many more around each change; all without a number. */
export const openedLines = { open: opt(str()), around: opt(int({ min: STEP, max: MAX_LINES })) }

/** The diff of a file with all its unchanged lines, or more of them, as far as there is room for them; the same one if that cannot be. */
async function wholeDiff(repository: GitRepository, commit: Oid, file: FileDiff, around: number | undefined): Promise<FileDiff> {
  const entry = await repository.entry(commit, file.new_path)
  const info = entry?.type === 'blob' ? await repository.objectInfo(entry.oid) : null
  const content = entry && info && info.size <= MAX_BYTES ? await repository.blob(entry.oid) : null
  if (!content) return file
  const text = content.toString('utf8').split('\n')
  if (text.at(-1) === '') text.pop()
  const lines = withContext(linesOf(file.diff), text, MAX_LINES)
  const near = around === undefined ? lines.map(() => true) : linesNear(lines, USUAL + around)
  let body = ''
  for (const [i, line] of lines.entries()) {
    if (!near[i]) continue
    // a part begins where lines before it are left out
    if ((i === 0 || !near[i - 1]) && line.kind !== 'hunk') body += headOf(lines, i)
    body += `${SIGNS[line.kind]}${line.text}\n`
  }
  return { ...file, diff: body }
}

/** Which lines are within this distance of a change. */
function linesNear(lines: Line[], distance: number): boolean[] {
  const near = lines.map(() => false)
  for (const [i, { kind }] of lines.entries()) if (kind !== 'context') near.fill(true, Math.max(0, i - distance), i + distance + 1)
  return near
}

/** The header of the part that begins at a line. */
function headOf(lines: Line[], from: number): string {
  const first = (side: 'old' | 'new') => {
    for (let i = from; i < lines.length; i++) {
      const number = lines[i]?.[side]
      if (number != null) return number
    }
    return 1
  }
  return `@@ -${first('old')} +${first('new')} @@\n`
}

/** The file that the address names, with its unchanged lines; null if it names none that can be opened. */
export async function openedFile(
  repository: GitRepository,
  commit: Oid | null,
  files: FileDiff[],
  { open: anchor, around }: { open?: string | undefined; around?: number | undefined },
): Promise<FileDiff | null> {
  const file = anchor === undefined ? undefined : files.find(({ new_path }) => fileAnchor(new_path) === anchor)
  return file && commit && isOpenable(file) ? wholeDiff(repository, commit, file, around) : null
}

const isOpenable = ({ diff, new_file, deleted_file }: FileDiff) => diff !== '' && !diff.startsWith('Binary') && !new_file && !deleted_file

/** The links that open unchanged lines of a file: twenty more around each change, or all; and the one back. */
export function WholeFileLink({ view, file }: { view: PageView; file: FileDiff }) {
  if (!isOpenable(file)) return null
  const [path = '', query = ''] = view.address.split('?', 2)
  const parameters = new URLSearchParams(query)
  const anchor = fileAnchor(file.new_path)
  const isOpen = parameters.get('open') === anchor
  const around = isOpen ? Number(parameters.get('around')) : 0
  const link = (label: string, what: string, open: boolean, lines: number | null) => {
    parameters.delete('open')
    parameters.delete('around')
    if (open) parameters.set('open', anchor)
    if (lines !== null) parameters.set('around', String(lines))
    return (
      <a href={`${view.links.prefix}${path}?${parameters}#${anchor}`} data-into={anchor} aria-label={what}>
        {label}
      </a>
    )
  }
  return (
    <>
      {(!isOpen || around > 0) &&
        around + STEP <= MAX_LINES &&
        link(
          t('+{count} lines', { count: STEP }),
          t('+{count} lines above and below the changes of {path}', { count: STEP, path: file.new_path }),
          true,
          around + STEP,
        )}
      {(!isOpen || around > 0) && link(t('All lines'), t('All lines of {path}', { path: file.new_path }), true, null)}
      {isOpen && link(t('Changes'), ' alone', false, null)}
    </>
  )
}
