import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbeddedPostgres } from '../../src/db/embedded.js'
import { migrate } from '../../src/db/migrate.js'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The server of the tests, at its maintenance database. */
    databaseUrl: string
  }
}

const quiet = { info: () => undefined, warn: console.warn, error: console.error }

/** Starts one Postgres for all files and makes the migrated database they copy. */
export default async function setup(project: TestProject) {
  const directory = await mkdtemp(join(tmpdir(), 'roost-tests-'))
  // As root Postgres runs under another account, which must be able to enter.
  await chmod(directory, 0o711)
  const postgres = await startEmbeddedPostgres({ directory, log: quiet, durable: false })
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
