import { and, asc, desc, eq, ilike, ne, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Viewer } from '../../access/actor.js'
import { fullPathOf, type GroupSubject, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { decoded, totalCount } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { substring } from '../../db/fuzzy.js'
import { namespaceAncestry, namespaces, packageFiles, packages, packageTags, projects, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { notFound } from '../../failures.js'
import type { Keyset } from '../../lib/keyset.js'
import { type PipelineBasicRecord, pipelinesById } from '../ci/pipelines.js'
import { audit } from '../core/audit.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import { type UserRefRecord, userRefColumns } from '../identity/user-ref.js'
import { missingPackage, type ReachShape, reachOf, reachValues, readableBy } from './caller.js'
import type { PackageFile } from './files.js'
import { checkProtected } from './protection.js'

/** The types that the original has: lists may be asked for those that are not here, and are empty. */
export const LISTED_TYPES = [
  'conan',
  'maven',
  'npm',
  'pypi',
  'composer',
  'nuget',
  'helm',
  'terraform_module',
  'golang',
  'generic',
  'debian',
  'rubygems',
] as const
export const LISTED_STATUSES = ['default', 'hidden', 'processing', 'error'] as const
export const ORDERS = ['name', 'created_at', 'version', 'type'] as const
export const GROUP_ORDERS = [...ORDERS, 'project_path'] as const

export interface PackageRecord {
  id: number
  name: string
  version: string
  type: (typeof packages.$inferSelect)['type']
  status: (typeof packages.$inferSelect)['status']
  created_at: Date
  tags: string[]
  project: { id: number; fullPath: string }
  creator: UserRefRecord | null
  /** Null if there was none, or the caller may not see it. */
  pipeline: PipelineBasicRecord | null
}

export interface PackageDetails extends PackageRecord {
  metadata: Record<string, unknown>
  /** Other versions, the newest first. */
  versions: PackageRecord[]
}

export interface PackageFilter extends Paging {
  order_by: (typeof GROUP_ORDERS)[number]
  sort: 'asc' | 'desc'
  package_type?: string | undefined
  package_name?: string | undefined
  package_version?: string | undefined
  include_versionless?: boolean | undefined
  status?: string | undefined
  exclude_subgroups?: boolean | undefined
}

const FILTERS = {
  package_type: { where: (type) => sql`${packages.type} = ${type}`, value: ({ package_type }) => package_type },
  package_name: { where: (name) => ilike(packages.name, name as SQL), value: ({ package_name }) => package_name && substring(package_name) },
  package_version: { where: (version) => sql`${packages.version} = ${version}`, value: ({ package_version }) => package_version || undefined },
  include_versionless: {
    where: (all) => sql`(${all}::boolean or ${packages.version} <> '')`,
    value: ({ include_versionless = false }) => include_versionless,
  },
  status: { where: (status) => sql`${packages.status} = ${status}`, value: ({ status = 'default' }) => status },
  exclude_subgroups: {
    where: (direct) => sql`(not ${direct}::boolean or ${projects.namespace_id} = ${sql.placeholder('group')}::bigint)`,
    value: ({ exclude_subgroups }) => exclude_subgroups || undefined,
  },
} satisfies Filters<PackageFilter, FilterNames<PackageFilter>>

const tagsOf = decoded(
  sql<string[]>`coalesce((select array_agg(t.name order by t.name) from ${packageTags} t where t.package_id = ${packages.id}), '{}')`,
  (names: string[]) => names,
)
const creators = alias(users, 'creators')
const columns = {
  id: packages.id,
  name: packages.name,
  version: packages.version,
  type: packages.type,
  status: packages.status,
  created_at: packages.created_at,
  pipeline_id: packages.pipeline_id,
  tags: tagsOf,
  project_id: projects.id,
  path: projects.path,
  full_path: namespaces.full_path,
  creator: userRefColumns(creators),
}
type Row = Pick<PackageRecord, 'id' | 'name' | 'version' | 'type' | 'status' | 'created_at' | 'tags'> & {
  pipeline_id: number | null
  project_id: number
  path: string
  full_path: string
  creator: UserRefRecord | null
}

interface Shape {
  /** A group with the reach of the caller; null: a project. */
  reach: ReachShape | null
  filters: FilterNames<PackageFilter>[]
  order: PackageFilter['order_by']
  descending: boolean
}

const COLUMN = {
  name: packages.name,
  created_at: packages.created_at,
  version: packages.version,
  type: packages.type,
  project_path: sql`(${namespaces.full_path} || '/' || ${projects.path})`,
}

const selectPackages = statement('packages', (db, { reach, filters, order, descending }: Shape) => {
  const direction = descending ? desc : asc
  const within = reach
    ? and(
        sql`${projects.namespace_id} in (select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${sql.placeholder('group')}::bigint)`,
        readableBy(reach),
      )
    : eq(packages.project_id, sql.placeholder('project'))
  return db
    .select({ ...columns, total: totalCount() })
    .from(packages)
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .leftJoin(creators, eq(creators.id, packages.creator_id))
    .where(and(within, ...conditionsOf(FILTERS, filters, null)))
    .orderBy(direction(COLUMN[order]), direction(packages.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
})

async function records(ctx: Context, subject: ProjectSubject | null, rows: Row[]): Promise<PackageRecord[]> {
  const ids = rows.flatMap(({ pipeline_id }) => pipeline_id ?? [])
  const known = subject?.can('read_pipeline') ? await pipelinesById(ctx, subject, ids) : null
  return rows.map(({ pipeline_id, project_id, path, full_path, ...row }) => ({
    ...row,
    project: { id: project_id, fullPath: `${full_path}/${path}` },
    pipeline: known?.get(pipeline_id ?? 0) ?? null,
  }))
}

/** The packages of a project, one for each version (PK-11). */
export async function listPackages(ctx: Context, subject: ProjectSubject, filter: PackageFilter): Promise<Page<PackageRecord>> {
  const { names: filters, values } = usedFilters(FILTERS, filter)
  const query = selectPackages(ctx.db, { reach: null, filters, order: filter.order_by, descending: filter.sort === 'desc' })
  const { items, total } = await pageFrom(query, { ...values, project: subject.project.id }, filter)
  return { items: await records(ctx, subject, items), total }
}

/** The packages of the projects of a group that the caller may read them of (PK-12). */
export async function listGroupPackages(ctx: Context, caller: Viewer, { group }: GroupSubject, filter: PackageFilter): Promise<Page<PackageRecord>> {
  const { names: filters, values } = usedFilters(FILTERS, filter)
  const query = selectPackages(ctx.db, { reach: reachOf(caller), filters, order: filter.order_by, descending: filter.sort === 'desc' })
  const { items, total } = await pageFrom(query, { ...values, ...reachValues(caller), group: group.id }, filter)
  return { items: await records(ctx, null, items), total }
}

/** Other versions that are shown with one. */
const MAX_OTHERS = 100

const selectOthers = statement('other versions of a package', (db) =>
  db
    .select(columns)
    .from(packages)
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .leftJoin(creators, eq(creators.id, packages.creator_id))
    .where(
      and(
        eq(packages.project_id, sql.placeholder('project')),
        eq(packages.type, sql.placeholder('type')),
        eq(packages.name, sql.placeholder('name')),
        eq(packages.status, 'default'),
        ne(packages.id, sql.placeholder('id')),
        ne(packages.version, ''),
      ),
    )
    .orderBy(desc(packages.id))
    .limit(MAX_OTHERS),
)

const selectPackage = statement('package', (db) =>
  db
    .select({ ...columns, metadata: packages.metadata })
    .from(packages)
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .leftJoin(creators, eq(creators.id, packages.creator_id))
    .where(and(eq(packages.project_id, sql.placeholder('project')), eq(packages.id, sql.placeholder('id')))),
)

/** One version of a package, with the newest others; 404 if there is none (PK-13). */
export async function getPackage(ctx: Context, subject: ProjectSubject, id: number): Promise<PackageDetails> {
  const project = subject.project.id
  const [found] = await selectPackage(ctx.db, null).execute({ project, id })
  if (!found) throw missingPackage()
  const { metadata, ...row } = found
  const others = await selectOthers(ctx.db, null).execute({ project, id, type: row.type, name: row.name })
  const [shown, ...versions] = await records(ctx, subject, [row, ...others])
  return { ...(shown as PackageRecord), metadata, versions }
}

const selectFiles = statement('files of a package', (db) =>
  db
    .select({ file: packageFiles, total: totalCount() })
    .from(packageFiles)
    .where(and(eq(packageFiles.project_id, sql.placeholder('project')), eq(packageFiles.package_id, sql.placeholder('package'))))
    .orderBy(asc(packageFiles.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The files of one version, the oldest first; 404 if there is no such version (PK-14). */
export async function listPackageFiles(ctx: Context, { project }: ProjectSubject, id: number, paging: Paging & Keyset): Promise<Page<PackageFile>> {
  const [found] = await selectPackage(ctx.db, null).execute({ project: project.id, id })
  if (!found) throw missingPackage()
  const { items, total } = await pageFrom(selectFiles(ctx.db, null), { project: project.id, package: id }, paging)
  return { items: items.map(({ file }) => file), total }
}

/** One file of a package of a project; 404 if there is none. */
export async function getPackageFile(ctx: Context, { project }: ProjectSubject, id: number): Promise<PackageFile> {
  const [found] = await ctx.db.read
    .select()
    .from(packageFiles)
    .where(and(eq(packageFiles.project_id, project.id), eq(packageFiles.id, id)))
  if (!found) throw notFound()
  return found
}

const target = ({ project }: ProjectSubject) => ({ type: 'project' as const, id: project.id, name: fullPathOf(project) })

/** Deletes a version with its files, whose bytes go within a day (PK-15). */
export async function deletePackage(ctx: Context, subject: ProjectSubject, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [deleted] = await tx
      .delete(packages)
      .where(and(eq(packages.project_id, subject.project.id), eq(packages.id, id)))
      .returning({ type: packages.type, name: packages.name, version: packages.version })
    if (!deleted) throw missingPackage()
    await checkProtected(tx, subject, 'delete', deleted)
    await audit(ctx, tx, { action: 'package_deleted', target: target(subject), changes: deleted })
  })
}

/** Deletes one file of a version, which stays (PK-15). */
export async function deletePackageFile(ctx: Context, subject: ProjectSubject, id: number, fileId: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [of] = await tx
      .select({ type: packages.type, name: packages.name })
      .from(packages)
      .where(and(eq(packages.project_id, subject.project.id), eq(packages.id, id)))
    if (!of) throw notFound()
    await checkProtected(tx, subject, 'delete', of)
    const [deleted] = await tx
      .delete(packageFiles)
      .where(and(eq(packageFiles.project_id, subject.project.id), eq(packageFiles.package_id, id), eq(packageFiles.id, fileId)))
      .returning({ file_name: packageFiles.file_name, package_id: packageFiles.package_id })
    if (!deleted) throw notFound()
    await audit(ctx, tx, { action: 'package_file_deleted', target: target(subject), changes: deleted })
  })
}
