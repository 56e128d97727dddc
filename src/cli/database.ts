import type { Config } from '../config.js'
import { maxConnections } from '../db/capacity.js'
import { type Database, type DatabaseOptions, openDatabase, StartupParametersIgnored } from '../db/client.js'
import { migrate } from '../db/migrate.js'
import { StartFault } from '../lib/start-fault.js'
import { Unavailable } from '../lib/unavailable.js'
import { connectionsFor } from './postgres.js'

/** How often a connection attempt that timed out is made. */
const MAX_CONNECT_ATTEMPTS = 15

/**
 * Migrates; a database that cannot be reached is a StartFault. With `create` false, the database must have been used by
 * a service.
 */
export const migrateDatabase = (url: string, { create = true } = {}): Promise<void> =>
  migrate(url, { create, onWait: () => process.stderr.write('roost: waiting for another process that migrates the database\n') })

/** Migrates and connects. */
export async function openMigrated(url: string, config: Config, options: DatabaseOptions & { create?: boolean }): Promise<Database> {
  const { create = true, ...database } = options
  await migrateDatabase(url, { create })
  return openConnections(url, config, database)
}

/** Throws if the workers need more connections than the database allows, which is not known behind a pooler. */
export async function checkConnections(url: string, config: Config): Promise<void> {
  if (config.workers === 1 || config.database.unnamedStatements) return
  const [needed, allowed] = [connectionsFor(config), await maxConnections(url)]
  if (needed <= allowed) return
  const settings = `ROOST_WORKERS=${config.workers} and ROOST_DATABASE_POOL=${config.database.poolSize}`
  throw new StartFault(`${settings} need ${needed} connections and the database allows ${allowed}: lower one of them, or raise its max_connections`)
}

/** Connects to a database that has been migrated. */
export async function openConnections(url: string, config: Config, database: DatabaseOptions): Promise<Database> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await openDatabase(url, { ...config.database, ...database })
    } catch (error) {
      if (error instanceof StartupParametersIgnored) throw behindPooler(error.message)
      if (!(error instanceof Unavailable)) throw error
      const reason = error.cause instanceof Error ? error.cause.message : error.message
      if (/unsupported startup parameter/.test(reason)) throw behindPooler(reason)
      // a busy machine may take longer than one attempt to connect; a wrong address or password stays wrong
      if (attempt === MAX_CONNECT_ATTEMPTS || !/time/i.test(reason)) throw new StartFault(`cannot reach the database: ${reason}`, { cause: error })
    }
  }
}

const behindPooler = (reason: string) =>
  new StartFault(`the database is behind a pooler that takes no startup parameters: set ROOST_DATABASE_UNNAMED_STATEMENTS=true (${reason})`)
