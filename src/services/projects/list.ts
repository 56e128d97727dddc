import { and, asc, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import { ANY_LEVEL, membershipCounts, projectsWithLevel, shareCounts } from '../../access/roles.js'
import { type Eyes, eyesOf, visibleProjects } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { substring } from '../../db/fuzzy.js'
import { namespaces, projects, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { VISIBILITY_LEVEL, type Visibility } from '../../lib/visibility.js'
import { attributePairs, hasCustomAttributes } from '../custom-attributes.js'
import { limits, type Page, type Paging, pageFrom } from '../page.js'
import { recordKey } from './load.js'

export const ORDERS = ['id', 'name', 'path', 'created_at', 'updated_at', 'last_activity_at'] as const

export interface ProjectFilter extends Paging {
  archived?: boolean | undefined
  visibility?: Visibility | undefined
  search?: string | undefined
  order_by: (typeof ORDERS)[number]
  sort: 'asc' | 'desc'
  owned?: boolean | undefined
  membership?: boolean | undefined
  starred?: boolean | undefined
  with_issues_enabled?: boolean | undefined
  with_merge_requests_enabled?: boolean | undefined
  min_access_level?: number | undefined
  id_after?: number | undefined
  id_before?: number | undefined
  last_activity_after?: Date | undefined
  last_activity_before?: Date | undefined
  topic?: string[] | undefined
  custom_attributes?: [string, string][] | undefined
  /** Only projects of this user's personal namespace (PR-2). */
  ownerId?: number | undefined
  /** Only forks of this project (PR-9). */
  forkedFrom?: number | undefined
  /** Only projects directly in this group, or shared with it (GR-3). */
  groupId?: number | undefined
  sharedWith?: number | undefined
}

/** What the text of the list query depends on. */
interface Shape {
  eyes: Eyes
  order: (typeof ORDERS)[number]
  descending: boolean
  filters: string[]
}

const user = sql`${sql.placeholder('user')}::bigint`
const open = (feature: SQL, eyes: Eyes) =>
  eyes === 'admin' ? sql`${feature} >= 10` : sql`(${feature} >= 20 or (${feature} >= 10 and ${projects.id} in ${projectsWithLevel(user, ANY_LEVEL)}))`

/** Each filter's condition; its values are placeholders of the same name. */
const FILTERS: Record<string, (eyes: Eyes) => SQL> = {
  archived: () => eq(projects.archived, sql.placeholder('archived')),
  visibility: () => eq(projects.visibility, sql.placeholder('visibility')),
  search: () =>
    sql`(${projects.name} ilike ${sql.placeholder('search')} or ${projects.path} ilike ${sql.placeholder('search')} or ${projects.description} ilike ${sql.placeholder('search')})`,
  owned: () => sql`${projects.namespace_id} in (select n.id from ${namespaces} n where n.owner_id = ${user}
    union all select m.namespace_id from members m where m.user_id = ${user} and m.namespace_id is not null and m.access_level >= 50 and ${membershipCounts})`,
  membership: () => sql`${projects.id} in ${projectsWithLevel(user, ANY_LEVEL)}`,
  starred: () => sql`${projects.id} in (select s.project_id from project_stars s where s.user_id = ${user})`,
  with_issues_enabled: (eyes) => open(sql`${projects.issues_access_level}`, eyes),
  with_merge_requests_enabled: (eyes) =>
    sql`(${open(sql`${projects.merge_requests_access_level}`, eyes)} and ${open(sql`${projects.repository_access_level}`, eyes)})`,
  min_access_level: () => sql`${projects.id} in ${projectsWithLevel(user, sql`${sql.placeholder('min_access_level')}::integer`)}`,
  id_after: () => sql`${projects.id} > ${sql.placeholder('id_after')}`,
  id_before: () => sql`${projects.id} < ${sql.placeholder('id_before')}`,
  last_activity_after: () => sql`${projects.last_activity_at} >= ${sql.placeholder('last_activity_after')}::timestamptz`,
  last_activity_before: () => sql`${projects.last_activity_at} <= ${sql.placeholder('last_activity_before')}::timestamptz`,
  topic: () => sql`${projects.tag_list} @> ${sql.placeholder('topic')}::text[]`,
  custom_attributes: () => hasCustomAttributes('project', projects.id),
  ownerId: () => sql`${projects.namespace_id} = (select n.id from ${namespaces} n where n.owner_id = ${sql.placeholder('ownerId')})`,
  forkedFrom: () => eq(projects.forked_from_id, sql.placeholder('forkedFrom')),
  groupId: () => eq(projects.namespace_id, sql.placeholder('groupId')),
  sharedWith: () => sql`${projects.id} in (select s.project_id from project_shares s where s.group_id = ${sql.placeholder('sharedWith')}
    and ${shareCounts})`,
}

/** The ids of one page first, over the filters alone; only their rows are then joined with what is shown. */
const listed = statement('projects', (db, { eyes, order, descending, filters }: Shape) => {
  const direction = descending ? desc : asc
  const column = order === 'name' || order === 'path' ? sql`lower(${projects[order]})` : projects[order]
  const page = db
    .select({ id: projects.id, total: sql<number>`count(*) over ()`.as('total') })
    .from(projects)
    .where(and(visibleProjects(eyes, user), ...filters.map((name) => FILTERS[name]?.(eyes))))
    .orderBy(direction(column), direction(projects.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
    .as('page')
  return db
    .select({ id: projects.id, key: recordKey, total: sql<number>`${page.total}`.mapWith(Number) })
    .from(projects)
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .leftJoin(users, eq(users.id, namespaces.owner_id))
    .innerJoin(page, eq(page.id, projects.id))
    .orderBy(direction(column), direction(projects.id))
})

/** A project of a list, not loaded yet: `key` differs whenever what this viewer is shown of it differs; null: not known. */
export interface ListedProject {
  id: number
  key: string | null
}

/** All projects the caller can see and the filters let through (PR-1, PR-2, PR-9); the permission filter is part of the query (SEC-33). */
export async function listProjects(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, filter: ProjectFilter): Promise<Page<ListedProject>> {
  if (!viewer && (filter.owned || filter.membership || filter.min_access_level !== undefined)) return { items: [], total: 0 }
  const switches = {
    owned: filter.owned,
    membership: filter.membership,
    starred: viewer ? filter.starred : undefined,
    with_issues_enabled: filter.with_issues_enabled,
    with_merge_requests_enabled: filter.with_merge_requests_enabled,
  }
  const values = {
    archived: filter.archived,
    visibility: filter.visibility && VISIBILITY_LEVEL[filter.visibility],
    search: filter.search ? substring(filter.search) : undefined,
    min_access_level: filter.min_access_level,
    id_after: filter.id_after,
    id_before: filter.id_before,
    last_activity_after: filter.last_activity_after?.toISOString(),
    last_activity_before: filter.last_activity_before?.toISOString(),
    topic: filter.topic && filter.topic.length > 0 ? filter.topic : undefined,
    custom_attributes: attributePairs(viewer, filter.custom_attributes),
    ownerId: filter.ownerId,
    forkedFrom: filter.forkedFrom,
    groupId: filter.groupId,
    sharedWith: filter.sharedWith,
  }
  const filters = [...Object.entries(switches).filter(([, on]) => on), ...Object.entries(values).filter(([, value]) => value !== undefined)].map(
    ([name]) => name,
  )
  const query = listed(ctx.db, { eyes: eyesOf(viewer), order: filter.order_by, descending: filter.sort === 'desc', filters })
  const run = (at: Paging) => query.execute({ ...values, user: viewer?.id ?? 0, ...limits(at) })
  return pageFrom(await run(filter), filter, () => run({ page: 1, per_page: 1 }))
}
