import { and, eq } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { packages } from '../../db/schema/index.js'
import { invalidInput } from '../../failures.js'
import type { ReceivedObject } from '../../lib/files/object-store.js'
import { missingPackage, type PackageCaller } from './caller.js'
import { addFile, ensurePackage, findFile, isName, type PackageFile } from './files.js'

/** The address of a file of a generic package. */
export interface GenericFile {
  name: string
  version: string
  file: string
}

/** Throws 400 for a name, version or file name that a generic package may not have (PK-6). */
export function checkGeneric({ name, version, file }: GenericFile): void {
  if (!isName(name)) throw invalidInput('package_name is invalid')
  if (!isName(version)) throw invalidInput('package_version is invalid')
  if (!isName(file)) throw invalidInput('file_name is invalid')
}

/** Publishes a file; one of the same name stays, and counts no more (PK-4, PK-10). */
export const publishGeneric = (
  ctx: Context,
  subject: ProjectSubject,
  who: PackageCaller,
  { name, version, file }: GenericFile,
  { received, status }: { received: ReceivedObject; status: 'default' | 'hidden' },
): Promise<PackageFile> =>
  addFile(ctx, subject, received, file, async (tx) => (await ensurePackage(ctx, tx, subject, who, { type: 'generic', name, version, status })).id)

/** The newest file of this name; 404 if there is none. */
export async function genericFile(ctx: Context, { project }: ProjectSubject, { name, version, file }: GenericFile): Promise<PackageFile> {
  const found = await findFile(
    ctx.db.read,
    project.id,
    and(eq(packages.type, 'generic'), eq(packages.name, name), eq(packages.version, version)),
    file,
  )
  if (!found) throw missingPackage()
  return found
}
