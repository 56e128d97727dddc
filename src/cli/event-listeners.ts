import type { EventListeners } from '../context.js'
import { processCommitMessages } from '../services/issuables/commit-messages.js'
import { addFailureTodos, mergeAfterPipeline } from '../services/issuables/merge-requests/merging/on-status.js'
import { updateMergeRequestsOnPush } from '../services/issuables/merge-requests/versions/on-push.js'
import { unassignFormerMember } from '../services/operations/former-members.js'

/** The listeners of each event, from lower rooms to higher ones. */
export const eventListeners: EventListeners = {
  push: [updateMergeRequestsOnPush, processCommitMessages],
  status: [addFailureTodos, mergeAfterPipeline],
  memberRemoved: [unassignFormerMember],
}
