import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Context, Move, PushEvent } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { decoded } from '../../../db/decoded.js'
import {
  events,
  hookChanges,
  type MergeIntent,
  namespaces,
  projects,
  protectedBranches,
  refIntents,
  releases,
  users,
} from '../../../db/schema/index.js'
import { type GitRepository, type RefUpdate, ZERO } from '../../../git/types.js'
import { insertStatement, type NewJob, newJob } from '../../../jobs/enqueue.js'
import type { Settings } from '../../core/settings.js'
import { hasListener } from '../../outbox/record.js'
import { defaultProtection, Protections } from '../protection.js'
import { pushDataOf } from '../push-events.js'
import { repositoryById } from '../repositories.js'
import { releaseIntent } from './intents.js'
import { enqueueMaintenance, maintenanceJob } from './maintenance-job.js'

/** Rows of one insert: building one of a push of 10,000 refs would hold up the event loop (SEC-145). */
const EVENTS_AT_ONCE = 200

/** Ref updates that have been made. */
export interface CompletedMoves {
  projectId: number
  moves: Move[]
  intent: number | null
  settings: Settings
  /** Looked up when missing. */
  repository?: GitRepository
  /** The merge request that the moves merged, if any. */
  merge?: MergeIntent | null
}

/**
 * Applies everything that follows from moved refs, and ends the intent. All of it is done before the caller gets a
 * response (PU-1), except maintenance, which is enqueued. The refs have moved, so a failure is retried in the
 * background until it succeeds.
 */
export async function finishMoves(ctx: Context, moved: CompletedMoves): Promise<void> {
  const { projectId, intent } = moved
  try {
    await applyMoves(ctx, moved)
    if (intent !== null) ctx.process.intents.delete(intent)
  } catch (error) {
    // if it timed out, the retry is faster once maintenance has added the new commits to the commit-graph
    if (intent !== null) releaseIntent(ctx, intent)
    await enqueueMaintenance(ctx.db, projectId).catch(() => undefined)
    throw error
  }
}

export async function applyMoves(ctx: Context, { projectId, moves, intent, settings, repository, merge = null }: CompletedMoves): Promise<void> {
  let actor: Promise<number | null> | undefined
  let repositoryLookup: Promise<GitRepository | null> | undefined
  const queued: NewJob[] = [maintenanceJob(projectId)]
  const event: PushEvent = {
    projectId,
    moves,
    intent,
    merge,
    actor: () => (actor ??= actorIdOf(ctx, intent)),
    enqueue: (job, input, options) => void queued.push(newJob(job, input, options)),
    repository: () =>
      (repositoryLookup ??= repository ? Promise.resolve(repository) : repositoryById(ctx, projectId).then((known) => known?.git ?? null)),
  }
  const [pushes] = await Promise.all([
    event.repository().then((git) => (git ? pushDataOf(git, moves) : [])),
    updateDefaultBranch(ctx, projectId, moves, settings),
    deleteReleases(ctx, projectId, moves),
    ...ctx.listeners.push.map((listener) => listener(ctx, event)),
  ])
  const now = ctx.now()
  const named = moves
    .filter(({ ref }) => /^refs\/(heads|tags)\//.test(ref))
    .map(({ ref, old, new: to, skip_ci }) => ({ ref, old, new: to, ...(skip_ci && { skip_ci }) }))
  // The only commit here that waits for the disk; it makes everything committed before it durable (SEC-157). Events, jobs
  // and hooks are written together with the deletion of the intent, so that a retry does not repeat them.
  await ctx.db.transaction(async (tx) => {
    const [finished] =
      intent === null ? [] : await tx.delete(refIntents).where(eq(refIntents.id, intent)).returning({ actor_id: refIntents.actor_id })
    if (finished) {
      const { actor_id } = finished
      const [{ author, listens } = { author: null, listens: false }] = await tx
        .select({ author: users.id, listens: decoded(hasListener(projectId, 'push', 'tag_push', 'repository_update'), Boolean) })
        .from(sql`(select 1) one`)
        .leftJoin(users, eq(users.id, actor_id ?? 0))
      if (author !== null) {
        const shared = { project_id: projectId, author_id: author, action: 'pushed', about_type: 'Commit', created_at: now } as const
        const rows = pushes.map((push) => ({ ...shared, push }))
        for (let at = 0; at < rows.length; at += EVENTS_AT_ONCE) await tx.insert(events).values(rows.slice(at, at + EVENTS_AT_ONCE))
      }
      if (listens)
        await tx.insert(hookChanges).values({ source: 'pushes', operation: 'INSERT', project_id: projectId, actor_id, after: { moves: named } })
    }
    await tx.execute(insertStatement(queued))
    await tx
      .update(projects)
      .set({
        last_activity_at: sql`greatest(${projects.last_activity_at}, ${now.toISOString()}::timestamptz)`,
        pushes_since_gc: sql`${projects.pushes_since_gc} + 1`,
      })
      .where(eq(projects.id, projectId))
  })
  ctx.db.notifyCommitted()
}

/** The id of the user who moved the refs of an intent; null when they have been removed meanwhile. */
async function actorIdOf(ctx: Context, intent: number | null): Promise<number | null> {
  if (intent === null) return null
  const [row] = await ctx.db.write
    .select({ id: users.id })
    .from(refIntents)
    .innerJoin(users, eq(users.id, refIntents.actor_id))
    .where(eq(refIntents.id, intent))
  return row?.id ?? null
}

/** Deletes the releases of deleted tags (PU-8). */
async function deleteReleases(ctx: Context, projectId: number, moves: RefUpdate[]): Promise<void> {
  const deletedTags = moves.filter((move) => move.new === ZERO && move.ref.startsWith('refs/tags/')).map(({ ref }) => ref.slice('refs/tags/'.length))
  if (deletedTags.length > 0) await ctx.db.write.delete(releases).where(and(eq(releases.project_id, projectId), inArray(releases.tag, deletedTags)))
}

/** The default branch of older repositories, preferred where the configured name was not pushed (BR-17). */
const FORMER_DEFAULT = 'refs/heads/master'

/**
 * Makes the first branch of an empty repository the default branch and protects it; marks the repository as empty when
 * its last branch is deleted (PU-1). A push does not say which branch the client has checked out, so of several the
 * configured name comes first, then `master`, then the first of the push (BR-17).
 */
export async function updateDefaultBranch(ctx: Context, projectId: number, moves: RefUpdate[], settings: Settings) {
  const branches = moves.filter(({ ref }) => ref.startsWith('refs/heads/'))
  if (!branches.some((move) => move.old === ZERO || move.new === ZERO)) return
  const repository = await repositoryById(ctx, projectId)
  if (!repository) return
  const {
    refs: [first],
    total,
  } = await repository.git.refsPage('refs/heads/', { skip: 0, limit: 1 })
  await ctx.db.transaction(async (tx) => {
    const [project] = await tx
      .select({ id: projects.id, empty_repo: projects.empty_repo, default_branch: projects.default_branch })
      .from(projects)
      .where(eq(projects.id, projectId))
      .for('update')
    if (!project || project.empty_repo === (total === 0)) return
    if (!first) {
      await tx.update(projects).set({ empty_repo: true }).where(eq(projects.id, projectId))
      return
    }
    const pushed = branches.filter((move) => move.new !== ZERO).map(({ ref }) => ref)
    const branch = await firstBranch(repository.git, [`refs/heads/${project.default_branch}`, FORMER_DEFAULT, ...pushed, first.name])
    if (branch !== project.default_branch) await repository.git.setHeadBranch(branch)
    await tx.update(projects).set({ empty_repo: false, default_branch: branch }).where(eq(projects.id, projectId))
    await protectDefaultBranch(tx, projectId, branch, settings)
  })
}

/** The branch name of the first of these refs that exists. */
async function firstBranch(repository: GitRepository, refs: string[]): Promise<string> {
  for (const ref of refs) if (await repository.ref(ref)) return ref.slice('refs/heads/'.length)
  return (refs.at(-1) as string).slice('refs/heads/'.length)
}

/**
 * Protects the first default branch of a project according to `default_branch_protection` of its group or of the settings
 * (G-73, GR-52).
 */
export async function protectDefaultBranch(tx: Transaction, projectId: number, branch: string, settings: Settings) {
  const [namespace] = await tx
    .select({ default_branch_protection: namespaces.default_branch_protection })
    .from(projects)
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(eq(projects.id, projectId))
  const level = defaultProtection({ namespace: namespace ?? { default_branch_protection: null } }, settings)
  if (level === 0) return
  const entries = await tx.select().from(protectedBranches).where(eq(protectedBranches.project_id, projectId))
  if (new Protections(entries, []).isProtected(branch)) return
  await tx
    .insert(protectedBranches)
    .values({ project_id: projectId, name: branch, push_level: level === 1 ? 30 : 40, merge_level: level === 3 ? 30 : 40 })
    .onConflictDoNothing()
}
