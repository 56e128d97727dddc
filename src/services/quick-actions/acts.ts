import type { IssueSubject } from '../../access/issues.js'
import { fullPathOf } from '../../access/rules.js'
import { dayOf } from '../../lib/text/day.js'
import { mainEmojiName } from '../../lib/text/emoji.js'
import { humanDuration, parseDuration } from '../../rules/duration.js'
import { resolveIssues } from '../activity/referenced-issues.js'
import { finishTodos, hasPendingTodo } from '../activity/todos.js'
import { findVisibleProject } from '../identity/acting-users.js'
import { linkIssues, listLinks, unlinkIssues } from '../issuables/issues/links.js'
import { moveIssue } from '../issuables/issues/move.js'
import { addIssueTodo, subscribeToIssue } from '../issuables/issues/participation.js'
import { closeAsDuplicate } from '../issuables/issues/update.js'
import { acceptMergeRequest } from '../issuables/merge-requests/merging/accept.js'
import { startRebase } from '../issuables/merge-requests/merging/rebase.js'
import { approve, unapprove } from '../issuables/merge-requests/writing/approvals.js'
import { addMergeRequestTodo, subscribeToMergeRequest } from '../issuables/merge-requests/writing/participation.js'
import { recordReview } from '../issuables/merge-requests/writing/reviews.js'
import { addSpentTime, resetEstimate, resetSpentTime, setEstimate } from '../issuables/time-tracking.js'
import { toggleAward } from '../notes/award-emoji.js'
import { aboutIssue, aboutMergeRequest } from '../notes/noteables.js'
import { referenceIn } from './arguments.js'
import { type Acting, type ActionTarget, type CommandDefinition, type Effect, has, nounOf, rowOf, updates } from './target.js'

/** An effect that always can be done, apart from what the service refuses. */
const doing = (shown: Effect['shown'], message: string, work: () => Promise<unknown>): Effect => ({
  shown,
  async act() {
    await work()
    return message
  },
})

/** Time spent, with an optional day at the end that is not in the future. */
const SPENT = /^([^\n]*?)(?:\s(\d{4}-\d{2}-\d{2}))?$/

const subscription = (name: 'subscribe' | 'unsubscribe', text: string): CommandDefinition => ({
  names: [name],
  existing: true,
  may: (target) => has(target, target.type === 'Issue' ? 'read_issue' : 'update_merge_request'),
  plan: async ({ ctx, caller, target }) =>
    doing({ subscription_event: name }, `${text} this ${nounOf(target)}.`, async () => {
      if (target.issue) await subscribeToIssue(ctx, caller, target.issue, name === 'subscribe')
      if (target.request) await subscribeToMergeRequest(ctx, caller, target.request, name === 'subscribe')
    }),
})

/** A command with an endpoint of merge requests. */
const onRequest = (names: [string, ...string[]], may: (target: ActionTarget) => boolean, plan: CommandDefinition['plan']): CommandDefinition => ({
  names,
  on: 'MergeRequest',
  existing: true,
  may,
  plan,
})

/** A command about another issue, which the caller must see. */
const linking = (
  name: 'relate' | 'unlink',
  plan: (acting: Acting, issue: IssueSubject, other: IssueSubject, argument: string) => Promise<Effect | null>,
): CommandDefinition => ({
  names: [name],
  on: 'Issue',
  existing: true,
  argument: 'required',
  may: (target) => has(target, 'manage_issue'),
  async plan(acting, argument) {
    const { ctx, caller, target } = acting
    const reference = await referenceIn(acting, argument)
    const [other] = reference?.kind === 'issue' ? await resolveIssues(ctx, caller, target.project, [reference]) : []
    return target.issue && other ? plan(acting, target.issue, other, argument) : null
  },
})

/** Commands that do what an endpoint of its own does (QA-12 to QA-18). */
export const ACTS: CommandDefinition[] = [
  {
    names: ['estimate'],
    argument: 'required',
    may: updates,
    async plan({ ctx, caller }, duration) {
      const seconds = parseDuration(duration)
      if (seconds === null || seconds < 0) return null
      return {
        shown: { time_estimate: seconds },
        async act(target) {
          await setEstimate(ctx, target, caller.user.id, duration)
          return `Set time estimate to ${humanDuration(seconds)}.`
        },
      }
    },
  },
  {
    names: ['remove_estimate'],
    existing: true,
    may: updates,
    plan: async ({ ctx, caller }) => ({
      shown: { time_estimate: 0 },
      async act(target) {
        await resetEstimate(ctx, target, caller.user.id)
        return 'Removed time estimate.'
      },
    }),
  },
  {
    names: ['spend', 'spent'],
    argument: 'required',
    may: updates,
    async plan({ ctx, caller }, argument) {
      const [, duration = '', day] = SPENT.exec(argument) ?? []
      const seconds = parseDuration(duration)
      const today = dayOf(ctx.now())
      if (seconds === null || (day !== undefined && (day > today || !isDay(day)))) return null
      return {
        shown: { spend_time: { duration: seconds, user_id: caller.user.id, spent_at: day ?? today } },
        async act(target) {
          await addSpentTime(ctx, target, caller.user.id, duration, day)
          return `${seconds > 0 ? 'Added' : 'Subtracted'} ${humanDuration(Math.abs(seconds))} spent time.`
        },
      }
    },
  },
  {
    names: ['remove_time_spent'],
    existing: true,
    may: updates,
    plan: async ({ ctx, caller }) => ({
      shown: { spend_time: { duration: 'reset', user_id: caller.user.id } },
      async act(target) {
        await resetSpentTime(ctx, target, caller.user.id)
        return 'Removed spent time.'
      },
    }),
  },
  {
    names: ['todo'],
    existing: true,
    may: (target) => rowOf(target) !== null,
    plan: async ({ ctx, caller, target: { issue, request } }) => ({
      shown: { todo_event: 'add' },
      async act() {
        const todo = issue ? await addIssueTodo(ctx, caller, issue) : request && (await addMergeRequestTodo(ctx, caller, request))
        return todo && 'Added a to do.'
      },
    }),
  },
  {
    names: ['done'],
    existing: true,
    may: (target) => rowOf(target) !== null,
    async plan({ ctx, caller, target }) {
      const { id } = rowOf(target) as { id: number }
      const on = { type: target.type, id, project_id: target.project.project.id }
      if (!(await hasPendingTodo(ctx.db.write, caller.user.id, on))) return null
      return doing({ todo_event: 'done' }, 'Marked to do as done.', () => finishTodos(ctx.db.write, caller.user.id, on, ctx.now()))
    },
  },
  subscription('subscribe', 'Subscribed to'),
  subscription('unsubscribe', 'Unsubscribed from'),
  {
    names: ['award'],
    existing: true,
    argument: 'required',
    may: (target) => has(target, 'award_emoji'),
    async plan({ ctx, caller, target: { type, issue, request } }, argument) {
      const name = mainEmojiName(argument.replace(/^:|:$/g, ''))
      const noteable = issue ? aboutIssue(issue).noteable : request && aboutMergeRequest(request).noteable
      if (name === undefined || !noteable) return null
      return doing({ emoji_award: name }, `Toggled :${name}: emoji award.`, () =>
        toggleAward(ctx, caller, { type, id: noteable.id as number, noteable }, name),
      )
    },
  },
  {
    names: ['duplicate'],
    on: 'Issue',
    existing: true,
    argument: 'required',
    may: updates,
    async plan(acting, argument) {
      const { ctx, caller, target } = acting
      const { issue } = target
      const reference = await referenceIn(acting, argument)
      const [other] = reference?.kind === 'issue' ? await resolveIssues(ctx, caller, target.project, [reference]) : []
      if (!issue || !other || other.issue.id === issue.issue.id)
        return 'Failed to mark this issue as a duplicate because referenced issue was not found.'
      return doing({ canonical_issue_id: other.issue.id }, `Marked this issue as a duplicate of ${argument}.`, () =>
        closeAsDuplicate(ctx, caller, issue, other),
      )
    },
  },
  linking('relate', async ({ ctx, caller }, issue, other, argument) =>
    doing({}, `Marked this issue as related to ${argument}.`, () => linkIssues(ctx, caller, issue, other)),
  ),
  linking('unlink', async ({ ctx, caller }, issue, other, argument) => {
    const found = (await listLinks(ctx, caller, issue.issue.id)).find((each) => each.issue.issue.id === other.issue.id)
    return found ? doing({}, `Removed the link with ${argument}.`, () => unlinkIssues(ctx, caller, issue, found.link.id)) : null
  }),
  {
    names: ['move'],
    on: 'Issue',
    existing: true,
    argument: 'required',
    may: (target) => has(target, 'move_issue'),
    async plan({ ctx, caller, target: { issue } }, path) {
      const to = path.includes('/') ? await findVisibleProject(ctx, caller, path) : null
      if (!issue || !to) return "Failed to move this issue because target project doesn't exist."
      const { id } = to.project
      const moving = doing({ target_project: id }, `Moved this issue to ${fullPathOf(to.project)}.`, () => moveIssue(ctx, caller, issue, id))
      return { ...moving, last: true }
    },
  },
  onRequest(
    ['approve', 'lgtm'],
    (target) => has(target, 'approve_merge_request'),
    async ({ ctx, caller, target: { request } }) =>
      request && doing({}, 'Approved the current merge request.', () => approve(ctx, caller, request, undefined)),
  ),
  onRequest(
    ['unapprove'],
    (target) => has(target, 'approve_merge_request'),
    async ({ ctx, caller, target: { request } }) =>
      request && doing({}, 'Unapproved the current merge request.', () => unapprove(ctx, caller, request)),
  ),
  onRequest(
    ['request_changes'],
    (target) => has(target, 'approve_merge_request'),
    async ({ ctx, caller, target: { request } }) =>
      request &&
      doing({}, 'Changes requested to the current merge request.', () => recordReview(ctx, caller, request, { verdict: 'requested_changes' })),
  ),
  onRequest(
    ['rebase'],
    (target) => has(target, 'read_merge_request'),
    async ({ ctx, caller, target: { request } }) =>
      request && {
        ...doing({ rebase: true }, `Scheduled a rebase of branch ${request.request.source_branch}.`, () => startRebase(ctx, caller, request)),
        last: true,
      },
  ),
  onRequest(
    ['merge'],
    (target) => has(target, 'accept_merge_request'),
    async ({ ctx, caller, target: { request } }) =>
      request && {
        shown: { merge: request.request.sha },
        last: true,
        async act() {
          const given = { merge_when_pipeline_succeeds: true, sha: request.request.sha ?? undefined }
          const after = await acceptMergeRequest(ctx, caller, request, given)
          return after.request.state === 'merged' ? 'Merged this merge request.' : 'Scheduled to merge this merge request (When pipeline succeeds).'
        },
      },
  ),
]

/** Whether the calendar has the day. */
const isDay = (day: string) => {
  const date = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && dayOf(date) === day
}
