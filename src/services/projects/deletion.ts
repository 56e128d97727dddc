import { and, eq, sql } from 'drizzle-orm'
import type { ActorUser } from '../../access/actor.js'
import { fullPathOf, type Namespace, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { projects } from '../../db/schema/index.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { invalidRecord, notFound, refused } from '../../failures.js'
import { deletionSuffix, formerPath } from '../../rules/path.js'
import { visibilityName } from '../../rules/visibility.js'
import { audit } from '../core/audit.js'
import { readSettings } from '../core/settings.js'
import { isRouteTaken, lockNamespace, moveRoute } from '../identity/namespaces.js'
import { addTakenFaults, checkLimit, takenError } from './create.js'
import { countForks, lowerForks } from './fork-network.js'
import { deleteProjectRows, detachProjects } from './remove.js'

export interface DeletionOptions {
  /** Removes it now, also when it waits for its removal already; without it such a thing is 404 (PR-28). */
  permanently_remove?: boolean | undefined
  /** The full path, as a check; also the one before the deletion. */
  full_path?: string | undefined
}

const DAY_MS = 86_400_000

/** When what is deleted now is to be removed; null for now (AS-75). Throws 400 for another full path than the given one. */
export async function deletionDue(ctx: Context, fullPath: string, { permanently_remove, full_path }: DeletionOptions): Promise<Date | null> {
  if (full_path !== undefined && full_path !== fullPath && full_path !== formerPath(fullPath)) throw refused('full_path is incorrect')
  const { deletion_delay_days } = await readSettings(ctx)
  return permanently_remove || deletion_delay_days === 0 ? null : new Date(ctx.now().getTime() + deletion_delay_days * DAY_MS)
}

/**
 * Deletes a project: it is hidden now and removed when it is due, or removed now (PR-28). Then a job removes its files
 * (W-14, SEC-134).
 */
export async function deleteProject(ctx: Context, { project }: ProjectSubject, given: DeletionOptions): Promise<void> {
  if (project.marked_for_deletion_at && !given.permanently_remove) throw notFound('Project')
  const due = await deletionDue(ctx, fullPathOf(project), given)
  await ctx.db.transaction((tx) => (due === null ? removeNow(ctx, tx, project.id) : scheduleDeletion(ctx, tx, project, due)))
}

/** Removes a project; 404 if another call has removed it meanwhile. */
async function removeNow(ctx: Context, tx: Transaction, id: number): Promise<void> {
  const [project] = await tx.select({ id: projects.id }).from(projects).where(eq(projects.id, id)).for('update')
  if (!project) throw notFound('Project')
  await deleteProjectRows(ctx, tx, sql`p.id = ${id}`)
}

/** Hides a project, and renames it so that its path and name are free; 404 if it waits already (PR-28). */
async function scheduleDeletion(ctx: Context, tx: Transaction, { id, namespace }: ProjectSubject['project'], due: Date): Promise<void> {
  const parent = await lockNamespace(tx, namespace.id)
  const [project] = await tx.select().from(projects).where(eq(projects.id, id)).for('update')
  if (!project || project.marked_for_deletion_at || project.namespace_id !== parent?.id) throw notFound('Project')
  const from = `${parent.full_path}/${project.path}`
  const suffix = deletionSuffix(id)
  await moveRoute(tx, id, from, from + suffix, false)
  await detachProjects(tx, sql`p.id = ${id}`)
  await tx
    .update(projects)
    .set({ path: project.path + suffix, name: project.name + suffix, marked_for_deletion_at: ctx.now(), deletion_due_at: due })
    .where(eq(projects.id, id))
  await audit(ctx, tx, {
    action: 'project_deletion_scheduled',
    target: { type: 'project', id, name: from },
    changes: { deletion_due_at: [null, due.toISOString()] },
  })
}

/**
 * Gives a deleted project back under its former path and name (PR-29). A personal one counts towards the limit of
 * `user`; without a user there is no limit.
 */
export async function restoreProject(ctx: Context, user: ActorUser | null, id: number): Promise<void> {
  await unlessUniqueViolation(() => ctx.db.transaction((tx) => restore(ctx, tx, user, id)), takenError)
}

async function restore(ctx: Context, tx: Transaction, user: ActorUser | null, id: number): Promise<void> {
  const [found] = await tx.select({ namespace_id: projects.namespace_id }).from(projects).where(eq(projects.id, id))
  const namespace = found && (await lockNamespace(tx, found.namespace_id))
  const [project] = await tx.select().from(projects).where(eq(projects.id, id)).for('update')
  if (!project) throw notFound('Project')
  if (!project.marked_for_deletion_at) throw refused('Project has not been marked for deletion')
  if (!namespace || !project.deletion_due_at) throw refused('The group of the project has been marked for deletion: restore the group')
  const name = formerPath(project.name)
  const path = formerPath(project.path)
  const fullPath = `${namespace.full_path}/${path}`
  await checkFree(tx, namespace, { id, name, path })
  if (namespace.kind === 'user' && user) await checkLimit(tx, user, namespace.id)
  // the group may have become less visible meanwhile
  const visibility = namespace.kind === 'group' ? Math.min(project.visibility, namespace.visibility) : project.visibility
  await moveRoute(tx, id, `${namespace.full_path}/${project.path}`, fullPath, false)
  await tx
    .update(projects)
    .set({ name, path, visibility, marked_for_deletion_at: null, deletion_due_at: null, updated_at: ctx.now() })
    .where(eq(projects.id, id))
  if (project.forked_from_id !== null) await countForks(tx, project.forked_from_id, 1)
  if (visibility < project.visibility) await lowerForks(ctx, tx, id, visibility)
  await audit(ctx, tx, {
    action: 'project_restored',
    target: { type: 'project', id, name: fullPath },
    changes: visibility === project.visibility ? {} : { visibility: [visibilityName(project.visibility), visibilityName(visibility)] },
  })
}

/** Throws 400 when another project has the name or path meanwhile. */
async function checkFree(tx: Transaction, namespace: Namespace, { id, name, path }: { id: number; name: string; path: string }): Promise<void> {
  const faults: Record<string, string[]> = {}
  await addTakenFaults(tx, namespace, { name, path }, id, (field, texts) => {
    faults[field] = texts
  })
  if (await isRouteTaken(tx, `${namespace.full_path}/${path}`)) faults['path'] = ['has already been taken']
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

/** Removes a project if it is still due. */
export async function removeDueProject(ctx: Context, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [due] = await tx
      .select({ id: projects.id })
      .from(projects)
      .where(and(eq(projects.id, id), sql`${projects.deletion_due_at} <= ${ctx.now().toISOString()}`))
      .for('update')
    if (due) await deleteProjectRows(ctx, tx, sql`p.id = ${id}`)
  })
}
