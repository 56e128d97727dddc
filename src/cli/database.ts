import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import { type Database, type DatabaseOptions, openDatabase } from '../db/client.js'
import { type EmbeddedPostgres, findEmbeddedPostgres, startEmbeddedPostgres } from '../db/embedded.js'
import { migrate } from '../db/migrate.js'
import { StartFault } from '../lib/start-fault.js'
import { Unavailable } from '../lib/unavailable.js'

const embeddedFolder = (config: Config) => join(config.dataDir, 'postgres')
const withoutStop = (url: string): EmbeddedPostgres => ({ url, stop: () => Promise.resolve() })

/** The Postgres of a service that is about to run: the configured one, or one of its own, which nobody else may hold. */
export async function ownPostgres(config: Config, log: Logger): Promise<EmbeddedPostgres> {
  if (config.databaseUrl !== undefined) return withoutStop(config.databaseUrl)
  return startEmbeddedPostgres({ directory: embeddedFolder(config), log })
}

/** The Postgres for a command: that of the running service, or one started for the length of the command. */
export async function anyPostgres(config: Config, log: Logger): Promise<EmbeddedPostgres> {
  if (config.databaseUrl !== undefined) return withoutStop(config.databaseUrl)
  const url = await findEmbeddedPostgres(embeddedFolder(config))
  return url === undefined ? ownPostgres(config, log) : withoutStop(url)
}

/** Migrates and connects; a database that cannot be reached is a StartFault. */
export async function openMigrated(url: string, config: Config, options: DatabaseOptions): Promise<Database> {
  await migrate(url)
  try {
    return await openDatabase(url, { ...config.database, ...options })
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    throw new StartFault(`cannot reach the database: ${error.cause instanceof Error ? error.cause.message : error.message}`)
  }
}
