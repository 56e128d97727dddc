/** Pipelined connections for short reads. */
export const READ_PIPELINES = 2

/**
 * The connections of a process with a pool of this size: the pool, the read pipelines, and one each for generic plans,
 * batches and the job queue.
 */
export const connectionsPerProcess = (poolSize: number): number => poolSize + READ_PIPELINES + 3
