import { and, asc, type Column, eq, sql } from 'drizzle-orm'
import type { Caller, SignedIn } from '../../access/actor.js'
import { shareCounts } from '../../access/roles.js'
import { type GroupSubject, getGroupFor } from '../../access/rules.js'
import { type ViewerKind, viewerKindOf, visibleGroups } from '../../access/visible.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { groupShares, namespaceAncestry, namespaces } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { conflict, invalidRecord, notFound, refused } from '../../failures.js'
import { dayOf } from '../../lib/text/day.js'
import { audit, changesOf } from '../core/audit.js'

/** A group to share something with, up to a level and a day. */
export interface NewShare {
  group_id: number
  group_access: number
  expires_at?: string | null | undefined
}

const selectShares = statement('shares of a group', (db, viewerKind: ViewerKind) =>
  db
    .select({
      group_id: namespaces.id,
      group_name: namespaces.name,
      group_full_path: namespaces.full_path,
      group_access_level: sql<number>`s.group_access`,
      expires_at: sql<string | null>`s.expires_at::text`,
    })
    .from(namespaces)
    .innerJoin(sql`${groupShares} s`, sql`s.shared_with_group_id = ${namespaces.id}`)
    .where(
      sql`s.group_id = ${sql.placeholder('group')} and ${shareCounts} and ${visibleGroups(viewerKind, namespaces, sql`${sql.placeholder('user')}::bigint`)}`,
    )
    .orderBy(asc(sql`s.id`)),
)

/** The groups that a group is shared with, and that the caller may see (SEC-39). */
export const listGroupShares = (ctx: Context, { user }: Pick<Caller, 'user'>, groupId: number) =>
  selectShares(ctx.db, viewerKindOf(user)).execute({ group: groupId, user: user?.id ?? 0 })

/** Throws when a share would end before it begins. */
export function checkLastDay(ctx: Pick<Context, 'now'>, day: string | null | undefined): void {
  if (day && day <= dayOf(ctx.now())) throw invalidRecord({ expires_at: ['cannot be a date in the past'] })
}

/** Shares a group with another: its direct members are members up to a level from the next request on (WB-351). */
export async function shareGroup(ctx: Context, caller: SignedIn, { group: { id, full_path } }: GroupSubject, given: NewShare): Promise<void> {
  checkLastDay(ctx, given.expires_at)
  const { group } = await getGroupFor(ctx, caller, String(given.group_id))
  await ctx.db.transaction(async (tx) => {
    // both are locked, from the top down, so that the removal of either ends the share or prevents it
    const { rows } = await tx.execute(sql`select from ${namespaces} n where n.id in (${id}, ${group.id}) and n.marked_for_deletion_at is null
      order by (select count(*) from ${namespaceAncestry} d where d.descendant_id = n.id), n.id for update of n`)
    if (rows.length < (id === group.id ? 1 : 2)) throw notFound('Group')
    const ancestors = await ancestorsOf(tx, id)
    // the lock of a group also applies to its subgroups, whose owners cannot undo it
    if (ancestors.some(({ locked }) => locked)) throw refused('The group sharing with group is disabled')
    if (ancestors.some((ancestor) => ancestor.id === group.id)) throw conflict('Group cannot be shared with itself or one of its ancestors.')
    const [existing] = await tx
      .select()
      .from(groupShares)
      .where(and(eq(groupShares.group_id, id), eq(groupShares.shared_with_group_id, group.id)))
    if (existing && (existing.expires_at === null || existing.expires_at > dayOf(ctx.now())))
      throw conflict('Group is already shared with this group')
    if (existing) await tx.delete(groupShares).where(eq(groupShares.id, existing.id))
    const values = { group_access: given.group_access, expires_at: given.expires_at ?? null }
    await tx.insert(groupShares).values({ ...values, group_id: id, shared_with_group_id: group.id, created_at: ctx.now() })
    await audit(ctx, tx, {
      action: 'group_shared',
      target: { type: 'group', id, name: full_path },
      changes: { group_id: group.id, group: group.full_path, ...values },
    })
  })
}

/** A namespace and those above it, with whether they forbid shares with groups. */
export const ancestorsOf = (tx: Transaction, namespaceId: number) =>
  tx
    .select({ id: namespaces.id, locked: namespaces.share_with_group_lock })
    .from(namespaceAncestry)
    .innerJoin(namespaces, eq(namespaces.id, namespaceAncestry.ancestor_id))
    .where(eq(namespaceAncestry.descendant_id, namespaceId))

/** SQL condition: a share with this last day has not expired. */
export const isCurrent = (lastDay: Column) => sql`(${lastDay} is null or ${lastDay} > (now() at time zone 'utc')::date)`

const currentShare = (id: number, groupId: number) =>
  and(eq(groupShares.group_id, id), eq(groupShares.shared_with_group_id, groupId), isCurrent(groupShares.expires_at))

/** Changes the level and the last day of a share; 404 when there is none or it has expired. */
export async function changeGroupShare(
  ctx: Context,
  { group: { id, full_path } }: GroupSubject,
  { group_id, group_access, expires_at = null }: NewShare,
): Promise<void> {
  checkLastDay(ctx, expires_at)
  await ctx.db.transaction(async (tx) => {
    const [before] = await tx.select().from(groupShares).where(currentShare(id, group_id)).for('update')
    if (!before) throw notFound('Group Link')
    const changes = changesOf(before, { group_access, expires_at })
    if (Object.keys(changes).length === 0) return
    await tx.update(groupShares).set({ group_access, expires_at }).where(eq(groupShares.id, before.id))
    await audit(ctx, tx, { action: 'group_shared', target: { type: 'group', id, name: full_path }, changes: { group_id, ...changes } })
  })
}

/** Ends a share; 404 when there is none or it has expired. */
export async function unshareGroup(ctx: Context, { group: { id, full_path } }: GroupSubject, groupId: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [removed] = await tx.delete(groupShares).where(currentShare(id, groupId)).returning()
    if (!removed) throw notFound('Group Link')
    await audit(ctx, tx, {
      action: 'group_unshared',
      target: { type: 'group', id, name: full_path },
      changes: { group_id: groupId, group_access: removed.group_access },
    })
  })
}
