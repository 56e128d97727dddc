import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect } from 'vitest'
import { Lifecycle } from '../../src/cli/lifecycle.js'
import { loadProgram } from '../../src/cli/open-service.js'
import { readTestConfig } from '../../src/config.js'
import { readCatalog } from '../../src/db/snapshots.js'
import { Argon2 } from '../../src/lib/crypto/argon2.js'
import { World } from '../../src/testing/world.js'
import { gitOut } from './clients/git-client.js'
import { testSpawner } from './spawner.js'
import { createTestDatabase } from './template-database.js'

/** A world of `roost test` in this process, for tests that inspect its state. */
export interface TestWorld {
  world: World
  /** Log lines with the level `warn` or above. */
  logged: string[]
  /** The URLs of calls that have reached their handler. */
  begun: string[]
  /** Calls the API as the administrator, unless other headers are given. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<{ status: number; body: unknown; text: string }>
  /** All rows except those of jobs, which schedules add at any time; all refs, objects and files. */
  everything(): Promise<Record<string, unknown>>
}

/** Opens a world before the tests of a file and closes it afterwards. */
export function testWorld(): TestWorld {
  const t = { logged: [] as string[], begun: [] as string[] } as TestWorld
  let end: () => Promise<void>
  beforeAll(async () => {
    const database = await createTestDatabase()
    const folder = await mkdtemp(join(tmpdir(), 'world-'))
    await chmod(folder, 0o711)
    const life = new Lifecycle(pino({ level: 'warn' }, { write: (line: string) => void t.logged.push(line) }))
    const config = readTestConfig({ folder: join(folder, 'data'), port: 0, ssh: false, token: 'a-token-of-the-world-x', password: 'a long password' })
    const argon2 = new Argon2(config.argon2, 1)
    t.world = await World.open({
      ...{ program: await loadProgram(), lifecycle: life, spawner: testSpawner, argon2 },
      prepare: (_, app) => app.addHook('preHandler', async ({ url }) => void t.begun.push(url)),
      ...{ name: 'one', first: true, config, databaseUrl: database.url, snapshots: join(folder, 'snapshots'), pid: process.pid },
    })
    end = async () => {
      await t.world.close()
      await argon2.close()
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    }
  })
  afterAll(() => end())
  t.call = async (method, path, body, headers = {}) => {
    const { url, token } = t.world.info
    const form = body instanceof FormData
    const answer = await fetch(`${url}${path.startsWith('/uploads/') || path.startsWith('/root/') ? '' : '/api/v4'}${path}`, {
      method,
      headers: { 'private-token': token, ...(body !== undefined && !form && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: form ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (answer.status >= 500) expect.fail(`${method} ${path}: ${answer.status} ${text} ${t.logged.join('')}`)
    const json = answer.headers.get('content-type')?.startsWith('application/json') && text !== ''
    return { status: answer.status, text, body: json ? JSON.parse(text) : text }
  }
  t.everything = () => everythingOf(t.world)
  return t
}

async function everythingOf({ db, config: { dataDir } }: World): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  const { tables, sequences } = await readCatalog(db)
  for (const name of tables.keys()) {
    if (name === 'jobs') continue
    const rows = await db.readRows(undefined, `select t::text from public."${name}" t order by 1`, [])
    if (rows.length > 0) found[`table ${name}`] = rows.flat()
  }
  for (const name of sequences.filter((name) => name !== 'jobs_id_seq'))
    found[`sequence ${name}`] = await db.readRows(undefined, `select last_value, is_called from public."${name}"`, [])
  for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
    const path = relative(dataDir, join(entry.parentPath, entry.name))
    if (/^(hooks|archives|ssh)(\/|$)/.test(path)) continue
    if (/\.git$/.test(entry.name) && entry.isDirectory()) {
      const directory = join(dataDir, path)
      found[`refs ${path}`] = [await readFile(join(directory, 'HEAD'), 'utf8'), await gitOut(directory, 'for-each-ref')]
      found[`objects ${path}`] = await gitOut(directory, 'cat-file', '--batch-all-objects', '--batch-check')
    } else if (entry.isFile() && !path.startsWith('repositories')) found[`file ${path}`] = await readFile(join(dataDir, path), 'latin1')
  }
  return found
}
