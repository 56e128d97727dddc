import { and, desc, eq, type SQLWrapper, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { type ViewerKind, viewerKindOf, visibleIssues, visibleMergeRequests } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { count } from '../../db/decoded.js'
import { conditionsOf, conditionsWith, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { completeTexts, LONG_TEXTS, nullablePrefixOf } from '../../db/long-text.js'
import { issues, mergeRequests, namespaceAncestry, namespaces, notes, projects, type TODO_ACTIONS, todos, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { notFound } from '../../failures.js'
import type { Keyset } from '../../lib/keyset.js'
import { type Page, type Paging, pageAndTotal, rowFilters } from '../core/page.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import { type IssueRecord, loadIssues } from './issues/list.js'
import { loadWithSubscription, type MergeRequestWithSubscription } from './merge-requests/reading/load.js'

/** What a todo is about. */
export type TodoTarget = { issue: IssueRecord } | { request: MergeRequestWithSubscription }

/** A todo with everything that its entity shows. */
export interface TodoRecord {
  todo: typeof todos.$inferSelect
  author: UserRefRecord
  project: { id: number; name: string; name_with_namespace: string; path: string; path_with_namespace: string }
  /** The text of the note that caused it. */
  note: string | null
  target: TodoTarget
}

export interface TodoFilter extends Keyset {
  action?: (typeof TODO_ACTIONS)[number] | 'approval_required' | undefined
  author_id?: number | undefined
  project_id?: number | undefined
  group_id?: number | undefined
  type?: 'Issue' | 'MergeRequest' | undefined
  state: 'pending' | 'done'
  id?: number | undefined
}

interface Shape {
  viewerKind: ViewerKind
  filters: FilterNames<TodoFilter>[]
}

const user = sql`${sql.placeholder('user')}::bigint`

const FILTERS = {
  id: { where: (id) => eq(todos.id, id), value: ({ id }) => id },
  ...rowFilters(sql`${todos.id}`),
  state: { where: (state) => eq(todos.state, state), value: ({ state }) => state },
  action: { where: (action) => eq(todos.action, action), value: ({ action }) => action },
  author_id: { where: (id) => eq(todos.author_id, id), value: ({ author_id }) => author_id },
  project_id: { where: (id) => eq(todos.project_id, id), value: ({ project_id }) => project_id },
  type: { where: (type) => eq(todos.target_type, type), value: ({ type }) => type },
  group_id: {
    where: (id) =>
      sql`${todos.project_id} in (select p.id from ${namespaceAncestry} a join ${projects} p on p.namespace_id = a.descendant_id where a.ancestor_id = ${id})`,
    value: ({ group_id }) => group_id,
  },
} satisfies Filters<Partial<TodoFilter>, FilterNames<TodoFilter>>

/** For rows of `todos` joined with `projects`: whether a user sees the target (SEC-119). */
export const targetIsVisible = (viewerKind: ViewerKind, userId: SQLWrapper) =>
  sql`case ${todos.target_type}
    when 'Issue' then exists (select 1 from ${issues} where ${issues.id} = ${todos.target_id} and ${visibleIssues(viewerKind, userId)})
    when 'MergeRequest' then exists (select 1 from ${mergeRequests} where ${mergeRequests.id} = ${todos.target_id} and ${visibleMergeRequests(viewerKind, userId)})
    else false end`

/** A user's own todos whose targets they still see. */
const matching = ({ viewerKind, filters }: Shape) =>
  and(sql`${todos.user_id} = ${user}`, ...conditionsOf(FILTERS, filters, null), targetIsVisible(viewerKind, user))

const selectTodos = statement('todos', (db, shape: Shape) =>
  db
    .select({
      todo: todos,
      author: userRefColumns(users),
      project: {
        id: projects.id,
        name: projects.name,
        name_with_namespace: sql<string>`${namespaces.full_name} || ' / ' || ${projects.name}`,
        path: projects.path,
        path_with_namespace: sql<string>`${namespaces.full_path} || '/' || ${projects.path}`,
      },
      note: nullablePrefixOf(notes.note),
    })
    .from(todos)
    .innerJoin(users, eq(users.id, todos.author_id))
    .innerJoin(projects, eq(projects.id, todos.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .leftJoin(notes, eq(notes.id, todos.note_id))
    .where(matching(shape))
    .orderBy(desc(todos.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

const selectTotal = statement(
  'number of todos',
  (db, shape: Shape) => db.select({ total: count() }).from(todos).innerJoin(projects, eq(projects.id, todos.project_id)).where(matching(shape)),
  'once',
)

const shapeFor = ({ user: viewer }: SignedIn, filter: Partial<TodoFilter>): Shape => ({
  viewerKind: viewerKindOf(viewer),
  filters: usedFilters(FILTERS, filter).names,
})

/** The caller's todos, newest first (TO-1). */
export async function listTodos(ctx: Context, caller: SignedIn, filter: TodoFilter & Paging): Promise<Page<TodoRecord>> {
  const shape = shapeFor(caller, filter)
  const values = { ...filter, user: caller.user.id }
  const { items, total } = await pageAndTotal(selectTodos(ctx.db, shape), selectTotal(ctx.db, shape), values, filter)
  return { items: await withTargets(ctx, caller, items), total }
}

async function withTargets(ctx: Context, caller: SignedIn, rows: Omit<TodoRecord, 'target'>[]): Promise<TodoRecord[]> {
  const texts = rows.map(({ todo, note }) => ({ id: todo.note_id ?? 0, note }))
  await completeTexts(ctx, LONG_TEXTS.notes, texts, 'page')
  const idsOf = (type: 'Issue' | 'MergeRequest') => [
    ...new Set(rows.filter(({ todo }) => todo.target_type === type).map(({ todo }) => todo.target_id as number)),
  ]
  const [found, requests] = await Promise.all([loadIssues(ctx, caller, idsOf('Issue')), loadWithSubscription(ctx, caller, idsOf('MergeRequest'))])
  const known = new Map<string, TodoTarget>([
    ...found.map((issue) => [`Issue ${issue.issue.id}`, { issue }] as const),
    ...requests.map((request) => [`MergeRequest ${request.request.id}`, { request }] as const),
  ])
  return rows.flatMap((row, i) => {
    const target = known.get(`${row.todo.target_type} ${row.todo.target_id}`)
    return target ? [{ ...row, note: texts[i]?.note ?? null, target }] : []
  })
}

/** One of the caller's own todos. */
export async function getTodo(ctx: Context, caller: SignedIn, id: number): Promise<TodoRecord> {
  const rows = await selectTodos(ctx.db, shapeFor(caller, { id })).execute({ id, user: caller.user.id, limit: 1, offset: 0 })
  const [record] = await withTargets(ctx, caller, rows)
  if (!record) throw notFound()
  return record
}

/** Marks a todo done; idempotent (TO-2). */
export async function finishTodo(ctx: Context, caller: SignedIn, id: number): Promise<TodoRecord> {
  const record = await getTodo(ctx, caller, id)
  if (record.todo.state === 'done') return record
  await ctx.db.write
    .update(todos)
    .set({ state: 'done', updated_at: ctx.now() })
    .where(and(eq(todos.id, id), eq(todos.user_id, caller.user.id)))
  return getTodo(ctx, caller, id)
}

/** Makes a todo pending again. */
export async function restoreTodo(ctx: Context, caller: SignedIn, id: number): Promise<TodoRecord> {
  await ctx.db.write
    .update(todos)
    .set({ state: 'pending', updated_at: ctx.now() })
    .where(and(eq(todos.id, id), eq(todos.user_id, caller.user.id), eq(todos.state, 'done')))
  return getTodo(ctx, caller, id)
}

/** Marks all todos of the caller that match the filters done (TO-3). Returns the moment that these have in common. */
export async function finishAllTodos(ctx: Context, caller: SignedIn, filter: Omit<TodoFilter, 'state' | 'id'>): Promise<Date> {
  const pending: TodoFilter = { ...filter, state: 'pending' }
  const moment = ctx.now()
  await ctx.db.write
    .update(todos)
    .set({ state: 'done', updated_at: moment })
    .where(and(eq(todos.user_id, caller.user.id), ...conditionsWith(FILTERS, pending)))
  return moment
}

/** Makes those pending again that were marked done together at this moment, and not touched since (WB-332). Returns how many. */
export async function restoreTodosOf(ctx: Context, caller: SignedIn, moment: Date): Promise<number> {
  const { rowCount } = await ctx.db.write
    .update(todos)
    .set({ state: 'pending', updated_at: ctx.now() })
    .where(and(eq(todos.user_id, caller.user.id), eq(todos.state, 'done'), eq(todos.updated_at, moment)))
  return rowCount ?? 0
}
