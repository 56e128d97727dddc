import { z } from 'zod'
import { onProject, onProjectSignedIn } from '../../access/rules.js'
import { CommitComment, ListedCommitComment, presentCommitComment, presentListedCommitComment } from '../../entities/notes/commit-comment.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { intOrNull, oneOf, opt, paging, str } from '../../http/params.js'
import { createCommitComment, listCommitComments } from '../../services/notes/commit-comments.js'

/** An invalid line is ignored for a branch or tag, which can move; for a full commit id it is an error (C-60). */
const placed = z
  .object({ sha: z.string(), note: documented.filled(), path: opt(str()), line: opt(intOrNull()), line_type: opt(oneOf(['new', 'old'])) })
  .refine(({ sha, line }) => line !== null || !/^[0-9a-f]{40}$/.test(sha), {
    path: ['line'],
    when: () => true,
    params: { sentence: 'line is invalid' },
  })

/** Comments on commits (C-58 to C-61). */
export const commitComments = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/commits/:sha/comments',
    summary: 'List comments on a commit',
    access: onProject('download_code'),
    input: z.object({ sha: z.string(), ...paging }),
    output: z.array(ListedCommitComment),
    async handler({ ctx, subject, input, view }) {
      return pageOf(await listCommitComments(ctx, subject, input), input, (comment) => presentListedCommitComment(comment, view))
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/repository/commits/:sha/comments',
    summary: 'Comment on a commit',
    description: '`path`, `line` and `line_type` place the comment on a line of the diff.',
    access: onProjectSignedIn('comment_on_commit'),
    input: placed,
    output: CommitComment,
    async handler({ ctx, caller, subject, input, view }) {
      return presentCommitComment(await createCommitComment(ctx, subject, caller, input), view)
    },
  }),
]
