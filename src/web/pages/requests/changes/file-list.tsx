import type { FileDiff } from '../../../../git/types.js'
import { groupedBy } from '../../../../lib/grouped-by.js'
import type { DiscussionRecord } from '../../../../services/notes/list.js'
import { Counts, countsOf, fileAnchor, linesOf } from '../../../components/diff/diff.js'
import { isUnresolved } from '../../../components/discussion/thread.js'
import { Icon } from '../../../components/icon.js'
import { plural, t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
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
  threadsOf(file: FileDiff): DiscussionRecord[]
}

const ListedFiles = ({ folder, files, counted, linkTo, isViewed, threadsOf }: ListedProps) => (
  <>
    {files.map((file) => (
      <li key={file.new_path} class="line">
        <Mark viewed={isViewed(file)} />{' '}
        <a href={linkTo(file)} aria-label={file.new_path}>
          {file.new_path.slice(folder.length)}
        </a>{' '}
        {counted && <Counts {...countsOf(linesOf(file.diff))} />} <Threads threads={threadsOf(file)} />
      </li>
    ))}
  </>
)

const Mark = ({ viewed }: { viewed: boolean }) => (
  <span class={viewed ? 'success' : 'dim'} title={viewed ? t('viewed') : t('not viewed')}>
    <Icon name={viewed ? 'circle-check' : 'circle-dashed'} />
    <span class="hidden">{viewed ? t('viewed') : t('not viewed')}</span>
  </span>
)

/** How many threads a file has, by colour whether one of them is to be resolved. */
function Threads({ threads }: { threads: DiscussionRecord[] }) {
  if (threads.length === 0) return null
  const open = threads.filter(isUnresolved).length
  const text = `${plural(threads.length, '1 thread', '{count} threads')}, ${t('{open} unresolved', { open })}`
  return (
    <span class={open > 0 ? 'notes waiting' : 'notes dim'} title={text}>
      <Icon name="message-square" />
      <span aria-hidden="true">{threads.length}</span>
      <span class="hidden">{text}</span>
    </span>
  )
}

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
  const threadsOf = ({ new_path }: FileDiff) => {
    const own = threads.get(new_path)
    return own ? [...[...own.lines.values()].flat(), ...own.file, ...own.outdated] : []
  }
  const open = files.flatMap(threadsOf).filter(isUnresolved)
  return (
    <div class="beside">
      <details class="summary tree" open={total <= 20}>
        <summary>
          {changes.truncated ? t('More than {count} files changed', { count: total }) : plural(total, '1 file changed', '{count} files changed')}
          {viewed > 0 && t(', {viewed} viewed', { viewed })}
        </summary>
        <ul>
          {[...folders].map(([folder, own]) => (
            <li key={folder}>
              {folder && <span class="dim">{folder}</span>}
              <ul>
                {inChunks(own, LISTED_TOGETHER).map((chunk) => (
                  <PagePart key={chunk[0]?.new_path}>
                    <ListedFiles {...{ folder, files: chunk, linkTo, isViewed, threadsOf }} counted={files.length <= FILES_PER_PAGE} />
                  </PagePart>
                ))}
              </ul>
            </li>
          ))}
        </ul>
      </details>
      {open.length > 0 && (
        <p>
          <Phrase
            text="{threads} here: {link}"
            threads={plural(open.length, '1 unresolved thread', '{count} unresolved threads')}
            link={
              <a href={`#discussion_${open[0]?.id}`} data-next-thread>
                {plural(open.length, 'go to it', 'go to the first')}
              </a>
            }
          />
        </p>
      )}
    </div>
  )
}
