import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { type GroupSubject, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import { Issue, presentIssue } from '../../entities/issuables/issue.js'
import { MergeRequest, presentMergeRequest } from '../../entities/issuables/merge-request.js'
import { Milestone, presentMilestone } from '../../entities/issuables/milestone.js'
import type { Standpoint } from '../../entities/issuables/references.js'
import * as documented from '../../http/documented.js'
import { endpoint, PageAnswer, pageOf } from '../../http/endpoint.js'
import { clearable, clearableDate, idList, needsOneOf, oneOf, opt, orDefault, paging, rowId, searchText, str } from '../../http/params.js'
import { dayOf } from '../../lib/text/day.js'
import { listIssues } from '../../services/issuables/issues/list.js'
import type { IssuableSource } from '../../services/issuables/list.js'
import { listMergeRequests } from '../../services/issuables/merge-requests/reading/list.js'
import {
  createMilestone,
  deleteMilestone,
  getMilestone,
  listMilestones,
  type MilestoneSource,
  updateMilestone,
} from '../../services/issuables/milestones.js'
import { promoteMilestone } from '../../services/issuables/promote-milestone.js'

const id = { milestone_id: rowId() }
const attributes = { description: opt(clearable()), start_date: clearableDate().optional(), due_date: clearableDate().optional() }

interface MilestoneRoutes<Subject> {
  /** `/projects/:id` or `/groups/:id`. */
  at: string
  read: Access<Subject, true>
  write: Access<Subject, true>
  source(subject: Subject): MilestoneSource
  /** The source of its issues; null if the caller cannot read any. */
  issues(subject: Subject): IssuableSource | null
  /** The source of its merge requests; null if the caller cannot read any. */
  requests(subject: Subject): IssuableSource | null
}

/** The same endpoints for projects and for groups (MI-1 to MI-7). */
function milestonesOf<Subject extends ProjectSubject | GroupSubject>({ at, read, write, source, issues, requests }: MilestoneRoutes<Subject>) {
  const MILESTONES = `${at}/milestones`
  const MILESTONE = `${MILESTONES}/:milestone_id`
  return [
    endpoint({
      method: 'GET',
      path: MILESTONES,
      summary: 'List milestones',
      access: read,
      input: z.object({
        state: orDefault(oneOf(['active', 'closed', 'all']), 'all'),
        iids: opt(idList()),
        title: opt(str()),
        search: opt(searchText()),
        ...paging,
      }),
      output: z.array(Milestone),
      async handler({ ctx, subject, input, view }) {
        return pageOf(await listMilestones(ctx, source(subject), input), input, (each) => presentMilestone(each, dayOf(ctx.now()), view))
      },
    }),
    endpoint({
      method: 'GET',
      path: MILESTONE,
      summary: 'Get a milestone',
      access: read,
      input: z.object(id),
      output: Milestone,
      async handler({ ctx, subject, input, view }) {
        return presentMilestone(await getMilestone(ctx, source(subject), input.milestone_id), dayOf(ctx.now()), view)
      },
    }),
    endpoint({
      method: 'POST',
      path: MILESTONES,
      summary: 'Create a milestone',
      access: write,
      input: z.object({ title: documented.title(), ...attributes }),
      output: Milestone,
      async handler({ ctx, caller, subject, input, view }) {
        return presentMilestone(await createMilestone(ctx, caller, source(subject), input), dayOf(ctx.now()), view)
      },
    }),
    endpoint({
      method: 'PUT',
      path: MILESTONE,
      summary: 'Update, close or reopen a milestone',
      access: write,
      input: needsOneOf(
        z.object({ ...id, title: opt(documented.title()), ...attributes, state_event: opt(oneOf(['close', 'activate'])) }),
        'title',
        'description',
        'start_date',
        'due_date',
        'state_event',
      ),
      output: Milestone,
      async handler({ ctx, caller, subject, input: { milestone_id, ...input }, view }) {
        return presentMilestone(await updateMilestone(ctx, caller, source(subject), milestone_id, input), dayOf(ctx.now()), view)
      },
    }),
    endpoint({
      method: 'DELETE',
      path: MILESTONE,
      summary: 'Delete a milestone',
      answers: [412],
      access: write,
      input: z.object(id),
      handler: async ({ ctx, caller, subject, input, unchangedSince }) =>
        deleteMilestone(ctx, caller, source(subject), input.milestone_id, unchangedSince),
    }),
    endpoint({
      method: 'GET',
      path: `${MILESTONE}/issues`,
      summary: 'List the issues of a milestone',
      access: read,
      input: z.object({ ...id, ...paging }),
      output: z.array(Issue),
      async handler({ ctx, caller, subject, input: { milestone_id, ...paging }, view }) {
        const { path } = await getMilestone(ctx, source(subject), milestone_id)
        const place = issues(subject)
        if (!place) return new PageAnswer([], 0, paging.page, paging.per_page)
        const page = await listIssues(ctx, caller, place, { ...ALL, in: [], milestone_id, with_labels_details: false, ...paging })
        return pageOf(page, paging, (issue) => presentIssue(issue, dayOf(ctx.now()), view, fromOf(subject, path)))
      },
    }),
    endpoint({
      method: 'GET',
      path: `${MILESTONE}/merge_requests`,
      summary: 'List the merge requests of a milestone',
      access: read,
      input: z.object({ ...id, ...paging }),
      output: z.array(MergeRequest),
      async handler({ ctx, caller, subject, input: { milestone_id, ...paging }, view }) {
        const { path } = await getMilestone(ctx, source(subject), milestone_id)
        const place = requests(subject)
        if (!place) return new PageAnswer([], 0, paging.page, paging.per_page)
        const page = await listMergeRequests(ctx, caller, place, { ...ALL, in: [], milestone_id, ...paging })
        return pageOf(page, paging, (request) => presentMergeRequest(request, dayOf(ctx.now()), view, fromOf(subject, path)))
      },
    }),
  ]
}

const ALL = { state: 'all', scope: 'all', order_by: 'created_at', sort: 'desc' } as const
const fromOf = (subject: object, path: string): Standpoint => ('group' in subject ? { group: path } : { project: true })

/** Milestones (MI-1 to MI-7, PT-33). */
export const milestones = [
  ...milestonesOf({
    at: '/projects/:id',
    read: onProjectSignedIn('read_milestone'),
    write: onProjectSignedIn('manage_milestone'),
    source: (project) => ({ project }),
    issues: (project) => (project.can('read_issue') ? { project } : null),
    requests: (project) => (project.can('read_own_merge_request') ? { project } : null),
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/milestones/:milestone_id/promote',
    summary: 'Make a milestone of a project one of its group',
    access: onProjectSignedIn('manage_milestone'),
    status: 200,
    input: z.object(id),
    output: Milestone,
    async handler({ ctx, caller, subject, input, view }) {
      const milestone = await promoteMilestone(ctx, caller, subject, input.milestone_id)
      return presentMilestone(milestone, dayOf(ctx.now()), view)
    },
  }),
  ...milestonesOf({
    at: '/groups/:id',
    read: onGroupSignedIn('read_group'),
    write: onGroupSignedIn('manage_milestone'),
    source: (group) => ({ group }),
    issues: () => 'everywhere',
    requests: () => 'everywhere',
  }),
]
