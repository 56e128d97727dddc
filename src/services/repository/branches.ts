import { and, eq, or, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { isOpen } from '../../db/conditions.js'
import { mergeRequests } from '../../db/schema/index.js'
import { conflict, Failure, forbidden, notFound, refused } from '../../failures.js'
import { RefChanged } from '../../git/errors.js'
import { type Commit, type GitRepository, type Oid, type Ref, ZERO } from '../../git/types.js'
import { checkRefName } from '../../lib/ref-name.js'
import { branchNameFault } from '../../rules/refs/branch-name.js'
import { limits, type Page, type Paging, slice } from '../core/page.js'
import { createCommit } from './commits/create.js'
import { matchesPattern, mayPushTo, type Protections, protectionsOf } from './protection.js'
import { moveRefs } from './push/door.js'
import { PROTECTED_BRANCH } from './push/rules.js'
import { orderByCommit } from './ref-order.js'
import { repositoryOf } from './repositories.js'
import { resolveRevision } from './revisions.js'

const HEADS = 'refs/heads/'

/** A branch as one caller sees it. */
export interface BranchRecord {
  name: string
  commit: Commit
  merged: boolean
  protected: boolean
  developers_can_push: boolean
  developers_can_merge: boolean
  can_push: boolean
  default: boolean
}

/**
 * Filters by a case-insensitive substring; `^` anchors it at the start and `$` at the end. An exact match comes first
 * (BR-1).
 */
export function searchNames<T>(items: T[], search: string | undefined, nameOf: (item: T) => string): T[] {
  if (!search) return items
  const start = search.startsWith('^')
  const end = search.endsWith('$')
  const text = search.slice(start ? 1 : 0, end ? -1 : undefined).toLowerCase()
  const found = items.filter((item) => {
    const name = nameOf(item).toLowerCase()
    if (start && end) return name === text
    return start ? name.startsWith(text) : end ? name.endsWith(text) : name.includes(text)
  })
  const exact = found.findIndex((item) => nameOf(item) === search)
  if (exact > 0) found.unshift(...found.splice(exact, 1))
  return found
}

/** The names of branches that match a pattern with `*`, in their order. */
export async function branchNames(
  ctx: Context,
  { project }: ProjectSubject,
  pattern: string,
  { offset, limit }: { offset: number; limit: number },
): Promise<string[]> {
  const refs = await repositoryOf(ctx, project).refs(HEADS)
  const names = await ctx.cpu.slices.run(() => refs.map(({ name }) => name.slice(HEADS.length)).filter((name) => matchesPattern(pattern, name)))
  return names.slice(offset, offset + limit)
}

export type BranchSort = 'name_asc' | 'name_desc' | 'updated_asc' | 'updated_desc'

/** Branches of a project, ordered by name or last update (BR-1). Details are read only for the branches of the page. */
export async function listBranches(
  ctx: Context,
  subject: ProjectSubject,
  { search, sort, ...paging }: { search?: string | undefined; sort: BranchSort } & Paging,
): Promise<Page<BranchRecord>> {
  const repository = repositoryOf(ctx, subject.project)
  if (!search && sort === 'name_asc') {
    const { limit, offset } = limits(paging)
    const { refs, total } = await repository.refsPage(HEADS, { skip: offset, limit })
    return { items: await records(ctx, subject, refs), total }
  }
  let refs = await repository.refs(HEADS)
  if (sort === 'name_desc') refs = refs.toReversed()
  if (sort === 'updated_asc' || sort === 'updated_desc')
    refs = await orderByCommit(ctx, repository, refs, { commitOf: ({ oid }) => oid, order: sort === 'updated_asc' ? 'asc' : 'desc' })
  const found = await ctx.cpu.slices.run(() => searchNames(refs, search, ({ name }) => name.slice(HEADS.length)))
  const { items, total } = slice(found, paging)
  return { items: await records(ctx, subject, items), total }
}

async function records(ctx: Context, subject: ProjectSubject, refs: Ref[]): Promise<BranchRecord[]> {
  if (refs.length === 0) return []
  const repository = repositoryOf(ctx, subject.project)
  const { default_branch } = subject.project
  const [protections, commits, root] = await Promise.all([
    protectionsOf(ctx, subject.project.id),
    repository.commits(refs.map(({ oid }) => oid)),
    repository.ref(HEADS + default_branch),
  ])
  const merged = root ? await mergedBranches(repository, refs, root) : refs.map(() => false)
  return refs.flatMap((ref, i) => {
    const commit = commits[i]
    return commit ? [record(subject, protections, ref.name.slice(HEADS.length), commit, merged[i] ?? false)] : []
  })
}

/**
 * Which branches the default branch contains. A branch at the head of the default branch may just have been created and
 * does not count as merged (BR-21).
 */
async function mergedBranches(repository: GitRepository, refs: Ref[], root: Oid): Promise<boolean[]> {
  const contained = await repository.merged(
    refs.map(({ oid }) => oid),
    root,
  )
  return refs.map(({ oid }, i) => oid !== root && contained[i] === true)
}

function record(subject: ProjectSubject, protections: Protections, name: string, commit: Commit, merged: boolean): BranchRecord {
  const isDefault = name === subject.project.default_branch
  const isProtected = protections.isProtected(name)
  return {
    name,
    commit,
    merged,
    protected: isProtected,
    developers_can_push: isProtected && protections.pushLevel(name) === 30,
    developers_can_merge: isProtected && protections.mergeLevel(name) === 30,
    can_push: mayPushTo(subject, protections, name),
    default: isDefault,
  }
}

/** One branch; 400 for an invalid ref name, 404 for a branch that does not exist (BR-2). */
export async function getBranch(ctx: Context, subject: ProjectSubject, name: string): Promise<BranchRecord> {
  if (!checkRefName(HEADS + name)) throw refused('The branch refname is invalid')
  const oid = await repositoryOf(ctx, subject.project).ref(HEADS + name)
  const [branch] = oid ? await records(ctx, subject, [{ name: HEADS + name, oid, peeled: oid }]) : []
  if (!branch) throw notFound('Branch')
  return branch
}

export async function branchExists(ctx: Context, { project }: ProjectSubject, name: string): Promise<boolean> {
  return checkRefName(HEADS + name) && (await repositoryOf(ctx, project).ref(HEADS + name)) !== null
}

/**
 * Creates a branch (BR-4). In an empty repository the default branch is created first; it may be the requested one
 * (BR-20).
 */
export async function createBranch(
  ctx: Context,
  given: ProjectSubject,
  caller: SignedIn,
  { branch, ref }: { branch: string; ref: string },
): Promise<BranchRecord> {
  const repository = repositoryOf(ctx, given.project)
  if (branchNameFault(branch)) throw refused('Branch name is invalid')
  if (await repository.ref(HEADS + branch)) throw refused('Branch already exists')
  const { default_branch } = given.project
  const isFirst = (ref === default_branch || ref === 'HEAD') && (await repository.refsPage(HEADS, { skip: 0, limit: 0 })).total === 0
  if (isFirst) {
    // checked before the default branch is created: the two names may not coexist (SEC-83), or the caller may not
    // create the branch
    if (branch.startsWith(`${default_branch}/`) || default_branch.startsWith(`${branch}/`)) throw refused('Branch name is invalid')
    if (!mayPushTo(given, await protectionsOf(ctx, given.project.id), branch)) throw refused(PROTECTED_BRANCH)
  }
  const subject = isFirst ? await createDefaultBranch(ctx, given, caller) : given
  if (isFirst && branch === default_branch) return getBranch(ctx, subject, branch)
  const start = await resolveRevision(ctx, subject, ref)
  if (!start) throw refused('Invalid reference name')
  try {
    await moveRefs(ctx, subject, caller.user.id, [{ ref: HEADS + branch, old: ZERO, new: start.commit }])
  } catch (error) {
    if (error instanceof RefChanged) throw refused('Branch already exists')
    throw error
  }
  return getBranch(ctx, subject, branch)
}

/** Creates the default branch with an empty README.md; concurrent calls create it once (BR-20). */
async function createDefaultBranch(ctx: Context, subject: ProjectSubject, caller: SignedIn): Promise<ProjectSubject> {
  const { project } = subject
  const readme = { action: 'create', file_path: 'README.md', content: '' }
  try {
    await createCommit(ctx, subject, caller, { branch: project.default_branch, commit_message: 'Add README.md', actions: [readme] })
  } catch (error) {
    if (!(error instanceof Failure) || !(await repositoryOf(ctx, project).ref(HEADS + project.default_branch))) throw error
  }
  return { ...subject, project: { ...project, empty_repo: false } }
}

/** Deletes a branch; 404 when there is none, 400 for the default branch and protected branches (BR-5). */
export async function deleteBranch(ctx: Context, subject: ProjectSubject, caller: SignedIn, name: string): Promise<void> {
  const oid = checkRefName(HEADS + name) ? await repositoryOf(ctx, subject.project).ref(HEADS + name) : null
  if (!oid) throw notFound('Branch')
  try {
    await moveRefs(ctx, subject, caller.user.id, [{ ref: HEADS + name, old: oid, new: ZERO }])
  } catch (error) {
    if (error instanceof RefChanged) throw conflict('The branch was changed by somebody else')
    throw error
  }
}

/**
 * Deletes all merged branches that are neither protected nor part of an open merge request (BR-6); a branch that moves
 * meanwhile is kept.
 */
export async function deleteMergedBranches(ctx: Context, subject: ProjectSubject, caller: SignedIn): Promise<void> {
  if (!subject.can('push_code')) throw forbidden()
  const repository = repositoryOf(ctx, subject.project)
  const refs = await repository.refs(HEADS)
  const root = refs.find(({ name }) => name === HEADS + subject.project.default_branch)
  if (!root) return
  const [protections, inOpenRequests] = await Promise.all([protectionsOf(ctx, subject.project.id), branchesOfOpenRequests(ctx, subject.project.id)])
  const merged = await mergedBranches(repository, refs, root.oid)
  for (const [i, ref] of refs.entries()) {
    const name = ref.name.slice(HEADS.length)
    if (!merged[i] || protections.isProtected(name) || inOpenRequests.has(name)) continue
    try {
      await moveRefs(ctx, subject, caller.user.id, [{ ref: ref.name, old: ref.oid, new: ZERO }])
    } catch (error) {
      if (!(error instanceof RefChanged)) throw error
    }
  }
}

/** Source and target branches of open merge requests in this project. */
async function branchesOfOpenRequests(ctx: Context, projectId: number): Promise<Set<string>> {
  const rows = await ctx.db.write
    .select({
      source: sql<string | null>`case when ${mergeRequests.source_project_id} = ${projectId} then ${mergeRequests.source_branch} end`,
      target: sql<string | null>`case when ${mergeRequests.project_id} = ${projectId} then ${mergeRequests.target_branch} end`,
    })
    .from(mergeRequests)
    .where(and(isOpen, or(eq(mergeRequests.project_id, projectId), eq(mergeRequests.source_project_id, projectId))))
  return new Set(rows.flatMap(({ source, target }) => [source, target]).filter((name) => name !== null))
}
