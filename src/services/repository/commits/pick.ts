import type { SignedIn } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { notFound, refused } from '../../../failures.js'
import type { Commit, Oid, PickDraft } from '../../../git/types.js'
import { titleOf } from '../../../rules/commit-title.js'
import { mayPushTo, type Protections, protectionsOf } from '../protection.js'
import { PROTECTED_BRANCH } from '../push/rules.js'
import { checkQuota } from '../quotas.js'
import { repositoryOf, signatureOf } from '../repositories.js'
import { getCommit } from './read.js'
import { commitToBranch } from './write.js'

export interface PickTarget {
  /** A commit id, abbreviation, branch or tag. */
  sha: string
  branch: string
  dry_run?: boolean | undefined
}

/**
 * Cherry-picks a commit's changes against its first parent onto a branch (C-48 to C-51). The author is kept; the caller
 * becomes the committer. `commitsMergedBy` finds the commits of the merge request that a merge commit has merged, or
 * null if the caller sees none.
 */
export async function cherryPick(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  { sha, branch, dry_run: dryRun = false }: PickTarget,
  commitsMergedBy: (oid: Oid) => Promise<Commit[] | null>,
): Promise<Commit | null> {
  const picked = await getCommit(ctx, subject, sha)
  const merged = picked.parents.length > 1 ? await commitsMergedBy(picked.oid) : null
  const list = (merged ?? []).map(({ oid, message }) => `${oid.slice(0, 8)} ${titleOf(message)}`).join('\n')
  return pick(ctx, { subject, caller, branch, dryRun, noun: merged ? 'merge request' : 'commit' }, 'cherry-pick', {
    commit: picked.oid,
    author: picked.author,
    message: `${picked.message}\n\n(cherry picked from commit ${picked.oid})${list === '' ? '' : `\n\n${list}`}`,
  })
}

/**
 * Reverts a commit's changes against its first parent on a branch (RE-10). `mergedBy` finds the number of the merge
 * request that a merge commit has merged, or null if the caller sees none.
 */
export async function revert(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  { sha, branch, dry_run: dryRun = false }: PickTarget,
  mergedBy: (oid: Oid) => Promise<number | null>,
): Promise<Commit | null> {
  const reverted = await getCommit(ctx, subject, sha)
  const merged = reverted.parents.length > 1 ? await mergedBy(reverted.oid) : null
  const what = merged === null ? `commit ${reverted.oid}` : `merge request !${merged}`
  return pick(ctx, { subject, caller, branch, dryRun, noun: merged === null ? 'commit' : 'merge request' }, 'revert', {
    commit: reverted.oid,
    reverse: true,
    author: signatureOf(ctx, caller),
    message: `Revert "${titleOf(reverted.message)}"\n\nThis reverts ${what}`,
  })
}

const PAST_TENSE = { 'cherry-pick': 'cherry-picked', revert: 'reverted' }

interface Picker {
  subject: ProjectSubject
  caller: SignedIn
  branch: string
  dryRun: boolean
  /** What a refusal calls the commit (C-51). */
  noun: 'commit' | 'merge request'
}

/** Null after a dry run, which writes nothing (C-51). */
async function pick(
  ctx: Context,
  { subject, caller, branch, dryRun, noun }: Picker,
  verb: keyof typeof PAST_TENSE,
  draft: Omit<PickDraft, 'onto' | 'committer'>,
): Promise<Commit | null> {
  const repository = repositoryOf(ctx, subject.project)
  const headFor = async (protections: Protections): Promise<Oid> => {
    const head = branch === '' || branch.includes('\0') ? null : await repository.ref(`refs/heads/${branch}`)
    if (!head) throw notFound('Branch')
    if (!mayPushTo(subject, protections, branch)) throw refused(PROTECTED_BRANCH)
    await checkQuota(ctx, repository)
    return head
  }
  const impossible = () =>
    refused(
      `Sorry, we cannot ${verb} this ${noun} automatically. This ${noun} may already have been ${PAST_TENSE[verb]}, or a more recent commit may have updated some of its content.`,
    )
  if (dryRun) {
    const onto = await headFor(await protectionsOf(ctx, subject.project.id))
    if (await repository.pickRefusal({ ...draft, onto })) throw impossible()
    return null
  }
  return commitToBranch(
    ctx,
    { subject, caller, branch },
    async ({ protections }) => {
      const head = await headFor(protections)
      const drafted = await repository.draftPick({ ...draft, onto: head, committer: signatureOf(ctx, caller) })
      if ('refusal' in drafted) throw impossible()
      return { commit: drafted.commit, old: head }
    },
    (oid) => repository.commit(oid),
  )
}
