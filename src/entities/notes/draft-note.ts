import { z } from 'zod'
import type { DraftNote as DraftNoteRecord } from '../../services/notes/drafts.js'
import { Position } from './note.js'

/** A note that is kept for a review (DI-13). */
export const DraftNote = z
  .strictObject({
    id: z.int(),
    author_id: z.int(),
    merge_request_id: z.int(),
    resolve_discussion: z.boolean(),
    discussion_id: z.string().nullable(),
    note: z.string(),
    commit_id: z.null(),
    line_code: z.null(),
    position: Position.nullable(),
  })
  .meta({ id: 'DraftNote', description: 'A note of a review that is not sent yet.' })

export const presentDraftNote = ({
  id,
  author_id,
  merge_request_id,
  resolve_discussion,
  discussion_id,
  note,
  position,
}: DraftNoteRecord): z.infer<typeof DraftNote> => ({
  id,
  author_id,
  merge_request_id,
  resolve_discussion: resolve_discussion === true,
  discussion_id,
  note,
  commit_id: null,
  line_code: null,
  position,
})
