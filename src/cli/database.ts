import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import { type Database, type DatabaseOptions, openDatabase, StartupParametersIgnored } from '../db/client.js'
import { migrate } from '../db/migrate.js'
import { type EmbeddedPostgres, findEmbeddedPostgres, startEmbeddedPostgres } from '../db/postgres/index.js'
import { StartFault } from '../lib/start-fault.js'
import { Unavailable } from '../lib/unavailable.js'

/** How often a connection that was not made in time is tried again. */
const TRIES = 15

/** Where the embedded Postgres lives. */
export const embeddedFolder = (config: Config) => join(config.dataDir, 'postgres')
const withoutStop = (url: string): EmbeddedPostgres => ({ url, stop: () => Promise.resolve() })

/** The Postgres for a service that is starting: the configured one, or an embedded one that nobody else uses. */
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

/**
 * Migrates and connects; a database that cannot be reached is a StartFault. `create` false: it must be one that a
 * service has used.
 */
export async function openMigrated(url: string, config: Config, options: DatabaseOptions & { create?: boolean }): Promise<Database> {
  const { create = true, ...database } = options
  await migrate(url, { create, onWait: () => process.stderr.write('roost: waiting for another process that migrates the database\n') })
  for (let tried = 1; ; tried++) {
    try {
      return await openDatabase(url, { ...config.database, ...database })
    } catch (error) {
      if (error instanceof StartupParametersIgnored) throw behindPooler(error.message)
      if (!(error instanceof Unavailable)) throw error
      const reason = error.cause instanceof Error ? error.cause.message : error.message
      if (/unsupported startup parameter/.test(reason)) throw behindPooler(reason)
      // a busy machine may take longer than one attempt to connect; a wrong address or password stays wrong
      if (tried === TRIES || !/time/i.test(reason)) throw new StartFault(`cannot reach the database: ${reason}`)
    }
  }
}

const behindPooler = (reason: string) =>
  new StartFault(`the database is behind a pooler that takes no startup parameters: set ROOST_DATABASE_UNNAMED_STATEMENTS=true (${reason})`)
