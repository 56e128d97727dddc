import { z } from 'zod'
import { Discussion, Note, NoteCommands, presentDiscussion, presentNote } from '../../entities/notes/note.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, datetime, needsOnlyOneOf, opt, paging, rowId } from '../../http/params.js'
import { positionParameters } from '../../http/position.js'
import { slice } from '../../services/core/page.js'
import { createDiscussion, replyTo, resolveDiscussion, resolveNote } from '../../services/notes/discussions.js'
import { getDiscussion, getNote, listDiscussions } from '../../services/notes/list.js'
import { deleteNote, updateNote } from '../../services/notes/write.js'
import { noteWithCommands } from '../../services/quick-actions/notes.js'
import { answerOf, ONLY_COMMANDS } from './commands.js'
import { DISCUSSABLE_KINDS } from './noteables.js'

const discussion_id = z.string()
const note_id = rowId()
const message = { body: documented.filled(), created_at: opt(datetime()) }

const position = positionParameters.nullish()

/** Discussions (DI-1 to DI-8). */
const discussionsOn = ({ named, path, access, lines, resolvable }: (typeof DISCUSSABLE_KINDS)[number]) => [
  endpoint({
    method: 'GET',
    path: `${path}/discussions`,
    summary: `List the discussions on ${named}`,
    access: access('read'),
    input: z.object(paging),
    output: z.array(Discussion),
    async handler({ ctx, caller, subject, input, view }) {
      return pageOf(await listDiscussions(ctx, caller, subject.noteable, input), input, (discussion) => presentDiscussion(discussion, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${path}/discussions/:discussion_id`,
    summary: `Get a discussion on ${named}`,
    access: access('read'),
    input: z.object({ discussion_id }),
    output: Discussion,
    handler: async ({ ctx, caller, subject, input, view }) =>
      presentDiscussion(await getDiscussion(ctx, caller, subject.noteable, input.discussion_id), view),
  }),
  endpoint({
    method: 'POST',
    path: `${path}/discussions`,
    summary: `Create a discussion on ${named}`,
    description: ONLY_COMMANDS,
    answers: [202],
    access: access('create_note'),
    input: z.object(lines ? { ...message, position } : message),
    output: z.union([Discussion, NoteCommands]),
    async handler({ ctx, caller, subject, input, view }) {
      const noted = await noteWithCommands(ctx, caller, subject, { body: input.body, how: 'new' }, (body) =>
        createDiscussion(ctx, caller, subject, { ...input, body }),
      )
      return answerOf(noted, (discussion, changes) => presentDiscussion(discussion, view, changes))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${path}/discussions/:discussion_id/notes`,
    summary: `List the notes of a discussion on ${named}`,
    access: access('read'),
    input: z.object({ discussion_id, ...paging }),
    output: z.array(Note),
    async handler({ ctx, caller, subject, input, view }) {
      const { notes } = await getDiscussion(ctx, caller, subject.noteable, input.discussion_id)
      return pageOf(slice(notes, input), input, (note) => presentNote(note, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${path}/discussions/:discussion_id/notes/:note_id`,
    summary: `Get a note of a discussion on ${named}`,
    access: access('read'),
    input: z.object({ discussion_id, note_id }),
    output: Note,
    async handler({ ctx, caller, subject, input, view }) {
      return presentNote(await getNote(ctx, caller, subject.noteable, input.note_id, input.discussion_id), view)
    },
  }),
  endpoint({
    method: 'POST',
    path: `${path}/discussions/:discussion_id/notes`,
    summary: `Add a note to a discussion on ${named}`,
    description: ONLY_COMMANDS,
    answers: [202],
    access: access('create_note'),
    input: z.object({ discussion_id, ...message }),
    output: z.union([Note, NoteCommands]),
    async handler({ ctx, caller, subject, input, view }) {
      await getDiscussion(ctx, caller, subject.noteable, input.discussion_id)
      const noted = await noteWithCommands(ctx, caller, subject, { body: input.body, how: 'new' }, (body) =>
        replyTo(ctx, caller, subject, input.discussion_id, { ...input, body }),
      )
      return answerOf(noted, (note, changes) => presentNote(note, view, changes))
    },
  }),
  endpoint({
    method: 'PUT',
    path: `${path}/discussions/:discussion_id/notes/:note_id`,
    summary: `Update or resolve a note of a discussion on ${named}`,
    access: access('create_note'),
    input: needsOnlyOneOf(z.object({ discussion_id, note_id, body: opt(documented.filled()), resolved: opt(bool()) }), 'body', 'resolved'),
    output: Note,
    async handler({ ctx, caller, subject, input: { note_id: id, discussion_id: discussion, body, resolved }, view }) {
      if (body === undefined) return presentNote(await resolveNote(ctx, caller, subject, { id, discussion, resolved: resolved as boolean }), view)
      const noted = await noteWithCommands(ctx, caller, subject, { body, how: 'changed' }, (text) =>
        updateNote(ctx, caller, subject, { id, discussion, body: text }),
      )
      return answerOf(noted, (note, changes) => presentNote(note, view, changes))
    },
  }),
  endpoint({
    method: 'DELETE',
    path: `${path}/discussions/:discussion_id/notes/:note_id`,
    summary: `Delete a note of a discussion on ${named}`,
    answers: [412],
    access: access('create_note'),
    input: z.object({ discussion_id, note_id }),
    async handler({ ctx, caller, subject, input, unchangedSince }) {
      await deleteNote(ctx, caller, subject, { id: input.note_id, discussion: input.discussion_id }, unchangedSince)
    },
  }),
  ...(resolvable
    ? [
        endpoint({
          method: 'PUT',
          path: `${path}/discussions/:discussion_id`,
          summary: `Resolve or reopen a discussion on ${named}`,
          access: access('create_note'),
          input: z.object({ discussion_id, resolved: bool() }),
          output: Discussion,
          async handler({ ctx, caller, subject, input: { discussion_id: discussion, resolved }, view }) {
            return presentDiscussion(await resolveDiscussion(ctx, caller, subject, { discussion, resolved }), view)
          },
        }),
      ]
    : []),
]

export const discussions = DISCUSSABLE_KINDS.flatMap(discussionsOn)
