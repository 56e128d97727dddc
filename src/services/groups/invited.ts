import { and, asc, eq, gt, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm'
import { actingAs, actorOf, type SignedIn } from '../../access/actor.js'
import { getGroupFor, getProjectFor } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { emails, invitations, namespaces, projects, users } from '../../db/schema/index.js'
import { conflict, Failure, notFound, nullOnFailure } from '../../failures.js'
import { digestOf } from '../../lib/crypto/secret.js'
import { dayOf } from '../../lib/text/day.js'
import { type AuditAction, audit } from '../core/audit.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import { getUser } from '../identity/users.js'
import { addMember, lockSource, type MemberSource, sourceOfGroup, sourceOfProject } from './members.js'

export type Invitation = typeof invitations.$inferSelect

/** Where somebody is invited to. */
export interface InvitedPlace {
  kind: MemberSource['kind']
  id: number
  fullPath: string
}

/** An invitation as the invited person sees it. */
export interface ReceivedInvitation {
  invitation: Invitation
  place: InvitedPlace
  created_by: UserRefRecord
}

const DAY_MS = 86_400_000
/** Days for which an invitation can be accepted. */
export const INVITATION_DAYS = 90
/** Invitations that a person sees at once, the oldest first. */
const MAX_SHOWN = 50

/** SQL: what can be accepted still, at the moment `now`. */
export const waits = (now: Date): SQL | undefined =>
  and(
    isNull(invitations.ended_at),
    gt(invitations.created_at, new Date(now.getTime() - INVITATION_DAYS * DAY_MS)),
    or(isNull(invitations.expires_at), gt(invitations.expires_at, dayOf(now))),
  )

const source = {
  project: { id: projects.id, path: projects.path, marked: projects.marked_for_deletion_at },
  above: namespaces.full_path,
  group: { id: sql<number | null>`g.id`, path: sql<string | null>`g.full_path` },
}

/** Invitations with their place and author, but for those to what waits for its removal. */
async function received(ctx: Context, where: SQL | undefined): Promise<ReceivedInvitation[]> {
  const rows = await ctx.db.write
    .select({ invitation: invitations, created_by: userRefColumns(users), ...source })
    .from(invitations)
    .innerJoin(users, eq(users.id, invitations.created_by_id))
    .leftJoin(projects, and(eq(projects.id, invitations.project_id), isNull(projects.marked_for_deletion_at)))
    .leftJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .leftJoin(sql`${namespaces} g`, sql`g.id = ${invitations.namespace_id} and g.marked_for_deletion_at is null`)
    .where(and(where, waits(ctx.now())))
    .orderBy(asc(invitations.id))
    .limit(MAX_SHOWN)
  return rows.flatMap(({ invitation, created_by, project, above, group }): ReceivedInvitation[] => {
    if (project && above !== null)
      return [{ invitation, created_by, place: { kind: 'project', id: project.id, fullPath: `${above}/${project.path}` } }]
    if (group.id === null || group.path === null) return []
    return [{ invitation, created_by, place: { kind: 'group', id: Number(group.id), fullPath: group.path } }]
  })
}

/** The project or group of an invitation; null if that waits for its removal. */
export const placeOf = async (ctx: Context, { id }: Pick<Invitation, 'id'>): Promise<InvitedPlace | null> =>
  (await received(ctx, eq(invitations.id, id)))[0]?.place ?? null

/** The invitation of the token of a link; null if it is unknown or over (IV-4). */
export const findInvitation = async (ctx: Context, token: string): Promise<ReceivedInvitation | null> =>
  token === '' ? null : ((await received(ctx, eq(invitations.digest, digestOf(token))))[0] ?? null)

/** SQL: invitations to the confirmed addresses of a user. */
const toAddressesOf = (userId: number) =>
  sql`${invitations.email} in (select lower(${users.email}) from ${users} where ${users.id} = ${userId} and ${users.confirmed_at} is not null
    union all select lower(${emails.email}) from ${emails} where ${emails.user_id} = ${userId} and ${emails.confirmed_at} is not null)`

/** Whether an active account has confirmed an address. */
export async function isConfirmed(ctx: Context, email: string): Promise<boolean> {
  const [found] = await ctx.db.write
    .select({ id: users.id })
    .from(users)
    .leftJoin(emails, and(eq(emails.user_id, users.id), isNotNull(emails.confirmed_at)))
    .where(
      and(
        eq(users.state, 'active'),
        sql`(lower(${users.email}) = ${email} and ${users.confirmed_at} is not null or lower(${emails.email}) = ${email})`,
      ),
    )
    .limit(1)
  return found !== undefined
}

/** What the confirmed addresses of the caller are invited to. */
export const listReceived = (ctx: Context, { user }: SignedIn): Promise<ReceivedInvitation[]> => received(ctx, toAddressesOf(user.id))

/** An invitation by the token of its link or, without one, by its id among those of the caller; 404 if there is none. */
export async function getReceived(ctx: Context, { user }: SignedIn, by: { token: string } | { id: number }): Promise<ReceivedInvitation> {
  const found = 'token' in by ? await findInvitation(ctx, by.token) : (await received(ctx, and(eq(invitations.id, by.id), toAddressesOf(user.id))))[0]
  if (!found) throw notFound()
  return found
}

/** Whether who has sent an invitation may give its role there at this moment. */
async function isStillGiven(ctx: Context, { invitation, place }: ReceivedInvitation): Promise<boolean> {
  const author = await nullOnFailure(getUser(ctx, invitation.created_by_id))
  if (author?.state !== 'active') return false
  const caller = actingAs(actorOf(author))
  if (place.kind === 'project') {
    const subject = await nullOnFailure(getProjectFor(ctx, caller, String(place.id)))
    return subject?.can('manage_members') === true && sourceOfProject(subject).level >= invitation.access_level
  }
  const subject = await nullOnFailure(getGroupFor(ctx, caller, String(place.id)))
  return subject?.can('manage_members') === true && sourceOfGroup(subject).level >= invitation.access_level
}

/** Ends an invitation; false if it has ended meanwhile. */
const end = async (ctx: Context, tx: Transaction, { id }: Pick<Invitation, 'id'>): Promise<boolean> =>
  (
    await tx
      .update(invitations)
      .set({ ended_at: ctx.now() })
      .where(and(eq(invitations.id, id), waits(ctx.now())))
      .returning({ id: invitations.id })
  ).length > 0

/** Makes the caller a member of what they are invited to; 409 if they are one, or the invitation does not hold (IV-4). */
export async function acceptInvitation(ctx: Context, { user }: SignedIn, received: ReceivedInvitation): Promise<void> {
  const { invitation, place } = received
  if (!(await isStillGiven(ctx, received))) throw conflict('Who has invited you may not do so any more')
  const { access_level, expires_at, created_by_id } = invitation
  try {
    await ctx.db.transaction(async (tx) => {
      await lockSource(tx, place)
      if (!(await end(ctx, tx, invitation))) throw notFound()
      await addMember(ctx, tx, place, user.id, { access_level, expires_at, created_by_id })
    })
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'conflict') throw error
    // they are a member: there is nothing to accept
    await ctx.db.transaction((tx) => end(ctx, tx, invitation))
    throw conflict('You are a member already')
  }
}

/** Ends an invitation that the invited person does not want. */
export async function declineInvitation(ctx: Context, { invitation, place }: ReceivedInvitation): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    if (!(await end(ctx, tx, invitation))) throw notFound()
    await auditInvitation(ctx, tx, place, 'invitation_declined', { email: invitation.email })
  })
}

/** Audits what was done with an invitation. */
export const auditInvitation = (
  ctx: Context,
  tx: Transaction,
  place: InvitedPlace,
  action: Extract<AuditAction, `invitation_${string}`>,
  changes: Record<string, unknown>,
) => audit(ctx, tx, { action, target: { type: place.kind, id: place.id, name: place.fullPath }, changes })
