import type { Context } from '../../context.js'
import type { GitRepository, Oid, Ref } from '../../git/types.js'
import type { Slices } from '../../lib/async/slices.js'

/** Orders refs, which are in the order of their names, by the time of their commits; those without a commit are older than all. */
export async function orderByCommit(
  ctx: Pick<Context, 'cpu'>,
  repository: GitRepository,
  refs: Ref[],
  { commitOf, order }: { commitOf: (ref: Ref) => Oid; order: 'asc' | 'desc' },
): Promise<Ref[]> {
  const oids = refs.map(commitOf)
  const commits = await repository.commits([...new Set(oids)])
  const times = new Map(commits.map((commit) => [commit?.oid, commit?.committer.seconds]))
  return orderByTime(
    ctx.cpu.slices,
    refs,
    oids.map((oid) => times.get(oid) ?? 0),
    order,
  )
}

/**
 * Orders items, which are in the order of their names, by time, so that equal times keep that order. Sorts numbers,
 * which is ten times faster than comparing 100,000 items.
 */
export async function orderByTime<T>(slices: Slices, items: T[], times: number[], order: 'asc' | 'desc'): Promise<T[]> {
  const width = items.length
  const latest = Math.floor(Number.MAX_SAFE_INTEGER / (width + 1)) - 1
  const keys = await slices.run(() =>
    Float64Array.from(times, (time, i) => {
      const known = Math.min(Math.max(time, 0), latest)
      return (order === 'asc' ? known : latest - known) * width + i
    }),
  )
  await slices.run(() => keys.sort())
  return slices.run(() => Array.from(keys, (key) => items[key % width] as T))
}
