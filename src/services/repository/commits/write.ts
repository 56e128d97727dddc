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

/** How often a commit is attempted on a branch that moves meanwhile; then the client has to retry (C-33). */
const MAX_ATTEMPTS = 8
/**
 * Maximum random delay between attempts, multiplied by their number, so that writers in other processes get their
 * chance.
 */
const RETRY_DELAY_MS = 20

export const invalidBranch = (branch: string) => `Something went wrong when we tried to create '${branch}' for you: Branch name is invalid`

/** Protection entries and settings that decide whether a caller may write to a branch. */
export interface Rules {
  protections: Protections
  settings: Settings
}

/** A commit that is written but not on its branch yet, and the value that the branch must still have. */
interface DraftedCommit {
  commit: Oid
  old: Oid
}

/**
 * Makes a commit and moves a branch to it, by the same rules as a push. `draft` is called again when the branch has
 * moved meanwhile; `describe` reads the commit for the response while the branch moves. Writers of one branch are
 * serialised within this process; those of other processes are detected by the compare-and-swap (C-33, SEC-102).
 */
export async function commitToBranch<T>(
  ctx: Context,
  { subject, caller, branch }: { subject: ProjectSubject; caller: SignedIn; branch: string },
  draft: (rules: Rules) => Promise<DraftedCommit>,
  describe: (commit: Oid) => Promise<T>,
): Promise<T> {
  const { project } = subject
  const repository = repositoryOf(ctx, project)
  return withBranch(ctx, project.id, branch, async () => {
    const [protections, settings] = await Promise.all([protectionsOf(ctx, project.id), readSettings(ctx)])
    for (let attempt = 1; ; attempt++) {
      const { commit, old } = await draft({ protections, settings })
      const described = describe(commit)
      described.catch(() => undefined)
      const move = { ref: `refs/heads/${branch}`, old, new: commit }
      try {
        await moveUnderIntent(ctx, { project, actorId: caller.user.id, moves: [move], settings, repository })
      } catch (error) {
        if (error instanceof RefNameConflict) throw refused(invalidBranch(branch))
        if (!(error instanceof RefChanged)) throw error
        if (attempt === MAX_ATTEMPTS) throw new Unavailable(`Could not update branch ${branch}`)
        await sleep(Math.random() * RETRY_DELAY_MS * attempt)
        continue
      }
      return described
    }
  })
}
