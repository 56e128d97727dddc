import { and, asc, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { Caller, SignedIn } from '../access/actor.js'
import { canGroup } from '../access/can.js'
import { ANY_LEVEL, membershipCounts, projectsWithLevel } from '../access/roles.js'
import { findGroupFor, type Namespace } from '../access/rules.js'
import { type Eyes, eyesOf } from '../access/visible.js'
import type { Context } from '../context.js'
import { isUniqueViolation } from '../db/client.js'
import { type Fuzzy, fuzzy, fuzzyMatch } from '../db/fuzzy.js'
import { members, namespaceAncestry, namespaces } from '../db/schema/index.js'
import { statement } from '../db/statement.js'
import { Failure, failedTo, forbidden } from '../failures.js'
import { groupNameFaults, lengthOf, namespacePathFaults, tooLong } from '../lib/path.js'
import { VISIBILITY_LEVEL, type Visibility, visibilityWord } from '../lib/visibility.js'
import { attributePairs, hasCustomAttributes } from './custom-attributes.js'
import { claimRoute, isRouteTaken } from './namespaces.js'
import { limits, type Page, type Paging, pageFrom } from './page.js'
import { listProjects } from './projects/list.js'
import { loadProjects, type ProjectRecord } from './projects/load.js'
import { isRestricted, readSettings } from './settings.js'

export interface NewGroup {
  name: string
  path: string
  description?: string | null | undefined
  visibility?: Visibility | undefined
  lfs_enabled?: boolean | undefined
  request_access_enabled?: boolean | undefined
  parent_id?: number | undefined
}

/** GR-34. */
const failedToSave = (faults: Record<string, string[]>) => failedTo('save group', faults)

const MAX_ANCESTORS = 20

/** GR-21 to GR-34: creates a group with its creator as owner and returns its id. */
export async function createGroup(ctx: Context, caller: SignedIn, given: NewGroup): Promise<number> {
  const parent = given.parent_id === undefined ? null : await findGroupFor(ctx, caller, String(given.parent_id))
  if (parent ? !canGroup(parent, 'create_subgroup') : !caller.user.can_create_group) throw forbidden()
  const settings = await readSettings(ctx)
  const level = VISIBILITY_LEVEL[given.visibility ?? settings.default_group_visibility]
  const fullPath = parent ? `${parent.group.full_path}/${given.path}` : given.path
  try {
    return await ctx.db.transaction(async (tx) => {
      const faults: Record<string, string[]> = {}
      const add = (field: string, texts: string[]) => {
        if (texts.length > 0) faults[field] = [...(faults[field] ?? []), ...texts]
      }
      // locked: a group that is being deleted gets no child (SEC-132)
      if (parent) {
        const [row] = await tx.select({ id: namespaces.id }).from(namespaces).where(eq(namespaces.id, parent.group.id)).for('update')
        if (!row) throw new Failure('not_found', { message: '404 Group Not Found' })
        const [depth] = await tx
          .select({ count: sql<number>`count(*)`.mapWith(Number) })
          .from(namespaceAncestry)
          .where(eq(namespaceAncestry.descendant_id, parent.group.id))
        if ((depth?.count ?? 0) > MAX_ANCESTORS) add('parent_id', ['has too deep level of nesting'])
      }
      add('name', groupNameFaults(given.name))
      if (parent) {
        const twins = await tx
          .select({ id: namespaces.id })
          .from(namespaces)
          .where(sql`${namespaces.parent_id} = ${parent.group.id} and lower(${namespaces.name}) = lower(${given.name})`)
        if (twins.length > 0) add('name', ['has already been taken'])
      }
      add('path', namespacePathFaults(given.path, parent ? 'below' : 'top'))
      if (await isRouteTaken(tx, fullPath)) add('path', ['has already been taken'])
      if (given.description && lengthOf(given.description) > 255) add('description', [tooLong(255)])
      const word = visibilityWord(level)
      if (!caller.user.admin && isRestricted(settings, level)) add('visibility_level', [`${word} has been restricted by your administrator`])
      if (parent && level > parent.group.visibility)
        add('visibility_level', [`${word} is not allowed since the parent group has a ${visibilityWord(parent.group.visibility)} visibility.`])
      if (Object.keys(faults).length > 0) throw failedToSave(faults)
      const [group] = await tx
        .insert(namespaces)
        .values({
          kind: 'group',
          name: given.name,
          path: given.path,
          full_path: fullPath,
          full_name: parent ? `${parent.group.full_name} / ${given.name}` : given.name,
          parent_id: parent?.group.id ?? null,
          description: given.description ?? '',
          visibility: level,
          lfs_enabled: given.lfs_enabled ?? true,
          request_access_enabled: given.request_access_enabled ?? false,
          created_at: ctx.now(),
          updated_at: ctx.now(),
        })
        .returning({ id: namespaces.id })
      const id = group?.id as number
      await claimRoute(tx, fullPath, { namespace_id: id })
      await tx.insert(members).values({ user_id: caller.user.id, namespace_id: id, access_level: 50, created_by_id: caller.user.id })
      return id
    })
  } catch (error) {
    if (isUniqueViolation(error)) throw failedToSave({ path: ['has already been taken'] })
    throw error
  }
}

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
  /** Only the direct subgroups of this group (GR-14). */
  parentId?: number | undefined
}

export type GroupRecord = Namespace

interface Shape {
  eyes: Eyes
  all: boolean
  owned: boolean
  level: boolean
  top: boolean
  skip: boolean
  attributes: boolean
  below: boolean
  search: Fuzzy['shape']
  order: 'name' | 'path'
  descending: boolean
}

const user = sql`${sql.placeholder('user')}::bigint`

/** GR-5 to GR-9: which groups a list shows to whom. */
function scopeOf({ eyes, all, owned }: Shape): SQL {
  if (owned)
    return eyes === 'anonymous'
      ? sql`false`
      : sql`${namespaces.id} in (select m.namespace_id from members m where m.user_id = ${user} and m.access_level = 50 and m.namespace_id is not null and ${membershipCounts})`
  if (eyes === 'admin') return sql`true`
  if (eyes === 'anonymous') return sql`${namespaces.visibility} >= 20`
  const member = sql`select m.namespace_id from members m where m.user_id = ${user} and m.namespace_id is not null and ${membershipCounts}`
  const authorised = sql`${namespaces.id} in (
    select a.descendant_id from namespace_ancestry a where a.ancestor_id in (${member})
    union select a.ancestor_id from namespace_ancestry a where a.descendant_id in (${member})
    union select a.ancestor_id from namespace_ancestry a join projects p on p.namespace_id = a.descendant_id where p.id in ${projectsWithLevel(user, ANY_LEVEL)})`
  if (!all) return authorised
  return sql`(${authorised} or ${namespaces.visibility} >= ${eyes === 'external' ? sql`20` : sql`10`})`
}

const listed = statement('groups', (db, shape: Shape) => {
  const direction = shape.descending ? desc : asc
  return db
    .select({ group: namespaces, total: sql<number>`count(*) over ()`.mapWith(Number) })
    .from(namespaces)
    .where(
      and(
        eq(namespaces.kind, 'group'),
        scopeOf(shape),
        shape.level
          ? sql`${namespaces.id} in (select a.descendant_id from namespace_ancestry a join members m on m.namespace_id = a.ancestor_id where m.user_id = ${user} and m.access_level >= ${sql.placeholder('level')} and ${membershipCounts})`
          : undefined,
        shape.top ? sql`${namespaces.parent_id} is null` : undefined,
        shape.below ? eq(namespaces.parent_id, sql.placeholder('parent')) : undefined,
        shape.skip ? sql`${namespaces.id} <> all(${sql.placeholder('skip')})` : undefined,
        shape.attributes ? hasCustomAttributes('group', namespaces.id) : undefined,
        fuzzyMatch([namespaces.name, namespaces.path], shape.search),
      ),
    )
    .orderBy(direction(sql`lower(${namespaces[shape.order]})`), asc(namespaces.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

/** The groups a list shows to this caller (GR-5 to GR-11). */
export async function listGroups(ctx: Context, { user: viewer }: Pick<Caller, 'user'>, filter: GroupFilter): Promise<Page<GroupRecord>> {
  const search = fuzzy(filter.search)
  const custom_attributes = attributePairs(viewer, filter.custom_attributes)
  const shape: Shape = {
    eyes: eyesOf(viewer),
    attributes: custom_attributes !== undefined,
    all: filter.all_available ?? false,
    owned: filter.owned ?? false,
    level: filter.min_access_level !== undefined && viewer !== null,
    top: filter.top_level_only ?? false,
    skip: (filter.skip_groups?.length ?? 0) > 0,
    below: filter.parentId !== undefined,
    search: search.shape,
    order: filter.order_by,
    descending: filter.sort === 'desc',
  }
  const query = listed(ctx.db, shape)
  const values = {
    ...search.values,
    custom_attributes,
    user: viewer?.id ?? 0,
    skip: filter.skip_groups ?? [],
    parent: filter.parentId,
    level: filter.min_access_level,
  }
  const run = (at: Paging) => query.execute({ ...values, ...limits(at) })
  const { items, total } = await pageFrom(await run(filter), filter, () => run({ page: 1, per_page: 1 }))
  return { items: items.map(({ group }) => group), total }
}

/** How many projects a single answer carries at once; the contract sets no limit (GR-3). */
const ALL = 100

/** The projects directly in a group and those shared with it that the caller may see, newest first (GR-3). */
export async function projectsOfGroup(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  groupId: number,
): Promise<{ own: ProjectRecord[]; shared: ProjectRecord[] }> {
  const every = async (where: { groupId: number } | { sharedWith: number }) => {
    const ids: number[] = []
    for (let page = 1; ; page++) {
      const { items, total } = await listProjects(ctx, caller, { ...where, order_by: 'id', sort: 'desc', page, per_page: ALL })
      ids.push(...items.map(({ id }) => id))
      if (items.length === 0 || ids.length >= total) break
    }
    return (await loadProjects(ctx, caller.user, ids)).sort((a, b) => b.id - a.id)
  }
  const [own, shared] = await Promise.all([every({ groupId }), every({ sharedWith: groupId })])
  return { own, shared }
}
