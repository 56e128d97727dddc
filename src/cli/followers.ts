import type { Followers } from '../context.js'
import { followCommitMessages } from '../services/issuables/commit-messages.js'
import { addFailureTodos, mergeAfterPipeline } from '../services/issuables/merge-requests/merging/on-status.js'
import { followPush } from '../services/issuables/merge-requests/versions/on-push.js'
import { unassignFormerMember } from '../services/operations/former-members.js'

/** Who follows which event, from the lower rooms to the upper ones. */
export const followers: Followers = {
  push: [followPush, followCommitMessages],
  status: [addFailureTodos, mergeAfterPipeline],
  memberRemoved: [unassignFormerMember],
}
