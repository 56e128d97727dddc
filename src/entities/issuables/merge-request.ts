import { z } from 'zod'
import type { View } from '../../http/view.js'
import { isDraft } from '../../rules/draft.js'
import { letsMerge } from '../../rules/pipeline-states.js'
import { isSquashed } from '../../rules/squash.js'
import type { MergeRequestRecord, SingleMergeRequest } from '../../services/issuables/merge-requests/reading/load.js'
import { Pipeline, PipelineBasic, presentPipeline, presentPipelineBasic } from '../ci/pipeline.js'
import { presentUserRef, UserRef } from '../identity/user.js'
import { Milestone, presentMilestone } from './milestone.js'
import { presentReferences, References, type Standpoint } from './references.js'
import { presentTimeStats, TimeStats } from './time-stats.js'

/** What `view=simple` shows (MR-12). */
export const SimpleMergeRequest = z
  .strictObject({ iid: z.int(), title: z.string(), description: z.string(), state: z.enum(['opened', 'closed', 'merged']), web_url: z.url() })
  .meta({ id: 'SimpleMergeRequest', description: 'Number, title, state and URL of a merge request.' })

/** A merge request in a list, with the fields of X-5. */
export const MergeRequest = z
  .strictObject({
    ...SimpleMergeRequest.shape,
    id: z.int(),
    project_id: z.int(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    merged_by: UserRef.nullable(),
    merged_at: z.iso.datetime().nullable(),
    closed_by: UserRef.nullable(),
    closed_at: z.iso.datetime().nullable(),
    target_branch: z.string(),
    source_branch: z.string(),
    upvotes: z.int(),
    downvotes: z.int(),
    author: UserRef,
    assignee: UserRef.nullable(),
    assignees: z.array(UserRef),
    reviewers: z.array(UserRef),
    source_project_id: z.int(),
    target_project_id: z.int(),
    labels: z.array(z.string()),
    work_in_progress: z.boolean(),
    draft: z.boolean(),
    milestone: Milestone.nullable(),
    merge_when_pipeline_succeeds: z.boolean(),
    merge_status: z.enum(['can_be_merged', 'cannot_be_merged', 'unchecked']),
    has_conflicts: z.boolean(),
    blocking_discussions_resolved: z.boolean(),
    sha: z.string().nullable(),
    merge_commit_sha: z.string().nullable(),
    squash_commit_sha: z.string().nullable(),
    user_notes_count: z.int(),
    changes_count: z.string(),
    should_remove_source_branch: z.boolean().nullable(),
    force_remove_source_branch: z.boolean(),
    squash: z.boolean(),
    squash_on_merge: z.boolean(),
    allow_collaboration: z.boolean().optional(),
    discussion_locked: z.boolean().nullable(),
    reference: z.string(),
    references: References,
    detailed_merge_status: z.enum([
      'unchecked',
      'checking',
      'conflict',
      'need_rebase',
      'not_open',
      'draft_status',
      'discussions_not_resolved',
      'ci_must_pass',
      'ci_still_running',
      'requested_changes',
      'mergeable',
    ]),
    time_stats: TimeStats,
    task_completion_status: z.strictObject({ count: z.int(), completed_count: z.int() }),
  })
  .meta({ id: 'MergeRequest', description: 'A merge request, in a list.' })

/** Fields of single views only. */
const single = {
  subscribed: z.boolean(),
  pipeline: PipelineBasic.nullable(),
  head_pipeline: Pipeline.nullable(),
  diff_refs: z.strictObject({ base_sha: z.string().nullable(), head_sha: z.string(), start_sha: z.string() }).nullable(),
  merge_error: z.string().nullable(),
  user: z.strictObject({ can_merge: z.boolean() }),
}

/** A merge request found by a search (S-27). */
export const FoundMergeRequest = MergeRequest.omit({ changes_count: true }).meta({
  id: 'FoundMergeRequest',
  description: 'A merge request that a search found.',
})

/** A merge request as the target of a todo. */
export const FollowedMergeRequest = z
  .strictObject({ ...MergeRequest.shape, subscribed: z.boolean() })
  .meta({ id: 'FollowedMergeRequest', description: 'A merge request, as a todo or an issue refers to it.' })

/** `rebase_in_progress` and `diverged_commits_count` are included only on request. */
export const DetailedMergeRequest = z
  .strictObject({ ...MergeRequest.shape, ...single, rebase_in_progress: z.boolean().optional(), diverged_commits_count: z.int().optional() })
  .meta({ id: 'DetailedMergeRequest', description: 'A merge request.' })

const urlOf = ({ request, path }: MergeRequestRecord, view: View) => `${view.links.project(path)}/merge_requests/${request.iid}`

export function presentSimpleMergeRequest(record: MergeRequestRecord, view: View): z.infer<typeof SimpleMergeRequest> {
  const { iid, title, description, state } = record.request
  return { iid, title, description, state, web_url: urlOf(record, view) }
}

/** A merge request without changes cannot be merged, but has no conflicts. */
const hasConflicts = ({ merge_status, changes_count }: MergeRequestRecord['request']) => merge_status === 'cannot_be_merged' && changes_count !== '0'

export function presentMergeRequest(
  record: MergeRequestRecord,
  today: string,
  view: View,
  from: Standpoint = { project: true },
): z.infer<typeof MergeRequest> {
  const { request, path, milestone } = record
  const assignees = record.assignees.map((user) => presentUserRef(user, view))
  const unfinished = isDraft(request.title)
  // A plain literal without spread, absent fields as undefined: V8 allocates it in one step.
  return {
    id: request.id,
    iid: request.iid,
    project_id: request.project_id,
    title: request.title,
    description: request.description,
    state: request.state,
    created_at: request.created_at.toISOString(),
    updated_at: request.updated_at.toISOString(),
    merged_by: record.merged_by ? presentUserRef(record.merged_by, view) : null,
    merged_at: request.merged_at ? request.merged_at.toISOString() : null,
    closed_by: record.closed_by ? presentUserRef(record.closed_by, view) : null,
    closed_at: request.closed_at ? request.closed_at.toISOString() : null,
    target_branch: request.target_branch,
    source_branch: request.source_branch,
    upvotes: request.upvotes,
    downvotes: request.downvotes,
    author: presentUserRef(record.author, view),
    assignee: assignees[0] ?? null,
    assignees,
    reviewers: record.reviewers.map((user) => presentUserRef(user, view)),
    source_project_id: request.original_source_project_id,
    target_project_id: request.project_id,
    labels: record.labels,
    work_in_progress: unfinished,
    draft: unfinished,
    milestone: milestone && presentMilestone({ milestone, path: record.milestone_path ?? path }, today, view, request.project_id),
    merge_when_pipeline_succeeds: request.merge_when_pipeline_succeeds,
    merge_status: request.merge_status,
    has_conflicts: hasConflicts(request),
    blocking_discussions_resolved: !record.rules.discussions_block || request.unresolved_discussions_count === 0,
    sha: request.sha,
    merge_commit_sha: request.merge_commit_sha,
    squash_commit_sha: request.squash_commit_sha,
    user_notes_count: request.user_notes_count,
    changes_count: request.changes_count,
    should_remove_source_branch: request.should_remove_source_branch,
    force_remove_source_branch: request.force_remove_source_branch,
    squash: request.squash,
    squash_on_merge: isSquashed(record.rules, request),
    allow_collaboration: request.original_source_project_id === request.project_id ? undefined : request.allow_collaboration,
    discussion_locked: request.discussion_locked,
    web_url: urlOf(record, view),
    reference: `!${request.iid}`,
    references: presentReferences(path, `!${request.iid}`, from),
    detailed_merge_status: detailedStatus(record),
    time_stats: presentTimeStats(request),
    task_completion_status: { count: request.task_count, completed_count: request.task_completed_count },
  }
}

export const presentFoundMergeRequest = (
  record: MergeRequestRecord,
  today: string,
  view: View,
  from: Standpoint,
): z.infer<typeof FoundMergeRequest> => Object.assign(presentMergeRequest(record, today, view, from), { changes_count: undefined })

export const presentFollowedMergeRequest = (
  record: MergeRequestRecord & { subscribed: boolean },
  today: string,
  view: View,
): z.infer<typeof FollowedMergeRequest> => Object.assign(presentMergeRequest(record, today, view), { subscribed: record.subscribed })

/** The first reason that applies why the merge request cannot be merged (MR-60 to MR-62). */
export function detailedStatus({
  request,
  rules,
  pipeline_status,
  changes_requested,
}: MergeRequestRecord): z.infer<typeof MergeRequest>['detailed_merge_status'] {
  if (request.state !== 'opened') return 'not_open'
  if (request.merge_status === 'unchecked') return 'unchecked'
  if (isDraft(request.title)) return 'draft_status'
  if (request.merge_status === 'cannot_be_merged') return 'conflict'
  if (rules.merge_method !== 'merge' && request.behind_target) return 'need_rebase'
  if (rules.discussions_block && request.unresolved_discussions_count > 0) return 'discussions_not_resolved'
  if (rules.pipeline_needed && !letsMerge(pipeline_status, { skippedCounts: rules.skipped_counts }))
    return pipeline_status === 'pending' || pipeline_status === 'running' ? 'ci_still_running' : 'ci_must_pass'
  // which does not forbid the merge (MR-603)
  return changes_requested ? 'requested_changes' : 'mergeable'
}

export function presentDetailedMergeRequest(record: SingleMergeRequest, today: string, view: View): z.infer<typeof DetailedMergeRequest> {
  const { head_pipeline, version } = record
  const source = { fullPath: record.source_path ?? '' }
  return Object.assign(presentMergeRequest(record, today, view), {
    subscribed: record.subscribed,
    pipeline: head_pipeline && presentPipelineBasic(head_pipeline, source, view),
    head_pipeline: head_pipeline && presentPipeline(head_pipeline, source, view),
    diff_refs: version && { base_sha: version.base_commit_sha, head_sha: version.head_commit_sha, start_sha: version.start_commit_sha },
    merge_error: record.request.merge_error,
    user: { can_merge: record.can_merge },
  })
}
