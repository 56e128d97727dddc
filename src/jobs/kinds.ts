import type { z } from 'zod'

/** Jobs are claimed in this order. Low ones never fill all slots, so that others do not have to wait for them. */
export const PRIORITIES = { high: 0, normal: 1, low: 2 } as const
export type Priority = keyof typeof PRIORITIES

/**
 * The slots of a process. Jobs of one class never take those of another, so that webhooks and merges do not wait for
 * upkeep, however much of it there is (SEC-400).
 *
 * - `work`: what somebody waits for, such as merges and their checks;
 * - `messages`: short work between a change and its webhooks and mails;
 * - `network`: what mostly waits for other machines, so that many can run at once;
 * - `upkeep`: what nobody waits for.
 */
export const SLOTS = { work: 4, messages: 4, network: 32, upkeep: 4 } as const
export type Slots = keyof typeof SLOTS

/** One run of a job. */
export interface Attempt {
  /** The id of the job: the same in all its attempts. */
  id: number
  /** Counted from 1. */
  number: number
  /** Aborted when the run must end: the deadline is over, the lease is lost, or the service stops. */
  signal: AbortSignal
}

/**
 * A kind of job. It runs at least once, so `run` must be repeatable from the start, wherever an earlier run was
 * interrupted. `C` is the context that `run` gets.
 */
export interface Job<C, Input extends z.ZodType> {
  kind: string
  /**
   * The shape of the row's payload. New fields need defaults, because a later version of the program may read an older
   * row.
   */
  input: Input
  /** A returned date means that work is left: the job runs again from the start, not before that date. */
  run(ctx: C, input: z.output<Input>, attempt: Attempt): Promise<void> | Promise<Date | undefined>
  /** Records where its users look that the job has failed for good. */
  failed?(ctx: C, input: z.output<Input>): Promise<unknown>
  /**
   * Milliseconds before the retry after this many attempts; null fails the job. While something the job needs is
   * unavailable it is retried in any case.
   */
  retries?(attempts: number): number | null
  priority?: Priority
  /** Milliseconds that one attempt may take. */
  deadline?: number
  /** Whose slots it takes; `work` by default. */
  slots?: Slots
  /** How many of this kind run at a time in one process, in slots of their own instead. */
  concurrency?: number
  /** How many of one lane run at a time; 1 by default. */
  perLane?: number
  /** Milliseconds between repetitions of a periodic job; its input is `{}`. */
  every?: number
}

// biome-ignore lint/suspicious/noExplicitAny: a list holds kinds with different inputs
export type AnyJob<C> = Job<C, any>

/** Declares a kind of job. It must also be listed in `cli/kinds.ts` to be run. */
export const defineJob = <C, Input extends z.ZodType>(job: Job<C, Input>): Job<C, Input> => job

const FIRST_RETRY_MS = 1_000
/** The longest wait between two attempts, in milliseconds, unless the kind has `retries` of its own. */
export const MAX_RETRY_MS = 600_000
const MAX_ATTEMPTS = 12

/** Exponential backoff, for about an hour in all. */
export const defaultRetries = (attempts: number): number | null =>
  attempts < MAX_ATTEMPTS ? Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), MAX_RETRY_MS) : null
