import { and, eq, isNull, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { fullPathOf, type Project, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { namespaces, projectStars, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { forbidden, invalidRecord, notFound } from '../../failures.js'
import { projectNameFaults, projectPathFaults } from '../../rules/path.js'
import { VISIBILITY_LEVEL, visibilityName } from '../../rules/visibility.js'
import { audit } from '../core/audit.js'
import { readSettings, type Settings } from '../core/settings.js'
import { imageFaults, removeAvatar, storeAvatar } from '../identity/avatars.js'
import { moveRoute } from '../identity/namespaces.js'
import { repositoryOf } from '../repository/repositories.js'
import { attributeFaults, columnsOf, type ProjectAttributes, policyColumns, visibilityFaults } from './attributes.js'
import { addTakenFaults, takenError } from './create.js'
import { forkVisibilityFaults, lowerForks } from './fork-network.js'
import { type PullMirrorAttributes, readPullMirror, writePullMirror } from './mirrors/follow.js'
import { mirrored } from './mirrors/mirrors.js'
import { requestMove } from './storage-moves.js'

export interface ProjectChange extends ProjectAttributes, PullMirrorAttributes {
  name?: string | undefined
  path?: string | undefined
  default_branch?: string | undefined
  /** The storage to move the repository to, in the background; administrators only. */
  repository_storage?: string | undefined
}

/** Changes the given attributes (PR-10). A new path leaves a redirect for Git (PR-18). */
export async function updateProject(ctx: Context, caller: SignedIn, subject: ProjectSubject, given: ProjectChange): Promise<void> {
  const { project } = subject
  if (given.name !== undefined && given.name !== project.name && !subject.can('rename_project')) throw forbidden()
  const level = given.visibility === undefined ? project.visibility : VISIBILITY_LEVEL[given.visibility]
  if (level !== project.visibility && !subject.can('change_visibility')) throw forbidden()
  const storage = given.repository_storage
  if (storage !== undefined && !caller.user.admin) throw forbidden()
  const settings = await readSettings(ctx)
  const branch = given.default_branch
  if (branch !== undefined && branch !== project.default_branch && !(await repositoryOf(ctx, project).ref(`refs/heads/${branch}`))) {
    throw invalidRecord({ base: [`Could not set the default branch. Do you have a branch named '${branch}' in your repository?`] })
  }
  const pull = await readPullMirror(ctx, caller, project, given)
  const name = given.name ?? project.name
  const path = given.path ?? project.path
  const moved = path !== project.path
  await unlessUniqueViolation(
    () =>
      ctx.db.transaction(async (tx) => {
        // read again with a lock: the group may be renamed or made less visible concurrently
        const [namespace] = await tx.select().from(namespaces).where(eq(namespaces.id, project.namespace_id)).for('share')
        if (!namespace) throw notFound('Project')
        const faults = await changeFaults(tx, caller, project, given, { namespace, settings, name, path, level })
        if (Object.keys(faults).length > 0) throw invalidRecord(faults)
        const changed = await tx
          .update(projects)
          .set({
            ...columnsOf(given),
            ...policyColumns(given, ctx.now(), project.container_expiration_policy),
            name,
            path,
            ...(branch !== undefined && { default_branch: branch }),
            updated_at: ctx.now(),
          })
          .where(and(eq(projects.id, project.id), eq(projects.namespace_id, namespace.id), isNull(projects.marked_for_deletion_at)))
          .returning({ id: projects.id })
        if (changed.length === 0) throw notFound('Project')
        if (level !== project.visibility)
          await audit(ctx, tx, {
            action: 'visibility_changed',
            target: { type: 'project', id: project.id, name: fullPathOf(project) },
            changes: { visibility: [visibilityName(project.visibility), visibilityName(level)] },
          })
        if (level < project.visibility) await lowerForks(ctx, tx, project.id, level)
        if (pull) await writePullMirror(ctx, tx, mirrored(subject), pull)
        if (storage !== undefined) await requestMove(ctx, tx, project, storage)
        if (moved) await moveRoute(tx, project.id, `${namespace.full_path}/${project.path}`, `${namespace.full_path}/${path}`)
      }),
    takenError,
  )
  if (branch !== undefined && branch !== project.default_branch) await repositoryOf(ctx, project).setHeadBranch(branch)
  if (given.avatar !== undefined) await setAvatar(ctx, project, given.avatar)
}

/** The new values of a project, and what they are validated against. */
interface NewValues {
  /** The namespace that the project is in. */
  namespace: typeof namespaces.$inferSelect
  settings: Settings
  name: string
  path: string
  /** The visibility level. */
  level: number
}

async function changeFaults(
  tx: Transaction,
  caller: SignedIn,
  project: Project,
  given: ProjectChange,
  values: NewValues,
): Promise<Record<string, string[]>> {
  const { namespace, settings, name, path, level } = values
  const faults = attributeFaults(given)
  const add = (field: string, texts: string[]) => {
    if (texts.length > 0) faults[field] = [...(faults[field] ?? []), ...texts]
  }
  if (given.name !== undefined) add('name', projectNameFaults(name))
  if (given.path !== undefined) add('path', projectPathFaults(path))
  const ceiling = namespace.kind === 'group' ? namespace.visibility : null
  if (level !== project.visibility) add('visibility_level', visibilityFaults(caller.user, settings, level, ceiling))
  if (level > project.visibility && project.forked_from_id !== null) {
    const [source] = await tx.select({ visibility: projects.visibility }).from(projects).where(eq(projects.id, project.forked_from_id)).for('share')
    if (source) add('visibility_level', forkVisibilityFaults(level, source.visibility))
  }
  if (given.avatar) add('avatar', imageFaults(given.avatar.data))
  await addTakenFaults(tx, namespace, { name, path }, project.id, add)
  return faults
}

/** Replaces the avatar by a validated image, or removes it (UP-4). */
export async function setAvatar(ctx: Context, project: { id: number; avatar: string | null }, image: { data: Buffer } | null): Promise<void> {
  const avatar = image && (await storeAvatar(ctx, 'project', project.id, image.data))
  await ctx.db.write.update(projects).set({ avatar, updated_at: ctx.now() }).where(eq(projects.id, project.id))
  if (project.avatar && project.avatar !== avatar) await removeAvatar(ctx, 'project', project.id, project.avatar)
}

/** Archives or unarchives a project; no error when nothing changes (PR-12). */
export async function setArchived(ctx: Context, { project }: ProjectSubject, archived: boolean): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [before] = await tx.select({ archived: projects.archived }).from(projects).where(eq(projects.id, project.id)).for('update')
    await tx.update(projects).set({ archived, updated_at: ctx.now() }).where(eq(projects.id, project.id))
    if (!before || before.archived === archived) return
    const target = { type: 'project', id: project.id, name: fullPathOf(project) } as const
    await audit(ctx, tx, { action: archived ? 'project_archived' : 'project_unarchived', target })
  })
}

/** Sets or removes the caller's star; false when nothing changes (PR-22). */
export async function setStar(ctx: Context, caller: SignedIn, subject: ProjectSubject, starred: boolean): Promise<boolean> {
  const star = { project_id: subject.project.id, user_id: caller.user.id }
  return ctx.db.transaction(async (tx) => {
    const changed = starred
      ? await tx.insert(projectStars).values(star).onConflictDoNothing().returning()
      : await tx
          .delete(projectStars)
          .where(sql`${projectStars.project_id} = ${star.project_id} and ${projectStars.user_id} = ${star.user_id}`)
          .returning()
    if (changed.length === 0) return false
    await tx
      .update(projects)
      .set({ star_count: sql`${projects.star_count} + ${starred ? 1 : -1}` })
      .where(eq(projects.id, star.project_id))
    return true
  })
}

const selectStar = statement('star of a user', (db) =>
  db
    .select({ id: projectStars.project_id })
    .from(projectStars)
    .where(and(eq(projectStars.project_id, sql.placeholder('project')), eq(projectStars.user_id, sql.placeholder('user')))),
)

/** Whether the user has starred the project. */
export const hasStarred = async (ctx: Context, project: number, user: number): Promise<boolean> =>
  (await selectStar(ctx.db, null).execute({ project, user })).length > 0
