import { z } from 'zod'
import { onIssueSignedIn } from '../../access/issues.js'
import { Issue, presentIssue } from '../../entities/issue.js'
import { presentTimeStats, TimeStats } from '../../entities/time-stats.js'
import { presentTodo, Todo } from '../../entities/todo.js'
import { Answer, endpoint } from '../../http/endpoint.js'
import { str } from '../../http/params.js'
import { dayOf } from '../../lib/day.js'
import { addIssueTodo, subscribeToIssue } from '../../services/issues/attention.js'
import { addSpentTime, resetEstimate, resetSpentTime, setEstimate, type TimedTarget } from '../../services/time-tracking.js'

const ISSUE = '/projects/:id/issues/:issue_iid'

const subscription = (verb: 'subscribe' | 'unsubscribe') =>
  endpoint({
    method: 'POST',
    path: `${ISSUE}/${verb}`,
    summary: verb === 'subscribe' ? 'Follow an issue' : 'No longer follow an issue',
    access: onIssueSignedIn('read_issue'),
    input: z.object({}),
    output: Issue,
    async handler({ ctx, caller, subject, view }) {
      const issue = await subscribeToIssue(ctx, caller, subject, verb === 'subscribe')
      return issue ? presentIssue(issue, dayOf(ctx.now()), view) : new Answer(304)
    },
  })

const timed = ({ issue }: { issue: { id: number; project_id: number } }): TimedTarget => ({
  type: 'Issue',
  id: issue.id,
  project_id: issue.project_id,
})

const duration = z.object({ duration: str() })

/** IS-9 to IS-13. */
export const issueAttention = [
  subscription('subscribe'),
  subscription('unsubscribe'),
  endpoint({
    method: 'POST',
    path: `${ISSUE}/todo`,
    summary: 'Put an issue on the list of what is to be done',
    access: onIssueSignedIn('read_issue'),
    input: z.object({}),
    output: Todo,
    async handler({ ctx, caller, subject, view }) {
      const todo = await addIssueTodo(ctx, caller, subject)
      return todo ? presentTodo(todo, dayOf(ctx.now()), view) : new Answer(304)
    },
  }),
  endpoint({
    method: 'POST',
    path: `${ISSUE}/time_estimate`,
    summary: 'Set the time an issue is thought to take',
    access: onIssueSignedIn('update_issue'),
    status: 200,
    input: duration,
    output: TimeStats,
    async handler({ ctx, caller, subject, input }) {
      return presentTimeStats(await setEstimate(ctx, timed(subject), caller.user.id, input.duration))
    },
  }),
  endpoint({
    method: 'POST',
    path: `${ISSUE}/reset_time_estimate`,
    summary: 'Forget the time an issue is thought to take',
    access: onIssueSignedIn('update_issue'),
    status: 200,
    input: z.object({}),
    output: TimeStats,
    async handler({ ctx, caller, subject }) {
      return presentTimeStats(await resetEstimate(ctx, timed(subject), caller.user.id))
    },
  }),
  endpoint({
    method: 'POST',
    path: `${ISSUE}/add_spent_time`,
    summary: 'Add to the time an issue took, or take from it',
    access: onIssueSignedIn('update_issue'),
    input: duration,
    output: TimeStats,
    async handler({ ctx, caller, subject, input }) {
      return presentTimeStats(await addSpentTime(ctx, timed(subject), caller.user.id, input.duration))
    },
  }),
  endpoint({
    method: 'POST',
    path: `${ISSUE}/reset_spent_time`,
    summary: 'Forget the time an issue took',
    access: onIssueSignedIn('update_issue'),
    status: 200,
    input: z.object({}),
    output: TimeStats,
    async handler({ ctx, caller, subject }) {
      return presentTimeStats(await resetSpentTime(ctx, timed(subject), caller.user.id))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${ISSUE}/time_stats`,
    summary: 'The time an issue takes and took',
    access: onIssueSignedIn('read_issue'),
    input: z.object({}),
    output: TimeStats,
    handler: async ({ subject }) => presentTimeStats(subject.issue),
  }),
]
