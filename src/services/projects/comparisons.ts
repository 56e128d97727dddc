import type { Caller } from '../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound } from '../../failures.js'
import type { RepositoryKey } from '../../git/types.js'
import { findVisibleProject } from '../identity/acting-users.js'
import { type Compared, type Comparison, compare, comparisonOf, endsOf } from '../repository/commits/read.js'
import { inSameNetwork } from './fork-network.js'
import { listProjects } from './list.js'
import { loadProjects } from './load.js'

const keyOf = ({ project: { id, storage } }: ProjectSubject): RepositoryKey => ({ storage, id, kind: 'project' })

/** Projects of a fork network that are offered at most. */
const MAX_OFFERED = 50

export interface NetworkProject {
  id: number
  fullPath: string
}

/** The projects of the fork network whose code the caller may read, the project itself among them; the latest ones. */
export async function networkOf(ctx: Context, caller: Caller, { project }: ProjectSubject): Promise<NetworkProject[]> {
  if (project.forked_from_id === null && project.forks_count === 0) return [{ id: project.id, fullPath: fullPathOf(project) }]
  const filter = { network: project.id, order_by: 'last_activity_at', sort: 'desc', page: 1, per_page: MAX_OFFERED } as const
  const { items } = await listProjects(ctx, caller, filter)
  const records = await loadProjects(
    ctx,
    caller.user,
    items.map(({ id }) => id),
  )
  return records.map(({ id, namespace, project: { path } }) => ({ id, fullPath: `${namespace.full_path}/${path}` }))
}

/** The project itself, or the one of its fork network with this id, if the caller may read its code; 404 for any other. */
export async function getInNetwork(ctx: Context, caller: Caller, subject: ProjectSubject, id = subject.project.id): Promise<ProjectSubject> {
  const { project } = subject
  if (id === project.id) return subject
  const other = await findVisibleProject(ctx, caller, id)
  if (!other?.can('download_code') || !(await inSameNetwork(ctx.db.write, project.id, id))) throw notFound('Project')
  return other
}

/**
 * Compares a revision of a project of the fork network with one of this project. No objects are copied: a reader of its
 * own sees those of both. `other` is one that the caller may read, see `getInNetwork`.
 */
export async function compareAcross(ctx: Context, subject: ProjectSubject, other: ProjectSubject, compared: Compared): Promise<Comparison> {
  if (other.project.id === subject.project.id) return compare(ctx, subject, compared)
  const ends = await endsOf(ctx, subject, compared, other)
  const reader = ctx.git.openBoth(keyOf(subject), keyOf(other))
  try {
    return await comparisonOf(reader, ends, compared.straight)
  } finally {
    reader.close()
  }
}
