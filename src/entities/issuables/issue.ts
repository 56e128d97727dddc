import { z } from 'zod'
import type { View } from '../../http/view.js'
import { readableTextColor } from '../../lib/text/color.js'
import type { IssueLabel, IssueRecord } from '../../services/issuables/issues/list.js'
import { presentUserRef, UserRef } from '../identity/user.js'
import { Milestone, presentMilestone } from './milestone.js'
import { presentReferences, References, type Standpoint } from './references.js'
import { presentTimeStats, TimeStats } from './time-stats.js'

/** A label with details, which newer clients ask for (section 15), without the counts of section 16. */
export const LabelDetails = z.strictObject({
  id: z.int(),
  name: z.string(),
  color: z.string(),
  text_color: z.string(),
  description: z.string().nullable(),
  description_html: z.string(),
})

export const Issue = z
  .strictObject({
    id: z.int(),
    iid: z.int(),
    project_id: z.int(),
    title: z.string(),
    description: z.string(),
    state: z.enum(['opened', 'closed']),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    closed_at: z.iso.datetime().nullable(),
    closed_by: UserRef.nullable(),
    labels: z.union([z.array(z.string()), z.array(LabelDetails)]),
    milestone: Milestone.nullable(),
    assignees: z.array(UserRef),
    author: UserRef,
    assignee: UserRef.nullable(),
    type: z.literal('ISSUE'),
    issue_type: z.literal('issue'),
    user_notes_count: z.int(),
    merge_requests_count: z.int(),
    upvotes: z.int(),
    downvotes: z.int(),
    due_date: z.iso.date().nullable(),
    confidential: z.boolean(),
    discussion_locked: z.boolean().nullable(),
    web_url: z.url(),
    time_stats: TimeStats,
    has_tasks: z.boolean(),
    task_completion_status: z.strictObject({ count: z.int(), completed_count: z.int() }),
    moved_to_id: z.int().nullable(),
    references: References,
    _links: z.strictObject({ self: z.url(), notes: z.url(), award_emoji: z.url(), project: z.url() }),
    subscribed: z.boolean().optional(),
  })
  .meta({ id: 'Issue', description: 'An issue.' })

const presentLabel = (label: IssueLabel | string) => (typeof label === 'string' ? label : { ...label, text_color: readableTextColor(label.color) })

export function presentIssue(record: IssueRecord, today: string, view: View, from: Standpoint = { project: true }): z.infer<typeof Issue> {
  const { issue, path, milestone } = record
  const assignees = record.assignees.map((user) => presentUserRef(user, view))
  const project = view.links.api(`/projects/${issue.project_id}`)
  const self = `${project}/issues/${issue.iid}`
  // A plain literal without spread, absent fields as undefined: V8 allocates it in one step.
  return {
    id: issue.id,
    iid: issue.iid,
    project_id: issue.project_id,
    title: issue.title,
    description: issue.description,
    state: issue.state,
    created_at: issue.created_at.toISOString(),
    updated_at: issue.updated_at.toISOString(),
    closed_at: issue.closed_at ? issue.closed_at.toISOString() : null,
    closed_by: record.closed_by ? presentUserRef(record.closed_by, view) : null,
    labels: record.labels.map(presentLabel) as string[],
    milestone: milestone && presentMilestone({ milestone, path: record.milestone_path ?? path }, today, view, issue.project_id),
    assignees,
    author: presentUserRef(record.author, view),
    assignee: assignees[0] ?? null,
    type: 'ISSUE',
    issue_type: 'issue',
    user_notes_count: issue.user_notes_count,
    merge_requests_count: issue.merge_requests_count,
    upvotes: issue.upvotes,
    downvotes: issue.downvotes,
    due_date: issue.due_date,
    confidential: issue.confidential,
    discussion_locked: issue.discussion_locked,
    web_url: `${view.links.project(path)}/issues/${issue.iid}`,
    time_stats: presentTimeStats(issue),
    has_tasks: issue.task_count > 0,
    task_completion_status: { count: issue.task_count, completed_count: issue.task_completed_count },
    moved_to_id: issue.moved_to_id,
    references: presentReferences(path, `#${issue.iid}`, from),
    _links: { self, notes: `${self}/notes`, award_emoji: `${self}/award_emoji`, project },
    subscribed: record.subscribed,
  }
}
