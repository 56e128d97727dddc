import { z } from 'zod'
import type { View } from '../../http/view.js'
import { REVIEWER_STATES } from '../../rules/reviews/states.js'
import type { ApprovalsRecord } from '../../services/issuables/merge-requests/writing/approvals.js'
import type { ReviewerRecord } from '../../services/issuables/merge-requests/writing/reviewers.js'
import { presentUserRef, UserRef } from '../identity/user.js'

/** Approvals of a merge request, which review tools read first. None is required, so none is ever missing. */
export const Approvals = z
  .strictObject({
    id: z.int(),
    iid: z.int(),
    project_id: z.int(),
    title: z.string(),
    description: z.string(),
    state: z.enum(['opened', 'closed', 'merged']),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    merge_status: z.enum(['can_be_merged', 'cannot_be_merged', 'unchecked']),
    approved: z.boolean(),
    approvals_required: z.literal(0),
    approvals_left: z.literal(0),
    require_password_to_approve: z.literal(false),
    approved_by: z.array(z.strictObject({ user: UserRef })),
    suggested_approvers: z.array(z.never()),
    approvers: z.array(z.never()),
    approver_groups: z.array(z.never()),
    user_has_approved: z.boolean(),
    user_can_approve: z.boolean(),
  })
  .meta({ id: 'Approvals', description: 'The approvals of a merge request: none are required.' })

/** There are no approval rules (MR-109). */
export const ApprovalState = z
  .strictObject({ approval_rules_overwritten: z.literal(false), rules: z.array(z.never()) })
  .meta({ id: 'ApprovalState', description: 'The approval rules of a merge request: there are none.' })

/** A reviewer of a merge request (MR-103). */
export const Reviewer = z
  .strictObject({ user: UserRef, state: z.enum(REVIEWER_STATES), created_at: z.iso.datetime() })
  .meta({ id: 'Reviewer', description: 'A user who was asked to review a merge request, or has reviewed it.' })

export function presentApprovals({ request, approvers, ...caller }: ApprovalsRecord, view: View): z.infer<typeof Approvals> {
  return {
    id: request.id,
    iid: request.iid,
    project_id: request.project_id,
    title: request.title,
    description: request.description,
    state: request.state,
    created_at: request.created_at.toISOString(),
    updated_at: request.updated_at.toISOString(),
    merge_status: request.merge_status,
    approved: approvers.length > 0,
    approvals_required: 0,
    approvals_left: 0,
    require_password_to_approve: false,
    approved_by: approvers.map((user) => ({ user: presentUserRef(user, view) })),
    suggested_approvers: [],
    approvers: [],
    approver_groups: [],
    ...caller,
  }
}

export const presentReviewer = ({ user, state, since }: ReviewerRecord, view: View): z.infer<typeof Reviewer> => ({
  user: presentUserRef(user, view),
  state,
  created_at: since.toISOString(),
})
