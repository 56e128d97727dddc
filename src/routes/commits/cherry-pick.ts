import { z } from 'zod'
import { fullPathOf, onProject, onProjectSignedIn } from '../../access/rules.js'
import { Commit, presentCommit } from '../../entities/repository/commit.js'
import { forbidden } from '../../failures.js'
import { endpoint } from '../../http/endpoint.js'
import { filled } from '../../http/texts.js'
import { cherryPick, revert } from '../../services/repository/commits/pick.js'

const input = z.object({ sha: z.string(), branch: filled() })

/** Cherry-pick and revert. */
export const picks = [
  endpoint({
    method: 'POST',
    path: '/projects/:id/repository/commits/:sha/cherry_pick',
    summary: 'Cherry-pick a commit',
    description: 'Applies the changes of the commit as a new commit on the branch.',
    // without a credential, the response is that of commit creation (W-37)
    access: onProject('push_code'),
    input,
    output: Commit,
    async handler({ ctx, caller, subject, input, view }) {
      if (!caller.user) throw forbidden()
      return presentCommit(await cherryPick(ctx, subject, caller, input), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/repository/commits/:sha/revert',
    summary: 'Revert a commit',
    description: 'Creates a new commit on the branch that undoes the changes.',
    access: onProjectSignedIn('push_code'),
    input,
    output: Commit,
    async handler({ ctx, caller, subject, input, view }) {
      return presentCommit(await revert(ctx, subject, caller, input), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
]
