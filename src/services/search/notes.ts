import { and, asc, eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { SignedIn } from '../../access/actor.js'
import { type NoteReach, noteReach } from '../../access/can.js'
import type { ProjectSubject } from '../../access/rules.js'
import { notesInReach, type ViewerKind, viewerKindOf } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { inIds } from '../../db/conditions.js'
import { totalCount } from '../../db/decoded.js'
import { type Fuzzy, fuzzy, fuzzyMatch, planFor } from '../../db/fuzzy.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../db/long-text.js'
import { issues, mergeRequests, notes, snippets, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import { userRefColumns } from '../identity/user-ref.js'
import type { NoteRecord } from '../notes/list.js'

interface Shape {
  reach: NoteReach
  viewerKind: ViewerKind
  words: Fuzzy['shape']
}

const resolvers = alias(users, 'resolver')

const about = {
  issue: and(eq(notes.noteable_type, 'Issue'), eq(issues.id, notes.noteable_id)),
  request: and(eq(notes.noteable_type, 'MergeRequest'), eq(mergeRequests.id, notes.noteable_id)),
  snippet: and(eq(notes.noteable_type, 'Snippet'), eq(snippets.id, notes.noteable_id)),
}

const conditions = ({ reach, viewerKind, words }: Shape) =>
  and(
    eq(notes.project_id, sql.placeholder('project')),
    sql`not ${notes.system}`,
    notesInReach(reach, viewerKind, sql`${sql.placeholder('user')}::bigint`),
    fuzzyMatch([notes.note], words),
  )

/** The ids of one page, and the total. A separate statement loads the rest, so that its plan is cached. */
const selectIds = statement(
  'ids of notes of a search',
  (db, shape: Shape) =>
    db
      .select({ id: notes.id, total: totalCount() })
      .from(notes)
      .leftJoin(issues, about.issue)
      .leftJoin(mergeRequests, about.request)
      .leftJoin(snippets, about.snippet)
      .where(conditions(shape))
      .orderBy(asc(notes.created_at), asc(notes.id))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset')),
  ({ words }) => planFor(words),
)

const selectNotes = statement('notes of a search', (db) =>
  db
    .select({
      note: READ_COLUMNS.notes,
      author: userRefColumns(users),
      resolved_by: userRefColumns(resolvers),
      iid: sql<number | null>`coalesce(${issues.iid}, ${mergeRequests.iid})`,
    })
    .from(notes)
    .innerJoin(users, eq(users.id, notes.author_id))
    .leftJoin(resolvers, eq(resolvers.id, notes.resolved_by_id))
    .leftJoin(issues, about.issue)
    .leftJoin(mergeRequests, about.request)
    .where(inIds(notes.id))
    .orderBy(asc(notes.created_at), asc(notes.id)),
)

/** User notes in a project that the caller may read (S-13, S-20). */
export async function searchNotes(
  ctx: Context,
  { user }: SignedIn,
  subject: ProjectSubject,
  text: string,
  paging: Paging,
): Promise<Page<NoteRecord>> {
  const words = fuzzy(text, 'part')
  const shape: Shape = { reach: noteReach(subject), viewerKind: viewerKindOf(user), words: words.shape }
  const values = { ...words.values, project: subject.project.id, user: user.id }
  const { items: ids, total } = await pageFrom(selectIds(ctx.db, shape), values, paging)
  const items = ids.length === 0 ? [] : ((await selectNotes(ctx.db, null).execute({ ids: ids.map(({ id }) => id) })) as NoteRecord[])
  const texts = items.map(({ note }) => note)
  await completeTexts(ctx, LONG_TEXTS.notes, texts, 'page')
  return { items, total }
}
