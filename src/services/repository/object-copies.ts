import { sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { GitRepository, Oid, RepositoryKey } from '../../git/types.js'
import { actingUser, findVisibleProject } from '../identity/acting-users.js'

const activeUser = statement('active user', (db) =>
  db
    .select()
    .from(users)
    .where(sql`${users.id} = ${sql.placeholder('id')} and ${users.state} = 'active'`),
)

/**
 * Whether a user may read a project's code now: by the current rows, not as a call found it when it began. Blocked
 * users read nothing.
 */
export async function mayReadCode(ctx: Context, userId: number, projectId: number): Promise<boolean> {
  const [user] = await activeUser(ctx.db, null).execute({ id: userId })
  const subject = user ? await findVisibleProject(ctx, actingUser(user), projectId) : null
  return subject?.can('download_code') ?? false
}

/**
 * Copies commits of one project's repository into another, for a user who may read the source's code at this moment
 * (SEC-43). False, and nothing copied, where they may not.
 */
export async function copyCommits(
  ctx: Context,
  readerId: number,
  from: RepositoryKey,
  into: GitRepository,
  commits: Oid[],
  have: Oid[] = [],
): Promise<boolean> {
  if (!(await mayReadCode(ctx, readerId, from.id))) return false
  await into.take(from, commits, have)
  return true
}

/**
 * Creates the repository of a fork, for a user who may read the source's code at this moment (SEC-43). False, and
 * nothing created, where they may not.
 */
export async function copyRepository(ctx: Context, readerId: number, from: RepositoryKey, to: RepositoryKey, branch: string): Promise<boolean> {
  if (!(await mayReadCode(ctx, readerId, from.id))) return false
  await ctx.git.fork(from, to, branch)
  return true
}
