import { setTimeout as sleep } from 'node:timers/promises'
import type { SignedIn } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { refused } from '../../../failures.js'
import { RefChanged, RefNameConflict } from '../../../git/errors.js'
import type { Oid } from '../../../git/types.js'
import { Unavailable } from '../../../lib/unavailable.js'
import { readSettings, type Settings } from '../../core/settings.js'
import { type Protections, protectionsOf } from '../protection.js'
import { moveUnderIntent, withBranch } from '../push/door.js'
import { repositoryOf } from '../repositories.js'

/** How often a commit is made again on a branch that moved meanwhile; then the caller has to retry (C-33). */
const TRIES = 8
/**
 * Milliseconds of pause between attempts, times their number: gives way to writers of the same branch in other
 * processes.
 */
const PAUSE = 20

export const invalidBranch = (branch: string) => `Something went wrong when we tried to create '${branch}' for you: Branch name is invalid`

/** What decides whether a caller may write to a branch. */
export interface Rules {
  protections: Protections
  settings: Settings
}

/** A commit whose objects are on the disk but which no branch has yet, and the value its branch must still have. */
interface Drafted {
  commit: Oid
  old: Oid
}

/**
 * Makes a commit and moves a branch to it, by the same rules as a push; `draft` is called again when the branch has
 * moved meanwhile, and `describe` reads what the answer says of the commit while the branch moves. Writers of one
 * branch take turns here; those of other processes are detected at the ref (C-33, SEC-102).
 */
export async function commitToBranch<T>(
  ctx: Context,
  { subject, caller, branch }: { subject: ProjectSubject; caller: SignedIn; branch: string },
  draft: (rules: Rules) => Promise<Drafted>,
  describe: (commit: Oid) => Promise<T>,
): Promise<T> {
  const { project } = subject
  const repository = repositoryOf(ctx, project)
  return withBranch(ctx, project.id, branch, async () => {
    const [protections, settings] = await Promise.all([protectionsOf(ctx, project.id), readSettings(ctx)])
    for (let tried = 1; ; tried++) {
      const { commit, old } = await draft({ protections, settings })
      const described = describe(commit)
      described.catch(() => undefined)
      const move = { ref: `refs/heads/${branch}`, old, new: commit }
      try {
        await moveUnderIntent(ctx, { projectId: project.id, actorId: caller.user.id, moves: [move], settings, repository })
      } catch (error) {
        if (error instanceof RefNameConflict) throw refused(invalidBranch(branch))
        if (!(error instanceof RefChanged)) throw error
        if (tried === TRIES) throw new Unavailable(`Could not update branch ${branch}`)
        await sleep(Math.random() * PAUSE * tried)
        continue
      }
      return described
    }
  })
}
