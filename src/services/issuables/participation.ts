import { asc, type SQL, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { totalCount } from '../../db/decoded.js'
import { notes, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { mentionedIn } from '../activity/mentions.js'
import { setSubscribed, type Target } from '../activity/subscriptions.js'
import { createTodos, hasPendingTodo } from '../activity/todos.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import { ISSUABLE_PARAMETERS, idArray } from './readers.js'
import { getTodo, type TodoRecord } from './todo-list.js'

/**
 * Subscribes or unsubscribes the caller (SB-2, SB-3, IS-9). Returns null when nothing changes, also when the caller is
 * subscribed by participation alone (SB-4). `record` is the issue or merge request as the caller sees it.
 */
export async function subscribeTo<T extends { subscribed?: boolean }>(
  ctx: Context,
  caller: SignedIn,
  target: Target,
  record: T,
  subscribed: boolean,
): Promise<T | null> {
  if (record.subscribed === subscribed) return null
  return (await setSubscribed(ctx.db.write, target, caller.user.id, subscribed)) ? { ...record, subscribed } : null
}

/** Adds a todo for the caller (IS-10, TD-1); null when they already have a pending one on the target (TD-2). */
export async function addTodo(ctx: Context, caller: SignedIn, target: Target): Promise<TodoRecord | null> {
  const { id } = caller.user
  const todoId = await ctx.db.transaction(async (tx) => {
    if (await hasPendingTodo(tx, id, target)) return undefined
    return (await createTodos(tx, { users: [id], author_id: id, target, action: 'marked' }, ctx.now()))[0]
  })
  return todoId === undefined ? null : getTodo(ctx, caller, todoId)
}

/**
 * Author, assignees, reviewers, authors of notes and mentioned users, each once (IS-16, MR-86). `readers` filters out users who
 * cannot see the issue or merge request (any more). Authors of texts elsewhere that mention it are left out, because
 * those texts may be hidden from the caller (SEC-35).
 */
export const participants = (type: Target['type'], readers: (candidates: SQL) => SQL) =>
  statement(
    `participants of ${type}`,
    (db, _: null) => {
      const target = { type, id: sql`${sql.placeholder('id')}::bigint`, project_id: sql`${sql.placeholder('project')}::bigint` }
      const noteAuthors = sql`(select n.author_id from ${notes} n where n.project_id = ${target.project_id} and n.noteable_type = ${type}
      and n.noteable_id = ${target.id} and n.mentioned_in_type is null)`
      const { author_id, assignee_ids } = ISSUABLE_PARAMETERS
      // `any(array(…))` makes Postgres look up these few users by primary key
      const candidates = sql`u.id = any(array(select ${author_id} union select unnest(${idArray(assignee_ids)}) union select unnest(${sql.placeholder('reviewers')}::bigint[]) union ${noteAuthors} union ${mentionedIn(target)}))`
      return db
        .select({ user: userRefColumns(users), total: totalCount() })
        .from(users)
        .where(sql`${users.id} in (${readers(candidates)})`)
        .orderBy(asc(users.id))
        .limit(sql.placeholder('limit'))
        .offset(sql.placeholder('offset'))
    },
    'once',
  )

/** The participants of an issue or merge request. */
export async function participantsOf(
  ctx: Context,
  selectParticipants: ReturnType<typeof participants>,
  project: Record<'id' | 'namespace_id' | 'visibility' | 'feature', number>,
  thing: { id: number; author_id: number; assignee_ids: readonly number[]; reviewer_ids?: readonly number[]; confidential?: boolean },
  paging: Paging,
): Promise<Page<UserRefRecord>> {
  const values = {
    project: project.id,
    namespace: project.namespace_id,
    visibility: project.visibility,
    feature: project.feature,
    id: thing.id,
    author: thing.author_id,
    assignees: thing.assignee_ids,
    reviewers: thing.reviewer_ids ?? [],
    confidential: thing.confidential ?? false,
  }
  const { items, total } = await pageFrom(selectParticipants(ctx.db, null), values, paging)
  return { items: items.map(({ user }) => user), total }
}
