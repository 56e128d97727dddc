import type { Position } from '../../../../db/schema/index.js'
import type { FileDiff } from '../../../../git/types.js'
import { changeDigest } from '../../../../services/issuables/merge-requests/reading/seen.js'
import type { DiscussionRecord } from '../../../../services/notes/list.js'
import { type DiffReview, fileAnchor, type Line, linesOf } from '../../../components/diff/diff.js'
import { filesBeyond, LeftOut } from '../../../components/diff/diff-tables.js'
import { WholeFileLink } from '../../../components/diff/whole-file.js'
import { Excerpt, isUnresolved, Thread } from '../../../components/discussion/thread.js'
import { ActionButton } from '../../../components/form.js'
import { plural, t } from '../../../language/language.js'
import { addressOf } from '../address.js'
import { Draft } from '../drafts.js'
import { keyOf } from '../places.js'
import { withQuery } from './address.js'
import { FileList } from './file-list.js'
import type { Shown } from './load.js'
import { NewComment } from './new-comment.js'

/** Lines of one page; files beyond them are links. */
const MAX_LINES = 3_000
const MAX_LINES_OF_ONE = 20_000

/** What stands beside and under the lines: threads, drafts, and the form of a new comment. */
export function reviewOf(shown: Shown, files: FileDiff[]): DiffReview {
  const { input, changes, whole, seen, threads, drafts, mayComment, lineMapping, view, at, kept } = shown
  const inDiff = new Set(linesOf(files.find(({ new_path }) => new_path === whole?.new_path)?.diff ?? '').map(keyOf))
  const lands = (file: FileDiff, line: Line | null) => mayComment && (lineMapping === null || lineMapping(file, line) !== null)
  const left = filesBeyond(files, input.only ? MAX_LINES_OF_ONE : MAX_LINES)
  const isViewed = (file: FileDiff) => {
    const digest = seen.files.size > 0 && seen.files.get(fileAnchor(file.new_path))
    return typeof digest === 'string' && digest === changeDigest(file)
  }
  const about = new Map(
    files.map((file) => {
      const path = file.new_path
      return [file, { anchor: fileAnchor(path), threads: threads.get(path), drafts: drafts.get(path) }] as const
    }),
  )
  const of = (file: FileDiff) => about.get(file) ?? { anchor: fileAnchor(file.new_path), threads: undefined, drafts: undefined }
  return {
    list: <FileList shown={shown} files={input.only ? files : changes.files} isViewed={isViewed} />,
    head: (file) => <FileTools shown={shown} file={file} viewed={isViewed(file)} />,
    above(file) {
      const { anchor, threads: own, drafts: drafted } = of(file)
      const outdated = own?.outdated ?? []
      const isNew = input.on === anchor && input.line === 'file' && lands(file, null)
      return (
        <>
          {mayComment && (
            <form id={`on_${anchor}`} method="get" action={`${view.links.prefix}${at}#comment`} data-comment>
              {Object.entries({ ...kept, on: anchor }).map(([name, value]) => (
                <input key={name} type="hidden" name={name} value={value} />
              ))}
            </form>
          )}
          {(own?.file ?? []).map((discussion) => (
            <ThreadBox key={discussion.id} shown={shown} discussion={discussion} />
          ))}
          {[...(drafted?.file ?? []), ...(drafted?.outdated ?? [])].map((draft) => (
            <Draft key={draft.id} view={view} parts={shown.parts} draft={draft} />
          ))}
          {isNew && <NewComment shown={shown} file={file} line={null} />}
          {outdated.length > 0 && (
            <details class="outdated" open={outdated.some(isUnresolved)}>
              <summary>
                {plural(outdated.length, '1 thread about lines that have changed since', '{count} threads about lines that have changed since')}
              </summary>
              {outdated.map((discussion) => (
                <ThreadBox key={discussion.id} shown={shown} discussion={discussion} outdated />
              ))}
            </details>
          )}
        </>
      )
    },
    under(file, line) {
      const { anchor, threads: own, drafts: drafted } = of(file)
      if (!own && !drafted && input.on !== anchor) return null
      const key = keyOf(line)
      const discussions = own?.lines.get(key) ?? []
      const mine = drafted?.lines.get(key) ?? []
      const isNew = input.on === anchor && input.line === key && lands(file, line)
      if (discussions.length === 0 && mine.length === 0 && !isNew) return null
      return (
        <>
          {discussions.map((discussion) => (
            <ThreadBox key={discussion.id} shown={shown} discussion={discussion} />
          ))}
          {mine.map((draft) => (
            <Draft key={draft.id} view={view} parts={shown.parts} draft={draft} />
          ))}
          {isNew && <NewComment shown={shown} file={file} line={line} />}
        </>
      )
    },
    // the service takes the lines of the diff alone
    mayComment: (file, line) => lands(file, line) && (file.new_path !== whole?.new_path || inDiff.has(keyOf(line))),
    formOf: (file) => (mayComment ? `on_${of(file).anchor}` : null),
    picture(file, address) {
      const points = [...(of(file).threads?.file ?? [])].flatMap(({ id, notes: [first] }) => {
        const position = first?.note.position
        return position?.position_type === 'image' ? [{ to: `discussion_${id}`, position }] : []
      })
      const drafted = (of(file).drafts?.file ?? []).flatMap(({ id, position }) =>
        position?.position_type === 'image' ? [{ to: `draft_${id}`, position }] : [],
      )
      return <MarkedPicture address={address} marks={[...points, ...drafted]} />
    },
    isPlain(file) {
      const { anchor, threads: own, drafts: drafted } = of(file)
      return lineMapping === null && !own && !drafted && input.on !== anchor && file.new_path !== whole?.new_path
    },
    isClosed: (file) => isViewed(file) && fileAnchor(file.new_path) !== input.on,
    instead: (file) =>
      left.has(file) ? (
        <LeftOut file={file} to={input.only ? null : withQuery(view.links.prefix + at, { ...kept, on: fileAnchor(file.new_path), only: '1' })} />
      ) : null,
  }
}

const ThreadBox = ({ shown, discussion, outdated = false }: { shown: Shown; discussion: DiscussionRecord; outdated?: boolean }) => (
  <div class="box thread" id={`discussion_${discussion.id}`}>
    {outdated && discussion.notes[0] && <Excerpt {...shown.parts} note={discussion.notes[0].note} />}
    <Thread {...shown.parts} view={shown.view} discussion={discussion} inPlace />
  </div>
)

function FileTools({ shown: { view, parts, mayComment, lineMapping, subject }, file, viewed }: { shown: Shown; file: FileDiff; viewed: boolean }) {
  const anchor = fileAnchor(file.new_path)
  return (
    <>
      <WholeFileLink view={view} file={file} />
      {mayComment && (lineMapping === null || lineMapping(file, null)) && (
        <button
          type="submit"
          form={`on_${anchor}`}
          name="line"
          value="file"
          class="quiet"
          aria-label={t('Comment on the file {newPath}', { newPath: file.new_path })}
        >
          {t('Comment')}
        </button>
      )}
      <ActionButton
        view={view}
        action={`${addressOf(subject)}/viewed`}
        label={viewed ? t('✓ Viewed') : t('Viewed')}
        what={file.new_path}
        class="quiet"
        fields={{ file: anchor, change: changeDigest(file), viewed: String(!viewed), ...(parts.back && { back: parts.back }) }}
        into={anchor}
      />
    </>
  )
}

/** A picture with a numbered mark at each point that notes are about (WB-262). */
function MarkedPicture({ address, marks }: { address: string; marks: { to: string; position: Position }[] }) {
  const { width = 0, height = 0 } = marks[0]?.position ?? {}
  if (width === 0 || height === 0) return <img src={address} alt={t('After')} loading="lazy" />
  const radius = Math.max(width, height) / 30
  return (
    <svg class="marked" viewBox={`0 0 ${width} ${height}`} width={width} height={height}>
      <title>{plural(marks.length, 'After, with 1 mark', 'After, with {count} marks')}</title>
      <image href={address} width={width} height={height} />
      {marks.map(({ to, position }, i) => {
        const [x, y] = [((position.x ?? 0) * width) / (position.width || width), ((position.y ?? 0) * height) / (position.height || height)]
        return (
          <a key={to} href={`#${to}`} aria-label={t('Comment {i} on the picture', { i: i + 1 })}>
            <circle cx={x} cy={y} r={radius} />
            <text x={x} y={y} font-size={radius * 1.3} text-anchor="middle" dominant-baseline="central">
              {i + 1}
            </text>
          </a>
        )
      })}
    </svg>
  )
}
