import { z } from 'zod'
import { onProjectAfterInput } from '../../access/rules.js'
import { CommitStatus, PostedCommitStatus, presentCommitStatus, presentPostedCommitStatus } from '../../entities/ci/commit-status.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, float, idPaging, oneOf, opt, rowId, str } from '../../http/params.js'
import { listStatuses, POSTED_STATES, postStatus } from '../../services/ci/statuses.js'

export const commitStatuses = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/commits/:sha/statuses',
    summary: 'List the statuses of a commit',
    polled: true,
    access: onProjectAfterInput('download_code'),
    input: z.object({ sha: z.string(), ref: opt(str()), stage: opt(str()), name: opt(str()), all: opt(bool()), ...idPaging }),
    output: z.array(CommitStatus),
    async handler({ ctx, subject, input, view }) {
      return pageOf(await listStatuses(ctx, subject, input), input, (status) => presentCommitStatus(status, view)).inOrderOfIds(input)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/statuses/:sha',
    summary: 'Set the status of a commit',
    description: 'Updates an existing status with the same name and ref.',
    access: onProjectAfterInput('create_commit_status'),
    input: z.object({
      sha: z.string(),
      state: oneOf(POSTED_STATES),
      ref: opt(str()),
      name: opt(str()),
      context: opt(str()),
      target_url: opt(str()),
      description: opt(str()),
      coverage: opt(float()),
      pipeline_id: opt(rowId()),
    }),
    output: PostedCommitStatus,
    async handler({ ctx, caller, subject, input, view }) {
      return presentPostedCommitStatus(await postStatus(ctx, subject, caller, input), view)
    },
  }),
]
