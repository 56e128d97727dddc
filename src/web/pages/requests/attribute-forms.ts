import { onMergeRequest } from '../../../access/merge-requests.js'
import { forbidden } from '../../../failures.js'
import { askAgain } from '../../../services/issuables/merge-requests/writing/reviewers.js'
import { updateMergeRequest } from '../../../services/issuables/merge-requests/writing/update.js'
import { sideChange } from '../../components/issuable/side.js'
import { timeSpent, trackTime } from '../../components/issuable/time-tracking.js'
import { form, Redirect } from '../../page.js'
import { AT, addressOf } from './address.js'
import { attributes } from './attributes.js'
import { mergeRequestPage } from './show.js'

const updates = onMergeRequest('update_merge_request')

export const requestAttributes = form({
  at: `${AT}/attributes`,
  access: updates,
  input: attributes,
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input: { attribute, ...given } }) {
    if (!subject.can('manage_merge_request')) throw forbidden()
    await updateMergeRequest(ctx, caller, subject, await sideChange(ctx, attribute, given))
    return new Redirect(addressOf(subject), { notice: 'Merge request updated.' })
  },
})

export const requestTime = form({
  at: `${AT}/time`,
  access: updates,
  input: timeSpent,
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input }) {
    const { id, project_id } = subject.request
    await trackTime(ctx, caller, { type: 'MergeRequest', id, project_id }, input)
    return new Redirect(addressOf(subject), { notice: 'Time tracking updated.' })
  },
})

/** Asks the reviewer, who has reviewed before, for another review. */
export const anotherReview = form({
  at: `${AT}/another_review`,
  access: updates,
  on: mergeRequestPage,
  async submit({ ctx, caller, subject }) {
    if (!subject.can('manage_merge_request')) throw forbidden()
    await askAgain(ctx, caller, subject)
    return new Redirect(addressOf(subject), { notice: 'Another review is asked for.' })
  },
})
