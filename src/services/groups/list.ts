import { and, asc, desc, eq, isNull, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import { groupMembers, membershipCounts } from '../../access/roles.js'
import type { Namespace } from '../../access/rules.js'
import { listedGroups, restorableGroups, type ViewerKind, viewerKindOf } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { inIds } from '../../db/conditions.js'
import { count, decoded } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { type Fuzzy, fuzzy, fuzzyMatch } from '../../db/fuzzy.js'
import { namespaces, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { Keyset } from '../../lib/keyset.js'
import { attributePairs, hasCustomAttributes } from '../core/custom-attributes.js'
import { idList, versionOf } from '../core/list-cache.js'
import { type Page, type Paging, rowFilters } from '../core/page.js'

export const GROUP_ORDERS = ['name', 'path', 'id'] as const

export interface GroupFilter extends Paging, Keyset {
  skip_groups?: number[] | undefined
  all_available?: boolean | undefined
  search?: string | undefined
  order_by: (typeof GROUP_ORDERS)[number]
  sort: 'asc' | 'desc'
  owned?: boolean | undefined
  min_access_level?: number | undefined
  top_level_only?: boolean | undefined
  custom_attributes?: [string, string][] | undefined
  /** Also those that wait for their removal and that the caller may restore (GR-45). */
  include_pending_delete?: boolean | undefined
  /** Only the direct subgroups of this group (GR-14). */
  parentId?: number | undefined
  /** Only the groups below this group, at any depth (PT-29). */
  ancestorId?: number | undefined
}

export type GroupRecord = Namespace

type FilterName = FilterNames<GroupFilter, 'all_available' | 'search' | 'include_pending_delete'>

/** What the total depends on. */
interface Selection {
  viewerKind: ViewerKind
  /** Also groups that are only open to the caller. */
  all: boolean
  waiting: boolean
  filters: FilterName[]
  search: Fuzzy['shape']
}

interface Shape extends Selection {
  order: (typeof GROUP_ORDERS)[number]
  descending: boolean
}

const user = sql`${sql.placeholder('user')}::bigint`

const FILTERS = {
  /** Groups with a direct membership as owner, not an inherited one (GR-9). */
  owned: {
    where: (_, viewerKind) =>
      viewerKind === 'anonymous'
        ? sql`false`
        : sql`${namespaces.id} in (select m.namespace_id from members m where m.user_id = ${user} and m.access_level = 50 and m.namespace_id is not null and ${membershipCounts})`,
    value: ({ owned }) => owned || undefined,
  },
  min_access_level: {
    where: (level) =>
      sql`${namespaces.id} in (select a.descendant_id from namespace_ancestry a join ${groupMembers} m on m.namespace_id = a.ancestor_id where m.user_id = ${user} and m.access_level >= ${level} and ${membershipCounts})`,
    value: ({ min_access_level }) => min_access_level,
  },
  top_level_only: { where: () => sql`${namespaces.parent_id} is null`, value: ({ top_level_only }) => top_level_only || undefined },
  parentId: { where: (id) => eq(namespaces.parent_id, id), value: ({ parentId }) => parentId },
  ancestorId: {
    where: (id) =>
      sql`${namespaces.id} in (select a.descendant_id from namespace_ancestry a where a.ancestor_id = ${id} and a.descendant_id <> ${id})`,
    value: ({ ancestorId }) => ancestorId,
  },
  skip_groups: {
    where: (ids) => sql`${namespaces.id} <> all(${ids})`,
    value: ({ skip_groups }) => (skip_groups && skip_groups.length > 0 ? skip_groups : undefined),
  },
  ...rowFilters(sql`${namespaces.id}`),
  custom_attributes: {
    where: () => hasCustomAttributes('group', namespaces.id),
    value: ({ custom_attributes }) => attributePairs(custom_attributes),
    cacheable: false,
  },
} satisfies Filters<GroupFilter, FilterName, ViewerKind>

const listed = ({ viewerKind, all, filters }: Selection) =>
  filters.includes('owned')
    ? isNull(namespaces.marked_for_deletion_at)
    : // a list of subgroups shows what is open to the caller in any case (GR-14)
      listedGroups(viewerKind, all || filters.includes('parentId') || filters.includes('ancestorId'), user)

const conditions = (selection: Selection) =>
  and(
    eq(namespaces.kind, 'group'),
    selection.waiting ? sql`(${listed(selection)} or ${restorableGroups(selection.viewerKind, user)})` : listed(selection),
    ...conditionsOf(FILTERS, selection.filters, selection.viewerKind),
    fuzzyMatch([namespaces.name, namespaces.path], selection.search),
  )

const selectIds = statement('ids of groups', (db, { order, descending, ...selection }: Shape) => {
  const found = db
    .select({ id: namespaces.id })
    .from(namespaces)
    .where(conditions(selection))
    .orderBy((descending ? desc : asc)(order === 'id' ? namespaces.id : sql`lower(${namespaces[order]})`), asc(namespaces.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
  return db.select({ ids: idList(found.getSQL()), version: versionOf('groups') }).from(sql`(select 1) as one`)
})

const selectTotal = statement('number of groups', (db, selection: Selection) =>
  db
    .select({ total: count(), version: versionOf('groups') })
    .from(namespaces)
    .where(conditions(selection)),
)

const selectGroups = statement('listed groups', (db) =>
  db
    .select({ id: namespaces.id, group: namespaces, version: versionOf('groups') })
    .from(namespaces)
    .where(inIds(namespaces.id)),
)

/** The groups that the caller may list (GR-5 to GR-11). */
export async function listGroups(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, filter: GroupFilter): Promise<Page<GroupRecord>> {
  const search = fuzzy(filter.search, 'part')
  const used = usedFilters(FILTERS, viewer ? filter : { ...filter, min_access_level: undefined })
  const selection: Selection = {
    viewerKind: viewerKindOf(viewer),
    all: filter.all_available ?? false,
    waiting: filter.include_pending_delete ?? false,
    filters: used.names,
    search: search.shape,
  }
  const shape: Shape = { ...selection, order: filter.order_by, descending: filter.sort === 'desc' }
  const values = { ...search.values, ...used.values, user: viewer?.id ?? 0 }
  const key = used.cacheable ? JSON.stringify([shape, values]) : null
  const { items, total } = await ctx.caches.lists.pageByIds(ctx.db, 'groups', key, filter, {
    ids: (at) => selectIds(ctx.db, shape).execute({ ...values, ...at }),
    count: () => selectTotal(ctx.db, selection).execute(values),
    rows: (wanted) => selectGroups(ctx.db, null).execute({ ids: wanted }),
  })
  return { items: items.map(({ group }) => group), total }
}

/** Total bytes of the projects directly in a group (GR-12). */
export interface GroupStatistics {
  repository_size: number
  lfs_objects_size: number
  job_artifacts_size: number
  packages_size: number
}

const selectSizes = statement('sizes of groups', (db) =>
  db
    .select({
      id: projects.namespace_id,
      repository_size: decoded(sql<number>`sum(${projects.repository_size})`, Number),
      lfs_objects_size: decoded(sql<number>`sum(${projects.lfs_objects_size})`, Number),
      job_artifacts_size: decoded(sql<number>`sum(${projects.job_artifacts_size})`, Number),
      packages_size: decoded(sql<number>`sum(${projects.packages_size})`, Number),
    })
    .from(projects)
    .where(and(inIds(projects.namespace_id), isNull(projects.marked_for_deletion_at)))
    .groupBy(projects.namespace_id),
)

/** Statistics by group id, if the caller is an administrator and asked for them; otherwise null. */
export async function statisticsFor(
  ctx: Context,
  { user: viewer }: Pick<Caller, 'user'>,
  { statistics }: { statistics?: boolean | undefined },
  groups: GroupRecord[],
): Promise<Map<number, GroupStatistics> | null> {
  if (!statistics || !viewer?.admin) return null
  const found = await selectSizes(ctx.db, null).execute({ ids: groups.map(({ id }) => id) })
  const sizesById = new Map(found.map(({ id, ...sizes }) => [id, sizes]))
  return new Map(
    groups.map(({ id }) => [id, sizesById.get(id) ?? { repository_size: 0, lfs_objects_size: 0, job_artifacts_size: 0, packages_size: 0 }]),
  )
}
