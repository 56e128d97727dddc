/** Pipelined read connections (lanes). */
export const READ_LANES = 2

/**
 * The connections of a process with a pool of this size: the pool, the read lanes, and one each for generic plans,
 * bursts and the job queue.
 */
export const connectionsPerProcess = (poolSize: number): number => poolSize + READ_LANES + 3
