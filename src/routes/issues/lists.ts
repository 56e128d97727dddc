import { z } from 'zod'
import { anyone, onGroup, onProject } from '../../access/rules.js'
import { Issue, presentIssue } from '../../entities/issuables/issue.js'
import { unauthenticated } from '../../failures.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { dayOf } from '../../lib/text/day.js'
import { listIssues } from '../../services/issuables/issues/list.js'
import { filterOf, filters } from './filters.js'

/** Lists of issues (IS-1 to IS-3). */
export const issueLists = [
  endpoint({
    method: 'GET',
    path: '/issues',
    summary: 'List issues of all projects',
    access: anyone,
    input: z.object(filters('created_by_me')),
    output: z.array(Issue),
    async handler({ ctx, caller, input, view }) {
      const filter = filterOf(input)
      if (filter.scope !== 'all' && !caller.user) throw unauthenticated()
      return pageOf(await listIssues(ctx, caller, 'everywhere', filter), input, (issue) => presentIssue(issue, dayOf(ctx.now()), view, 'everywhere'))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id/issues',
    summary: 'List issues of the projects of a group and its descendants',
    access: onGroup('read_group'),
    input: z.object(filters('all')),
    output: z.array(Issue),
    async handler({ ctx, caller, subject, input, view }) {
      const page = await listIssues(ctx, caller, { group: subject }, filterOf(input))
      return pageOf(page, input, (issue) => presentIssue(issue, dayOf(ctx.now()), view, { group: subject.group.full_path }))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/issues',
    summary: 'List issues of a project',
    access: onProject('read_issue'),
    input: z.object(filters('all')),
    output: z.array(Issue),
    async handler({ ctx, caller, subject, input, view }) {
      const page = await listIssues(ctx, caller, { project: subject }, filterOf(input))
      return pageOf(page, input, (issue) => presentIssue(issue, dayOf(ctx.now()), view))
    },
  }),
]
