import { and, asc, desc, eq, isNull, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { LEVELS } from '../../access/can.js'
import { projectLevel } from '../../access/roles.js'
import { fullPathOf, type Project } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { count } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { deployKeysProjects, projects, sshKeys } from '../../db/schema/index.js'
import { retryOnUniqueViolation } from '../../db/unique-violation.js'
import { forbidden, invalidRecord, notFound } from '../../failures.js'
import type { Keyset } from '../../lib/keyset.js'
import { type AuditAction, audit } from '../core/audit.js'
import { createdNow } from '../core/created-now.js'
import { lockName } from '../core/lock-name.js'
import { afterRow, limits, type Page, type Paging } from '../core/page.js'
import { type NewKey, prepareKey, type SshKey } from '../identity/keys.js'

/** A deploy key in a project. */
export interface DeployKey {
  key: SshKey
  can_push: boolean
}

/** Maximum number of deploy keys per project (SEC-130). */
const MAX_DEPLOY_KEYS = 100

const fields = { key: sshKeys, can_push: deployKeysProjects.can_push }
const missing = () => notFound('Deploy Key')

const auditKey = (ctx: Context, tx: Transaction, project: Project, action: AuditAction, { id, fingerprint }: SshKey) =>
  audit(ctx, tx, { action, target: { type: 'project', id: project.id, name: fullPathOf(project) }, changes: { key_id: id, fingerprint } })

/** All deploy keys, or those alone that are public, by id (DK-1). */
export async function listAllDeployKeys(
  ctx: Context,
  { public: only, ...paging }: Paging & Keyset & { public?: boolean | undefined },
): Promise<Page<SshKey>> {
  const { limit, offset, ...bounds } = limits(paging)
  const deploy = and(isNull(sshKeys.user_id), only ? eq(sshKeys.public, true) : undefined, afterRow(sshKeys.id, bounds))
  const [items, total] = await Promise.all([
    ctx.db.read.select().from(sshKeys).where(deploy).orderBy(asc(sshKeys.id)).limit(limit).offset(offset),
    ctx.db.read.select({ total: count() }).from(sshKeys).where(deploy),
  ])
  return { items, total: total[0]?.total ?? 0 }
}

/** The deploy keys of a project, by id (DK-2). */
export async function listDeployKeys(ctx: Context, { id }: Project, paging: Paging & Keyset): Promise<Page<DeployKey>> {
  const { limit, offset, ...bounds } = limits(paging)
  const ofProject = and(eq(deployKeysProjects.project_id, id), afterRow(deployKeysProjects.key_id, bounds))
  const [items, total] = await Promise.all([
    ctx.db.read
      .select(fields)
      .from(deployKeysProjects)
      .innerJoin(sshKeys, eq(sshKeys.id, deployKeysProjects.key_id))
      .where(ofProject)
      .orderBy(asc(sshKeys.id))
      .limit(limit)
      .offset(offset),
    ctx.db.read.select({ total: count() }).from(deployKeysProjects).where(ofProject),
  ])
  return { items, total: total[0]?.total ?? 0 }
}

const onProject = (projectId: number, keyId: number) => and(eq(deployKeysProjects.project_id, projectId), eq(deployKeysProjects.key_id, keyId))

async function linked(db: Pick<Transaction, 'select'>, projectId: number, keyId: number): Promise<DeployKey | null> {
  const [found] = await db
    .select(fields)
    .from(deployKeysProjects)
    .innerJoin(sshKeys, eq(sshKeys.id, deployKeysProjects.key_id))
    .where(onProject(projectId, keyId))
  return found ?? null
}

export async function getDeployKey(ctx: Context, { id }: Project, keyId: number): Promise<DeployKey> {
  const found = await linked(ctx.db.write, id, keyId)
  if (!found) throw missing()
  return found
}

/** Whether the caller may use a deploy key elsewhere: it is public, or they maintain a project that has it. */
async function knowsKey(tx: Transaction, { user }: SignedIn, { id: keyId, public: isPublic }: SshKey): Promise<boolean> {
  if (user.admin || isPublic) return true
  const level = projectLevel(projects, sql`${user.id}::bigint`)
  const found = await tx
    .select({ id: projects.id })
    .from(deployKeysProjects)
    .innerJoin(projects, eq(projects.id, deployKeysProjects.project_id))
    .where(and(eq(deployKeysProjects.key_id, keyId), sql`${level} >= ${LEVELS.maintainer}`))
    .limit(1)
  return found.length > 0
}

async function link(ctx: Context, tx: Transaction, project: Project, key: SshKey, can_push: boolean): Promise<DeployKey> {
  await lockName(tx, `deploy keys of project ${project.id}`)
  const linkedCount = await tx.$count(deployKeysProjects, eq(deployKeysProjects.project_id, project.id))
  if (linkedCount >= MAX_DEPLOY_KEYS) throw invalidRecord({ base: [`there are already ${MAX_DEPLOY_KEYS}`] })
  await tx.insert(deployKeysProjects).values({ key_id: key.id, project_id: project.id, can_push, created_at: ctx.now() })
  await auditKey(ctx, tx, project, 'deploy_key_added', key)
  return { key, can_push }
}

/**
 * Adds a deploy key to a project. An existing key of the project is returned unchanged, and one of another project that
 * the caller maintains is shared; 400 for any other key that is already stored (DK-3).
 */
export function addDeployKey(ctx: Context, caller: SignedIn, project: Project, given: NewKey & { can_push: boolean }): Promise<DeployKey> {
  const add = async (tx: Transaction) => {
    const { values, faults } = await prepareKey(ctx, given)
    const fingerprint = values.fingerprint_sha256
    const [known] = fingerprint === '' ? [] : await tx.select().from(sshKeys).where(eq(sshKeys.fingerprint_sha256, fingerprint))
    if (known?.user_id === null) {
      const existing = await linked(tx, project.id, known.id)
      if (existing) return existing
      if (await knowsKey(tx, caller, known)) return link(ctx, tx, project, known, given.can_push)
    }
    const found = faults(known !== undefined)
    if (Object.keys(found).length > 0) throw invalidRecord(found)
    const stored = { ...values, creator_id: caller.user.id, ...createdNow(ctx) }
    return link(ctx, tx, project, onlyRow(await tx.insert(sshKeys).values(stored).returning()), given.can_push)
  }
  return retryOnUniqueViolation(() => ctx.db.transaction(add))
}

/** Enables a deploy key that is public, or of another project that the caller maintains (DK-5). */
export function enableDeployKey(ctx: Context, caller: SignedIn, project: Project, keyId: number): Promise<DeployKey> {
  const enable = async (tx: Transaction) => {
    const existing = await linked(tx, project.id, keyId)
    if (existing) return existing
    const [key] = await tx
      .select()
      .from(sshKeys)
      .where(and(eq(sshKeys.id, keyId), isNull(sshKeys.user_id)))
    if (!key || !(await knowsKey(tx, caller, key))) throw missing()
    return link(ctx, tx, project, key, false)
  }
  return retryOnUniqueViolation(() => ctx.db.transaction(enable))
}

/** Maximum number of public deploy keys (SEC-130). */
const MAX_PUBLIC_KEYS = 1_000

/** Adds a deploy key that every project may enable (PT-10). */
export function addPublicKey(ctx: Context, caller: SignedIn, given: NewKey): Promise<SshKey> {
  const add = async (tx: Transaction) => {
    const { values, faults } = await prepareKey(ctx, given)
    const [known] = await tx.select({ id: sshKeys.id }).from(sshKeys).where(eq(sshKeys.fingerprint_sha256, values.fingerprint_sha256))
    const found = faults(known !== undefined)
    if (Object.keys(found).length > 0) throw invalidRecord(found)
    await lockName(tx, 'public deploy keys')
    if ((await tx.$count(sshKeys, eq(sshKeys.public, true))) >= MAX_PUBLIC_KEYS)
      throw invalidRecord({ base: [`there are already ${MAX_PUBLIC_KEYS}`] })
    const stored = { ...values, public: true, creator_id: caller.user.id, ...createdNow(ctx) }
    const key = onlyRow(await tx.insert(sshKeys).values(stored).returning())
    await auditPublicKey(ctx, tx, 'deploy_key_added', key)
    return key
  }
  return retryOnUniqueViolation(() => ctx.db.transaction(add))
}

/** Removes a public deploy key, also from the projects that have enabled it (PT-10). */
export async function removePublicKey(ctx: Context, keyId: number): Promise<SshKey> {
  return ctx.db.transaction(async (tx) => {
    const [key] = await tx
      .delete(sshKeys)
      .where(and(eq(sshKeys.id, keyId), eq(sshKeys.public, true)))
      .returning()
    if (!key) throw missing()
    await auditPublicKey(ctx, tx, 'deploy_key_removed', key)
    return key
  })
}

const auditPublicKey = (ctx: Context, tx: Transaction, action: AuditAction, { id, title, fingerprint }: SshKey) =>
  audit(ctx, tx, { action, target: { type: 'key', id, name: fingerprint }, changes: { title, public: true } })

/** The public keys that a project has not enabled, the newest first; few, for its page (PT-10). */
export const publicKeysFor = (ctx: Context, { id }: Project): Promise<SshKey[]> =>
  ctx.db.read
    .select()
    .from(sshKeys)
    .where(
      and(eq(sshKeys.public, true), sql`not exists (select from ${deployKeysProjects} d where d.key_id = ${sshKeys.id} and d.project_id = ${id})`),
    )
    .orderBy(desc(sshKeys.id))
    .limit(20)

/** Changes the title, which all projects of the key share, and whether it may push to this one (DK-4). */
export function updateDeployKey(
  ctx: Context,
  project: Project,
  keyId: number,
  { title, can_push }: { title?: string | undefined; can_push?: boolean | undefined },
): Promise<DeployKey> {
  return ctx.db.transaction(async (tx) => {
    const found = await linked(tx, project.id, keyId)
    if (!found) throw missing()
    // every project has it
    if (found.key.public && title !== undefined && title !== found.key.title) throw forbidden()
    if (title !== undefined) {
      const { faults } = await prepareKey(ctx, { title, key: found.key.key })
      const { title: wrong } = faults(false)
      if (wrong) throw invalidRecord({ title: wrong })
      await tx.update(sshKeys).set({ title, updated_at: ctx.now() }).where(eq(sshKeys.id, keyId))
    }
    if (can_push !== undefined) await tx.update(deployKeysProjects).set({ can_push }).where(onProject(project.id, keyId))
    await auditKey(ctx, tx, project, 'deploy_key_updated', found.key)
    return { key: { ...found.key, title: title ?? found.key.title }, can_push: can_push ?? found.can_push }
  })
}

/** Removes a key from a project; a trigger deletes a key without projects (DK-6). */
export async function removeDeployKey(ctx: Context, project: Project, keyId: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const found = await linked(tx, project.id, keyId)
    if (!found) throw missing()
    const removed = await tx.delete(deployKeysProjects).where(onProject(project.id, keyId)).returning({ id: deployKeysProjects.id })
    if (removed.length === 0) throw missing()
    await auditKey(ctx, tx, project, 'deploy_key_removed', found.key)
  })
}

/** What a deploy key may do in a project; null when it has no access. */
export async function deployKeyAccess(ctx: Context, keyId: number, projectId: number): Promise<{ can_push: boolean } | null> {
  const [row] = await ctx.db.read.select({ can_push: deployKeysProjects.can_push }).from(deployKeysProjects).where(onProject(projectId, keyId))
  return row ?? null
}

/** Any SSH key, with its projects if it is a deploy key. */
export interface AnyKey {
  key: SshKey
  projects: { id: number; project_id: number; can_push: boolean }[]
}

/** Any SSH key, by its id or its MD5 or SHA256 fingerprint (OT-6), with its projects but for those that wait for removal (RX-6). */
export async function getAnyKey(ctx: Context, by: { id: number } | { fingerprint: string }): Promise<AnyKey> {
  const [key] = await ctx.db.write
    .select()
    .from(sshKeys)
    .where('id' in by ? eq(sshKeys.id, by.id) : fingerprintIs(by.fingerprint))
  if (!key) throw notFound('Key')
  const found = await ctx.db.write
    .select({ id: deployKeysProjects.id, project_id: deployKeysProjects.project_id, can_push: deployKeysProjects.can_push })
    .from(deployKeysProjects)
    .innerJoin(projects, and(eq(projects.id, deployKeysProjects.project_id), isNull(projects.marked_for_deletion_at)))
    .where(eq(deployKeysProjects.key_id, key.id))
    .orderBy(asc(deployKeysProjects.id))
    .limit(MAX_DEPLOY_KEYS)
  return { key, projects: found }
}

const fingerprintIs = (given: string) =>
  given.startsWith('SHA256:')
    ? eq(sshKeys.fingerprint_sha256, given.slice('SHA256:'.length))
    : eq(sshKeys.fingerprint, given.replace(/^MD5:/i, '').toLowerCase())
