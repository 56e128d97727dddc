import type { Readable } from 'node:stream'
import { and, desc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { decoded } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { commitStatuses, containerBlobs, packageFiles, packages, projects } from '../../db/schema/index.js'
import { Failure, notFound, refused } from '../../failures.js'
import { defineJob } from '../../jobs/kinds.js'
import { type Digest, type Inspect, type ReceivedObject, WrongObject } from '../../lib/files/object-store.js'
import { unnamedObjects } from '../../lib/files/unnamed-objects.js'
import { storableJson } from '../../lib/storable.js'
import type { PackageType } from '../../rules/packages/types.js'
import { lockName } from '../core/lock-name.js'
import { readSettings } from '../core/settings.js'
import type { PackageCaller } from './caller.js'
import { checkProtected } from './protection.js'

export type PackageFile = typeof packageFiles.$inferSelect

const MEBIBYTE = 1_048_576
/** The most versions of a package, and files of a version (PK-7). */
export const MAX_VERSIONS = 5_000
export const MAX_FILES = 10_000
const MAX_CONCURRENT_STORES = 4

const bytes = (limit: number) => (limit > 0 ? limit * MEBIBYTE : Number.POSITIVE_INFINITY)

/** The most bytes of one file of a format (PK-7). */
export const sizeLimit = async (ctx: Context, type: PackageType): Promise<number> => bytes((await readSettings(ctx))[`${type}_packages_size_limit`])

/** 413 with its reason. */
export const tooBig = (what: string) => new Failure('too_large', { message: `413 Request Entity Too Large - ${what}` })

/** Receives the bytes of a file that is not there yet; the caller discards it at the end. Throws 413 beyond the limit of its format. */
export async function receiveFile(
  ctx: Context,
  type: PackageType,
  body: Readable,
  digests: readonly Digest[] = [],
  inspect?: Inspect,
): Promise<ReceivedObject> {
  const limit = await sizeLimit(ctx, type)
  return ctx.packages.receive(body, limit, digests, inspect).catch((error: unknown) => {
    throw error instanceof WrongObject ? tooBig(`a file of this format may have ${limit / MEBIBYTE} MiB`) : error
  })
}

export interface NewPackage {
  type: PackageType
  name: string
  version: string
  status?: 'default' | 'hidden' | undefined
  metadata?: Record<string, unknown> | undefined
}

/** A text that a name or version may be: none that is a folder or a step out of one (PK-6). */
export const isName = (text: string): boolean => /^[\w.+~@-]{1,255}$/.test(text) && !/^\.+$/.test(text)

/** The row of a version, which is made if it is not there; `isNew` says which. */
export async function ensurePackage(
  ctx: Context,
  tx: Transaction,
  subject: ProjectSubject,
  who: PackageCaller,
  { type, name, version, status, metadata }: NewPackage,
): Promise<{ id: number; isNew: boolean }> {
  await checkProtected(tx, subject, 'push', { type, name })
  const { project } = subject
  const now = ctx.now()
  const pipeline = who.job
    ? sql`(select s.pipeline_id from ${commitStatuses} s where s.id = ${who.job.id} and s.project_id = ${project.id})`
    : sql`null::bigint`
  // who adds the first of many waits for those that are counted
  await lockName(tx, `package ${project.id} ${type} ${name}`)
  const key = and(eq(packages.project_id, project.id), eq(packages.type, type), eq(packages.name, name))
  const [found] = await tx
    .update(packages)
    .set({ updated_at: now, ...(status && { status }) })
    .where(and(key, eq(packages.version, version)))
    .returning({ id: packages.id })
  if (found) return { ...found, isNew: false }
  if ((await tx.$count(packages, key)) >= MAX_VERSIONS) throw refused(`A package may have ${MAX_VERSIONS} versions`)
  const values = { project_id: project.id, type, name, version, creator_id: who.user?.id ?? null, created_at: now, updated_at: now }
  const made = await tx
    .insert(packages)
    .values({ ...values, pipeline_id: pipeline, ...(status && { status }), ...(metadata && { metadata: storableJson(metadata) }) })
    .returning({ id: packages.id })
  return { ...onlyRow(made), isNew: true }
}

/** The most bytes of the descriptions of all versions of a package together, which clients are sent at once. */
const MAX_DESCRIPTIONS = 20 * MEBIBYTE

/** Throws 400 if the descriptions of the versions of a package have become too much (PK-20, PK-83). */
export async function checkDescriptions(tx: Transaction, { project }: ProjectSubject, type: PackageType, name: string): Promise<void> {
  const [sum] = await tx
    .select({ bytes: decoded(sql<number>`coalesce(sum(length(${packages.metadata}::text)), 0)`, Number) })
    .from(packages)
    .where(and(eq(packages.project_id, project.id), eq(packages.type, type), eq(packages.name, name)))
  if ((sum?.bytes ?? 0) > MAX_DESCRIPTIONS) throw refused(`The descriptions of all versions may have ${MAX_DESCRIPTIONS / MEBIBYTE} MiB`)
}

/** The most bytes of the packages of a project, and as many of its images (PK-7, OCI-8). */
export const packagesQuota = async (ctx: Context): Promise<number> => bytes((await readSettings(ctx)).project_packages_size_limit)

/** Runs work on the store for an object, few at once: a slow store must not occupy all database connections. */
export const withStore = <T>(ctx: Context, oid: string, work: () => Promise<T>): Promise<T> =>
  ctx.process.mutex.runHere(`package keep ${Number.parseInt(oid.slice(0, 2), 16) % MAX_CONCURRENT_STORES}`, work)

/**
 * Keeps a received file: `place` makes or finds the row of its version, and refuses what may not be. The bytes are stored
 * before the rows are committed; those left without a row are removed after a day (PK-9). Throws 413 beyond the quota.
 */
export async function addFile(
  ctx: Context,
  { project }: ProjectSubject,
  received: ReceivedObject,
  file_name: string,
  place: (tx: Transaction) => Promise<number>,
): Promise<PackageFile> {
  const quota = await packagesQuota(ctx)
  const check = async (tx: Transaction, lock: boolean) => {
    const query = tx.select({ size: projects.packages_size }).from(projects).where(eq(projects.id, project.id))
    const [found] = await (lock ? query.for('no key update') : query)
    if (!found) throw notFound('Project')
    if (found.size + received.size > quota) throw tooBig(`the packages of a project may have ${quota / MEBIBYTE} MiB`)
  }
  return withStore(ctx, received.oid, () =>
    ctx.db.transaction(async (tx) => {
      await lockFile(tx, received.oid)
      // before the file is stored, and again with the project locked
      await check(tx, false)
      const package_id = await place(tx)
      if ((await tx.$count(packageFiles, eq(packageFiles.package_id, package_id))) >= MAX_FILES)
        throw refused(`A version may have ${MAX_FILES} files`)
      await received.commit()
      await check(tx, true)
      const { oid, size, digests } = received
      const values = { package_id, project_id: project.id, file_name, size, oid, created_at: ctx.now() }
      return onlyRow(
        await tx
          .insert(packageFiles)
          .values({ ...values, ...digests })
          .returning(),
      )
    }),
  )
}

/** The newest file of a name among the packages of a project that a condition has; null if there is none (PK-4). */
export async function findFile(
  db: Pick<Transaction, 'select'>,
  projectId: number,
  where: SQL | undefined,
  file_name: string,
): Promise<PackageFile | null> {
  const [found] = await db
    .select({ file: packageFiles })
    .from(packageFiles)
    .innerJoin(packages, eq(packages.id, packageFiles.package_id))
    .where(and(eq(packages.project_id, projectId), where, eq(packageFiles.file_name, file_name)))
    .orderBy(desc(packageFiles.id))
    .limit(1)
  return found?.file ?? null
}

/** Serialises adding and removing an object until the transaction ends. */
export const lockFile = (tx: Transaction, oid: string) => lockName(tx, `package file ${oid}`)

/** Objects of the store that no row names: their rows were deleted, or never made. */
export const unnamedFiles = (ctx: Context): AsyncGenerator<string> =>
  unnamedObjects(ctx.packages, (oids) =>
    ctx.db.write
      .select({ oid: packageFiles.oid })
      .from(packageFiles)
      .where(inArray(packageFiles.oid, oids))
      .union(ctx.db.write.select({ oid: containerBlobs.oid }).from(containerBlobs).where(inArray(containerBlobs.oid, oids))),
  )

/** Removes an object unless a row names it: an upload of the same bytes waits, or comes first and keeps them. */
export const removeIfUnused = (ctx: Context, oid: string): Promise<boolean> =>
  ctx.db.transaction(async (tx) => {
    await lockFile(tx, oid)
    const [file] = await tx.select({ id: packageFiles.id }).from(packageFiles).where(eq(packageFiles.oid, oid)).limit(1)
    const [blob] = await tx.select({ oid: containerBlobs.oid }).from(containerBlobs).where(eq(containerBlobs.oid, oid)).limit(1)
    if (!file && !blob) await ctx.packages.delete(oid)
    return !file && !blob
  })

/** Every hour: the bytes of deleted packages go (PK-9). */
export const removePackageFiles = defineJob({
  kind: 'remove package files',
  input: z.object({}),
  priority: 'low',
  slots: 'upkeep',
  every: 3_600_000,
  async run(ctx: Context) {
    for await (const oid of unnamedFiles(ctx)) {
      if (ctx.process.stopping.aborted) return
      await removeIfUnused(ctx, oid)
    }
  },
})
