import { randomInt } from 'node:crypto'
import { and, desc, eq, isNotNull, isNull, sql } from 'drizzle-orm'
import { type ActorUser, isOutsider, type SignedIn } from '../../access/actor.js'
import { canGroup } from '../../access/can.js'
import { getGroupFor, getProjectFor, type Namespace } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { count } from '../../db/decoded.js'
import { members, namespaceAncestry, namespaces, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { unlessUniqueViolation } from '../../db/unique-violation.js'
import { Failure, invalidRecord, nullOnFailure } from '../../failures.js'
import { settleAll } from '../../lib/async/settle-all.js'
import { pathFromName, projectNameFaults, projectPathFaults } from '../../rules/path.js'
import { branchNameFault } from '../../rules/refs/branch-name.js'
import { VISIBILITY_LEVEL } from '../../rules/visibility.js'
import { recordEvent } from '../activity/events.js'
import { audit } from '../core/audit.js'
import { readSettings, type Settings } from '../core/settings.js'
import { imageFaults, storeAvatar } from '../identity/avatars.js'
import { claimRoute, isRouteTaken, lockNamespace } from '../identity/namespaces.js'
import { createCommit, type NewCommit } from '../repository/commits/create.js'
import { recordArchive } from './archives/import.js'
import { attributeFaults, columnsOf, type ProjectAttributes, policyColumns, visibilityFaults } from './attributes.js'
import { readImportUrl, recordImport } from './import.js'
import { type PullMirrorAttributes, type PullMirrorChange, readPullMirror, withoutCredentials, writePullMirror } from './mirrors/follow.js'
import { cancelReservation, endReservation, lockReservation, reserveProject } from './reservations.js'
import { readTemplate, recordTemplate, type TemplateChoice } from './template.js'

export interface NewProject extends ProjectAttributes, TemplateChoice, PullMirrorAttributes {
  name?: string | undefined
  path?: string | undefined
  namespace_id?: number | undefined
  default_branch?: string | undefined
  initialize_with_readme?: boolean | undefined
  import_url?: string | undefined
  /** An archive that the project is made of (EX-5). */
  archive?: Buffer | undefined
}

/** Creates a project with its empty repository (PR-7, PR-14 to PR-17) and returns its id. */
export async function createProject(ctx: Context, caller: SignedIn, given: NewProject): Promise<number> {
  const settings = await readSettings(ctx)
  const target = await targetNamespace(ctx, caller, given.namespace_id)
  const template = (await readTemplate(ctx, caller, given))?.project ?? null
  if (template && (given.import_url !== undefined || given.archive || given.initialize_with_readme))
    throw invalidRecord({ template_project_id: ["can't be given together with other contents"] })
  const planned: PlannedProject = {
    given,
    settings,
    target,
    path: given.path || pathFromName(given.name ?? ''),
    name: given.name || (given.path ?? ''),
    branch: given.default_branch || (template?.default_branch ?? (await groupBranch(ctx, target)) ?? ctx.config.defaultBranch),
    storage: pickStorage(ctx, settings),
    importUrl: given.import_url === undefined ? null : await readImportUrl(ctx, settings, given.import_url, given.initialize_with_readme),
    template: template?.id ?? null,
  }
  const id = await reserveProject(ctx, planned.storage)
  const insert = async () => {
    const followed = given.mirror ? given : { ...given, import_url: undefined }
    const pull = await readPullMirror(ctx, caller, { id, import_url: null }, followed)
    return ctx.db.transaction((tx) => insertProject(ctx, tx, caller, id, { ...planned, pull }))
  }
  await unlessUniqueViolation(insert, takenError).catch(async (error: unknown) => {
    await cancelReservation(ctx, id)
    throw error
  })

  if (given.avatar) {
    const avatar = await storeAvatar(ctx, 'project', id, given.avatar.data)
    await ctx.db.write.update(projects).set({ avatar }).where(eq(projects.id, id))
  }
  if (given.initialize_with_readme) await commitReadme(ctx, caller, id, planned)
  return id
}

/** The `default_branch` of the group, or of the nearest one above it that has one (GR-83). */
async function groupBranch({ db }: Context, { id, personal }: ProjectNamespace): Promise<string | null> {
  if (personal) return null
  const [found] = await db.write
    .select({ branch: namespaces.default_branch })
    .from(namespaces)
    .innerJoin(namespaceAncestry, eq(namespaceAncestry.ancestor_id, namespaces.id))
    .where(and(eq(namespaceAncestry.descendant_id, id), isNotNull(namespaces.default_branch)))
    .orderBy(desc(sql`length(${namespaces.full_path})`))
    .limit(1)
  return found?.branch ?? null
}

/** A project to be created, with defaults filled in. */
interface PlannedProject {
  given: NewProject
  settings: Settings
  target: ProjectNamespace
  name: string
  path: string
  /** The default branch. */
  branch: string
  storage: string
  importUrl: string | null
  /** The id of the project whose files it begins with. */
  template: number | null
  /** What it follows. */
  pull?: PullMirrorChange | null
}

/** Inserts a project with a reserved id and everything that belongs to it, and creates its repository. */
async function insertProject(ctx: Context, tx: Transaction, caller: SignedIn, id: number, planned: PlannedProject): Promise<void> {
  const { given, settings, target, name, path, branch, storage, importUrl, template, pull } = planned
  const now = ctx.now()
  // read again with a lock: the group may be deleted, renamed or made less visible concurrently (SEC-132)
  const [, namespace] = await settleAll([lockReservation(tx, id), lockNamespace(tx, target.id)])
  if (!namespace) throw invalidNamespace()
  if (target.personal) await checkLimit(tx, caller.user, target.id)
  const visibility = await checkedVisibility(tx, caller, namespace, planned)
  const row = tx
    .insert(projects)
    .overridingSystemValue()
    .values({
      id,
      shared_runners_enabled: settings.shared_runners_enabled,
      ...columnsOf(given),
      ...policyColumns(given, now, null),
      namespace_id: target.id,
      creator_id: caller.user.id,
      name,
      path,
      visibility,
      storage,
      default_branch: branch,
      import_url: importUrl === null ? null : withoutCredentials(importUrl),
      import_status: importUrl === null && !given.archive && template === null ? 'none' : 'scheduled',
      created_at: now,
      updated_at: now,
      last_activity_at: now,
    })
    // sent before the rows that refer to it
    .execute()
  const membership = { user_id: target.owner_id ?? caller.user.id, project_id: id, access_level: 40, created_by_id: caller.user.id }
  const event = { project_id: id, author_id: caller.user.id, action: 'created', target_type: 'Project', target_id: id, created_at: now } as const
  const branchOf = given.default_branch ?? null
  await settleAll([
    row,
    claimRoute(tx, `${namespace.full_path}/${path}`, { project_id: id }),
    audit(ctx, tx, {
      action: 'project_created',
      target: { type: 'project', id, name: `${namespace.full_path}/${path}` },
      ...(template !== null && { changes: { template_project_id: template } }),
    }),
    target.personal && tx.insert(members).values(membership),
    recordEvent(tx, event),
    given.archive && recordArchive(ctx, tx, id, given.archive),
    importUrl !== null && recordImport(ctx, tx, { id, creatorId: caller.user.id, url: importUrl, defaultBranch: branchOf }),
    pull && writePullMirror(ctx, tx, { id, name: `${namespace.full_path}/${path}` }, pull),
    template !== null && recordTemplate(tx, { project: id, template, user: caller.user.id }),
    // before the transaction commits, so that every project row has a repository
    ctx.git.create({ storage, id, kind: 'project' }, branch),
    endReservation(tx, id),
  ])
}

/** Validates the attributes and returns the visibility of the new project. */
async function checkedVisibility(
  tx: Transaction,
  caller: SignedIn,
  namespace: { full_path: string; visibility: number },
  { given, settings, target, name, path, branch }: PlannedProject,
): Promise<number> {
  const ceiling = target.personal ? null : namespace.visibility
  const defaultLevel = () => Math.min(VISIBILITY_LEVEL[settings.default_project_visibility], ceiling ?? VISIBILITY_LEVEL.public)
  const level = given.visibility === undefined ? defaultLevel() : VISIBILITY_LEVEL[given.visibility]
  const faults = attributeFaults(given)
  const add = (field: string, texts: string[]) => {
    if (texts.length > 0) faults[field] = [...(faults[field] ?? []), ...texts]
  }
  add('name', projectNameFaults(name))
  add('path', projectPathFaults(path))
  add('visibility_level', visibilityFaults(caller.user, settings, level, ceiling))
  if (given.avatar) add('avatar', imageFaults(given.avatar.data))
  if (branchNameFault(branch)) add('default_branch', ['is invalid'])
  await addTakenFaults(tx, { id: target.id, full_path: namespace.full_path }, { name, path }, null, add)
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  return level
}

async function commitReadme(ctx: Context, caller: SignedIn, id: number, { given, name, branch }: PlannedProject): Promise<void> {
  const subject = await getProjectFor(ctx, { user: { ...caller.user, admin: true } }, String(id))
  const content = `# ${name}\n\n${given.description ? `${given.description}\n` : ''}`
  const commit: NewCommit = { branch, commit_message: 'Initial commit', actions: [{ action: 'create', file_path: 'README.md', content }] }
  await createCommit(ctx, subject, caller, commit, { bypassProtection: true })
}

/** A namespace in which a project is created. */
export interface ProjectNamespace {
  id: number
  personal: boolean
  owner_id: number | null
}

const invalidNamespace = () => invalidRecord({ namespace: ['is not valid'] })

const selectNamespace = statement('namespace of a new project', (db, by: 'id' | 'owner_id') =>
  db
    .select()
    .from(namespaces)
    .where(eq(namespaces[by], sql.placeholder('value'))),
)

/** The namespace to create a project in: by default the caller's own; 400 when they may not create one there (PR-7). */
async function targetNamespace(ctx: Context, caller: SignedIn, namespaceId: number | undefined): Promise<ProjectNamespace> {
  const invalid = invalidNamespace()
  const [row] =
    namespaceId === undefined
      ? await selectNamespace(ctx.db, 'owner_id').execute({ value: caller.user.id })
      : await selectNamespace(ctx.db, 'id').execute({ value: namespaceId })
  if (!row) throw invalid
  const target = await namespaceFor(ctx, caller, row)
  if (!target) throw invalid
  if (!target.personal && isOutsider(caller.user)) throw limitReached(0)
  return target
}

/** The namespace as a `ProjectNamespace`; null when the caller may not create projects in it (5.2 row 4). */
export async function namespaceFor(ctx: Context, caller: SignedIn, namespace: Namespace): Promise<ProjectNamespace | null> {
  const { id, owner_id } = namespace
  if (namespace.kind === 'user') {
    if (owner_id !== caller.user.id && !caller.user.admin) return null
    return { id, personal: true, owner_id }
  }
  const group = await nullOnFailure(getGroupFor(ctx, caller, String(id)))
  if (!group || !canGroup(group, 'create_project')) return null
  return { id, personal: false, owner_id: null }
}

/** The namespace and path of a project that a push may create. */
export interface PushTarget {
  namespace_id: number
  path: string
  full_path: string
}

/**
 * The project that a push to an unknown path may create. Null when the namespace does not exist, the caller may not
 * create projects in it, or the name is not valid.
 */
export async function findPushTarget(ctx: Context, caller: SignedIn, fullPath: string): Promise<PushTarget | null> {
  const at = fullPath.lastIndexOf('/')
  const path = fullPath.slice(at + 1)
  if (at < 1 || path.endsWith('.wiki') || projectPathFaults(path).length > 0) return null
  const [namespace] = await ctx.db.write
    .select()
    .from(namespaces)
    .where(eq(sql`lower(${namespaces.full_path})`, fullPath.slice(0, at).toLowerCase()))
  if (!namespace) return null
  return (await namespaceFor(ctx, caller, namespace)) ? { namespace_id: namespace.id, path, full_path: fullPath } : null
}

const limitReached = (limit: number) =>
  new Failure('forbidden', { error: [`Your project limit is ${limit} projects! Please contact your administrator to increase it`] })

/**
 * Throws 403 when the user has reached their limit of personal projects (PR-14). The caller has locked the namespace,
 * so that concurrent creations cannot exceed the limit (SEC-131).
 */
export async function checkLimit(tx: Transaction, user: ActorUser, namespaceId: number) {
  if (user.admin) return
  const [row] = await tx
    .select({ count: count() })
    .from(projects)
    .where(and(eq(projects.namespace_id, namespaceId), isNull(projects.marked_for_deletion_at)))
  if ((row?.count ?? 0) >= user.projects_limit) throw limitReached(user.projects_limit)
}

/**
 * Adds faults for a name or path that another project of the namespace has; `x` and `x.wiki` also conflict (AC-19).
 * `exceptId` is the project that is being changed.
 */
export async function addTakenFaults(
  tx: Transaction,
  target: { id: number; full_path: string },
  { name, path }: { name: string; path: string },
  exceptId: number | null,
  add: (field: string, texts: string[]) => void,
) {
  const sameName = tx
    .select({ id: projects.id })
    .from(projects)
    .where(sql`${projects.namespace_id} = ${target.id} and lower(${projects.name}) = lower(${name}) and ${projects.id} is distinct from ${exceptId}`)
  const lower = path.toLowerCase()
  const neighbours = [lower, `${lower}.wiki`, ...(lower.endsWith('.wiki') ? [lower.slice(0, -'.wiki'.length)] : [])]
  const samePath = tx
    .select({ id: projects.id })
    .from(projects)
    .where(sql`${projects.namespace_id} = ${target.id} and lower(${projects.path}) in ${neighbours} and ${projects.id} is distinct from ${exceptId}`)
  const [names, paths, routeTaken] = await settleAll([sameName, samePath, exceptId === null && isRouteTaken(tx, `${target.full_path}/${path}`)])
  if (names.length > 0) add('name', ['has already been taken'])
  if (paths.length > 0 || routeTaken) add('path', ['has already been taken'])
}

/** The error when a concurrent call has taken the name or path, from the violated unique index. */
export const takenError = (index: string) => invalidRecord({ [index.includes('name') ? 'name' : 'path']: ['has already been taken'] })

/** Picks a random enabled storage for a new project. */
export function pickStorage(ctx: Pick<Context, 'config'>, settings: Settings): string {
  const known = Object.keys(ctx.config.storages)
  const enabled = settings.repository_storages?.filter((name) => known.includes(name)) ?? known
  const names = enabled.length > 0 ? enabled : known
  return names[randomInt(names.length)] as string
}
