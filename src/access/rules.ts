import { and, eq, type Placeholder, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../context.js'
import { inIds } from '../db/conditions.js'
import { decoded } from '../db/decoded.js'
import { namespaces, projects, redirects, routes, users } from '../db/schema/index.js'
import { statement } from '../db/statement.js'
import { forbidden, notFound } from '../failures.js'
import { numericId } from '../lib/numeric-id.js'
import type { GroupAbility } from './abilities/group.js'
import type { ProjectAbility } from './abilities/project.js'
import type { Access } from './access.js'
import { type ActorUser, ANONYMOUS, type Caller, type SignedIn, type Viewer } from './actor.js'
import { canGroup, canProject, type GroupPolicyInput, type ProjectPolicyInput, restores, seesGroup, seesProject } from './can.js'
import { allowsJob } from './jobs/job-tokens.js'
import { groupLevel, projectLevel } from './roles.js'
import { holdsVisibleProject, type ViewerKind, viewerKindOf, visibleOrRestorableProject, visibleProject } from './visible.js'

const nothing = z.object({})

/** Any caller, with or without a credential. */
export const anyone: Access<null, false> = { rule: 'anyone', signedIn: false, early: true, path: nothing, find: async () => null }

/** Any caller with a valid credential. */
export const signedIn: Access<null, true> = { rule: 'signed in', signedIn: true, early: true, path: nothing, find: async () => null }

const onlyAdmins = async (_: Context, caller: Caller) => {
  if (!caller.user?.admin) throw forbidden()
  return null
}

/** Administrators; checked after the parameters are parsed, as in the users family (G-10, G-11). */
export const admin: Access<null, true> = { rule: 'administrator', signedIn: true, early: false, path: nothing, find: onlyAdmins }

/** Administrators; checked before other parameters are parsed (G-10). */
export const adminFirst: Access<null, true> = { ...admin, rule: 'administrator, before parameters', early: true }

/** Administrators; for everybody else there is nothing there (WB-170). */
export const adminPage = {
  ...admin,
  rule: 'administrator, otherwise not found',
  signedIn: false,
  early: true,
  async find(_: Context, caller: Caller) {
    if (!caller.user?.admin) throw notFound()
    return null
  },
} as unknown as Access<null, true>

/** The account whose keys, e-mail addresses and so on a call reads or changes. */
export interface AccountSubject {
  account: { id: number; username: string }
}

/** The caller's own account. */
export const onSelf: Access<AccountSubject, true> = {
  rule: 'signed in, self',
  signedIn: true,
  early: true,
  path: nothing,
  async find(_, { user }) {
    if (user.kind === 'bot') throw forbidden('a bot has no keys and addresses')
    return { account: user }
  },
}

const selectAccount = statement('account by id', (db) =>
  db
    .select({ id: users.id, username: users.username })
    .from(users)
    .where(sql`${users.id} = ${sql.placeholder('id')} and ${users.kind} = 'human'`),
)

/** Throws 404 if there is no such account; the ghost user has neither keys nor tokens (SEC-125). */
export async function accountById(ctx: Context, id: number): Promise<AccountSubject['account']> {
  const [account] = await selectAccount(ctx.db, null).execute({ id })
  if (!account) throw notFound('User')
  return account
}

/**
 * Any user's account, for administrators; 404 if there is none. Checked after the parameters are parsed (G-11).
 */
export const onUser: Access<AccountSubject, true> = {
  rule: 'administrator, user',
  signedIn: true,
  early: false,
  path: z.object({ id: z.string() }),
  async find(ctx, caller, params) {
    await onlyAdmins(ctx, caller)
    return { account: await accountById(ctx, numericId(params['id'] as string) ?? 0) }
  },
}

/** What a project needs of its namespace; each call reads it. */
const ownerColumns = {
  id: namespaces.id,
  kind: namespaces.kind,
  name: namespaces.name,
  path: namespaces.path,
  full_path: namespaces.full_path,
  full_name: namespaces.full_name,
  parent_id: namespaces.parent_id,
  owner_id: namespaces.owner_id,
  visibility: namespaces.visibility,
  lfs_enabled: namespaces.lfs_enabled,
  default_branch_protection: namespaces.default_branch_protection,
  avatar: namespaces.avatar,
}

export type Namespace = typeof namespaces.$inferSelect
/** The row of a project, with its namespace. */
export type Project = typeof projects.$inferSelect & { namespace: Pick<Namespace, keyof typeof ownerColumns> }

/** The full path of a project, as in URLs (G-84). */
export const fullPathOf = (project: Pick<Project, 'path' | 'namespace'>) => `${project.namespace.full_path}/${project.path}`

/** A project, with the caller's level and abilities on it. */
export interface ProjectSubject extends ProjectPolicyInput {
  project: Project
  level: number
  can(ability: ProjectAbility): boolean
}

interface ProjectLookup {
  by: 'id' | 'path' | 'ids' | 'paths'
  /** Undefined: also a project that the caller may not see. */
  viewer: ViewerKind | undefined
  /** Also one that waits for its removal and that the caller may restore. */
  deleted: boolean
}

const selectProject = statement('project for caller', (db, { by, viewer, deleted }: ProjectLookup) => {
  const user = sql`${sql.placeholder('user')}::bigint`
  const level = sql<number>`standing.level`
  const standing = viewer === undefined || viewer === 'anonymous' ? sql`0` : projectLevel(projects, user)
  // a hidden project gives no row, like a missing one: reading its row would tell them apart by their time (SEC-30)
  const visible =
    viewer === undefined ? undefined : deleted ? visibleOrRestorableProject(viewer, user, level) : visibleProject(viewer, user, projects, level)
  const query = db.select({ project: projects, namespace: ownerColumns, level: decoded(level, Number) }).from(projects)
  // `offset 0` keeps Postgres from working the level out twice
  const joined = query
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .innerJoin(sql`lateral (select ${standing} as level offset 0) standing`, sql`true`)
  if (by === 'id') return joined.where(and(eq(projects.id, sql.placeholder('value')), visible))
  if (by === 'ids') return joined.where(and(inIds(projects.id, 'value'), visible))
  const named = by === 'path' ? eq(routes.key, sql.placeholder('value')) : keyAmong(sql.placeholder('value'))
  return joined.innerJoin(routes, eq(routes.project_id, projects.id)).where(and(named, visible))
})

const keyAmong = (keys: Placeholder) => sql`${routes.key} = any(${keys}::text[])`

/** What several projects or groups are looked up by. */
export type Wanted = { ids: number[] } | { paths: string[] }

const wantedOf = (wanted: Wanted) =>
  'ids' in wanted ? ({ by: 'ids', value: wanted.ids } as const) : ({ by: 'paths', value: wanted.paths.map((path) => path.toLowerCase()) } as const)

/** Those of these projects that the caller sees, with the caller's abilities, in any order: `getProjectFor` of several. */
export async function findProjectsFor(ctx: Context, { user }: Pick<Caller, 'user'>, wanted: Wanted): Promise<ProjectSubject[]> {
  const { by, value } = wantedOf(wanted)
  if (value.length === 0) return []
  const rows = await selectProject(ctx.db, { by, viewer: viewerKindOf(user), deleted: false }).execute({ value, user: user?.id ?? 0 })
  return rows.flatMap(({ project: row, namespace, level }) => {
    const project: Project = { ...row, namespace }
    const input: ProjectPolicyInput = { user, level, project }
    return seesProject(input) ? [{ ...input, project, can: (ability: ProjectAbility) => canProject(input, ability) }] : []
  })
}

/**
 * Finds a project by its id (digits) or full path, with the caller's abilities; throws 404 if it does not exist, waits for
 * its removal or the caller may not see it (G-2, G-40, SEC-245).
 */
export const getProjectFor = (ctx: Context, caller: Viewer, idOrPath: string, kind = 'Project'): Promise<ProjectSubject> =>
  findProjectFor(ctx, caller, idOrPath, { kind, deleted: false })

/** Like `getProjectFor`, but also a project that waits for its removal and that the caller may restore. */
export const getProjectOrDeletedFor = (ctx: Context, caller: Viewer, idOrPath: string): Promise<ProjectSubject> =>
  findProjectFor(ctx, caller, idOrPath, { kind: 'Project', deleted: true })

async function findProjectFor(
  ctx: Context,
  { user, job }: Viewer,
  idOrPath: string,
  { kind, deleted }: { kind: string; deleted: boolean },
): Promise<ProjectSubject> {
  const id = numericId(idOrPath)
  const [row] = await selectProject(ctx.db, { by: id === null ? 'path' : 'id', viewer: viewerKindOf(user), deleted }).execute({
    value: id ?? idOrPath.toLowerCase(),
    user: user?.id ?? 0,
  })
  if (!row) throw notFound(kind)
  const project: Project = { ...row.project, namespace: row.namespace }
  // a job whose project is not allowed sees what everybody sees (CI-244)
  if (job && !(await allowsJob(ctx, project, job))) return findProjectFor(ctx, ANONYMOUS, idOrPath, { kind, deleted })
  const input: ProjectPolicyInput = { user, level: row.level, project }
  if (!seesProject(input) && !(deleted && project.marked_for_deletion_at && restores(input))) throw notFound(kind)
  return { ...input, project, can: (ability) => canProject(input, ability) }
}

/**
 * Like `getProjectFor`, but at the level that a credential of the project itself gives, such as a deploy key; 404 if
 * it gives none. `user` is the creator of the credential; an administrator gets no administrator rights through it.
 */
export async function getProjectAtLevel(
  ctx: Context,
  user: ActorUser | null,
  idOrPath: string,
  levelOn: (project: Project) => Promise<number>,
): Promise<ProjectSubject> {
  const id = numericId(idOrPath)
  const [row] = await selectProject(ctx.db, { by: id === null ? 'path' : 'id', viewer: undefined, deleted: false }).execute({
    value: id ?? idOrPath.toLowerCase(),
    user: 0,
  })
  if (!row) throw notFound('Project')
  const project: Project = { ...row.project, namespace: row.namespace }
  const level = project.marked_for_deletion_at ? 0 : await levelOn(project)
  if (level === 0) throw notFound('Project')
  const input: ProjectPolicyInput = { user: user && { ...user, admin: false }, level, project }
  return { ...input, project, can: (ability) => canProject(input, ability) }
}

const selectFormer = statement('former project for caller', (db, viewer: ViewerKind) =>
  db
    .select({ id: projects.id, path: projects.path, namespace: namespaces })
    .from(redirects)
    .innerJoin(projects, eq(projects.id, redirects.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(and(eq(redirects.key, sql.placeholder('key')), visibleProject(viewer, sql`${sql.placeholder('user')}::bigint`))),
)

/**
 * The project that formerly had this full path, in one statement; null if there is none that the caller may see, or
 * another project has the path now.
 */
export async function findFormerProjectFor(ctx: Context, { user }: Pick<Caller, 'user'>, fullPath: string) {
  const [found] = await selectFormer(ctx.db, viewerKindOf(user)).execute({ key: fullPath.toLowerCase(), user: user?.id ?? 0 })
  return found ?? null
}

const selectRedirect = statement('redirect of a former path', (db) =>
  db
    .select({ project_id: redirects.project_id })
    .from(redirects)
    .where(eq(redirects.key, sql.placeholder('key'))),
)

/**
 * The id of the project that formerly had this full path, for Git only (GH-4); null if there is none, or another
 * project has the path now.
 */
export async function formerProjectId(ctx: Context, fullPath: string): Promise<number | null> {
  const [found] = await selectRedirect(ctx.db, null).execute({ key: fullPath.toLowerCase() })
  return found?.project_id ?? null
}

const projectPath = z.object({ id: z.string() })

/**
 * Requires an ability on a project: 404 if it is not visible, 403 without the ability. Checked before the other
 * parameters are parsed (G-10).
 */
export const onProject = (ability: ProjectAbility): Access<ProjectSubject, false> => projectAccess(ability, false) as Access<ProjectSubject, false>

/** Like `onProject`, but 401 without a credential. */
export const onProjectSignedIn = (ability: ProjectAbility): Access<ProjectSubject, true> =>
  projectAccess(ability, true) as Access<ProjectSubject, true>

/** Like `onProjectSignedIn`, but checked after the other parameters are parsed, as for commit statuses (G-10). */
export const onProjectAfterInput = (ability: ProjectAbility): Access<ProjectSubject, true> =>
  projectAccess(ability, true, { early: false }) as Access<ProjectSubject, true>

/** Like `onProject` and `onProjectSignedIn`, but also on a project that waits for its removal, which few things are. */
export const onProjectOrDeleted = (ability: ProjectAbility): Access<ProjectSubject, false> =>
  projectAccess(ability, false, { get: getProjectOrDeletedFor }) as Access<ProjectSubject, false>

export const onProjectOrDeletedSignedIn = (ability: ProjectAbility): Access<ProjectSubject, true> =>
  projectAccess(ability, true, { get: getProjectOrDeletedFor }) as Access<ProjectSubject, true>

function projectAccess(
  ability: ProjectAbility,
  signed: boolean,
  { early = true, get = getProjectFor }: { early?: boolean; get?: typeof getProjectOrDeletedFor } = {},
): Access<ProjectSubject, boolean> {
  return {
    rule: `${signed ? 'signed in, ' : ''}project: ${ability}${get === getProjectOrDeletedFor ? ', also deleted' : ''}`,
    signedIn: signed,
    early,
    path: projectPath,
    async find(ctx, caller, params) {
      const subject = await get(ctx, caller, params['id'] as string)
      if (!subject.can(ability)) throw forbidden()
      return subject
    },
  }
}

export interface GroupSubject extends GroupPolicyInput {
  group: Namespace
  can(ability: GroupAbility): boolean
}

const selectGroup = statement('group for caller', (db, { by, viewerKind }: { by: ProjectLookup['by']; viewerKind: ViewerKind }) => {
  const user = sql`${sql.placeholder('user')}::bigint`
  const level = viewerKind === 'anonymous' ? sql<number>`0` : groupLevel(namespaces.id, user)
  // evaluated only if nothing else gives access: it is the most expensive part
  const seesProjectIn = sql<boolean>`(${namespaces.visibility} < 20 and ${level} = 0 and ${holdsVisibleProject(viewerKind, namespaces.id, user)})`
  const query = db.select({ group: namespaces, level: decoded(level, Number), seesProjectIn }).from(namespaces)
  const value = sql.placeholder('value')
  const isGroup = sql`${namespaces.kind} = 'group'`
  if (by === 'id') return query.where(sql`${namespaces.id} = ${value} and ${isGroup}`)
  if (by === 'ids') return query.where(and(inIds(namespaces.id, 'value'), isGroup))
  const named = by === 'path' ? sql`${routes.key} = ${value}` : keyAmong(value)
  return query.innerJoin(routes, eq(routes.namespace_id, namespaces.id)).where(sql`${named} and ${isGroup}`)
})

/** Those of these groups that the caller sees, with the caller's abilities, in any order: `getGroupFor` of several. */
export async function findGroupsFor(ctx: Context, { user }: Pick<Caller, 'user'>, wanted: Wanted): Promise<GroupSubject[]> {
  const { by, value } = wantedOf(wanted)
  if (value.length === 0) return []
  const rows = await selectGroup(ctx.db, { by, viewerKind: viewerKindOf(user) }).execute({ value, user: user?.id ?? 0 })
  return rows.flatMap(({ group, level, seesProjectIn }) => {
    const input = { user, level, group, seesProjectIn }
    return seesGroup(input) ? [{ ...input, can: (ability: GroupAbility) => canGroup(input, ability) }] : []
  })
}

/**
 * Finds a group by its id or full path (`asPath`), with the caller's abilities; throws 404 if it does not exist, waits for its
 * removal or the caller may not see it (G-67, SEC-245).
 */
export const getGroupFor = (ctx: Context, caller: Pick<Caller, 'user'>, idOrPath: string, kind = 'Group'): Promise<GroupSubject> =>
  findGroupFor(ctx, caller, idOrPath, { kind, deleted: false })

/** Like `getGroupFor`, but also a group that waits for its removal and that the caller may restore. */
export const getGroupOrDeletedFor = (ctx: Context, caller: Pick<Caller, 'user'>, idOrPath: string): Promise<GroupSubject> =>
  findGroupFor(ctx, caller, idOrPath, { kind: 'Group', deleted: true })

async function findGroupFor(
  ctx: Context,
  { user }: Pick<Caller, 'user'>,
  idOrPath: string,
  { kind, deleted }: { kind: string; deleted: boolean },
): Promise<GroupSubject> {
  const id = numericId(idOrPath)
  const [row] = await selectGroup(ctx.db, { by: id === null ? 'path' : 'id', viewerKind: viewerKindOf(user) }).execute({
    value: id ?? idOrPath.toLowerCase().replace(/^\/(?=\d+$)/, ''),
    user: user?.id ?? 0,
  })
  if (!row) throw notFound(kind)
  const input = { user, level: row.level, group: row.group, seesProjectIn: row.seesProjectIn }
  if (!seesGroup(input) && !(deleted && row.group.marked_for_deletion_at && restores(input))) throw notFound(kind)
  return { ...input, group: row.group, can: (ability) => canGroup(input, ability) }
}

/** Requires an ability on a group; checked after the parameters are parsed. */
export const onGroup = (ability: GroupAbility): Access<GroupSubject, false> => groupAccess(ability, false) as Access<GroupSubject, false>

export const onGroupSignedIn = (ability: GroupAbility): Access<GroupSubject, true> => groupAccess(ability, true) as Access<GroupSubject, true>

/** Like `onGroup` and `onGroupSignedIn`, but also on a group that waits for its removal, which few things are. */
export const onGroupOrDeleted = (ability: GroupAbility): Access<GroupSubject, false> =>
  groupAccess(ability, false, getGroupOrDeletedFor) as Access<GroupSubject, false>

export const onGroupOrDeletedSignedIn = (ability: GroupAbility): Access<GroupSubject, true> =>
  groupAccess(ability, true, getGroupOrDeletedFor) as Access<GroupSubject, true>

function groupAccess(ability: GroupAbility, signed: boolean, get: typeof getGroupOrDeletedFor = getGroupFor): Access<GroupSubject, boolean> {
  return {
    rule: `${signed ? 'signed in, ' : ''}group: ${ability}${get === getGroupOrDeletedFor ? ', also deleted' : ''}`,
    signedIn: signed,
    early: false,
    path: projectPath,
    async find(ctx, caller, params) {
      const subject = await get(ctx, caller, params['id'] as string)
      if (!subject.can(ability)) throw forbidden()
      return subject
    },
  }
}

/** The subject of an endpoint for administrators: only its id. */
export interface AdminSubject {
  id: number
}

/** Requires an administrator: 403 for other callers even if the subject does not exist, then 404. */
const adminOn = (kind: string, find: (ctx: Context, caller: SignedIn, idOrPath: string) => Promise<number>): Access<AdminSubject, true> => ({
  rule: `administrator, ${kind}`,
  signedIn: true,
  early: false,
  path: projectPath,
  async find(ctx, caller, params) {
    await onlyAdmins(ctx, caller)
    return { id: await find(ctx, caller, params['id'] as string) }
  },
})

export const adminOnUser = adminOn('any user', async (ctx, _, idOrPath) => {
  const [user] = await ctx.db.read
    .select({ id: users.id })
    .from(users)
    .where(eq(users.id, numericId(idOrPath) ?? 0))
  if (!user) throw notFound('User')
  return user.id
})
export const adminOnGroup = adminOn('any group', async (ctx, caller, idOrPath) => (await getGroupFor(ctx, caller, idOrPath)).group.id)
export const adminOnProject = adminOn('any project', async (ctx, caller, idOrPath) => (await getProjectFor(ctx, caller, idOrPath)).project.id)
