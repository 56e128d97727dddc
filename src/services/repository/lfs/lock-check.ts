import { and, eq, ne, sql } from 'drizzle-orm'
import type { Project } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { lfsLocks, users } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { GitTimeout } from '../../../git/errors.js'
import { type GitRepository, type RefUpdate, ZERO } from '../../../git/types.js'
import { servesLfs } from './objects.js'

/** What the locks of a project are compared with. */
export interface LockedMoves {
  project: Pick<Project, 'id' | 'default_branch' | 'lfs_enabled' | 'namespace'>
  actorId: number
  moves: RefUpdate[]
  /** The moves merge a merge request. */
  merges: boolean
  /** A view of the repository that includes the new objects. */
  repository: Pick<GitRepository, 'changedPath'>
}

const selectLocksOfOthers = statement('locks of others', (db) =>
  db
    .select({ path: lfsLocks.path, owner: users.name })
    .from(lfsLocks)
    .innerJoin(users, eq(users.id, lfsLocks.user_id))
    .where(and(eq(lfsLocks.project_id, sql.placeholder('project')), ne(lfsLocks.user_id, sql.placeholder('user')))),
)

/**
 * Why the moves may not change a file that another user has locked, or null (LF-16). New commits count by what they
 * change themselves, so that a branch may take in what others did; a merge, and a move of the default branch, count by
 * their result too, since the commits may be older than the lock.
 */
export async function lockRefusal(ctx: Context, { project, actorId, moves, merges, repository }: LockedMoves): Promise<string | null> {
  const written = moves.filter(({ ref, new: to }) => to !== ZERO && /^refs\/(heads|tags)\//.test(ref))
  if (written.length === 0 || !servesLfs(project)) return null
  const locks = new Map(
    (await selectLocksOfOthers(ctx.db, null).execute({ project: project.id, user: actorId })).map(({ path, owner }) => [path, owner]),
  )
  if (locks.size === 0) return null
  const compared = written.filter(({ ref, old }) => old !== ZERO && (merges || ref === `refs/heads/${project.default_branch}`))
  const changes = { commits: written.map(({ new: to }) => to), pairs: compared.map(({ old, new: to }) => [old, to] as const) }
  try {
    const path = await repository.changedPath(changes, locks.keys())
    return path === null ? null : `The file ${JSON.stringify(path)} is locked by ${locks.get(path)}.`
  } catch (error) {
    if (error instanceof GitTimeout) return 'There are too many changes to compare them with the locks of this project. Push them in parts.'
    throw error
  }
}
