import { and, asc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { effectiveLevel, isOpenTo } from '../../access/can.js'
import { groupMembers, membershipCounts, shareCounts } from '../../access/roles.js'
import { fullPathOf, type GroupSubject, type ProjectSubject } from '../../access/rules.js'
import type { Context, MemberRemovedEvent } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { inIds } from '../../db/conditions.js'
import { decoded, totalCount } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { substring } from '../../db/fuzzy.js'
import { bots, members, namespaces, projects, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { conflict, forbidden, invalidRecord, notFound } from '../../failures.js'
import type { Keyset } from '../../lib/keyset.js'
import { dayOf } from '../../lib/text/day.js'
import { recordEvent } from '../activity/events.js'
import { type AuditAction, audit, changesOf } from '../core/audit.js'
import { createdNow } from '../core/created-now.js'
import { type Page, type Paging, pageFrom, rowFilters } from '../core/page.js'
import { lockNamespace } from '../identity/namespaces.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import { isBot } from './bots.js'

export interface MemberRecord {
  user: UserRefRecord
  kind: 'human' | 'ghost' | 'bot'
  access_level: number
  expires_at: string | null
  created_at: Date
}

/** A project or group, with what membership operations need to know about it. */
export interface MemberSource {
  kind: 'project' | 'group'
  id: number
  fullPath: string
  /** The caller's access level on it; 50 for administrators. */
  level: number
  /** The owner of a personal project, whose membership cannot be changed (ME-9). */
  ownerId: number | null
  /** Whether it accepts access requests, and its visibility is open to the caller (AR-2). */
  acceptsRequests: boolean
}

export const sourceOfProject = (subject: ProjectSubject): MemberSource => ({
  kind: 'project',
  id: subject.project.id,
  fullPath: fullPathOf(subject.project),
  level: effectiveLevel(subject),
  ownerId: subject.project.namespace.owner_id,
  acceptsRequests: subject.project.request_access_enabled && isOpenTo(subject.project.visibility, subject.user),
})
export const sourceOfGroup = (subject: GroupSubject): MemberSource => ({
  kind: 'group',
  id: subject.group.id,
  fullPath: subject.group.full_path,
  level: effectiveLevel(subject),
  ownerId: null,
  // a group that is only visible because of a project in it does not accept requests
  acceptsRequests: subject.group.request_access_enabled && isOpenTo(subject.group.visibility, subject.user),
})

export const userColumns = userRefColumns(users)
export const isActive = sql`${members.requested_at} is null and (${members.expires_at} is null or ${members.expires_at} > (now() at time zone 'utc')::date)`

export interface MemberFilter extends Keyset {
  query?: string | undefined
  user_ids?: number[] | undefined
  user_id?: number | undefined
}

const FILTERS = {
  query: {
    where: (text) =>
      sql`(${users.name} ilike ${text} or ${users.username} ilike ${text} or lower(${users.email}) = lower(${sql.placeholder('email')}))`,
    value: ({ query }) => (query ? substring(query) : undefined),
  },
  user_ids: { where: () => inIds(users.id, 'user_ids'), value: ({ user_ids }) => (user_ids?.length ? user_ids : undefined) },
  user_id: { where: (id) => eq(users.id, id), value: ({ user_id }) => user_id },
  ...rowFilters(users.id),
} satisfies Filters<MemberFilter, FilterNames<MemberFilter>>

interface Shape {
  kind: MemberSource['kind']
  filters: FilterNames<MemberFilter>[]
}

const selectDirectMembers = statement('direct members', (db, shape: Shape) =>
  db
    .select({
      user: userColumns,
      kind: users.kind,
      access_level: members.access_level,
      expires_at: members.expires_at,
      created_at: members.created_at,
      total: totalCount(),
    })
    .from(members)
    .innerJoin(users, eq(users.id, members.user_id))
    .where(
      and(
        eq(shape.kind === 'project' ? members.project_id : members.namespace_id, sql.placeholder('source')),
        isActive,
        ...conditionsOf(FILTERS, shape.filters, null),
      ),
    )
    .orderBy(asc(users.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** SQL: all memberships that apply to the source, direct, inherited or by a share, with their level there. */
export const effectiveMemberships = (kind: MemberSource['kind']) => {
  const source = sql.placeholder('source')
  if (kind === 'group') {
    return sql`select m.user_id, m.access_level, m.expires_at, m.created_at from namespace_ancestry a join ${groupMembers} m on m.namespace_id = a.ancestor_id
      where a.descendant_id = ${source} and ${membershipCounts}`
  }
  return sql`select m.user_id, m.access_level, m.expires_at, m.created_at from members m where m.project_id = ${source} and ${membershipCounts}
    union all select m.user_id, m.access_level, m.expires_at, m.created_at from projects p join namespace_ancestry a on a.descendant_id = p.namespace_id
      join ${groupMembers} m on m.namespace_id = a.ancestor_id where p.id = ${source} and ${membershipCounts}
    union all select m.user_id, least(m.access_level, s.group_access), m.expires_at, m.created_at from project_shares s
      join namespace_ancestry a on a.descendant_id = s.group_id join members m on m.namespace_id = a.ancestor_id
      where s.project_id = ${source} and ${membershipCounts} and ${shareCounts}`
}

/** Each user once, with their highest level (ME-2). */
const selectEffectiveMembers = statement('effective members', (db, shape: Shape) => {
  const best = sql`(select distinct on (r.user_id) r.* from (${effectiveMemberships(shape.kind)}) r order by r.user_id, r.access_level desc) best`
  return db
    .select({
      user: userColumns,
      kind: users.kind,
      access_level: decoded(sql<number>`best.access_level`, Number),
      expires_at: sql<string | null>`best.expires_at::text`,
      created_at: decoded(sql<Date>`best.created_at`, members.created_at),
      total: totalCount(),
    })
    .from(users)
    .innerJoin(best, sql`best.user_id = ${users.id}`)
    .where(and(...conditionsOf(FILTERS, shape.filters, null)))
    .orderBy(asc(users.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

/** Direct members (ME-1) or, with `inherited`, all members (ME-2). */
export async function listMembers(
  ctx: Context,
  source: MemberSource,
  { inherited, ...filter }: { inherited: boolean } & MemberFilter & Paging,
): Promise<Page<MemberRecord>> {
  const used = usedFilters(FILTERS, filter)
  const find = (inherited ? selectEffectiveMembers : selectDirectMembers)(ctx.db, { kind: source.kind, filters: used.names })
  return pageFrom(find, { ...used.values, source: source.id, email: filter.query }, filter)
}

/** One direct member (ME-3) or, with `inherited`, one member with their effective level (ME-4). */
export async function getMember(ctx: Context, source: MemberSource, userId: number, inherited = false): Promise<MemberRecord> {
  const find = (inherited ? selectEffectiveMembers : selectDirectMembers)(ctx.db, { kind: source.kind, filters: ['user_id'] })
  const [member] = await find.execute({ source: source.id, user_id: userId, limit: 1, offset: 0 })
  if (!member) throw notFound()
  return member
}

const PROJECT_LEVELS = [10, 20, 30, 40]
const GROUP_LEVELS = [10, 20, 30, 40, 50]

/** The levels that the caller may give in the source. */
export const levelsToGive = ({ kind, level }: Pick<MemberSource, 'kind' | 'level'>): number[] =>
  (kind === 'project' ? PROJECT_LEVELS : GROUP_LEVELS).filter((each) => each <= level)

const selectOrigins = statement('groups of inherited members', (db, kind: MemberSource['kind']) => {
  const source = sql.placeholder('source')
  const above = kind === 'project' ? sql`(select p.namespace_id from projects p where p.id = ${source})` : sql`${source}`
  const inherited = sql`select m.user_id, m.access_level, g.full_path from namespace_ancestry a join ${groupMembers} m on m.namespace_id = a.ancestor_id
    join namespaces g on g.id = a.ancestor_id where a.descendant_id = ${above} and ${membershipCounts}${kind === 'group' ? sql` and m.origin_id <> ${source}` : sql``}`
  const shared = sql`select m.user_id, least(m.access_level, s.group_access), g.full_path from project_shares s
    join namespaces g on g.id = s.group_id join namespace_ancestry a on a.descendant_id = s.group_id join members m on m.namespace_id = a.ancestor_id
    where s.project_id = ${source} and ${membershipCounts} and ${shareCounts}`
  const all = kind === 'project' ? sql`${inherited} union all ${shared}` : inherited
  return db
    .select({ user_id: users.id, full_path: sql<string>`origin.full_path` })
    .from(users)
    .innerJoin(
      sql`(select distinct on (r.user_id) r.* from (${all}) r order by r.user_id, r.access_level desc, r.full_path) origin`,
      sql`origin.user_id = ${users.id}`,
    )
    .where(inIds(users.id))
})

/** By user id: the group through which each of these users has their highest level, other than by a direct membership. */
export async function originsOf(ctx: Context, source: MemberSource, userIds: number[]): Promise<Map<number, string>> {
  const rows = await selectOrigins(ctx.db, source.kind).execute({ source: source.id, ids: userIds })
  return new Map(rows.map(({ user_id, full_path }) => [user_id, full_path]))
}

/**
 * Throws for levels that do not exist or exceed the caller's own, and for dates that are not in the future (ME-8,
 * ME-10).
 */
export function checkGrant(ctx: Pick<Context, 'now'>, source: MemberSource, level: number, expires: string | null | undefined) {
  const faults: Record<string, string[]> = {}
  if (!(source.kind === 'project' ? PROJECT_LEVELS : GROUP_LEVELS).includes(level)) faults['access_level'] = ['is not included in the list']
  if (expires && expires <= dayOf(ctx.now())) faults['expires_at'] = ['cannot be a date in the past']
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  if (level > source.level) throw forbidden()
}

/** What is enough to know of a project or group to add a member. */
type MemberPlace = Pick<MemberSource, 'kind' | 'id' | 'fullPath'>

export const belongsTo = (source: Pick<MemberSource, 'kind' | 'id'>) =>
  eq(source.kind === 'project' ? members.project_id : members.namespace_id, source.id)

/**
 * Locks the source against removal until the transaction ends, so that nothing is added to a project or group that is
 * being deleted (SEC-132). 404 when it is gone (W-46).
 */
export async function lockSource(tx: Pick<Transaction, 'select'>, { kind, id }: Pick<MemberSource, 'kind' | 'id'>): Promise<void> {
  const table = kind === 'project' ? projects : namespaces
  const [row] = await tx.select({ id: table.id }).from(table).where(eq(table.id, id)).for('key share')
  if (!row) throw notFound(kind === 'project' ? 'Project' : 'Group')
}

/** Locks a membership for a change; 403 for that of a personal project's owner (ME-9). */
async function lockMembership(tx: Transaction, source: MemberSource, userId: number) {
  // the group first: otherwise two owners who leave concurrently would deadlock on each other's rows
  if (source.kind === 'group') await lockNamespace(tx, source.id)
  const [row] = await tx
    .select()
    .from(members)
    .where(and(belongsTo(source), eq(members.user_id, userId), sql`${members.requested_at} is null`))
    .for('update')
  if (!row) throw notFound()
  if (source.ownerId === userId) throw forbidden()
  if (await isBot(tx, userId)) throw forbidden('the role of a bot ends with its access token')
  return row
}

/**
 * 403 when the user is the last owner of a group (ME-9). Locks all owner rows, so that concurrent removals serialise.
 */
async function requireAnotherOwner(tx: Transaction, source: MemberSource, userId: number) {
  if (source.kind !== 'group') return
  const owners = await tx
    .select({ user_id: members.user_id })
    .from(members)
    .where(
      and(
        eq(members.namespace_id, source.id),
        eq(members.access_level, 50),
        isActive,
        sql`${members.user_id} not in (select b.user_id from ${bots} b)`,
      ),
    )
    .orderBy(members.id)
    .for('update')
  if (owners.every((owner) => owner.user_id === userId)) throw forbidden()
}

/** Audits a change of a membership. */
export const auditMember = (
  ctx: Context,
  tx: Transaction,
  source: MemberPlace,
  { action, userId, changes }: { action: AuditAction; userId: number; changes: Record<string, unknown> },
) => audit(ctx, tx, { action, target: { type: source.kind, id: source.id, name: source.fullPath }, changes: { user_id: userId, ...changes } })

export interface NewMembership {
  access_level: number
  expires_at?: string | null | undefined
}

/** Adds members, all or none (ME-5). A pending access request becomes the membership (ME-11). */
export async function addMembers(ctx: Context, source: MemberSource, caller: SignedIn, userIds: number[], given: NewMembership): Promise<void> {
  checkGrant(ctx, source, given.access_level, given.expires_at)
  await ctx.db.transaction(async (tx) => {
    await lockSource(tx, source)
    // always in the same order, so that concurrent calls do not deadlock
    for (const userId of [...new Set(userIds)].sort((a, b) => a - b))
      await addMember(ctx, tx, source, userId, { ...given, created_by_id: caller.user.id })
  })
}

/** Adds one member, in a transaction that has locked the source; 409 if they are one already. */
export async function addMember(
  ctx: Context,
  tx: Transaction,
  source: MemberPlace,
  user_id: number,
  { access_level, expires_at = null, created_by_id }: NewMembership & { created_by_id: number },
) {
  const [user] = await tx.select({ id: users.id, kind: users.kind }).from(users).where(eq(users.id, user_id)).for('key share')
  if (!user || user.kind === 'ghost') throw notFound('User')
  if (user.kind === 'bot') throw invalidRecord({ user: ['project bots cannot be added to other groups / projects'] })
  const values = { access_level, expires_at, created_by_id, requested_at: null }
  const [existing] = await tx
    .select()
    .from(members)
    .where(and(belongsTo(source), eq(members.user_id, user_id)))
    .for('update')
  if (existing && existing.requested_at === null && !isExpired(ctx, existing.expires_at)) throw conflict('Member already exists')
  if (existing)
    await tx
      .update(members)
      .set({ ...values, ...createdNow(ctx) })
      .where(eq(members.id, existing.id))
  else {
    const [row] = await tx
      .insert(members)
      .values({ ...values, user_id, ...sourceColumns(source) })
      .onConflictDoNothing()
      .returning({ id: members.id })
    if (!row) throw conflict('Member already exists')
  }
  await auditMember(ctx, tx, source, { action: 'member_added', userId: user_id, changes: { access_level, expires_at } })
  await recordMembership(ctx, tx, source, user_id, 'joined')
}

/** The foreign key columns of a membership in the source. */
export const sourceColumns = ({ kind, id }: Pick<MemberSource, 'kind' | 'id'>) => (kind === 'project' ? { project_id: id } : { namespace_id: id })

/** Records that a user joined or left a project; groups have no such events (EV-5). */
export async function recordMembership(
  ctx: Pick<Context, 'now'>,
  tx: Transaction,
  source: Pick<MemberSource, 'kind' | 'id'>,
  userId: number,
  action: 'joined' | 'left',
) {
  if (source.kind === 'project')
    await recordEvent(tx, { project_id: source.id, author_id: userId, action, target_type: 'User', target_id: userId, created_at: ctx.now() })
}

/**
 * Deletes expired memberships, which have no effect any more, and records events for those of projects, dated at the
 * expiry (ME-10, EV-5).
 */
export async function endExpiredMemberships(ctx: Context): Promise<void> {
  const today = dayOf(ctx.now())
  await ctx.db.transaction(async (tx) => {
    const expired = await tx.delete(members).where(sql`${members.expires_at} <= ${today} and ${members.requested_at} is null`).returning({
      user_id: members.user_id,
      project_id: members.project_id,
      namespace_id: members.namespace_id,
      expires_at: members.expires_at,
    })
    for (const { user_id, project_id, namespace_id, expires_at } of expired) {
      await notifyRemoval(ctx, { tx, userId: user_id, project_id, namespace_id })
      if (project_id === null) continue
      const created_at = new Date(`${expires_at}T00:00:00.000Z`)
      await recordEvent(tx, { project_id, author_id: user_id, action: 'expired', target_type: 'User', target_id: user_id, created_at })
    }
  })
}

export const isExpired = (ctx: Pick<Context, 'now'>, day: string | null) => day !== null && day <= dayOf(ctx.now())

/** Changes level or expiry of a membership (ME-6). */
export async function changeMember(
  ctx: Context,
  source: MemberSource,
  userId: number,
  { access_level, expires_at }: { access_level: number; expires_at?: string | null | undefined },
): Promise<MemberRecord> {
  await ctx.db.transaction(async (tx) => {
    const row = await lockMembership(tx, source, userId)
    checkGrant(ctx, source, access_level, expires_at)
    if (row.access_level > source.level) throw forbidden()
    // the last owner's membership must not expire either (SEC-124)
    if (row.access_level === 50 && (access_level < 50 || expires_at)) await requireAnotherOwner(tx, source, userId)
    await tx
      .update(members)
      .set({ access_level, ...(expires_at !== undefined && { expires_at }), updated_at: ctx.now() })
      .where(eq(members.id, row.id))
    await auditMember(ctx, tx, source, { action: 'member_updated', userId, changes: changesOf(row, { access_level, expires_at }) })
  })
  return getMember(ctx, source, userId)
}

/** Removes a member, if the caller manages members; or lets the caller themselves leave (ME-7). */
export async function removeMember(
  ctx: Context,
  source: MemberSource,
  caller: SignedIn,
  userId: number,
  { manages, unchangedSince }: { manages: boolean; unchangedSince(changed: Date): void },
): Promise<void> {
  if (!manages && userId !== caller.user.id) throw forbidden()
  await ctx.db.transaction(async (tx) => {
    const row = await lockMembership(tx, source, userId)
    if (userId !== caller.user.id && row.access_level > source.level) throw forbidden()
    unchangedSince(row.updated_at)
    if (row.access_level === 50) await requireAnotherOwner(tx, source, userId)
    await tx.delete(members).where(eq(members.id, row.id))
    await auditMember(ctx, tx, source, { action: 'member_removed', userId, changes: { access_level: row.access_level } })
    await recordMembership(ctx, tx, source, userId, 'left')
    await notifyRemoval(ctx, { tx, userId, project_id: row.project_id, namespace_id: row.namespace_id })
  })
}

async function notifyRemoval(ctx: Context, event: MemberRemovedEvent): Promise<void> {
  for (const follow of ctx.listeners.memberRemoved) await follow(ctx, event)
}
