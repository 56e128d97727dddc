import { onIssueSignedIn } from '../../access/issues.js'
import { Issue, presentIssue } from '../../entities/issuables/issue.js'
import { presentTodo, Todo } from '../../entities/issuables/todo.js'
import { Answer, endpoint } from '../../http/endpoint.js'
import { dayOf } from '../../lib/text/day.js'
import { addIssueTodo, subscribeToIssue } from '../../services/issuables/issues/participation.js'
import { timeTrackingOf } from '../issuables/time-tracking.js'

const ISSUE = '/projects/:id/issues/:issue_iid'

const subscription = (verb: 'subscribe' | 'unsubscribe') =>
  endpoint({
    method: 'POST',
    path: `${ISSUE}/${verb}`,
    summary: verb === 'subscribe' ? 'Subscribe to an issue' : 'Unsubscribe from an issue',
    answers: [304],
    access: onIssueSignedIn('read_issue'),
    output: Issue,
    async handler({ ctx, caller, subject, view }) {
      const issue = await subscribeToIssue(ctx, caller, subject, verb === 'subscribe')
      return issue ? presentIssue(issue, dayOf(ctx.now()), view) : new Answer(304)
    },
  })

/** Subscriptions, todos and time tracking of issues (IS-9 to IS-13). */
export const issueAttention = [
  subscription('subscribe'),
  subscription('unsubscribe'),
  endpoint({
    method: 'POST',
    path: `${ISSUE}/todo`,
    summary: 'Create a todo for an issue',
    answers: [304],
    access: onIssueSignedIn('read_issue'),
    output: Todo,
    async handler({ ctx, caller, subject, view }) {
      const todo = await addIssueTodo(ctx, caller, subject)
      return todo ? presentTodo(todo, dayOf(ctx.now()), view) : new Answer(304)
    },
  }),
  ...timeTrackingOf({
    path: ISSUE,
    noun: 'an issue',
    read: onIssueSignedIn('read_issue'),
    write: onIssueSignedIn('update_issue'),
    target: ({ issue: { id, project_id } }) => ({ type: 'Issue', id, project_id }),
    record: ({ issue }) => issue,
  }),
]
