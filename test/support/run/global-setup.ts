import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { migrate } from '../../../src/db/migrate.js'
import { startEmbeddedPostgres } from '../../../src/db/postgres/index.js'
import { memoryFolder } from '../../../src/lib/files/memory-folder.js'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The URL of the maintenance database of the Postgres server for tests. */
    databaseUrl: string
  }
}

const quiet = { info: () => undefined, warn: console.warn, error: console.error }

/** Starts one Postgres for all test files, and creates the migrated template database that they copy. */
export default async function setup(project: TestProject) {
  const directory = await mkdtemp(join(await memoryFolder(ROOM), 'roost-tests-'))
  // If this runs as root, Postgres runs as another user, which needs access.
  await chmod(directory, 0o711)
  // Temporary files of tests are removed with this folder, even after an interruption; workers inherit the variable.
  process.env['TMPDIR'] = join(directory, 'tmp')
  await mkdir(process.env['TMPDIR'], { mode: 0o711 })
  removeAfterwards(directory)
  const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: quiet, durable: false })
  let done: Promise<void> | undefined
  const finish = async () => {
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  }
  const teardown = () => {
    done ??= finish()
    return done
  }
  const interrupted = (signal: NodeJS.Signals) => void teardown().finally(() => process.exit(signal === 'SIGINT' ? 130 : 143))
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)

  try {
    const client = new pg.Client(postgres.url)
    await client.connect()
    await client.query('create database template_roost')
    const template = new URL(postgres.url)
    template.pathname = '/template_roost'
    await migrate(template.href)
    await client.end()
  } catch (error) {
    await teardown()
    throw error
  }
  project.provide('databaseUrl', postgres.url)
  return teardown
}

/** Bytes that a run may need in a memory file system. Durability is not needed: tests kill processes, not machines. */
const ROOM = 4 * 1024 ** 3

/**
 * Removes the folder after this process has ended, even if killed. Retries for a while, because the workers and their
 * child processes may still write until they notice.
 */
function removeAfterwards(directory: string) {
  const script = 'read -r _; for i in 1 2 3 4 5 6 7 8 9; do rm -rf "$1"; sleep 0.3; [ -e "$1" ] || exit 0; done'
  const janitor = spawn('/bin/sh', ['-c', script, 'roost-tests', directory], { detached: true, cwd: '/', stdio: ['pipe', 'ignore', 'ignore'] })
  janitor.unref()
  const input = janitor.stdin as unknown as { unref(): void }
  input.unref()
}
