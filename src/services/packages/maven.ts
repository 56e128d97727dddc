import { createHash } from 'node:crypto'
import { and, asc, desc, eq, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { namespaces, packageFiles, packages, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { conflict, invalidInput } from '../../failures.js'
import type { ReceivedObject } from '../../lib/files/object-store.js'
import { escapeHtml } from '../../lib/text/html.js'
import { missingPackage, type PackageCaller, type ReachShape } from './caller.js'
import { addFile, ensurePackage, findFile, MAX_VERSIONS, type PackageFile } from './files.js'
import { type PackagePlace, shapeOf, valuesOf, within } from './place.js'

/** The address of a file of Maven: of a version, or beside the versions. */
export interface MavenFile {
  name: string
  /** Empty beside the versions. */
  version: string
  file: string
  /** The checksum of the file that is asked for or sent in its place. */
  digest: 'md5' | 'sha1' | 'sha256' | 'sha512' | null
}

const METADATA = 'maven-metadata.xml'
const MAX_PATH = 512

/** Reads a path such as `org/example/app/1.0/app-1.0.jar`; 400 if it is none (PK-6, PK-40). */
export function mavenFile(path: string): MavenFile {
  const parts = path.split('/')
  if (parts.length < 2 || path.length > MAX_PATH || parts.some((part) => !/^[\w.+~@-]{1,255}$/.test(part) || /^\.+$/.test(part)))
    throw invalidInput('path is invalid')
  const given = parts.at(-1) ?? ''
  const [, stem, digest] = /^(.+)\.(md5|sha1|sha256|sha512)$/.exec(given) ?? []
  const file = stem ?? given
  const folder = parts.slice(0, -1)
  // of a snapshot each version has one of its own
  const isBeside = file === METADATA && !folder.at(-1)?.endsWith('-SNAPSHOT')
  const version = isBeside ? '' : (folder.pop() ?? '')
  if (folder.length === 0) throw invalidInput('path is invalid')
  return { name: folder.join('/'), version, file, digest: (digest ?? null) as MavenFile['digest'] }
}

const of = ({ name, version }: Pick<MavenFile, 'name' | 'version'>) =>
  and(eq(packages.type, 'maven'), eq(packages.name, name), eq(packages.version, version))

/** Publishes a file. One of the same name stays and counts no more, but for the list of versions that each deployment sends (PK-4). */
export const publishMaven = (
  ctx: Context,
  subject: ProjectSubject,
  who: PackageCaller,
  { name, version, file }: MavenFile,
  received: ReceivedObject,
): Promise<PackageFile> =>
  addFile(ctx, subject, received, file, async (tx) => {
    const { id } = await ensurePackage(ctx, tx, subject, who, { type: 'maven', name, version })
    if (file === METADATA) await tx.delete(packageFiles).where(and(eq(packageFiles.package_id, id), eq(packageFiles.file_name, file)))
    return id
  })

/** Compares a checksum that a client sends with the file that it has sent before; 409 if it is of another. */
export async function checkMaven(ctx: Context, { project }: ProjectSubject, at: MavenFile, sent: string): Promise<void> {
  const found = await findFile(ctx.db.write, project.id, of(at), at.file)
  if (!found) throw missingPackage()
  if (at.digest !== null && digestOf(found, at.digest) !== sent.trim().split(/\s/, 1).join('').toLowerCase())
    throw conflict('The checksum is not that of the file')
}

const digestOf = ({ md5, sha1, oid, sha512 }: PackageFile, kind: NonNullable<MavenFile['digest']>) => ({ md5, sha1, sha256: oid, sha512 })[kind]

const ofVersion = and(eq(packages.type, 'maven'), eq(packages.name, sql.placeholder('name')), eq(packages.version, sql.placeholder('version')))

const selectFile = statement('file of Maven', (db, reach: ReachShape | null) =>
  db
    .select({ file: packageFiles })
    .from(packageFiles)
    .innerJoin(packages, eq(packages.id, packageFiles.package_id))
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(and(ofVersion, within(reach), eq(packageFiles.file_name, sql.placeholder('file'))))
    .orderBy(desc(packageFiles.id))
    .limit(1),
)

const selectVersions = statement('versions of Maven', (db, reach: ReachShape | null) =>
  db
    .select({ version: packages.version, updated_at: packages.updated_at })
    .from(packages)
    .innerJoin(projects, eq(projects.id, packages.project_id))
    .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(and(eq(packages.type, 'maven'), eq(packages.name, sql.placeholder('name')), sql`${packages.version} <> ''`, within(reach)))
    .orderBy(asc(packages.id))
    .limit(MAX_VERSIONS),
)

/** A stored file, or a text that is made of rows: checksums, and the list of versions. */
export type MavenContent = { stored: PackageFile } | { text: string; type: string }

/** What is at an address; 404 if there is nothing (PK-40, PK-41). */
export async function mavenContent(ctx: Context, place: PackagePlace, at: MavenFile): Promise<MavenContent> {
  const [reach, values] = [shapeOf(place), valuesOf(place)]
  const { name, version, file, digest } = at
  if (version === '' && file === METADATA) {
    const versions = await selectVersions(ctx.db, reach).execute({ ...values, name })
    if (versions.length > 0) return shown(versionList(name, versions), digest)
  }
  const [found] = await selectFile(ctx.db, reach).execute({ ...values, name, version, file })
  if (!found) throw missingPackage()
  if (digest === null) return { stored: found.file }
  const text = digestOf(found.file, digest)
  if (!text) throw missingPackage()
  return { text, type: 'text/plain' }
}

const shown = (text: string, digest: MavenFile['digest']): MavenContent =>
  digest ? { text: createHash(digest).update(text).digest('hex'), type: 'text/plain' } : { text, type: 'application/xml' }

/** The list of versions, made of those that are there now: a deleted one is in none (PK-41). */
function versionList(name: string, versions: { version: string; updated_at: Date }[]): string {
  const slash = name.lastIndexOf('/')
  const tag = (tagName: string, text: string) => `<${tagName}>${escapeHtml(text)}</${tagName}>`
  const latest = versions.at(-1)?.version ?? ''
  const release = versions.findLast(({ version }) => !version.endsWith('-SNAPSHOT'))?.version
  const updated = new Date(Math.max(...versions.map(({ updated_at }) => updated_at.getTime())))
  const stamp = updated.toISOString().replace(/\D/g, '').slice(0, 14)
  return `<?xml version="1.0" encoding="UTF-8"?>
<metadata>
  ${tag('groupId', name.slice(0, Math.max(slash, 0)).replaceAll('/', '.'))}
  ${tag('artifactId', name.slice(slash + 1))}
  <versioning>
    ${tag('latest', latest)}${release === undefined ? '' : `\n    ${tag('release', release)}`}
    <versions>
${versions.map(({ version }) => `      ${tag('version', version)}`).join('\n')}
    </versions>
    ${tag('lastUpdated', stamp)}
  </versioning>
</metadata>
`
}
