import { and, eq, sql } from 'drizzle-orm'
import { maySignIn } from '../../../access/sessions.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { identities, routes, users } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { Failure, forbidden } from '../../../failures.js'
import { Unavailable } from '../../../lib/unavailable.js'
import { emailFault, normaliseEmail } from '../../../rules/email.js'
import { namespacePathFaults } from '../../../rules/path.js'
import type { Provider } from '../../../sign-on-config.js'
import { audit } from '../../core/audit.js'
import { isEmailTaken } from '../emails.js'
import { recordRefusal } from '../passwords.js'
import { setDirectoryBlocked } from '../user-state.js'
import { updateUser } from '../user-update.js'
import { createUser, getUser, type User } from '../users.js'
import { type StartedSession, startSession } from './sessions.js'

/** What a provider says about a person. */
export interface Profile {
  /** Names the person for good. */
  uid: string
  username: string
  name: string
  email: string
  /** Whether the provider says that the address is the person's. */
  verified: boolean
  groups: string[]
}

export function configuredProviders({ config }: Pick<Context, 'config'>): Provider[] {
  const { openid_connect, ldap, header } = config.signOn
  return [...openid_connect, ...ldap, ...(header ? [header] : [])]
}

/** The providers that may be used at the moment, as the setting `disabled_oauth_sign_in_sources` says (WB-41). */
export async function signOnProviders({ config, caches }: Pick<Context, 'config' | 'caches'>) {
  const { openid_connect, ldap, header } = config.signOn
  const { disabled_oauth_sign_in_sources: off } = await caches.settings.read()
  const isOn = ({ name }: Provider) => !off.includes(name)
  return { openid: openid_connect.filter(isOn), ldap: ldap.filter(isOn), header: header && isOn(header) ? header : undefined }
}

export const labelOf = ({ name, label }: Pick<Provider, 'name' | 'label'>): string => label ?? name

/** Says that a provider does not work at the moment; the log has the cause. */
export function notReached(ctx: Pick<Context, 'log'>, provider: Provider, cause: unknown): Unavailable {
  ctx.log.warn({ provider: provider.name, err: cause }, 'a provider of sign-ins cannot be used')
  return new Unavailable(`${labelOf(provider)} cannot be reached at the moment`, 30, { cause })
}

/** The groups that decide what a person may do; a trusted header names none. */
const groupsOf = (provider: Provider) => ('groups' in provider ? provider.groups : {})

/** Records why somebody who was sent by a provider was not signed in, and refuses. */
export async function refuseSignOn(ctx: Context, provider: Provider, who: { login: string; user?: User | null }, reason: string): Promise<Failure> {
  await recordRefusal(ctx, { login: who.login, user: who.user, address: ctx.origin?.address ?? '' }, `${provider.name}: ${reason}`)
  return forbidden(`${labelOf(provider)} did not sign you in: ${reason}`)
}

/** Signs in the person whom a provider has named, with an account that is found or made (WB-45). */
export async function signOn(ctx: Context, provider: Provider, profile: Profile, { remembered = false } = {}): Promise<StartedSession> {
  const login = profile.username || profile.email || profile.uid
  const { required } = groupsOf(provider)
  const user = await findAccount(ctx, provider, profile)
  if (required && !required.some((group) => profile.groups.includes(group)))
    throw await refuseSignOn(ctx, provider, { login, user }, 'your account there is in none of the groups that may use this service')
  const account = await returned(ctx, provider, user ?? (await makeAccount(ctx, provider, profile)))
  const current = await applyGroups(ctx, provider, profile, account)
  if (!maySignIn(current) || current.kind !== 'human' || current.removal !== null)
    throw await refuseSignOn(ctx, provider, { login, user: current }, 'the account is blocked')
  const awaitsSecondFactor = current.two_factor_enabled && !provider.second_factor
  return startSession(ctx, current, { login, remembered, awaitsSecondFactor, provider: provider.name })
}

/** Who signs in with the directory again is no longer blocked for having left it (WB-52). */
async function returned(ctx: Context, provider: Provider, user: User): Promise<User> {
  if (!('url' in provider) || user.state !== 'ldap_blocked') return user
  await setDirectoryBlocked(ctx, user.id, false)
  return getUser(ctx, user.id)
}

const selectByIdentity = statement('user by identity', (db) =>
  db
    .select({ user: users, uid: identities.extern_uid })
    .from(identities)
    .innerJoin(users, eq(users.id, identities.user_id))
    .where(and(eq(identities.provider, sql.placeholder('provider')), sql`lower(${identities.extern_uid}) = lower(${sql.placeholder('uid')})`)),
)

/** The account with an identity; null if there is none. Ids other than DNs must be equal in case. */
async function findByIdentity(ctx: Context, provider: Provider, uid: string): Promise<User | null> {
  const [found] = await selectByIdentity(ctx.db, null).execute({ provider: provider.name, uid })
  return found && ('url' in provider || found.uid === uid) ? found.user : null
}

async function findAccount(ctx: Context, provider: Provider, profile: Profile): Promise<User | null> {
  const known = await findByIdentity(ctx, provider, profile.uid)
  if (known || !provider.link_by_address || !profile.verified || emailFault(profile.email)) return known
  const [owner] = await ctx.db.write
    .select()
    .from(users)
    .where(sql`lower(${users.email}) = ${profile.email} and ${users.confirmed_at} is not null and ${users.kind} = 'human'`)
  if (owner) await linkIdentity(ctx, owner, provider, profile.uid)
  return owner ?? null
}

/** Connects an account with a person at a provider; 403 if another account has that person. */
export async function linkIdentity(ctx: Context, user: { id: number; username: string }, provider: Provider, uid: string): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    await tx.select({ id: users.id }).from(users).where(eq(users.id, user.id)).for('no key update')
    const own = await tx
      .select()
      .from(identities)
      .where(and(eq(identities.user_id, user.id), eq(identities.provider, provider.name)))
    if (own.some(({ extern_uid }) => extern_uid === uid)) return
    if (own.length > 0) throw forbidden(`the account is connected with another person at ${labelOf(provider)}`)
    const linked = await tx
      .insert(identities)
      .values({ user_id: user.id, provider: provider.name, extern_uid: uid })
      .onConflictDoNothing()
      .returning()
    if (linked.length === 0) throw forbidden(`another account is connected with this person at ${labelOf(provider)}`)
    await auditIdentity(ctx, tx, 'identity_linked', user, provider.name)
  })
}

export const auditIdentity = (
  ctx: Context,
  tx: Transaction,
  action: 'identity_linked' | 'identity_unlinked',
  { id, username }: { id: number; username: string },
  provider: string,
) => audit(ctx, tx, { action, target: { type: 'user', id, name: username }, actorId: id, changes: { provider } })

async function makeAccount(ctx: Context, provider: Provider, profile: Profile): Promise<User> {
  const { uid, email, verified } = profile
  const login = profile.username || email || uid
  if (!provider.create_accounts) throw await refuseSignOn(ctx, provider, { login }, 'there is no account for you here; ask an administrator for one')
  if (emailFault(email)) throw await refuseSignOn(ctx, provider, { login }, 'it has no e-mail address of yours')
  if (!verified) throw await refuseSignOn(ctx, provider, { login }, 'your e-mail address is not verified there')
  const external = groupsOf(provider).external?.some((group) => profile.groups.includes(group))
  const username = await freeUsername(ctx, profile)
  try {
    return await createUser(ctx, {
      ...{ email, username, name: shortName(profile.name) || username, without_password: true, skip_confirmation: true },
      ...{ provider: provider.name, extern_uid: uid, ...(external && { external }) },
    })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    // a second browser of the same person may have been faster
    const other = await findByIdentity(ctx, provider, uid)
    if (other) return other
    if (!(await isEmailTaken(ctx.db.write, email))) throw error
    const reason = 'an account with your e-mail address exists; sign in to it, and connect it in the settings of your account'
    throw await refuseSignOn(ctx, provider, { login }, reason)
  }
}

const MAX_NAME = 255
/** Without control characters and what turns text around. */
const shortName = (name: string) => [...name.replace(/[\p{Cc}\p{Cf}\p{Surrogate}]/gu, '').trim()].slice(0, MAX_NAME).join('')

const MAX_USERNAME = 100
/** Usernames that are tried if others have the one that a provider names. */
const TRIES = 100

/** A valid username like the one that a provider names, or like the address. */
function usernameFrom({ username, email }: Pick<Profile, 'username' | 'email'>): string {
  const [wanted = ''] = (username || email).split('@')
  const plain = withoutEndings(
    wanted
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .replace(/[^A-Za-z0-9_.-]+/g, '-')
      .replace(/^[-.]+/, '')
      .slice(0, MAX_USERNAME),
  )
  return namespacePathFaults(plain, 'top').length > 0 ? 'member' : plain
}

/** Takes away endings that a username may not have. */
function withoutEndings(name: string): string {
  const shorter = name.replace(/(?:\.git|\.atom|[-.])$/i, '')
  return shorter === name ? name : withoutEndings(shorter)
}

async function freeUsername(ctx: Context, profile: Profile): Promise<string> {
  const wanted = usernameFrom(profile)
  const candidates = [wanted, ...Array.from({ length: TRIES }, (_, i) => `${wanted}${i + 1}`)]
  const { rows } = await ctx.db.write.execute<{ key: string }>(
    sql`select key from ${routes} where key in (${sql.join(
      candidates.map((name) => sql`${name.toLowerCase()}`),
      sql`, `,
    )})`,
  )
  const taken = new Set(rows.map(({ key }) => key))
  return candidates.find((name) => !taken.has(name.toLowerCase())) ?? `${wanted}-${ctx.random.bytes('sign-on', 6).toString('hex')}`
}

/**
 * Makes the user an administrator or external, or not, as the groups at the provider say (WB-46). The last administrator
 * stays one.
 */
async function applyGroups(ctx: Context, provider: Provider, { groups }: Profile, user: User): Promise<User> {
  const { administrators, external: outside } = groupsOf(provider)
  const isIn = (names: readonly string[] | undefined, otherwise: boolean) =>
    names === undefined ? otherwise : names.some((group) => groups.includes(group))
  const [admin, external] = [isIn(administrators, user.admin), isIn(outside, user.external)]
  if (!maySignIn(user) || (admin === user.admin && external === user.external)) return user
  await updateUser(ctx, user.id, { admin, external }).catch(async (error: unknown) => {
    if (!(error instanceof Failure) || error.kind !== 'not_found') throw error
    ctx.log.warn({ user: user.username, provider: provider.name }, 'the last administrator stays one, whatever the groups are')
    await updateUser(ctx, user.id, { external })
  })
  return getUser(ctx, user.id)
}

/** The profile as it is used: an address in one spelling, and limits on everything that the provider says. */
export const cleanProfile = ({ email, groups, ...rest }: Profile): Profile => ({
  ...rest,
  email: normaliseEmail(email),
  groups: groups.slice(0, MAX_GROUPS),
})

const MAX_GROUPS = 10_000
