import { and, asc, desc, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import { ANY_LEVEL, levelNamespaces, levelProjects, membershipCounts, shareCounts, withLevel } from '../../access/roles.js'
import { readableCode, restorableProjects, type ViewerKind, viewerKindOf, visibleProject, visibleProjects } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { inIds } from '../../db/conditions.js'
import { count } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, type FilterValue, usedFilters } from '../../db/filters.js'
import { type Fuzzy, fuzzy, fuzzyMatch, planFor, substring } from '../../db/fuzzy.js'
import { namespaces, projectLanguages, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { invalidInput } from '../../failures.js'
import type { Keyset } from '../../lib/keyset.js'
import { VISIBILITY_LEVEL, type Visibility } from '../../rules/visibility.js'
import { attributePairs, hasCustomAttributes } from '../core/custom-attributes.js'
import { idList, MAX_CACHED_IDS, type Version, versionOf } from '../core/list-cache.js'
import { type Page, type Paging, rowFilters } from '../core/page.js'
import { keyedProjects } from './load.js'

/** Orders by size are for administrators (PR-51). */
const SIZE_ORDERS = ['storage_size', 'repository_size'] as const
const isSizeOrder = (order: string) => SIZE_ORDERS.some((each) => each === order)
export const ORDERS = ['id', 'name', 'path', 'created_at', 'updated_at', 'last_activity_at', 'star_count', ...SIZE_ORDERS] as const

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

export interface ProjectFilter extends Paging, Keyset {
  archived?: boolean | undefined
  visibility?: Visibility | undefined
  search?: string | undefined
  /** Whether `search` and `words` are also looked for in the names and paths of the groups above a project. */
  search_namespaces?: boolean | undefined
  /** Whether the total is only whether there is more, for lists that are too long to be counted. */
  uncounted?: boolean | undefined
  with_programming_language?: string | undefined
  order_by: (typeof ORDERS)[number]
  sort: 'asc' | 'desc'
  owned?: boolean | undefined
  membership?: boolean | undefined
  starred?: boolean | undefined
  with_issues_enabled?: boolean | undefined
  with_merge_requests_enabled?: boolean | undefined
  min_access_level?: number | undefined
  last_activity_after?: Date | undefined
  last_activity_before?: Date | undefined
  topic?: string[] | undefined
  custom_attributes?: [string, string][] | undefined
  /** Only projects of this user's personal namespace (PR-2). */
  ownerId?: number | undefined
  /** Only projects that this user has starred, or has contributed to within a year (PT-30). */
  starredBy?: number | undefined
  contributedBy?: number | undefined
  /** Only forks of this project (PR-9). */
  forkedFrom?: number | undefined
  /** Only projects of the fork network of this one whose code the caller may read. */
  network?: number | undefined
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
  filters: FilterName[]
  /** Which projects the filter `group` selects. */
  scope: GroupScope
  words: Fuzzy['shape']
  /** Whether searches also look at the groups above a project. */
  namespaces: Above
  waiting: boolean
}

const user = sql`${sql.placeholder('user')}::bigint`
const isFeatureOpen = (feature: SQL, viewerKind: ViewerKind) =>
  viewerKind === 'admin' ? sql`${feature} >= 10` : sql`(${feature} >= 20 or (${feature} >= 10 and ${withLevel(projects, user, ANY_LEVEL)}))`

/** Arrays, because Postgres then reads what is in them, and does not look through all projects in the order of the list. */
const amongIds = (found: SQL) => sql`${projects.id} = any(array(${found}))`
const amongNamespaces = (found: SQL) => sql`${projects.namespace_id} = any(array(${found}))`
const amongLevel = (atLeast: SQLWrapper) => sql`(${amongNamespaces(levelNamespaces(user, atLeast))} or ${amongIds(levelProjects(user, atLeast))})`

const treeOf = (group: FilterValue) => sql`select a.descendant_id from namespace_ancestry a where a.ancestor_id = ${group}`
const sharedWith = (group: FilterValue) => sql`select s.project_id from project_shares s where s.group_id = ${group} and ${shareCounts}`
const orShared = (namespace: SQLWrapper, group: FilterValue) =>
  amongIds(sql`select o.id from projects o where o.namespace_id = any(array(${namespace})) union all ${sharedWith(group)}`)

const GROUP_SCOPES = {
  direct: (group: FilterValue) => eq(projects.namespace_id, group),
  tree: (group: FilterValue) => amongNamespaces(treeOf(group)),
  shared: (group: FilterValue) => amongIds(sharedWith(group)),
  'direct or shared': (group: FilterValue) => orShared(sql`select ${group}::bigint`, group),
  'tree or shared': (group: FilterValue) => orShared(treeOf(group), group),
}
type GroupScope = keyof typeof GROUP_SCOPES

type FilterName = FilterNames<ProjectFilter, 'words' | 'search_namespaces' | 'uncounted' | 'include_pending_delete'>

/**
 * How searches read the groups above a project: joined with the path and the name of the project, as they are shown; or
 * apart, which finds the same for a text that cannot lie in both, and uses indexes.
 */
type Above = 'none' | 'apart' | 'joined'

const aboveOf = ({ search_namespaces, search, words }: ProjectFilter): Above =>
  !search_namespaces || (!search && !words) ? 'none' : words || /\/|^\s|\s$/.test(search ?? '') ? 'joined' : 'apart'

const OWN_TEXTS = [sql`${projects.path}`, sql`${projects.name}`, sql`${projects.description}`]

/** The texts that searches read. The path and the name of the groups above a project include its own. */
function searched(above: Above): SQL[] {
  const ofNamespace = (column: SQL) => sql`(select ${column} from ${namespaces} n where n.id = ${projects.namespace_id})`
  if (above !== 'joined') return OWN_TEXTS
  return [...OWN_TEXTS, ofNamespace(sql`n.full_path || '/' || ${projects.path}`), ofNamespace(sql`n.full_name || ' / ' || ${projects.name}`)]
}

function contains(pattern: SQLWrapper, above: Above): SQL {
  const found = searched(above).map((field) => sql`${field} ilike ${pattern}`)
  const inGroups = sql`${projects.namespace_id} = any(array(select n.id from ${namespaces} n where n.full_path ilike ${pattern} or n.full_name ilike ${pattern}))`
  return sql`(${sql.join(above === 'apart' ? [...found, inGroups] : found, sql` or `)})`
}

/** Filters on data that does not raise the list's version are not cacheable. */
const FILTERS = {
  archived: { where: (archived) => eq(projects.archived, archived), value: ({ archived }) => archived },
  visibility: {
    where: (level) => eq(projects.visibility, level),
    value: ({ visibility }) => visibility && VISIBILITY_LEVEL[visibility],
  },
  search: {
    where: (pattern, { namespaces: above }) => contains(pattern, above),
    value: ({ search }) => (search ? substring(search) : undefined),
  },
  with_programming_language: {
    where: (name, { viewerKind }) =>
      sql`(${projects.id} in (select l.project_id from ${projectLanguages} l where l.names @> array[lower(${name})]) and ${readableCode(viewerKind, user)})`,
    value: ({ with_programming_language }) => with_programming_language || undefined,
    cacheable: false,
  },
  owned: {
    where: () =>
      amongNamespaces(sql`select n.id from ${namespaces} n where n.owner_id = ${user}
        union all select m.namespace_id from members m where m.user_id = ${user} and m.namespace_id is not null and m.access_level >= 50 and ${membershipCounts}`),
    value: ({ owned }) => owned || undefined,
  },
  membership: { where: () => amongLevel(ANY_LEVEL), value: ({ membership }) => membership || undefined },
  starred: {
    where: () => amongIds(sql`select s.project_id from project_stars s where s.user_id = ${user}`),
    value: ({ starred }) => starred || undefined,
    cacheable: false,
  },
  starredBy: {
    where: (id) => amongIds(sql`select s.project_id from project_stars s where s.user_id = ${id}`),
    value: ({ starredBy }) => starredBy,
    cacheable: false,
  },
  contributedBy: {
    where: (id) => amongIds(sql`select e.project_id from events e where e.author_id = ${id} and e.created_at > now() - interval '1 year'`),
    value: ({ contributedBy }) => contributedBy,
    cacheable: false,
  },
  with_issues_enabled: {
    where: (_, { viewerKind }) => isFeatureOpen(sql`${projects.issues_access_level}`, viewerKind),
    value: ({ with_issues_enabled }) => with_issues_enabled || undefined,
  },
  with_merge_requests_enabled: {
    where: (_, { viewerKind }) =>
      sql`(${isFeatureOpen(sql`${projects.merge_requests_access_level}`, viewerKind)} and ${isFeatureOpen(sql`${projects.repository_access_level}`, viewerKind)})`,
    value: ({ with_merge_requests_enabled }) => with_merge_requests_enabled || undefined,
  },
  min_access_level: {
    where: (level) => amongLevel(sql`${level}::integer`),
    value: ({ min_access_level }) => min_access_level,
  },
  ...rowFilters(sql`${projects.id}`),
  last_activity_after: {
    where: (time) => sql`${projects.last_activity_at} >= ${time}::timestamptz`,
    value: ({ last_activity_after }) => last_activity_after?.toISOString(),
    cacheable: false,
  },
  last_activity_before: {
    where: (time) => sql`${projects.last_activity_at} <= ${time}::timestamptz`,
    value: ({ last_activity_before }) => last_activity_before?.toISOString(),
    cacheable: false,
  },
  topic: {
    where: (topics) => amongIds(sql`select o.id from projects o where o.tag_list @> ${topics}::text[]`),
    value: ({ topic }) => (topic && topic.length > 0 ? topic : undefined),
  },
  custom_attributes: {
    where: () => hasCustomAttributes('project', projects.id),
    value: ({ custom_attributes }) => attributePairs(custom_attributes),
    cacheable: false,
  },
  ownerId: {
    where: (id) => sql`${projects.namespace_id} = (select n.id from ${namespaces} n where n.owner_id = ${id})`,
    value: ({ ownerId }) => ownerId,
  },
  forkedFrom: { where: (id) => eq(projects.forked_from_id, id), value: ({ forkedFrom }) => forkedFrom, cacheable: false },
  network: {
    where: (id, { viewerKind }) => sql`(${projects.id} in (with recursive
      up (id, parent) as (select p.id, p.forked_from_id from projects p where p.id = ${id}
        union select p.id, p.forked_from_id from projects p join up on p.id = up.parent),
      network (id) as (select up.id from up union select p.id from projects p join network on p.forked_from_id = network.id)
      select network.id from network) and ${readableCode(viewerKind, user)})`,
    value: ({ network }) => network,
    cacheable: false,
  },
  group: { where: (id, { scope }) => GROUP_SCOPES[scope](id), value: ({ group }) => group?.id },
} satisfies Filters<ProjectFilter, FilterName, Pick<Shape, 'viewerKind' | 'scope' | 'namespaces'>>

const conditions = ({ viewerKind, filters, scope, words, namespaces: above, waiting }: Omit<Shape, 'order' | 'descending'>) =>
  and(
    orRestorable(viewerKind, waiting, visibleProjects(viewerKind, user)),
    ...conditionsOf(FILTERS, filters, { viewerKind, scope, namespaces: above }),
    fuzzyMatch(searched(above), words),
  )

const orRestorable = (viewerKind: ViewerKind, waiting: boolean, visible: SQL) =>
  waiting ? sql`(${visible} or ${restorableProjects(viewerKind, user)})` : visible

const planOf = ({ filters, words }: Pick<Shape, 'filters' | 'words'>) => (filters.includes('search') ? 'each' : planFor(words))

/** As shown with `statistics`. */
const STORAGE_SIZE = sql`(${projects.repository_size} + ${projects.lfs_objects_size} + ${projects.job_artifacts_size} + ${projects.packages_size})`
/** Orders by columns that change without a new version of the list. */
const UNVERSIONED: readonly string[] = ['updated_at', 'last_activity_at', 'star_count', ...SIZE_ORDERS]

const selectIds = statement(
  'ids of projects',
  (db, { order, descending, ...shape }: Shape) => {
    const direction = descending ? desc : asc
    const column = order === 'name' || order === 'path' ? sql`lower(${projects[order]})` : order === 'storage_size' ? STORAGE_SIZE : projects[order]
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

const selectTotal = statement(
  'number of projects',
  (db, shape: Omit<Shape, 'order' | 'descending'>) =>
    db
      .select({ total: count(), version: versionOf('projects') })
      .from(projects)
      .where(conditions(shape)),
  planOf,
)

/** Visibility is checked again for these rows, because the ids may come from the cache. */
const selectProjects = statement('listed projects', (db, { viewerKind, waiting }: Pick<Shape, 'viewerKind' | 'waiting'>) => {
  const shown = orRestorable(viewerKind, waiting, visibleProject(viewerKind, user))
  return keyedProjects(db, viewerKind, { version: versionOf('projects') }, sql`${inIds(projects.id)} and ${shown}`)
})

/** A project of a list page, not loaded yet; `key` changes whenever its representation for this viewer does. */
export interface ListedProject {
  id: number
  key: string
  version: Version
}

/**
 * The projects that the caller may see and that match the filters (PR-1, PR-2, PR-9, GR-15); the query itself filters
 * by visibility (SEC-33).
 */
export async function listProjects(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, filter: ProjectFilter): Promise<Page<ListedProject>> {
  if (!viewer && (filter.owned || filter.membership || filter.min_access_level !== undefined)) return { items: [], total: 0 }
  const { words: text, order_by: order } = filter
  if (!viewer?.admin && isSizeOrder(order)) throw invalidInput('order_by does not have a valid value')
  const words = fuzzy(text, 'part')
  const used = usedFilters(FILTERS, viewer ? filter : { ...filter, starred: undefined })
  const shape: Omit<Shape, 'order' | 'descending'> = {
    viewerKind: viewerKindOf(viewer),
    filters: used.names,
    scope: groupScope(filter.group),
    words: words.shape,
    namespaces: aboveOf(filter),
    waiting: filter.include_pending_delete ?? false,
  }
  const descending = filter.sort === 'desc'
  const values = { ...used.values, ...words.values, user: viewer?.id ?? 0 }
  // the version does not cover names and paths of groups
  const cacheable = used.cacheable && shape.namespaces === 'none'
  const versioned = !UNVERSIONED.includes(order) && cacheable
  // the total does not depend on the order
  const totalKey = cacheable ? JSON.stringify([shape, values]) : null
  return ctx.caches.lists.pageByIds(ctx.db, 'projects', versioned ? JSON.stringify([shape, order, descending, values]) : null, filter, {
    totalKey,
    ids: (at) => selectIds(ctx.db, { ...shape, order, descending }).execute({ ...values, ...at }),
    count: filter.uncounted ? null : () => selectTotal(ctx.db, shape).execute(values),
    rows: (wanted) => selectProjects(ctx.db, shape).execute({ ids: wanted, user: values.user }),
  })
}

function groupScope({ only, subgroups, shared }: Partial<GroupFilter> = {}): GroupScope {
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
