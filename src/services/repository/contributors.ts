import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound } from '../../failures.js'
import type { Contributor } from '../../git/types.js'
import { type Page, type Paging, slice } from '../core/page.js'
import { repositoryOf } from './repositories.js'

export interface ContributorFilter extends Paging {
  order_by: 'email' | 'name' | 'commits'
  sort: 'asc' | 'desc'
}

const compare = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0)

/** The commit authors of the default branch (RE-7); 404 when it does not exist. Ties are ordered by e-mail address. */
export async function listContributors(
  ctx: Context,
  { project }: ProjectSubject,
  { order_by, sort, ...paging }: ContributorFilter,
): Promise<Page<Contributor>> {
  const repository = repositoryOf(ctx, project)
  const head = await repository.ref(`refs/heads/${project.default_branch}`)
  if (!head) throw notFound()
  const direction = sort === 'asc' ? 1 : -1
  const people = [...(await repository.contributors(head))]
  people.sort((a, b) => direction * (compare(a[order_by], b[order_by]) || compare(a.email, b.email)))
  return slice(people, paging)
}
