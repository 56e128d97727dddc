import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Oid } from '../../git/types.js'
import { mayMergeInto, mayPushTo, protectionsOf, reaches } from '../repository/protection.js'
import { repositoryOf } from '../repository/repositories.js'

/** What a pipeline may be made for: the head of a branch, or else of a tag. */
interface Target {
  sha: Oid
  tag: boolean
  /** Why the caller may not run a pipeline there: it would get protected variables (CI-105). */
  refusal: string | null
}

/** The branch or tag with a short name; null if there is none. */
export async function targetOf(ctx: Context, subject: ProjectSubject, ref: string): Promise<Target | null> {
  const { project } = subject
  const repository = repositoryOf(ctx, project)
  const [branch, tag] = await Promise.all([repository.ref(`refs/heads/${ref}`), repository.ref(`refs/tags/${ref}`)])
  const found = branch ?? tag
  const sha = found && (await repository.resolve(found))?.commit
  if (!sha) return null
  const may = await mayRunOn(ctx, subject, { ref, tag: branch === null })
  return { sha, tag: branch === null, refusal: may ? null : `You do not have sufficient permission to run a pipeline on '${ref}'.` }
}

interface Ref {
  ref: string
  tag: boolean
}

/** Whether the caller may run jobs of a branch or tag, which get its protected variables (CI-105). */
export const mayRunOn = async (ctx: Context, subject: ProjectSubject, of: Ref): Promise<boolean> => (await mayRunOnAny(ctx, subject))(of)

/** The same for many branches and tags of a project, which cost no more than one. */
export async function mayRunOnAny(ctx: Context, subject: ProjectSubject): Promise<(of: Ref) => boolean> {
  const protections = await protectionsOf(ctx, subject.project.id)
  return ({ ref, tag }) =>
    tag ? reaches(subject, protections.createTagLevel(ref)) : mayPushTo(subject, protections, ref) || mayMergeInto(subject, protections, ref)
}
