import { cp, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.js'
import { type CopiedDatabase, copyIn, copyOut } from '../db/copy.js'
import type { RefsThen } from '../git/copies.js'
import type { RepositoryKey } from '../git/types.js'
import { atOnce } from '../lib/at-once.js'
import { writeNewFile } from '../lib/durable.js'
import { StartFault } from '../lib/start-fault.js'

const FORMAT = 1
/** Repositories whose refs are read at a time; nobody can push meanwhile. */
const AT_ONCE = 32

interface Manifest {
  format: number
  version: string
  at: string
  database: CopiedDatabase
  repositories: RepositoryKey[]
  /** Projects that were deleted while the backup was made: they are in the rows, and will not come back. */
  gone: number[]
}

const folderOf = (root: string, { storage, id, kind }: RepositoryKey) =>
  join(root, 'repositories', storage, `${id}${kind === 'wiki' ? '.wiki' : ''}.git`)

/** Copies rows, repositories and uploads into a new folder, all as of one moment, while the service runs (SEC-163). Pushes wait for as long as it takes to read all refs. */
export async function backUp(ctx: Context, databaseUrl: string, root: string): Promise<Pick<Manifest, 'repositories' | 'gone'>> {
  await mkdir(root, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    throw new StartFault(error.code === 'EEXIST' ? `${root} is there already` : `${root} cannot be made (${error.code})`)
  })
  await mkdir(join(root, 'database'))
  const then = new Map<RepositoryKey, RefsThen>()
  const database = await copyOut(databaseUrl, join(root, 'database'), async (ask) => {
    const projects = await ask<{ id: string; storage: string }>('select id, storage from projects')
    const keys = projects.flatMap(({ id, storage }) => (['project', 'wiki'] as const).map((kind) => ({ storage, id: Number(id), kind })))
    await atOnce(AT_ONCE, keys, async (key) => {
      const refs = ctx.config.storages[key.storage] === undefined ? null : await ctx.git.refsNow(key)
      if (refs) then.set(key, refs)
    })
  })
  const gone: number[] = []
  const repositories: RepositoryKey[] = []
  for (const [key, refs] of then) {
    if (await ctx.git.save(key, refs, folderOf(root, key))) repositories.push(key)
    else if (key.kind === 'project') gone.push(key.id)
  }
  if (await isThere(uploadsOf(ctx))) await cp(uploadsOf(ctx), join(root, 'uploads'), { recursive: true })
  if (ctx.config.secretKey === undefined) await cp(secretOf(ctx.config.dataDir), join(root, 'secret.key'))
  const manifest: Manifest = { format: FORMAT, version: ctx.config.version, at: ctx.now().toISOString(), database, repositories, gone }
  // last: a backup without it was not finished
  await writeNewFile(join(root, 'backup.json'), JSON.stringify(manifest, null, 1))
  return manifest
}

const uploadsOf = (ctx: Context) => join(ctx.config.dataDir, 'uploads')
const secretOf = (dataDir: string) => join(dataDir, 'secret.key')
const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

async function manifestOf(root: string): Promise<Manifest> {
  const manifest = await readFile(join(root, 'backup.json'), 'utf8').then(
    (text) => JSON.parse(text) as Manifest,
    () => null,
  )
  if (manifest?.format !== FORMAT) throw new StartFault(`${root} is no whole backup`)
  return manifest
}

/** The key that what is encrypted in the rows opens with, put in its place before anything makes another. */
export async function bringBackSecret(root: string, dataDir: string): Promise<void> {
  await manifestOf(root)
  const kept = await readFile(join(root, 'secret.key')).catch(() => null)
  if (!kept) return
  const there = await readFile(secretOf(dataDir)).catch(() => null)
  if (there === null) await writeNewFile(secretOf(dataDir), kept, 0o600)
  else if (!there.equals(kept)) throw new StartFault(`${secretOf(dataDir)} is there already, and is another key than the backup's`)
}

/** Puts a backup into an empty database and empty storages. What was deleted while the backup was made stays deleted. */
export async function bringBack(ctx: Context, databaseUrl: string, root: string): Promise<Pick<Manifest, 'at' | 'repositories'>> {
  const manifest = await manifestOf(root)
  const unknown = manifest.repositories.find(({ storage }) => ctx.config.storages[storage] === undefined)
  if (unknown) throw new StartFault(`STORAGES has no ${unknown.storage}, which the backup needs`)
  for (const path of Object.values(ctx.config.storages))
    if ((await readdir(path)).some((name) => !name.startsWith('.roost-'))) throw new StartFault(`${path} is not empty`)
  await copyIn(databaseUrl, join(root, 'database'), manifest.database, manifest.gone)
  for (const key of manifest.repositories) await ctx.git.bringBack(folderOf(root, key), key)
  if (await isThere(join(root, 'uploads'))) await cp(join(root, 'uploads'), uploadsOf(ctx), { recursive: true })
  return manifest
}
