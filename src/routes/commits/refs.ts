import { z } from 'zod'
import { onProject, onProjectSignedIn } from '../../access/rules.js'
import { MergeRequest, presentMergeRequest } from '../../entities/issuables/merge-request.js'
import { presentSignature, Signature } from '../../entities/repository/signature.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { idPaging, oneOf, orDefault, paging } from '../../http/params.js'
import { dayOf } from '../../lib/text/day.js'
import { listRequestsOfCommit } from '../../services/issuables/merge-requests/reading/of-commit.js'
import { refsOf } from '../../services/repository/commits/read.js'
import { signatureOfCommit } from '../../services/repository/commits/signature.js'

const CommitRef = z
  .strictObject({ type: z.enum(['branch', 'tag']), name: z.string() })
  .meta({ id: 'CommitRef', description: 'A branch or tag that contains a commit.' })

/** Refs, merge requests and the signature of a commit (RE-8, RE-9, RE-11). */
export const commitRefs = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/commits/:sha/refs',
    summary: 'List the branches and tags that contain a commit',
    access: onProject('download_code'),
    input: z.object({ sha: z.string(), type: orDefault(oneOf(['branch', 'tag', 'all']), 'all'), ...paging }),
    output: z.array(CommitRef),
    async handler({ ctx, subject, input }) {
      return pageOf(await refsOf(ctx, subject, input), input, (ref) => ref)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/commits/:sha/signature',
    summary: 'Get the signature of a commit',
    access: onProject('download_code'),
    input: z.object({ sha: z.string() }),
    output: Signature,
    async handler({ ctx, subject, input }) {
      return presentSignature(await signatureOfCommit(ctx, subject, input.sha))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/commits/:sha/merge_requests',
    summary: 'List the merge requests of a commit',
    access: onProjectSignedIn('download_code'),
    input: z.object({ sha: z.string(), ...idPaging }),
    output: z.array(MergeRequest),
    async handler({ ctx, caller, subject, input, view }) {
      const today = dayOf(ctx.now())
      return pageOf(await listRequestsOfCommit(ctx, caller, subject, input), input, (record) =>
        presentMergeRequest(record, today, view),
      ).inOrderOfIds(input, 'desc')
    },
  }),
]
