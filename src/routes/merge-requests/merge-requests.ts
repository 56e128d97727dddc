import { z } from 'zod'
import { onMergeRequest } from '../../access/merge-requests.js'
import { onProjectAfterInput } from '../../access/rules.js'
import { DetailedMergeRequest, presentDetailedMergeRequest } from '../../entities/issuables/merge-request.js'
import * as documented from '../../http/documented.js'
import { endpoint } from '../../http/endpoint.js'
import { bool, clearable, clearableId, clearableIds, commaList, filledIn, needsOneOfThese, oneOf, opt, rowId } from '../../http/params.js'
import { dayOf } from '../../lib/text/day.js'
import { countDiverged } from '../../services/issuables/merge-requests/reading/diverged.js'
import { completeMergeRequest } from '../../services/issuables/merge-requests/reading/load.js'
import { deleteMergeRequest } from '../../services/issuables/merge-requests/writing/remove.js'
import { createMergeRequestWithCommands, updateMergeRequestWithCommands } from '../../services/quick-actions/descriptions.js'

const REQUEST = '/projects/:id/merge_requests/:merge_request_iid'

const attributes = {
  assignee_id: clearableIds().optional(),
  assignee_ids: clearableIds().optional(),
  reviewer_ids: clearableIds().optional(),
  description: opt(clearable()),
  labels: opt(commaList()),
  milestone_id: opt(clearableId()),
  remove_source_branch: opt(bool()),
  squash: opt(bool()),
  allow_collaboration: opt(bool()),
}

/** The updatable attributes, in the order in which errors name them (MR-42, X-4). */
const NAMED = [
  'assignee_id',
  'description',
  'labels',
  'milestone_id',
  'remove_source_branch',
  'state_event',
  'target_branch',
  'title',
  'discussion_locked',
] as const
const UNNAMED = ['assignee_ids', 'reviewer_ids', 'add_labels', 'remove_labels', 'squash', 'allow_collaboration'] as const

interface People {
  assignee_ids?: number[] | undefined
  assignee_id?: number[] | undefined
  reviewer_ids?: number[] | undefined
}

/** One assignee is given as `assignee_id`, several as `assignee_ids` (X-4, MR-620). */
const peopleOf = ({ assignee_ids, assignee_id, reviewer_ids }: People) => ({
  assignee_ids: assignee_ids ?? assignee_id,
  reviewer_ids,
})

export const mergeRequests = [
  endpoint({
    method: 'GET',
    path: REQUEST,
    summary: 'Get a merge request',
    polled: true,
    access: onMergeRequest('read_merge_request'),
    input: z.object({ include_rebase_in_progress: opt(bool()), include_diverged_commits_count: opt(bool()) }),
    output: DetailedMergeRequest,
    async handler({ ctx, caller, subject, input, view }) {
      const [request, diverged_commits_count] = await Promise.all([
        completeMergeRequest(ctx, caller, subject),
        input.include_diverged_commits_count ? countDiverged(ctx, subject.request.id) : undefined,
      ])
      return {
        ...presentDetailedMergeRequest(request, dayOf(ctx.now()), view),
        rebase_in_progress: input.include_rebase_in_progress ? request.request.rebase_user_id !== null : undefined,
        diverged_commits_count,
      }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/merge_requests',
    summary: 'Create a merge request',
    description: 'The project has the source branch; the target is the same project or the one it was forked from.',
    answers: [409, 422],
    access: onProjectAfterInput('create_merge_request'),
    // declared in the order in which errors name missing parameters (MR-28)
    input: z.object({
      title: documented.title(),
      source_branch: documented.filled(),
      target_branch: documented.filled(),
      target_project_id: opt(rowId()),
      ...attributes,
    }),
    output: DetailedMergeRequest,
    async handler({ ctx, caller, subject, input, view }) {
      const request = await createMergeRequestWithCommands(ctx, caller, subject, { ...input, ...peopleOf(input) })
      return presentDetailedMergeRequest(request, dayOf(ctx.now()), view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: REQUEST,
    summary: 'Update, close or reopen a merge request',
    answers: [409, 422],
    access: onMergeRequest('update_merge_request'),
    input: needsOneOfThese(
      z.object({
        ...attributes,
        add_labels: opt(commaList()),
        remove_labels: opt(commaList()),
        state_event: opt(oneOf(['close', 'reopen'])),
        target_branch: filledIn().optional(),
        title: filledIn().optional(),
        discussion_locked: opt(bool()),
      }),
      [...NAMED],
      [...UNNAMED],
    ),
    output: DetailedMergeRequest,
    async handler({ ctx, caller, subject, input, view }) {
      const request = await updateMergeRequestWithCommands(ctx, caller, subject, { ...input, ...peopleOf(input) })
      return presentDetailedMergeRequest(request, dayOf(ctx.now()), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: REQUEST,
    summary: 'Delete a merge request',
    answers: [412],
    access: onMergeRequest('destroy_merge_request', { hidden: 'missing' }),
    async handler({ ctx, subject, unchangedSince }) {
      unchangedSince(subject.request.updated_at)
      await deleteMergeRequest(ctx, subject)
    },
  }),
]
