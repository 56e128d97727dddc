import { eq, type SQL, sql } from 'drizzle-orm'
import type { ActorUser } from '../../access/actor.js'
import { LEVELS } from '../../access/can.js'
import { directLevel, groupLevel, shareCounts, sharedLevel } from '../../access/roles.js'
import { eyesOf, visibleProjects } from '../../access/visible.js'
import type { Context } from '../../context.js'
import type { ReadDatabase } from '../../db/client.js'
import { namespaces, projects, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { NamespaceRecord } from '../../entities/namespace.js'
import type { UserRefRecord } from '../../entities/user.js'

type Row = typeof projects.$inferSelect

type ShownNamespace = NamespaceRecord & { full_name: string }

/** What the basic view shows. */
export interface BasicProjectRecord {
  project: Row
  namespace: ShownNamespace
}

/** A project with all that its views show, seen by one caller. */
export interface ProjectRecord extends BasicProjectRecord {
  /** The owner of a personal project. */
  owner: UserRefRecord | null
  /** Null: shared with nobody. */
  shares: { group_id: number; group_name: string; group_full_path: string; group_access_level: number; expires_at: string | null }[] | null
  /** The caller's level in all, by direct membership, and on the group; 0 without one. */
  level: number
  direct: number
  group: number
  /** The source of a fork, if the caller can see it. */
  forked_from: BasicProjectRecord | null
}

export const namespaceColumns = {
  id: namespaces.id,
  name: namespaces.name,
  path: namespaces.path,
  kind: namespaces.kind,
  full_path: namespaces.full_path,
  full_name: namespaces.full_name,
  parent_id: namespaces.parent_id,
  avatar: namespaces.avatar,
}

const shares = sql<
  ProjectRecord['shares'] | null
>`(select json_agg(json_build_object('group_id', g.id, 'group_name', g.name, 'group_full_path', g.full_path,
  'group_access_level', s.group_access, 'expires_at', s.expires_at) order by s.id)
  from project_shares s join namespaces g on g.id = s.group_id where s.project_id = ${projects.id} and ${shareCounts})`

/** The one select that yields ProjectRecords but for `forked_from`; `page` narrows it and adds columns, `user` is a placeholder. */
export function selectRecords<Extra extends Record<string, SQL.Aliased | SQL<unknown>>>(db: ReadDatabase, extra: Extra) {
  const user = sql`${sql.placeholder('user')}::bigint`
  return db
    .select({
      project: projects,
      namespace: namespaceColumns,
      owner: { id: users.id, name: users.name, username: users.username, state: users.state, avatar: users.avatar, email: users.email },
      shares,
      direct: directLevel(projects.id, user).mapWith(Number),
      group: groupLevel(projects.namespace_id, user).mapWith(Number),
      shared: sharedLevel(projects.id, user).mapWith(Number),
      ...extra,
    })
    .from(projects)
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .leftJoin(users, eq(users.id, namespaces.owner_id))
}

const sources = statement('sources of forks', (db, eyes: ReturnType<typeof eyesOf>) =>
  db
    .select({ project: projects, namespace: namespaceColumns })
    .from(projects)
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(sql`${projects.id} = any(${sql.placeholder('ids')}) and ${visibleProjects(eyes, sql`${sql.placeholder('user')}::bigint`)}`),
)

type SelectedRow = Omit<ProjectRecord, 'forked_from' | 'level'> & { shared: number }

/** Rows → records; asks once for the sources of all forks among them. */
export async function completeRecords(ctx: Context, user: ActorUser | null, rows: SelectedRow[]): Promise<ProjectRecord[]> {
  const ids = [...new Set(rows.map((row) => row.project.forked_from_id).filter((id) => id !== null))]
  const found = ids.length > 0 ? await sources(ctx.db, eyesOf(user)).execute({ ids, user: user?.id ?? 0 }) : []
  const byId = new Map(found.map((row) => [row.project.id, row]))
  return rows.map(({ project, namespace, owner, shares, direct, group, shared }) => {
    const owns = owner !== null && owner.id === user?.id
    const level = owns ? LEVELS.owner : Math.max(direct, group, shared)
    const forked_from = project.forked_from_id === null ? null : (byId.get(project.forked_from_id) ?? null)
    return { project, namespace, owner, shares, level, direct, group, forked_from }
  })
}

const single = statement('project record', (db) => selectRecords(db, {}).where(eq(projects.id, sql.placeholder('id'))))

/** One project as this caller sees it. The caller must already be known to see it. */
export async function loadProject(ctx: Context, user: ActorUser | null, id: number): Promise<ProjectRecord> {
  const rows = await single(ctx.db, null).execute({ id, user: user?.id ?? 0 })
  const [record] = await completeRecords(ctx, user, rows)
  if (!record) throw new Error(`project ${id} vanished while it was loaded`)
  return record
}
