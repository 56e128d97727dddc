import { createHash } from 'node:crypto'
import { chmodSync, cpSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { cacheFolder } from '../config.js'
import { migrationsFolder } from '../db/migrations-folder.js'
import { startEmbeddedPostgres } from '../db/postgres/index.js'
import { createLog } from '../log.js'

/** Increased when the cached files change in format. */
const CACHE_VERSION = 2

/**
 * Creates a migrated Postgres as a copy of a cached one, since creating one takes a second. There is one per schema in
 * the cache folder; if that is not writable, a new one is created each time.
 */
export async function preparePostgres(directory: string, scratch: string): Promise<void> {
  const cached = join(cacheFolder(), `postgres-${await schemaDigest()}`)
  if (await copyFromCache(cached, directory)) return
  const fresh = join(scratch, 'made')
  const postgres = await startEmbeddedPostgres({ directory: fresh, log: createLog('error'), durable: false })
  const build = async () => {
    const [{ migrate }, { createTemplate }] = await Promise.all([import('../db/migrate.js'), import('../db/postgres/copies.js')])
    await migrate(postgres.url)
    await createTemplate(postgres.url)
  }
  await build().finally(() => postgres.stop())
  await storeInCache(fresh, cached).catch(() => undefined)
  await rename(fresh, directory)
}

/** Copies synchronously: nothing else runs yet, and it takes a quarter of the time. */
async function copyFromCache(from: string, to: string): Promise<boolean> {
  try {
    cpSync(from, to, { recursive: true })
    // newer Nodes do not copy the modes of folders, and Postgres refuses one that others may enter
    chmodSync(join(to, 'data'), 0o700)
    return true
  } catch {
    await rm(to, { recursive: true, force: true })
    return false
  }
}

/** Copies a folder into the cache, atomically. */
async function storeInCache(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 })
  const temporary = await mkdtemp(join(dirname(to), '.making-'))
  try {
    await cp(from, join(temporary, basename(to)), { recursive: true })
    await rename(join(temporary, basename(to)), to)
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

async function schemaDigest(): Promise<string> {
  const hash = createHash('sha256').update(`${CACHE_VERSION} ${process.platform} ${process.arch} ${process.getuid?.()}`)
  const folder = migrationsFolder()
  for (const name of (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()) hash.update(await readFile(join(folder, name)))
  return hash.digest('hex').slice(0, 16)
}
