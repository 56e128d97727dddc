import { eq, sql } from 'drizzle-orm'
import { effectiveLevel, LEVELS } from '../../access/can.js'
import type { Namespace, Project, ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { protectedBranches, protectedTags } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { Settings } from '../core/settings.js'

export type ProtectedBranch = typeof protectedBranches.$inferSelect
export type ProtectedTag = typeof protectedTags.$inferSelect

const selectBranches = statement('protected branches', (db) =>
  db
    .select()
    .from(protectedBranches)
    .where(eq(protectedBranches.project_id, sql.placeholder('project')))
    .orderBy(protectedBranches.id),
)
const selectTags = statement('protected tags', (db) =>
  db
    .select()
    .from(protectedTags)
    .where(eq(protectedTags.project_id, sql.placeholder('project')))
    .orderBy(protectedTags.id),
)

/** All protection entries of a project, in two queries. */
export async function protectionsOf(ctx: Context, projectId: number): Promise<Protections> {
  const [branches, tags] = await Promise.all([
    selectBranches(ctx.db, null).execute({ project: projectId }),
    selectTags(ctx.db, null).execute({ project: projectId }),
  ])
  return new Protections(branches, tags)
}

/** The protection entries of a project's branches only. */
export const branchProtectionsOf = async (ctx: Context, projectId: number): Promise<Protections> =>
  new Protections(await selectBranches(ctx.db, null).execute({ project: projectId }), [])

/**
 * Matches a name against a pattern, in which `*` stands for any characters, `/` included (BR-16). Takes linear time:
 * the literal pieces are searched one after the other.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const pieces = pattern.split('*')
  if (pieces.length === 1) return pattern === name
  const first = pieces[0] as string
  const last = pieces[pieces.length - 1] as string
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  const end = name.length - last.length
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}

/** The lowest of several access levels; 0 means no one and does not count (BR-16). */
const mostPermissive = (levels: number[]) => {
  const real = levels.filter((level) => level > 0)
  return real.length > 0 ? Math.min(...real) : 0
}

/** The protection entries of a project, and what they say about a branch or tag. */
export class Protections {
  constructor(
    readonly branches: ProtectedBranch[],
    readonly tags: ProtectedTag[],
  ) {}

  matching(branch: string): ProtectedBranch[] {
    return this.branches.filter((entry) => matchesPattern(entry.name, branch))
  }

  isProtected(branch: string): boolean {
    return this.branches.some((entry) => matchesPattern(entry.name, branch))
  }

  isTagProtected(tag: string): boolean {
    return this.tags.some((entry) => matchesPattern(entry.name, tag))
  }

  /** The access level needed to push: developer when no entry matches (G-71); 0 when no one may. */
  pushLevel(branch: string): number {
    const entries = this.matching(branch)
    return entries.length === 0 ? LEVELS.developer : mostPermissive(entries.map((entry) => entry.push_level))
  }

  mergeLevel(branch: string): number {
    const entries = this.matching(branch)
    return entries.length === 0 ? LEVELS.developer : mostPermissive(entries.map((entry) => entry.merge_level))
  }

  createTagLevel(tag: string): number {
    const entries = this.tags.filter((entry) => matchesPattern(entry.name, tag))
    return entries.length === 0 ? LEVELS.developer : mostPermissive(entries.map((entry) => entry.create_level))
  }

  allowsForcePush(branch: string): boolean {
    return this.matching(branch).some((entry) => entry.allow_force_push)
  }
}

/**
 * The protection of the first default branch: that of the group, or of the settings; 0: none, 1: developers push, 2:
 * maintainers push and merge, 3: developers merge (GR-52).
 */
export const defaultProtection = ({ namespace }: { namespace: Pick<Namespace, 'default_branch_protection'> }, settings: Settings) =>
  namespace.default_branch_protection ?? settings.default_branch_protection

/** Whether only maintainers may push to a project without branches. */
export const protectsEmpty = (project: Pick<Project, 'namespace'>, settings: Settings) => defaultProtection(project, settings) >= 2

/** Whether the caller has a required access level; 0 excludes everyone, even administrators. */
export const reaches = (subject: ProjectSubject, level: number) => level > 0 && effectiveLevel(subject) >= level

/** Whether the caller may push to a branch: `can_push` of a branch, and the check of the commits API (C-28). */
export const mayPushTo = (subject: ProjectSubject, protections: Protections, branch: string) =>
  subject.can('push_code') && reaches(subject, protections.pushLevel(branch))

/** Whether the caller may merge into a branch: they need its push level or its merge level (G-72). */
export const mayMergeInto = (subject: ProjectSubject, protections: Protections, branch: string) =>
  subject.can('accept_merge_request') && (reaches(subject, protections.pushLevel(branch)) || reaches(subject, protections.mergeLevel(branch)))
