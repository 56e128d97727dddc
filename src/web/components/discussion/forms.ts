import { z } from 'zod'
import type { Access } from '../../../access/access.js'
import { nullOnFailure, refused } from '../../../failures.js'
import { bool, opt, orDefault, rowId, str } from '../../../http/params.js'
import { toggleAward } from '../../../services/notes/award-emoji.js'
import { createDiscussion, replyTo, resolveDiscussion } from '../../../services/notes/discussions.js'
import { saveDraft } from '../../../services/notes/drafts.js'
import { getDiscussion, getNote, type NoteRecord } from '../../../services/notes/list.js'
import type { NoteableSubject } from '../../../services/notes/noteables.js'
import { createNote, deleteNote, updateNote } from '../../../services/notes/write.js'
import { noteWithCommands } from '../../../services/quick-actions/notes.js'
import { t } from '../../language/language.js'
import { localPath } from '../../local-path.js'
import { form, type Page, Redirect } from '../../page.js'
import { changedText, commentText, replyText } from './fields.js'

interface Commented<Subject> {
  /** The address of the page that has the discussion. */
  at: string
  /** The access rule for an ability. */
  access(ability: 'create_note' | 'award_emoji'): Access<Subject, true>
  on: Page
  about(subject: Subject): NoteableSubject
  /** The address of this one. */
  addressOf(subject: Subject): string
}

/** A new comment, which begins a thread where that is asked for. */
export const newComment = commentText.extend({ thread: orDefault(bool(), false) })
const note_id = rowId()

/** Leads to a note on the page that the form was on, or else on that of the thing. */
const toNote = (back: string | undefined, address: string, id: number | string) =>
  `${localPath(back, address)}#${typeof id === 'number' ? 'note' : 'discussion'}_${id}`

const noticeOf = ({ messages }: { messages: string[] }) => (messages.length === 0 ? {} : { notice: messages.join(' ') })

/**
 * The forms of a discussion: a new comment, whose commands are carried out; a reply to a thread, at once or with a
 * review; changing and deleting a note, and emoji on it (WB-91, WB-92).
 */
export const noteForms = <Subject>({ at, access, on, about, addressOf }: Commented<Subject>) => [
  form({
    at: `${at}/notes`,
    files: true,
    access: access('create_note'),
    input: newComment.extend({ back: opt(str()) }),
    on,
    async submit({ ctx, caller, subject, input }) {
      const noteable = about(subject)
      const { made, outcome } = await noteWithCommands(ctx, caller, noteable, { body: input.note.note, how: 'new' }, async (body) =>
        input.thread
          ? ((await createDiscussion(ctx, caller, noteable, { body })).notes[0] as NoteRecord)
          : createNote(ctx, caller, noteable, { body }),
      )
      return new Redirect(made ? toNote(input.back, addressOf(subject), made.note.id) : localPath(input.back, addressOf(subject)), noticeOf(outcome))
    },
  }),
  form({
    at: `${at}/discussions/:discussion_id/notes`,
    files: true,
    access: access('create_note'),
    input: replyText.extend({ discussion_id: str() }),
    on,
    async submit({ ctx, caller, subject, input }) {
      const { discussion_id: discussion, resolve, back } = input
      const noteable = about(subject)
      const thread = await nullOnFailure(getDiscussion(ctx, caller, noteable.noteable, discussion))
      if (!thread) throw refused(t('The thread is gone: your answer stands in the form of a new comment'))
      if (input.how === 'review' && noteable.request) {
        await saveDraft(ctx, caller, noteable, { note: input.note.note, discussion, resolve })
        return new Redirect(toNote(back, addressOf(subject), discussion), { notice: t('The reply waits in your review.') })
      }
      const { made, outcome } = await noteWithCommands(ctx, caller, noteable, { body: input.note.note, how: 'new' }, (body) =>
        replyTo(ctx, caller, noteable, discussion, { body }),
      )
      if (resolve !== undefined) await resolveDiscussion(ctx, caller, noteable, { discussion, resolved: resolve })
      return new Redirect(toNote(back, addressOf(subject), made?.note.id ?? discussion), noticeOf(outcome))
    },
  }),
  form({
    at: `${at}/notes/:note_id`,
    method: 'PUT',
    files: true,
    access: access('create_note'),
    input: changedText.extend({ note_id }),
    on,
    async submit({ ctx, caller, subject, input: { note_id: id, note, before, back } }) {
      const noteable = about(subject)
      const { outcome } = await noteWithCommands(ctx, caller, noteable, { body: note.note, how: 'changed' }, (body) =>
        updateNote(ctx, caller, noteable, { id, body, before }),
      )
      return new Redirect(toNote(back, addressOf(subject), id), noticeOf(outcome))
    },
  }),
  form({
    at: `${at}/notes/:note_id`,
    method: 'DELETE',
    access: access('create_note'),
    input: z.object({ note_id, back: opt(str()) }),
    on,
    async submit({ ctx, caller, subject, input: { note_id: id, back } }) {
      await deleteNote(ctx, caller, about(subject), { id }, () => undefined)
      return new Redirect(localPath(back, addressOf(subject)), { notice: t('Comment deleted.') })
    },
  }),
  form({
    at: `${at}/notes/:note_id/toggle_award_emoji`,
    access: access('award_emoji'),
    input: z.object({ note_id, name: str(), back: opt(str()) }),
    on,
    async submit({ ctx, caller, subject, input: { note_id: id, name, back } }) {
      const { noteable } = about(subject)
      await getNote(ctx, caller, noteable, id)
      await toggleAward(ctx, caller, { type: 'Note', id, noteable }, name)
      return new Redirect(toNote(back, addressOf(subject), id))
    },
  }),
]

/** The form that gives an emoji to the thing itself, or takes it back. */
export const reactionForm = <Subject>({ at, access, on, about, addressOf }: Commented<Subject>) =>
  form({
    at: `${at}/toggle_award_emoji`,
    access: access('award_emoji'),
    input: z.object({ name: orDefault(str(), '') }),
    on,
    async submit({ ctx, caller, subject, input }) {
      const { noteable } = about(subject)
      await toggleAward(ctx, caller, { type: noteable.type as 'Issue' | 'MergeRequest' | 'Snippet', id: noteable.id as number, noteable }, input.name)
      return new Redirect(addressOf(subject))
    },
  })
