import { and, asc, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import { ANY_LEVEL, membershipCounts, shareCounts, withLevel } from '../../access/roles.js'
import { restorableProjects, type ViewerKind, viewerKindOf, visibleProject, visibleProjects } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { decoded } from '../../db/decoded.js'
import { type Fuzzy, fuzzy, fuzzyMatch, planFor, substring } from '../../db/fuzzy.js'
import { inIds } from '../../db/in-ids.js'
import { namespaces, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { VISIBILITY_LEVEL, type Visibility } from '../../rules/visibility.js'
import { attributePairs, hasCustomAttributes } from '../core/custom-attributes.js'
import { idList, MAX_CACHED_IDS, type Version, versionOf } from '../core/list-cache.js'
import type { Page, Paging } from '../core/page.js'
import { keyedProjects } from './load.js'

export const ORDERS = ['id', 'name', 'path', 'created_at', 'updated_at', 'last_activity_at'] as const

/**
 * Restricts a list to projects of a group (GR-15): those directly in it, with `subgroups` also those of its subgroups
 * (X-18), with `shared` also those shared with it; or only the latter.
 */
export interface GroupFilter {
  id: number
  only?: 'shared'
  subgroups?: boolean
  shared?: boolean
}

export interface ProjectFilter extends Paging {
  archived?: boolean | undefined
  visibility?: Visibility | undefined
  search?: string | undefined
  pagination?: 'keyset' | 'legacy' | undefined
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
  group?: GroupFilter | undefined
  /** Also those that wait for their removal and that the caller may restore (PR-30). */
  include_pending_delete?: boolean | undefined
  /** A search text whose words are matched separately (GR-17); `search` is matched as a whole (PR-1). */
  words?: string | undefined
}

/** What the SQL text of the list query depends on. */
interface Shape {
  viewerKind: ViewerKind
  order: (typeof ORDERS)[number]
  descending: boolean
  filters: string[]
  words: Fuzzy['shape']
  waiting: boolean
}

const user = sql`${sql.placeholder('user')}::bigint`
const isFeatureOpen = (feature: SQL, viewerKind: ViewerKind) =>
  viewerKind === 'admin' ? sql`${feature} >= 10` : sql`(${feature} >= 20 or (${feature} >= 10 and ${withLevel(projects, user, ANY_LEVEL)}))`

/** The condition of each filter; its values are placeholders of the same name. */
const FILTERS: Record<string, (viewerKind: ViewerKind) => SQL> = {
  archived: () => eq(projects.archived, sql.placeholder('archived')),
  visibility: () => eq(projects.visibility, sql.placeholder('visibility')),
  search: () =>
    sql`(${projects.name} ilike ${sql.placeholder('search')} or ${projects.path} ilike ${sql.placeholder('search')} or ${projects.description} ilike ${sql.placeholder('search')})`,
  owned: () => sql`${projects.namespace_id} in (select n.id from ${namespaces} n where n.owner_id = ${user}
    union all select m.namespace_id from members m where m.user_id = ${user} and m.namespace_id is not null and m.access_level >= 50 and ${membershipCounts})`,
  membership: () => withLevel(projects, user, ANY_LEVEL),
  starred: () => sql`${projects.id} in (select s.project_id from project_stars s where s.user_id = ${user})`,
  with_issues_enabled: (viewerKind) => isFeatureOpen(sql`${projects.issues_access_level}`, viewerKind),
  with_merge_requests_enabled: (viewerKind) =>
    sql`(${isFeatureOpen(sql`${projects.merge_requests_access_level}`, viewerKind)} and ${isFeatureOpen(sql`${projects.repository_access_level}`, viewerKind)})`,
  min_access_level: () => withLevel(projects, user, sql`${sql.placeholder('min_access_level')}::integer`),
  id_after: () => sql`${projects.id} > ${sql.placeholder('id_after')}`,
  id_before: () => sql`${projects.id} < ${sql.placeholder('id_before')}`,
  last_activity_after: () => sql`${projects.last_activity_at} >= ${sql.placeholder('last_activity_after')}::timestamptz`,
  last_activity_before: () => sql`${projects.last_activity_at} <= ${sql.placeholder('last_activity_before')}::timestamptz`,
  topic: () => sql`${projects.tag_list} @> ${sql.placeholder('topic')}::text[]`,
  custom_attributes: () => hasCustomAttributes('project', projects.id),
  ownerId: () => sql`${projects.namespace_id} = (select n.id from ${namespaces} n where n.owner_id = ${sql.placeholder('ownerId')})`,
  forkedFrom: () => eq(projects.forked_from_id, sql.placeholder('forkedFrom')),
  direct: () => inGroup,
  tree: () => inTree,
  shared: () => sharedWith,
  'direct or shared': () => sql`(${inGroup} or ${sharedWith})`,
  'tree or shared': () => sql`(${inTree} or ${sharedWith})`,
}

const group = sql.placeholder('group')
const inGroup = eq(projects.namespace_id, group)
const inTree = sql`${projects.namespace_id} in (select a.descendant_id from namespace_ancestry a where a.ancestor_id = ${group})`
const sharedWith = sql`${projects.id} in (select s.project_id from project_shares s where s.group_id = ${group} and ${shareCounts})`

const conditions = ({ viewerKind, filters, words, waiting }: Omit<Shape, 'order' | 'descending'>) =>
  and(
    orRestorable(viewerKind, waiting, visibleProjects(viewerKind, user)),
    ...filters.map((name) => FILTERS[name]?.(viewerKind)),
    fuzzyMatch([projects.path, projects.name, projects.description], words),
  )

const orRestorable = (viewerKind: ViewerKind, waiting: boolean, visible: SQL) =>
  waiting ? sql`(${visible} or ${restorableProjects(viewerKind, user)})` : visible

const planOf = ({ filters, words }: Pick<Shape, 'filters' | 'words'>) => (filters.includes('search') ? 'each' : planFor(words))

const ids = statement(
  'ids of projects',
  (db, { order, descending, ...shape }: Shape) => {
    const direction = descending ? desc : asc
    const column = order === 'name' || order === 'path' ? sql`lower(${projects[order]})` : projects[order]
    const found = db
      .select({ id: projects.id })
      .from(projects)
      .where(conditions(shape))
      .orderBy(...(order === 'id' ? [direction(projects.id)] : [direction(column), direction(projects.id)]))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
    return db.select({ ids: idList(found.getSQL()), version: versionOf('projects') }).from(sql`(select 1) as one`)
  },
  planOf,
)

const countQuery = statement(
  'number of projects',
  (db, shape: Omit<Shape, 'order' | 'descending'>) =>
    db
      .select({ total: decoded(sql<number>`count(*)`, Number), version: versionOf('projects') })
      .from(projects)
      .where(conditions(shape)),
  planOf,
)

/** Visibility is checked again for these rows, because the ids may come from the cache. */
const rows = statement('listed projects', (db, { viewerKind, waiting }: Pick<Shape, 'viewerKind' | 'waiting'>) => {
  const shown = orRestorable(viewerKind, waiting, visibleProject(viewerKind, user))
  return keyedProjects(db, viewerKind, { version: versionOf('projects') }, sql`${inIds(projects.id)} and ${shown}`)
})

/** A project of a list page, not loaded yet; `key` changes whenever its representation for this viewer does. */
export interface ListedProject {
  id: number
  key: string
  version: Version
}

/** Filters on data that does not raise the list's version: stars, activity, custom attributes, the source of forks. */
const UNVERSIONED_FILTERS = new Set(['starred', 'last_activity_after', 'last_activity_before', 'custom_attributes', 'forkedFrom'])

/**
 * The projects that the caller may see and that match the filters (PR-1, PR-2, PR-9, GR-15); the query itself filters
 * by visibility (SEC-33).
 */
export async function listProjects(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, filter: ProjectFilter): Promise<Page<ListedProject>> {
  if (!viewer && (filter.owned || filter.membership || filter.min_access_level !== undefined)) return { items: [], total: 0 }
  const { words: text, order_by: order } = filter
  // after or before a row, there is only a first page (G-91)
  const paging = filter.pagination === 'keyset' && order === 'id' ? { page: 1, per_page: filter.per_page } : filter
  const words = fuzzy(text)
  const switches = {
    owned: filter.owned,
    membership: filter.membership,
    starred: viewer ? filter.starred : undefined,
    with_issues_enabled: filter.with_issues_enabled,
    with_merge_requests_enabled: filter.with_merge_requests_enabled,
    ...(filter.group && { [groupScope(filter.group)]: true }),
  }
  const given = {
    archived: filter.archived,
    visibility: filter.visibility && VISIBILITY_LEVEL[filter.visibility],
    search: filter.search ? substring(filter.search) : undefined,
    min_access_level: filter.min_access_level,
    id_after: filter.id_after,
    id_before: filter.id_before,
    last_activity_after: filter.last_activity_after?.toISOString(),
    last_activity_before: filter.last_activity_before?.toISOString(),
    topic: filter.topic && filter.topic.length > 0 ? filter.topic : undefined,
    custom_attributes: attributePairs(filter.custom_attributes),
    ownerId: filter.ownerId,
    forkedFrom: filter.forkedFrom,
  }
  const filters = [...Object.entries(switches).filter(([, on]) => on), ...Object.entries(given).filter(([, value]) => value !== undefined)].map(
    ([name]) => name,
  )
  const viewerKind = viewerKindOf(viewer)
  const shape: Omit<Shape, 'order' | 'descending'> = { viewerKind, filters, words: words.shape, waiting: filter.include_pending_delete ?? false }
  const descending = filter.sort === 'desc'
  const values = { ...given, ...words.values, group: filter.group?.id, user: viewer?.id ?? 0 }
  const versioned = order !== 'updated_at' && order !== 'last_activity_at' && !filters.some((name) => UNVERSIONED_FILTERS.has(name))
  // the total does not depend on the order
  const totalKey = filters.some((name) => UNVERSIONED_FILTERS.has(name)) ? null : JSON.stringify([shape, values])
  return ctx.caches.lists.pageByIds(ctx.db, 'projects', versioned ? JSON.stringify([shape, order, descending, values]) : null, paging, {
    totalKey,
    ids: (at) => ids(ctx.db, { ...shape, order, descending }).execute({ ...values, ...at }),
    count: () => countQuery(ctx.db, shape).execute(values),
    rows: (wanted) => rows(ctx.db, shape).execute({ ids: wanted, user: values.user }),
  })
}

function groupScope({ only, subgroups, shared }: NonNullable<ProjectFilter['group']>) {
  if (only) return only
  const scope = subgroups ? 'tree' : 'direct'
  return shared ? `${scope} or shared` : scope
}

/**
 * All projects directly in a group, or shared with it, that the caller may see, newest first, including archived ones;
 * the contract sets no limit (GR-3).
 */
export async function projectsOfGroup(ctx: Context, caller: Pick<Caller, 'user'>, id: number, kind: 'own' | 'shared'): Promise<ListedProject[]> {
  const group = { id, ...(kind === 'shared' && { only: kind }) }
  const found: ListedProject[] = []
  for (let page = 1; ; page++) {
    const { items, total } = await listProjects(ctx, caller, { group, order_by: 'id', sort: 'desc', page, per_page: MAX_CACHED_IDS })
    found.push(...items)
    if (page * MAX_CACHED_IDS >= total) return found
  }
}
