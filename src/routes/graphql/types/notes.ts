import type { z } from 'zod'
import { fullPathOf } from '../../../access/rules.js'
import { Note, presentNote } from '../../../entities/notes/note.js'
import { linksOfReferences } from '../../../services/markdown/references.js'
import { mayResolve } from '../../../services/notes/discussions.js'
import { type DiscussionRecord, listDiscussions, listNotes, type NoteRecord } from '../../../services/notes/list.js'
import type { NoteableSubject } from '../../../services/notes/noteables.js'
import type { Call } from '../call.js'
import { Connection, mapped, PAGED, partOfList, partOfPages } from '../connection.js'
import { globalId } from '../global-id.js'
import { batched } from '../loaders.js'
import { type Fields, field, namesOf, objectType } from '../object-type.js'

/** What notes are about, and their texts as HTML, which are made together. */
interface Place {
  subject: NoteableSubject
  html(text: string): Promise<string | null>
}
interface NoteNode {
  record: NoteRecord
  place: Place
}
interface DiscussionNode {
  discussion: DiscussionRecord
  place: Place
}

/** Of those who are not signed in, to whom no notes are shown. */
export const NO_ELEMENTS = new Connection<never>([], 0, 0)

function placeOf(subject: NoteableSubject, { ctx, caller }: Call): Place {
  const texts = batched<string, string>(async (all) => {
    const links = await linksOfReferences(ctx, { caller, project: subject }, all.join('\n\n'))
    return new Map(await Promise.all(all.map(async (text) => [text, await ctx.cpu.markdown.html(text, links)] as const)))
  })
  return { subject, html: (text) => texts.load(text) }
}

const isOpen = ({ caller }: Call) => caller.user !== null

/** The discussions on an issue or merge request, oldest first. */
export function discussionsOn(subject: NoteableSubject, args: z.infer<typeof PAGED>, call: Call) {
  if (!isOpen(call)) return NO_ELEMENTS
  const place = placeOf(subject, call)
  return mapped(
    partOfPages(args, (paging) => listDiscussions(call.ctx, call.caller, subject.noteable, paging)),
    (discussion): DiscussionNode => ({ discussion, place }),
  )
}

/** The notes on an issue or merge request, oldest first. */
export function notesOn(subject: NoteableSubject, args: z.infer<typeof PAGED>, call: Call) {
  if (!isOpen(call)) return NO_ELEMENTS
  const place = placeOf(subject, call)
  const order = { order_by: 'created_at', sort: 'asc', activity_filter: 'all_notes' } as const
  return mapped(
    partOfPages(args, (paging) => listNotes(call.ctx, call.caller, subject.noteable, { ...order, ...paging })),
    (record): NoteNode => ({ record, place }),
  )
}

const isResolvable = ({ note }: NoteRecord) => note.noteable_type === 'MergeRequest' && note.type !== null

/** A page of an issue or merge request, without its prefix. */
const ANCHORS: Partial<Record<NoteRecord['note']['noteable_type'], string>> = { Issue: 'issues', MergeRequest: 'merge_requests' }

const noteFields: Fields<NoteNode> = {
  id: ({ record: { note } }) => globalId(note.type ?? 'Note', note.id),
  bodyHtml: ({ record, place }) => place.html(record.note.note),
  author: ({ record }) => record.author,
  resolved: ({ record }) => isResolvable(record) && record.note.resolved_at !== null,
  resolvedAt: ({ record }) => record.note.resolved_at?.toISOString() ?? null,
  resolvedBy: ({ record }) => record.resolved_by,
  url: ({ record: { note, iid }, place: { subject } }, _, { view }) =>
    `${view.links.project(fullPathOf(subject.project))}/${ANCHORS[note.noteable_type]}/${iid}#note_${note.id}`,
  position: ({ record: { note } }) => note.position && { ...note.position },
  userPermissions: ({ record, place: { subject } }, _, { caller }) => ({
    adminNote: caller.user !== null && !record.note.system && (record.note.author_id === caller.user.id || subject.can('manage_notes')),
    awardEmoji: subject.can('award_emoji'),
    createNote: subject.may('create_note'),
    readNote: true,
    resolveNote: caller.user !== null && isResolvable(record) && mayResolve({ ...caller, user: caller.user }, subject, record),
  }),
}

const first = ({ discussion: { notes } }: DiscussionNode) => notes[0]
/** The note that was resolved last, if all are. */
const closing = ({ discussion: { notes } }: DiscussionNode) => {
  const resolvable = notes.filter(isResolvable)
  if (resolvable.length === 0 || resolvable.some(({ note }) => note.resolved_at === null)) return null
  return resolvable.reduce((a, b) => ((a.note.resolved_at ?? 0) >= (b.note.resolved_at ?? 0) ? a : b))
}

const discussionFields: Fields<DiscussionNode> = {
  id: ({ discussion }) => globalId('Discussion', discussion.id),
  replyId: ({ discussion }) => globalId('Discussion', discussion.id),
  createdAt: (node) => first(node)?.note.created_at.toISOString(),
  resolvable: ({ discussion }) => discussion.notes.some(isResolvable),
  resolved: (node) => closing(node) !== null,
  resolvedAt: (node) => closing(node)?.note.resolved_at?.toISOString() ?? null,
  resolvedBy: (node) => closing(node)?.resolved_by ?? null,
  notes: field(PAGED, ({ discussion, place }: DiscussionNode, args) =>
    partOfList(
      discussion.notes.map((record): NoteNode => ({ record, place })),
      args,
    ),
  ),
}

type Position = NonNullable<NoteRecord['note']['position']>

export const noteTypes = {
  Note: objectType<NoteNode>({ fields: noteFields, shown: ({ record }, { view }) => presentNote(record, view), entity: namesOf(Note) }),
  Discussion: objectType<DiscussionNode>({ fields: discussionFields }),
  DiffPosition: objectType<Position>({
    fields: {
      diffRefs: ({ base_sha, head_sha, start_sha }) => ({ baseSha: base_sha, headSha: head_sha, startSha: start_sha }),
      filePath: ({ new_path, old_path }) => new_path || old_path,
    },
    shown: (position) => position,
    entity: ['position_type', 'old_path', 'new_path', 'old_line', 'new_line', 'width', 'height', 'x', 'y'],
  }),
}
