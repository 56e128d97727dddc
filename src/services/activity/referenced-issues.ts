import type { Caller } from '../../access/actor.js'
import { findIssueFor, type IssueSubject } from '../../access/issues.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { IssueReference } from '../../lib/text/references.js'
import { findVisibleProject } from '../identity/acting-users.js'

/** References in one text that are followed; further ones are ignored. */
const MAX = 1_000

/**
 * Finds the projects that references name, as a reader sees them, each looked up once: a bare name means the same
 * group, and no name the project itself. Null: not visible.
 */
export function projectsMeant(
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

/**
 * The issues that these references mean to a reader, each once; those they do not see, and those of the project a fork
 * came from, are left out (MR-82, MR-83, MR-85, SEC-122).
 */
export async function issuesMeant(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  references: Pick<IssueReference, 'project' | 'number'>[],
): Promise<IssueSubject[]> {
  const { project } = subject
  const projectOf = projectsMeant(ctx, caller, subject)
  const meant = new Map<number, IssueSubject>()
  for (const { project: named, number } of references.slice(0, MAX)) {
    const where = await projectOf(named)
    if (!where || where.project.id === project.forked_from_id || !where.can('read_issue')) continue
    const found = await findIssueFor(ctx, caller, where, number)
    if (found) meant.set(found.issue.id, found)
  }
  return [...meant.values()]
}
