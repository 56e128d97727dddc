import { createHash } from 'node:crypto'
import type { Purpose, Source } from '../lib/crypto/random.js'

/** Where a clock and its sequences stand, to go back to. */
export interface ClockState {
  moment: number
  drawn: Record<string, number>
}

/** A source whose time stands still until it is advanced, and whose values are the same in each service. */
export interface TestClock extends Source {
  requestId(): string
  advance(seconds: number): Date
  state(): ClockState
  restore(state: ClockState): void
}

/**
 * Each kind of value has a sequence of its own, so that what happens in the background does not disturb the others.
 * Nothing here is secret: it is for services that are thrown away.
 */
export function testClock(start: Date): TestClock {
  let moment = start.getTime()
  let drawn: Record<string, number> = {}
  const draw = (kind: Purpose | 'uuid' | 'request') => {
    drawn[kind] = (drawn[kind] ?? 0) + 1
    return createHash('sha512').update(`roost test: ${kind} ${drawn[kind]}`).digest()
  }
  return {
    now: () => new Date(moment),
    random: {
      bytes: (purpose, count) => draw(purpose).subarray(0, count),
      uuid() {
        const hex = draw('uuid').toString('hex')
        return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
      },
    },
    requestId: () => draw('request').toString('hex', 0, 12),
    advance(seconds) {
      moment += Math.round(seconds * 1_000)
      return new Date(moment)
    },
    state: () => ({ moment, drawn: { ...drawn } }),
    restore(state) {
      moment = state.moment
      drawn = { ...state.drawn }
    },
  }
}
