import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { groupMembers, membershipCounts } from '../../access/roles.js'
import { viewerKindOf, visibleGroups } from '../../access/visible.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { mentions, namespaceAncestry, namespaces } from '../../db/schema/index.js'
import type { Slices } from '../../lib/async/slices.js'
import { referencesIn } from '../../rules/references.js'
import type { Target } from './subscriptions.js'
import { createTodos } from './todos.js'

/** Maximum number of names per text; further ones are ignored. */
const MAX_NAMES = 100

/** The names that a text mentions, in lower case; `direct` are those at its beginning, which it addresses. */
export async function mentionedNames(slices: Slices, text: string): Promise<{ all: string[]; direct: string[] }> {
  const all = new Set<string>()
  const direct = new Set<string>()
  let addressedUntil = 0
  for (const reference of await referencesIn(slices, text)) {
    if (reference.kind !== 'user' || all.size >= MAX_NAMES) continue
    const { start, end } = reference
    const name = reference.name.toLowerCase()
    if (addressedUntil >= 0 && /^[\s,]*$/.test(text.slice(addressedUntil, Math.min(start, addressedUntil + 100))) && start - addressedUntil <= 100) {
      direct.add(name)
      addressedUntil = end
    } else addressedUntil = -1
    all.add(name)
  }
  return { all: [...all], direct: [...direct] }
}

/**
 * SQL condition on `users` as `u`: the users with these names, and the members of groups with these names that the
 * author can see and that allow mentions (GR-54).
 */
const usersNamed = (names: string[], { user }: SignedIn): SQL => {
  const list = sql`array[${sql.join(
    names.map((name) => sql`${name}`),
    sql`, `,
  )}]::text[]`
  return sql`(lower(u.username) = any(${list}) or u.id in (
    select m.user_id from ${namespaces} join ${namespaceAncestry} a on a.descendant_id = ${namespaces.id} join ${groupMembers} m on m.namespace_id = a.ancestor_id
    where ${namespaces.kind} = 'group' and not ${namespaces.mentions_disabled} and lower(${namespaces.full_path}) = any(${list}) and ${membershipCounts}
    and ${visibleGroups(viewerKindOf(user), namespaces, sql`${user.id}::bigint`)}))`
}

export interface MentioningText {
  target: Target
  /** Null for the title and description of the target itself. */
  note_id: number | null
  text: string
  /** The text before the edit; users it already mentioned get no new todo. */
  before?: string | undefined
}

/**
 * Replaces the stored mentions of a text (IS-23) and creates todos for newly mentioned users (TO-5). `readersAmong`
 * filters the users who may see the target; only those are stored.
 */
export async function recordMentions(
  ctx: Pick<Context, 'cpu' | 'now'>,
  tx: Transaction,
  caller: SignedIn,
  { target, note_id, text, before }: MentioningText,
  readersAmong: (who: SQL) => Promise<number[]>,
): Promise<void> {
  const { all, direct } = await mentionedNames(ctx.cpu.slices, text)
  const former = before === undefined ? [] : (await mentionedNames(ctx.cpu.slices, before)).all
  if (all.length === 0 && former.length === 0) return
  const previous = await tx
    .delete(mentions)
    .where(
      and(
        eq(mentions.project_id, target.project_id),
        eq(mentions.target_type, target.type),
        eq(mentions.target_id, target.id),
        note_id === null ? isNull(mentions.note_id) : eq(mentions.note_id, note_id),
      ),
    )
    .returning({ user_id: mentions.user_id })
  const { users, addressed } = await findMentionedUsers(caller, { all, direct }, readersAmong)
  if (users.length === 0) return
  const row = { project_id: target.project_id, target_type: target.type, target_id: target.id, note_id }
  await tx.insert(mentions).values(users.map((user_id) => ({ ...row, user_id })))
  const now = ctx.now()
  const notified = new Set([...previous.map(({ user_id }) => user_id), caller.user.id])
  const newlyMentioned = users.filter((id) => !notified.has(id))
  const share = { author_id: caller.user.id, target, ...(note_id !== null && { note_id }) }
  await createTodos(tx, { ...share, users: newlyMentioned.filter((id) => addressed.has(id)), action: 'directly_addressed' }, now)
  await createTodos(tx, { ...share, users: newlyMentioned.filter((id) => !addressed.has(id)), action: 'mentioned' }, now)
}

/** The users that a text mentions and who may see its target, and those of them that it addresses. */
export async function findMentionedUsers(
  caller: SignedIn,
  { all, direct }: { all: string[]; direct: string[] },
  readersAmong: (who: SQL) => Promise<number[]>,
): Promise<{ users: number[]; addressed: Set<number> }> {
  const users = all.length > 0 ? await readersAmong(usersNamed(all, caller)) : []
  const addressed = users.length > 0 && direct.length > 0 ? await readersAmong(usersNamed(direct, caller)) : []
  return { users, addressed: new Set(addressed) }
}

/** SQL subquery: ids of all users mentioned in a target or in notes on it. */
export const mentionedIn = (target: Pick<Target, 'type'> & Record<'id' | 'project_id', number | SQL>): SQL =>
  sql`(select n.user_id from ${mentions} n where n.project_id = ${target.project_id} and n.target_type = ${target.type} and n.target_id = ${target.id})`
