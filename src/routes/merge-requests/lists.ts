import { z } from 'zod'
import { onGroupSignedIn, onProjectAfterInput, onProjectSignedIn, signedIn } from '../../access/rules.js'
import { MergeRequest, presentMergeRequest, presentSimpleMergeRequest, SimpleMergeRequest } from '../../entities/issuables/merge-request.js'
import type { Standpoint } from '../../entities/issuables/references.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, oneOf, oneOrMore, opt, orDefault, rowId, str, where } from '../../http/params.js'
import type { View } from '../../http/view.js'
import { dayOf } from '../../lib/text/day.js'
import type { Page } from '../../services/core/page.js'
import { listMergeRequests, MERGE_REQUEST_ORDERS } from '../../services/issuables/merge-requests/reading/list.js'
import type { MergeRequestRecord } from '../../services/issuables/merge-requests/reading/load.js'
import { listRequestsOfDeployment } from '../../services/issuables/merge-requests/reading/of-deployment.js'
import { assignees, fieldsOf, negated, scopeOf, shared, traits, traitsOf, usersOf } from '../issuables/filters.js'

/** `created_by_me` and the like, also spelled with dashes, and `reviews_for_me`. */
const scopes = () =>
  oneOf(
    ['created_by_me', 'created-by-me', 'assigned_to_me', 'assigned-to-me', 'reviews_for_me', 'reviews-for-me', 'all'],
    ['created_by_me', 'assigned_to_me', 'reviews_for_me', 'all'],
  )

const MAX_APPROVERS = 5
const reviewers = { reviewer_id: opt(assignees()), reviewer_username: opt(str()) }

const areFew = (people: unknown[]) => people.length <= MAX_APPROVERS

/** Filters of lists of merge requests (MR-13 to MR-21, MR-104, MR-111, MR-120 to MR-123, X-2, X-3). */
export const filters = (scope: 'created_by_me' | 'all') => ({
  state: orDefault(oneOf(['opened', 'closed', 'locked', 'merged', 'all']), 'all'),
  view: opt(oneOf(['simple'])),
  ...traits,
  scope: orDefault(scopes(), scope),
  source_branch: opt(str()),
  target_branch: opt(str()),
  wip: opt(oneOf(['yes', 'no'])),
  draft: opt(bool()),
  ...reviewers,
  source_project_id: opt(rowId()),
  not: negated({ ...traits, ...reviewers }),
  approved_by_ids: opt(where(assignees(), areFew, 'is invalid')),
  approved_by_usernames: opt(where(oneOrMore(str()), areFew, 'is invalid')),
  order_by: orDefault(oneOf(MERGE_REQUEST_ORDERS), 'created_at'),
  ...shared,
})

type Given = z.infer<z.ZodObject<ReturnType<typeof filters>>>

/** Converts parameters to the service's filters. */
export function filterOf(given: Given) {
  const { scope, labels: _, milestone: __, assignee_id: ___, view: ____, not, in: fields, wip, draft = wip && wip === 'yes', ...rest } = given
  const people = {
    reviewer_id: usersOf<number>(given.reviewer_id),
    approved_by_ids: usersOf<number>(given.approved_by_ids),
    approved_by_usernames: usersOf<string>(given.approved_by_usernames),
  }
  return {
    ...rest,
    ...traitsOf(given, true),
    ...people,
    draft,
    scope: scopeOf(scope),
    in: fieldsOf(fields),
    not: not ? { ...traitsOf(not, true), reviewer_id: usersOf<number>(not.reviewer_id), reviewer_username: not.reviewer_username } : undefined,
  }
}

const output = z.array(z.union([MergeRequest, SimpleMergeRequest]))

/** `simple` is the only value that changes the view (MR-12). */
const shown = (page: Page<MergeRequestRecord>, input: Given, now: Date, view: View, from?: Standpoint) =>
  pageOf(page, input, (each) => (input.view === 'simple' ? presentSimpleMergeRequest(each, view) : presentMergeRequest(each, dayOf(now), view, from)))

/** Lists of merge requests: the caller's, a group's (OT-2) and a project's. */
export const mergeRequestLists = [
  endpoint({
    method: 'GET',
    path: '/merge_requests',
    summary: 'List merge requests of all projects',
    access: signedIn,
    input: z.object(filters('created_by_me')),
    output,
    async handler({ ctx, caller, input, view }) {
      return shown(await listMergeRequests(ctx, caller, 'everywhere', filterOf(input)), input, ctx.now(), view, 'everywhere')
    },
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id/merge_requests',
    summary: 'List merge requests of the projects of a group and its descendants',
    access: onGroupSignedIn('read_group'),
    input: z.object(filters('all')),
    output,
    async handler({ ctx, caller, subject, input, view }) {
      const page = await listMergeRequests(ctx, caller, { group: subject }, filterOf(input))
      return shown(page, input, ctx.now(), view, { group: subject.group.full_path })
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/merge_requests',
    summary: 'List merge requests of a project',
    access: onProjectAfterInput('read_merge_request'),
    input: z.object(filters('all')),
    output,
    async handler({ ctx, caller, subject, input, view }) {
      return shown(await listMergeRequests(ctx, caller, { project: subject }, filterOf(input)), input, ctx.now(), view)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/deployments/:deployment_id/merge_requests',
    summary: 'List the merge requests that a deployment has brought to its environment',
    access: onProjectSignedIn('read_pipeline'),
    input: z.object({ deployment_id: rowId(), ...filters('all') }),
    output,
    async handler({ ctx, caller, subject, input: { deployment_id, ...input }, view }) {
      const page = await listRequestsOfDeployment(ctx, caller, subject, { deployment_id, ...filterOf(input) })
      return shown(page, input, ctx.now(), view)
    },
  }),
]
