import type { Config } from '../../config.js'
import type { MetricValues } from '../../metrics.js'

/** What a worker needs to start, in addition to its environment. */
export interface Begin {
  type: 'begin'
  /** Its number, from 1; a replacement has the same. */
  number: number
  databaseUrl: string
  port: number
  baseUrl: string
  ssh: Config['ssh']
  /** The path of the SSH socket, which all workers serve; another one may be sent before the worker has bound it. */
  socket: string
  /** Whether it prepares the database for all workers. */
  first: boolean
  /** Ids, as in the table `processes`, of workers that have been killed. */
  killed: string[]
}

export type ToWorker =
  | Begin
  | { type: 'stop' }
  /** The path of another SSH socket, to be served instead of the former. */
  | { type: 'socket'; path: string }
  /** The requested lock has been acquired. */
  | { type: 'locked'; id: number }
  /** Requests the metrics of the worker. */
  | { type: 'count'; id: number }
  | { type: 'page'; id: number; page: MetricsPage }

export type ToParent =
  /** The worker can receive messages. */
  | { type: 'awake' }
  /** The worker has joined the job queue under this id, and the database is prepared. */
  | { type: 'prepared'; process: string | null }
  /** The worker has bound the SSH socket at this path. */
  | { type: 'bound'; path: string }
  | { type: 'listening' }
  /** The database has a newer schema than this version of the program. */
  | { type: 'outdated' }
  /** The worker drains: it takes no more calls. */
  | { type: 'ending' }
  /** The worker has just read from the database and started git. */
  | { type: 'healthy' }
  /** The worker cannot start. If the reason may pass, such as a database that did not answer, its replacement is tried. */
  | { type: 'fault'; line: string; passing: boolean }
  | { type: 'lock'; id: number; key: string }
  | { type: 'unlock'; id: number }
  | { type: 'counted'; id: number; values: MetricValues }
  /** Requests the metrics of the whole service. */
  | { type: 'page'; id: number }

export interface MetricsPage {
  type: string
  text: string
}
