import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { GitRepository, Oid } from '../../git/types.js'
import { mayMergeInto, mayPushTo, protectionsOf, reaches } from '../repository/protection.js'
import { repositoryOf } from '../repository/repositories.js'

/** What a pipeline may be made for: the head of a branch, or else of a tag. */
interface Target {
  /** Its short name. */
  ref: string
  sha: Oid
  tag: boolean
  /** Why the caller may not run a pipeline there: it would get protected variables (CI-105). */
  refusal: string | null
}

/** The branch or tag with a short or a full name; null if there is none. */
export async function targetOf(ctx: Context, subject: ProjectSubject, name: string): Promise<Target | null> {
  const repository = repositoryOf(ctx, subject.project)
  const found = await findRef(repository, name)
  const sha = found && (await repository.resolve(found.oid))?.commit
  if (!sha) return null
  const { ref, tag } = found
  const may = await mayRunOn(ctx, subject, { ref, tag })
  return { ref, sha, tag, refusal: may ? null : `You do not have sufficient permission to run a pipeline on '${ref}'.` }
}

const FULL_NAME = /^refs\/(heads|tags)\/(.+)$/s

/** The branch, or else the tag, of a name; one that is written in full (`refs/heads/main`) is no other (RX-30). */
export async function findRef(repository: Pick<GitRepository, 'ref'>, name: string): Promise<(Ref & { oid: Oid }) | null> {
  const [branch, tag] = await Promise.all([repository.ref(`refs/heads/${name}`), repository.ref(`refs/tags/${name}`)])
  const found = branch ?? tag
  if (found) return { ref: name, tag: branch === null, oid: found }
  const [, kind, ref] = FULL_NAME.exec(name) ?? []
  const oid = ref === undefined ? null : await repository.ref(name)
  return ref === undefined || !oid ? null : { ref, tag: kind === 'tags', oid }
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
