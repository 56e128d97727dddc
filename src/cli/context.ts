import type { Config } from '../config.js'
import type { Context } from '../context.js'
import { createLog } from '../log.js'
import { actAsOwner } from './account.js'
import { checkFolders, checkInstance, resolveAddress } from './host.js'
import { openCommandPostgres } from './postgres.js'

/**
 * Runs a command on the service's data, whether the service is running or not. If it is not, the embedded Postgres is
 * started for the command.
 */
export async function withContext(
  given: Config,
  work: (ctx: Context, databaseUrl: string) => Promise<void>,
  /** `create`: allow a data folder without an instance. `poolSize`: connections for writes. */
  { create = false, poolSize = 1 } = {},
): Promise<void> {
  const log = createLog('error')
  if (!create) await checkInstance(given)
  await actAsOwner(given)
  await checkFolders(given)
  const config = await resolveAddress(given)
  const postgres = await openCommandPostgres(config, log)
  try {
    const [{ openMigrated }, { createContext }] = await Promise.all([import('./database.js'), import('./create-context.js')])
    const database = await openMigrated(postgres.url, config, { log, poolSize, create })
    try {
      const ctx = await createContext(config, database, log)
      try {
        await work(ctx, postgres.url)
      } finally {
        await ctx.close()
      }
    } finally {
      await database.close()
    }
  } finally {
    await postgres.stop()
  }
}
