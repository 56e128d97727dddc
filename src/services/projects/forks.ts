import { and, eq, sql } from 'drizzle-orm'
import { isOutsider, type SignedIn } from '../../access/actor.js'
import { getProjectFor, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { members, namespaces, projectLanguages, projects, routes } from '../../db/schema/index.js'
import { retryOnUniqueViolation } from '../../db/unique-violation.js'
import { conflict, type Failure, forbidden, invalidRecord, notFound } from '../../failures.js'
import { numericId } from '../../lib/numeric-id.js'
import { projectNameFaults, projectPathFaults } from '../../rules/path.js'
import { VISIBILITY_LEVEL, type Visibility } from '../../rules/visibility.js'
import { recordEvent } from '../activity/events.js'
import { audit } from '../core/audit.js'
import { isRestricted, readSettings, type Settings } from '../core/settings.js'
import { claimRoute, lockNamespace } from '../identity/namespaces.js'
import { shareObjects } from '../repository/lfs/objects.js'
import { copyRepository } from '../repository/object-copies.js'
import { protectDefaultBranch } from '../repository/push/finish.js'
import { enqueueMaintenance } from '../repository/push/maintenance-job.js'
import { checkQuota } from '../repository/quotas.js'
import { mayReadCode } from '../repository/reading.js'
import { repositoryOf } from '../repository/repositories.js'
import { attributeFaults, visibilityFaults } from './attributes.js'
import { addTakenFaults, checkLimit, namespaceFor, type ProjectNamespace } from './create.js'
import { countForks, descendsFrom, forkVisibilityFaults } from './fork-network.js'
import { cancelReservation, endReservation, lockReservation, reserveProject } from './reservations.js'

export interface NewFork {
  /** Id or path of the target namespace; by default the caller's own. */
  namespace?: string | undefined
  namespace_id?: number | undefined
  namespace_path?: string | undefined
  name?: string | undefined
  path?: string | undefined
  description?: string | null | undefined
  visibility?: Visibility | undefined
}

/** How often a transaction sends a statement while the repository is copied. */
const KEEPALIVE_INTERVAL_MS = 10_000

/**
 * Creates a fork with the branches and tags of another project and returns its id (PR-19, PR-25). The repository is
 * copied before the rows are committed; one that a kill leaves without a row is removed later.
 */
export async function forkProject(ctx: Context, caller: SignedIn, subject: ProjectSubject, given: NewFork): Promise<number> {
  const { project: source } = subject
  // external users create no projects (AC-8)
  if (isOutsider(caller.user)) throw forbidden()
  const target = await targetNamespace(ctx, caller, given)
  const fork = { caller, subject, target, settings: await readSettings(ctx), given }
  const from = { storage: source.storage, id: source.id, kind: 'project' } as const
  if (!(await ctx.git.exists(from))) throw notFound('Repository')
  await checkQuota(ctx, repositoryOf(ctx, source))
  // in the storage of the source: objects cannot be shared across storages
  const { storage } = source
  await ctx.db.transaction((tx) => checkFork(tx, fork))
  const id = await reserveProject(ctx, storage)
  try {
    const attempt = () =>
      ctx.db.transaction(async (tx) => {
        await lockReservation(tx, id)
        const copied = await withKeepalive(tx, () => copyRepository(ctx, caller.user.id, from, { ...from, id }, source.default_branch))
        if (!copied) throw await notReadable(ctx, caller, source.id)
        await insertFork(ctx, tx, fork, { id, storage })
        if (!source.empty_repo) await enqueueMaintenance(tx, id)
      })
    await retryOnUniqueViolation(attempt)
  } catch (error) {
    await cancelReservation(ctx, id)
    throw error
  }
  return id
}

/** A fork to be created. */
interface Fork {
  caller: SignedIn
  subject: ProjectSubject
  target: ProjectNamespace
  settings: Settings
  given: NewFork
}

/** The error for a caller who lost access to the source's code meanwhile: 404 or 403. */
async function notReadable(ctx: Context, caller: SignedIn, id: number): Promise<Failure> {
  await getProjectFor(ctx, caller, String(id))
  return forbidden()
}

/** Keeps an open transaction alive, which Postgres would end when idle for too long. */
async function withKeepalive<T>(tx: Transaction, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => void tx.execute(sql`select 1`).catch(() => undefined), KEEPALIVE_INTERVAL_MS)
  return work().finally(() => clearInterval(timer))
}

/** The namespace of the fork; 404 when it does not exist or the caller may not create projects in it. */
async function targetNamespace(ctx: Context, caller: SignedIn, given: NewFork): Promise<ProjectNamespace> {
  const named = given.namespace ?? given.namespace_path
  const id = given.namespace_id ?? (given.namespace === undefined ? null : numericId(given.namespace))
  const where =
    id !== null
      ? eq(namespaces.id, id)
      : named !== undefined
        ? sql`${namespaces.id} = (select r.namespace_id from ${routes} r where r.key = ${named.toLowerCase()})`
        : eq(namespaces.owner_id, caller.user.id)
  const [namespace] = await ctx.db.write.select().from(namespaces).where(where)
  const target = namespace && (await namespaceFor(ctx, caller, namespace))
  if (!target) throw notFound('Target Namespace')
  return target
}

/**
 * The visibility of a fork: the highest one that source and namespace allow and that is not restricted to
 * administrators. The caller may only request a lower one (PR-25).
 */
function visibilityOf(
  caller: SignedIn,
  source: ProjectSubject['project'],
  ceiling: number | null,
  settings: Settings,
  requested: Visibility | undefined,
) {
  const highest = Math.min(source.visibility, ceiling ?? VISIBILITY_LEVEL.public)
  if (requested !== undefined) {
    const level = VISIBILITY_LEVEL[requested]
    const faults = visibilityFaults(caller.user, settings, level, ceiling)
    return { level, faults: [...faults, ...forkVisibilityFaults(level, source.visibility)] }
  }
  const open = Object.values(VISIBILITY_LEVEL).filter((level) => level <= highest && (caller.user.admin || !isRestricted(settings, level)))
  return { level: Math.max(VISIBILITY_LEVEL.private, ...open), faults: [] }
}

/**
 * Validates a fork, before the repository is copied and again before the rows are inserted: 409 for taken names, 400
 * for other faults.
 */
async function checkFork(tx: Transaction, { caller, subject: { project }, target, settings, given }: Fork) {
  const namespace = await lockNamespace(tx, target.id)
  if (!namespace) throw notFound('Target Namespace')
  if (target.personal) await checkLimit(tx, caller.user, target.id)
  const faults = attributeFaults({ description: given.description })
  const add = (field: string, texts: string[]) => {
    if (texts.length > 0) faults[field] = [...(faults[field] ?? []), ...texts]
  }
  const name = given.name || project.name
  const path = given.path || project.path
  add('name', projectNameFaults(name))
  add('path', projectPathFaults(path))
  const { level, faults: tooOpen } = visibilityOf(caller, project, target.personal ? null : namespace.visibility, settings, given.visibility)
  add('visibility_level', tooOpen)
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  await addTakenFaults(tx, namespace, { name, path }, null, add)
  if (Object.keys(faults).length > 0) throw conflict(faults)
  return { attributes: { name, path, visibility: level }, fullPath: `${namespace.full_path}/${path}` }
}

/** The columns that a fork copies from its source. */
const inheritedColumns = (source: typeof projects.$inferSelect) => ({
  default_branch: source.default_branch,
  empty_repo: source.empty_repo,
  commit_count: source.commit_count,
  repository_size: source.repository_size,
  // a feature that is restricted in the source stays restricted in the fork
  issues_access_level: source.issues_access_level,
  merge_requests_access_level: source.merge_requests_access_level,
  wiki_access_level: source.wiki_access_level,
  snippets_access_level: source.snippets_access_level,
  builds_access_level: source.builds_access_level,
  repository_access_level: source.repository_access_level,
  operations_access_level: source.operations_access_level,
  analytics_access_level: source.analytics_access_level,
  public_jobs: source.public_jobs,
  lfs_enabled: source.lfs_enabled,
  merge_method: source.merge_method,
  squash_option: source.squash_option,
  forking_access_level: source.forking_access_level,
  remove_source_branch_after_merge: source.remove_source_branch_after_merge,
  allow_merge_on_skipped_pipeline: source.allow_merge_on_skipped_pipeline,
  auto_cancel_pending_pipelines: source.auto_cancel_pending_pipelines,
  autoclose_referenced_issues: source.autoclose_referenced_issues,
  merge_commit_template: source.merge_commit_template,
  squash_commit_template: source.squash_commit_template,
  issue_branch_template: source.issue_branch_template,
  suggestion_commit_message: source.suggestion_commit_message,
  ci_config_path: source.ci_config_path,
  build_timeout: source.build_timeout,
  build_git_strategy: source.build_git_strategy,
  ci_default_git_depth: source.ci_default_git_depth,
  build_coverage_regex: source.build_coverage_regex,
  restrict_user_defined_variables: source.restrict_user_defined_variables,
  keep_latest_artifact: source.keep_latest_artifact,
  ci_forward_deployment_enabled: source.ci_forward_deployment_enabled,
  tag_list: source.tag_list,
})

async function insertFork(ctx: Context, tx: Transaction, fork: Fork, { id, storage }: { id: number; storage: string }) {
  const { caller, subject, target, settings, given } = fork
  const { attributes, fullPath } = await checkFork(tx, fork)
  // read again with a lock: the source may have been deleted or hidden meanwhile
  const [source] = await tx.select().from(projects).where(eq(projects.id, subject.project.id)).for('update')
  if (!source) throw notFound('Project')
  if (!(await mayReadCode(ctx, caller.user.id, source.id))) throw await notReadable(ctx, caller, source.id)
  if (attributes.visibility > source.visibility)
    throw invalidRecord({ visibility_level: forkVisibilityFaults(attributes.visibility, source.visibility) })
  const now = ctx.now()
  await tx
    .insert(projects)
    .overridingSystemValue()
    .values({
      ...inheritedColumns(source),
      ...attributes,
      id,
      storage,
      namespace_id: target.id,
      creator_id: caller.user.id,
      forked_from_id: source.id,
      import_status: 'finished',
      description: given.description === undefined ? source.description : given.description,
      shared_runners_enabled: settings.shared_runners_enabled,
      created_at: now,
      updated_at: now,
      last_activity_at: now,
    })
  await claimRoute(tx, fullPath, { project_id: id })
  await audit(ctx, tx, { action: 'project_created', target: { type: 'project', id, name: fullPath }, changes: { forked_from_id: source.id } })
  if (target.personal)
    await tx.insert(members).values({ user_id: target.owner_id ?? caller.user.id, project_id: id, access_level: 40, created_by_id: caller.user.id })
  // a fork gets its branches without a first push (G-73), but clients expect a protected default branch all the same
  if (!source.empty_repo) await protectDefaultBranch(tx, id, source.default_branch, settings)
  await tx.execute(sql`insert into ${projectLanguages} (project_id, commit, bytes, names)
    select ${id}::bigint, l.commit, l.bytes, l.names from ${projectLanguages} l where l.project_id = ${source.id}`)
  await shareObjects(tx, source.id, id)
  await countForks(tx, source.id, 1)
  await recordEvent(tx, {
    project_id: id,
    author_id: caller.user.id,
    action: 'created',
    target_type: 'Project',
    target_id: id,
    created_at: now,
  })
  await endReservation(tx, id)
}

/** Sets the fork relation to a source that the caller may fork (PR-20). Nothing is copied. */
export async function linkFork(ctx: Context, caller: SignedIn, subject: ProjectSubject, named: string): Promise<void> {
  const { id } = subject.project
  const source = await getProjectFor(ctx, caller, named, 'Source Project')
  if (!source.can('fork')) throw forbidden()
  await ctx.db.transaction(async (tx) => {
    const locked = await tx
      .select({ id: projects.id, forked_from_id: projects.forked_from_id, visibility: projects.visibility })
      .from(projects)
      .where(sql`${projects.id} in (${id}, ${source.project.id})`)
      .orderBy(projects.id)
      .for('update')
    const fork = locked.find((row) => row.id === id)
    const from = locked.find((row) => row.id === source.project.id)
    if (!fork) throw notFound('Project')
    if (!from) throw notFound('Source Project')
    if (fork.forked_from_id !== null) throw conflict('Project already forked')
    if (await descendsFrom(tx, from.id, id)) throw conflict('A project cannot be a fork of itself or of its own forks')
    const faults = forkVisibilityFaults(fork.visibility, from.visibility)
    if (faults.length > 0) throw invalidRecord({ visibility_level: faults })
    await tx.update(projects).set({ forked_from_id: from.id, updated_at: ctx.now() }).where(eq(projects.id, id))
    await countForks(tx, from.id, 1)
  })
}

/** Removes the fork relation of a project; false when there is none (PR-21). */
export async function unlinkFork(ctx: Context, subject: ProjectSubject): Promise<boolean> {
  const { id } = subject.project
  return ctx.db.transaction(async (tx) => {
    const [fork] = await tx.select({ from: projects.forked_from_id }).from(projects).where(eq(projects.id, id)).for('update')
    if (!fork || fork.from === null) return false
    await tx
      .update(projects)
      .set({ forked_from_id: null, updated_at: ctx.now() })
      .where(and(eq(projects.id, id), eq(projects.forked_from_id, fork.from)))
    await countForks(tx, fork.from, -1)
    return true
  })
}
