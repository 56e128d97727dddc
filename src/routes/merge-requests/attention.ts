import { z } from 'zod'
import { onMergeRequest } from '../../access/merge-requests.js'
import { presentUserRef, UserRef } from '../../entities/identity/user.js'
import { Issue, presentIssue } from '../../entities/issuables/issue.js'
import { DetailedMergeRequest, presentDetailedMergeRequest } from '../../entities/issuables/merge-request.js'
import { presentTodo, Todo } from '../../entities/issuables/todo.js'
import { Answer, endpoint, pageOf } from '../../http/endpoint.js'
import { paging } from '../../http/params.js'
import { dayOf } from '../../lib/text/day.js'
import { listClosedIssues } from '../../services/issuables/merge-requests/writing/closing-issues.js'
import {
  addMergeRequestTodo,
  listParticipants,
  subscribeToMergeRequest,
  targetOf,
} from '../../services/issuables/merge-requests/writing/participation.js'
import { timeTrackingOf } from '../issuables/time-tracking.js'

const REQUEST = '/projects/:id/merge_requests/:merge_request_iid'

const subscription = (verb: 'subscribe' | 'unsubscribe') =>
  endpoint({
    method: 'POST',
    path: `${REQUEST}/${verb}`,
    summary: verb === 'subscribe' ? 'Subscribe to a merge request' : 'Unsubscribe from a merge request',
    answers: [304],
    access: onMergeRequest('update_merge_request'),
    output: DetailedMergeRequest,
    async handler({ ctx, caller, subject, view }) {
      const request = await subscribeToMergeRequest(ctx, caller, subject, verb === 'subscribe')
      return request ? presentDetailedMergeRequest(request, dayOf(ctx.now()), view) : new Answer(304)
    },
  })

/**
 * The contract's record also has a number of changed files: that of the merge request that closes the issue (MR-81).
 */
const ClosedIssue = z
  .strictObject({ ...Issue.shape, changes_count: z.string() })
  .meta({ id: 'ClosedIssue', description: 'An issue that a merge request closes.' })

/** An issue of another tracker, of which only its key is known (SV-21). */
const ExternalIssue = z
  .strictObject({ id: z.string(), title: z.string() })
  .meta({ id: 'ExternalIssue', description: 'An issue of another tracker that a merge request closes.' })

/** Participants, closed issues, subscriptions, todos and time tracking of merge requests (MR-81, MR-86, chapter 10). */
export const mergeRequestAttention = [
  endpoint({
    method: 'GET',
    path: `${REQUEST}/participants`,
    summary: 'List the participants of a merge request',
    access: onMergeRequest('read_merge_request'),
    input: z.object(paging),
    output: z.array(UserRef),
    async handler({ ctx, subject, input, view }) {
      return pageOf(await listParticipants(ctx, subject, input), input, (person) => presentUserRef(person, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${REQUEST}/closes_issues`,
    summary: 'List the issues that a merge request closes',
    access: onMergeRequest('read_merge_request'),
    input: z.object(paging),
    output: z.array(z.union([ClosedIssue, ExternalIssue])),
    async handler({ ctx, caller, subject, input, view }) {
      return pageOf(await listClosedIssues(ctx, caller, subject, input), input, (issue) =>
        'key' in issue
          ? { id: issue.key, title: `External Issue ${issue.key}` }
          : { ...presentIssue(issue, dayOf(ctx.now()), view), changes_count: subject.request.changes_count },
      )
    },
  }),
  subscription('subscribe'),
  subscription('unsubscribe'),
  endpoint({
    method: 'POST',
    path: `${REQUEST}/todo`,
    summary: 'Create a todo for a merge request',
    answers: [304],
    access: onMergeRequest('read_merge_request'),
    output: Todo,
    async handler({ ctx, caller, subject, view }) {
      const todo = await addMergeRequestTodo(ctx, caller, subject)
      return todo ? presentTodo(todo, dayOf(ctx.now()), view) : new Answer(304)
    },
  }),
  ...timeTrackingOf({
    path: REQUEST,
    noun: 'a merge request',
    read: onMergeRequest('read_merge_request'),
    write: onMergeRequest('update_merge_request'),
    target: targetOf,
    record: ({ request }) => request,
  }),
]
