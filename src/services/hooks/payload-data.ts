import { sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { labels, namespaces, projects, type RowImage, users } from '../../db/schema/index.js'
import { type AvatarSources, avatarUrl } from '../../rules/avatar-url.js'
import type { HookChange } from '../outbox/changes.js'

const TABLES = { users, projects, namespaces, labels }
type Table = keyof typeof TABLES

/** Loads rows for payloads: the current ones or, for deleted rows, their last state. */
export interface PayloadData {
  ctx: Context
  avatars: AvatarSources
  row(table: Table, id: unknown): Promise<RowImage | null>
  /** The rows with these ids that there are, in one query. */
  rows(table: Table, ids: readonly number[]): Promise<RowImage[]>
  project(id: unknown): Promise<ProjectData | null>
}

export interface ProjectData {
  id: number
  fullPath: string
  row: RowImage
  namespace: RowImage
}

/** Creates the loader for the changes of one transaction. */
export async function loadPayloadData(ctx: Context, changes: readonly HookChange[]): Promise<PayloadData> {
  const cache = new Map<string, Promise<RowImage | null>>()
  const deletedRow = (table: Table, id: number) =>
    changes.find((change) => change.source === table && change.operation === 'DELETE' && change.before?.['id'] === id)?.before ?? null
  const find = async (table: Table, id: number) => (await currentRow(ctx, table, id)) ?? deletedRow(table, id)
  const row = (table: Table, id: unknown) => {
    if (typeof id !== 'number' || id === 0) return Promise.resolve(null)
    const key = `${table} ${id}`
    const found = cache.get(key) ?? find(table, id)
    cache.set(key, found)
    return found
  }
  return {
    ctx,
    avatars: { base: ctx.links.base, service: await ctx.caches.settings.avatarService() },
    row,
    async rows(table, ids) {
      const found = new Map((await currentRows(ctx, table, ids)).map((image) => [image['id'], image]))
      return ids.flatMap((id): RowImage[] => [found.get(id) ?? deletedRow(table, id)].filter((image) => image !== null))
    },
    async project(id) {
      const project = await row('projects', id)
      const namespace = project && (await row('namespaces', project['namespace_id']))
      if (!project || !namespace) return null
      return { id: Number(project['id']), fullPath: `${namespace['full_path']}/${project['path']}`, row: project, namespace }
    },
  }
}

async function currentRow(ctx: Context, table: Table, id: number): Promise<RowImage | null> {
  const { rows } = await ctx.db.write.execute<{ image: RowImage }>(
    sql`select to_jsonb(t) - 'password_hash' as image from ${TABLES[table]} t where t.id = ${id}`,
  )
  return rows[0]?.image ?? null
}

async function currentRows(ctx: Context, table: Table, ids: readonly number[]): Promise<RowImage[]> {
  if (ids.length === 0) return []
  const { rows } = await ctx.db.write.execute<{ image: RowImage }>(
    sql`select to_jsonb(t) - 'password_hash' as image from ${TABLES[table]} t where t.id = any(${sql.param(ids)}::bigint[])`,
  )
  return rows.map(({ image }) => image)
}

/** Formats a time for payloads: `YYYY-MM-DD HH:MM:SS UTC`. */
export const stamp = (value: unknown): string | null =>
  typeof value === 'string' ? `${new Date(value).toISOString().slice(0, 19).replace('T', ' ')} UTC` : null

/** The common object *user* (25.2). */
export const userObject = ({ avatars }: PayloadData, user: RowImage) => ({
  id: user['id'],
  name: user['name'],
  username: user['username'],
  avatar_url: avatarUrl({ id: Number(user['id']), avatar: user['avatar'] as string | null }, avatars),
  email: user['email'],
})

/** The object *user* by id; null if there is no such user any more. */
export async function userById(data: PayloadData, id: unknown) {
  const user = await data.row('users', id)
  return user && userObject(data, user)
}

/** The objects *user* of these ids in their order; who is gone is left out. */
export async function usersById(data: PayloadData, ids: readonly number[]) {
  const rows = await data.rows('users', ids)
  return rows.map((user) => userObject(data, user))
}

/** The common object *project* (25.2). */
export function projectObject({ ctx: { links } }: PayloadData, { id, row, namespace, fullPath }: ProjectData) {
  const [page, ssh, http] = [links.project(fullPath), links.ssh(fullPath), links.http(fullPath)]
  return {
    id,
    name: row['name'],
    description: row['description'],
    web_url: page,
    avatar_url: row['avatar'] ? `${links.base}/uploads/-/system/project/avatar/${id}/${row['avatar']}` : null,
    git_ssh_url: ssh,
    git_http_url: http,
    namespace: namespace['name'],
    visibility_level: row['visibility'],
    path_with_namespace: fullPath,
    default_branch: row['empty_repo'] ? null : row['default_branch'],
    ci_config_path: row['ci_config_path'],
    homepage: page,
    url: ssh,
    ssh_url: ssh,
    http_url: http,
  }
}

/** The common object *repository*, for older receivers (25.2). */
export const repositoryObject = ({ ctx: { links } }: PayloadData, { row, fullPath }: ProjectData) => ({
  name: row['name'],
  url: links.ssh(fullPath),
  description: row['description'],
  homepage: links.project(fullPath),
})

/** The common object *label* (25.2). */
export const labelObject = (label: RowImage) => ({
  id: label['id'],
  title: label['title'],
  color: label['color'],
  project_id: label['project_id'],
  created_at: stamp(label['created_at']),
  updated_at: stamp(label['updated_at']),
  template: false,
  description: label['description'],
  type: label['project_id'] === null ? 'GroupLabel' : 'ProjectLabel',
  group_id: label['namespace_id'],
})
