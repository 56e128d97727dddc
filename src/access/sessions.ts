import type { IncomingHttpHeaders } from 'node:http'
import { parseCookie } from 'cookie'
import { eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Context } from '../context.js'
import { members, namespaceAncestry, namespaces, sessions, users } from '../db/schema/index.js'
import { statement } from '../db/statement.js'
import { digestOf } from '../lib/crypto/secret.js'
import { type ActorUser, actorOf, type SignedIn } from './actor.js'
import { checkAddress } from './addresses.js'
import { actorColumns } from './jobs/actor-columns.js'
import { membershipCounts, qualified } from './roles.js'

/** How long "remember me" keeps a session after its last use, in milliseconds. */
export const REMEMBERED_MS = 14 * 86_400_000
/** How long a session may wait for its second factor, in milliseconds. */
export const SECOND_FACTOR_MS = 600_000
/** Minimum time between two updates of `last_used_at`, in milliseconds. */
const LAST_USED_INTERVAL_MS = 60_000

/** The name of the cookie of a session; the prefix makes browsers refuse one that another host has set. */
export const sessionCookie = (ctx: Pick<Context, 'links'>) => (ctx.links.base.startsWith('https:') ? '__Host-roost_session' : 'roost_session')

/** The session of a browser (WB-10). */
export interface Session {
  id: number
  /** Of an administrator who acts as another user, the caller is that user. */
  caller: SignedIn
  /** Whose session it is, while the caller is another user (WB-203). */
  impersonator: ActorUser | null
  /** The file of the avatar, as in the `users` table. */
  avatar: string | null
  /** The language that the person in front of the browser has chosen for pages; null: none. */
  language: string | null
  passwordExpired: boolean
  twoFactor: boolean
  /** The password was right; nothing is open before the second factor. */
  awaitsSecondFactor: boolean
  created_at: Date
  /** Set if the user needs a second factor and has none (WB-24). */
  demand: SecondFactorDemand | null
}

/** That a user must set up a second factor. */
export interface SecondFactorDemand {
  /** When the user was first asked; null if never. */
  askedAt: Date | null
  /** For how long after that it can be skipped. */
  graceHours: number
  skipped: boolean
}

/**
 * The shortest period of grace, in hours, of the groups that demand a second factor of the user: those of which the user
 * is a member, and the ones above and below them. Null without any.
 */
const graceOfGroups = qualified(sql<number | null>`(select min(g.two_factor_grace_period) from ${namespaces} g
  where g.require_two_factor_authentication and not ${users.two_factor_enabled} and g.marked_for_deletion_at is null and exists (
    select from ${namespaceAncestry} a join ${members} m on m.namespace_id in (a.ancestor_id, a.descendant_id)
    where g.id in (a.ancestor_id, a.descendant_id) and m.user_id = ${users.id} and ${membershipCounts}))`)

const impersonated = alias(users, 'impersonated')

const selectSession = statement('session by digest', (db) =>
  db
    .select({
      user: actorColumns,
      avatar: users.avatar,
      language: users.preferred_language,
      state: users.state,
      kind: users.kind,
      removal: users.removal,
      password_expired: users.password_expired,
      two_factor_enabled: users.two_factor_enabled,
      second_factor_asked_at: users.second_factor_asked_at,
      grace_of_groups: graceOfGroups,
      id: sessions.id,
      remembered: sessions.remembered,
      awaits_second_factor: sessions.awaits_second_factor,
      second_factor_skipped: sessions.second_factor_skipped,
      created_at: sessions.created_at,
      last_used_at: sessions.last_used_at,
      impersonated: {
        id: impersonated.id,
        username: impersonated.username,
        name: impersonated.name,
        email: impersonated.email,
        admin: impersonated.admin,
        external: impersonated.external,
        can_create_group: impersonated.can_create_group,
        projects_limit: impersonated.projects_limit,
        avatar: impersonated.avatar,
        state: impersonated.state,
        kind: impersonated.kind,
        removal: impersonated.removal,
      },
    })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.user_id))
    .leftJoin(impersonated, eq(impersonated.id, sessions.impersonates_id))
    .where(eq(sessions.digest, sql.placeholder('digest'))),
)

/** The value of a session's cookie; undefined without one. */
export function sessionValue(ctx: Pick<Context, 'links'>, headers: IncomingHttpHeaders): string | undefined {
  return parseCookie(headers.cookie ?? '')[sessionCookie(ctx)]
}

/** The valid session of a cookie; null if it has ended (WB-11). */
export async function findSession(ctx: Context, value: string | undefined, address: string): Promise<Session | null> {
  if (!value) return null
  const [found] = await selectSession(ctx.db, null).execute({ digest: digestOf(value) })
  if (found?.kind !== 'human' || found.removal !== null) return null
  if (found.state !== 'active' && !(found.awaits_second_factor && maySignIn(found))) return null
  const now = ctx.now()
  if (found.last_used_at.getTime() + (await lifetimeOf(ctx, found)) <= now.getTime()) return null
  await checkAddress(ctx, found.user.id, address)
  if (now.getTime() - found.last_used_at.getTime() > LAST_USED_INTERVAL_MS && !found.awaits_second_factor) {
    ctx.jobs.add('session last used', async () => {
      await ctx.db.write.update(sessions).set({ last_used_at: now, address }).where(eq(sessions.id, found.id))
    })
  }
  const { id, user, created_at } = found
  const other = ctx.config.impersonation && user.admin ? found.impersonated : null
  const actsAs = other && mayBeImpersonated(other) ? other : null
  // what has ended does not come back with the rights
  if (found.impersonated && !actsAs) await ctx.db.write.update(sessions).set({ impersonates_id: null }).where(eq(sessions.id, id))
  return {
    id,
    caller: { ...(actsAs ? { user: actorOf(actsAs), sudoer: user } : { user }), token: { id: 0, kind: 'session', scopes: ['api'] } },
    impersonator: actsAs ? user : null,
    avatar: (actsAs ?? found).avatar,
    language: found.language,
    passwordExpired: found.password_expired,
    twoFactor: found.two_factor_enabled,
    awaitsSecondFactor: found.awaits_second_factor,
    created_at,
    demand: await demandOf(ctx, found),
  }
}

/** Whether the state of an account lets its user sign in, which makes one that was deactivated active again (WB-350). */
export const maySignIn = ({ state }: Pick<typeof users.$inferSelect, 'state'>) => state === 'active' || state === 'deactivated'

/** Whether administrators may act as a user: people whose account is in use, but for other administrators (WB-203). */
export const mayBeImpersonated = ({ state, kind, removal, admin }: Pick<typeof users.$inferSelect, 'state' | 'kind' | 'removal' | 'admin'>) =>
  state === 'active' && kind === 'human' && removal === null && !admin

interface Demanded {
  two_factor_enabled: boolean
  second_factor_asked_at: Date | null
  second_factor_skipped: boolean
  grace_of_groups: number | null
}

/** What the settings and the groups of a user without a second factor demand. */
async function demandOf(ctx: Context, found: Demanded): Promise<SecondFactorDemand | null> {
  if (found.two_factor_enabled) return null
  const { require_two_factor_authentication: demanded, two_factor_grace_period: hours } = await ctx.caches.settings.read()
  const periods = [...(demanded ? [hours] : []), ...(found.grace_of_groups === null ? [] : [found.grace_of_groups])]
  return periods.length === 0
    ? null
    : { askedAt: found.second_factor_asked_at, graceHours: Math.min(...periods), skipped: found.second_factor_skipped }
}

const selectDemanded = statement('second factor of a user', (db) =>
  db
    .select({
      two_factor_enabled: users.two_factor_enabled,
      second_factor_asked_at: users.second_factor_asked_at,
      second_factor_skipped: sql<boolean>`false`,
      grace_of_groups: graceOfGroups,
    })
    .from(users)
    .where(eq(users.id, sql.placeholder('id'))),
)

/** What the settings and the groups of a user demand, outside of any session; null if nothing, or the user has it. */
export async function secondFactorDemand(ctx: Context, id: number): Promise<SecondFactorDemand | null> {
  const [found] = await selectDemanded(ctx.db, null).execute({ id })
  return found ? demandOf(ctx, found) : null
}

/** Whether a second factor is demanded that the user neither has nor may skip (any longer) (WB-24). */
export const needsSecondFactor = ({ demand }: Pick<Session, 'demand'>, now: Date): boolean =>
  demand !== null && (!demand.skipped || endOfGrace(demand, now) <= now)

/** Until when the second factor that is demanded can be skipped. */
export const endOfGrace = ({ askedAt, graceHours }: SecondFactorDemand, now: Date): Date =>
  new Date((askedAt ?? now).getTime() + graceHours * 3_600_000)

/** Milliseconds that a session lasts after its last use. */
async function lifetimeOf(ctx: Context, { remembered, awaits_second_factor }: { remembered: boolean; awaits_second_factor: boolean }) {
  if (awaits_second_factor) return SECOND_FACTOR_MS
  const { session_expire_delay: minutes } = await ctx.caches.settings.read()
  return Math.max(minutes * 60_000, remembered ? REMEMBERED_MS : 0)
}
