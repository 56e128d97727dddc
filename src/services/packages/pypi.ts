import { and, asc, eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { decoded } from '../../db/decoded.js'
import { namespaces, packageFiles, packages, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { invalidInput, refused } from '../../failures.js'
import type { ReceivedObject } from '../../lib/files/object-store.js'
import { missingPackage, type PackageCaller, type ReachShape } from './caller.js'
import { addFile, ensurePackage, type PackageFile } from './files.js'
import { type PackagePlace, shapeOf, valuesOf, within } from './place.js'

/** The fields that `twine` sends beside the file. */
const Fields = z.object({
  name: z.string().regex(/^(?!\.+$)[\w.-]{1,255}$/),
  version: z.string().regex(/^(?!\.+$)[\w.!+-]{1,255}$/),
  requires_python: z.string().max(255).default(''),
  summary: z.string().max(1_024).catch(''),
  md5_digest: z.string().optional(),
  sha256_digest: z.string().optional(),
})

const FILE = /^(?!\.+$)[\w.!+-]{1,255}$/

/** The name by which all spellings of a name are the same (PK-30). */
const normalized = (name: string) => name.replace(/[-_.]+/g, '-').toLowerCase()
const NORMALIZED = sql`lower(regexp_replace(${packages.name}, '[-_.]+', '-', 'g'))`

/** Publishes one file of a version; 400 if the version has a file of this name (PK-31). */
export async function publishPypi(
  ctx: Context,
  subject: ProjectSubject,
  who: PackageCaller,
  given: Record<string, string>,
  { file, received }: { file: string; received: ReceivedObject },
): Promise<PackageFile> {
  const { success, data, error } = Fields.safeParse(given)
  if (!success) throw invalidInput(`${error.issues[0]?.path[0]?.toString()} is invalid`)
  if (!FILE.test(file)) throw invalidInput('content is invalid')
  const { name, version, requires_python, summary, md5_digest, sha256_digest } = data
  if ((sha256_digest && sha256_digest !== received.oid) || (md5_digest && md5_digest !== received.digests.md5))
    throw refused('The file is not the one that its checksum is of')
  return addFile(ctx, subject, received, file, async (tx) => {
    const metadata = { ...(requires_python && { requires_python }), ...(summary && { summary }) }
    const { id } = await ensurePackage(ctx, tx, subject, who, { type: 'pypi', name, version, metadata })
    const taken = await tx.$count(packageFiles, and(eq(packageFiles.package_id, id), eq(packageFiles.file_name, file)))
    if (taken > 0) throw refused('Validation failed: File name has already been taken')
    return id
  })
}

const selectFiles = statement('files of a Python package', (db, reach: ReachShape | null) =>
  db
    .select({
      project: packages.project_id,
      name: packages.name,
      file: packageFiles.file_name,
      sha256: packageFiles.oid,
      requires_python: decoded(sql<string | null>`${packages.metadata} ->> 'requires_python'`, String),
    })
    .from(packages)
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .innerJoin(packageFiles, eq(packageFiles.package_id, packages.id))
    .where(and(eq(packages.type, 'pypi'), sql`${NORMALIZED} = ${sql.placeholder('name')}::text`, within(reach)))
    .orderBy(asc(packageFiles.id))
    .limit(MAX_SHOWN),
)

/** The most files of a package, and packages of an index, that a client is shown. */
const MAX_SHOWN = 20_000

/** All files of a package, under any spelling of its name; 404 if there is none (PK-30). */
export async function pypiFiles(ctx: Context, place: PackagePlace, name: string) {
  const rows = await selectFiles(ctx.db, shapeOf(place)).execute({ ...valuesOf(place), name: normalized(name) })
  if (rows.length === 0) throw missingPackage()
  return rows
}

const selectNames = statement('names of Python packages', (db, reach: ReachShape | null) =>
  db
    .selectDistinct({ name: decoded(sql<string>`${NORMALIZED}`, String) })
    .from(packages)
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(and(eq(packages.type, 'pypi'), within(reach)))
    .orderBy(sql`1`)
    .limit(MAX_SHOWN),
)

/** The names of all packages of a place. */
export const pypiNames = async (ctx: Context, place: PackagePlace): Promise<string[]> =>
  (await selectNames(ctx.db, shapeOf(place)).execute(valuesOf(place))).map(({ name }) => name)

const selectFile = statement('file of a Python package', (db, reach: ReachShape | null) =>
  db
    .select({ file: packageFiles })
    .from(packageFiles)
    .innerJoin(packages, eq(packages.id, packageFiles.package_id))
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(
      and(
        eq(packages.type, 'pypi'),
        eq(packageFiles.oid, sql.placeholder('sha256')),
        eq(packageFiles.file_name, sql.placeholder('file')),
        within(reach),
      ),
    )
    .limit(1),
)

/** A file by its name and digest; 404 if there is none. */
export async function pypiFile(ctx: Context, place: PackagePlace, { sha256, file }: { sha256: string; file: string }): Promise<PackageFile> {
  const [found] = await selectFile(ctx.db, shapeOf(place)).execute({ ...valuesOf(place), sha256, file })
  if (!found) throw missingPackage()
  return found.file
}
