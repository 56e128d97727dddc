import { z } from 'zod'
import { onProject, onProjectSignedIn } from '../../access/rules.js'
import { MergeRequest, presentMergeRequest } from '../../entities/issuables/merge-request.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { oneOf, orDefault, paging } from '../../http/params.js'
import { dayOf } from '../../lib/text/day.js'
import { listRequestsOfCommit } from '../../services/issuables/merge-requests/reading/of-commit.js'
import { refsOf } from '../../services/repository/commits/read.js'

const CommitRef = z.strictObject({ type: z.enum(['branch', 'tag']), name: z.string() }).meta({ id: 'CommitRef' })

/** Refs and merge requests of a commit (RE-8, RE-9). */
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
    path: '/projects/:id/repository/commits/:sha/merge_requests',
    summary: 'List the merge requests of a commit',
    access: onProjectSignedIn('download_code'),
    input: z.object({ sha: z.string(), ...paging }),
    output: z.array(MergeRequest),
    async handler({ ctx, caller, subject, input, view }) {
      const today = dayOf(ctx.now())
      return pageOf(await listRequestsOfCommit(ctx, caller, subject, input), input, (record) => presentMergeRequest(record, today, view))
    },
  }),
]
