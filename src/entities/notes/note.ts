import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { DiscussionRecord, NoteRecord } from '../../services/notes/list.js'
import { presentUserRef, UserRef } from '../identity/user.js'

const LinePoint = z.strictObject({
  line_code: z.string(),
  type: z.enum(['old', 'new']).nullable(),
  old_line: z.int().nullable(),
  new_line: z.int().nullable(),
})

/** A place in a diff; a range of lines and a point of a picture have more than others. */
export const Position = z.strictObject({
  base_sha: z.string(),
  start_sha: z.string(),
  head_sha: z.string(),
  position_type: z.enum(['text', 'file', 'image']),
  old_path: z.string(),
  new_path: z.string(),
  old_line: z.int().nullable(),
  new_line: z.int().nullable(),
  line_range: z.strictObject({ start: LinePoint, end: LinePoint }).optional(),
  width: z.int().optional(),
  height: z.int().optional(),
  x: z.int().optional(),
  y: z.int().optional(),
})

/** What the commands of a text have changed (QA-2): attributes by name. */
const CommandsChanges = z.record(z.string(), z.unknown())

/** The answer to a note that had only commands. */
export const NoteCommands = z
  .strictObject({ commands_changes: CommandsChanges, summary: z.array(z.string()) })
  .meta({ id: 'NoteCommands', description: 'What the commands of a note without other text have done.' })

/** A note (section 18). For a note on a commit, `noteable_id` and `noteable_iid` are null (S-20). */
export const Note = z
  .strictObject({
    id: z.int(),
    type: z.enum(['DiscussionNote', 'DiffNote']).nullable(),
    body: z.string(),
    attachment: z.null(),
    author: UserRef,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    system: z.boolean(),
    noteable_id: z.int().nullable(),
    noteable_type: z.enum(['Commit', 'Issue', 'MergeRequest', 'Snippet']),
    noteable_iid: z.int().nullable(),
    project_id: z.int(),
    resolvable: z.boolean(),
    resolved: z.boolean().optional(),
    resolved_by: UserRef.nullable().optional(),
    resolved_at: z.iso.datetime().nullable().optional(),
    position: Position.optional(),
    confidential: z.literal(false),
    internal: z.literal(false),
    commands_changes: CommandsChanges,
  })
  .meta({ id: 'Note', description: 'A comment, or a note of the system.' })

/** `changes`: what the commands in its text have changed, if it was written just now. */
export function presentNote({ note, author, resolved_by, iid }: NoteRecord, view: View, changes: Record<string, unknown> = {}): z.infer<typeof Note> {
  // only notes of discussions on merge requests can be resolved (DI-9)
  const resolvable = note.noteable_type === 'MergeRequest' && note.type !== null
  return {
    id: note.id,
    type: note.type,
    body: note.note,
    attachment: null,
    author: presentUserRef(author, view),
    created_at: note.created_at.toISOString(),
    updated_at: note.updated_at.toISOString(),
    system: note.system,
    noteable_id: note.noteable_id,
    noteable_type: note.noteable_type,
    noteable_iid: iid,
    project_id: note.project_id,
    resolvable,
    resolved: resolvable ? note.resolved_at !== null : undefined,
    resolved_by: resolvable ? resolved_by && presentUserRef(resolved_by, view) : undefined,
    resolved_at: resolvable ? (note.resolved_at?.toISOString() ?? null) : undefined,
    position: note.position ?? undefined,
    confidential: false,
    internal: false,
    commands_changes: changes,
  }
}

/** A discussion (section 19). */
export const Discussion = z
  .strictObject({ id: z.string().length(40), individual_note: z.boolean(), notes: z.array(Note).min(1) })
  .meta({ id: 'Discussion', description: 'A thread of notes.' })

export function presentDiscussion({ id, notes }: DiscussionRecord, view: View, changes: Record<string, unknown> = {}): z.infer<typeof Discussion> {
  return { id, individual_note: notes[0]?.note.type === null, notes: notes.map((note) => presentNote(note, view, changes)) }
}
