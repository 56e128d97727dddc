import { z } from 'zod'
import { onMergeRequest } from '../../access/merge-requests.js'
import { DraftNote, presentDraftNote } from '../../entities/notes/draft-note.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, oneOf, opt, paging, rowId, str } from '../../http/params.js'
import { positionParameters } from '../../http/position.js'
import { slice } from '../../services/core/page.js'
import { deleteDraft, getDraft, listDrafts, saveDraft, updateDraft } from '../../services/notes/drafts.js'
import { aboutMergeRequest } from '../../services/notes/noteables.js'
import { sendDraft, sendReview } from '../../services/quick-actions/review.js'

const DRAFTS = '/projects/:id/merge_requests/:merge_request_iid/draft_notes'
const draft_note_id = rowId()
const access = onMergeRequest('create_note')

/** The caller's own notes of a review (DI-13 to DI-15). */
export const draftNotes = [
  endpoint({
    method: 'GET',
    path: DRAFTS,
    summary: 'List your draft notes on a merge request',
    access,
    input: z.object(paging),
    output: z.array(DraftNote),
    async handler({ ctx, caller, subject, input }) {
      return pageOf(slice(await listDrafts(ctx, caller, aboutMergeRequest(subject).noteable), input), input, presentDraftNote)
    },
  }),
  endpoint({
    method: 'GET',
    path: `${DRAFTS}/:draft_note_id`,
    summary: 'Get one of your draft notes',
    access,
    input: z.object({ draft_note_id }),
    output: DraftNote,
    handler: async ({ ctx, caller, subject, input }) =>
      presentDraftNote(await getDraft(ctx, caller, aboutMergeRequest(subject).noteable, input.draft_note_id)),
  }),
  endpoint({
    method: 'POST',
    path: DRAFTS,
    summary: 'Create a draft note on a merge request',
    description: 'Nobody else sees it before it is published.',
    access,
    input: z.object({
      note: documented.filled(),
      in_reply_to_discussion_id: opt(str()),
      resolve_discussion: opt(bool()),
      position: positionParameters.nullish(),
    }),
    output: DraftNote,
    async handler({ ctx, caller, subject, input }) {
      const { note, in_reply_to_discussion_id: discussion, resolve_discussion: resolve, position } = input
      return presentDraftNote(await saveDraft(ctx, caller, aboutMergeRequest(subject), { note, discussion, resolve, position }))
    },
  }),
  endpoint({
    method: 'PUT',
    path: `${DRAFTS}/:draft_note_id`,
    summary: 'Update one of your draft notes',
    access,
    input: z.object({ draft_note_id, note: documented.filled() }),
    output: DraftNote,
    async handler({ ctx, caller, subject, input: { draft_note_id: id, note } }) {
      return presentDraftNote(await updateDraft(ctx, caller, aboutMergeRequest(subject).noteable, { id, note }))
    },
  }),
  endpoint({
    method: 'DELETE',
    path: `${DRAFTS}/:draft_note_id`,
    summary: 'Delete one of your draft notes',
    access,
    input: z.object({ draft_note_id }),
    async handler({ ctx, caller, subject, input }) {
      await deleteDraft(ctx, caller, aboutMergeRequest(subject).noteable, input.draft_note_id)
    },
  }),
  endpoint({
    method: 'PUT',
    path: `${DRAFTS}/:draft_note_id/publish`,
    summary: 'Publish one of your draft notes',
    status: 204,
    access,
    input: z.object({ draft_note_id }),
    async handler({ ctx, caller, subject, input }) {
      await sendDraft(ctx, caller, subject, input.draft_note_id)
    },
  }),
  endpoint({
    method: 'POST',
    path: `${DRAFTS}/bulk_publish`,
    summary: 'Publish all your draft notes on a merge request',
    description: 'They are a review, with `note` as its summary. `reviewer_state` says whether it requests changes.',
    status: 204,
    access,
    input: z.object({ note: opt(str()), reviewer_state: opt(oneOf(['reviewed', 'requested_changes'])) }),
    async handler({ ctx, caller, subject, input: { note: summary, reviewer_state } }) {
      const verdict = reviewer_state === 'requested_changes' ? reviewer_state : 'commented'
      await sendReview(ctx, caller, subject, { summary, verdict })
    },
  }),
]
