/** Connections for reads. */
export const READ_LANES = 2

/**
 * Connections of a process with a pool of this size: those of the read lanes, of statements that are planned once, of
 * bursts and of the job queue as well.
 */
export const connectionsPerProcess = (poolSize: number): number => poolSize + READ_LANES + 3
