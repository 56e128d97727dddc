import { and, eq, sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import { type TODO_ACTIONS, todos } from '../../db/schema/index.js'
import type { Target } from './subscriptions.js'

export interface NewTodo {
  /** The users who get a todo; they must be able to see the target (TO-5). */
  users: number[]
  author_id: number
  target: Target
  action: (typeof TODO_ACTIONS)[number]
  /** The note that caused it. */
  note_id?: number | undefined
}

/** Creates todos, except for users with the same pending one (TO-5). Returns the ids of the new todos. */
export async function createTodos(
  tx: Pick<Transaction, 'insert'>,
  { users, author_id, target, action, note_id }: NewTodo,
  now: Date,
): Promise<number[]> {
  if (users.length === 0) return []
  const shared = {
    author_id,
    project_id: target.project_id,
    target_type: target.type,
    target_id: target.id,
    note_id: note_id ?? null,
    action,
    created_at: now,
    updated_at: now,
  }
  const inserted = await tx
    .insert(todos)
    .values(users.map((user_id) => ({ user_id, ...shared })))
    .onConflictDoNothing()
    .returning({ id: todos.id })
  return inserted.map(({ id }) => id)
}

/** Marks the user's pending todos on a target done (TO-6). */
export async function finishTodos(tx: Pick<Transaction, 'update'>, userId: number, target: Target, now: Date): Promise<void> {
  await tx
    .update(todos)
    .set({ state: 'done', updated_at: now })
    .where(and(pendingOn(target), eq(todos.user_id, userId)))
}

const pendingOn = (target: Target) =>
  and(eq(todos.project_id, target.project_id), eq(todos.target_type, target.type), eq(todos.target_id, target.id), eq(todos.state, 'pending'))

/** Whether the user has a pending todo on a target, whatever its action (TD-2). */
export async function hasPendingTodo(tx: Pick<Transaction, 'select'>, userId: number, target: Target): Promise<boolean> {
  const [row] = await tx
    .select({ one: sql<number>`1` })
    .from(todos)
    .where(and(pendingOn(target), eq(todos.user_id, userId)))
    .limit(1)
  return row !== undefined
}
