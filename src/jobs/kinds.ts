import type { z } from 'zod'

/** In this order jobs are taken. Low ones never fill all places, so that others need not wait for them to end. */
export const PRIORITIES = { high: 0, normal: 1, low: 2 } as const
export type Priority = keyof typeof PRIORITIES

/** One run of a job. */
export interface Attempt {
  /** Of the job: the same in all its attempts. */
  id: number
  /** From 1. */
  number: number
  /** Fires when the run must end: the deadline is over, the lease is lost, or the service stops. */
  signal: AbortSignal
}

/**
 * A kind of job. It runs at least once: `run` must bear to be repeated from the start, also after it was cut short
 * anywhere. `C` is what it reaches beyond its arguments.
 */
export interface Job<C, Input extends z.ZodType> {
  kind: string
  /** What the row holds; as it may be read by a later version of the program, new fields need defaults. */
  input: Input
  /** A moment as its result: something is left to do, not before then; it is run again from the start. */
  run(ctx: C, input: z.output<Input>, attempt: Attempt): Promise<void> | Promise<Date | undefined>
  /**
   * Milliseconds before it is tried again after this many attempts; null: it is set aside as failed. While something it
   * needs is unavailable it is tried again in any case.
   */
  retries?(attempts: number): number | null
  priority?: Priority
  /** Milliseconds one attempt may take. */
  deadline?: number
  /** It mostly waits for other machines, so that many can run at once. */
  network?: boolean
  /** How many of this kind run at a time in one process, in places of their own. */
  concurrency?: number
  /** How many of one lane run at a time; 1 unless given. */
  perLane?: number
  /** Milliseconds after which it is due again, by itself; its input is `{}`. */
  every?: number
}

// biome-ignore lint/suspicious/noExplicitAny: a list holds kinds of different inputs
export type AnyJob<C> = Job<C, any>

/** Declares a kind of job; it is run once it is in the list of kinds (`cli/kinds.ts`). */
export const defineJob = <C, Input extends z.ZodType>(job: Job<C, Input>): Job<C, Input> => job

const FIRST_WAIT = 1_000
/** Milliseconds between two attempts at most, unless the kind says otherwise. */
export const LONGEST_WAIT = 600_000
const ATTEMPTS = 12

/** Twice as long each time, for an hour or so. */
export const usualRetries = (attempts: number): number | null =>
  attempts < ATTEMPTS ? Math.min(FIRST_WAIT * 2 ** (attempts - 1), LONGEST_WAIT) : null
