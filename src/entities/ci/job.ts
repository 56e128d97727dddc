import { z } from 'zod'
import type { View } from '../../http/view.js'
import { STAGE } from '../../rules/pipeline-states.js'
import type { JobRecord } from '../../services/ci/jobs.js'
import { presentUserRef, UserRef } from '../identity/user.js'
import { Commit, presentCommit } from '../repository/commit.js'
import { PipelineBasic, presentPipelineBasic } from './pipeline.js'

/** A commit status presented as a job. */
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
    user: UserRef,
    commit: Commit.nullable(),
    pipeline: PipelineBasic,
    web_url: z.string(),
    artifacts: z.array(z.never()),
  })
  .meta({ id: 'Job', description: 'A job, made of a status of a commit.' })

export function presentJob({ status, pipeline, commit }: JobRecord, project: { fullPath: string }, view: View): z.infer<typeof Job> {
  const { started_at, finished_at } = status
  return {
    id: status.id,
    status: status.status,
    stage: STAGE,
    name: status.name,
    ref: pipeline.ref,
    tag: pipeline.tag,
    coverage: status.coverage,
    allow_failure: false,
    created_at: status.created_at.toISOString(),
    started_at: started_at?.toISOString() ?? null,
    finished_at: finished_at?.toISOString() ?? null,
    duration: started_at && finished_at ? (finished_at.getTime() - started_at.getTime()) / 1000 : null,
    user: presentUserRef(status.author, view),
    commit: commit && presentCommit(commit, project, view),
    pipeline: presentPipelineBasic(pipeline, project, view),
    web_url: status.target_url ?? `${view.links.project(project.fullPath)}/-/jobs/${status.id}`,
    artifacts: [],
  }
}
