/** The states of pipelines and of their statuses (ST-20). */
export const PIPELINE_STATES = [
  'created',
  'waiting_for_resource',
  'preparing',
  'pending',
  'running',
  'success',
  'failed',
  'canceled',
  'skipped',
  'manual',
  'scheduled',
] as const
export type PipelineState = (typeof PIPELINE_STATES)[number]

/** Whether a head pipeline in this state lets a merge request be merged that needs one (MR-61, PR-41). */
export const letsMerge = (state: PipelineState | null, { skippedCounts }: { skippedCounts: boolean }) =>
  state === 'success' || (skippedCounts && state === 'skipped')

/** The stage of all statuses (ST-13). */
export const STAGE = 'external'
/** The position of that stage: after those of all jobs. */
export const LAST_STAGE = 1_000_000
