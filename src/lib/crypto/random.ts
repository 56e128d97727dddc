import { randomBytes, randomUUID } from 'node:crypto'

/** What random bytes become; a test service with a clock of its own draws each from a sequence of its own. */
export type Purpose = 'token' | 'mail link' | 'password' | 'upload' | 'discussion'

/** Where random values come from that answers show. */
export interface Random {
  bytes(purpose: Purpose, count: number): Buffer
  /** For webhooks: of an event, and of a delivery. */
  uuid(): string
}

/** The time of records and answers, and their random values. */
export interface Source {
  now(): Date
  random: Random
}

export const systemRandom: Random = {
  bytes: (_, count) => randomBytes(count),
  uuid: () => randomUUID(),
}

/** The machine's own. */
export const systemSource: Source = { now: () => new Date(), random: systemRandom }
