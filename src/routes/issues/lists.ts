import { z } from 'zod'
import type { Caller } from '../../access/actor.js'
import { anyone, onGroup, onProject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { Issue, presentIssue } from '../../entities/issuables/issue.js'
import { unauthenticated } from '../../failures.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { dayOf } from '../../lib/text/day.js'
import { countIssues, listIssues } from '../../services/issuables/issues/list.js'
import type { IssuableSource } from '../../services/issuables/list.js'
import { filterOf, filters } from './filters.js'

const { state: _, order_by: __, sort: ___, page: ____, per_page: _____, with_labels_details: ______, ...counted } = filters('all')

type CountedInput = Omit<Parameters<typeof filterOf>[0], 'state' | 'order_by' | 'sort' | 'page' | 'per_page' | 'with_labels_details'>

const IssuesStatistics = z
  .strictObject({ statistics: z.strictObject({ counts: z.strictObject({ all: z.int(), closed: z.int(), opened: z.int() }) }) })
  .meta({ id: 'IssuesStatistics', description: 'Numbers of issues, by their state.' })

/** How many of the issues that a list with these filters has are open and closed (PT-31). */
async function statisticsOf(ctx: Context, caller: Caller, at: IssuableSource, input: CountedInput): Promise<z.infer<typeof IssuesStatistics>> {
  const filter = filterOf({ ...input, order_by: 'created_at', sort: 'desc', state: 'all', with_labels_details: false, page: 1, per_page: 1 })
  const [opened, closed] = await Promise.all((['opened', 'closed'] as const).map((state) => countIssues(ctx, caller, at, { ...filter, state })))
  return { statistics: { counts: { all: (opened ?? 0) + (closed ?? 0), closed: closed ?? 0, opened: opened ?? 0 } } }
}

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
  endpoint({
    method: 'GET',
    path: '/issues_statistics',
    summary: 'Count issues of all projects',
    access: anyone,
    input: z.object({ ...counted, scope: filters('created_by_me').scope }),
    output: IssuesStatistics,
    async handler({ ctx, caller, input }) {
      if (input.scope !== 'all' && !caller.user) throw unauthenticated()
      return statisticsOf(ctx, caller, 'everywhere', input)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id/issues_statistics',
    summary: 'Count issues of the projects of a group and its descendants',
    access: onGroup('read_group'),
    input: z.object(counted),
    output: IssuesStatistics,
    handler: ({ ctx, caller, subject, input }) => statisticsOf(ctx, caller, { group: subject }, input),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/issues_statistics',
    summary: 'Count issues of a project',
    access: onProject('read_issue'),
    input: z.object(counted),
    output: IssuesStatistics,
    handler: ({ ctx, caller, subject, input }) => statisticsOf(ctx, caller, { project: subject }, input),
  }),
]
