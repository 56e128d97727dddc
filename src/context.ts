import type { Logger } from 'pino'
import type { Config } from './config.js'
import type { Database } from './db/client.js'
import type { Git } from './git/types.js'
import type { Jobs } from './jobs/queue.js'
import type { Links } from './links.js'

/** All that code reaches beyond its arguments. */
export interface Context {
  config: Config
  db: Database
  git: Git
  jobs: Jobs
  links: Links
  log: Logger
  /** Of the source this program was built from; empty when unknown. */
  revision: string
  now(): Date
}
