import { z } from 'zod'
import type { Access } from '../../../access/access.js'
import { orDefault, str } from '../../../http/params.js'
import { replyTo } from '../../../services/notes/discussions.js'
import type { NoteableSubject } from '../../../services/notes/noteables.js'
import { createNote } from '../../../services/notes/write.js'
import { noteWithCommands } from '../../../services/quick-actions/notes.js'
import { form, type Page, Redirect } from '../../page.js'

interface Commented<Subject> {
  /** The address of the page that has the discussion. */
  at: string
  access: Access<Subject, true>
  on: Page
  about(subject: Subject): NoteableSubject
  /** The address of this one. */
  addressOf(subject: Subject): string
}

const input = z.object({ note: z.object({ note: orDefault(str(), '') }) })

/** The forms of a discussion: a new comment, whose commands are carried out, and a reply to a thread. */
export const noteForms = <Subject>({ at, access, on, about, addressOf }: Commented<Subject>) => ({
  comment: form({
    at: `${at}/notes`,
    method: 'POST',
    access,
    input,
    on,
    async submit({ ctx, caller, subject, input }) {
      const noteable = about(subject)
      const { made, outcome } = await noteWithCommands(ctx, caller, noteable, { body: input.note.note, how: 'new' }, (body) =>
        createNote(ctx, caller, noteable, { body }),
      )
      const notice = outcome.messages.join(' ') || undefined
      return new Redirect(`${addressOf(subject)}${made ? `#note_${made.note.id}` : ''}`, notice === undefined ? {} : { notice })
    },
  }),
  reply: form({
    at: `${at}/discussions/:discussion_id/notes`,
    method: 'POST',
    access,
    input: input.extend({ discussion_id: str() }),
    on,
    async submit({ ctx, caller, subject, input }) {
      const made = await replyTo(ctx, caller, about(subject), input.discussion_id, { body: input.note.note })
      return new Redirect(`${addressOf(subject)}#note_${made.note.id}`)
    },
  }),
})
