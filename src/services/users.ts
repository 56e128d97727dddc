import { randomBytes } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import type { ActorUser } from '../access/actor.js'
import type { Context } from '../context.js'
import type { Transaction } from '../db/client.js'
import { emails, identities, namespaces, users } from '../db/schema/index.js'
import { statement } from '../db/statement.js'
import { conflict, invalidRecord, notFound } from '../failures.js'
import { lengthOf, namespacePathFaults, tooLong } from '../lib/path.js'
import { claimRoute, isRouteTaken } from './namespaces.js'
import { hashPassword } from './passwords.js'
import { readSettings } from './settings.js'

export type User = typeof users.$inferSelect

export interface NewUser {
  email: string
  username: string
  name: string
  password?: string | undefined
  reset_password?: boolean | undefined
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
}

const EMAIL = /^[^\s@]+@[^\s@]+$/

/** Creates a user with the personal namespace (CR-4, U-18 to U-24): 409 for a taken e-mail or username, 400 with all texts else. */
export async function createUser(ctx: Context, given: NewUser): Promise<User> {
  const settings = await readSettings(ctx)
  const email = given.email.trim().toLowerCase()
  const { username, name } = given
  const password = given.reset_password ? randomBytes(32).toString('base64url') : (given.password ?? '')
  const external = given.external ?? settings.user_default_external
  const hash = password.length >= 8 && password.length <= 128 ? await hashPassword(password) : null

  return ctx.db.transaction(async (tx) => {
    const faults = await userFaults(tx, { ...given, email, password })
    if (Object.keys(faults).length > 0) {
      const [twin] = await tx.select({ email: users.email, username: users.username }).from(users).where(sql`lower(${users.email}) = ${email}`)
      if (twin) throw conflict('Email has already been taken')
      const [namesake] = await tx.select({ id: users.id }).from(users).where(eq(users.username, username))
      if (namesake) throw conflict('Username has already been taken')
      throw invalidRecord(faults)
    }
    const [user] = await tx
      .insert(users)
      .values({
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
      })
      .returning()
    if (!user) throw new Error('no row came back from an insert')
    if (given.provider && given.extern_uid)
      await tx.insert(identities).values({ user_id: user.id, provider: given.provider, extern_uid: given.extern_uid })
    const [namespace] = await tx
      .insert(namespaces)
      .values({ kind: 'user', name: username, path: username, full_path: username, full_name: username, owner_id: user.id, visibility: 20 })
      .returning({ id: namespaces.id })
    await claimRoute(tx, username, { namespace_id: namespace?.id as number })
    return user
  })
}

/** Field → texts, in the order of U-23; empty when the user may be stored. */
async function userFaults(tx: Transaction, user: NewUser & { password: string }): Promise<Record<string, string[]>> {
  const faults: Record<string, string[]> = {}
  const add = (field: string, ...texts: string[]) => {
    if (texts.length > 0) faults[field] = [...(faults[field] ?? []), ...texts]
  }
  if (user.email === '') add('email', "can't be blank")
  else if (!EMAIL.test(user.email) || lengthOf(user.email) > 254) add('email', 'is invalid')
  const [taken] = await tx
    .select({ one: sql`1` })
    .from(users)
    .where(sql`lower(${users.email}) = ${user.email}`)
    .union(tx.select({ one: sql`1` }).from(emails).where(sql`lower(${emails.email}) = ${user.email}`))
  if (taken) add('email', 'has already been taken')
  if (!user.reset_password) {
    if (user.password === '') add('password', "can't be blank")
    else if (user.password.length < 8) add('password', 'is too short (minimum is 8 characters)')
    else if (user.password.length > 128) add('password', tooLong(128))
  }
  if (user.name.trim() === '') add('name', "can't be blank")
  if (lengthOf(user.name) > 255) add('name', tooLong(255))
  add('username', ...namespacePathFaults(user.username, 'top'))
  if (await isRouteTaken(tx, user.username)) add('username', 'has already been taken')
  if (user.bio && lengthOf(user.bio) > 255) add('bio', tooLong(255))
  if (user.projects_limit !== undefined && user.projects_limit < 0) add('projects_limit', 'must be greater than or equal to 0')
  if (user.provider && user.extern_uid) {
    const [same] = await tx
      .select({ id: identities.id })
      .from(identities)
      .where(sql`${identities.provider} = ${user.provider} and lower(${identities.extern_uid}) = ${user.extern_uid.toLowerCase()}`)
    if (same) add('identities.extern_uid', 'has already been taken')
  }
  return faults
}

const byId = statement('user by id', (db) =>
  db
    .select()
    .from(users)
    .where(eq(users.id, sql.placeholder('id'))),
)

export async function getUser(ctx: Context, id: number): Promise<User> {
  const [user] = await byId(ctx.db, null).execute({ id })
  if (!user) throw notFound('User')
  return user
}

const byName = statement('user by username', (db) =>
  db
    .select()
    .from(users)
    .where(eq(sql`lower(${users.username})`, sql`lower(${sql.placeholder('username')})`)),
)

/** Whatever the case of the username. */
export async function findUserByName(ctx: Context, username: string): Promise<User | undefined> {
  return (await byName(ctx.db, null).execute({ username }))[0]
}

const byLogin = statement('user by login', (db) =>
  db
    .select()
    .from(users)
    .where(sql`lower(${users.username}) = lower(${sql.placeholder('login')}) or lower(${users.email}) = lower(${sql.placeholder('login')})`),
)

/** By username or primary address, as people type it at a login. */
export async function findUserByLogin(ctx: Context, login: string): Promise<User | undefined> {
  return (await byLogin(ctx.db, null).execute({ login }))[0]
}

const identitiesOf = statement('identities of a user', (db) =>
  db
    .select({ provider: identities.provider, extern_uid: identities.extern_uid })
    .from(identities)
    .where(eq(identities.user_id, sql.placeholder('id')))
    .orderBy(identities.id),
)

const personalProjects = statement('personal namespace of a user', (db) =>
  db
    .select({ id: namespaces.id, projects: sql<number>`(select count(*) from projects p where p.namespace_id = ${namespaces.id})`.mapWith(Number) })
    .from(namespaces)
    .where(eq(namespaces.owner_id, sql.placeholder('id'))),
)

/** The user with all that the largest view shows. */
export interface UserRecord extends User {
  identities: { provider: string; extern_uid: string }[]
  namespace_id: number | null
  personal_projects: number
}

export async function loadUser(ctx: Context, id: number): Promise<UserRecord> {
  const [user, own, [namespace]] = await Promise.all([
    getUser(ctx, id),
    identitiesOf(ctx.db, null).execute({ id }),
    personalProjects(ctx.db, null).execute({ id }),
  ])
  return { ...user, identities: own, namespace_id: namespace?.id ?? null, personal_projects: namespace?.projects ?? 0 }
}

/** Today's date as the user's last activity, written at most once a day (EV-6). */
export async function recordActivity(ctx: Context, userId: number): Promise<void> {
  const today = ctx.now().toISOString().slice(0, 10)
  await ctx.db.write
    .update(users)
    .set({ last_activity_on: today })
    .where(sql`${users.id} = ${userId} and ${users.last_activity_on} is distinct from ${today}`)
}

/** The part of a user that calls run as. */
export const actorOf = ({ id, username, name, email, admin, external, can_create_group, projects_limit }: User): ActorUser => ({
  id,
  username,
  name,
  email,
  admin,
  external,
  can_create_group,
  projects_limit,
})
