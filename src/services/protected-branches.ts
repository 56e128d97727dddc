import { and, eq, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../access/rules.js'
import type { Context } from '../context.js'
import { isUniqueViolation } from '../db/client.js'
import { protectedBranches, protectedTags } from '../db/schema/index.js'
import { conflict, Failure, notFound } from '../failures.js'
import { lengthOf } from '../lib/path.js'
import { type Page, type Paging, slice } from './page.js'
import { type ProtectedBranch, type ProtectedTag, protectionsOf } from './protection.js'

/** BR-9. */
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

/** By its exact name or pattern (BR-10). */
export async function getProtectedBranch(ctx: Context, { project }: ProjectSubject, name: string): Promise<ProtectedBranch> {
  const entry = (await protectionsOf(ctx, project.id)).branches.find((branch) => branch.name === name)
  if (!entry) throw notFound()
  return entry
}

const nameFaults = (name: string): string[] => {
  if (name.trim() === '') return ["can't be blank"]
  return lengthOf(name) > 255 ? ['is too long (maximum is 255 characters)'] : []
}

/** BR-11: 409 for a name that is protected, 422 for one that cannot be. */
export async function protectBranch(
  ctx: Context,
  { project }: ProjectSubject,
  entry: { name: string; push_access_level: number; merge_access_level: number; allow_force_push: boolean },
): Promise<ProtectedBranch> {
  const faults = nameFaults(entry.name)
  if (faults.length > 0) throw new Failure('unprocessable', { message: faults.map((fault) => `Name ${fault}`) })
  const [row] = await ctx.db.write
    .insert(protectedBranches)
    .values({
      project_id: project.id,
      name: entry.name,
      push_level: entry.push_access_level,
      merge_level: entry.merge_access_level,
      allow_force_push: entry.allow_force_push,
    })
    .onConflictDoNothing()
    .returning()
  if (!row) throw conflict(`Protected branch '${entry.name}' already exists`)
  return row
}

/** BR-12: what is given changes. */
export async function changeProtectedBranch(
  ctx: Context,
  { project }: ProjectSubject,
  name: string,
  change: { allow_force_push?: boolean; push_level?: number; merge_level?: number },
): Promise<ProtectedBranch> {
  const current = await getProtectedBranch(ctx, { project } as ProjectSubject, name)
  if (Object.keys(change).length === 0) return current
  const [row] = await ctx.db.write.update(protectedBranches).set(change).where(eq(protectedBranches.id, current.id)).returning()
  if (!row) throw notFound()
  return row
}

/** BR-13. */
export async function removeProtectedBranch(ctx: Context, { project }: ProjectSubject, name: string): Promise<void> {
  const gone = await ctx.db.write
    .delete(protectedBranches)
    .where(and(eq(protectedBranches.project_id, project.id), eq(protectedBranches.name, name)))
    .returning({ id: protectedBranches.id })
  if (gone.length === 0) throw notFound()
}

/** BR-7: protects one branch by its name; flags that are absent mean false when new and stay when it was protected. */
export async function protectOneBranch(
  ctx: Context,
  { project }: ProjectSubject,
  name: string,
  { push, merge }: { push?: boolean | undefined; merge?: boolean | undefined },
): Promise<void> {
  const level = (developers: boolean | undefined) => (developers ? 30 : 40)
  const change = { ...(push !== undefined && { push_level: level(push) }), ...(merge !== undefined && { merge_level: level(merge) }) }
  const values = { project_id: project.id, name, push_level: level(push), merge_level: level(merge) }
  await ctx.db.write
    .insert(protectedBranches)
    .values(values)
    .onConflictDoUpdate({
      target: [protectedBranches.project_id, protectedBranches.name],
      set: Object.keys(change).length > 0 ? change : { name: sql`excluded.name` },
    })
}

/** BR-8: nothing to do when there is no entry of exactly that name. */
export async function unprotectOneBranch(ctx: Context, { project }: ProjectSubject, name: string): Promise<void> {
  await ctx.db.write.delete(protectedBranches).where(and(eq(protectedBranches.project_id, project.id), eq(protectedBranches.name, name)))
}

/** BR-14. */
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
  if (faults.length > 0) throw new Failure('unprocessable', { message: faults.map((fault) => `Name ${fault}`) })
  try {
    const [row] = await ctx.db.write.insert(protectedTags).values({ project_id: project.id, name, create_level: level }).returning()
    return row as ProtectedTag
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw new Failure('unprocessable', { message: ['Name has already been taken'] })
  }
}

export async function removeProtectedTag(ctx: Context, { project }: ProjectSubject, name: string): Promise<void> {
  const gone = await ctx.db.write
    .delete(protectedTags)
    .where(and(eq(protectedTags.project_id, project.id), eq(protectedTags.name, name)))
    .returning({ id: protectedTags.id })
  if (gone.length === 0) throw notFound()
}
