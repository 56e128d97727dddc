import { and, asc, desc, eq, getTableColumns, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Caller } from '../../access/actor.js'
import { qualified } from '../../access/roles.js'
import { type ViewerKind, viewerKindOf } from '../../access/visible.js'
import type { Context } from '../../context.js'
import type { ReadDatabase } from '../../db/client.js'
import { count, decoded, totalCount } from '../../db/decoded.js'
import { completeTexts, LONG_TEXTS, prefixOf } from '../../db/long-text.js'
import { issues, mergeRequests, notes, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { notFound } from '../../failures.js'
import { canSeeMentioner, textOfNote } from '../activity/cross-references.js'
import { type Page, type Paging, pageAndTotal, pageFrom } from '../core/page.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import { isAbout, isIssuable, keyOf, type Noteable } from './noteables.js'

/** A note with everything that its entity shows. */
export interface NoteRecord {
  note: typeof notes.$inferSelect
  author: UserRefRecord
  resolved_by: UserRefRecord | null
  /** The iid of the noteable, if it has one. */
  iid: number | null
}

export const NOTE_ORDERS = ['created_at', 'updated_at'] as const
export const ACTIVITY_FILTERS = ['all_notes', 'only_comments', 'only_activity'] as const

export interface NoteFilter extends Paging {
  order_by: (typeof NOTE_ORDERS)[number]
  sort: 'asc' | 'desc'
  activity_filter: (typeof ACTIVITY_FILTERS)[number]
}

const resolvers = alias(users, 'resolver')
const author = userRefColumns(users)
const resolver = userRefColumns(resolvers)

const notesQuery = (db: ReadDatabase) =>
  db
    .select({ note: { ...getTableColumns(notes), note: prefixOf(textOfNote()) }, author, resolved_by: resolver })
    .from(notes)
    .innerJoin(users, eq(users.id, notes.author_id))
    .leftJoin(resolvers, eq(resolvers.id, notes.resolved_by_id))

const value = (name: string) => sql`${sql.placeholder(name)}`

/** The caller who reads the notes. */
type Reader = Pick<Caller, 'user'>

/** Kind of noteable and kind of reader. */
interface View {
  type: Noteable['type']
  viewerKind: ViewerKind
}

const viewOf = ({ user }: Reader, { type }: Noteable): View => ({ type, viewerKind: viewerKindOf(user) })
const onNoteable = ({ type, viewerKind }: View) => {
  const own = isAbout(type, value('project'), value('key'))
  return isIssuable(type) ? qualified(sql`${own} and ${canSeeMentioner(viewerKind, sql`${value('user')}::bigint`)}`) : own
}
const valuesOf = ({ user }: Reader, noteable: Noteable) => ({ project: noteable.project_id, key: keyOf(noteable), user: user?.id ?? 0 })

interface Shape extends View {
  activity: NoteFilter['activity_filter']
}

const matching = ({ activity, ...view }: Shape) =>
  and(onNoteable(view), activity === 'all_notes' ? undefined : activity === 'only_activity' ? sql`${notes.system}` : sql`not ${notes.system}`)

const selectNotes = statement('notes of a thing', (db, shape: Shape & Pick<NoteFilter, 'order_by' | 'sort'>) => {
  const direction = shape.sort === 'asc' ? asc : desc
  return notesQuery(db)
    .where(matching(shape))
    .orderBy(direction(notes[shape.order_by]), direction(notes.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

/** Issues and merge requests store the number of user notes; system notes are counted with an index of their own. */
const selectTotal = statement('number of notes of a thing', (db, shape: Shape) => {
  const { type, activity } = shape
  if (!isIssuable(type)) return db.select({ total: count() }).from(notes).where(matching(shape))
  const thing = type === 'Issue' ? issues : mergeRequests
  const activities = qualified(sql`(select count(*) from ${notes} where ${matching({ ...shape, activity: 'only_activity' })})`)
  const comments = sql`${thing.user_notes_count}`
  const total = { all_notes: sql`${comments} + ${activities}`, only_comments: comments, only_activity: activities }[activity]
  return db
    .select({ total: decoded(sql<number>`${total}`, Number) })
    .from(thing)
    .where(eq(thing.id, value('key')))
})

const completeNotes = (ctx: Context, rows: Pick<NoteRecord, 'note'>[], size: 'whole' | 'page') =>
  completeTexts(
    ctx,
    LONG_TEXTS.notes,
    rows.map(({ note }) => note),
    size,
  )

/** The notes on a noteable (NT-1). */
export async function listNotes(ctx: Context, reader: Reader, noteable: Noteable, filter: NoteFilter): Promise<Page<NoteRecord>> {
  const shape = { ...viewOf(reader, noteable), activity: filter.activity_filter }
  const query = selectNotes(ctx.db, { ...shape, order_by: filter.order_by, sort: filter.sort })
  const { items, total } = await pageAndTotal(query, selectTotal(ctx.db, shape), valuesOf(reader, noteable), filter)
  await completeNotes(ctx, items, 'page')
  return { items: items.map((row) => ({ ...row, iid: noteable.iid })), total }
}

// who sees a mention makes these long: to plan them takes ten times as long as to run them
const selectNotesOfDiscussions = statement(
  'notes of discussions',
  (db, view: View) =>
    notesQuery(db)
      .where(sql`${onNoteable(view)} and ${notes.discussion_id} = any(${value('discussions')}::text[])`)
      .orderBy(asc(notes.created_at), asc(notes.id)),
  'once',
)

const selectNote = statement(
  'note of a thing',
  (db, view: View) => notesQuery(db).where(sql`${onNoteable(view)} and ${notes.id} = ${value('id')}`),
  'once',
)

/** One note on this noteable, and if `discussion` is given, of that discussion (NT-2, SEC-31). */
export async function getNote(ctx: Context, reader: Reader, noteable: Noteable, id: number, discussion?: string): Promise<NoteRecord> {
  const [row] = await selectNote(ctx.db, viewOf(reader, noteable)).execute({ ...valuesOf(reader, noteable), id })
  if (!row || (discussion !== undefined && row.note.discussion_id !== discussion)) throw notFound()
  await completeNotes(ctx, [row], 'whole')
  return { ...row, iid: noteable.iid }
}

/** A thread or a single note, oldest note first. */
export interface DiscussionRecord {
  id: string
  notes: NoteRecord[]
}

/** The ids of one page of discussions, ordered by their first notes. */
const selectDiscussions = statement(
  'discussions of a thing',
  (db, view: View) =>
    db
      .select({ id: notes.discussion_id, total: totalCount() })
      .from(notes)
      .where(onNoteable(view))
      .groupBy(notes.discussion_id)
      .orderBy(sql`min(${notes.created_at})`, sql`min(${notes.id})`)
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset')),
  'once',
)

async function loadDiscussions(ctx: Context, reader: Reader, noteable: Noteable, ids: string[]): Promise<DiscussionRecord[]> {
  if (ids.length === 0) return []
  const found = new Map(ids.map((id) => [id, [] as NoteRecord[]]))
  const rows = await selectNotesOfDiscussions(ctx.db, viewOf(reader, noteable)).execute({ ...valuesOf(reader, noteable), discussions: ids })
  await completeNotes(ctx, rows, 'page')
  for (const row of rows) found.get(row.note.discussion_id)?.push({ ...row, iid: noteable.iid })
  // all notes of a discussion may have been deleted meanwhile
  return [...found].flatMap(([id, own]) => (own.length > 0 ? [{ id, notes: own }] : []))
}

/** The discussions on a noteable, oldest first (DI-1). */
export async function listDiscussions(ctx: Context, reader: Reader, noteable: Noteable, paging: Paging): Promise<Page<DiscussionRecord>> {
  const { items, total } = await pageFrom(selectDiscussions(ctx.db, viewOf(reader, noteable)), valuesOf(reader, noteable), paging)
  const ids = items.map(({ id }) => id)
  return { items: await loadDiscussions(ctx, reader, noteable, ids), total }
}

/** One discussion on this noteable (DI-2). */
export async function getDiscussion(ctx: Context, reader: Reader, noteable: Noteable, id: string): Promise<DiscussionRecord> {
  const [found] = await loadDiscussions(ctx, reader, noteable, [id])
  if (!found) throw notFound('Discussion')
  return found
}

/** The most threads that one new issue replaces. */
const MAX_THREADS = 100

/** The unresolved threads of a merge request, oldest first. */
export async function unresolvedThreads(ctx: Context, reader: Reader, noteable: Noteable): Promise<DiscussionRecord[]> {
  const rows = await ctx.db.write
    .select({ id: notes.discussion_id })
    .from(notes)
    .where(
      sql`${notes.project_id} = ${noteable.project_id} and ${notes.noteable_type} = 'MergeRequest' and ${notes.noteable_id} = ${noteable.id}
        and ${notes.type} is not null and ${notes.resolved_at} is null`,
    )
    .groupBy(notes.discussion_id)
    .orderBy(sql`min(${notes.created_at})`, sql`min(${notes.id})`)
    .limit(MAX_THREADS)
  return loadDiscussions(
    ctx,
    reader,
    noteable,
    rows.map(({ id }) => id),
  )
}

const selectThreadsOfFiles = statement(
  'threads of files of a merge request',
  (db, view: View) =>
    db
      .select({ id: notes.discussion_id, total: totalCount() })
      .from(notes)
      .where(
        sql`${onNoteable(view)} and ${notes.type} = 'DiffNote'
        and (${notes.position} ->> 'new_path' = any(${value('paths')}::text[]) or ${notes.position} ->> 'old_path' = any(${value('paths')}::text[]))`,
      )
      .groupBy(notes.discussion_id)
      .orderBy(sql`bool_and(${notes.resolved_at} is not null)`, sql`min(${notes.id})`)
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset')),
  'once',
)

/** Threads about lines of these files, those that are not resolved first. */
export async function threadsOfFiles(
  ctx: Context,
  reader: Reader,
  noteable: Noteable,
  paths: string[],
  limit: number,
): Promise<Page<DiscussionRecord>> {
  const values = { ...valuesOf(reader, noteable), paths }
  const { items, total } = await pageFrom(selectThreadsOfFiles(ctx.db, viewOf(reader, noteable)), values, { page: 1, per_page: limit })
  const ids = items.map(({ id }) => id)
  return { items: await loadDiscussions(ctx, reader, noteable, ids), total }
}
