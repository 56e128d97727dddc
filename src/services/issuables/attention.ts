import { asc, type SQL, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { notes, users } from '../../db/schema/index.js'
import type { UserRefRecord } from '../../entities/identity/user.js'
import { mentionedIn } from '../activity/mentions.js'
import { setSubscribed, type Target } from '../activity/subscriptions.js'
import { createTodos, hasPendingTodo } from '../activity/todos.js'
import { type Page, type Paging, slice } from '../core/page.js'
import { userRefColumns } from '../identity/user-ref.js'
import { getTodo, type TodoRecord } from './todo-list.js'

/**
 * Subscribes the caller to a thing, or unsubscribes them (SB-2, SB-3, IS-9); null when nothing changes, also where
 * participation decides without an explicit choice (SB-4). `record` is the thing as the caller sees it.
 */
export async function subscribeTo<T extends { subscribed?: boolean }>(
  ctx: Context,
  caller: SignedIn,
  target: Target,
  record: T,
  subscribed: boolean,
): Promise<T | null> {
  if (record.subscribed === subscribed) return null
  await setSubscribed(ctx.db.write, target, caller.user.id, subscribed)
  return { ...record, subscribed }
}

/** Adds a todo for the caller (IS-10, TD-1); null when they have a pending one on this thing (TD-2). */
export async function addTodo(ctx: Context, caller: SignedIn, target: Target): Promise<TodoRecord | null> {
  const { id } = caller.user
  const made = await ctx.db.transaction(async (tx) => {
    if (await hasPendingTodo(tx, id, target)) return undefined
    return (await createTodos(tx, { users: [id], author_id: id, target, action: 'marked' }, ctx.now()))[0]
  })
  return made === undefined ? null : getTodo(ctx, caller, made)
}

/**
 * Author, assignees, authors of notes and mentioned users, each once (IS-16, MR-86); `readers` leaves out users who do
 * not see the thing (any more). A mention of the thing elsewhere does not count, because that place may be hidden
 * (SEC-35).
 */
export async function participantsOf(
  ctx: Context,
  target: Target,
  { author_id, assignee_id }: { author_id: number; assignee_id: number | null },
  readers: (who: SQL) => Promise<number[]>,
  paging: Paging,
): Promise<Page<UserRefRecord>> {
  const wrote = sql`(select n.author_id from ${notes} n
    where n.project_id = ${target.project_id} and n.noteable_type = ${target.type} and n.noteable_id = ${target.id} and n.mentioned_in_type is null)`
  const who = sql`(u.id in (${author_id}, ${assignee_id ?? 0}) or u.id in ${wrote} or u.id in ${mentionedIn(target)})`
  const { items, total } = slice(await readers(who), paging)
  if (items.length === 0) return { items: [], total }
  const people = await ctx.db.write
    .select(userRefColumns(users))
    .from(users)
    .where(sql`${users.id} = any(${sql.param(items)}::bigint[])`)
    .orderBy(asc(users.id))
  return { items: people, total }
}
