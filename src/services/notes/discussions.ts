import { and, eq, inArray, isNotNull, isNull, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { findMergeRequestFor } from '../../access/merge-requests.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { mergeRequests, notes } from '../../db/schema/index.js'
import { forbidden, notFound, refused } from '../../failures.js'
import type { Target } from '../activity/subscriptions.js'
import { writeSystemNotes } from '../activity/system-notes.js'
import { type DiscussionRecord, getDiscussion, getNote, type NoteRecord, unresolvedThreads } from './list.js'
import { aboutMergeRequest, type Noteable, type NoteableSubject, recountThreads, targetOf } from './noteables.js'
import { type GivenPosition, threadAtPosition } from './positions.js'
import { checkBody, createNote, type NewNote, touchNoteable } from './write.js'

/** Starts a discussion, at a position if one is given (DI-3). */
export async function createDiscussion(
  ctx: Context,
  caller: SignedIn,
  subject: NoteableSubject,
  { position, ...given }: NewNote & { position?: GivenPosition | null | undefined },
): Promise<DiscussionRecord> {
  checkBody(given.body)
  const thread = position ? await threadAtPosition(ctx, subject, position) : { type: 'DiscussionNote' as const, position: null }
  const record = await createNote(ctx, caller, subject, given, thread)
  return { id: record.note.discussion_id, notes: [record] }
}

/** Replies to a discussion, at the position of its first note (DI-5). */
export async function replyTo(ctx: Context, caller: SignedIn, subject: NoteableSubject, id: string, given: NewNote): Promise<NoteRecord> {
  const { notes: members } = await getDiscussion(ctx, caller, subject.noteable, id)
  const { type, position, discussion_id, path, line, line_type, excerpt } = (members[0] as NoteRecord).note
  if (type === null) throw refused('A note that stands alone cannot be answered')
  return createNote(ctx, caller, subject, given, { type, position, discussion_id, path, line, line_type, excerpt })
}

/** Developers and the authors of the merge request and of the note may resolve (5.1 row 30 with its note). */
export const mayResolve = ({ user }: SignedIn, subject: NoteableSubject, { note }: NoteRecord) =>
  subject.can('resolve_thread') || user.id === subject.noteable.author_id || user.id === note.author_id

function checkResolver(caller: SignedIn, subject: NoteableSubject, record: NoteRecord): void {
  if (!mayResolve(caller, subject, record)) throw forbidden()
}

/** Resolves or reopens a note of a discussion on a merge request (DI-6). */
export async function resolveNote(
  ctx: Context,
  caller: SignedIn,
  subject: NoteableSubject,
  { id, discussion, resolved }: { id: number; discussion: string; resolved: boolean },
): Promise<NoteRecord> {
  const record = await getNote(ctx, caller, subject.noteable, id, discussion)
  if (!isResolvable(record)) throw refused('Only notes of threads on merge requests can be resolved')
  checkResolver(caller, subject, record)
  await setResolved(ctx, caller, subject, { discussion, id }, resolved)
  return getNote(ctx, caller, subject.noteable, id, discussion)
}

/** Resolves or reopens all notes of a discussion (DI-8). */
export async function resolveDiscussion(
  ctx: Context,
  caller: SignedIn,
  subject: NoteableSubject,
  { discussion, resolved }: { discussion: string; resolved: boolean },
): Promise<DiscussionRecord> {
  const { notes: members } = await getDiscussion(ctx, caller, subject.noteable, discussion)
  const [first] = members as [NoteRecord]
  if (!isResolvable(first)) throw refused('Only threads on merge requests can be resolved')
  checkResolver(caller, subject, first)
  await setResolved(ctx, caller, subject, { discussion }, resolved)
  return getDiscussion(ctx, caller, subject.noteable, discussion)
}

/** Only notes of discussions on merge requests can be resolved (DI-9). */
const isResolvable = ({ note }: NoteRecord) => note.noteable_type === 'MergeRequest' && note.type !== null

const setResolved = (
  ctx: Context,
  { user }: SignedIn,
  { noteable }: NoteableSubject,
  { discussion, id }: { discussion: string; id?: number },
  resolved: boolean,
): Promise<void> => ctx.db.transaction((tx) => resolveThreads(tx, user.id, noteable, { discussions: [discussion], id, resolved }, ctx.now()))

/**
 * Resolves or reopens the notes of threads of a merge request, or one of the notes. Adds a system note when no
 * unresolved thread is left (NT-6).
 */
async function resolveThreads(
  tx: Transaction,
  userId: number,
  noteable: Noteable,
  { discussions, id, resolved }: { discussions: string[]; id?: number | undefined; resolved: boolean },
  now: Date,
): Promise<void> {
  const target = targetOf(noteable) as Target
  const unresolved = tx
    .select({ open: mergeRequests.unresolved_discussions_count })
    .from(mergeRequests)
    .where(and(eq(mergeRequests.id, target.id), isNull(mergeRequests.deleted_at)))
  const [before] = await unresolved.for('update')
  if (!before) throw notFound()
  const changed = await tx
    .update(notes)
    .set(resolved ? { resolved_at: now, resolved_by_id: userId, updated_at: now } : { resolved_at: null, resolved_by_id: null, updated_at: now })
    .where(
      and(
        eq(notes.project_id, target.project_id),
        eq(notes.noteable_type, 'MergeRequest'),
        eq(notes.noteable_id, target.id),
        inArray(notes.discussion_id, discussions),
        isNotNull(notes.type),
        resolved ? isNull(notes.resolved_at) : isNotNull(notes.resolved_at),
        id === undefined ? undefined : eq(notes.id, id),
      ),
    )
    .returning({ id: notes.id })
  if (changed.length === 0) return
  await touchNoteable(tx, noteable, now, 0)
  await tx.execute(recountThreads(sql`r.id = ${target.id}`))
  const [after] = await tx.select({ open: mergeRequests.unresolved_discussions_count }).from(mergeRequests).where(eq(mergeRequests.id, target.id))
  if (before.open > 0 && after?.open === 0) await writeSystemNotes(tx, target, userId, ['resolved all threads'], now)
}

/** Threads that a new issue replaces; they are resolved when it is created (IS-5). */
export interface ThreadsForIssue {
  /** Links to the threads, without their texts: readers of the issue may not see the merge request. */
  description: string
  resolve(tx: Transaction): Promise<void>
}

/**
 * The unresolved threads of a merge request that the caller may resolve, or one of them by id; null if there is none.
 */
export async function findThreadsForIssue(
  ctx: Context,
  caller: SignedIn,
  project: ProjectSubject,
  { request: iid, discussion }: { request: number; discussion?: string | undefined },
): Promise<ThreadsForIssue | null> {
  const found = project.can('read_own_merge_request') ? await findMergeRequestFor(ctx, caller, project, iid) : null
  const subject = found && aboutMergeRequest(found)
  if (!subject?.may('create_note')) return null
  const { noteable } = subject
  const unresolved = (await unresolvedThreads(ctx, caller, noteable)).filter(
    ({ id, notes: [first] }) => (discussion === undefined || id === discussion) && mayResolve(caller, subject, first as NoteRecord),
  )
  if (unresolved.length === 0) return null
  const page = `${ctx.links.project(fullPathOf(project.project))}/merge_requests/${iid}`
  return {
    description: [
      `Threads of !${iid} that were not resolved:`,
      '',
      ...unresolved.map(({ notes: [first] }) => `- [ ] ${page}#note_${first?.note.id}`),
    ].join('\n'),
    resolve: (tx) => resolveThreads(tx, caller.user.id, noteable, { discussions: unresolved.map(({ id }) => id), resolved: true }, ctx.now()),
  }
}
