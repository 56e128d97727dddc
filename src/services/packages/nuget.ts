import { and, asc, desc, eq, lte, sql } from 'drizzle-orm'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { decoded } from '../../db/decoded.js'
import { substring } from '../../db/fuzzy.js'
import { namespaces, packageFiles, packages, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { ReceivedObject } from '../../lib/files/object-store.js'
import { storableJson } from '../../lib/storable.js'
import { audit } from '../core/audit.js'
import { lockName } from '../core/lock-name.js'
import { missingPackage, type PackageCaller, type ReachShape } from './caller.js'
import { addFile, checkDescriptions, ensurePackage, MAX_VERSIONS, type PackageFile } from './files.js'
import type { Nuspec } from './nuspec.js'
import { type PackagePlace, shapeOf, valuesOf, within } from './place.js'
import { checkProtected } from './protection.js'

/** The most versions that a group shows of a package, names that are searched, and versions of each that is found. */
const MAX_IN_GROUP = 1_000
const MAX_NAMES = 20_000
const MAX_FOUND_VERSIONS = 50

const KEY = sql`lower(${packages.name})`
const SORT = sql`(${packages.metadata} ->> 'sort') collate "C"`
const ENTRY = sql<string>`(${packages.metadata} - 'sort')::text`
const ofName = and(eq(packages.type, 'nuget'), sql`${KEY} = ${sql.placeholder('name')}::text`)
const ofVersion = and(ofName, sql`lower(${packages.version}) = ${sql.placeholder('version')}::text`)

/** The name under which clients ask for a file. */
export const nugetFileName = (name: string, version: string) => `${name}.${version}.nupkg`.toLowerCase()

/** Publishes a package. One of the same name and version stays and counts no more, whatever the case of its letters (PK-4, PK-82). */
export const publishNuget = (
  ctx: Context,
  subject: ProjectSubject,
  who: PackageCaller,
  { name, version, sort, entry }: Nuspec,
  received: ReceivedObject,
): Promise<PackageFile> =>
  addFile(ctx, subject, received, nugetFileName(name, version), async (tx) => {
    await lockName(tx, `package ${subject.project.id} nuget ${name.toLowerCase()}`)
    const known = await spellings(tx, subject.project.id, name)
    const metadata = storableJson({ ...entry, sort })
    const { id, isNew } = await ensurePackage(ctx, tx, subject, who, {
      type: 'nuget',
      name: known[0]?.name ?? name,
      version: known.find((other) => other.version.toLowerCase() === version.toLowerCase())?.version ?? version,
      metadata,
    })
    if (!isNew) await tx.update(packages).set({ metadata }).where(eq(packages.id, id))
    await checkDescriptions(tx, subject, 'nuget', known[0]?.name ?? name)
    return id
  })

const spellings = (tx: Transaction, project: number, name: string) =>
  tx
    .select({ name: packages.name, version: packages.version })
    .from(packages)
    .where(and(eq(packages.project_id, project), eq(packages.type, 'nuget'), sql`${KEY} = ${name.toLowerCase()}`))

/** What is shown of a version. */
const COLUMNS = {
  project: packages.project_id,
  name: packages.name,
  version: packages.version,
  entry: decoded(ENTRY, String),
  created_at: packages.created_at,
}

const selectVersions = statement('versions of a NuGet package', (db, reach: ReachShape | null) =>
  db
    .select(COLUMNS)
    .from(packages)
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(and(ofName, within(reach)))
    .orderBy(desc(SORT), desc(packages.id))
    .limit(reach ? MAX_IN_GROUP : MAX_VERSIONS),
)
export type NugetRow = Awaited<ReturnType<ReturnType<typeof selectVersions>['execute']>>[number]

/** The versions of a package, the lowest first; one that several projects have is the newest of them. 404 if there is none (PK-82). */
export async function nugetVersions(ctx: Context, place: PackagePlace, name: string): Promise<NugetRow[]> {
  const rows = await selectVersions(ctx.db, shapeOf(place)).execute({ ...valuesOf(place), name: name.toLowerCase() })
  if (rows.length === 0) throw missingPackage()
  const seen = new Set<string>()
  return rows.filter(({ version }) => !seen.has(version.toLowerCase()) && seen.add(version.toLowerCase())).reverse()
}

const selectNumbers = statement('version numbers of a NuGet package', (db) =>
  db
    .select({ version: packages.version })
    .from(packages)
    .where(and(eq(packages.project_id, sql.placeholder('project')), ofName))
    .orderBy(asc(SORT)),
)

/** The numbers of the versions of a package of a project, the lowest first; 404 if there is none. */
export async function nugetNumbers(ctx: Context, { project }: ProjectSubject, name: string): Promise<string[]> {
  const rows = await selectNumbers(ctx.db, null).execute({ project: project.id, name: name.toLowerCase() })
  if (rows.length === 0) throw missingPackage()
  return rows.map(({ version }) => version)
}

const selectVersion = statement('version of a NuGet package', (db, reach: ReachShape | null) =>
  db
    .select(COLUMNS)
    .from(packages)
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(and(ofVersion, within(reach)))
    .orderBy(desc(packages.id))
    .limit(1),
)

/** One version of a package; 404 if there is none. */
export async function nugetVersion(ctx: Context, place: PackagePlace, name: string, version: string): Promise<NugetRow> {
  const values = { ...valuesOf(place), name: name.toLowerCase(), version: version.toLowerCase() }
  const [found] = await selectVersion(ctx.db, shapeOf(place)).execute(values)
  if (!found) throw missingPackage()
  return found
}

const selectFile = statement('file of NuGet', (db) =>
  db
    .select({ file: packageFiles })
    .from(packageFiles)
    .innerJoin(packages, eq(packages.id, packageFiles.package_id))
    .where(and(eq(packages.project_id, sql.placeholder('project')), ofVersion, eq(packageFiles.file_name, sql.placeholder('file'))))
    .orderBy(desc(packageFiles.id))
    .limit(1),
)

/** The newest file of a version by its name; 404 if there is none. */
export async function nugetFile(
  ctx: Context,
  { project }: ProjectSubject,
  { name, version, file }: { name: string; version: string; file: string },
): Promise<PackageFile> {
  const values = { project: project.id, name: name.toLowerCase(), version: version.toLowerCase(), file: file.toLowerCase() }
  const [found] = await selectFile(ctx.db, null).execute(values)
  if (!found) throw missingPackage()
  return found.file
}

/** Deletes a version with its files; 404 if there is none. */
export async function unpublishNuget(ctx: Context, subject: ProjectSubject, name: string, version: string): Promise<void> {
  const { project } = subject
  const same = and(sql`${KEY} = ${name.toLowerCase()}`, sql`lower(${packages.version}) = ${version.toLowerCase()}`)
  await ctx.db.transaction(async (tx) => {
    const [deleted] = await tx
      .delete(packages)
      .where(and(eq(packages.project_id, project.id), eq(packages.type, 'nuget'), same))
      .returning({ type: packages.type, name: packages.name, version: packages.version })
    if (!deleted) throw missingPackage()
    await checkProtected(tx, subject, 'delete', deleted)
    const target = { type: 'project' as const, id: project.id, name: fullPathOf(project) }
    await audit(ctx, tx, { action: 'package_deleted', target, changes: deleted })
  })
}

export interface NugetSearch {
  q: string
  prerelease: boolean
  skip: number
  take: number
}

/** Released versions, or all. */
const isShown = sql`(${sql.placeholder('prerelease')}::boolean or strpos(${packages.version}, '-') = 0)`

const selectNames = statement('names of NuGet packages', (db, reach: ReachShape | null) =>
  db
    .selectDistinct({ name: decoded(sql<string>`${KEY}`, String) })
    .from(packages)
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(and(eq(packages.type, 'nuget'), sql`${packages.name} ilike ${sql.placeholder('search')}`, isShown, within(reach)))
    .orderBy(sql`1`)
    .limit(MAX_NAMES),
)

const selectFound = statement('NuGet packages that were found', (db, reach: ReachShape | null) => {
  const rank = sql`row_number() over (partition by ${KEY} order by ${SORT} desc, ${packages.id} desc)`
  const ranked = db
    .select({
      name: packages.name,
      version: packages.version,
      rank: decoded(rank, Number).as('rank'),
      // what is described is the highest version
      entry: decoded(sql<string | null>`case when ${rank} = 1 then ${ENTRY} end`, String).as('entry'),
    })
    .from(packages)
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(and(eq(packages.type, 'nuget'), sql`${KEY} = any(${sql.placeholder('names')}::text[])`, isShown, within(reach)))
    .as('ranked')
  return db.select().from(ranked).where(lte(ranked.rank, MAX_FOUND_VERSIONS)).orderBy(sql`lower(${ranked.name})`, ranked.rank)
})

export interface NugetFound {
  name: string
  entry: string
  /** The highest first. */
  versions: string[]
}

/** The packages whose names have a text in them, by name (PK-84). */
export async function searchNuget(ctx: Context, place: PackagePlace, { q, prerelease, skip, take }: NugetSearch) {
  const [reach, values] = [shapeOf(place), { ...valuesOf(place), prerelease }]
  const all = await selectNames(ctx.db, reach).execute({ ...values, search: substring(q) })
  const names = all.slice(skip, skip + take).map(({ name }) => name)
  const rows = names.length === 0 ? [] : await selectFound(ctx.db, reach).execute({ ...values, names })
  const found: NugetFound[] = []
  for (const { name, version, entry } of rows) {
    if (entry !== null) found.push({ name, entry, versions: [] })
    const { versions } = found.at(-1) as NugetFound
    if (versions.at(-1)?.toLowerCase() !== version.toLowerCase()) versions.push(version)
  }
  return { total: all.length, found }
}
