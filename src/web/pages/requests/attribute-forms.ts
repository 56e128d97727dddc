import { z } from 'zod'
import { onMergeRequest } from '../../../access/merge-requests.js'
import { conflict, forbidden } from '../../../failures.js'
import { rowId } from '../../../http/params.js'
import { updateMergeRequest } from '../../../services/issuables/merge-requests/writing/update.js'
import { sideChange } from '../../components/issuable/side.js'
import { timeSpent, trackTime } from '../../components/issuable/time-tracking.js'
import { t } from '../../language/language.js'
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
    return new Redirect(addressOf(subject), { notice: t('Merge request updated.') })
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
    return new Redirect(addressOf(subject), { notice: t('Time tracking updated.') })
  },
})

/** Asks a reviewer, who has reviewed before, for another review. */
export const anotherReview = form({
  at: `${AT}/another_review`,
  access: updates,
  input: z.object({ reviewer_id: rowId() }),
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input: { reviewer_id } }) {
    if (!subject.can('manage_merge_request')) throw forbidden()
    if (!subject.request.reviewer_ids.includes(reviewer_id)) throw conflict(t('There is no such reviewer'))
    await updateMergeRequest(ctx, caller, subject, { review_again: [reviewer_id] })
    return new Redirect(addressOf(subject), { notice: t('Another review is asked for.') })
  },
})
