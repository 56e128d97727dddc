import { and, eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { emails, identities, namespaces, users } from '../../db/schema/index.js'
import { retryOnUniqueViolation } from '../../db/unique-violation.js'
import { Failure, invalidRecord, notFound } from '../../failures.js'
import { normaliseEmail } from '../../rules/email.js'
import { audit, changesOf } from '../core/audit.js'
import { createdNow } from '../core/created-now.js'
import { readSettings } from '../core/settings.js'
import { removeAvatar, storeAvatar } from './avatars.js'
import { dropOtherClaims, type Email } from './emails.js'
import { mailLink } from './links/mail.js'
import { renameNamespace } from './namespaces.js'
import { revokeGrants } from './oauth.js'
import { hashPassword } from './passwords.js'
import { endImpersonation, hasAnotherAdministrator } from './user-state.js'
import { type User, userConflict, userFaults } from './users.js'

export interface UserChange {
  email?: string | undefined
  username?: string | undefined
  name?: string | undefined
  password?: string | undefined
  admin?: boolean | undefined
  external?: boolean | undefined
  projects_limit?: number | undefined
  can_create_group?: boolean | undefined
  skip_reconfirmation?: boolean | undefined
  bio?: string | null | undefined
  location?: string | null | undefined
  messenger?: string | null | undefined
  jobsnet?: string | null | undefined
  microblog?: string | null | undefined
  website_url?: string | null | undefined
  organization?: string | null | undefined
  provider?: string | undefined
  extern_uid?: string | undefined
  public_email?: string | null | undefined
  private_profile?: boolean | undefined
  /** Of pages; null: that of the browser (WB-800). */
  preferred_language?: string | null | undefined
  avatar?: { data: Buffer } | undefined
}

/** Whether the caller changes their own account. */
function isOwn({ origin }: Context, id: number): boolean {
  const caller = origin?.caller
  return caller?.user ? (caller.sudoer ?? caller.user).id === id : false
}

/** The contract answers every failed update of a user with 404 (U-30). */
const updateFailed = (message: unknown) => new Failure('not_found', { message })

/** Columns that store null as an empty string (G-87). */
const NOT_NULL_TEXTS = ['messenger', 'jobsnet', 'microblog', 'website_url', 'organization'] as const

/** Changes the given attributes (U-25 to U-32). */
export async function updateUser(ctx: Context, id: number, given: UserChange): Promise<void> {
  const settings = await readSettings(ctx)
  const { password } = given
  const password_hash = password !== undefined && password.length >= 8 && password.length <= 128 ? await hashPassword(ctx, password) : undefined
  const email = given.email === undefined ? undefined : normaliseEmail(given.email)

  const update = () =>
    ctx.db.transaction(async (tx) => {
      const [user] = await tx.select().from(users).where(eq(users.id, id)).for('update')
      if (user?.kind !== 'human') throw notFound('User')
      const draft = { ...given, email, website_url: given.website_url ?? undefined, avatar: given.avatar?.data }
      const faults = await userFaults(tx, draft, user)
      if (Object.keys(faults).length > 0) throw updateFailed((await userConflict(tx, draft, id)) ?? faults)
      if (given.admin === false && user.admin && !(await hasAnotherAdministrator(tx, id)))
        throw updateFailed({ admin: ['cannot be taken from the last administrator'] })

      const next: Partial<User> = {
        ...(email !== undefined && { email }),
        ...(given.username !== undefined && { username: given.username }),
        ...(given.name !== undefined && { name: given.name }),
        ...(given.admin !== undefined && { admin: given.admin }),
        ...(given.bio !== undefined && { bio: given.bio }),
        ...(given.location !== undefined && { location: given.location }),
        ...(given.public_email !== undefined && { public_email: normaliseEmail(given.public_email ?? '') }),
        ...(given.private_profile !== undefined && { private_profile: given.private_profile }),
        ...(given.preferred_language !== undefined && { preferred_language: given.preferred_language }),
        ...limitsOf(given, user, settings.default_projects_limit),
        ...(password_hash !== undefined && { password_hash, password_expired: !isOwn(ctx, id) }),
        ...(given.skip_reconfirmation && !user.confirmed_at && { confirmed_at: ctx.now() }),
      }
      for (const field of NOT_NULL_TEXTS) if (given[field] !== undefined) next[field] = given[field] ?? ''
      if (email !== undefined && email !== user.email) {
        const swapped = await swapEmails(ctx, tx, user, email)
        const confirmed_at = swapped.confirmed_at ?? (given.skip_reconfirmation ? ctx.now() : null)
        Object.assign(next, { ...swapped, ...next, confirmed_at })
        if (confirmed_at === null) await mailLink(ctx, tx, 'confirm', email, id)
      }
      if (next.confirmed_at) await dropOtherClaims(tx, id, email ?? user.email)
      if (given.username !== undefined && given.username !== user.username) await renamePersonalNamespace(tx, id, given.username)
      if (given.provider && given.extern_uid) await setIdentity(tx, id, given.provider, given.extern_uid)
      if (Object.keys(next).length > 0 || given.provider)
        await tx
          .update(users)
          .set({ ...next, updated_at: ctx.now() })
          .where(eq(users.id, id))
      const changes = {
        ...changesOf(user, next, ['password_hash']),
        ...(given.provider && { identity: [given.provider, given.extern_uid] }),
      }
      if (next.admin !== undefined && next.admin !== user.admin) await endImpersonation(ctx, tx, id)
      if (password_hash !== undefined) await revokeGrants(tx, id, { now: ctx.now() })
      if (Object.keys(changes).length > 0)
        await audit(ctx, tx, { action: 'user_updated', target: { type: 'user', id, name: user.username }, changes })
      return user
    })
  const user = await retryOnUniqueViolation(update)
  if (given.avatar) await replaceAvatar(ctx, user, given.avatar.data)
}

/** Makes a confirmed secondary address of a user the primary one (US-95). */
export async function makePrimary(ctx: Context, { id }: { id: number }, emailId: number): Promise<Email> {
  return ctx.db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, id)).for('update')
    const [row] = await tx
      .select()
      .from(emails)
      .where(and(eq(emails.user_id, id), eq(emails.id, emailId)))
    if (!user || !row) throw notFound('Email')
    if (row.confirmed_at === null) throw invalidRecord({ email: ['is not confirmed'] })
    const next = await swapEmails(ctx, tx, user, normaliseEmail(row.email))
    await tx
      .update(users)
      .set({ ...next, updated_at: ctx.now() })
      .where(eq(users.id, id))
    await audit(ctx, tx, { action: 'user_updated', target: { type: 'user', id, name: user.username }, changes: changesOf(user, next, []) })
    return row
  })
}

/**
 * External users may not create projects or groups; a user who becomes internal gets the default limits (U-29). Limits
 * in the request take precedence, except for external users.
 */
function limitsOf(given: UserChange, user: User, defaultLimit: number): Partial<User> {
  const external = given.external ?? user.external
  if (external) {
    const setsLimits = given.external === true || given.projects_limit !== undefined || given.can_create_group !== undefined
    return setsLimits ? { external, projects_limit: 0, can_create_group: false } : {}
  }
  const becomesInternal = user.external
  return {
    ...(given.external !== undefined && { external }),
    ...((given.projects_limit !== undefined || becomesInternal) && { projects_limit: given.projects_limit ?? defaultLimit }),
    ...((given.can_create_group !== undefined || becomesInternal) && { can_create_group: given.can_create_group ?? true }),
  }
}

/**
 * The former primary address becomes a secondary one, and a secondary one that becomes primary is no longer listed
 * (U-26). Each keeps its own confirmation (US-95). Returns what changes in the row of the user.
 */
async function swapEmails(ctx: Context, tx: Transaction, user: User, email: string): Promise<Partial<User>> {
  const [own] = await tx
    .delete(emails)
    .where(and(eq(emails.user_id, user.id), eq(sql`lower(${emails.email})`, email)))
    .returning()
  await tx.insert(emails).values({ user_id: user.id, email: user.email, confirmed_at: user.confirmed_at, ...createdNow(ctx) })
  // a secondary address is public only if it is confirmed (US-60)
  const hides = user.confirmed_at === null && normaliseEmail(user.public_email) === normaliseEmail(user.email)
  return { email, confirmed_at: own?.confirmed_at ?? null, ...(hides && { public_email: '' }) }
}

/** Renames the user's namespace to the new username, with all project paths in it (U-28). */
async function renamePersonalNamespace(tx: Transaction, userId: number, username: string) {
  const [namespace] = await tx.select({ id: namespaces.id }).from(namespaces).where(eq(namespaces.owner_id, userId))
  if (namespace) await renameNamespace(tx, namespace.id, { path: username, name: username })
}

/** Updates the user's identity at a provider, or adds one (U-27). */
async function setIdentity(tx: Transaction, userId: number, provider: string, extern_uid: string) {
  const changed = await tx
    .update(identities)
    .set({ extern_uid })
    .where(and(eq(identities.user_id, userId), eq(identities.provider, provider)))
    .returning({ id: identities.id })
  if (changed.length === 0) await tx.insert(identities).values({ user_id: userId, provider, extern_uid })
}

async function replaceAvatar(ctx: Context, user: User, data: Buffer) {
  const avatar_file = await storeAvatar(ctx, 'user', user.id, data)
  await ctx.db.write.update(users).set({ avatar_file, updated_at: ctx.now() }).where(eq(users.id, user.id))
  if (user.avatar_file && user.avatar_file !== avatar_file) await removeAvatar(ctx, 'user', user.id, user.avatar_file)
}
