import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { UserRefRecord } from '../../services/identity/user-ref.js'
import type { CommitCommentRecord } from '../../services/notes/commit-comments.js'
import { presentUserRef, UserRef } from '../identity/user.js'

const place = { path: z.string().nullable(), line: z.int().nullable(), line_type: z.enum(['new', 'old']).nullable() }

/** The response after creation (C-59). */
export const CommitComment = z
  .strictObject({ note: z.string(), ...place, author: UserRef, created_at: z.iso.datetime() })
  .meta({ id: 'CommitComment', description: 'A comment on a commit.' })

/** A comment in a list, which also has the author's e-mail address and creation date (C-58). */
export const ListedCommitComment = z
  .strictObject({ ...CommitComment.shape, author: z.strictObject({ ...UserRef.shape, email: z.string(), created_at: z.iso.datetime() }) })
  .meta({ id: 'ListedCommitComment', description: 'A comment on a commit, in a list.' })

export function presentCommitComment(
  { note, path, line, line_type, author, created_at }: Omit<CommitCommentRecord, 'author'> & { author: UserRefRecord },
  view: View,
): z.infer<typeof CommitComment> {
  return { note, path, line, line_type, author: presentUserRef(author, view), created_at: created_at.toISOString() }
}

export function presentListedCommitComment(comment: CommitCommentRecord, view: View): z.infer<typeof ListedCommitComment> {
  const { note, path, line, line_type, author, created_at } = comment
  const { id, name, username, state, avatar_url, web_url } = presentUserRef(author, view)
  return {
    note,
    path,
    line,
    line_type,
    author: { id, name, username, state, avatar_url, web_url, email: author.email, created_at: author.created_at.toISOString() },
    created_at: created_at.toISOString(),
  }
}
