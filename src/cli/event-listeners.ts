import type { EventListeners } from '../context.js'
import { enqueuePipelines } from '../services/ci/create.js'
import { enqueueStops } from '../services/ci/environments/stop.js'
import { skipPipelines } from '../services/ci/pipelines.js'
import { processCommitMessages } from '../services/issuables/commit-messages.js'
import { addFailureTodos, mergeAfterPipeline } from '../services/issuables/merge-requests/merging/on-status.js'
import { updateMergeRequestsOnPush } from '../services/issuables/merge-requests/versions/on-push.js'
import { unassignFormerMember } from '../services/operations/former-members.js'
import { enqueuePushMirrors } from '../services/projects/mirrors/push.js'

const updateMergeRequests: EventListeners['push'][number] = async (ctx, event) => {
  await skipPipelines(ctx, event)
  await updateMergeRequestsOnPush(ctx, event)
}

/** The listeners of each event, from lower rooms to higher ones. */
export const eventListeners: EventListeners = {
  push: [enqueuePushMirrors, updateMergeRequests, processCommitMessages, enqueuePipelines, enqueueStops],
  status: [addFailureTodos, mergeAfterPipeline],
  memberRemoved: [unassignFormerMember],
}
