import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { searchNames } from '../repository/branches.js'
import { orderByCommit } from '../repository/ref-order.js'
import { repositoryOf } from '../repository/repositories.js'

/** Branches or tags to choose from, by a part of their names: that of exactly this name and the default branch first, then the newest. */
export async function refChoices(
  ctx: Context,
  { project }: ProjectSubject,
  prefix: 'refs/heads/' | 'refs/tags/',
  { search, limit }: { search: string | undefined; limit: number },
): Promise<{ names: string[]; total: number }> {
  const repository = repositoryOf(ctx, project)
  const refs = await repository.refs(prefix)
  const found = await ctx.cpu.slices.run(() => searchNames(refs, search, ({ name }) => name.slice(prefix.length)))
  const first = [search, prefix === 'refs/heads/' ? project.default_branch : undefined].map((name) => found.find((ref) => ref.name === prefix + name))
  const newest = await orderByCommit(ctx, repository, found, { commitOf: ({ peeled }) => peeled, order: 'desc' })
  const shown = [...new Set([...first.filter((ref) => ref !== undefined), ...newest.slice(0, limit)])].slice(0, limit)
  // a tag may name a file or a folder
  const commits = await repository.commits(shown.map(({ peeled }) => peeled))
  return { names: shown.filter((_, i) => commits[i] !== null).map(({ name }) => name.slice(prefix.length)), total: found.length }
}
