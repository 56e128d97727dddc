import type { FileDiff } from '../../../../git/types.js'
import { groupedBy } from '../../../../lib/grouped-by.js'
import { Counts, countsOf, fileAnchor, linesOf } from '../../../components/diff/diff.js'
import { isUnresolved } from '../../../components/discussion/thread.js'
import { inChunks, PagePart } from '../../../page-part.js'
import { withQuery } from './address.js'
import { FILES_PER_PAGE, filesOf, type Shown } from './load.js'

/** The files that are listed together without a pause. */
const LISTED_TOGETHER = 50

interface ListedProps {
  folder: string
  files: FileDiff[]
  counted: boolean
  linkTo(file: FileDiff): string
  isViewed(file: FileDiff): boolean
}

const ListedFiles = ({ folder, files, counted, linkTo, isViewed }: ListedProps) => (
  <>
    {files.map((file) => (
      <li key={file.new_path}>
        <a href={linkTo(file)} aria-label={file.new_path}>
          {file.new_path.slice(folder.length)}
        </a>{' '}
        {counted && <Counts {...countsOf(linesOf(file.diff))} />} {isViewed(file) && <span class="dim">✓ viewed</span>}
      </li>
    ))}
  </>
)

/** The files by their folders, with marks on those that were viewed. */
export function FileList({ shown, files, isViewed }: { shown: Shown; files: FileDiff[]; isViewed(file: FileDiff): boolean }) {
  const { changes, threads, view, at, kept, input } = shown
  const total = changes.files.length
  const folders = groupedBy(files, ({ new_path }) => new_path.slice(0, new_path.lastIndexOf('/') + 1))
  const here = new Set(filesOf(changes, input))
  const number = new Map(changes.files.map((file, i) => [file, Math.floor(i / FILES_PER_PAGE) + 1]))
  const linkTo = (file: FileDiff) => {
    const anchor = fileAnchor(file.new_path)
    if (here.has(file)) return `#${anchor}`
    return `${withQuery(view.links.prefix + at, { ...kept, page: String(number.get(file) ?? 1) })}#${anchor}`
  }
  const viewed = files.filter(isViewed).length
  const open = [...threads.values()]
    .flatMap(({ lines, file, outdated }) => [...[...lines.values()].flat(), ...file, ...outdated])
    .filter(isUnresolved)
  return (
    <>
      <details class="summary tree" open={total <= 20}>
        <summary>
          {total === 1 ? '1 file changed' : `${changes.truncated ? 'More than ' : ''}${total} files changed`}
          {viewed > 0 && `, ${viewed} viewed`}
        </summary>
        <ul>
          {[...folders].map(([folder, own]) => (
            <li key={folder}>
              {folder && <span class="dim">{folder}</span>}
              <ul>
                {inChunks(own, LISTED_TOGETHER).map((chunk) => (
                  <PagePart key={chunk[0]?.new_path}>
                    <ListedFiles {...{ folder, files: chunk, linkTo, isViewed }} counted={files.length <= FILES_PER_PAGE} />
                  </PagePart>
                ))}
              </ul>
            </li>
          ))}
        </ul>
      </details>
      {open.length > 0 && (
        <p>
          {open.length === 1 ? '1 unresolved thread' : `${open.length} unresolved threads`} here:{' '}
          <a href={`#discussion_${open[0]?.id}`} data-next-thread>
            {open.length === 1 ? 'go to it' : 'go to the first'}
          </a>
        </p>
      )}
    </>
  )
}
