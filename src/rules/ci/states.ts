import type { JobState, PlannedJob } from './types.js'

/** What a state is made of. */
export interface StateOfJob {
  state: JobState
  allow_failure: boolean
}

/** A failed job whose failure is allowed is a warning; a manual one that need not run is ignored. */
type Counted = JobState | 'warning' | 'ignored'

function countedOf({ state, allow_failure }: StateOfJob): Counted {
  if (allow_failure && (state === 'failed' || state === 'canceled')) return 'warning'
  return allow_failure && state === 'manual' ? 'ignored' : state
}

/**
 * The state of a stage or pipeline, of its latest jobs (CI-50); null if there are none. With `needs` it is that of the
 * needs of one job: one that did not run skips it, one that is not complete keeps it pending.
 */
export function compositeStatus(jobs: readonly StateOfJob[], { needs = false } = {}): JobState | null {
  if (jobs.length === 0) return null
  const states = new Set(jobs.map(countedOf))
  const only = (...names: Counted[]) => [...states].every((state) => names.includes(state))
  const any = (...names: Counted[]) => names.some((name) => states.has(name))
  if (needs && any('skipped', 'ignored')) return 'skipped'
  if (needs && !only('success', 'failed', 'canceled', 'skipped', 'warning')) return 'pending'
  if (only('skipped', 'ignored')) return 'skipped'
  if (only('success', 'skipped', 'warning', 'ignored')) return 'success'
  if (only('created', 'warning', 'ignored')) return 'created'
  if (only('preparing', 'warning', 'ignored')) return 'preparing'
  if (only('canceled', 'success', 'skipped', 'warning', 'ignored')) return 'canceled'
  if (only('pending', 'created', 'skipped', 'warning', 'ignored')) return 'pending'
  if (any('running', 'pending')) return 'running'
  if (any('canceling')) return 'canceling'
  if (any('waiting_for_resource')) return 'waiting_for_resource'
  if (any('manual')) return 'manual'
  if (any('scheduled')) return 'scheduled'
  if (any('preparing')) return 'preparing'
  return any('created') ? 'running' : 'failed'
}

/** States after which a job does nothing more by itself. */
const COMPLETE = new Set<JobState>(['success', 'failed', 'canceled', 'skipped'])
export const isComplete = (state: JobState) => COMPLETE.has(state)

/** States of what comes before a job, in which it begins. */
const BEGINS: Record<PlannedJob['when'], { byStage: JobState[]; byNeeds: JobState[] }> = {
  on_success: { byStage: ['success', 'skipped'], byNeeds: ['success'] },
  manual: { byStage: ['success', 'skipped'], byNeeds: ['success'] },
  delayed: { byStage: ['success', 'skipped'], byNeeds: ['success'] },
  on_failure: { byStage: ['failed'], byNeeds: ['failed'] },
  always: { byStage: ['success', 'failed', 'skipped'], byNeeds: ['success', 'failed', 'skipped'] },
}

/**
 * What becomes of a created job (CI-51), by the jobs of all earlier stages, or by its needs if it has any: null while
 * these are not complete. Without any before it, it begins. `manual` waits for somebody, `scheduled` for its time.
 */
export function nextState(
  job: Pick<PlannedJob, 'when' | 'needs'>,
  before: readonly StateOfJob[],
): 'pending' | 'manual' | 'scheduled' | 'skipped' | null {
  const byNeeds = job.needs !== null
  // by stages what comes before is complete once nothing of it is going on, or waits for somebody who must act
  const state = before.length === 0 ? 'success' : compositeStatus(before, { needs: byNeeds })
  if (state === null || !isComplete(state)) return null
  const { byStage, byNeeds: afterNeeds } = BEGINS[job.when]
  if (!(byNeeds ? afterNeeds : byStage).includes(state)) return 'skipped'
  if (job.when === 'manual') return 'manual'
  return job.when === 'delayed' ? 'scheduled' : 'pending'
}
