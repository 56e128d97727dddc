import { z } from 'zod'

// Kinds of jobs of the queue by which a change of one pipeline leads to changes of others, where they are enqueued. What
// they run locks one pipeline at a time.

/** Gives a free resource to the next job of its group (`resource-groups/assign.ts`). */
export const assigning = { kind: 'assign a resource', input: z.object({ group: z.int() }) }

/** Makes the pipeline of a job that triggers one (`bridges/trigger.ts`). */
export const triggering = { kind: 'trigger a pipeline', input: z.object({ job: z.int() }) }

/** Brings the job that has triggered a pipeline up to date with it (`bridges/mirror.ts`). */
export const mirroring = { kind: 'mirror a triggered pipeline', input: z.object({ pipeline: z.int() }) }

/** Cancels the child pipelines of a job, or of all jobs of a pipeline (`bridges/mirror.ts`). */
export const canceling = { kind: 'cancel child pipelines', input: z.object({ job: z.int().optional(), pipeline: z.int().optional() }) }
