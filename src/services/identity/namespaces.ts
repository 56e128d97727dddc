import { and, asc, eq, ilike, isNull, or, type SQL, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { ANY_LEVEL, groupLevel, groupsWithLevel, membershipCounts } from '../../access/roles.js'
import type { Namespace } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { count } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { substring } from '../../db/fuzzy.js'
import { namespaceAncestry, namespaces, redirects, routes } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { notFound } from '../../failures.js'
import type { Keyset } from '../../lib/keyset.js'
import { numericId } from '../../lib/numeric-id.js'
import { type Page, type Paging, pageAndTotal, rowFilters } from '../core/page.js'

export interface NamespaceRecord {
  id: number
  name: string
  path: string
  kind: 'user' | 'group'
  full_path: string
  parent_id: number | null
  avatar: string | null
  /** Visible only to owners of the group and administrators. */
  members_count?: number | undefined
}

/**
 * Claims a full path for a namespace or project and removes redirects from it. Of two concurrent callers the primary
 * key lets only one succeed.
 */
export async function claimRoute(tx: Transaction, fullPath: string, owner: { namespace_id?: number; project_id?: number }): Promise<void> {
  const key = fullPath.toLowerCase()
  await tx.insert(routes).values({ key, namespace_id: owner.namespace_id ?? null, project_id: owner.project_id ?? null })
  await tx.delete(redirects).where(eq(redirects.key, key))
  if (owner.namespace_id !== undefined) {
    await tx.execute(sql`insert into ${namespaceAncestry} (ancestor_id, descendant_id)
      select a.ancestor_id, ${owner.namespace_id}::bigint from ${namespaceAncestry} a where a.descendant_id = (select parent_id from ${namespaces} where id = ${owner.namespace_id})
      union all select ${owner.namespace_id}::bigint, ${owner.namespace_id}::bigint`)
  }
}

/**
 * Changes the full path of a project; unless `redirect` is false, the former path redirects Git (GH-4, PR-18).
 */
export async function moveRoute(tx: Transaction, projectId: number, from: string, to: string, redirect = true): Promise<void> {
  const former = from.toLowerCase()
  await tx.delete(routes).where(eq(routes.key, former))
  await claimRoute(tx, to, { project_id: projectId })
  if (redirect && former !== to.toLowerCase())
    await tx
      .insert(redirects)
      .values({ key: former, project_id: projectId })
      .onConflictDoUpdate({ target: redirects.key, set: { project_id: projectId } })
}

/**
 * Locks a namespace until the transaction ends and returns it; null when it is gone or waits for its removal. Required
 * to create something in it, and to rename or delete it.
 */
export async function lockNamespace(tx: Transaction, id: number): Promise<Namespace | null> {
  const [row] = await tx
    .select()
    .from(namespaces)
    .where(and(eq(namespaces.id, id), isNull(namespaces.marked_for_deletion_at)))
    .for('update')
  return row ?? null
}

/** Whether a user, group or project has this full path, case-insensitively. */
export async function isRouteTaken(tx: Transaction, fullPath: string): Promise<boolean> {
  const [taken] = await tx.select({ key: routes.key }).from(routes).where(eq(routes.key, fullPath.toLowerCase()))
  return taken !== undefined
}

/**
 * Changes the path or name of a namespace and updates all paths and names below it; former project paths redirect Git
 * (AC-12, GH-4), unless `redirect` is false. The new full path must be free.
 */
export async function renameNamespace(
  tx: Transaction,
  id: number,
  { path, name, redirect = true }: { path: string; name: string; redirect?: boolean },
): Promise<void> {
  const [old] = await tx.select().from(namespaces).where(eq(namespaces.id, id)).for('update')
  if (!old) return
  const renamed = (full: string, accessible: string, mine: string) => full.slice(0, full.length - accessible.length) + mine
  await relocate(tx, old, { full_path: renamed(old.full_path, old.path, path), full_name: renamed(old.full_name, old.name, name), redirect })
  await tx.update(namespaces).set({ path, name }).where(eq(namespaces.id, id))
}

/** Updates the paths and names of a namespace and of everything below it to a new full path and name. */
async function relocate(
  tx: Transaction,
  old: Namespace,
  { full_path, full_name, redirect }: { full_path: string; full_name: string; redirect: boolean },
): Promise<void> {
  const below = sql`(select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${old.id})`
  if (full_path !== old.full_path) {
    const accessible = sql`(r.namespace_id in ${below} or r.project_id in (select p.id from projects p where p.namespace_id in ${below}))`
    const key = full_path.toLowerCase()
    const moved = sql`${key} || substr(r.key, ${old.full_path.length + 1}::integer)`
    if (key !== old.full_path.toLowerCase()) {
      // locks the projects, so that no redirect is added for one that is being removed
      if (redirect)
        await tx.execute(sql`insert into ${redirects} (key, project_id) select r.key, r.project_id from ${routes} r join projects o on o.id = r.project_id where ${accessible}
        for key share of o
        on conflict (key) do update set project_id = excluded.project_id`)
      await tx.execute(sql`delete from ${redirects} d using ${routes} r where d.key = ${moved} and ${accessible}`)
    }
    await tx.execute(sql`update ${routes} r set key = ${moved} where ${accessible}`)
  }
  await tx.execute(sql`update ${namespaces} set
      full_path = ${full_path} || substr(full_path, ${old.full_path.length + 1}::integer),
      full_name = ${full_name} || substr(full_name, ${old.full_name.length + 1}::integer) where id in ${below}`)
}

/**
 * Moves a group with everything below it into another group, or to the top with null; former project paths redirect Git.
 * The caller has locked both and checked that the new full path is free.
 */
export async function moveNamespace(tx: Transaction, group: Namespace, parent: Namespace | null): Promise<void> {
  const full_path = parent ? `${parent.full_path}/${group.path}` : group.path
  const full_name = parent ? `${parent.full_name} / ${group.name}` : group.name
  await relocate(tx, group, { full_path, full_name, redirect: true })
  await tx
    .update(namespaces)
    .set({ parent_id: parent?.id ?? null })
    .where(eq(namespaces.id, group.id))
  const below = sql`(select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${group.id})`
  await tx.execute(sql`delete from ${namespaceAncestry} a where a.descendant_id in ${below} and a.ancestor_id not in ${below}`)
  if (parent)
    await tx.execute(sql`insert into ${namespaceAncestry} (ancestor_id, descendant_id) select a.ancestor_id, d.descendant_id
      from ${namespaceAncestry} a, ${namespaceAncestry} d where a.descendant_id = ${parent.id} and d.ancestor_id = ${group.id}`)
}

const columns = {
  id: namespaces.id,
  name: namespaces.name,
  path: namespaces.path,
  kind: namespaces.kind,
  full_path: namespaces.full_path,
  parent_id: namespaces.parent_id,
  avatar: namespaces.avatar,
}

/** Number of distinct members of a group and its subgroups; shown to its owners and to administrators. */
const membersCount = (admin: boolean) => {
  const count = sql<number | null>`(select count(distinct m.user_id) from namespace_ancestry a join members m on m.namespace_id = a.descendant_id
    where a.ancestor_id = ${namespaces.id} and ${membershipCounts})`
  const user = sql`${sql.placeholder('user')}::bigint`
  return admin
    ? sql<number | null>`case when ${namespaces.kind} = 'group' then ${count} end`
    : sql<number | null>`case when ${namespaces.kind} = 'group' and ${groupLevel(namespaces.id, user)} >= 50 then ${count} end`
}

const accessible = (admin: boolean) => {
  const user = sql`${sql.placeholder('user')}::bigint`
  const kept = sql`${namespaces.marked_for_deletion_at} is null`
  return admin
    ? kept
    : sql`${kept} and ${namespaces.id} in (select n.id from ${namespaces} n where n.owner_id = ${user} union all select g.id from ${groupsWithLevel(user, ANY_LEVEL)} g (id))`
}

interface NamespaceFilter extends Keyset {
  search?: string | undefined
}

const FILTERS = {
  search: {
    where: (text) => or(ilike(namespaces.name, text), ilike(namespaces.path, text)) as SQL,
    value: ({ search }) => (search ? substring(search) : undefined),
  },
  ...rowFilters(namespaces.id),
} satisfies Filters<NamespaceFilter, FilterNames<NamespaceFilter>>

interface ListShape {
  admin: boolean
  filters: FilterNames<NamespaceFilter>[]
}

const conditions = ({ admin, filters }: ListShape) => and(accessible(admin), ...conditionsOf(FILTERS, filters, null))

const planOf = ({ filters }: ListShape) => (filters.includes('search') ? 'each' : 'auto')

/** Selects the page first, so that members are counted only for its rows. */
const selectNamespaces = statement(
  'namespaces of a caller',
  (db, shape: ListShape) => {
    const page = db
      .select({ id: namespaces.id })
      .from(namespaces)
      .where(conditions(shape))
      .orderBy(asc(namespaces.id))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
    return db
      .select({ ...columns, members_count: membersCount(shape.admin) })
      .from(namespaces)
      .where(sql`${namespaces.id} in ${page}`)
      .orderBy(asc(namespaces.id))
  },
  planOf,
)

const selectTotal = statement(
  'number of namespaces',
  (db, shape: ListShape) => db.select({ total: count() }).from(namespaces).where(conditions(shape)),
  planOf,
)

const toRecord = <T extends { members_count: number | string | null }>(row: T) => ({
  ...row,
  members_count: row.members_count === null ? undefined : Number(row.members_count),
})

/** The caller's own namespace and all groups they have an access level on; administrators see all (NS-1). */
export async function listNamespaces(ctx: Context, caller: SignedIn, filter: NamespaceFilter & Paging): Promise<Page<NamespaceRecord>> {
  const used = usedFilters(FILTERS, filter)
  const shape = { admin: caller.user.admin, filters: used.names }
  const values = { ...used.values, user: caller.user.id }
  const { items, total } = await pageAndTotal(selectNamespaces(ctx.db, shape), selectTotal(ctx.db, shape), values, filter)
  return { items: items.map(toRecord), total }
}

const selectNamespace = statement('namespace for caller', (db, { admin, by }: { admin: boolean; by: 'id' | 'path' }) => {
  const query = db.select({ ...columns, members_count: membersCount(admin) }).from(namespaces)
  return by === 'id'
    ? query.where(and(accessible(admin), eq(namespaces.id, sql.placeholder('value'))))
    : query.innerJoin(routes, eq(routes.namespace_id, namespaces.id)).where(and(accessible(admin), eq(routes.key, sql.placeholder('value'))))
})

/** A namespace that `listNamespaces` would list, by id or full path; otherwise 404 (NS-2). */
export async function getNamespace(ctx: Context, caller: SignedIn, named: string): Promise<NamespaceRecord> {
  const id = numericId(named)
  const query = selectNamespace(ctx.db, { admin: caller.user.admin, by: id === null ? 'path' : 'id' })
  const [row] = await query.execute({ user: caller.user.id, value: id ?? named.toLowerCase() })
  if (!row) throw notFound('Namespace')
  return toRecord(row)
}

const selectTakenPaths = statement('namespace paths taken', (db) =>
  db
    .select({ key: routes.key })
    .from(routes)
    .where(sql`${routes.key} = any(${sql.placeholder('keys')})`),
)

/** Whether a path below `parentId` is taken, and a similar path that is free (NS-3). */
export async function namespaceExists(ctx: Context, path: string, parentId: number | undefined): Promise<{ exists: boolean; suggests: string[] }> {
  let prefix = ''
  if (parentId !== undefined) {
    const [parent] = await ctx.db.read.select({ full_path: namespaces.full_path }).from(namespaces).where(eq(namespaces.id, parentId))
    if (!parent) return { exists: false, suggests: [] }
    prefix = `${parent.full_path.toLowerCase()}/`
  }
  const candidates = [path, ...Array.from({ length: 10 }, (_, i) => `${path}${i + 1}`)]
  const taken = new Set(
    (await selectTakenPaths(ctx.db, null).execute({ keys: candidates.map((candidate) => prefix + candidate.toLowerCase()) })).map(({ key }) => key),
  )
  const exists = taken.has(prefix + path.toLowerCase())
  const free = candidates.find((candidate) => !taken.has(prefix + candidate.toLowerCase()))
  return { exists, suggests: exists && free ? [free] : [] }
}
