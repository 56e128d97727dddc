import { and, eq, inArray, isNotNull, isNull, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { z } from 'zod'
import { membershipCounts } from '../../access/roles.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import {
  bots,
  commitStatuses,
  events,
  issues,
  members,
  mergeRequests,
  namespaces,
  notes,
  pipelines,
  projects,
  releases,
  resourceEvents,
  todos,
  users,
} from '../../db/schema/index.js'
import { conflict, forbidden, notFound, nullOnFailure, refused } from '../../failures.js'
import { enqueue } from '../../jobs/enqueue.js'
import { defineJob } from '../../jobs/kinds.js'
import { removeSnippetsOf } from '../content/snippets.js'
import { audit } from '../core/audit.js'
import { auditAccessToken, getAccessToken } from '../groups/access-tokens.js'
import { botsToRemove } from '../groups/bots.js'
import type { MemberSource } from '../groups/members.js'
import { removeAvatar } from '../identity/avatars.js'
import { ghostId } from '../identity/ghost.js'
import { markRevoked } from '../identity/tokens.js'
import { requireAnotherAdministrator } from '../identity/user-state.js'
import { removeIssuesOf } from '../issuables/issues/remove.js'
import { NOT_DEFERRED } from '../issuables/merge-requests/merging/states.js'
import { removeMergeRequestsOf } from '../issuables/merge-requests/writing/remove.js'
import { transferAwards } from '../notes/award-emoji.js'
import { removeNotesOf } from '../notes/remove.js'
import { deleteProjectRows } from '../projects/remove.js'
import { removeGroup } from './group-deletion.js'

/**
 * Rows that a removed user leaves. They move to the ghost user, and the column `also` is set to true, if there is one.
 * With `hard_delete`, those that U-34 calls contributions are deleted.
 */
const CONTRIBUTIONS: { table: PgTable & { id: PgColumn }; by: PgColumn; hard: 'moved' | 'deleted'; also?: PgColumn }[] = [
  { table: notes, by: notes.author_id, hard: 'deleted' },
  { table: events, by: events.author_id, hard: 'deleted' },
  { table: issues, by: issues.author_id, hard: 'deleted' },
  { table: mergeRequests, by: mergeRequests.author_id, hard: 'deleted' },
  { table: todos, by: todos.author_id, hard: 'deleted' },
  { table: releases, by: releases.author_id, hard: 'moved' },
  { table: commitStatuses, by: commitStatuses.user_id, hard: 'moved', also: commitStatuses.orphaned },
  { table: pipelines, by: pipelines.user_id, hard: 'moved' },
  { table: projects, by: projects.creator_id, hard: 'moved' },
  { table: resourceEvents, by: resourceEvents.user_id, hard: 'moved' },
]

/** How long after its start a job finishes a removal that a crash has interrupted. */
const RESUME_DELAY_MS = 10_000
/** The number of rows changed in one statement. */
const BATCH_SIZE = 1_000

/**
 * Deletes a user with everything they own; contributions go to the ghost user (U-33 to U-36). `check` gets the time of
 * their last change. The removal is complete when this returns; after a crash a job completes it.
 */
export async function removeUser(ctx: Context, id: number, hard: boolean, check: (changed: Date) => void): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, id)).for('update')
    // one that another call is removing is not there any more (U-33)
    if (!user || user.removal !== null) throw notFound('User')
    if (user.kind === 'ghost') throw forbidden()
    check(user.updated_at)
    if (user.admin) await requireAnotherAdministrator(tx, id)
    const alone = user.kind === 'bot' ? [] : await solelyOwnedGroups(tx, id, hard)
    if (!hard && alone.length > 0) throw conflict('User cannot be removed while is the sole-owner of a group')
    for (const group of alone) await removeGroup(ctx, tx, group)
    // from here on the user can make no calls and owns no group, and the removal is not reverted
    await tx.delete(members).where(eq(members.user_id, id))
    await tx
      .update(users)
      .set({ removal: hard ? 'hard' : 'soft', state: 'blocked' })
      .where(eq(users.id, id))
    await audit(ctx, tx, { action: 'user_deleted', target: { type: 'user', id, name: user.username }, changes: { hard_delete: hard } })
    await enqueue(tx, resumeRemoval, { user: id }, { key: String(id), delay: RESUME_DELAY_MS })
  })
  await finishRemoval(ctx, id, hard)
}

/**
 * Groups of which the user is the only owner by direct membership, with `waiting` also those that wait for their removal.
 * The rows of all owners are locked, so that none leaves meanwhile (SEC-124).
 */
async function solelyOwnedGroups(tx: Transaction, userId: number, waiting: boolean): Promise<{ id: number; full_path: string }[]> {
  const owned = sql`select m.namespace_id from members m where m.user_id = ${userId} and m.namespace_id is not null and m.access_level = 50 and ${membershipCounts}`
  const { rows } = await tx.execute<{ namespace_id: string; user_id: string }>(
    sql`select m.namespace_id, m.user_id from members m where m.namespace_id in (${owned}) and m.access_level = 50 and ${membershipCounts}
      and m.user_id not in (select b.user_id from ${bots} b) order by m.id for update`,
  )
  const shared = new Set(rows.filter(({ user_id }) => Number(user_id) !== userId).map(({ namespace_id }) => namespace_id))
  const alone = [...new Set(rows.map(({ namespace_id }) => namespace_id))].filter((group) => !shared.has(group)).map(Number)
  return alone.length === 0
    ? []
    : tx
        .select({ id: namespaces.id, full_path: namespaces.full_path })
        .from(namespaces)
        .where(and(inArray(namespaces.id, alone), waiting ? undefined : isNull(namespaces.marked_for_deletion_at)))
        .orderBy(namespaces.id)
}

async function finishRemoval(ctx: Context, id: number, hard: boolean): Promise<void> {
  const ghost = await ghostId(ctx)
  if (hard) {
    await removeIssuesOf(ctx, id)
    await removeMergeRequestsOf(ctx, id)
    await removeNotesOf(ctx, id)
  }
  await transferAwards(ctx, id, hard ? null : ghost)
  await removeSnippetsOf(ctx, id)
  for (const { table, by, hard: how, also } of CONTRIBUTIONS) {
    const flag = also ? sql`, ${sql.identifier(also.name)} = true` : sql``
    const batch = sql`${table.id} in (select t.id from ${table} t where t.${sql.identifier(by.name)} = ${id} limit ${BATCH_SIZE})`
    const step =
      hard && how === 'deleted'
        ? sql`delete from ${table} where ${batch}`
        : sql`update ${table} set ${sql.identifier(by.name)} = ${ghost}${flag} where ${batch}`
    for (let moved = BATCH_SIZE; moved === BATCH_SIZE; ) moved = (await ctx.db.write.execute(step)).rowCount ?? 0
  }
  await ctx.db.transaction(async (tx) => {
    await deleteProjectRows(ctx, tx, sql`p.namespace_id in (select n.id from ${namespaces} n where n.owner_id = ${id})`)
    // deferred merges of the user cannot be performed any more
    await tx.update(mergeRequests).set(NOT_DEFERRED).where(eq(mergeRequests.merge_user_id, id))
    await tx.delete(users).where(eq(users.id, id))
  })
  await removeAvatar(ctx, 'user', id)
}

/** Revokes a token of a project or group and removes its bot, whose work becomes that of the ghost user (PT-7). */
export async function revokeAccessToken(ctx: Context, source: MemberSource, id: number): Promise<string> {
  const found = await getAccessToken(ctx, source, id)
  if (found.access_level > source.level) throw forbidden()
  if (!(await markRevoked(ctx, found.token))) throw refused('The token is already revoked')
  await auditAccessToken(ctx, ctx.db.write, source, 'access_token_revoked', found)
  // unless the job does it at this moment
  await nullOnFailure(removeUser(ctx, found.token.user_id, false, () => undefined))
  return found.token.name
}

/** Removes bots whose token is revoked or has expired, and those of removed projects and groups (PT-7). */
export const removeBots = defineJob({
  kind: 'remove bots',
  slots: 'upkeep',
  priority: 'low',
  input: z.object({}),
  async run(ctx: Context) {
    for (const { id, removal } of await botsToRemove(ctx)) {
      if (removal) await finishRemoval(ctx, id, removal === 'hard')
      // another process may have removed it
      else await nullOnFailure(removeUser(ctx, id, false, () => undefined))
    }
  },
  every: 60_000,
  deadline: 3_600_000,
})

/** Finishes a removal that a crash has interrupted; usually it has nothing to do. */
export const resumeRemoval = defineJob({
  kind: 'finish the removal of a user',
  slots: 'upkeep',
  input: z.object({ user: z.int() }),
  async run(ctx: Context, { user }) {
    const [unfinished] = await ctx.db.write
      .select({ removal: users.removal })
      .from(users)
      .where(and(eq(users.id, user), isNotNull(users.removal), sql`${users.kind} <> 'ghost'`))
    if (unfinished) await finishRemoval(ctx, user, unfinished.removal === 'hard')
  },
  deadline: 3_600_000,
})
