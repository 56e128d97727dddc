import { and, desc, eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { decoded } from '../../db/decoded.js'
import { namespaces, packageFiles, packages, packageTags, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { Failure, invalidInput, refused } from '../../failures.js'
import type { ReceivedObject } from '../../lib/files/object-store.js'
import { storable } from '../../lib/storable.js'
import { missingPackage, type PackageAbility, type PackageCaller, packageProject } from './caller.js'
import { addFile, checkDescriptions, ensurePackage, findFile, type PackageFile } from './files.js'
import { checkProtected } from './protection.js'

/** The most bytes of what is kept of the description of a version, and tags of a package (PK-20). */
const MAX_METADATA = 100 * 1_024
const MAX_TAGS = 200

const NAME = /^(?:@[\w.~-]{1,100}\/)?[\w.+~-]{1,200}$/
const VERSION = /^\d{1,15}\.\d{1,15}\.\d{1,15}(?:-[\w.-]{1,100})?(?:\+[\w.-]{1,100})?$/
const TAG = /^[^\s\p{Cc}\p{Cs}/\\%]{1,255}$/u

/** Whether an npm package can be called so. */
export const isNpmName = (name: string): boolean => NAME.test(name) && !name.split('/').some((part) => /^@?\.+$/.test(part))

/** The fields of a description that clients read to install a version, or that people are shown. */
const KEPT =
  `author bin bugs bundleDependencies bundledDependencies contributors cpu dependencies deprecated description devDependencies directories engines
 funding hasInstallScript homepage keywords libc license main maintainers module optionalDependencies os peerDependencies peerDependenciesMeta repository type types
 _hasShrinkwrap`.split(/\s+/)

const Document = z.object({
  name: z.string(),
  'dist-tags': z.record(z.string(), z.string()).default({}),
  versions: z.record(z.string(), z.record(z.string(), z.unknown())),
})
export type NpmDocument = z.infer<typeof Document>
const Dist = z.object({ shasum: z.string().optional(), integrity: z.string().optional() }).catch({})

const alreadyThere = () => new Failure('forbidden', { error: 'Package already exists', message: '403 Forbidden - Package already exists' })

/** What `npm publish` or `npm deprecate` has sent beside the package. */
export function readNpmDocument(given: unknown, name: string): NpmDocument {
  const { success, data } = Document.safeParse(given)
  if (!success) throw invalidInput('the body is no description of a package')
  if (data.name !== name) throw invalidInput('name is not that of the address')
  for (const tag of Object.keys(data['dist-tags'])) checkTag(tag)
  return data
}

function checkTag(tag: string): void {
  if (!TAG.test(tag) || VERSION.test(tag)) throw invalidInput('tag is invalid')
}

const baseOf = (name: string) => name.slice(name.indexOf('/') + 1)
export const fileOf = (name: string, version: string) => `${baseOf(name)}-${version}.tgz`

/** Publishes a version, which must be new (PK-20). */
export async function publishNpm(
  ctx: Context,
  subject: ProjectSubject,
  who: PackageCaller,
  name: string,
  { document, received }: { document: NpmDocument; received: ReceivedObject },
): Promise<PackageFile> {
  const [[version, description] = [], ...others] = Object.entries(document.versions)
  if (version === undefined || description === undefined || others.length > 0) throw invalidInput('versions must have one version')
  if (!VERSION.test(version)) throw invalidInput('version is invalid')
  const { shasum, integrity } = Dist.parse(description['dist'])
  const { sha1, sha512 = '' } = received.digests
  const digest = `sha512-${Buffer.from(sha512, 'hex').toString('base64')}`
  if ((shasum !== undefined && shasum !== sha1) || (integrity?.startsWith('sha512-') && !integrity.split(/\s+/).includes(digest)))
    throw refused('The package is not the one that its checksum is of')
  const metadata = Object.fromEntries(KEPT.flatMap((key) => (description[key] === undefined ? [] : [[key, description[key]]])))
  if (Buffer.byteLength(JSON.stringify(metadata)) > MAX_METADATA) throw refused(`The description of a version may have ${MAX_METADATA / 1_024} KiB`)
  return addFile(ctx, subject, received, fileOf(name, version), async (tx) => {
    if (await isTaken(tx, subject, name)) throw alreadyThere()
    const { id, isNew } = await ensurePackage(ctx, tx, subject, who, { type: 'npm', name, version, metadata })
    if (!isNew) throw alreadyThere()
    await checkDescriptions(tx, subject, 'npm', name)
    for (const [tag, tagged] of Object.entries(document['dist-tags'])) if (tagged === version) await setTag(tx, subject, { name, tag, id })
    return id
  })
}

/** Whether another project of the namespace that the scope names has this package, so that there would be two at one address (PK-21). */
async function isTaken(tx: Transaction, { project }: ProjectSubject, name: string): Promise<boolean> {
  const root = project.namespace.full_path.split('/', 1).join('').toLowerCase()
  if (!name.toLowerCase().startsWith(`@${root}/`)) return false
  const [found] = await tx
    .select({ id: packages.id })
    .from(packages)
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(
      and(
        eq(packages.type, 'npm'),
        eq(packages.name, name),
        sql`${packages.project_id} <> ${project.id} and split_part(lower(${namespaces.full_path}), '/', 1) = ${root}`,
      ),
    )
    .limit(1)
  return found !== undefined
}

async function setTag(tx: Transaction, { project }: ProjectSubject, { name, tag, id }: { name: string; tag: string; id: number }): Promise<void> {
  const of = and(eq(packageTags.project_id, project.id), eq(packageTags.package_name, name))
  if ((await tx.$count(packageTags, of)) >= MAX_TAGS) throw refused(`A package may have ${MAX_TAGS} tags`)
  await tx
    .insert(packageTags)
    .values({ project_id: project.id, package_id: id, package_name: name, name: tag })
    .onConflictDoUpdate({ target: [packageTags.project_id, packageTags.package_name, packageTags.name], set: { package_id: id } })
}

/** Makes the tags of a package those that are given, as far as its versions are there. */
export async function putTags(
  tx: Transaction,
  subject: ProjectSubject,
  name: string,
  tags: Record<string, string>,
  versions: Map<string, number>,
): Promise<void> {
  const given = Object.entries(tags).flatMap(([tag, version]) => {
    const id = versions.get(version)
    return id === undefined ? [] : [{ tag, id }]
  })
  if (given.length > MAX_TAGS) throw refused(`A package may have ${MAX_TAGS} tags`)
  await tx.delete(packageTags).where(and(eq(packageTags.project_id, subject.project.id), eq(packageTags.package_name, name)))
  for (const { tag, id } of given) await setTag(tx, subject, { name, tag, id })
}

/** Names the versions that there are, which clients that unpublish one say again: the newest is one that was never there before. */
export const revisionOf = (versions: { id: number }[]): string => `${versions.length}-${versions.at(-1)?.id ?? 0}`

/** Sets or clears the warning that clients show for versions, as `npm deprecate` does. */
export async function deprecateNpm(ctx: Context, subject: ProjectSubject, name: string, document: NpmDocument): Promise<void> {
  const { project } = subject
  await checkProtected(ctx.db.write, subject, 'push', { type: 'npm', name })
  const given = Object.entries(document.versions).flatMap(([version, { deprecated }]) =>
    typeof deprecated === 'string' ? [{ version, deprecated: storable(deprecated.slice(0, 1_024)) }] : [],
  )
  await ctx.db.write.execute(sql`update ${packages} p
    set metadata = case when g.deprecated = '' then p.metadata - 'deprecated' else p.metadata || jsonb_build_object('deprecated', g.deprecated) end
    from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) g(version text, deprecated text)
    where p.project_id = ${project.id} and p.type = 'npm' and p.name = ${name} and p.version = g.version`)
}

const selectVersions = statement('npm versions', (db) =>
  db
    .select({
      id: packages.id,
      version: packages.version,
      metadata: decoded(sql<string>`${packages.metadata}::text`, String),
      created_at: packages.created_at,
      sha1: packageFiles.sha1,
      sha512: packageFiles.sha512,
    })
    .from(packages)
    .innerJoin(packageFiles, eq(packageFiles.package_id, packages.id))
    .where(and(eq(packages.project_id, sql.placeholder('project')), eq(packages.type, 'npm'), eq(packages.name, sql.placeholder('name'))))
    .orderBy(packages.id),
)

const selectTags = statement('npm tags', (db) =>
  db
    .select({ tag: packageTags.name, version: packages.version })
    .from(packageTags)
    .innerJoin(packages, eq(packages.id, packageTags.package_id))
    .where(and(eq(packageTags.project_id, sql.placeholder('project')), eq(packageTags.package_name, sql.placeholder('name'))))
    .orderBy(packageTags.name),
)

const tagsOf = async (ctx: Context, project: number, name: string) =>
  Object.fromEntries((await selectTags(ctx.db, null).execute({ project, name })).map(({ tag, version }) => [tag, version]))

const json = JSON.stringify

/**
 * What clients read of all versions of a package, as JSON in pieces, with its revision for those that will write it; 404
 * if there is none (PK-20).
 */
export async function npmPackument(ctx: Context, { project }: ProjectSubject, name: string, write: boolean): Promise<string[]> {
  const [versions, tags] = await Promise.all([selectVersions(ctx.db, null).execute({ project: project.id, name }), tagsOf(ctx, project.id, name)])
  const newest = versions.at(-1)
  if (!newest) throw missingPackage()
  const address = `${ctx.links.base}/api/v4/projects/${project.id}/packages/npm/${name}/-/`
  const scope = name.slice(0, name.indexOf('/') + 1)
  const shown = versions.map(({ version, metadata, sha1, sha512 }) => {
    const tarball = `${address}${scope}${fileOf(name, version)}`
    const dist = { shasum: sha1, ...(sha512 && { integrity: `sha512-${Buffer.from(sha512, 'hex').toString('base64')}` }), tarball }
    const own = metadata === '{}' ? '}' : `,${metadata.slice(1)}`
    return `${json(version)}:{"name":${json(name)},"version":${json(version)},"dist":${json(dist)}${own}`
  })
  const time = Object.fromEntries(versions.map(({ version, created_at }) => [version, created_at]))
  const times = { created: versions[0]?.created_at, modified: newest.created_at, ...time }
  const revision = write ? `"_rev":${json(revisionOf(versions))},` : ''
  const head = `{"_id":${json(name)},${revision}"name":${json(name)},"dist-tags":${json({ latest: newest.version, ...tags })},"versions":{`
  return [head, ...shown.map((text, at) => (at > 0 ? `,${text}` : text)), `},"time":${json(times)}}`]
}

/** The package of a version by the name of its file, with or without the scope; 404 if there is none. */
export async function npmFile(ctx: Context, { project }: ProjectSubject, name: string, file: string): Promise<PackageFile> {
  const found = await findFile(ctx.db.read, project.id, and(eq(packages.type, 'npm'), eq(packages.name, name)), baseOf(file))
  if (!found) throw missingPackage()
  return found
}

/** The version that each tag of a package is on; 404 without a package (PK-22). */
export async function npmTags(ctx: Context, { project }: ProjectSubject, name: string): Promise<Record<string, string>> {
  const [newest] = await ctx.db.read
    .select({ version: packages.version })
    .from(packages)
    .where(and(eq(packages.project_id, project.id), eq(packages.type, 'npm'), eq(packages.name, name)))
    .orderBy(desc(packages.id))
    .limit(1)
  if (!newest) throw missingPackage()
  return { latest: newest.version, ...(await tagsOf(ctx, project.id, name)) }
}

/** Puts a tag on a version; 404 if there is none (PK-22). */
export async function tagNpm(ctx: Context, subject: ProjectSubject, { name, tag, version }: { name: string; tag: string; version: string }) {
  checkTag(tag)
  await ctx.db.transaction(async (tx) => {
    await checkProtected(tx, subject, 'push', { type: 'npm', name })
    const of = and(eq(packages.project_id, subject.project.id), eq(packages.type, 'npm'), eq(packages.name, name), eq(packages.version, version))
    const [found] = await tx.select({ id: packages.id }).from(packages).where(of).for('key share')
    if (!found) throw missingPackage()
    await setTag(tx, subject, { name, tag, id: found.id })
  })
}

/** Removes a tag; 404 if there is none (PK-22). */
export async function untagNpm(ctx: Context, subject: ProjectSubject, { name, tag }: { name: string; tag: string }): Promise<void> {
  const { project } = subject
  await checkProtected(ctx.db.write, subject, 'push', { type: 'npm', name })
  const deleted = await ctx.db.write
    .delete(packageTags)
    .where(and(eq(packageTags.project_id, project.id), eq(packageTags.package_name, name), eq(packageTags.name, tag)))
    .returning({ id: packageTags.id })
  if (deleted.length === 0) throw missingPackage()
}

const selectHolder = statement('project of an npm package', (db) =>
  db
    .select({ path: projects.path, namespace: namespaces })
    .from(packages)
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(
      and(
        eq(packages.type, 'npm'),
        eq(packages.name, sql.placeholder('name')),
        sql`split_part(lower(${namespaces.full_path}), '/', 1) = ${sql.placeholder('root')}::text`,
      ),
    )
    .orderBy(desc(packages.id))
    .limit(1),
)

/** The project whose package has this name, in the namespace that the scope of the name is; 404 without one (PK-21). */
export async function projectOfNpm(ctx: Context, who: PackageCaller, name: string, ability: PackageAbility) {
  const root = /^@([^/]+)\//.exec(name)?.[1]?.toLowerCase()
  const [found] = root === undefined ? [] : await selectHolder(ctx.db, null).execute({ name, root })
  // of a project that is not there the same is said as of one that is hidden
  return packageProject(ctx, who, found ? fullPathOf(found) : '-', ability)
}
