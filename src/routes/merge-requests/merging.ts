import { z } from 'zod'
import { onMergeRequest } from '../../access/merge-requests.js'
import { DetailedMergeRequest, presentDetailedMergeRequest } from '../../entities/issuables/merge-request.js'
import { type Endpoint, endpoint } from '../../http/endpoint.js'
import { bool, opt, str } from '../../http/params.js'
import { dayOf } from '../../lib/text/day.js'
import { acceptMergeRequest, cancelAutomaticMerge } from '../../services/issuables/merge-requests/merging/accept.js'
import { startRebase } from '../../services/issuables/merge-requests/merging/rebase.js'

const REQUEST = '/projects/:id/merge_requests/:merge_request_iid'

/**
 * Cancels a deferred merge (MR-77 to MR-80). The service checks the caller's right, together with the target branch.
 */
const cancel = {
  path: `${REQUEST}/cancel_merge_when_pipeline_succeeds`,
  summary: 'Cancel merge when pipeline succeeds',
  description: 'The merge request stays open; only the deferred merge is cancelled.',
  answers: [405, 406] as const,
  access: onMergeRequest('read_merge_request', { hidden: 'missing' }),
}

export const merging: Endpoint[] = [
  endpoint({
    method: 'PUT',
    path: `${REQUEST}/merge`,
    summary: 'Merge a merge request',
    description: 'Merges immediately, or with `merge_when_pipeline_succeeds` when the pipeline succeeds.',
    answers: [405, 406, 409],
    access: onMergeRequest('accept_merge_request', { hidden: 'missing', without: 'unauthenticated' }),
    input: z.object({
      merge_commit_message: opt(str()),
      squash: opt(bool()),
      squash_commit_message: opt(str()),
      should_remove_source_branch: opt(bool()),
      merge_when_pipeline_succeeds: opt(bool()),
      sha: opt(str()),
    }),
    output: DetailedMergeRequest,
    async handler({ ctx, caller, subject, input, view }) {
      return presentDetailedMergeRequest(await acceptMergeRequest(ctx, caller, subject, input), dayOf(ctx.now()), view)
    },
  }),
  endpoint({
    ...cancel,
    method: 'PUT',
    output: DetailedMergeRequest,
    async handler({ ctx, caller, subject, view }) {
      return presentDetailedMergeRequest(await cancelAutomaticMerge(ctx, caller, subject), dayOf(ctx.now()), view)
    },
  }),
  endpoint({
    ...cancel,
    method: 'POST',
    output: z.strictObject({ status: z.literal('success') }),
    async handler({ ctx, caller, subject }) {
      await cancelAutomaticMerge(ctx, caller, subject)
      return { status: 'success' as const }
    },
  }),
  endpoint({
    method: 'PUT',
    path: `${REQUEST}/rebase`,
    summary: 'Rebase a merge request',
    description: 'Rebases the source branch onto the target branch in the background.',
    answers: [405, 409],
    access: onMergeRequest('read_merge_request', { hidden: 'missing' }),
    input: z.object({ skip_ci: opt(bool()) }),
    output: z.strictObject({ rebase_in_progress: z.literal(true) }),
    status: 202,
    async handler({ ctx, caller, subject, input }) {
      await startRebase(ctx, caller, subject, input)
      return { rebase_in_progress: true }
    },
  }),
]
