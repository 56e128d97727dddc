import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { PipelineState } from '../../rules/pipeline-states.js'
import type { PipelineBasicRecord, PipelineRecord } from '../../services/ci/pipelines.js'
import { presentUserRef, UserRef } from '../identity/user.js'

export const PipelineBasic = z
  .strictObject({
    id: z.int(),
    sha: z.string(),
    ref: z.string(),
    status: z.string(),
    project_id: z.int(),
    iid: z.int(),
    source: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    web_url: z.url(),
  })
  .meta({ id: 'PipelineBasic', description: 'A pipeline, in a list and as a commit refers to it.' })

export const Pipeline = z
  .strictObject({
    ...PipelineBasic.shape,
    before_sha: z.string(),
    tag: z.boolean(),
    yaml_errors: z.string().nullable(),
    user: UserRef.nullable(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
    committed_at: z.null(),
    duration: z.int().nullable(),
    coverage: z.string().nullable(),
    detailed_status: z.strictObject({ icon: z.string(), text: z.string(), label: z.string(), group: z.string(), has_details: z.boolean() }),
  })
  .meta({ id: 'Pipeline', description: 'A pipeline: the jobs and statuses of a commit.' })

export function presentPipelineBasic(
  { id, sha, ref, status, project_id, iid, source, created_at, updated_at }: PipelineBasicRecord,
  project: { fullPath: string },
  view: View,
): z.infer<typeof PipelineBasic> {
  return {
    id,
    sha,
    ref,
    status,
    project_id,
    iid,
    source,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
    web_url: `${view.links.project(project.fullPath)}/pipelines/${id}`,
  }
}

/** Shown where no push made the pipeline. */
const BEFORE = '0'.repeat(40)

export function presentPipeline(pipeline: PipelineRecord, project: { fullPath: string }, view: View): z.infer<typeof Pipeline> {
  const { status, tag, user, started_at, finished_at, duration, coverage } = pipeline
  return Object.assign(presentPipelineBasic(pipeline, project, view), {
    before_sha: pipeline.before_sha ?? BEFORE,
    tag,
    yaml_errors: pipeline.yaml_errors,
    user: user && presentUserRef(user, view),
    started_at: started_at?.toISOString() ?? null,
    finished_at: finished_at?.toISOString() ?? null,
    committed_at: null,
    duration,
    coverage: coverage === null ? null : coverage.toFixed(2),
    detailed_status: { icon: `status_${status}`, text: TEXTS[status] ?? status, label: LABELS[status] ?? status, group: status, has_details: true },
  })
}

/** Display texts of the states whose text differs from their name. */
const TEXTS: Partial<Record<PipelineState, string>> = { success: 'passed', waiting_for_resource: 'waiting', scheduled: 'delayed' }
const LABELS: Partial<Record<PipelineState, string>> = {
  success: 'passed',
  manual: 'manual action',
  waiting_for_resource: 'waiting for resource',
  scheduled: 'delayed',
}
