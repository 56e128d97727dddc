import { and, asc, desc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import { membershipCounts } from '../../access/roles.js'
import type { Namespace } from '../../access/rules.js'
import { listedGroups, restorableGroups, type ViewerKind, viewerKindOf } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { decoded } from '../../db/decoded.js'
import { type Fuzzy, fuzzy, fuzzyMatch } from '../../db/fuzzy.js'
import { inIds } from '../../db/in-ids.js'
import { namespaces, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { attributePairs, hasCustomAttributes } from '../core/custom-attributes.js'
import { idList, versionOf } from '../core/list-cache.js'
import type { Page, Paging } from '../core/page.js'

export interface GroupFilter extends Paging {
  skip_groups?: number[] | undefined
  all_available?: boolean | undefined
  search?: string | undefined
  order_by: 'name' | 'path'
  sort: 'asc' | 'desc'
  owned?: boolean | undefined
  min_access_level?: number | undefined
  top_level_only?: boolean | undefined
  custom_attributes?: [string, string][] | undefined
  /** Also those that wait for their removal and that the caller may restore (GR-45). */
  include_pending_delete?: boolean | undefined
  /** Only the direct subgroups of this group (GR-14). */
  parentId?: number | undefined
}

export type GroupRecord = Namespace

interface Filters {
  viewerKind: ViewerKind
  all: boolean
  owned: boolean
  level: boolean
  top: boolean
  skip: boolean
  attributes: boolean
  inParent: boolean
  waiting: boolean
  search: Fuzzy['shape']
}

interface Shape extends Filters {
  order: 'name' | 'path'
  descending: boolean
}

const user = sql`${sql.placeholder('user')}::bigint`

/** Groups with a direct membership as owner, not an inherited one (GR-9). */
const owned = (viewerKind: ViewerKind): SQL =>
  viewerKind === 'anonymous'
    ? sql`false`
    : sql`${namespaces.id} in (select m.namespace_id from members m where m.user_id = ${user} and m.access_level = 50 and m.namespace_id is not null and ${membershipCounts})`

const listed = (shape: Filters) =>
  shape.owned
    ? isNull(namespaces.marked_for_deletion_at)
    : // a list of subgroups shows what is open to the caller in any case (GR-14)
      listedGroups(shape.viewerKind, shape.all || shape.inParent, user)

const conditions = (shape: Filters) =>
  and(
    eq(namespaces.kind, 'group'),
    shape.waiting ? sql`(${listed(shape)} or ${restorableGroups(shape.viewerKind, user)})` : listed(shape),
    shape.owned ? owned(shape.viewerKind) : undefined,
    shape.level
      ? sql`${namespaces.id} in (select a.descendant_id from namespace_ancestry a join members m on m.namespace_id = a.ancestor_id where m.user_id = ${user} and m.access_level >= ${sql.placeholder('level')} and ${membershipCounts})`
      : undefined,
    shape.top ? sql`${namespaces.parent_id} is null` : undefined,
    shape.inParent ? eq(namespaces.parent_id, sql.placeholder('parent')) : undefined,
    shape.skip ? sql`${namespaces.id} <> all(${sql.placeholder('skip')})` : undefined,
    shape.attributes ? hasCustomAttributes('group', namespaces.id) : undefined,
    fuzzyMatch([namespaces.name, namespaces.path], shape.search),
  )

const ids = statement('ids of groups', (db, { order, descending, ...filters }: Shape) => {
  const found = db
    .select({ id: namespaces.id })
    .from(namespaces)
    .where(conditions(filters))
    .orderBy((descending ? desc : asc)(sql`lower(${namespaces[order]})`), asc(namespaces.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
  return db.select({ ids: idList(found.getSQL()), version: versionOf('groups') }).from(sql`(select 1) as one`)
})

const countQuery = statement('number of groups', (db, filters: Filters) =>
  db
    .select({ total: decoded(sql<number>`count(*)`, Number), version: versionOf('groups') })
    .from(namespaces)
    .where(conditions(filters)),
)

const rows = statement('listed groups', (db) =>
  db
    .select({ id: namespaces.id, group: namespaces, version: versionOf('groups') })
    .from(namespaces)
    .where(inIds(namespaces.id)),
)

/** The groups that the caller may list (GR-5 to GR-11). */
export async function listGroups(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, filter: GroupFilter): Promise<Page<GroupRecord>> {
  const search = fuzzy(filter.search)
  const custom_attributes = attributePairs(filter.custom_attributes)
  const filters: Filters = {
    viewerKind: viewerKindOf(viewer),
    attributes: custom_attributes !== undefined,
    all: filter.all_available ?? false,
    owned: filter.owned ?? false,
    level: filter.min_access_level !== undefined && viewer !== null,
    top: filter.top_level_only ?? false,
    skip: (filter.skip_groups?.length ?? 0) > 0,
    inParent: filter.parentId !== undefined,
    waiting: filter.include_pending_delete ?? false,
    search: search.shape,
  }
  const shape: Shape = { ...filters, order: filter.order_by, descending: filter.sort === 'desc' }
  const values = {
    ...search.values,
    custom_attributes,
    user: viewer?.id ?? 0,
    skip: filter.skip_groups ?? [],
    parent: filter.parentId,
    level: filter.min_access_level,
  }
  // custom attributes are not part of the list's version
  const key = custom_attributes === undefined ? JSON.stringify([shape, values]) : null
  const { items, total } = await ctx.caches.lists.pageByIds(ctx.db, 'groups', key, filter, {
    ids: (at) => ids(ctx.db, shape).execute({ ...values, ...at }),
    count: () => countQuery(ctx.db, filters).execute(values),
    rows: (wanted) => rows(ctx.db, null).execute({ ids: wanted }),
  })
  return { items: items.map(({ group }) => group), total }
}

/** Total bytes of the projects directly in a group (GR-12). */
export interface GroupStatistics {
  repository_size: number
  lfs_objects_size: number
}

const groupSizes = statement('sizes of groups', (db) =>
  db
    .select({
      id: projects.namespace_id,
      repository_size: decoded(sql<number>`sum(${projects.repository_size})`, Number),
      lfs_objects_size: decoded(sql<number>`sum(${projects.lfs_objects_size})`, Number),
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
  const found = await groupSizes(ctx.db, null).execute({ ids: groups.map(({ id }) => id) })
  const sizesById = new Map(found.map(({ id, ...groupSizes }) => [id, groupSizes]))
  return new Map(groups.map(({ id }) => [id, sizesById.get(id) ?? { repository_size: 0, lfs_objects_size: 0 }]))
}
