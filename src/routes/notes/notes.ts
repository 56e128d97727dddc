import { z } from 'zod'
import { Note, NoteCommands, presentNote } from '../../entities/notes/note.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { datetime, oneOf, opt, orDefault, paging, rowId } from '../../http/params.js'
import { ACTIVITY_FILTERS, getNote, listNotes, NOTE_ORDERS } from '../../services/notes/list.js'
import { createNote, deleteNote, updateNote } from '../../services/notes/write.js'
import { noteWithCommands } from '../../services/quick-actions/notes.js'
import { answerOf, ONLY_COMMANDS } from './commands.js'
import { NOTEABLE_KINDS, type NoteableKind } from './noteables.js'

const note_id = rowId()

/** Notes (NT-1 to NT-5). */
const notesOn = ({ named, path, access }: NoteableKind) => [
  endpoint({
    method: 'GET',
    path: `${path}/notes`,
    summary: `List the notes on ${named}`,
    polled: true,
    access: access('read'),
    input: z.object({
      order_by: orDefault(oneOf(NOTE_ORDERS), 'created_at'),
      sort: orDefault(oneOf(['asc', 'desc']), 'desc'),
      activity_filter: orDefault(oneOf(ACTIVITY_FILTERS), 'all_notes'),
      ...paging,
    }),
    output: z.array(Note),
    async handler({ ctx, caller, subject, input, view }) {
      return pageOf(await listNotes(ctx, caller, subject.noteable, input), input, (note) => presentNote(note, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${path}/notes/:note_id`,
    summary: `Get a note on ${named}`,
    access: access('read'),
    input: z.object({ note_id }),
    output: Note,
    handler: async ({ ctx, caller, subject, input, view }) => presentNote(await getNote(ctx, caller, subject.noteable, input.note_id), view),
  }),
  endpoint({
    method: 'POST',
    path: `${path}/notes`,
    summary: `Create a note on ${named}`,
    description: ONLY_COMMANDS,
    answers: [202],
    access: access('create_note'),
    input: z.object({ body: documented.filled(), created_at: opt(datetime()) }),
    output: z.union([Note, NoteCommands]),
    async handler({ ctx, caller, subject, input, view }) {
      const noted = await noteWithCommands(ctx, caller, subject, { body: input.body, how: 'new' }, (body) =>
        createNote(ctx, caller, subject, { ...input, body }),
      )
      return answerOf(noted, (note, changes) => presentNote(note, view, changes))
    },
  }),
  endpoint({
    method: 'PUT',
    path: `${path}/notes/:note_id`,
    summary: `Update a note on ${named}`,
    access: access('create_note'),
    input: z.object({ note_id, body: documented.filled() }),
    output: Note,
    async handler({ ctx, caller, subject, input, view }) {
      const noted = await noteWithCommands(ctx, caller, subject, { body: input.body, how: 'changed' }, (body) =>
        updateNote(ctx, caller, subject, { id: input.note_id, body }),
      )
      return answerOf(noted, (note, changes) => presentNote(note, view, changes))
    },
  }),
  endpoint({
    method: 'DELETE',
    path: `${path}/notes/:note_id`,
    summary: `Delete a note on ${named}`,
    answers: [412],
    access: access('create_note'),
    input: z.object({ note_id }),
    handler: ({ ctx, caller, subject, input, unchangedSince }) => deleteNote(ctx, caller, subject, { id: input.note_id }, unchangedSince),
  }),
]

export const notes = NOTEABLE_KINDS.flatMap(notesOn)
