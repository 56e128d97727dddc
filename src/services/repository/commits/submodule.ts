import type { SignedIn } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { refused } from '../../../failures.js'
import type { Commit, Stats } from '../../../git/types.js'
import { checkPath } from '../../../lib/git-path.js'
import { lengthOf } from '../../../rules/path.js'
import { mayPushTo } from '../protection.js'
import { PROTECTED_BRANCH } from '../push/rules.js'
import { checkQuota } from '../quotas.js'
import { repositoryOf, signatureOf } from '../repositories.js'
import { MAX_MESSAGE } from './create.js'
import { commitToBranch } from './write.js'

export interface SubmoduleUpdate {
  submodule: string
  branch: string
  commit_sha: string
  commit_message?: string | undefined
}

/** Sets a submodule to another commit, by a commit on a branch (RE-12). */
export async function updateSubmodule(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  { submodule, branch, commit_sha: oid, commit_message }: SubmoduleUpdate,
): Promise<{ commit: Commit; stats: Stats }> {
  if (!/^[0-9a-f]{40}$/.test(oid) || /^0+$/.test(oid)) throw refused('commit_sha is no full commit id')
  if (commit_message !== undefined && lengthOf(commit_message) > MAX_MESSAGE) throw refused('The commit message is too long')
  const repository = repositoryOf(ctx, subject.project)
  const draft = async ({ protections }: { protections: Parameters<typeof mayPushTo>[1] }) => {
    const head = branch === '' || branch.includes('\0') ? null : await repository.ref(`refs/heads/${branch}`)
    if (!head) throw refused('You can only create or edit files when you are on a branch')
    if (!mayPushTo(subject, protections, branch)) throw refused(PROTECTED_BRANCH)
    const entry = checkPath(submodule) ? null : await repository.entry(head, submodule)
    if (entry?.type !== 'commit') throw refused('Invalid submodule path')
    if (entry.oid === oid) throw refused(`The submodule ${submodule} is already at ${oid}`)
    await checkQuota(ctx, repository)
    const author = signatureOf(ctx, caller)
    const message = commit_message || `Update submodule ${submodule} with oid ${oid}`
    const changes = [{ action: 'submodule' as const, path: submodule, oid }]
    const drafted = await repository.draftCommit({ parents: [head], changes, author, committer: author, message })
    if ('fault' in drafted) throw refused('Invalid submodule path')
    return { commit: drafted.commit, old: head }
  }
  const describe = (commit: string) => Promise.all([repository.commit(commit), repository.stats([commit])])
  const [commit, [stats]] = await commitToBranch(ctx, { subject, caller, branch }, draft, describe)
  return { commit: commit as Commit, stats: stats ?? { additions: 0, deletions: 0 } }
}
