import { createHash } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import { qualified } from '../../access/roles.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { decoded } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { emails, identities, namespaces, projects, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { retryOnUniqueViolation } from '../../db/unique-violation.js'
import { conflict, forbidden, invalidRecord, notFound } from '../../failures.js'
import { numericId } from '../../lib/numeric-id.js'
import { dayOf } from '../../lib/text/day.js'
import { emailFault, normaliseEmail } from '../../rules/email.js'
import { lengthOf, namespacePathFaults, tooLong } from '../../rules/path.js'
import { VISIBILITY_LEVEL } from '../../rules/visibility.js'
import { audit } from '../core/audit.js'
import { isRestricted, readSettings } from '../core/settings.js'
import { imageFaults, storeAvatar } from './avatars.js'
import { dropOtherClaims, isEmailTaken, lockEmail } from './emails.js'
import { mailLink } from './links/mail.js'
import { claimRoute, isRouteTaken } from './namespaces.js'
import { hashPassword } from './passwords.js'

export type User = typeof users.$inferSelect

export interface NewUser {
  email: string
  username: string
  name: string
  password?: string | undefined
  reset_password?: boolean | undefined
  /** The user signs in elsewhere, and has no password here. */
  without_password?: boolean | undefined
  admin?: boolean | undefined
  external?: boolean | undefined
  projects_limit?: number | undefined
  can_create_group?: boolean | undefined
  skip_confirmation?: boolean | undefined
  bio?: string | null | undefined
  location?: string | null | undefined
  messenger?: string | undefined
  jobsnet?: string | undefined
  microblog?: string | undefined
  website_url?: string | undefined
  organization?: string | undefined
  provider?: string | undefined
  extern_uid?: string | undefined
  public_email?: string | undefined
  private_profile?: boolean | undefined
  avatar?: { data: Buffer } | undefined
}

const MAX_PROJECTS_LIMIT = 2_147_483_647

/** An http(s) URL, with or without its scheme: no scheme that runs code or reads files when followed (SEC-64). */
const isWebAddress = (text: string) =>
  text.length <= 2_048 && !/[\p{Cc}\s]/u.test(text) && /^(?:https?:\/\/[^/@]+(?:[/?#].*)?|(?!\/\/)(?![a-z][a-z0-9+.-]*:)[^@]*)$/i.test(text)

/**
 * Creates a user with their personal namespace (CR-4, U-18 to U-24): 409 for a taken e-mail or username, otherwise 400
 * with all messages.
 */
export async function createUser(ctx: Context, given: NewUser): Promise<User> {
  const settings = await readSettings(ctx)
  const email = normaliseEmail(given.email)
  const { username, name } = given
  const password = given.reset_password
    ? ctx.random.bytes('password', 32).toString('base64url')
    : given.without_password
      ? undefined
      : (given.password ?? '')
  const external = given.external ?? settings.user_default_external
  const hash = password !== undefined && passwordFault(password) === undefined ? await hashPassword(ctx, password) : null

  const create = () =>
    ctx.db.transaction(async (tx) => {
      const faults = await userFaults(tx, { ...given, email, password, avatar: given.avatar?.data }, null)
      if (Object.keys(faults).length > 0) {
        const conflictMessage = await userConflict(tx, { email, username }, 0)
        throw conflictMessage ? conflict(conflictMessage) : invalidRecord(faults)
      }
      const user = await insertUser(tx, {
        username,
        name,
        email,
        password_hash: hash,
        admin: given.admin ?? false,
        external,
        projects_limit: external ? 0 : (given.projects_limit ?? settings.default_projects_limit),
        can_create_group: external ? false : (given.can_create_group ?? true),
        confirmed_at: given.skip_confirmation ? ctx.now() : null,
        bio: given.bio ?? null,
        location: given.location ?? null,
        messenger: given.messenger ?? '',
        jobsnet: given.jobsnet ?? '',
        microblog: given.microblog ?? '',
        website_url: given.website_url ?? '',
        organization: given.organization ?? '',
        public_email: normaliseEmail(given.public_email ?? ''),
        private_profile: given.private_profile ?? false,
      })
      if (given.skip_confirmation) await dropOtherClaims(tx, user.id, email)
      if (given.provider && given.extern_uid)
        await tx.insert(identities).values({ user_id: user.id, provider: given.provider, extern_uid: given.extern_uid })
      await audit(ctx, tx, {
        action: 'user_created',
        target: { type: 'user', id: user.id, name: username },
        changes: { admin: user.admin, external },
      })
      if (given.reset_password) await mailLink(ctx, tx, 'welcome', email)
      else if (!given.skip_confirmation && settings.send_user_confirmation_email) await mailLink(ctx, tx, 'confirm', email)
      return user
    })
  const user = await retryOnUniqueViolation(create)
  if (!given.avatar) return user
  const avatar_file = await storeAvatar(ctx, 'user', user.id, given.avatar.data)
  const [shown] = await ctx.db.write.update(users).set({ avatar_file }).where(eq(users.id, user.id)).returning()
  return shown ?? user
}

/** Inserts a user and their personal namespace. The caller has checked the attributes. */
export async function insertUser(tx: Transaction, values: typeof users.$inferInsert): Promise<User> {
  const user = onlyRow(await tx.insert(users).values(values).returning())
  const { id: owner_id, username: path, created_at } = user
  const namespace = onlyRow(
    await tx
      .insert(namespaces)
      .values({ kind: 'user', name: path, path, full_path: path, full_name: path, owner_id, visibility: 20, created_at })
      .returning({ id: namespaces.id }),
  )
  await claimRoute(tx, path, { namespace_id: namespace.id })
  return user
}

/** Attributes of a user to validate; undefined ones are not changed. */
export interface UserDraft {
  /** Normalised. */
  email?: string | undefined
  password?: string | undefined
  name?: string | undefined
  username?: string | undefined
  bio?: string | null | undefined
  projects_limit?: number | undefined
  website_url?: string | undefined
  provider?: string | undefined
  extern_uid?: string | undefined
  public_email?: string | null | undefined
  avatar?: Buffer | undefined
}

/** What is wrong with a password; undefined when it is valid (U-23). */
export function passwordFault(password: string): string | undefined {
  if (password === '') return "can't be blank"
  if (password.length < 8) return 'is too short (minimum is 8 characters)'
  return password.length > 128 ? tooLong(128) : undefined
}

/** Field → messages, in the order of U-23; empty when the user is valid. Values of `self` do not count as taken. */
export async function userFaults(
  tx: Transaction,
  user: UserDraft,
  self: { id: number; username: string; email: string } | null,
): Promise<Record<string, string[]>> {
  const faults: Record<string, string[]> = {}
  const add = (field: string, ...texts: string[]) => {
    if (texts.length > 0) faults[field] = [...(faults[field] ?? []), ...texts]
  }
  const { email, password, name, username, bio, projects_limit } = user
  if (email !== undefined) {
    const fault = emailFault(email)
    if (fault) add('email', fault)
    await lockEmail(tx, email)
    if (await isEmailTaken(tx, email, self?.id)) add('email', 'has already been taken')
  }
  if (password !== undefined) {
    const fault = passwordFault(password)
    if (fault) add('password', fault)
  }
  if (name !== undefined) {
    if (name.trim() === '') add('name', "can't be blank")
    if (lengthOf(name) > 255) add('name', tooLong(255))
  }
  if (username !== undefined) {
    add('username', ...namespacePathFaults(username, 'top'))
    const isOwnUsername = self !== null && username.toLowerCase() === self.username.toLowerCase()
    if (!isOwnUsername && (await isRouteTaken(tx, username))) add('username', 'has already been taken')
  }
  if (bio && lengthOf(bio) > 255) add('bio', tooLong(255))
  if (projects_limit !== undefined && projects_limit < 0) add('projects_limit', 'must be greater than or equal to 0')
  if (projects_limit !== undefined && projects_limit > MAX_PROJECTS_LIMIT)
    add('projects_limit', `must be less than or equal to ${MAX_PROJECTS_LIMIT}`)
  if (user.website_url && !isWebAddress(user.website_url)) add('website_url', 'must be a valid URL')
  if (user.public_email && !(await isOwnAddress(tx, normaliseEmail(user.public_email), email ?? self?.email, self?.id)))
    add('public_email', 'is not an email address of the user')
  if (user.provider && user.extern_uid) {
    const [same] = await tx
      .select({ id: identities.id })
      .from(identities)
      .where(
        sql`${identities.provider} = ${user.provider} and lower(${identities.extern_uid}) = ${user.extern_uid.toLowerCase()} and ${identities.user_id} <> ${self?.id ?? 0}`,
      )
    if (same) add('identities.extern_uid', 'has already been taken')
  }
  if (user.avatar) add('avatar', ...imageFaults(user.avatar))
  return faults
}

/** Whether an address is the primary one or a confirmed one of the user (US-60). */
async function isOwnAddress(tx: Transaction, address: string, primary: string | undefined, id: number | undefined): Promise<boolean> {
  if (address === primary) return true
  if (id === undefined) return false
  const [own] = await tx
    .select({ id: emails.id })
    .from(emails)
    .where(sql`${emails.user_id} = ${id} and lower(${emails.email}) = ${address} and ${emails.confirmed_at} is not null`)
  return own !== undefined
}

/**
 * The message when another user has the primary address or the username; null otherwise. These conflicts are
 * reported before all other faults (U-24, U-30).
 */
export async function userConflict(tx: Transaction, { email, username }: UserDraft, self: number): Promise<string | null> {
  if (email !== undefined) {
    const [twin] = await tx.select({ id: users.id }).from(users).where(sql`lower(${users.email}) = ${email} and ${users.id} <> ${self}`)
    if (twin) return 'Email has already been taken'
  }
  if (username !== undefined) {
    const [namesake] = await tx
      .select({ id: users.id })
      .from(users)
      .where(sql`lower(${users.username}) = lower(${username}) and ${users.id} <> ${self}`)
    if (namesake) return 'Username has already been taken'
  }
  return null
}

const selectById = statement('user by id', (db) =>
  db
    .select()
    .from(users)
    .where(eq(users.id, sql.placeholder('id'))),
)

export async function getUser(ctx: Context, id: number): Promise<User> {
  const [user] = await selectById(ctx.db, null).execute({ id })
  if (!user) throw notFound('User')
  return user
}

const selectByName = statement('user by username', (db) =>
  db
    .select()
    .from(users)
    .where(eq(sql`lower(${users.username})`, sql`lower(${sql.placeholder('username')})`)),
)

/** By username, case-insensitively. */
export async function findUserByName(ctx: Context, username: string): Promise<User | null> {
  return (await selectByName(ctx.db, null).execute({ username }))[0] ?? null
}

const selectIdsByName = statement('ids of users by name', (db) =>
  db
    .select({ id: users.id, username: users.username })
    .from(users)
    .where(sql`lower(${users.username}) = any(${sql.placeholder('names')}::text[])`),
)

/** The ids of the users with these names, case-insensitively, in their order; null for a name that nobody has. */
export async function findUserIds(ctx: Context, names: readonly string[]): Promise<(number | null)[]> {
  const wanted = names.map((name) => name.toLowerCase())
  if (wanted.length === 0) return []
  const found = new Map((await selectIdsByName(ctx.db, null).execute({ names: wanted })).map(({ id, username }) => [username.toLowerCase(), id]))
  return wanted.map((name) => found.get(name) ?? null)
}

/** By id (digits) or by username; 404 when there is none or the caller may not see users. */
export async function getUserNamed(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, named: string): Promise<User> {
  if (!viewer && isRestricted(await readSettings(ctx), VISIBILITY_LEVEL.public)) throw notFound('User')
  const id = numericId(named)
  const user = id === null ? await findUserByName(ctx, named) : await getUser(ctx, id)
  if (!user) throw notFound('User')
  return user
}

const selectByLogin = statement('user by login', (db) =>
  db
    .select()
    .from(users)
    .where(sql`lower(${users.username}) = lower(${sql.placeholder('login')}) or lower(${users.email}) = lower(${sql.placeholder('login')})`),
)

/** By username or primary address, as typed at sign-in. */
export async function findUserByLogin(ctx: Context, login: string): Promise<User | null> {
  return (await selectByLogin(ctx.db, null).execute({ login }))[0] ?? null
}

const personalProjectCount = qualified(
  sql<number>`(select count(*) from ${projects} p join ${namespaces} n on n.id = p.namespace_id where n.owner_id = ${users.id} and p.marked_for_deletion_at is null)`,
)
const namespaceOf = qualified(sql<number | null>`(select n.id from ${namespaces} n where n.owner_id = ${users.id})`)
const identitiesOf = qualified(
  sql<UserRecord['identities']>`(select coalesce(json_agg(json_build_object('provider', i.provider, 'extern_uid', i.extern_uid) order by i.id), '[]')
    from ${identities} i where i.user_id = ${users.id})`,
)

/** What the most detailed view needs in addition to the row. */
export const extendedColumns = {
  identities: identitiesOf,
  namespace_id: decoded(namespaceOf, Number),
  personal_projects: decoded(personalProjectCount, Number),
}

/** A user with everything that the most detailed view shows. */
export interface UserRecord extends User {
  identities: { provider: string; extern_uid: string }[]
  namespace_id: number | null
  personal_projects: number
}

const selectUserRecord = statement('user record', (db) =>
  db
    .select({ user: users, ...extendedColumns })
    .from(users)
    .where(eq(users.id, sql.placeholder('id'))),
)

/** The user's record; 404 when there is none. */
export async function loadUser(ctx: Context, id: number): Promise<UserRecord> {
  const [row] = await selectUserRecord(ctx.db, null).execute({ id })
  if (!row) throw notFound('User')
  return toRecord(row)
}

export const toRecord = ({ user, ...rest }: { user: User } & Pick<UserRecord, keyof typeof extendedColumns>): UserRecord => ({ ...user, ...rest })

/** A user; anonymous callers get 404 when the public level is restricted (U-17). */
export async function showUser(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, id: number): Promise<UserRecord> {
  if (!viewer && isRestricted(await readSettings(ctx), VISIBILITY_LEVEL.public)) throw notFound('User')
  return loadUser(ctx, id)
}

/** Sets the user's last activity to today, at most once a day (EV-6). */
export async function recordActivity(ctx: Context, userId: number): Promise<void> {
  const today = dayOf(ctx.now())
  await ctx.db.write
    .update(users)
    .set({ last_activity_on: today })
    .where(sql`${users.id} = ${userId} and ${users.last_activity_on} is distinct from ${today}`)
}

/**
 * The active user with this confirmed primary address, if any, and the digest of the address in any case. 403 for
 * anonymous callers when the public level is restricted (UP-5).
 */
export async function findByEmail(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, given: string): Promise<{ user: User | null; hash: string }> {
  if (!viewer && isRestricted(await readSettings(ctx), VISIBILITY_LEVEL.public)) throw forbidden()
  const email = normaliseEmail(given)
  const [user] = await ctx.db.read
    .select()
    .from(users)
    .where(sql`lower(${users.email}) = ${email} and ${users.confirmed_at} is not null and ${users.state} = 'active'`)
  return { user: user ?? null, hash: createHash('md5').update(email).digest('hex') }
}
