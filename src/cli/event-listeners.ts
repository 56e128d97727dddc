import type { EventListeners } from '../context.js'
import { processCommitMessages } from '../services/issuables/commit-messages.js'
import { addFailureTodos, mergeAfterPipeline } from '../services/issuables/merge-requests/merging/on-status.js'
import { updateMergeRequestsOnPush } from '../services/issuables/merge-requests/versions/on-push.js'
import { unassignFormerMember } from '../services/operations/former-members.js'

/** Who follows which event, from the lower rooms to the upper ones. */
export const eventListeners: EventListeners = {
  push: [updateMergeRequestsOnPush, processCommitMessages],
  status: [addFailureTodos, mergeAfterPipeline],
  memberRemoved: [unassignFormerMember],
}
