import { createHash, randomBytes } from 'node:crypto'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { cacheFolder, readTestConfig } from '../config.js'
import { migrate, migrationsFolder } from '../db/migrate.js'
import { startEmbeddedPostgres } from '../db/postgres/index.js'
import { memoryFolder } from '../lib/files/memory-folder.js'
import { isRunning } from '../lib/is-running.js'
import { createLog } from '../log.js'
import { serve } from './serve.js'

/** Bytes of memory that must be free for the data to be there. */
const ROOM = 512 * 1024 ** 2
const PREFIX = 'roost-test-'

/** Serves with data of its own, which goes when the service ends. */
export async function serveForTests({ port, ssh }: { port: number; ssh: boolean }): Promise<void> {
  const parent = await memoryFolder(ROOM)
  await removeLeftovers(parent)
  const folder = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`))
  // as root Postgres runs under another account, which must be able to enter
  await chmod(folder, 0o711)
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 5 })
  const token = `roost-test-${randomBytes(12).toString('hex')}`
  const password = randomBytes(12).toString('hex')
  const config = readTestConfig({ folder: join(folder, 'data'), port, ssh, token, password })
  try {
    await mkdir(config.dataDir, { mode: 0o711 })
    await preparePostgres(join(config.dataDir, 'postgres'), folder)
  } catch (error) {
    await remove()
    throw error
  }
  const { username, token: given = token, password: secret = password } = config.admin
  await serve(config, {
    durable: false,
    onReady: ({ baseUrl: url }) =>
      void process.stdout.write(`${JSON.stringify({ url, username, token: given, password: secret, pid: process.pid })}\n`),
    last: remove,
  })
}

/** Removes the folders of services that were killed. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, pid] = new RegExp(`^${PREFIX}(\\d+)-`).exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(parent, name), { recursive: true, force: true, maxRetries: 5 }).catch(() => {})
  }
}

/**
 * Puts a prepared and migrated Postgres in its place: a copy of one that is made once for each schema and kept in the
 * cache folder, since making one takes a second. Without a cache folder that can be written it is made each time.
 */
async function preparePostgres(directory: string, scratch: string): Promise<void> {
  const kept = join(cacheFolder(), `postgres-${await schemaDigest()}`)
  if (await copied(kept, directory)) return
  const made = join(scratch, 'made')
  const postgres = await startEmbeddedPostgres({ directory: made, log: createLog('error'), durable: false })
  await migrate(postgres.url).finally(() => postgres.stop())
  await keep(made, kept).catch(() => undefined)
  await rename(made, directory)
}

const copied = (from: string, to: string) =>
  cp(from, to, { recursive: true }).then(
    () => true,
    async () => {
      await rm(to, { recursive: true, force: true })
      return false
    },
  )

/** Copies a folder into the cache; it appears there whole, or not at all. */
async function keep(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 })
  const aside = await mkdtemp(join(dirname(to), '.making-'))
  try {
    await cp(from, join(aside, basename(to)), { recursive: true })
    await rename(join(aside, basename(to)), to)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

async function schemaDigest(): Promise<string> {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${process.getuid?.()}`)
  const folder = migrationsFolder()
  for (const name of (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()) hash.update(await readFile(join(folder, name)))
  return hash.digest('hex').slice(0, 16)
}
