import { and, asc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { totalCount } from '../../db/decoded.js'
import { members, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { forbidden, invalidRecord, notFound } from '../../failures.js'
import { createdNow } from '../core/created-now.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import type { UserRefRecord } from '../identity/user-ref.js'
import {
  auditMember,
  belongsTo,
  checkGrant,
  isExpired,
  lockSource,
  type MemberSource,
  recordMembership,
  sourceColumns,
  userColumns,
} from './members.js'

export interface AccessRequesterRecord {
  user: UserRefRecord
  requested_at: Date
}

const selectRequests = statement('access requests', (db, kind: MemberSource['kind']) =>
  db
    .select({ user: userColumns, requested_at: members.requested_at, total: totalCount() })
    .from(members)
    .innerJoin(users, eq(users.id, members.user_id))
    .where(
      and(
        eq(kind === 'project' ? members.project_id : members.namespace_id, sql.placeholder('source')),
        sql`${members.requested_at} is not null and ${users.state} = 'active'`,
      ),
    )
    .orderBy(asc(members.requested_at), asc(members.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** Access requests, oldest first, without those of blocked users (AR-1). */
export async function listRequests(ctx: Context, source: MemberSource, paging: Paging): Promise<Page<AccessRequesterRecord>> {
  const { items, total } = await pageFrom(selectRequests(ctx.db, source.kind), { source: source.id }, paging)
  return { items: items.map(({ user, requested_at }) => ({ user, requested_at: requested_at as Date })), total }
}

/** Whether the user waits for an answer to their own request. */
export async function hasRequested(ctx: Context, source: MemberSource, userId: number): Promise<boolean> {
  const own = and(belongsTo(source), eq(members.user_id, userId), sql`${members.requested_at} is not null`)
  return (await ctx.db.read.select({ id: members.id }).from(members).where(own)).length > 0
}

/** Requests access, which gives no rights until it is approved (AR-2). */
export async function requestAccess(ctx: Context, source: MemberSource, { user }: SignedIn): Promise<AccessRequesterRecord> {
  if (!source.acceptsRequests || source.level > 0 || user.kind === 'bot') throw forbidden()
  const requested_at = ctx.now()
  const request = { access_level: 30, expires_at: null, requested_at, created_by_id: user.id, created_at: requested_at, updated_at: requested_at }
  await ctx.db.transaction(async (tx) => {
    await lockSource(tx, source)
    const duplicate = invalidRecord({ user_id: ['already exists in source'] })
    const [existing] = await tx
      .select()
      .from(members)
      .where(and(belongsTo(source), eq(members.user_id, user.id)))
      .for('update')
    if (existing && (existing.requested_at !== null || !isExpired(ctx, existing.expires_at))) throw duplicate
    // an expired membership is replaced by the request
    if (existing) await tx.delete(members).where(eq(members.id, existing.id))
    const inserted = await tx
      .insert(members)
      .values({ ...request, user_id: user.id, ...sourceColumns(source) })
      .onConflictDoNothing()
      .returning({ id: members.id })
    if (inserted.length === 0) throw duplicate
  })
  const [row] = await ctx.db.read.select(userColumns).from(users).where(eq(users.id, user.id))
  if (!row) throw notFound('User')
  return { user: row, requested_at }
}

/** Locks a user's request; 404 without one. */
async function lockRequest(tx: Transaction, source: MemberSource, userId: number) {
  const [row] = await tx
    .select()
    .from(members)
    .where(and(belongsTo(source), eq(members.user_id, userId), sql`${members.requested_at} is not null`))
    .for('update')
  if (!row) throw notFound()
  return row
}

/** Approves a request, within the limits of `checkGrant` (AR-3, ME-8). */
export async function approveRequest(ctx: Context, source: MemberSource, caller: SignedIn, userId: number, access_level: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    await lockSource(tx, source)
    const row = await lockRequest(tx, source, userId)
    checkGrant(ctx, source, access_level, null)
    await tx
      .update(members)
      .set({ access_level, requested_at: null, created_by_id: caller.user.id, ...createdNow(ctx) })
      .where(eq(members.id, row.id))
    await auditMember(ctx, tx, source, { action: 'member_added', userId, changes: { access_level, expires_at: null } })
    await recordMembership(ctx, tx, source, userId, 'joined')
  })
}

/** Denies a request, if the caller manages members; or withdraws the caller's own (AR-4). */
export async function denyRequest(ctx: Context, source: MemberSource, caller: SignedIn, userId: number, manages: boolean): Promise<void> {
  if (!manages && userId !== caller.user.id) throw forbidden()
  await ctx.db.transaction(async (tx) => {
    const row = await lockRequest(tx, source, userId)
    await tx.delete(members).where(eq(members.id, row.id))
  })
}
