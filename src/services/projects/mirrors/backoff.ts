import type { Mirror } from './address.js'

const MINUTE_MS = 60_000
/** Milliseconds between the beginnings of two updates (PM-6, PM-23). */
const BETWEEN_MS = { asked: MINUTE_MS, protected: MINUTE_MS, all: 5 * MINUTE_MS, pull: 5 * MINUTE_MS }

/** When the next update may begin, because of a push or because somebody asks for it; undefined: now. */
export function soonest({ direction, only_protected_branches, last_update_started_at: last }: Mirror, why: 'asked' | 'pushed'): Date | undefined {
  const between = direction === 'pull' ? 'pull' : why === 'asked' ? 'asked' : only_protected_branches ? 'protected' : 'all'
  return last ? new Date(last.getTime() + BETWEEN_MS[between]) : undefined
}

/** Failed attempts to push before it waits for the next push. */
const MAX_PUSH_FAILURES = 3
/** When a failed push is tried again; null: with the next push. */
export const pushAgain = (now: Date, failures: number): Date | null =>
  failures < MAX_PUSH_FAILURES ? new Date(now.getTime() + MINUTE_MS * 4 ** (failures - 1)) : null

const PULL_EVERY_MS = 30 * MINUTE_MS
const MAX_DOUBLINGS = 5
/** Failed pulls before it stops until somebody asks for one. */
const MAX_PULL_FAILURES = 14
/** When a project follows its source again: less often while it fails; null: not by itself (PM-23). */
export const pullAgain = (now: Date, failures: number): Date | null =>
  failures < MAX_PULL_FAILURES ? new Date(now.getTime() + PULL_EVERY_MS * 2 ** Math.min(failures, MAX_DOUBLINGS)) : null
