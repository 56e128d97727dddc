import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { BridgeRecord } from '../../services/ci/bridges/list.js'
import type { JobRecord, RunnerJobRecord } from '../../services/ci/jobs.js'
import { presentUserRef, UserRef } from '../identity/user.js'
import { ProjectIdentity, presentProjectIdentity } from '../projects/project.js'
import { Commit, presentCommit } from '../repository/commit.js'
import { PipelineBasic, presentPipelineBasic } from './pipeline.js'
import { presentRunner, RunnerBasic } from './runner.js'

const JobArtifact = z.strictObject({
  file_type: z.string(),
  size: z.int(),
  filename: z.string(),
  file_format: z.string().nullable(),
})

/** A job, or a commit status presented as one. */
export const Job = z
  .strictObject({
    id: z.int(),
    status: z.string(),
    stage: z.string(),
    name: z.string(),
    ref: z.string(),
    tag: z.boolean(),
    coverage: z.number().nullable(),
    allow_failure: z.boolean(),
    created_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
    duration: z.number().nullable(),
    queued_duration: z.number().nullable(),
    failure_reason: z.string().optional(),
    user: UserRef,
    commit: Commit.nullable(),
    pipeline: PipelineBasic,
    web_url: z.string(),
    artifacts: z.array(JobArtifact),
    artifacts_file: z.strictObject({ filename: z.string(), size: z.int() }).optional(),
    artifacts_expire_at: z.iso.datetime().nullable(),
    runner: RunnerBasic.nullable(),
    tag_list: z.array(z.string()),
  })
  .meta({ id: 'Job', description: 'A job for a runner, or a status of a commit.' })

/** A job that triggers a pipeline. */
export const Bridge = Job.omit({ artifacts: true, artifacts_file: true, artifacts_expire_at: true, runner: true, tag_list: true })
  .extend({ downstream_pipeline: PipelineBasic.nullable() })
  .meta({ id: 'Bridge', description: 'A job that triggers a pipeline.' })

/** A job in the list of a runner, which has jobs of many projects. */
export const RunnerJob = Job.omit({ commit: true, artifacts: true, artifacts_file: true, artifacts_expire_at: true, runner: true, tag_list: true })
  .extend({ project: ProjectIdentity })
  .meta({ id: 'RunnerJob', description: 'A job with its project.' })

export function presentRunnerJob({ project, ...job }: RunnerJobRecord, view: View): z.infer<typeof RunnerJob> {
  const names = presentProjectIdentity(project, view)
  const shown = presentJob({ ...job, commit: null }, { fullPath: names.path_with_namespace }, view)
  const { commit: _, artifacts: __, artifacts_file: ___, artifacts_expire_at: ____, runner: _____, tag_list: ______, ...basic } = shown
  return { ...basic, project: names }
}

export function presentBridge({ job, downstream }: BridgeRecord, project: { fullPath: string }, view: View): z.infer<typeof Bridge> {
  const { artifacts: _, artifacts_file: __, artifacts_expire_at: ___, runner: ____, tag_list: _____, ...shown } = presentJob(job, project, view)
  const there = downstream && presentPipelineBasic(downstream.pipeline, { fullPath: downstream.fullPath }, view)
  return { ...shown, downstream_pipeline: there }
}

const seconds = (from: Date | null, to: Date | null) => (from && to ? Math.max(0, (to.getTime() - from.getTime()) / 1000) : null)

export function presentJob({ status, pipeline, build, commit }: JobRecord, project: { fullPath: string }, view: View): z.infer<typeof Job> {
  const { started_at, finished_at, queued_at, failure_reason } = status
  const files = build?.artifacts ?? []
  const archive = files.find(({ file_type }) => file_type === 'archive')
  const log = build && build.trace_size > 0 ? [{ file_type: 'trace', size: build.trace_size, filename: 'job.log', file_format: 'raw' }] : []
  return {
    id: status.id,
    status: status.status,
    stage: status.stage,
    name: status.name,
    ref: pipeline.ref,
    tag: pipeline.tag,
    coverage: status.coverage,
    allow_failure: status.allow_failure,
    created_at: status.created_at.toISOString(),
    started_at: started_at?.toISOString() ?? null,
    finished_at: finished_at?.toISOString() ?? null,
    duration: seconds(started_at, finished_at),
    queued_duration: seconds(queued_at, started_at),
    failure_reason: failure_reason ?? undefined,
    user: presentUserRef(status.author, view),
    commit: commit && presentCommit(commit, project, view),
    pipeline: presentPipelineBasic(pipeline, project, view),
    web_url: status.target_url ?? `${view.links.project(project.fullPath)}/-/jobs/${status.id}`,
    artifacts: [...files.map(({ file_type, size, filename, file_format }) => ({ file_type, size, filename, file_format })), ...log],
    artifacts_file: archive && { filename: archive.filename, size: archive.size },
    artifacts_expire_at: archive?.expires_at?.toISOString() ?? null,
    runner: build?.runner ? presentRunner(build.runner) : null,
    tag_list: build?.tags ?? [],
  }
}
