import { and, eq, inArray } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import { fullPathOf } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { packageFiles, packages } from '../../db/schema/index.js'
import { conflict, invalidInput } from '../../failures.js'
import { audit } from '../core/audit.js'
import { lockName } from '../core/lock-name.js'
import { missingPackage } from './caller.js'
import { fileOf, type NpmDocument, putTags, revisionOf } from './npm.js'
import { checkProtected } from './protection.js'

interface Version {
  id: number
  version: string
}

/** Runs work on the versions of a package, the oldest first, while none is added; 409 if they are others than those of the revision. */
async function withVersions(
  ctx: Context,
  subject: ProjectSubject,
  { name, revision }: { name: string; revision: string },
  work: (tx: Transaction, versions: Version[]) => Promise<void>,
): Promise<void> {
  const { project } = subject
  await ctx.db.transaction(async (tx) => {
    await checkProtected(tx, subject, 'delete', { type: 'npm', name })
    await lockName(tx, `package ${project.id} npm ${name}`)
    const versions = await tx
      .select({ id: packages.id, version: packages.version })
      .from(packages)
      .where(and(eq(packages.project_id, project.id), eq(packages.type, 'npm'), eq(packages.name, name)))
      .orderBy(packages.id)
    if (versions.length === 0) throw missingPackage()
    if (revisionOf(versions) !== revision) throw conflict('The package has been changed meanwhile')
    await work(tx, versions)
  })
}

async function remove(ctx: Context, tx: Transaction, { project }: ProjectSubject, name: string, versions: Version[]): Promise<void> {
  const ids = versions.map(({ id }) => id)
  await tx.delete(packages).where(and(eq(packages.project_id, project.id), inArray(packages.id, ids)))
  const target = { type: 'project' as const, id: project.id, name: fullPathOf(project) }
  const version = versions.length === 1 ? versions[0]?.version : `${versions.length} versions`
  await audit(ctx, tx, { action: 'package_deleted', target, changes: { type: 'npm', name, version } })
}

/** Deletes all versions of a package (PK-23). */
export const unpublishAll = (ctx: Context, subject: ProjectSubject, at: { name: string; revision: string }): Promise<void> =>
  withVersions(ctx, subject, at, (tx, versions) => remove(ctx, tx, subject, at.name, versions))

/** Deletes the one version that a description of the package has no more, and sets its tags (PK-23). */
export const unpublishMissing = (
  ctx: Context,
  subject: ProjectSubject,
  at: { name: string; revision: string },
  document: NpmDocument,
): Promise<void> =>
  withVersions(ctx, subject, at, async (tx, versions) => {
    const gone = versions.filter(({ version }) => !Object.hasOwn(document.versions, version))
    if (gone.length !== 1 || gone.length === versions.length) throw invalidInput('versions must be without one of those that are there')
    await remove(ctx, tx, subject, at.name, gone)
    const left = new Map(versions.map(({ version, id }) => [version, id]))
    for (const { version } of gone) left.delete(version)
    await putTags(tx, subject, at.name, document['dist-tags'], left)
  })

/** Deletes the version of a file; none is left of one that was unpublished before. */
export async function unpublishFile(ctx: Context, subject: ProjectSubject, at: { name: string; revision: string }, file: string): Promise<void> {
  const [found] = await ctx.db.write
    .select({ id: packages.id })
    .from(packages)
    .innerJoin(packageFiles, eq(packageFiles.package_id, packages.id))
    .where(
      and(
        eq(packages.project_id, subject.project.id),
        eq(packages.type, 'npm'),
        eq(packages.name, at.name),
        eq(packageFiles.file_name, file.slice(file.indexOf('/') + 1)),
      ),
    )
  if (!found) return
  await withVersions(ctx, subject, at, async (tx, versions) => {
    const gone = versions.filter(({ version, id }) => id === found.id && file.endsWith(fileOf(at.name, version)))
    if (gone.length > 0) await remove(ctx, tx, subject, at.name, gone)
  })
}
