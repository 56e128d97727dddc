import { z } from 'zod'
import { admin } from '../../access/rules.js'
import { QueueMetrics } from '../../entities/administration.js'
import { endpoint } from '../../http/endpoint.js'
import { loadQueueMetrics } from '../../services/operations/job-queue.js'

const { queues, processes, jobs } = QueueMetrics.shape

/** The calls by which clients wait until the work in the background is done (RX-1). */
export const sidekiq = [
  endpoint({
    method: 'GET',
    path: '/sidekiq/queue_metrics',
    summary: 'Show the backlog of the queue',
    description: 'There is one queue, `default`.',
    access: admin,
    output: z.strictObject({ queues }),
    handler: async ({ ctx }) => ({ queues: (await loadQueueMetrics(ctx)).queues }),
  }),
  endpoint({
    method: 'GET',
    path: '/sidekiq/process_metrics',
    summary: 'Show the process that works on the queue',
    description: '`busy` has the jobs that run now, in all processes of the service.',
    access: admin,
    output: z.strictObject({ processes }),
    handler: async ({ ctx }) => ({ processes: (await loadQueueMetrics(ctx)).processes }),
  }),
  endpoint({
    method: 'GET',
    path: '/sidekiq/job_stats',
    summary: 'Show how many jobs were done, wait or have failed',
    description: '`failed` and `dead` both count the jobs that have failed for good and are still there.',
    access: admin,
    output: z.strictObject({ jobs }),
    handler: async ({ ctx }) => ({ jobs: (await loadQueueMetrics(ctx)).jobs }),
  }),
  endpoint({
    method: 'GET',
    path: '/sidekiq/compound_metrics',
    summary: 'Show queue, process and jobs together',
    access: admin,
    output: QueueMetrics,
    handler: ({ ctx }) => loadQueueMetrics(ctx),
  }),
]
