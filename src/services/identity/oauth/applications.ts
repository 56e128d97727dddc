import { and, asc, desc, eq, isNull, sql } from 'drizzle-orm'
import { APPLICATION_SCOPES } from '../../../access/scopes.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { onlyRow } from '../../../db/only-row.js'
import { oauthApplications } from '../../../db/schema/index.js'
import { forbidden, invalidRecord, notFound } from '../../../failures.js'
import { digestOf, newSecret } from '../../../lib/crypto/secret.js'
import type { Keyset } from '../../../lib/keyset.js'
import { lengthOf, tooLong } from '../../../rules/path.js'
import { type AuditAction, audit, changesOf } from '../../core/audit.js'
import { createdNow } from '../../core/created-now.js'
import { lockName } from '../../core/lock-name.js'
import { afterRow, limits, type Page, type Paging } from '../../core/page.js'
import { redirectUriFault } from './redirect-uris.js'

export type Application = typeof oauthApplications.$inferSelect

export interface NewApplication {
  name: string
  redirect_uris: string[]
  scopes: string[]
  confidential: boolean
  trusted?: boolean
}

/** Applications of one user, and those of the whole service (CR-31). */
const MAX_APPLICATIONS = { user: 100, service: 1_000 }
const MAX_REDIRECT_URIS = 20

/** More words than any field may have: those beyond are not read. */
const MAX_WORDS = 1_000

/** The words of a field, each once. */
export const wordsOf = (text: string): string[] => [...new Set(text.split(/\s+/, MAX_WORDS).filter(Boolean))]

const blank = ["can't be blank"]

/** What is wrong with an application, by the names of the API (CR-31). */
function faultsOf({ name, redirect_uris, scopes }: NewApplication): Record<string, string[]> {
  const faults: Record<string, string[]> = {}
  if (name.trim() === '') faults['name'] = blank
  else if (lengthOf(name) > 255) faults['name'] = [tooLong(255)]
  const wrong = redirect_uris.slice(0, MAX_REDIRECT_URIS).flatMap((uri) => redirectUriFault(uri) ?? [])
  if (redirect_uris.length === 0) faults['redirect_uri'] = blank
  else if (redirect_uris.length > MAX_REDIRECT_URIS) faults['redirect_uri'] = [`has too many lines (maximum is ${MAX_REDIRECT_URIS})`]
  else if (wrong.length > 0) faults['redirect_uri'] = [...new Set(wrong)]
  if (scopes.length === 0) faults['scopes'] = blank
  else if (scopes.some((scope) => !(APPLICATION_SCOPES as readonly string[]).includes(scope)))
    faults['scopes'] = ["doesn't match configured on the server"]
  return faults
}

function check(given: NewApplication): void {
  const faults = faultsOf(given)
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

const newSecretOf = ({ random }: Pick<Context, 'random'>) => `${newSecret(random)}${newSecret(random)}`

/** Registers an application, of a user or, without one, of the service; its secret is shown only now. */
export async function createApplication(
  ctx: Context,
  ownerId: number | null,
  given: NewApplication,
): Promise<{ application: Application; secret: string }> {
  check(given)
  const secret = newSecretOf(ctx)
  return ctx.db.transaction(async (tx) => {
    const ofOwner = ownerId === null ? isNull(oauthApplications.owner_id) : eq(oauthApplications.owner_id, ownerId)
    await lockName(tx, `oauth applications ${ownerId}`)
    const most = ownerId === null ? MAX_APPLICATIONS.service : MAX_APPLICATIONS.user
    if ((await tx.$count(oauthApplications, ofOwner)) >= most) throw forbidden(`there are ${most} applications already`)
    const application = onlyRow(
      await tx
        .insert(oauthApplications)
        .values({ ...given, uid: newSecretOf(ctx), secret_digest: digestOf(secret), owner_id: ownerId, ...createdNow(ctx) })
        .returning(),
    )
    const { redirect_uris, scopes, confidential, trusted } = application
    await auditApplication(ctx, tx, 'application_created', application, { redirect_uris, scopes, confidential, trusted })
    return { application, secret }
  })
}

/** Records what happened to an application. */
export const auditApplication = (
  ctx: Context,
  tx: Pick<Transaction, 'insert'>,
  action: Extract<AuditAction, `application_${string}`>,
  { id, name }: Pick<Application, 'id' | 'name'>,
  changes?: Record<string, unknown>,
) => audit(ctx, tx, { action, target: { type: 'application', id, name }, changes })

/** The applications of the service (CR-30). */
export async function listApplications(ctx: Context, paging: Paging & Keyset): Promise<Page<Application>> {
  const { limit, offset, ...bounds } = limits(paging)
  const ofService = and(isNull(oauthApplications.owner_id), afterRow(oauthApplications.id, bounds))
  const [items, total] = await Promise.all([
    ctx.db.read.select().from(oauthApplications).where(ofService).orderBy(asc(oauthApplications.id)).limit(limit).offset(offset),
    ctx.db.read.$count(oauthApplications, ofService),
  ])
  return { items, total }
}

/** The applications that a user has registered, the newest first. */
export const listOwnApplications = (ctx: Context, userId: number): Promise<Application[]> =>
  ctx.db.read
    .select()
    .from(oauthApplications)
    .where(eq(oauthApplications.owner_id, userId))
    .orderBy(desc(oauthApplications.id))
    .limit(MAX_APPLICATIONS.user)

const owned = (id: number, ownerId: number | null) =>
  and(eq(oauthApplications.id, id), ownerId === null ? isNull(oauthApplications.owner_id) : eq(oauthApplications.owner_id, ownerId))

/** An application of a user, or of the service; 404 if there is none. */
export async function getApplication(ctx: Context, id: number, ownerId: number | null): Promise<Application> {
  const [application] = await ctx.db.read.select().from(oauthApplications).where(owned(id, ownerId))
  if (!application) throw notFound('Application')
  return application
}

/** Changes an application of a user. What users have allowed it stays, and no scope that it does not have any more is given. */
export async function updateApplication(ctx: Context, application: Application, given: NewApplication): Promise<void> {
  check(given)
  await ctx.db.transaction(async (tx) => {
    const changed = await tx
      .update(oauthApplications)
      .set({ ...given, updated_at: ctx.now() })
      .where(owned(application.id, application.owner_id))
      .returning()
    const [updated] = changed
    if (!updated) throw notFound('Application')
    await auditApplication(ctx, tx, 'application_updated', updated, changesOf<NewApplication>(application, given))
  })
}

/** Replaces the secret of an application, which is shown only now. */
export async function renewSecret(ctx: Context, { id, name }: Application): Promise<string> {
  const secret = newSecretOf(ctx)
  await ctx.db.transaction(async (tx) => {
    await tx
      .update(oauthApplications)
      .set({ secret_digest: digestOf(secret), updated_at: ctx.now() })
      .where(eq(oauthApplications.id, id))
    await auditApplication(ctx, tx, 'application_updated', { id, name }, { secret: 'changed' })
  })
  return secret
}

/** Removes an application of a user, or of the service, with all tokens and codes that it was given; 404 if there is none. */
export async function removeApplication(ctx: Context, id: number, ownerId: number | null): Promise<Application> {
  return ctx.db.transaction(async (tx) => {
    const [removed] = await tx.delete(oauthApplications).where(owned(id, ownerId)).returning()
    if (!removed) throw notFound('Application')
    await auditApplication(ctx, tx, 'application_removed', removed)
    return removed
  })
}

/** The application with this `client_id`; null if there is none. */
export async function findApplication(ctx: Context, uid: string): Promise<Application | null> {
  if (uid.length > 255) return null
  const [application] = await ctx.db.write.select().from(oauthApplications).where(sql`${oauthApplications.uid} = ${uid}`)
  return application ?? null
}
