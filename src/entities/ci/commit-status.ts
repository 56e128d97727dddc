import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { CommitStatusRecord } from '../../services/ci/statuses.js'
import { presentUserRef, UserRef } from '../identity/user.js'

export const CommitStatus = z
  .strictObject({
    id: z.int(),
    sha: z.string(),
    ref: z.string(),
    status: z.string(),
    name: z.string(),
    target_url: z.string().nullable(),
    description: z.string().nullable(),
    created_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
    allow_failure: z.boolean(),
    author: UserRef,
    pipeline_id: z.int(),
  })
  .meta({ id: 'CommitStatus', description: 'A status of a commit.' })

/** The response to posting a status, the only one with `coverage` (ST-8). */
export const PostedCommitStatus = z
  .strictObject({ ...CommitStatus.shape, coverage: z.number().nullable() })
  .meta({ id: 'PostedCommitStatus', description: 'The status of a commit that was posted.' })

export function presentCommitStatus(status: CommitStatusRecord, view: View): z.infer<typeof CommitStatus> {
  return {
    id: status.id,
    sha: status.sha,
    ref: status.ref,
    status: status.status,
    name: status.name,
    target_url: status.target_url,
    description: status.description,
    created_at: status.created_at.toISOString(),
    started_at: status.started_at?.toISOString() ?? null,
    finished_at: status.finished_at?.toISOString() ?? null,
    allow_failure: status.allow_failure,
    author: presentUserRef(status.author, view),
    pipeline_id: status.pipeline_id,
  }
}

export function presentPostedCommitStatus(status: CommitStatusRecord, view: View): z.infer<typeof PostedCommitStatus> {
  return Object.assign(presentCommitStatus(status, view), { coverage: status.coverage })
}
