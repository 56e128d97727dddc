import { hostname } from 'node:os'
import type { Context } from '../../context.js'
import { SLOTS } from '../../jobs/kinds.js'
import { countJobs, countQueuedEver, failedJobs, removeFailed, retryFailed } from '../../jobs/overview.js'
import { audit } from '../core/audit.js'

export type { FailedJob, JobCounts } from '../../jobs/overview.js'

/** The most failed jobs that are shown. */
export const MAX_FAILED = 100

/** The jobs by kind and state, and the newest of those that have failed for good. */
export async function loadJobQueue({ db }: Context) {
  const [kinds, failed] = await Promise.all([countJobs(db), failedJobs(db, MAX_FAILED)])
  return { kinds, failed }
}

/** The queue in the words of Sidekiq, for clients that wait until it is idle (RX-1). */
export async function loadQueueMetrics({ db }: Context) {
  const [kinds, queued] = await Promise.all([countJobs(db), countQueuedEver(db)])
  const sum = (state: 'waiting' | 'later' | 'running' | 'failed') => kinds.reduce((total, kind) => total + kind[state], 0)
  const enqueued = sum('waiting')
  const dead = sum('failed')
  return {
    queues: { default: { backlog: enqueued, latency: Math.floor(Math.max(0, ...kinds.map(({ delay }) => delay))) } },
    processes: [
      {
        hostname: hostname(),
        pid: process.pid,
        tag: 'roost',
        started_at: new Date(performance.timeOrigin).toISOString(),
        queues: ['default'],
        labels: [],
        concurrency: Object.values(SLOTS).reduce((total, slots) => total + slots, 0),
        busy: sum('running'),
      },
    ],
    jobs: { processed: Math.max(0, queued - enqueued - sum('later') - sum('running')), failed: dead, enqueued, dead },
  }
}

export const countQueue = ({ db }: Context) => countJobs(db)

/** Tries a failed job again, or all of them if `id` is null; returns how many. */
export async function retryJobs(ctx: Context, id: number | null): Promise<number> {
  const retried = await retryFailed(ctx.db, id)
  if (retried > 0) await audit(ctx, ctx.db.write, { action: 'jobs_retried', target: targetOf(id), changes: { jobs: retried } })
  return retried
}

/** Removes a failed job, which is then never done; false if there is no such job. */
export async function removeJob(ctx: Context, id: number): Promise<boolean> {
  const kind = await removeFailed(ctx.db, id)
  if (kind !== null) await audit(ctx, ctx.db.write, { action: 'jobs_removed', target: targetOf(id), changes: { kind } })
  return kind !== null
}

const targetOf = (id: number | null) => ({ type: 'settings' as const, id, name: id === null ? 'all failed jobs' : `job ${id}` })
