import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { type GitRepository, type RefUpdate, ZERO } from '../../../git/types.js'
import { branchNameFault } from '../../../rules/refs/branch-name.js'
import { readSettings, type Settings } from '../../core/settings.js'
import { type Protections, protectionsOf, protectsEmpty, reaches } from '../protection.js'

/** Where a ref update came from; some rules depend on it (BR-19). */
export type Door = 'api' | 'git'

/** The message for callers who may not write to a protected branch, over the API and Git (C-28, PU-9). */
export const PROTECTED_BRANCH = 'You are not allowed to push into this branch'

/** What is needed to decide on ref updates, loaded once per push. */
export interface PushRules {
  subject: ProjectSubject
  protections: Protections
  settings: Settings
  door: Door
  /** A view of the repository that includes the new objects, for the fast-forward check. */
  repository: Pick<GitRepository, 'isAncestor'>
}

export async function loadPushRules(
  ctx: Context,
  subject: ProjectSubject,
  door: Door,
  repository: Pick<GitRepository, 'isAncestor'>,
): Promise<PushRules> {
  const [protections, settings] = await Promise.all([protectionsOf(ctx, subject.project.id), readSettings(ctx)])
  return { subject, protections, settings, door, repository }
}

/** Why no branch of this name can be created; null for all other updates (SEC-83). */
export function newNameFault({ ref, old, new: to }: RefUpdate): string | null {
  if (!ref.startsWith('refs/heads/') || old !== ZERO || to === ZERO) return null
  const branch = ref.slice('refs/heads/'.length)
  return branchNameFault(branch) ? `Branch name '${branch}' is invalid` : null
}

/** Why the caller may not make a ref update, or null; used for every way to write (SEC-104, GH-19, GH-20). */
export async function refusalOf(setting: PushRules, move: RefUpdate): Promise<string | null> {
  const { subject } = setting
  if (!subject.can('push_code')) return 'You are not allowed to push code to this project.'
  if (move.ref.startsWith('refs/heads/')) return refuseBranch(setting, move, move.ref.slice('refs/heads/'.length))
  if (move.ref.startsWith('refs/tags/')) return refuseTag(setting, move, move.ref.slice('refs/tags/'.length))
  // notes may also be force-pushed
  return move.ref.startsWith('refs/notes/') ? null : 'Only branches, tags and notes can be pushed.'
}

async function refuseBranch(
  { subject, protections, settings, door, repository }: PushRules,
  move: RefUpdate,
  branch: string,
): Promise<string | null> {
  const { project } = subject
  const deletes = move.new === ZERO
  if (deletes) {
    if (branch === project.default_branch && !project.empty_repo) return 'The default branch of a project cannot be deleted.'
    if (!protections.isProtected(branch)) return null
    if (door === 'git') return 'You can only delete protected branches through the API.'
    return subject.can('delete_protected_branch') ? null : 'You are not allowed to delete protected branches from this project.'
  }
  const fault = newNameFault(move)
  if (fault) return fault
  if (project.empty_repo && protectsEmpty(project, settings) && !reaches(subject, 40)) return PROTECTED_BRANCH
  if (!protections.isProtected(branch)) return null
  if (!reaches(subject, protections.pushLevel(branch))) return PROTECTED_BRANCH
  if (move.old === ZERO || protections.allowsForcePush(branch)) return null
  return (await repository.isAncestor(move.old, move.new)) ? null : 'You are not allowed to force push code to a protected branch on this project.'
}

function refuseTag({ subject, protections }: PushRules, move: RefUpdate, tag: string): string | null {
  // a deletion stays one, whatever old value the client claims
  const creates = move.old === ZERO && move.new !== ZERO
  if (!creates && !subject.can('delete_tag')) return 'You are not allowed to change existing tags on this project.'
  if (!protections.isTagProtected(tag)) return null
  if (!creates) return move.new === ZERO ? 'Protected tags cannot be deleted.' : 'Protected tags cannot be updated.'
  return reaches(subject, protections.createTagLevel(tag)) ? null : 'You are not allowed to create this tag as it is protected.'
}
