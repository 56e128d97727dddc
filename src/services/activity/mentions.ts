import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { membershipCounts } from '../../access/roles.js'
import { viewerKindOf, visibleGroups } from '../../access/visible.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { members, mentions, namespaceAncestry, namespaces } from '../../db/schema/index.js'
import type { Slices } from '../../lib/async/slices.js'
import { referencesIn } from '../../lib/text/references.js'
import type { Target } from './subscriptions.js'
import { createTodos } from './todos.js'

/** Names in one text that are considered; further ones are ignored. */
const MAX_NAMES = 100

/** The names mentioned in a text, in lower case, and those of them that it begins with. */
export async function namesIn(slices: Slices, text: string): Promise<{ all: string[]; direct: string[] }> {
  const all = new Set<string>()
  const direct = new Set<string>()
  let spoken = 0
  for (const { kind, start, end, ...reference } of await referencesIn(slices, text)) {
    if (kind !== 'user' || all.size >= MAX_NAMES) continue
    const name = (reference as unknown as { name: string }).name.toLowerCase()
    if (spoken >= 0 && /^[\s,]*$/.test(text.slice(spoken, Math.min(start, spoken + 100))) && start - spoken <= 100) {
      direct.add(name)
      spoken = end
    } else spoken = -1
    all.add(name)
  }
  return { all: [...all], direct: [...direct] }
}

/**
 * The users of these names, and the members of the groups of these names that the writer sees. Over `users` under the
 * alias `u`.
 */
const called = (names: string[], { user }: SignedIn): SQL => {
  const list = sql`array[${sql.join(
    names.map((name) => sql`${name}`),
    sql`, `,
  )}]::text[]`
  return sql`(lower(u.username) = any(${list}) or u.id in (
    select m.user_id from ${namespaces} join ${namespaceAncestry} a on a.descendant_id = ${namespaces.id} join ${members} m on m.namespace_id = a.ancestor_id
    where ${namespaces.kind} = 'group' and lower(${namespaces.full_path}) = any(${list}) and ${membershipCounts}
    and ${visibleGroups(viewerKindOf(user), namespaces, sql`${user.id}::bigint`)}))`
}

export interface MentioningText {
  target: Target
  /** Null: the title and the description of the thing itself. */
  note_id: number | null
  text: string
  /** The former text; users it already mentioned get no todo again. */
  before?: string | undefined
}

/**
 * Stores who is mentioned in a text (IS-23), in place of who was, and creates todos for those who are mentioned newly
 * (TO-5). `readersAmong` says which of them see the thing at all: nobody else is stored.
 */
export async function followMentions(
  ctx: Context,
  tx: Transaction,
  caller: SignedIn,
  { target, note_id, text, before }: MentioningText,
  readersAmong: (who: SQL) => Promise<number[]>,
): Promise<void> {
  const { all, direct } = await namesIn(ctx.slices, text)
  const former = before === undefined ? [] : (await namesIn(ctx.slices, before)).all
  if (all.length === 0 && former.length === 0) return
  const known = await tx
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
  const { people, spokenTo } = await peopleNamed(caller, { all, direct }, readersAmong)
  if (people.length === 0) return
  const row = { project_id: target.project_id, target_type: target.type, target_id: target.id, note_id }
  await tx.insert(mentions).values(people.map((user_id) => ({ ...row, user_id })))
  const now = ctx.now()
  const notified = new Set([...known.map(({ user_id }) => user_id), caller.user.id])
  const fresh = people.filter((id) => !notified.has(id))
  const share = { author_id: caller.user.id, target, ...(note_id !== null && { note_id }) }
  await createTodos(tx, { ...share, users: fresh.filter((id) => spokenTo.has(id)), action: 'directly_addressed' }, now)
  await createTodos(tx, { ...share, users: fresh.filter((id) => !spokenTo.has(id)), action: 'mentioned' }, now)
}

/** The users that a text mentions, as far as they see the thing it is about, and those of them whom it addresses. */
export async function peopleNamed(
  caller: SignedIn,
  { all, direct }: { all: string[]; direct: string[] },
  readersAmong: (who: SQL) => Promise<number[]>,
): Promise<{ people: number[]; spokenTo: Set<number> }> {
  const people = all.length > 0 ? await readersAmong(called(all, caller)) : []
  const spokenTo = people.length > 0 && direct.length > 0 ? await readersAmong(called(direct, caller)) : []
  return { people, spokenTo: new Set(spokenTo) }
}

/** Ids of all users mentioned in a thing or in notes on it, as a subquery. */
export const mentionedIn = (target: Pick<Target, 'type'> & Record<'id' | 'project_id', number | SQL>): SQL =>
  sql`(select n.user_id from ${mentions} n where n.project_id = ${target.project_id} and n.target_type = ${target.type} and n.target_id = ${target.id})`
