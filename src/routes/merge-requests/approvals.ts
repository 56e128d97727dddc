import { z } from 'zod'
import { onMergeRequest } from '../../access/merge-requests.js'
import { ApprovalState, Approvals, presentApprovals, presentReviewer, Reviewer } from '../../entities/issuables/approvals.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { opt, paging, str } from '../../http/params.js'
import { approve, loadApprovals, unapprove } from '../../services/issuables/merge-requests/writing/approvals.js'
import { listReviewers } from '../../services/issuables/merge-requests/writing/reviewers.js'

const REQUEST = '/projects/:id/merge_requests/:merge_request_iid'
const read = onMergeRequest('read_merge_request')

/** Reviewers and approvals of merge requests (MR-103, MR-105 to MR-109, X-9). */
export const approvals = [
  endpoint({
    method: 'GET',
    path: `${REQUEST}/reviewers`,
    summary: 'List the reviewers of a merge request',
    access: read,
    input: z.object({ ...paging }),
    output: z.array(Reviewer),
    async handler({ ctx, subject, input, view }) {
      return pageOf(await listReviewers(ctx, subject, input), input, (reviewer) => presentReviewer(reviewer, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${REQUEST}/approvals`,
    summary: 'Get the approvals of a merge request',
    access: read,
    output: Approvals,
    async handler({ ctx, caller, subject, view }) {
      return presentApprovals(await loadApprovals(ctx, caller, subject), view)
    },
  }),
  endpoint({
    method: 'GET',
    path: `${REQUEST}/approval_state`,
    summary: 'Get the approval rules of a merge request',
    description: 'There are none.',
    access: read,
    output: ApprovalState,
    async handler() {
      return { approval_rules_overwritten: false, rules: [] }
    },
  }),
  endpoint({
    method: 'POST',
    path: `${REQUEST}/approve`,
    summary: 'Approve a merge request',
    answers: [409],
    access: onMergeRequest('approve_merge_request'),
    input: z.object({ sha: opt(str()) }),
    output: Approvals,
    async handler({ ctx, caller, subject, input, view }) {
      return presentApprovals(await approve(ctx, caller, subject, input.sha), view)
    },
  }),
  endpoint({
    method: 'POST',
    path: `${REQUEST}/unapprove`,
    summary: 'Withdraw an approval of a merge request',
    description: 'Withdraws the approval of the caller.',
    access: onMergeRequest('approve_merge_request'),
    output: Approvals,
    async handler({ ctx, caller, subject, view }) {
      return presentApprovals(await unapprove(ctx, caller, subject), view)
    },
  }),
]
