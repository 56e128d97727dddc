import { randomBytes, randomUUID } from 'node:crypto'

/** The use of random bytes; a test service with its own clock takes each use from a separate sequence. */
export type Purpose = 'token' | 'mail link' | 'password' | 'upload' | 'discussion' | 'session' | 'one-time password' | 'recovery code' | 'sign-on'

/** The source of random values that clients see. */
export interface Random {
  bytes(purpose: Purpose, count: number): Buffer
  /** Ids of webhook events and deliveries. */
  uuid(): string
}

/** The source of timestamps and of random values. */
export interface Source {
  now(): Date
  random: Random
}

export const systemRandom: Random = {
  bytes: (_, count) => randomBytes(count),
  uuid: () => randomUUID(),
}

/** The clock and the random generator of the machine. */
export const systemSource: Source = { now: () => new Date(), random: systemRandom }
