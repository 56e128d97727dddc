import type { Context } from '../../context.js'
import type { Oid, RepositoryKey } from '../../git/types.js'
import { sharePointedObjects } from './lfs/sharing.js'
import { mayReadCode } from './reading.js'

/**
 * Copies commits of one project's repository into another, with the LFS objects they point to. Returns false and copies
 * nothing when the user may not currently read the source's code (SEC-43).
 */
export async function copyCommits(
  ctx: Context,
  readerId: number,
  from: RepositoryKey,
  into: RepositoryKey,
  { commits, have = [] }: { commits: Oid[]; have?: Oid[] },
): Promise<boolean> {
  if (!(await mayReadCode(ctx, readerId, from.id))) return false
  await ctx.git.open(into).copyObjects(from, commits, have)
  await sharePointedObjects(ctx, from.id, into, commits, have)
  return true
}

/**
 * Creates the repository of a fork. Returns false and creates nothing when the user may not currently read the source's
 * code (SEC-43).
 */
export async function copyRepository(ctx: Context, readerId: number, from: RepositoryKey, to: RepositoryKey, branch: string): Promise<boolean> {
  if (!(await mayReadCode(ctx, readerId, from.id))) return false
  await ctx.git.fork(from, to, branch)
  return true
}
