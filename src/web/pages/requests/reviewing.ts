import { z } from 'zod'
import { onMergeRequest } from '../../../access/merge-requests.js'
import { invalidRecord } from '../../../failures.js'
import { bool, int, opt, orDefault, rowId, str } from '../../../http/params.js'
import { listVersions } from '../../../services/issuables/merge-requests/reading/contents.js'
import { markViewed } from '../../../services/issuables/merge-requests/reading/seen.js'
import { createDiscussion, resolveDiscussion } from '../../../services/notes/discussions.js'
import { deleteDraft, discardDrafts, saveDraft, updateDraft } from '../../../services/notes/drafts.js'
import { getDiscussion } from '../../../services/notes/list.js'
import { aboutMergeRequest } from '../../../services/notes/noteables.js'
import { baseShaOf, type GivenPosition } from '../../../services/notes/positions.js'
import { applySuggestions } from '../../../services/notes/suggestions.js'
import { noteWithCommands } from '../../../services/quick-actions/notes.js'
import { sendReview } from '../../../services/quick-actions/review.js'
import { fileAnchor } from '../../components/diff/diff.js'
import { noteText, selectedSuggestions } from '../../components/discussion/fields.js'
import { noteForms, reactionForm } from '../../components/discussion/forms.js'
import { shortId } from '../../components/files/code.js'
import { t } from '../../language/language.js'
import { localPath } from '../../local-path.js'
import { form, page, Redirect } from '../../page.js'
import { AT, addressOf, read } from './address.js'
import { changesInput } from './changes/address.js'
import { lineText } from './changes/new-comment.js'
import { requestChangesPage } from './changes/show.js'
import { review } from './drafts.js'
import { mergeRequestPage } from './show.js'

const writes = onMergeRequest('create_note')
const back = opt(str())

const commented = {
  at: AT,
  access: (ability: 'create_note' | 'award_emoji') => onMergeRequest(ability),
  on: mergeRequestPage,
  about: aboutMergeRequest,
  addressOf,
}
export const requestNotes = [...noteForms(commented), reactionForm(commented)]

const coordinate = opt(int({ min: 0 }))

/** The place that a comment is about: a range if it has a first line, a point of a picture if one was clicked or typed. */
function placeOf({ position, from, ...given }: z.infer<typeof commentInput>): GivenPosition {
  const { old_line, new_line, width, height } = position
  const [x, y] = [given['point.x'] ?? position.x, given['point.y'] ?? position.y]
  const line = new_line ?? old_line
  if (width && height && x !== undefined && y !== undefined)
    return { ...position, position_type: 'image', x: Math.min(x, width), y: Math.min(y, height) }
  if (from === undefined || line === undefined || from === line) return position
  return { ...position, line_range: { start: new_line === undefined ? { old_line: from } : { new_line: from } } }
}

const commentInput = changesInput
  .omit({ line: true, on: true, only: true, edit_note: true, edit_draft: true, react: true, reply: true })
  .extend({ ...lineText.shape, 'point.x': coordinate, 'point.y': coordinate })

/** A new thread on a line, at once or with the review (WB-93, WB-96). */
export const lineComment = form({
  at: `${AT}/discussions`,
  files: true,
  access: writes,
  input: commentInput,
  on: requestChangesPage,
  async submit({ ctx, caller, subject, input }) {
    const about = aboutMergeRequest(subject)
    const query = new URLSearchParams()
    for (const name of ['view', 'w', 'diff_id', 'start_sha', 'commit_id', 'open', 'around', 'page'] as const)
      if (input[name] && input[name] !== 1) query.set(name, input[name] === true ? '1' : String(input[name]))
    const to = (anchor: string) => `${addressOf(subject)}/diffs${query.size > 0 ? `?${query}` : ''}#${anchor}`
    if (input.how === 'review') {
      const draft = await saveDraft(ctx, caller, about, { note: input.note.note, position: placeOf(input) })
      return new Redirect(to(`draft_${draft.id}`), { notice: t('The comment waits in your review. Send it from the overview.') })
    }
    const { made, outcome } = await noteWithCommands(ctx, caller, about, { body: input.note.note, how: 'new' }, (body) =>
      createDiscussion(ctx, caller, about, { body, position: placeOf(input) }),
    )
    const notice = outcome.messages.join(' ')
    return new Redirect(to(made ? `discussion_${made.id}` : fileAnchor(input.position.new_path ?? '')), notice ? { notice } : {})
  },
})

/** Leads to a thread: to its line in the version that it was written for, or to the overview (WB-93). */
export const threadPage = page({
  at: `${AT}/discussions/:discussion_id`,
  access: read,
  input: z.object({ discussion_id: str() }),
  async show({ ctx, caller, subject, input }) {
    const { noteable } = aboutMergeRequest(subject)
    const { id, notes } = await getDiscussion(ctx, caller, noteable, input.discussion_id)
    const { items: versions } = await listVersions(ctx, subject.request, { page: 1, per_page: 100 })
    const at = notes[0]?.note.position
    const version = at && versions.find((each) => each.head_commit_sha === at.head_sha && baseShaOf(each) === at.base_sha)
    if (!version) return new Redirect(`${addressOf(subject)}#discussion_${id}`)
    const query = version.id === versions[0]?.id ? '' : `?diff_id=${version.id}`
    return new Redirect(`${addressOf(subject)}/diffs${query}#discussion_${id}`)
  },
})

export const threadResolution = form({
  at: `${AT}/discussions/:discussion_id/resolve`,
  // the author of a thread may resolve it without the ability (DI-8)
  access: writes,
  input: z.object({ discussion_id: str(), resolved: orDefault(bool(), true), back }),
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input: { discussion_id: discussion, resolved, back: to } }) {
    await resolveDiscussion(ctx, caller, aboutMergeRequest(subject), { discussion, resolved })
    return new Redirect(`${localPath(to, addressOf(subject))}#discussion_${discussion}`)
  },
})

const draft_id = rowId()

export const draftChange = form({
  at: `${AT}/drafts/:draft_id`,
  method: 'PUT',
  files: true,
  access: writes,
  input: noteText.extend({ draft_id }),
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input }) {
    const draft = await updateDraft(ctx, caller, aboutMergeRequest(subject).noteable, { id: input.draft_id, note: input.note.note })
    return new Redirect(`${localPath(input.back, addressOf(subject))}#draft_${draft.id}`)
  },
})

export const draftRemoval = form({
  at: `${AT}/drafts/:draft_id`,
  method: 'DELETE',
  access: writes,
  input: z.object({ draft_id, back }),
  async submit({ ctx, caller, subject, input }) {
    await deleteDraft(ctx, caller, aboutMergeRequest(subject).noteable, input.draft_id)
    return new Redirect(localPath(input.back, addressOf(subject)), { notice: t('Draft deleted.') })
  },
})

export const reviewRemoval = form({
  at: `${AT}/drafts`,
  method: 'DELETE',
  access: writes,
  async submit({ ctx, caller, subject }) {
    await discardDrafts(ctx, caller, aboutMergeRequest(subject).noteable)
    return new Redirect(addressOf(subject), { notice: t('Review discarded.') })
  },
})

const VERDICTS = { comment: 'commented', approve: 'approved', request_changes: 'requested_changes' } as const
const submitted = () => ({
  comment: t('Review submitted.'),
  approve: t('Review submitted, and merge request approved.'),
  request_changes: t('Review submitted: you request changes.'),
})

/** Sends the review with its verdict (WB-98, WB-600). */
export const reviewSending = form({
  at: `${AT}/drafts/publish`,
  files: true,
  access: writes,
  input: review,
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input: { summary, verdict, sha } }) {
    const sent = await sendReview(ctx, caller, subject, { summary, verdict: VERDICTS[verdict], sha: sha || undefined })
    if (!sent) throw invalidRecord({ summary: [t('is needed where there are no comments')] })
    return new Redirect(addressOf(subject), { notice: submitted()[verdict] })
  },
})

/** Marks a file as viewed, with its present change (WB-94). */
export const viewedMark = form({
  at: `${AT}/viewed`,
  access: read,
  input: z.object({ file: str(), change: str(), viewed: bool(), back }),
  async submit({ ctx, caller, subject, input: { file, change, viewed, back: to } }) {
    const isDigest = /^[0-9a-f]{40}$/.test(file) && /^[\w-]{22}$/.test(change)
    if (isDigest) await markViewed(ctx, caller, subject.request.id, { file, change, viewed })
    return new Redirect(`${localPath(to, `${addressOf(subject)}/diffs`)}${isDigest ? `#${file}` : ''}`)
  },
})

/** Applies one or several suggestions as a commit (WB-101). */
export const suggestionsForm = form({
  at: `${AT}/suggestions`,
  access: writes,
  input: selectedSuggestions,
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input: { ids, commit_message: message, back: to } }) {
    const { commit } = await applySuggestions(ctx, caller, aboutMergeRequest(subject), { ids, message })
    return new Redirect(localPath(to, addressOf(subject)), { notice: t('Applied as commit {shortId}.', { shortId: shortId(commit.oid) }) })
  },
})
