import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import { fullPathOf } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import type { FileDiff } from '../../../../git/types.js'
import { isPicture, type Size } from '../../../../rules/reviews/picture-size.js'
import { type ShownChanges, shownChanges } from '../../../../services/issuables/merge-requests/reading/contents.js'
import { type LineMapping, lineMappingIn } from '../../../../services/issuables/merge-requests/reading/line-mapping.js'
import { type Seen, seenBy } from '../../../../services/issuables/merge-requests/reading/seen.js'
import { type DraftNote, listDrafts } from '../../../../services/notes/drafts.js'
import { type DiscussionRecord, threadsOfFiles } from '../../../../services/notes/list.js'
import { aboutMergeRequest } from '../../../../services/notes/noteables.js'
import { sizeOfFile } from '../../../../services/notes/pictures.js'
import { repositoryOf } from '../../../../services/repository/repositories.js'
import { fileAnchor } from '../../../components/diff/diff.js'
import { openedFile } from '../../../components/diff/whole-file.js'
import { discussionParts } from '../../../components/discussion/load.js'
import type { DiscussionParts } from '../../../components/discussion/shown.js'
import { projectLinks } from '../../../links.js'
import type { PageView } from '../../../page.js'
import { addressOf } from '../address.js'
import { type Placed, placesOf, positionOfThread } from '../places.js'
import { type Input, keptOf, withQuery } from './address.js'

/** What one page shows at most; further files and lines are links. */
export const FILES_PER_PAGE = 50
const MAX_THREADS = 50

/** Everything that the parts of the page share. */
export interface Shown {
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
  lineMapping: LineMapping | null
}

export async function load(
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
  const whole = await openedFile(repositoryOf(ctx, project), changes.to, files, input)
  const placed = { ...changes, files: files.map((file) => (file.new_path === whole?.new_path ? whole : file)) }
  const { items: discussions, total } = await threadsOfFiles(ctx, caller, about.noteable, paths, MAX_THREADS)
  const threads = placesOf(discussions, positionOfThread, placed)
  const parts = await discussionParts(ctx, caller, about, {
    at: addressOf(subject),
    discussions,
    asked: input,
    back: withQuery(at, kept),
    head: request.sha,
    drafts: drafted,
    excerpted: [...threads.values()].flatMap(({ outdated }) => outdated),
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
    threads,
    drafts: placesOf(drafted, (draft) => draft, placed),
    mayComment: parts.mayWrite && changes.version !== null,
    lineMapping: parts.mayWrite && (input.w || changes.since || changes.commit) ? await lineMappingIn(ctx, project, request, changes) : null,
    drafted: drafted.length,
    moreThreads: total - discussions.length,
  }
}

/** The files of this page, or the only one that is wanted. */
export const filesOf = ({ files }: ShownChanges, { only, on, page: number }: Input): FileDiff[] =>
  only ? files.filter(({ new_path }) => fileAnchor(new_path) === on) : files.slice((number - 1) * FILES_PER_PAGE, number * FILES_PER_PAGE)
