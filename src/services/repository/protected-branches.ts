import { and, eq, sql } from 'drizzle-orm'
import { fullPathOf, type Project, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { protectedBranches, protectedTags } from '../../db/schema/index.js'
import { conflict, Failure, notFound } from '../../failures.js'
import { isDots, lengthOf } from '../../rules/path.js'
import { type AuditAction, audit } from '../core/audit.js'
import { type Page, type Paging, slice } from '../core/page.js'
import { lockSource } from '../groups/members.js'
import { type ProtectedBranch, type ProtectedTag, protectionsOf } from './protection.js'

/** Protected branches of a project, filtered by name (BR-9). */
export async function listProtectedBranches(
  ctx: Context,
  { project }: ProjectSubject,
  { search, ...paging }: { search?: string | undefined } & Paging,
): Promise<Page<ProtectedBranch>> {
  const { branches } = await protectionsOf(ctx, project.id)
  const text = search?.toLowerCase() ?? ''
  return slice(
    branches.filter(({ name }) => name.toLowerCase().includes(text)),
    paging,
  )
}

/** An entry by its exact name or pattern (BR-10). */
export async function getProtectedBranch(ctx: Context, { project }: ProjectSubject, name: string): Promise<ProtectedBranch> {
  const entry = (await protectionsOf(ctx, project.id)).branches.find((branch) => branch.name === name)
  if (!entry) throw notFound()
  return entry
}

const nameFaults = (name: string): string[] => {
  if (name.trim() === '') return ["can't be blank"]
  if (isDots(name)) return ['is invalid']
  return lengthOf(name) > 255 ? ['is too long (maximum is 255 characters)'] : []
}

const badName = (faults: string[]) => new Failure('unprocessable', { message: faults.map((fault) => `Name ${fault}`) }, {}, { name: faults })

/** Changes a protection entry and audits it in one transaction. */
async function audited<Row extends { id: number; project_id: number; name: string }>(
  ctx: Context,
  project: Project,
  action: AuditAction,
  change: (tx: Transaction) => Promise<Row | undefined>,
): Promise<Row | undefined> {
  return ctx.db.transaction(async (tx) => {
    const row = await change(tx)
    if (!row) return undefined
    const { id: _, project_id, ...entry } = row
    await audit(ctx, tx, { action, target: { type: 'project', id: project_id, name: fullPathOf(project) }, changes: entry })
    return row
  })
}

/** Protects branches by name or pattern; 409 when the entry exists, 422 for an invalid name (BR-11). */
export async function protectBranch(
  ctx: Context,
  { project }: ProjectSubject,
  entry: { name: string; push_access_level: number; merge_access_level: number; allow_force_push: boolean },
): Promise<ProtectedBranch> {
  const faults = nameFaults(entry.name)
  if (faults.length > 0) throw badName(faults)
  const { name, allow_force_push } = entry
  const row = await audited(ctx, project, 'protected_branch_added', async (tx) => {
    const values = { project_id: project.id, name, push_level: entry.push_access_level, merge_level: entry.merge_access_level, allow_force_push }
    return (await tx.insert(protectedBranches).values(values).onConflictDoNothing().returning())[0]
  })
  if (!row) throw conflict(`Protected branch '${name}' already exists`)
  return row
}

/** Changes the given attributes of an entry (BR-12). */
export async function changeProtectedBranch(
  ctx: Context,
  subject: ProjectSubject,
  name: string,
  change: { allow_force_push?: boolean; push_level?: number; merge_level?: number },
): Promise<ProtectedBranch> {
  const current = await getProtectedBranch(ctx, subject, name)
  if (Object.keys(change).length === 0) return current
  const row = await audited(
    ctx,
    subject.project,
    'protected_branch_updated',
    async (tx) => (await tx.update(protectedBranches).set(change).where(eq(protectedBranches.id, current.id)).returning())[0],
  )
  if (!row) throw notFound()
  return row
}

const hasName = (project: Project, name: string) => and(eq(protectedBranches.project_id, project.id), eq(protectedBranches.name, name))

/** Removes an entry (BR-13). */
export async function removeProtectedBranch(ctx: Context, subject: ProjectSubject, name: string): Promise<void> {
  if (!(await unprotectOneBranch(ctx, subject, name))) throw notFound()
}

/**
 * Protects one branch by its name. A missing flag means false for a new entry and no change for an existing one (BR-7).
 */
export async function protectOneBranch(
  ctx: Context,
  { project }: ProjectSubject,
  name: string,
  { push, merge }: { push?: boolean | undefined; merge?: boolean | undefined },
): Promise<void> {
  const level = (developers: boolean | undefined) => (developers ? 30 : 40)
  const change = { ...(push !== undefined && { push_level: level(push) }), ...(merge !== undefined && { merge_level: level(merge) }) }
  const values = { project_id: project.id, name, push_level: level(push), merge_level: level(merge) }
  const set = Object.keys(change).length > 0 ? change : { name: sql`excluded.name` }
  const target = [protectedBranches.project_id, protectedBranches.name]
  await audited(
    ctx,
    project,
    'protected_branch_updated',
    async (tx) => (await tx.insert(protectedBranches).values(values).onConflictDoUpdate({ target, set }).returning())[0],
  )
}

/** Removes the entry with exactly this name; false when there is none (BR-8). */
export async function unprotectOneBranch(ctx: Context, { project }: ProjectSubject, name: string): Promise<boolean> {
  const removed = await audited(ctx, project, 'protected_branch_removed', async (tx) => {
    await lockSource(tx, { kind: 'project', id: project.id })
    return (await tx.delete(protectedBranches).where(hasName(project, name)).returning())[0]
  })
  return removed !== undefined
}

/** Protected tags of a project (BR-14). */
export async function listProtectedTags(ctx: Context, { project }: ProjectSubject, paging: Paging): Promise<Page<ProtectedTag>> {
  return slice((await protectionsOf(ctx, project.id)).tags, paging)
}

export async function getProtectedTag(ctx: Context, { project }: ProjectSubject, name: string): Promise<ProtectedTag> {
  const entry = (await protectionsOf(ctx, project.id)).tags.find((tag) => tag.name === name)
  if (!entry) throw notFound()
  return entry
}

export async function protectTag(ctx: Context, { project }: ProjectSubject, name: string, level: number): Promise<ProtectedTag> {
  const faults = nameFaults(name)
  const values = { project_id: project.id, name, create_level: level }
  const row =
    faults.length === 0
      ? await audited(
          ctx,
          project,
          'protected_tag_added',
          async (tx) => (await tx.insert(protectedTags).values(values).onConflictDoNothing().returning())[0],
        )
      : undefined
  if (!row) throw badName(faults.length > 0 ? faults : ['has already been taken'])
  return row
}

export async function removeProtectedTag(ctx: Context, { project }: ProjectSubject, name: string): Promise<void> {
  const named = and(eq(protectedTags.project_id, project.id), eq(protectedTags.name, name))
  const removed = await audited(ctx, project, 'protected_tag_removed', async (tx) => (await tx.delete(protectedTags).where(named).returning())[0])
  if (!removed) throw notFound()
}
