import { and, asc, eq, gt, inArray, isNotNull, isNull, lt, or, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { totalCount } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { substring } from '../../db/fuzzy.js'
import { onlyRow } from '../../db/only-row.js'
import { emails, invitations, members, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { Failure, failureText, forbidden, notFound, refused } from '../../failures.js'
import { enqueue } from '../../jobs/enqueue.js'
import { dayOf } from '../../lib/text/day.js'
import { emailFault, normaliseEmail } from '../../rules/email.js'
import { changesOf } from '../core/audit.js'
import { createdNow } from '../core/created-now.js'
import { lockName } from '../core/lock-name.js'
import { MAIL_LANE } from '../core/mail.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import { invitationMail } from './invitation-mail.js'
import { auditInvitation, INVITATION_DAYS, type Invitation, waits } from './invited.js'
import { addMembers, checkGrant, isActive, lockSource, type MemberSource, type NewMembership, sourceColumns } from './members.js'

export interface InvitationRecord {
  invitation: Pick<Invitation, 'id' | 'email' | 'access_level' | 'expires_at' | 'created_at'>
  created_by: UserRefRecord
}

const DAY_MS = 86_400_000
/** Addresses and accounts of one call. */
export const MAX_INVITED = 100
/** Invitations of one project or group that wait, and those that one person sends in a day. */
const MAX_PENDING = 500
const MAX_OF_A_DAY = 200

const columns = {
  id: invitations.id,
  email: invitations.email,
  access_level: invitations.access_level,
  expires_at: invitations.expires_at,
  created_at: invitations.created_at,
}

export interface InvitationFilter extends Paging {
  query?: string | undefined
}

const FILTERS = {
  query: { where: (text) => sql`${invitations.email} ilike ${text}`, value: ({ query }) => (query ? substring(query) : undefined) },
} satisfies Filters<InvitationFilter, FilterNames<InvitationFilter>>

const selectInvitations = statement('invitations', (db, shape: { kind: MemberSource['kind']; filters: (keyof typeof FILTERS)[] }) =>
  db
    .select({ invitation: columns, created_by: userRefColumns(users), total: totalCount() })
    .from(invitations)
    .innerJoin(users, eq(users.id, invitations.created_by_id))
    .where(
      and(
        eq(shape.kind === 'project' ? invitations.project_id : invitations.namespace_id, sql.placeholder('source')),
        isNull(invitations.ended_at),
        sql`${invitations.created_at} > ${sql.placeholder('since')}`,
        sql`(${invitations.expires_at} is null or ${invitations.expires_at} > ${sql.placeholder('today')}::date)`,
        ...conditionsOf(FILTERS, shape.filters, null),
      ),
    )
    .orderBy(asc(invitations.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The invitations to a project or group that wait, the oldest first (IV-2). */
export async function listInvitations(ctx: Context, { kind, id }: MemberSource, filter: InvitationFilter): Promise<Page<InvitationRecord>> {
  const { names, values } = usedFilters(FILTERS, filter)
  const now = ctx.now()
  const since = new Date(now.getTime() - INVITATION_DAYS * DAY_MS)
  return pageFrom(selectInvitations(ctx.db, { kind, filters: names }), { ...values, source: id, since, today: dayOf(now) }, filter)
}

/** What was not done, by address or id. */
export type InvitationFaults = Record<string, string>

/**
 * Invites addresses, and adds accounts by their ids, each by itself: what is wrong with one does not hinder the others
 * (IV-1). The level and the date are checked first, as those of a membership (ME-8).
 */
export async function invite(
  ctx: Context,
  source: MemberSource,
  caller: SignedIn,
  { emails: given, user_ids, ...grant }: NewMembership & { emails: string[]; user_ids: number[] },
): Promise<InvitationFaults> {
  checkGrant(ctx, source, grant.access_level, grant.expires_at)
  if (given.length + user_ids.length > MAX_INVITED) throw refused(`Too many users specified (limit is ${MAX_INVITED})`)
  const faults: InvitationFaults = {}
  for (const id of new Set(user_ids)) {
    const fault = await addedOrFault(ctx, source, caller, id, grant)
    if (fault) faults[String(id)] = fault
  }
  for (const email of new Set(given.map(normaliseEmail))) {
    const fault = emailFault(email)
      ? 'Invite email is invalid'
      : await ctx.db.transaction((tx) => inviteOne(ctx, tx, source, caller, { ...grant, email }))
    if (fault) faults[email] = fault
  }
  return faults
}

async function addedOrFault(ctx: Context, source: MemberSource, caller: SignedIn, id: number, grant: NewMembership): Promise<string | null> {
  try {
    await addMembers(ctx, source, caller, [id], grant)
    return null
  } catch (error) {
    if (!(error instanceof Failure) || error.kind === 'forbidden') throw error
    return error.kind === 'conflict' ? 'User already exists in source' : failureText(error.body)
  }
}

/** Invites one address; returns why it cannot be. */
async function inviteOne(
  ctx: Context,
  tx: Transaction,
  source: MemberSource,
  { user }: SignedIn,
  { email, access_level, expires_at = null }: NewMembership & { email: string },
): Promise<string | null> {
  await lockSource(tx, source)
  // calls for one source, and those of one person, one after the other, so that the limits hold
  await lockName(tx, `invitations by ${user.id}`)
  await lockName(tx, `invitations to ${source.kind} ${source.id}`)
  if (await hasMember(tx, source, email)) return 'User already exists in source'
  const waiting = and(ofSource(source), waits(ctx.now()))
  if ((await tx.$count(invitations, and(waiting, eq(invitations.email, email)))) > 0) return 'Invite email has already been taken'
  if ((await tx.$count(invitations, waiting)) >= MAX_PENDING) return `At most ${MAX_PENDING} invitations wait at a time`
  const sinceYesterday = gt(invitations.created_at, new Date(ctx.now().getTime() - DAY_MS))
  if ((await tx.$count(invitations, and(eq(invitations.created_by_id, user.id), sinceYesterday))) >= MAX_OF_A_DAY)
    return `At most ${MAX_OF_A_DAY} invitations can be sent in a day`
  // one that nobody has accepted in time
  await tx
    .update(invitations)
    .set({ ended_at: ctx.now() })
    .where(and(ofSource(source), eq(invitations.email, email), isNull(invitations.ended_at)))
  const { id } = onlyRow(
    await tx
      .insert(invitations)
      .values({ ...sourceColumns(source), email, access_level, expires_at, created_by_id: user.id, ...createdNow(ctx) })
      .returning({ id: invitations.id }),
  )
  await auditInvitation(ctx, tx, source, 'invitation_sent', { email, access_level, expires_at })
  if (ctx.mail !== null) await enqueue(tx, invitationMail, { invitation: id }, MAIL_LANE)
  return null
}

const ofSource = ({ kind, id }: MemberSource) => eq(kind === 'project' ? invitations.project_id : invitations.namespace_id, id)

/** Whether an address is a confirmed one of a direct member. */
async function hasMember(tx: Transaction, source: MemberSource, email: string): Promise<boolean> {
  const [found] = await tx
    .select({ id: members.id })
    .from(members)
    .innerJoin(users, eq(users.id, members.user_id))
    .where(
      and(
        eq(source.kind === 'project' ? members.project_id : members.namespace_id, source.id),
        isActive,
        sql`(lower(${users.email}) = ${email} and ${users.confirmed_at} is not null
          or exists (select from ${emails} where ${emails.user_id} = ${users.id} and lower(${emails.email}) = ${email} and ${emails.confirmed_at} is not null))`,
      ),
    )
    .limit(1)
  return found !== undefined
}

/** Locks the invitation of an address that waits; 404 without one, 403 if it gives more than the caller has. */
async function lockInvitation(ctx: Context, tx: Transaction, source: MemberSource, email: string): Promise<Invitation> {
  const [row] = await tx
    .select()
    .from(invitations)
    .where(and(ofSource(source), eq(invitations.email, normaliseEmail(email)), waits(ctx.now())))
    .for('update')
  if (!row) throw notFound()
  if (row.access_level > source.level) throw forbidden()
  return row
}

/** Changes the level or the expiry of what an address is invited to (IV-3). */
export async function updateInvitation(
  ctx: Context,
  source: MemberSource,
  email: string,
  given: { access_level?: number | undefined; expires_at?: string | null | undefined },
): Promise<InvitationRecord> {
  const id = await ctx.db.transaction(async (tx) => {
    const row = await lockInvitation(ctx, tx, source, email)
    const next = {
      access_level: given.access_level ?? row.access_level,
      expires_at: given.expires_at === undefined ? row.expires_at : given.expires_at,
    }
    checkGrant(ctx, source, next.access_level, given.expires_at)
    const changes = changesOf<typeof next>(row, next)
    if (Object.keys(changes).length === 0) return row.id
    await tx
      .update(invitations)
      .set({ ...next, updated_at: ctx.now() })
      .where(eq(invitations.id, row.id))
    await auditInvitation(ctx, tx, source, 'invitation_updated', { email: row.email, ...changes })
    return row.id
  })
  return onlyRow(
    await ctx.db.write
      .select({ invitation: columns, created_by: userRefColumns(users) })
      .from(invitations)
      .innerJoin(users, eq(users.id, invitations.created_by_id))
      .where(eq(invitations.id, id)),
  )
}

/** Withdraws the invitation of an address. */
export async function withdrawInvitation(ctx: Context, source: MemberSource, email: string): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const row = await lockInvitation(ctx, tx, source, email)
    await tx.update(invitations).set({ ended_at: ctx.now() }).where(eq(invitations.id, row.id))
    await auditInvitation(ctx, tx, source, 'invitation_withdrawn', { email: row.email })
  })
}

/** Forgets invitations that nobody can accept any more; those that ended count for a day (IV-5). */
export async function dropOldInvitations(ctx: Context): Promise<void> {
  const now = ctx.now()
  const before = (days: number) => new Date(now.getTime() - days * DAY_MS)
  const over = or(isNotNull(invitations.ended_at), sql`${invitations.expires_at} <= ${dayOf(now)}`)
  const old = ctx.db.write
    .select({ id: invitations.id })
    .from(invitations)
    .where(or(lt(invitations.created_at, before(INVITATION_DAYS)), and(lt(invitations.created_at, before(1)), over)))
  await ctx.db.write.delete(invitations).where(inArray(invitations.id, old))
}
