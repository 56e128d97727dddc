import type { Config } from '../config.js'
import { maxConnections } from '../db/capacity.js'
import { type Database, type DatabaseOptions, openDatabase, StartupParametersIgnored } from '../db/client.js'
import { connectAgain } from '../db/connecting.js'
import { migrate } from '../db/migrate.js'
import { StartFault } from '../lib/start-fault.js'
import { Unavailable } from '../lib/unavailable.js'
import { connectionsFor } from './postgres.js'

interface MigrationOptions {
  /** False if the database must have been used by a service. */
  create?: boolean
  /** No other service can use the database. */
  alone?: boolean
}

/** Migrates; a database that cannot be reached is a StartFault. */
export const migrateDatabase = (url: string, options: MigrationOptions = {}): Promise<void> =>
  migrate(url, { ...options, onWait: (reason) => process.stderr.write(`roost: waiting for ${reason}\n`) })

interface OpenOptions extends DatabaseOptions {
  /** Ends the attempts to connect. */
  signal?: AbortSignal
}

/** Migrates and connects. */
export async function openMigrated(url: string, config: Config, options: OpenOptions & MigrationOptions): Promise<Database> {
  const { create = true, alone = false, ...database } = options
  await migrateDatabase(url, { create, alone })
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

/**
 * Connects to a database that has been migrated. It was there a moment ago, so whatever keeps it from answering may pass:
 * it is tried again for a minute.
 */
export async function openConnections(url: string, config: Config, { signal, ...database }: OpenOptions): Promise<Database> {
  const open = () => openDatabase(url, { ...config.database, ...database })
  return connectAgain(open, (error) => error instanceof Unavailable && !isParameterFault(error), signal).catch((error: unknown) => {
    if (error instanceof StartupParametersIgnored) throw behindPooler(error.message)
    if (!(error instanceof Unavailable)) throw error
    if (isParameterFault(error)) throw behindPooler(reasonOf(error))
    throw new StartFault(`cannot reach the database: ${reasonOf(error)}`, { cause: error })
  })
}

const reasonOf = (error: Unavailable) => (error.cause instanceof Error ? error.cause.message : error.message)
const isParameterFault = (error: Unavailable) => /unsupported startup parameter/.test(reasonOf(error))
const behindPooler = (reason: string) =>
  new StartFault(`the database is behind a pooler that takes no startup parameters: set ROOST_DATABASE_UNNAMED_STATEMENTS=true (${reason})`)
