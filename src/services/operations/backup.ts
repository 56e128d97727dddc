import { cp, mkdir, readdir, readFile, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import type { Config } from '../../config.js'
import type { Context } from '../../context.js'
import { type DatabaseDump, dumpFileName, dumpTables, loadTables } from '../../db/copies/dump.js'
import { namespaces, projects } from '../../db/schema/index.js'
import type { RefSnapshot, RepositoryKey } from '../../git/types.js'
import { mapConcurrently } from '../../lib/async/concurrency.js'
import { HOST_KEY_FILES } from '../../lib/crypto/host-keys.js'
import { syncDirectory, writeNewFile } from '../../lib/files/durable.js'
import { StartFault } from '../../lib/start-fault.js'
import { finishDeletions } from '../projects/remove.js'
import { resolveAbandonedIntents } from '../repository/push/recovery.js'
import { folderSizes, listParts, measure, partFaults } from './backup-files.js'
import { restoreLfsObjects, restoreObjects, saveObjects } from './backup-objects.js'
import type { OnProgress } from './progress.js'
import { hasKey, keyCheckOf, keyName } from './secret-key.js'

const FORMAT = 2
const MANIFEST = 'backup.json'
/** The list of all other files, with size, digest and number of rows. */
const PARTS = 'parts.jsonl'
/** The digests of these two files, in the format of `sha256sum --check`. */
const DIGESTS = 'backup.sha256'
/** The most faults of a backup that are listed when it is refused. */
const MAX_REPORTED_FAULTS = 50
/** The number of repositories whose refs are read concurrently, while pushes wait. */
const CONCURRENCY = 32

interface Manifest {
  format: number
  version: string
  at: string
  database: DatabaseDump
  repositories: RepositoryKey[]
  /** Projects that were deleted while the backup was made: the rows contain them, but they are not restored. */
  gone: number[]
  /** Whether the backup has the LFS objects; otherwise the service's own LFS storage must still have them. */
  lfs?: boolean
  /** Where the key of encrypted columns is: in this backup, or in ROOST_SECRET_KEY. */
  secret: 'file' | 'environment'
  /** The `keyCheckOf` that key. */
  key_check?: string
}

/** The bytes of the files of a backup. */
export const backupBytes = async (root: string): Promise<number> =>
  [...(await folderSizes(join(root, PARTS))).values()].reduce((sum, bytes) => sum + bytes, 0)

/** A verified backup. */
export interface Backup extends Manifest {
  root: string
  /** The bytes of its files, by the first two segments of their paths. */
  sizes: Map<string, number>
}

const folderOf = (root: string, { storage, id, kind }: RepositoryKey) =>
  join(root, 'repositories', storage, `${id}${kind === 'wiki' ? '.wiki' : ''}.git`)

/**
 * Copies rows, repositories, uploads, LFS objects and keys into a new or empty folder, as of one point in time, while the
 * service runs (SEC-163). Pushes wait while all refs are read. LFS objects can be left out if they are backed up
 * separately.
 */
export async function backUp(
  ctx: Context,
  databaseUrl: string,
  root: string,
  { lfs = true, onProgress }: { lfs?: boolean; onProgress?: OnProgress } = {},
): Promise<Pick<Manifest, 'repositories' | 'gone' | 'secret'>> {
  await mkdir(root, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw new StartFault(`${root} cannot be made (${error.code})`)
    if ((await readdir(root)).length > 0) throw new StartFault(`${root} is there already`)
  })
  await mkdir(join(root, 'database'))
  const snapshotRefs = new Map<RepositoryKey, RefSnapshot>()
  const database = await dumpTables(databaseUrl, join(root, 'database'), async (ask) => {
    const projects = await ask<{ id: string; storage: string }>('select id, storage from projects')
    const keys = projects.flatMap(({ id, storage }) => (['project', 'wiki'] as const).map((kind) => ({ storage, id: Number(id), kind })))
    await mapConcurrently(CONCURRENCY, keys, async (key) => {
      const refs = ctx.config.storages[key.storage] === undefined ? null : await ctx.git.snapshotRefs(key)
      if (refs) snapshotRefs.set(key, refs)
    })
  })
  const gone: number[] = []
  const repositories: RepositoryKey[] = []
  for (const [key, refs] of snapshotRefs) {
    if (await saveRepository(ctx, key, refs, folderOf(root, key))) repositories.push(key)
    else if (key.kind === 'project') gone.push(key.id)
    onProgress?.(repositories.length + gone.length, snapshotRefs.size)
  }
  if (await exists(uploadsOf(ctx))) await cp(uploadsOf(ctx), join(root, 'uploads'), { recursive: true, dereference: true })
  await copyHostKeys(hostKeysOf(ctx.config.dataDir), join(root, 'ssh'))
  if (lfs)
    for (const [kind, table] of [
      ['lfs', 'lfs_objects'] as const,
      ['artifacts', 'artifacts'] as const,
      ['packages', 'package_files'] as const,
      ['packages', 'container_blobs'] as const,
    ])
      await saveObjects(ctx[kind], { database, table }, join(root, 'database'), join(root, kind))
  const secret = ctx.config.secretKey === undefined ? 'file' : 'environment'
  if (secret === 'file') await cp(secretOf(ctx.config.dataDir), join(root, 'secret.key'))
  const { version } = ctx.config
  const manifest: Manifest = {
    format: FORMAT,
    version,
    at: ctx.now().toISOString(),
    database,
    repositories,
    gone,
    lfs,
    secret,
    key_check: keyCheckOf(ctx.encryption),
  }
  const rows = new Map(database.tables.map(({ name, rows }) => [`database/${dumpFileName(name)}`, rows]))
  await listParts(root, PARTS, rows)
  await writeNewFile(join(root, MANIFEST), JSON.stringify(manifest, null, 1))
  // written last: a backup without this file is incomplete
  const digests = await Promise.all([MANIFEST, PARTS].map(async (name) => `${(await measure(join(root, name))).sha256}  ${name}\n`))
  await writeNewFile(join(root, DIGESTS), digests.join(''))
  await syncDirectory(root)
  return manifest
}

/** Copies a repository, also if it was moved to another storage meanwhile; false if its project was deleted. */
async function saveRepository(ctx: Context, key: RepositoryKey, refs: RefSnapshot, target: string): Promise<boolean> {
  if (await ctx.git.saveRepository(key, refs, target)) return true
  const [now] = await ctx.db.write.select({ storage: projects.storage }).from(projects).where(eq(projects.id, key.id))
  return now !== undefined && now.storage !== key.storage && ctx.git.saveRepository({ ...key, storage: now.storage }, refs, target)
}

const uploadsOf = (ctx: Pick<Context, 'config'>) => join(ctx.config.dataDir, 'uploads')
const secretOf = (dataDir: string) => join(dataDir, 'secret.key')
const hostKeysOf = (dataDir: string) => join(dataDir, 'ssh')

/** Copies the existing SSH host keys, by which clients recognise the service (GS-6). */
async function copyHostKeys(from: string, to: string) {
  for (const name of HOST_KEY_FILES) {
    const key = await readFile(join(from, name)).catch(() => null)
    if (!key) continue
    await mkdir(to, { recursive: true, mode: 0o700 })
    await rm(join(to, name), { force: true })
    await writeNewFile(join(to, name), key, 0o600)
  }
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Verifies a backup; yields one line for each file that is missing, damaged or not part of it (SEC-163). */
export async function* backupFaults(root: string, onProgress?: OnProgress): AsyncGenerator<string> {
  const digests = await readFile(join(root, DIGESTS), 'utf8').catch(() => null)
  if (digests === null) {
    const older = await readFile(join(root, MANIFEST), 'utf8').then(
      (text) => /"format":\s*1\b/.test(text),
      () => null,
    )
    if (older === null) throw new StartFault(`${root} is not a complete backup: it has neither ${DIGESTS} nor ${MANIFEST}`)
    if (older) throw new StartFault(`${root} was made by an older version of Roost, which wrote no digests, so it cannot be verified or restored`)
    return void (yield `missing: ${DIGESTS}`)
  }
  let intact = true
  for (const name of [MANIFEST, PARTS]) {
    const found = await measure(join(root, name)).catch((error: NodeJS.ErrnoException) => error)
    if (found instanceof Error) yield found.code === 'ENOENT' ? `missing: ${name}` : `damaged: ${name}: it cannot be read (${found.code})`
    else if (!digests.split('\n').includes(`${found.sha256}  ${name}`)) yield `damaged: ${name}: its SHA-256 is not the one in ${DIGESTS}`
    else continue
    intact = false
  }
  // the list can be trusted only if its digest is right
  if (intact) yield* partFaults(root, PARTS, new Set([MANIFEST, PARTS, DIGESTS]), onProgress)
}

/** Verifies a backup before anything is restored; throws a `StartFault` with the faults if it is invalid. */
export async function openBackup(root: string, onProgress?: OnProgress): Promise<Backup> {
  const reported: string[] = []
  let found = 0
  for await (const fault of backupFaults(root, onProgress)) if (found++ < MAX_REPORTED_FAULTS) reported.push(fault)
  const more = found > reported.length ? [`and ${found - reported.length} more`] : []
  if (found > 0) throw new StartFault([`${root} is damaged, nothing is restored:`, ...reported, ...more].join('\n  '))
  const manifest = JSON.parse(await readFile(join(root, MANIFEST), 'utf8')) as Manifest
  if (manifest.format !== FORMAT) throw new StartFault(`${root} has format ${manifest.format}, which this version of Roost does not read`)
  return { ...manifest, root, sizes: await folderSizes(join(root, PARTS)) }
}

/**
 * Throws a `StartFault` if a file system has less space than the backup needs there, before anything is written
 * (SEC-236). An embedded database needs at least as much as the copies of its tables.
 */
export async function checkSpace({ sizes }: Backup, { dataDir, storages, databaseUrl, lfsBucket }: Config): Promise<void> {
  const needs = new Map<number, { path: string; bytes: number }>()
  for (const [folder, bytes] of sizes) {
    const [kind = '', name = ''] = folder.split('/')
    if ((kind === 'database' && databaseUrl !== undefined) || (['lfs', 'artifacts', 'packages'].includes(kind) && lfsBucket)) continue
    const path = await existingParent((kind === 'repositories' && storages[name]) || dataDir)
    const { dev } = await stat(path)
    needs.set(dev, { path, bytes: bytes + (needs.get(dev)?.bytes ?? 0) })
  }
  for (const { path, bytes } of needs.values()) {
    const { bavail, bsize } = await statfs(path)
    if (bytes > bavail * bsize)
      throw new StartFault(`${path} has ${mebibytes(bavail * bsize)} MiB left and the backup needs ${mebibytes(bytes)} MiB, nothing is restored`)
  }
}

const mebibytes = (bytes: number) => Math.ceil(bytes / 1024 ** 2)

/** The path, or the folder that it will be made in. */
const existingParent = async (path: string): Promise<string> => ((await exists(path)) ? path : existingParent(dirname(path)))

/** Throws a `StartFault` unless the key of the encrypted values is in the backup or configured (SEC-258). */
export async function checkKey({ secret, key_check }: Backup, config: Config): Promise<void> {
  const restored = secret === 'file' && config.secretKey === undefined
  if (key_check === undefined || restored || (await hasKey(config, key_check))) return
  const where =
    secret === 'file' ? 'which is in its secret.key: leave ROOST_SECRET_KEY unset' : 'which it does not contain: set ROOST_SECRET_KEY to it'
  throw new StartFault(`the backup needs key ${keyName(key_check)}, ${where}`)
}

/** Restores the key of encrypted columns; must run before anything creates another key. */
export async function restoreSecretKey({ root, secret }: Backup, dataDir: string): Promise<void> {
  if (secret === 'environment') return
  const saved = await readFile(join(root, 'secret.key'))
  const existing = await readFile(secretOf(dataDir)).catch(() => null)
  if (existing === null) await writeNewFile(secretOf(dataDir), saved, 0o600)
  else if (!existing.equals(saved)) throw new StartFault(`${secretOf(dataDir)} already exists, and differs from the backup's key`)
}

/** Throws a `StartFault` unless the configured storages are those of the backup, and empty. */
export async function checkStorages({ repositories }: Backup, { storages }: Config): Promise<void> {
  const unknown = repositories.find(({ storage }) => storages[storage] === undefined)
  if (unknown) throw new StartFault(`STORAGES has no ${unknown.storage}, which the backup needs`)
  for (const path of Object.values(storages))
    if ((await exists(path)) && (await readdir(path)).some((name) => !name.startsWith('.roost-'))) throw new StartFault(`${path} is not empty`)
}

/**
 * Restores the rows of a backup into an empty database, with the schema that they had (SEC-163). Projects that were
 * deleted while the backup was made stay deleted.
 */
export const restoreRows = ({ root, database, gone }: Backup, databaseUrl: string): Promise<void> =>
  loadTables(databaseUrl, join(root, 'database'), database, gone)

/**
 * Restores the files of a backup whose rows are restored and migrated. Pushes that were in progress are finished or
 * dropped, as after a crash.
 */
export async function restoreFiles(ctx: Context, { root, at, repositories }: Backup, onProgress?: OnProgress): Promise<void> {
  await postponeDeletions(ctx, new Date(at))
  for (const [done, key] of repositories.entries()) {
    onProgress?.(done, repositories.length)
    await ctx.git.restoreRepository(folderOf(root, key), key)
  }
  if (await exists(join(root, 'uploads'))) await cp(join(root, 'uploads'), uploadsOf(ctx), { recursive: true })
  await copyHostKeys(join(root, 'ssh'), hostKeysOf(ctx.config.dataDir))
  await restoreLfsObjects(ctx, join(root, 'lfs'))
  await restoreObjects(ctx.artifacts, join(root, 'artifacts'))
  await restoreObjects(ctx.packages, join(root, 'packages'))
  // no other process uses this database
  await resolveAbandonedIntents(ctx, { start: true, alone: true })
  await finishDeletions(ctx)
  await ctx.jobs.drain()
}

/** What waits for its removal waits as long as it had to when the backup was made, which may be long ago (PR-31). */
async function postponeDeletions(ctx: Context, madeAt: Date): Promise<void> {
  const passed = sql`${ctx.now().getTime() - madeAt.getTime()} * interval '1 millisecond'`
  for (const table of [projects, namespaces])
    await ctx.db.write.execute(sql`update ${table} set deletion_due_at = deletion_due_at + ${passed} where deletion_due_at is not null`)
}
