/** The vocabulary of pipelines and of the statuses in them (ST-20). */
export const PIPELINE_STATES = ['created', 'pending', 'running', 'success', 'failed', 'canceled', 'skipped', 'manual'] as const
export type PipelineState = (typeof PIPELINE_STATES)[number]

/** The stage every status belongs to (ST-13). */
export const STAGE = 'external'
