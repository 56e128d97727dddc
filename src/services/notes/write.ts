import { createHash } from 'node:crypto'
import { and, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import type { Sender, Transaction } from '../../db/client.js'
import { decoded } from '../../db/decoded.js'
import { draftNotes, events, issues, mentions, mergeRequests, notes, projects, snippets, todos, users } from '../../db/schema/index.js'
import { batchStatement } from '../../db/statement.js'
import { conflict, failedTo, forbidden, notFound } from '../../failures.js'
import { titleOf } from '../../rules/commit-title.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { VISIBILITY_LEVEL } from '../../rules/visibility.js'
import { insertCrossReferencesOn, issueReferencesIn, type Mentioner, recordCrossReferences, resolveMentions } from '../activity/cross-references.js'
import { findMentionedUsers, mentionedNames, recordMentions } from '../activity/mentions.js'
import { removeNotes } from '../activity/note-removal.js'
import { checkSpam } from '../core/spam-filter.js'
import { userRefColumns } from '../identity/user-ref.js'
import { actAs } from '../outbox/acting.js'
import { getNote, type NoteRecord } from './list.js'
import { isAbout, isIssuable, keyOf, type Noteable, type NoteableSubject, recountThreads, targetOf } from './noteables.js'
import { recordSuggestions, suggests } from './suggestion-records.js'

type Row = typeof notes.$inferSelect

/** The maximum length of a note, in characters (SEC-63). */
const MAX_NOTE = 1_000_000

export function checkBody(body: string): void {
  const faults = [...(body.trim() === '' ? ["can't be blank"] : []), ...(lengthOf(body) > MAX_NOTE ? [tooLong(MAX_NOTE)] : [])]
  if (faults.length > 0) throw failedTo('save note', { note: faults })
}

export interface NewNote {
  body: string
  /** Only owners and administrators can set it (5.1 row 11). */
  created_at?: Date | undefined
  /** The draft that it is made of: it is forgotten with the note, and there is no note without it (WB-264). */
  draft?: number | undefined
  /** Whether it is part of a review, whose mail has it (ML-600). */
  in_review?: boolean | undefined
}

/** Columns that make a note part of a thread. */
export type ThreadColumns = Pick<Row, 'type' | 'position'> & Partial<Pick<Row, 'discussion_id' | 'path' | 'line' | 'line_type' | 'excerpt'>>

/** The kind of thing that a note is about, and whether it is made of a draft. */
interface NoteShape {
  type: Noteable['type']
  draft: boolean
}

const value = (name: string) => sql`${sql.placeholder(name)}`
const timestamp = (name: string) => sql`${sql.placeholder(name)}::timestamptz`

/** SQL that locks the noteable and counts the note; no row if the noteable no longer exists, or the draft of the note. */
function lockAndCount({ type, draft }: NoteShape) {
  const changed = sql`updated_at = greatest(t.updated_at, ${timestamp('now')})`
  switch (type) {
    case 'Issue':
      return sql`update ${issues} t set user_notes_count = t.user_notes_count + 1, ${changed} where t.id = ${value('id')} returning t.id`
    case 'MergeRequest':
      return sql`update ${mergeRequests} t set user_notes_count = t.user_notes_count + 1, ${changed}
        where t.id = ${value('id')} and t.deleted_at is null ${draft ? sql`and exists (select from forgotten)` : sql``} returning t.id`
    case 'Snippet':
      return sql`update ${snippets} t set ${changed} where t.id = ${value('id')} returning t.id`
    case 'Commit':
      return sql`select ${value('id')}::bigint as id`
  }
}

/**
 * Inserts a note with everything it entails in one statement, to hold the lock on a busy issue only briefly (TO-5,
 * TO-6, NT-7, EV-5, EV-7). No row if the noteable no longer exists.
 */
const insertNote = batchStatement('write a note', (db, shape: NoteShape) => {
  const { type, draft } = shape
  const forgotten = db.$with('forgotten', {}).as(sql`delete from ${draftNotes} where id = ${value('draft')}::bigint returning id`)
  const thing = db.$with('thing', {}).as(lockAndCount(shape))
  const note = db
    .$with('note', {})
    .as(sql`insert into ${notes} (project_id, noteable_type, noteable_id, commit_id, author_id, note, type, discussion_id,
      position, path, line, line_type, excerpt, in_review, created_at, updated_at)
    select ${value('project')}, ${type}, thing.id, ${value('commit')}, ${value('author')}, ${value('body')}, ${value('note_type')},
      ${value('discussion')}, ${value('position')}::jsonb, ${value('path')}, ${value('line')}::integer, ${value('line_type')}, ${value('excerpt')},
      ${value('in_review')}::boolean, ${timestamp('created_at')}, ${timestamp('created_at')} from thing returning id`)
  const event = db.$with('event', {}).as(sql`insert into ${events} (project_id, author_id, action, target_type, target_id, target_title,
      about_type, about_id, created_at)
    select ${value('project')}, ${value('author')}, 'commented', coalesce(${value('note_type')}, 'Note'), note.id, ${value('title')},
      ${type}, ${value('id')}, ${timestamp('now')} from note`)
  const active = db.$with('active', {}).as(sql`update ${projects} p set last_activity_at = greatest(p.last_activity_at, ${timestamp('now')})
    from note where p.id = ${value('project')}`)
  const ofThing = sql`t.project_id = ${value('project')} and t.target_type = ${type} and t.target_id = ${value('id')}`
  const done = db.$with('done', {}).as(sql`update ${todos} t set state = 'done', updated_at = ${timestamp('now')}
    from note where ${ofThing} and t.user_id = ${value('author')} and t.state = 'pending'`)
  const named = db.$with('named', {}).as(sql`insert into ${mentions} (project_id, target_type, target_id, note_id, user_id)
    select ${value('project')}, ${type}, ${value('id')}, note.id, who from note, unnest(${value('named')}::bigint[]) who`)
  const notified = db
    .$with('notified', {})
    .as(sql`insert into ${todos} (user_id, author_id, project_id, target_type, target_id, note_id, action, created_at, updated_at)
    select who, ${value('author')}, ${value('project')}, ${type}, ${value('id')}, note.id, action, ${timestamp('now')}, ${timestamp('now')}
    from note, unnest(${value('notified')}::bigint[], ${value('actions')}::text[]) as news (who, action) on conflict do nothing`)
  const extra = isIssuable(type) ? [done, named, notified] : []
  return db
    .with(...(draft ? [forgotten] : []), thing, note, event, active, ...extra)
    .select({
      id: decoded(sql<number>`note.id`, Number),
      author: userRefColumns(users),
    })
    .from(users)
    .innerJoin(sql`note`, sql`true`)
    .where(eq(users.id, sql.placeholder('author')))
})

const recountStep = batchStatement('count threads of a merge request', (db) =>
  db
    .with(db.$with('counted', {}).as(recountThreads(sql`r.id = ${value('id')}`)))
    .select({ one: sql<number>`1` })
    .from(sql`(select 1) one`),
)

const recountSteps = (on: Sender, { type, id }: Noteable) => (type === 'MergeRequest' ? [recountStep(on, null).execute({ id })] : [])

/** The source of cross-references from a note; mentions in notes on snippets are not recorded (IS-23). */
const mentionerOf = ({ type, project_id, id, commit }: Noteable): Mentioner | null =>
  type === 'Snippet' ? null : { type, project_id, id, sha: commit?.oid ?? null }

/**
 * Creates a note: a single note, the first note of a discussion, a reply, or a comment on a commit (NT-3, DI-3, DI-5,
 * C-59).
 */
export async function createNote(
  ctx: Context,
  caller: SignedIn,
  subject: NoteableSubject,
  given: NewNote,
  thread: ThreadColumns = { type: null, position: null },
): Promise<NoteRecord> {
  checkBody(given.body)
  const { noteable } = subject
  await checkSpam(ctx, caller, {
    kind: 'note',
    text: given.body,
    project_id: noteable.project_id,
    noteable_type: noteable.type,
    noteable_id: noteable.id,
    data: { body: given.body, thread, at: noteable.iid ?? noteable.commit?.oid ?? noteable.id },
    isPublic: noteable.open && subject.project.visibility === VISIBILITY_LEVEL.public,
    byMember: subject.level > 0,
  })
  const now = ctx.now()
  const created_at = (subject.can('backdate_note') && given.created_at) || now
  const { users: mentionedUsers, addressed } = await findMentionedUsers(caller, await mentionedNames(ctx.cpu.slices, given.body), (candidates) =>
    subject.readersAmong(ctx.db.write, candidates),
  )
  const notified = mentionedUsers.filter((id) => id !== caller.user.id)
  const mentioner = mentionerOf(noteable)
  const mentioned = mentioner ? await resolveMentions(ctx, caller, subject, await issueReferencesIn(ctx, given.body)) : []
  const commit_id = noteable.commit?.oid ?? null
  const { type, position, discussion_id = ctx.random.bytes('discussion', 20).toString('hex'), path = null, line = null, line_type = null } = thread
  // Postgres stores no NUL
  const excerpt = thread.excerpt?.replaceAll('\0', '\ufffd') ?? null
  const values = {
    now: now.toISOString(),
    project: noteable.project_id,
    id: noteable.id,
    commit: commit_id,
    author: caller.user.id,
    body: given.body,
    note_type: type,
    discussion: discussion_id,
    position: position && JSON.stringify(position),
    path,
    line,
    line_type,
    excerpt,
    in_review: given.in_review ?? false,
    created_at: created_at.toISOString(),
    title: noteable.commit && titleOf(noteable.commit.message).replaceAll('\0', '\ufffd'),
    named: mentionedUsers,
    draft: given.draft,
    notified,
    actions: notified.map((id) => (addressed.has(id) ? 'directly_addressed' : 'mentioned')),
  }
  const shape = { type: noteable.type, draft: given.draft !== undefined }
  const write = (on: Sender) => insertNote(on, shape).execute(values)
  const insertReferences = (on: Sender) => (mentioner ? insertCrossReferencesOn(on, mentioner, mentioned, caller.user.id, now) : [])
  const [row] =
    noteable.type === 'MergeRequest' || mentioned.length > 0
      ? (await ctx.db.batch((on) => [write(on), ...recountSteps(on, noteable), ...insertReferences(on)]))[0]
      : await ctx.db.single(write)
  if (!row) throw notFound()
  const note: Row = {
    ...INITIAL_COLUMNS,
    id: row.id,
    project_id: noteable.project_id,
    noteable_type: noteable.type,
    noteable_id: noteable.id,
    commit_id,
    author_id: caller.user.id,
    note: given.body,
    type,
    discussion_id,
    position,
    path,
    line,
    line_type,
    excerpt,
    in_review: given.in_review ?? false,
    created_at,
    updated_at: created_at,
  }
  if (suggests(note)) await ctx.db.transaction((tx) => recordSuggestions(tx, note))
  return { note, author: row.author, resolved_by: null, iid: noteable.iid }
}

/** Columns that are the same in every new note of a user. */
const INITIAL_COLUMNS = {
  resolved_at: null,
  resolved_by_id: null,
  system: false,
  mentioned_in_type: null,
  mentioned_in_project_id: null,
  mentioned_in_id: null,
  mentioned_in_sha: null,
}

/** Locks a noteable, updates `updated_at` and adds to its count of notes; false if it no longer exists. */
export async function touchNoteable(tx: Transaction, { type, id }: Noteable, now: Date, addedNotes: number): Promise<boolean> {
  if (type === 'Commit') return true
  const changed = sql`updated_at = greatest(t.updated_at, ${now.toISOString()}::timestamptz)`
  const thing = sql`t.id = ${id}`
  const { rowCount } = await tx.execute(
    type === 'Snippet'
      ? sql`update ${snippets} t set ${changed} where ${thing}`
      : type === 'Issue'
        ? sql`update ${issues} t set user_notes_count = t.user_notes_count + ${addedNotes}, ${changed} where ${thing}`
        : sql`update ${mergeRequests} t set user_notes_count = t.user_notes_count + ${addedNotes}, ${changed} where ${thing} and t.deleted_at is null`,
  )
  return rowCount === 1
}

/**
 * Locks a note that the caller may change: their own, or any note if their role allows it (5.1 row 31). System notes
 * cannot be changed (NT-6).
 */
async function lockEditableNote(
  tx: Transaction,
  caller: SignedIn,
  subject: NoteableSubject,
  id: number,
  discussion: string | undefined,
): Promise<Row> {
  const { noteable } = subject
  const [note] = await tx
    .select()
    .from(notes)
    .where(and(isAbout(noteable.type, sql`${noteable.project_id}`, sql`${keyOf(noteable)}`), eq(notes.id, id)))
    .for('update')
  if (!note || (discussion !== undefined && note.discussion_id !== discussion)) throw notFound()
  if (note.system || (note.author_id !== caller.user.id && !subject.can('manage_notes'))) throw forbidden()
  return note
}

/** Stands for a text that a form was made with. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16)

/** Changes the text of a note (NT-4, DI-6); 409 if `before` is not the digest of the text that it has (WB-91). */
export async function updateNote(
  ctx: Context,
  caller: SignedIn,
  subject: NoteableSubject,
  { id, body, discussion, before: known }: { id: number; body: string; discussion?: string | undefined; before?: string | undefined },
): Promise<NoteRecord> {
  const { noteable } = subject
  const mentioner = mentionerOf(noteable)
  const mentioned = mentioner ? await resolveMentions(ctx, caller, subject, await issueReferencesIn(ctx, body)) : []
  await ctx.db.transaction(async (tx) => {
    const now = ctx.now()
    const [exists] = await Promise.all([touchNoteable(tx, noteable, now, 0), actAs(tx, caller.user.id)])
    if (!exists) throw notFound()
    const before = await lockEditableNote(tx, caller, subject, id, discussion)
    checkBody(body)
    if (known !== undefined && known !== digestOf(before.note)) throw conflict('The comment has changed since you began to edit it')
    await tx.update(notes).set({ note: body, updated_at: now }).where(eq(notes.id, id))
    if (suggests(before)) await recordSuggestions(tx, { ...before, note: body })
    if (mentioner) await recordCrossReferences(tx, mentioner, mentioned, caller.user.id, now)
    const target = targetOf(noteable)
    if (target)
      await recordMentions(ctx, tx, caller, { target, note_id: id, text: body, before: before.note }, (candidates) =>
        subject.readersAmong(tx, candidates),
      )
  })
  return getNote(ctx, caller, noteable, id)
}

/** Deletes a note (NT-5, DI-7). `check` gets the time of its last change. */
export async function deleteNote(
  ctx: Context,
  caller: SignedIn,
  subject: NoteableSubject,
  { id, discussion }: { id: number; discussion?: string | undefined },
  check: (changed: Date) => void,
): Promise<void> {
  const { noteable } = subject
  await ctx.db.transaction(async (tx) => {
    if (!(await touchNoteable(tx, noteable, ctx.now(), -1))) throw notFound()
    check((await lockEditableNote(tx, caller, subject, id, discussion)).updated_at)
    await removeNotes(tx, [id])
    if (noteable.type === 'MergeRequest') await tx.execute(recountThreads(sql`r.id = ${noteable.id}`))
  })
}
