import { eq, type SQL, sql } from 'drizzle-orm'
import { alias, type PgColumn, type SelectedFields } from 'drizzle-orm/pg-core'
import type { ActorUser } from '../../access/actor.js'
import { LEVELS } from '../../access/can.js'
import { directLevel, groupLevel, shareCounts, sharedLevel } from '../../access/roles.js'
import type { Project } from '../../access/rules.js'
import { type ViewerKind, viewerKindOf, visibleProject } from '../../access/visible.js'
import type { Context } from '../../context.js'
import type { ReadDatabase } from '../../db/client.js'
import { inIds } from '../../db/conditions.js'
import { decoded } from '../../db/decoded.js'
import { mirrors, namespaces, notificationSettings, projects, registrationTokens, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { notFound } from '../../failures.js'
import type { NotificationLevel } from '../../rules/notifications.js'
import type { NamespaceRecord } from '../identity/namespaces.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'

type Row = typeof projects.$inferSelect

type ShownNamespace = NamespaceRecord & { full_name: string; lfs_enabled: boolean }

/** A project as in the basic view. */
export interface BasicProjectRecord {
  project: BasicRow
  namespace: ShownNamespace
}

/** A project with everything that its views show to one caller. */
export interface ProjectRecord extends BasicProjectRecord {
  project: Row
  /** The owner of a personal project. */
  owner: UserRefRecord | null
  /** Null when it is not shared. */
  shares: { group_id: number; group_name: string; group_full_path: string; group_access_level: number; expires_at: string | null }[] | null
  /** The caller's effective access level, that of a direct membership, and that on the group; 0 for none. */
  level: number
  direct: number
  group: number
  /** The caller's notification levels for the project and for its group; null when not set. */
  notified: NotificationLevel | null
  group_notified: NotificationLevel | null
  /** Number of the caller's open confidential issues; unused for callers who see all of them. */
  own_confidential: number
  /** What it follows; null when that is nothing (PM-20). */
  pull: { user_id: number | null; trigger_builds: boolean; only_protected_branches: boolean; overwrites_diverged: boolean } | null
  /** The source of a fork, if the caller may see it. */
  forked_from: BasicProjectRecord | null
}

type NamespaceColumn = Exclude<keyof ShownNamespace, 'members_count'>
const shownNamespace = <Table extends Record<NamespaceColumn, PgColumn>>(table: Table): Pick<Table, NamespaceColumn> => ({
  id: table.id,
  name: table.name,
  path: table.path,
  kind: table.kind,
  full_path: table.full_path,
  full_name: table.full_name,
  lfs_enabled: table.lfs_enabled,
  parent_id: table.parent_id,
  avatar: table.avatar,
})

const user = sql`${sql.placeholder('user')}::bigint`
const direct = directLevel(projects.id, user)
const group = groupLevel(projects.namespace_id, user)
const shared = sharedLevel(projects.id, user)

/** The caller's notification levels for projects and groups, read once for all rows. */
const notificationLevelIn = (key: SQL) => sql<NotificationLevel | null>`((select jsonb_object_agg(
  coalesce('p' || s.project_id, 'g' || s.namespace_id), s.level) from ${notificationSettings} s
  where s.user_id = ${user} and num_nonnulls(s.project_id, s.namespace_id) = 1) ->> ${key})`
const notified = notificationLevelIn(sql`('p' || ${projects.id})`)
const groupNotified = notificationLevelIn(sql`('g' || ${projects.namespace_id})`)

/**
 * The groups that a project is shared with. Every caller who sees the project may see them (G-67), so none is hidden
 * (SEC-39).
 */
const shares = sql<
  ProjectRecord['shares'] | null
>`(select json_agg(json_build_object('group_id', g.id, 'group_name', g.name, 'group_full_path', g.full_path,
  'group_access_level', s.group_access, 'expires_at', s.expires_at) order by s.id)
  from project_shares s join namespaces g on g.id = s.group_id where s.project_id = ${projects.id} and ${shareCounts})`

const ownConfidential = sql<number>`case when ${projects.open_confidential_issues_count} = 0 then 0 else (select count(*) from issues i
  where i.project_id = ${projects.id} and i.confidential and i.state = 'opened' and (i.author_id = ${user} or ${user} = any(i.assignee_ids))) end`

const pull = sql<ProjectRecord['pull']>`case when ${projects.mirror} then (select jsonb_build_object('user_id', m.user_id,
  'trigger_builds', m.trigger_builds, 'only_protected_branches', m.only_protected_branches, 'overwrites_diverged', m.overwrites_diverged)
  from ${mirrors} m where m.project_id = ${projects.id} and m.direction = 'pull') end`

const source = alias(projects, 'source')
const sourceColumns = {
  id: source.id,
  description: source.description,
  name: source.name,
  path: source.path,
  created_at: source.created_at,
  empty_repo: source.empty_repo,
  default_branch: source.default_branch,
  tag_list: source.tag_list,
  avatar: source.avatar,
  star_count: source.star_count,
  forks_count: source.forks_count,
  last_activity_at: source.last_activity_at,
}
type BasicRow = Pick<Row, keyof typeof sourceColumns>
const sourceNamespace = alias(namespaces, 'source_namespace')

/**
 * Changes whenever the record changes for this viewer. It contains the ids of the transactions that wrote its rows and
 * those of a visible fork source, and the viewer's access levels. Rows as text would work too, but double the cost.
 */
const recordKey = sql<string>`row(${projects.id}, ${projects}.xmin, ${namespaces}.xmin,
  ${users.id}, ${users.name}, ${users.username}, ${users.state}, ${users.avatar}, ${namespaces.owner_id} = ${user},
  ${direct}, ${group}, ${notified}, ${groupNotified}, ${shared}, ${shares}, ${ownConfidential}, ${pull}, source.xmin, source_namespace.xmin)::text`

/** Selects projects with these columns. */
const joined = <Columns extends SelectedFields>(db: Pick<ReadDatabase, 'select'>, viewerKind: ViewerKind, columns: Columns, where: SQL) =>
  db
    .select({ id: projects.id, ...columns })
    .from(projects)
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .leftJoin(users, eq(users.id, namespaces.owner_id))
    .leftJoin(source, sql`${source.id} = ${projects.forked_from_id} and ${visibleProject(viewerKind, user, source)}`)
    .leftJoin(sourceNamespace, eq(sourceNamespace.id, source.namespace_id))
    .where(where)

/** Selects projects with a key that changes whenever their records do. */
export const keyedProjects = <Columns extends SelectedFields>(
  db: Pick<ReadDatabase, 'select'>,
  viewerKind: ViewerKind,
  columns: Columns,
  where: SQL,
) => joined(db, viewerKind, { key: recordKey, ...columns }, where)

/** What a record has beside the rows of the project and its namespace. */
const otherColumns = {
  owner: userRefColumns(users),
  shares,
  own_confidential: decoded(ownConfidential, Number),
  direct: decoded(direct, Number),
  group: decoded(group, Number),
  notified,
  group_notified: groupNotified,
  pull,
  shared: decoded(shared, Number),
  source: sourceColumns,
  sourceNamespace: shownNamespace(sourceNamespace),
}

const selectProjects = statement('project records', (db, { viewerKind, keyed }: { viewerKind: ViewerKind; keyed: boolean }) => {
  // the key is as expensive as all other columns together, so only for lists
  const columns = { ...(keyed && { key: recordKey }), project: projects, namespace: shownNamespace(namespaces), ...otherColumns }
  return joined(db, viewerKind, columns, inIds(projects.id))
})

/** The encrypted token of `registrationTokens`. */
const registrationToken = sql<string | null>`(select t.sealed from ${registrationTokens} t
  where coalesce(t.group_id, 0) = 0 and coalesce(t.project_id, 0) = ${projects.id})`

const selectOther = statement('what a view of a project shows beside its row', (db, shape: { viewerKind: ViewerKind; withToken: boolean }) => {
  const columns = { ...otherColumns, registration_token: shape.withToken ? registrationToken : sql<null>`null` }
  return joined(db, shape.viewerKind, columns, eq(projects.id, sql.placeholder('id')))
})

type JoinedRow = Omit<Awaited<ReturnType<ReturnType<typeof selectOther>['execute']>>[number], 'registration_token'>

function recordOf<R extends JoinedRow>({ shared, source, sourceNamespace, ...row }: R, viewer: ActorUser | null) {
  const owns = row.owner !== null && row.owner.id === viewer?.id
  const level = owns ? LEVELS.owner : Math.max(row.direct, row.group, shared)
  return { ...row, level, forked_from: source && sourceNamespace && { project: source, namespace: sourceNamespace } }
}

/** Projects as this viewer sees them, in any order. Visibility must have been checked. */
export async function loadProjects(ctx: Context, viewer: ActorUser | null, ids: number[]): Promise<(ProjectRecord & { id: number; key: string })[]> {
  const rows = await selectProjects(ctx.db, { viewerKind: viewerKindOf(viewer), keyed: true }).execute({ ids, user: viewer?.id ?? 0 })
  return rows.map((row) => recordOf(row, viewer) as ProjectRecord & { id: number; key: string })
}

/** One project as this viewer sees it. Visibility must have been checked. */
export async function loadProject(ctx: Context, viewer: ActorUser | null, id: number): Promise<ProjectRecord> {
  const [row] = await selectProjects(ctx.db, { viewerKind: viewerKindOf(viewer), keyed: false }).execute({ ids: [id], user: viewer?.id ?? 0 })
  // removed since the request began
  if (!row) throw notFound('Project')
  return recordOf(row, viewer)
}

/**
 * The project that a call has found, as its caller sees it: its rows are not read again. On demand with the encrypted
 * token that registers runners; null if there is none yet.
 */
export async function completeProject(
  ctx: Context,
  viewer: ActorUser | null,
  project: Project,
  withToken: boolean,
): Promise<ProjectRecord & { registration_token: string | null }> {
  const [row] = await selectOther(ctx.db, { viewerKind: viewerKindOf(viewer), withToken }).execute({ id: project.id, user: viewer?.id ?? 0 })
  // removed since the request began
  if (!row) throw notFound('Project')
  return { ...recordOf(row, viewer), project, namespace: project.namespace }
}
