import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import type { MergeRequestSubject } from '../../../access/merge-requests.js'
import { fullPathOf } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Position } from '../../../db/schema/index.js'
import type { FileDiff } from '../../../git/types.js'
import { bool, int, oneOf, opt, orDefault, paging, str, where } from '../../../http/params.js'
import { positionParameters } from '../../../http/position.js'
import * as documented from '../../../http/texts.js'
import { groupedBy } from '../../../lib/grouped-by.js'
import { isPicture, type Size } from '../../../rules/reviews/picture-size.js'
import { listRequestCommits, type ShownChanges, shownChanges } from '../../../services/issuables/merge-requests/reading/contents.js'
import { type LineMapping, lineMappingIn } from '../../../services/issuables/merge-requests/reading/line-mapping.js'
import { changeDigest, recordSeenVersion, type Seen, seenBy } from '../../../services/issuables/merge-requests/reading/seen.js'
import { type DraftNote, listDrafts } from '../../../services/notes/drafts.js'
import { type DiscussionRecord, threadsOfFiles } from '../../../services/notes/list.js'
import { aboutMergeRequest } from '../../../services/notes/noteables.js'
import { sizeOfFile } from '../../../services/notes/pictures.js'
import { baseShaOf } from '../../../services/notes/positions.js'
import { repositoryOf } from '../../../services/repository/repositories.js'
import { shortId } from '../../components/code.js'
import { Counts, countsOf, type DiffReview, fileAnchor, type Line, linesOf } from '../../components/diff/diff.js'
import { type DiscussionParts, Excerpt, isUnresolved, SelectedSuggestions, Thread } from '../../components/discussion.js'
import { Editor, EditorForm } from '../../components/editor.js'
import { ActionButton, Field, FormFaults, Hidden, Submit } from '../../components/form.js'
import { Pager } from '../../components/list.js'
import { fieldsOf } from '../../fields.js'
import { ProjectLayout } from '../../layout/project.js'
import { projectLinks } from '../../links.js'
import { type PageView, page } from '../../page.js'
import { inChunks, PagePart } from '../../page-part.js'
import { openedFile, WholeFileLink } from '../code/context.js'
import { diffFiles, filesBeyond, LeftOut } from '../code/diff-tables.js'
import { titleOf } from '../code/revision.js'
import { discussionInput, discussionParts } from '../planning/texts.js'
import { Draft } from './drafts.js'
import { AT, addressOf, RequestHead, read } from './parts.js'
import { keyOf, type Placed, placesOf, positionOfThread } from './places.js'

/** What one page shows at most; further files and lines are links. */
const FILES_PER_PAGE = 50
const MAX_LINES = 3_000
const MAX_LINES_OF_ONE = 20_000
const MAX_THREADS = 50
const MAX_COMMITS = 100

/** An anchor, a line or the id of a commit: they stand in every link of the page. */
const MAX_NAME = 200
const name = () => where(str(), (text) => text.length <= MAX_NAME, 'is invalid')

export const changesInput = z.object({
  view: opt(oneOf(['inline', 'parallel'])),
  w: opt(bool()),
  diff_id: opt(int({ min: 1 })),
  start_sha: opt(name()),
  commit_id: opt(name()),
  /** The file (by its anchor) and the line that are commented on. */
  on: opt(name()),
  line: opt(name()),
  /** The first line of a range that ends at this one. */
  from: opt(int({ min: 1 })),
  suggest: orDefault(bool(), false),
  /** The file (by its anchor) whose unchanged lines are shown. */
  open: opt(name()),
  /** Shows only the file. */
  only: orDefault(bool(), false),
  ...discussionInput,
  page: paging.page,
})
type Input = z.infer<typeof changesInput>

/** What is kept in the address while a reader moves through the changes. */
const keptOf = ({ view, w, diff_id, start_sha, commit_id, open, page: number }: Input): Record<string, string> => ({
  ...(view && { view }),
  ...(w && { w: '1' }),
  ...(diff_id !== undefined && { diff_id: String(diff_id) }),
  ...(start_sha && { start_sha }),
  ...(commit_id && { commit_id }),
  ...(open && { open }),
  ...(number > 1 && { page: String(number) }),
})

const withQuery = (path: string, query: Record<string, string>) => {
  const text = String(new URLSearchParams(query))
  return text ? `${path}?${text}` : path
}

/** Everything that the parts of the page share. */
interface Shown {
  view: PageView
  subject: MergeRequestSubject
  input: Input
  /** The address of the page without its query and without the prefix. */
  at: string
  kept: Record<string, string>
  changes: ShownChanges
  /** The file whose unchanged lines are shown, with them. */
  whole: FileDiff | null
  seen: Seen
  parts: DiscussionParts
  threads: Map<string, Placed<DiscussionRecord>>
  drafts: Map<string, Placed<DraftNote>>
  /** The size of the picture that is commented on, and the address of a file after the change. */
  size: Size | null
  pictureAt(file: FileDiff): string
  mayComment: boolean
  /** Where the lines that are shown are in the changes of the version; null: these are what is shown. */
  landing: LineMapping | null
}

async function load(
  ctx: Context,
  caller: SignedIn,
  subject: MergeRequestSubject,
  view: PageView,
  input: Input,
): Promise<Shown & { drafted: number; moreThreads: number }> {
  const about = aboutMergeRequest(subject)
  const { request, project } = subject
  const [changes, seen, drafted] = await Promise.all([
    shownChanges(ctx, project, request, { version: input.diff_id, since: input.start_sha, commit: input.commit_id }),
    seenBy(ctx, caller, request.id),
    listDrafts(ctx, caller, about.noteable),
  ])
  const at = `${addressOf(subject)}/diffs`
  const kept = keptOf(input)
  const files = filesOf(changes, input)
  const paths = [...new Set(files.flatMap(({ old_path, new_path }) => [old_path, new_path]))]
  const whole = await openedFile(repositoryOf(ctx, project), changes.to, files, input.open)
  const placed = { ...changes, files: files.map((file) => (file.new_path === whole?.new_path ? whole : file)) }
  const { items: discussions, total } = await threadsOfFiles(ctx, caller, about.noteable, paths, MAX_THREADS)
  const parts = await discussionParts(ctx, caller, about, {
    at: addressOf(subject),
    discussions,
    asked: input,
    back: withQuery(at, kept),
    head: request.sha,
  })
  const commented = input.line === 'file' ? files.find(({ new_path }) => isPicture(new_path) && fileAnchor(new_path) === input.on) : undefined
  const links = projectLinks(view, fullPathOf(project))
  return {
    view,
    size: commented && changes.to ? await sizeOfFile(ctx, project, changes.to, commented.new_path) : null,
    pictureAt: ({ new_path }) => links.raw(changes.to ?? '', new_path),
    subject,
    input,
    at,
    kept,
    changes,
    whole,
    seen,
    parts,
    threads: placesOf(discussions, positionOfThread, placed),
    drafts: placesOf(drafted, (draft) => draft, placed),
    mayComment: parts.mayWrite && changes.version !== null,
    landing: parts.mayWrite && (input.w || changes.since || changes.commit) ? await lineMappingIn(ctx, project, request, changes) : null,
    drafted: drafted.length,
    moreThreads: total - discussions.length,
  }
}

/** The files of this page, or the only one that is wanted. */
const filesOf = ({ files }: ShownChanges, { only, on, page: number }: Input): FileDiff[] =>
  only ? files.filter(({ new_path }) => fileAnchor(new_path) === on) : files.slice((number - 1) * FILES_PER_PAGE, number * FILES_PER_PAGE)

/** The changes of a merge request, with what was said about them (WB-93). */
export const requestChangesPage = page({
  at: `${AT}/diffs`,
  access: read,
  input: changesInput,
  async show({ ctx, caller, subject, input, view }) {
    const shown = await load(ctx, caller, subject, view, input)
    const { changes, at, kept, seen, parts } = shown
    const { version, versions, commit } = changes
    const files = filesOf(changes, input)
    const unseen = seen.version !== null && version !== null && version.id === versions[0]?.id && seen.version < version.id
    if (version && version.id === versions[0]?.id && seen.version !== version.id)
      ctx.jobs.add('seen version', () => recordSeenVersion(ctx, caller, subject.request.id, version.id))
    const links = projectLinks(view, fullPathOf(subject.project))
    const to = view.links.prefix + at
    return {
      title: `Changes of !${subject.request.iid} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests">
          <RequestHead view={view} subject={subject} tab="/diffs" drafts={shown.drafted} />
          {unseen && <NewSince shown={shown} />}
          <Versions shown={shown} />
          {commit && (
            <CommitBar
              shown={shown}
              commits={(await listRequestCommits(ctx, subject.project, subject.request, { page: 1, per_page: MAX_COMMITS })).items}
            />
          )}
          <div class="toolbar">
            {shown.landing && version && (
              <>
                <span class="dim">
                  Comments are about version {numberOf(changes, version.id)}: they can be written on the lines that its changes have as they are here.
                </span>
                <a href={withQuery(to, { ...(input.view && { view: input.view }), diff_id: String(version.id) })}>All its changes</a>
              </>
            )}
            <span class="last toolbar">
              {input.view === 'parallel' ? <a href={withQuery(to, { ...kept, view: 'inline' })}>Unified</a> : <strong>Unified</strong>}
              {input.view === 'parallel' ? <strong>Side by side</strong> : <a href={withQuery(to, { ...kept, view: 'parallel' })}>Side by side</a>}
              <a href={withQuery(to, { ...kept, w: input.w ? '0' : '1' })}>{input.w ? 'Show white space' : 'Ignore white space'}</a>
            </span>
          </div>
          {input.only && (
            <p>
              <a href={withQuery(to, kept)}>All files</a>
            </p>
          )}
          <SelectedSuggestions view={view} {...parts} />
          {files.length === 0 && <p class="empty">There are no changes.</p>}
          {
            await diffFiles(ctx, {
              files,
              truncated: changes.truncated,
              similarity: changes.similarity,
              links,
              from: changes.from,
              to: changes.to ?? subject.request.target_branch,
              parallel: input.view === 'parallel',
              ignoreSpace: input.w === true,
              raw: `${view.links.prefix}${addressOf(subject)}.diff`,
              whole: shown.whole,
              review: reviewOf(shown, files),
            })
          }
          {shown.moreThreads > 0 && (
            <p class="flash">
              {shown.moreThreads} more threads about these files are on the <a href={view.links.prefix + addressOf(subject)}>overview</a>.
            </p>
          )}
          {!input.only && <Pager view={view} page={input.page} perPage={FILES_PER_PAGE} total={changes.files.length} />}
        </ProjectLayout>
      ),
    }
  },
})

/** Says that there are new commits since the reader looked (WB-95). */
function NewSince({ shown: { changes, seen, view, at } }: { shown: Shown }) {
  const last = changes.versions.find(({ id }) => id === seen.version)
  if (!last || !changes.version) return null
  return (
    <p class="flash">
      There are new commits since your last look.{' '}
      <a href={withQuery(view.links.prefix + at, { diff_id: String(changes.version.id), start_sha: last.head_commit_sha })}>
        What has changed since version {numberOf(changes, last.id)}
      </a>
    </p>
  )
}

const numberOf = ({ versions }: ShownChanges, id: number) => versions.length - versions.findIndex((version) => version.id === id)

/** Chooses a version and what it is compared with, by links that work everywhere. */
function Versions({ shown: { changes, view, at, kept } }: { shown: Shown }) {
  const { versions, version, since, commit } = changes
  if (!version || commit) return null
  const before = versions.filter(({ id }) => id < version.id)
  return (
    <form method="get" action={view.links.prefix + at} class="toolbar versions">
      {Object.entries(kept)
        .filter(([name]) => name === 'view' || name === 'w')
        .map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
      <label for="diff_id">Version</label>
      <select id="diff_id" name="diff_id">
        {versions.map(({ id, head_commit_sha }, i) => (
          <option key={id} value={id} selected={id === version.id}>
            {versions.length - i} {i === 0 ? '(latest)' : ''} {shortId(head_commit_sha)}
          </option>
        ))}
      </select>
      <label for="start_sha">since</label>
      <select id="start_sha" name="start_sha">
        <option value="">the target branch</option>
        {before.map(({ id, head_commit_sha }) => (
          <option key={id} value={head_commit_sha} selected={id === since?.id}>
            version {numberOf(changes, id)} {shortId(head_commit_sha)}
          </option>
        ))}
      </select>
      <button type="submit">Show</button>
    </form>
  )
}

/** The commit that is shown alone, and the ways to those beside it. */
function CommitBar({ shown: { changes, view, at, kept }, commits }: { shown: Shown; commits: { oid: string; message: string }[] }) {
  const { commit } = changes
  if (!commit) return null
  const i = commits.findIndex(({ oid }) => oid === commit.oid)
  const to = (one: { oid: string } | undefined, label: string) =>
    one && <a href={withQuery(view.links.prefix + at, { ...kept, commit_id: one.oid })}>{label}</a>
  const { commit_id: _, ...all } = kept
  return (
    <div class="box">
      <div class="head">
        <span class="grow">
          <strong>{titleOf(commit)}</strong> <code>{shortId(commit.oid)}</code>
        </span>
        {to(commits[i + 1], 'Previous commit')}
        {i > 0 && to(commits[i - 1], 'Next commit')}
        <a href={withQuery(view.links.prefix + at, all)}>All commits</a>
      </div>
    </div>
  )
}

const shaFields = ({ version }: ShownChanges) => ({
  base_sha: version ? baseShaOf(version) : '',
  start_sha: version?.start_commit_sha ?? '',
  head_sha: version?.head_commit_sha ?? '',
})

/** What stands beside and under the lines: threads, drafts, and the form of a new comment. */
function reviewOf(shown: Shown, files: FileDiff[]): DiffReview {
  const { input, changes, whole, seen, threads, drafts, mayComment, landing, view, at, kept } = shown
  const inDiff = new Set(linesOf(files.find(({ new_path }) => new_path === whole?.new_path)?.diff ?? '').map(keyOf))
  const lands = (file: FileDiff, line: Line | null) => mayComment && (landing === null || landing(file, line) !== null)
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
                {outdated.length === 1
                  ? '1 thread about lines that have changed since'
                  : `${outdated.length} threads about lines that have changed since`}
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
      return landing === null && !own && !drafted && input.on !== anchor && file.new_path !== whole?.new_path
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
function FileList({ shown, files, isViewed }: { shown: Shown; files: FileDiff[]; isViewed(file: FileDiff): boolean }) {
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

function FileTools({ shown: { view, parts, mayComment, landing, subject }, file, viewed }: { shown: Shown; file: FileDiff; viewed: boolean }) {
  const anchor = fileAnchor(file.new_path)
  return (
    <>
      <WholeFileLink view={view} file={file} />
      {mayComment && (landing === null || landing(file, null)) && (
        <button type="submit" form={`on_${anchor}`} name="line" value="file" class="quiet" aria-label={`Comment on the file ${file.new_path}`}>
          Comment
        </button>
      )}
      <ActionButton
        view={view}
        action={`${addressOf(subject)}/viewed`}
        label={viewed ? '✓ Viewed' : 'Viewed'}
        what={file.new_path}
        class="quiet"
        fields={{ file: anchor, change: changeDigest(file), viewed: String(!viewed), ...(parts.back && { back: parts.back }) }}
        into={anchor}
      />
    </>
  )
}

/** Longer than any run of backticks in the text. */
function fenceFor(text: string): string {
  let longest = 2
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  return '`'.repeat(longest + 1)
}

/** A picture with a numbered mark at each point that notes are about (WB-262). */
function MarkedPicture({ address, marks }: { address: string; marks: { to: string; position: Position }[] }) {
  const { width = 0, height = 0 } = marks[0]?.position ?? {}
  if (width === 0 || height === 0) return <img src={address} alt="After" loading="lazy" />
  const radius = Math.max(width, height) / 30
  return (
    <svg class="marked" viewBox={`0 0 ${width} ${height}`} width={width} height={height}>
      <title>After, with {marks.length === 1 ? '1 mark' : `${marks.length} marks`}</title>
      <image href={address} width={width} height={height} />
      {marks.map(({ to, position }, i) => {
        const [x, y] = [((position.x ?? 0) * width) / (position.width || width), ((position.y ?? 0) * height) / (position.height || height)]
        return (
          <a key={to} href={`#${to}`} aria-label={`Comment ${i + 1} on the picture`}>
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

/** The lines from the first of a range to this one, as far as the diff has them after the change. */
const linesUpTo = (file: FileDiff, line: Line, from: number | undefined): string[] =>
  linesOf(file.diff)
    .filter(({ new: now }) => now !== null && now >= Math.min(from ?? now, line.new ?? 0) && now <= (line.new ?? 0))
    .slice(-MAX_SUGGESTED)
    .map(({ text }) => text)

/** The most lines that a suggestion replaces. */
const MAX_SUGGESTED = 100

/** What a comment on a line has beside its place in the list of changes. */
export const lineText = z.object({
  note: z.object({ note: orDefault(documented.filled(), '') }),
  from: changesInput.shape.from,
  position: positionParameters.omit({ line_range: true }),
  how: opt(oneOf(['review', 'now'])),
})

/** The form of a new comment on a line, or on the file as a whole. */
function NewComment({ shown, file, line }: { shown: Shown; file: FileDiff; line: Line | null }) {
  const { view, changes, at, kept, input, parts } = shown
  const anchor = fileAnchor(file.new_path)
  const here = { ...kept, on: anchor, line: line ? keyOf(line) : 'file' }
  const range: Record<string, string> = input.from === undefined ? {} : { from: String(input.from) }
  const place = shown.landing ? shown.landing(file, line) : { file, line }
  const position = {
    ...shaFields(changes),
    position_type: line ? 'text' : 'file',
    old_path: place?.file.old_path ?? file.old_path,
    new_path: file.new_path,
    old_line: String(place?.line?.old ?? ''),
    new_line: String(place?.line?.new ?? ''),
  }
  const suggested = line?.new ? linesUpTo(file, line, input.from ?? line.new) : []
  const fence = fenceFor(suggested.join('\n'))
  const suggestion =
    input.suggest && suggested.length > 0 ? `${fence}suggestion:-${suggested.length - 1}+0\n${suggested.join('\n')}\n${fence}\n` : undefined
  const size = line ? null : shown.size
  const f = fieldsOf(view, lineText)
  return (
    <div class="box thread" id="comment">
      <EditorForm view={view} action={`${parts.at}/discussions`} once>
        <FormFaults view={view} />
        {(Object.keys(position) as (keyof typeof position)[]).map((name) => (
          <Hidden key={name} {...f.position[name]} value={position[name]} />
        ))}
        {Object.entries(here).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <Editor
          {...f.note.note}
          within="new"
          label={line ? `Comment on line ${line.new ?? line.old}` : `Comment on ${file.new_path}`}
          value={suggestion}
          rows={4}
          autofocus
          project={parts.project}
        />
        {line && place?.line?.new === line.new && (
          <Field
            {...f.from}
            within="new"
            label="From line"
            value={range['from']}
            hint="Empty: about this line alone. With shift and a click on another line, about all between them."
          />
        )}
        {size && (
          <fieldset>
            <legend>Where in the picture ({`${size.width} × ${size.height}`}); empty: about the file</legend>
            <Hidden {...f.position.width} value={size.width} />
            <Hidden {...f.position.height} value={size.height} />
            <div class="toolbar">
              <Field {...f.position.x} within="new" label="From the left" />
              <Field {...f.position.y} within="new" label="From the top" />
            </div>
            <p>Or write the comment, and choose the point here:</p>
            <div class="choosing">
              <input type="image" name="point" src={shown.pictureAt(file)} alt="Comment at a point of the picture" />
            </div>
          </fieldset>
        )}
        <div class="toolbar">
          <Submit label="Add to review" name={f.how.name} value="review" />
          <Submit label="Comment now" name={f.how.name} value="now" class="" />
          {line?.new && !input.suggest && (
            <a href={`${withQuery(view.links.prefix + at, { ...here, ...range, suggest: '1' })}#comment`} data-into="comment" data-query="only=1">
              Suggest a change
            </a>
          )}
          <a href={`${withQuery(view.links.prefix + at, kept)}#${line ? `${anchor}_${keyOf(line)}` : anchor}`} data-remove="comment">
            Cancel
          </a>
        </div>
      </EditorForm>
    </div>
  )
}
