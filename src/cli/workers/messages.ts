import type { Config } from '../../config.js'
import type { MetricValues } from '../../metrics.js'

/** What a worker needs to begin, beside the environment that it shares with its parent. */
export interface Begin {
  type: 'begin'
  /** Its number, from 1 on; its replacement has the same. */
  number: number
  databaseUrl: string
  port: number
  baseUrl: string
  ssh: Config['ssh']
  /** The path that all workers answer questions about SSH on. */
  socket: string
  /** Whether it prepares the database for all. */
  first: boolean
  /** Ids, as in the table `processes`, of workers that have been killed. */
  killed: string[]
}

export type ToWorker =
  | Begin
  | { type: 'stop' }
  /** The lock that was asked for under this number. */
  | { type: 'locked'; id: number }
  /** Asks for what it has counted. */
  | { type: 'count'; id: number }
  | { type: 'page'; id: number; page: MetricsPage }

export type ToParent =
  /** It receives messages from now on. */
  | { type: 'awake' }
  /** It has joined the job queue under this name; what had to be prepared for all is done. */
  | { type: 'prepared'; process: string | null }
  | { type: 'listening' }
  /** It cannot start; a line that says why. */
  | { type: 'fault'; line: string }
  | { type: 'lock'; id: number; key: string }
  | { type: 'unlock'; id: number }
  | { type: 'counted'; id: number; values: MetricValues }
  /** Asks for the page of metrics of the whole service. */
  | { type: 'page'; id: number }

export interface MetricsPage {
  type: string
  text: string
}
