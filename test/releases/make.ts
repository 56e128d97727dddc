// Makes the fixture of a release with the program of its commit (README.md): npx tsx test/releases/make.ts CHECKOUT
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { generateKey } from 'openpgp'
import pg from 'pg'
import { findEmbeddedPostgres } from '../../src/db/postgres/index.js'
import { runProgram } from '../support/command.js'
import { fill } from './content.js'
import { environment, folderOf, pack, readRefs, withService, writeRecorded } from './fixture.js'
import { readAll, TOKEN } from './reading.js'

const checkout = resolve(process.argv[2] ?? '.')
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
const work = mkdtempSync(join(tmpdir(), 'release-'))
chmodSync(work, 0o711)
const dataDir = join(work, 'data')
const wal = join(dataDir, 'postgres/data/pg_wal')
const env = environment(dataDir)
const target = folderOf(version)
mkdirSync(target, { recursive: true })

const { publicKey } = await generateKey({ userIDs: [{ name: 'Root', email: 'admin@example.com' }], date: new Date('2026-01-01') })
// a stop ends what the background does after an answer
const upload = await withService(checkout, { ...env, ROOST_ADMIN_TOKEN: TOKEN }, (url) => fill(url, publicKey))
const last = await withService(checkout, env, async (url) => {
  const answers = await readAll(url)
  writeRecorded(join(target, 'recorded.json.br'), { answers, refs: readRefs(url, answers), upload })
  const backup = join(work, 'backup')
  const { code, stdout, stderr } = await runProgram(process.execPath, [join(checkout, 'scripts/start.mjs'), 'backup', backup], { env })
  if (code !== 0) throw new Error(`the backup: ${stdout}${stderr}`)
  pack(backup, join(target, 'backup.tar.br'))
  return emptyWal()
})
// a clean stop needs only the segment of its checkpoint
for (const name of readdirSync(wal)) if (/^[0-9A-F]{24}$/.test(name) && name !== last) rmSync(join(wal, name))
pack(dataDir, join(target, 'data.tar.br'))
rmSync(work, { recursive: true })

/** Begins a segment of the write-ahead log, and removes the rows that updates have left; answers its name. */
async function emptyWal(): Promise<string> {
  const client = new pg.Client(await findEmbeddedPostgres(join(dataDir, 'postgres')))
  await client.connect()
  await client.query('vacuum full')
  await client.query('select pg_switch_wal()')
  await client.query('checkpoint')
  const { rows } = await client.query('select pg_walfile_name(pg_current_wal_insert_lsn()) as name')
  await client.end()
  return rows[0].name
}
