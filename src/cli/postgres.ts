import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import { connectionsPerProcess } from '../db/connection-count.js'
import { type EmbeddedPostgres, findEmbeddedPostgres, startEmbeddedPostgres } from '../db/postgres/index.js'

/** Connections that commands beside the service may need. */
const SPARE_CONNECTIONS = 8
export const connectionsFor = ({ workers, database }: Config) => workers * connectionsPerProcess(database.poolSize) + SPARE_CONNECTIONS

/** Where the embedded Postgres lives. */
export const embeddedFolder = (config: Config) => join(config.dataDir, 'postgres')
const external = (url: string): EmbeddedPostgres => ({ url, stop: () => Promise.resolve() })

/** The Postgres for a service that is starting: the configured one, or an embedded one that nobody else uses. */
export async function openServicePostgres(config: Config, log: Logger, onLaunch?: () => void): Promise<EmbeddedPostgres> {
  if (config.databaseUrl !== undefined) return external(config.databaseUrl)
  return startEmbeddedPostgres({ directory: embeddedFolder(config), log, connections: connectionsFor(config), onLaunch })
}

/** The Postgres for a command: that of the running service, or one started for the length of the command. */
export async function openCommandPostgres(config: Config, log: Logger): Promise<EmbeddedPostgres> {
  if (config.databaseUrl !== undefined) return external(config.databaseUrl)
  const url = await findEmbeddedPostgres(embeddedFolder(config))
  return url === undefined ? openServicePostgres(config, log) : external(url)
}
