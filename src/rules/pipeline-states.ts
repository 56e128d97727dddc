/** The states of pipelines and of their statuses (ST-20). */
export const PIPELINE_STATES = ['created', 'pending', 'running', 'success', 'failed', 'canceled', 'skipped', 'manual'] as const
export type PipelineState = (typeof PIPELINE_STATES)[number]

/** The stage of all statuses (ST-13). */
export const STAGE = 'external'
