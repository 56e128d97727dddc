import { z } from 'zod'
import { fullPathOf, onProject } from '../../access/rules.js'
import { Commit, presentCommit } from '../../entities/repository/commit.js'
import { Contributor, presentContributor } from '../../entities/repository/contributor.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { documentedWith, list, oneOf, orDefault, paging, str } from '../../http/params.js'
import { getMergeBase } from '../../services/repository/commits/read.js'
import { listContributors } from '../../services/repository/contributors.js'

const access = onProject('download_code')
const scope = 'read_repository'

/** Merge bases and contributors (RE-5, RE-7). */
export const history = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/merge_base',
    summary: 'Get the merge base of revisions',
    description: 'The best common ancestor of all revisions.',
    access,
    scope,
    input: z.object({ refs: documentedWith(list(str()), { minItems: 2, items: { type: 'string', minLength: 1 } }) }),
    output: Commit,
    async handler({ ctx, subject, input, view }) {
      return presentCommit(await getMergeBase(ctx, subject, input.refs), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/contributors',
    summary: 'List contributors',
    access,
    scope,
    input: z.object({
      order_by: orDefault(oneOf(['email', 'name', 'commits']), 'commits'),
      sort: orDefault(oneOf(['asc', 'desc']), 'asc'),
      ...paging,
    }),
    output: z.array(Contributor),
    async handler({ ctx, subject, input }) {
      return pageOf(await listContributors(ctx, subject, input), input, presentContributor)
    },
  }),
]
