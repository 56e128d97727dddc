import type { Logger } from 'pino'
import type { Config } from '../config.js'
import type { Context } from '../context.js'
import type { Database } from '../db/client.js'
import { createLog } from '../log.js'
import { actAsOwner } from './account.js'
import { checkFolders, checkInstance, resolveAddress } from './host.js'
import { openCommandPostgres } from './postgres.js'

/** Options of commands. `create`: allow a data folder without an instance. `poolSize`: connections for writes. */
interface CommandOptions {
  create?: boolean
  /** Fills the database before it is migrated. */
  fill?: (databaseUrl: string) => Promise<void>
  poolSize?: number
}

interface CommandDatabase {
  config: Config & { baseUrl: string }
  database: Database
  databaseUrl: string
  log: Logger
}

/**
 * Runs a command on the service's data, whether the service is running or not. If it is not, the embedded Postgres is
 * started for the command.
 */
export const withContext = (given: Config, work: (ctx: Context, databaseUrl: string) => Promise<void>, options?: CommandOptions): Promise<void> =>
  withDatabase(
    given,
    async ({ config, database, databaseUrl, log }) => {
      const { createContext } = await import('./create-context.js')
      const ctx = await createContext(config, database, log)
      try {
        await work(ctx, databaseUrl)
      } finally {
        await ctx.close()
      }
    },
    options,
  )

/** Runs a command on the database alone. */
export async function withDatabase(
  given: Config,
  work: (opened: CommandDatabase) => Promise<void>,
  { create = false, fill, poolSize = 1 }: CommandOptions = {},
): Promise<void> {
  const log = createLog('error')
  if (!create) await checkInstance(given)
  await actAsOwner(given)
  await checkFolders(given)
  const config = await resolveAddress(given)
  const postgres = await openCommandPostgres(config, log)
  try {
    await fill?.(postgres.url)
    const { openMigrated } = await import('./database.js')
    const database = await openMigrated(postgres.url, config, { log, poolSize, create })
    try {
      await work({ config, database, databaseUrl: postgres.url, log })
    } finally {
      await database.close()
    }
  } finally {
    await postgres.stop()
  }
}
