import { asc, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { IssueSubject } from '../../access/issues.js'
import type { Context } from '../../context.js'
import { issues, notes, users } from '../../db/schema/index.js'
import type { UserRefRecord } from '../../entities/user.js'
import { mentionedIn } from '../mentions.js'
import { type Page, type Paging, slice } from '../page.js'
import { setSubscribed, type Target } from '../subscriptions.js'
import { getTodo, type TodoRecord } from '../todo-list.js'
import { createTodos, hasPendingTodo } from '../todos.js'
import { type IssueRecord, loadIssue } from './list.js'
import { readersAmong } from './readers.js'

const targetOf = ({ issue }: IssueSubject): Target => ({ type: 'Issue', id: issue.id, project_id: issue.project_id })

/** IS-9; null when it was so already, also without a word of the caller (SB-4). */
export async function subscribeToIssue(ctx: Context, caller: SignedIn, subject: IssueSubject, subscribed: boolean): Promise<IssueRecord | null> {
  const record = await loadIssue(ctx, caller, subject.issue.id)
  if (record.subscribed === subscribed) return null
  await setSubscribed(ctx.db.write, targetOf(subject), caller.user.id, subscribed)
  return { ...record, subscribed }
}

/** IS-10, TD-1; null when the caller has a pending one on this issue (TD-2). */
export async function addIssueTodo(ctx: Context, caller: SignedIn, subject: IssueSubject): Promise<TodoRecord | null> {
  const target = targetOf(subject)
  const { id } = caller.user
  const made = await ctx.db.transaction(async (tx) => {
    if (await hasPendingTodo(tx, id, target)) return undefined
    return (await createTodos(tx, { users: [id], author_id: id, target, action: 'marked' }, ctx.now()))[0]
  })
  return made === undefined ? null : getTodo(ctx, caller, made)
}

/** IS-16: author, assignee, whoever wrote a note or is named, each once; people who do not see the issue (any more) are left out (MR-86). */
export async function listParticipants(ctx: Context, subject: IssueSubject, paging: Paging): Promise<Page<UserRefRecord>> {
  const { issue, project } = subject
  const wrote = sql`(select n.author_id from ${notes} n where n.project_id = ${project.id} and n.noteable_type = 'Issue' and n.noteable_id = ${issue.id})`
  const who = sql`(u.id in (select i.author_id from ${issues} i where i.id = ${issue.id} union select i.assignee_id from ${issues} i where i.id = ${issue.id})
    or u.id in ${wrote} or u.id in ${mentionedIn(targetOf(subject))})`
  const { items, total } = slice(await readersAmong(ctx.db.write, project, issue, who), paging)
  if (items.length === 0) return { items: [], total }
  const people = await ctx.db.write
    .select({ id: users.id, name: users.name, username: users.username, state: users.state, avatar: users.avatar })
    .from(users)
    .where(sql`${users.id} = any(${sql.param(items)}::bigint[])`)
    .orderBy(asc(users.id))
  return { items: people, total }
}
