import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import { connectionsPerProcess } from '../db/connection-count.js'
import { type EmbeddedPostgres, findEmbeddedPostgres, startEmbeddedPostgres } from '../db/postgres/index.js'

/** Connections reserved for commands that run beside the service. */
const SPARE_CONNECTIONS = 8
export const connectionsFor = ({ workers, database }: Config) => workers * connectionsPerProcess(database.poolSize) + SPARE_CONNECTIONS

/** The folder of the embedded Postgres. */
export const embeddedFolder = (config: Config) => join(config.dataDir, 'postgres')
const external = (url: string): EmbeddedPostgres => ({ url, stop: () => Promise.resolve() })

/** The Postgres of a starting service: the configured one, or an embedded one that is not in use. */
export async function openServicePostgres(config: Config, log: Logger, onLaunch?: () => void): Promise<EmbeddedPostgres> {
  if (config.databaseUrl !== undefined) return external(config.databaseUrl)
  return startEmbeddedPostgres({ directory: embeddedFolder(config), log, connections: connectionsFor(config), onLaunch })
}

/** The Postgres of a command: that of the running service, or an embedded one that is started for the command. */
export async function openCommandPostgres(config: Config, log: Logger): Promise<EmbeddedPostgres> {
  if (config.databaseUrl !== undefined) return external(config.databaseUrl)
  const url = await findEmbeddedPostgres(embeddedFolder(config))
  return url === undefined ? openServicePostgres(config, log) : external(url)
}
