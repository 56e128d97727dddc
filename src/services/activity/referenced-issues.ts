import type { Caller } from '../../access/actor.js'
import { findIssueFor, type IssueSubject } from '../../access/issues.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { IssueReference } from '../../rules/references.js'
import { findVisibleProject } from '../identity/acting-users.js'

/** The most issues that are looked up at once; further ones are ignored. */
const MAX_REFERENCES = 1_000

/**
 * Returns a lookup of the projects that references name, with the reader's abilities; each is loaded once. A bare name
 * is a project of the same namespace, and no name the project itself. Null when not visible.
 */
export function projectResolver(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
): (named: string | null) => Promise<ProjectSubject | null> {
  const { project } = subject
  const projects = new Map<string, Promise<ProjectSubject | null>>()
  return (named) => {
    if (named === null) return Promise.resolve(subject)
    const path = named.includes('/') ? named : `${project.namespace.full_path}/${named}`
    const known =
      projects.get(path) ??
      (path.toLowerCase() === fullPathOf(project).toLowerCase() ? Promise.resolve(subject) : findVisibleProject(ctx, caller, path))
    projects.set(path, known)
    return known
  }
}

type Named = Pick<IssueReference, 'project' | 'number'>

/**
 * The distinct issues that the references resolve to for a reader, without those they may not see and those of the
 * fork's source project (MR-82, MR-83, MR-85, SEC-122).
 */
export async function resolveIssues(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  references: Iterable<Named> | AsyncIterable<Named>,
): Promise<IssueSubject[]> {
  const { project } = subject
  const projectOf = projectResolver(ctx, caller, subject)
  const resolved = new Map<number, IssueSubject>()
  const distinct = new Map<string, Named>()
  for await (const reference of references) {
    distinct.set(`${reference.project}#${reference.number}`, reference)
    if (distinct.size === MAX_REFERENCES) break
  }
  for (const { project: named, number } of distinct.values()) {
    const inProject = await projectOf(named)
    if (!inProject || inProject.project.id === project.forked_from_id || !inProject.can('read_issue')) continue
    const found = await findIssueFor(ctx, caller, inProject, number)
    if (found) resolved.set(found.issue.id, found)
  }
  return [...resolved.values()]
}
