import { z } from 'zod'
import { fullPathOf, onProject, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import { Commit, presentCommit } from '../../entities/repository/commit.js'
import { forbidden } from '../../failures.js'
import type { Commit as CommitRecord } from '../../git/types.js'
import * as documented from '../../http/documented.js'
import { Answer, endpoint } from '../../http/endpoint.js'
import { bool, opt } from '../../http/params.js'
import type { View } from '../../http/view.js'
import { pickCommit, revertCommit } from '../../services/issuables/merge-requests/reading/picked.js'

const input = z.object({ sha: z.string(), branch: documented.filled(), dry_run: opt(bool()) })

const DryRun = z.strictObject({ dry_run: z.literal('success') }).meta({ id: 'DryRun', description: 'The commit would be made.' })
const output = z.union([Commit, DryRun])

/** The new commit, or the result of a dry run (C-51). */
const answer = (commit: CommitRecord | null, { project }: ProjectSubject, view: View) =>
  commit ? presentCommit(commit, { fullPath: fullPathOf(project) }, view) : new Answer(200, { dry_run: 'success' as const })

/** Cherry-pick and revert. */
export const picks = [
  endpoint({
    method: 'POST',
    path: '/projects/:id/repository/commits/:sha/cherry_pick',
    summary: 'Cherry-pick a commit',
    description: 'Applies the changes of the commit as a new commit on the branch. With `dry_run` nothing is written.',
    answers: [200],
    // without a credential, the response is that of commit creation (W-37)
    access: onProject('push_code'),
    input,
    output,
    async handler({ ctx, caller, subject, input, view }) {
      if (!caller.user) throw forbidden()
      return answer(await pickCommit(ctx, subject, caller, input), subject, view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/repository/commits/:sha/revert',
    summary: 'Revert a commit',
    description: 'Creates a new commit on the branch that undoes the changes. With `dry_run` nothing is written.',
    answers: [200],
    access: onProjectSignedIn('push_code'),
    input,
    output,
    async handler({ ctx, caller, subject, input, view }) {
      return answer(await revertCommit(ctx, subject, caller, input), subject, view)
    },
  }),
]
