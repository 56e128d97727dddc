import { z } from 'zod'
import type { MergeRequestRecord } from '../../services/issuables/merge-requests/reading/load.js'

/**
 * Approvals of a merge request, which review tools read first. Approvals are not supported, so none are ever
 * missing.
 */
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
    approved: z.literal(true),
    approvals_required: z.literal(0),
    approvals_left: z.literal(0),
    require_password_to_approve: z.literal(false),
    approved_by: z.array(z.never()),
    suggested_approvers: z.array(z.never()),
    approvers: z.array(z.never()),
    approver_groups: z.array(z.never()),
    user_has_approved: z.literal(false),
    user_can_approve: z.literal(false),
  })
  .meta({ id: 'Approvals', description: 'The approvals of a merge request: none are required.' })

export const presentApprovals = (request: MergeRequestRecord['request']): z.infer<typeof Approvals> => ({
  id: request.id,
  iid: request.iid,
  project_id: request.project_id,
  title: request.title,
  description: request.description,
  state: request.state,
  created_at: request.created_at.toISOString(),
  updated_at: request.updated_at.toISOString(),
  merge_status: request.merge_status,
  approved: true,
  approvals_required: 0,
  approvals_left: 0,
  require_password_to_approve: false,
  approved_by: [],
  suggested_approvers: [],
  approvers: [],
  approver_groups: [],
  user_has_approved: false,
  user_can_approve: false,
})
