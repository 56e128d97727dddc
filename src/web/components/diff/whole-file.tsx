import type { FileDiff, GitRepository, Oid } from '../../../git/types.js'
import type { PageView } from '../../page.js'
import { fileAnchor, type Line, linesOf } from './diff.js'
import { withContext } from './diff-marks.js'

/** Larger files are not opened in a diff. */
const MAX_BYTES = 1024 * 1024
/** Unchanged lines that are added to a diff. */
const MAX_LINES = 5_000

const SIGNS: Record<Line['kind'], string> = { added: '+', removed: '-', context: ' ', none: '\\ ', hunk: '' }

/** The diff of a file with all its unchanged lines, as far as there is room for them; the same one if that cannot be. */
async function wholeDiff(repository: GitRepository, commit: Oid, file: FileDiff): Promise<FileDiff> {
  const entry = await repository.entry(commit, file.new_path)
  const info = entry?.type === 'blob' ? await repository.objectInfo(entry.oid) : null
  const content = entry && info && info.size <= MAX_BYTES ? await repository.blob(entry.oid) : null
  if (!content) return file
  const text = content.toString('utf8').split('\n')
  if (text.at(-1) === '') text.pop()
  const lines = withContext(linesOf(file.diff), text, MAX_LINES)
  const body = lines.map((line) => `${SIGNS[line.kind]}${line.text}\n`).join('')
  return { ...file, diff: `@@ -1 +1 @@\n${body}` }
}

/** The file that the address names, with its unchanged lines; null if it names none that can be opened. */
export async function openedFile(
  repository: GitRepository,
  commit: Oid | null,
  files: FileDiff[],
  anchor: string | undefined,
): Promise<FileDiff | null> {
  const file = anchor === undefined ? undefined : files.find(({ new_path }) => fileAnchor(new_path) === anchor)
  return file && commit && isOpenable(file) ? wholeDiff(repository, commit, file) : null
}

const isOpenable = ({ diff, new_file, deleted_file }: FileDiff) => diff !== '' && !diff.startsWith('Binary') && !new_file && !deleted_file

/** The link that opens the unchanged lines of a file. */
export function WholeFileLink({ view, file }: { view: PageView; file: FileDiff }) {
  if (!isOpenable(file)) return null
  const [path = '', query = ''] = view.address.split('?', 2)
  const parameters = new URLSearchParams(query)
  const anchor = fileAnchor(file.new_path)
  const isOpen = parameters.get('open') === anchor
  if (isOpen) parameters.delete('open')
  else parameters.set('open', anchor)
  return (
    <a href={`${view.links.prefix}${path}?${parameters}#${anchor}`} aria-label={`${isOpen ? 'Changes' : 'All lines'} of ${file.new_path}`}>
      {isOpen ? 'Changes' : 'All lines'}
    </a>
  )
}
