import { and, asc, eq, gt } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { conditionsWith, type FilterNames, type Filters } from '../../../db/filters.js'
import { lfsLocks, users } from '../../../db/schema/index.js'
import { conflict, forbidden, notFound, unprocessable } from '../../../failures.js'
import { lockName } from '../../core/lock-name.js'

/** A lock on a file (LF-9). */
export interface LfsLock {
  id: number
  path: string
  locked_at: Date
  user_id: number
  owner: string
}

export interface LockFilter {
  path?: string | undefined
  id?: number | undefined
  /** Only locks with a greater id. */
  cursor?: number | undefined
  limit?: number | undefined
}

/** Maximum number of locks per page. */
const MAX_LOCKS = 100
/** Maximum number of locks of a project (SEC-269). */
const MAX_LOCKS_OF_PROJECT = 10_000
/** Maximum length of a path in bytes. */
const MAX_PATH = 2_000

const FILTERS = {
  path: { where: (path) => eq(lfsLocks.path, path), value: ({ path }) => path },
  id: { where: (id) => eq(lfsLocks.id, id), value: ({ id }) => id },
  cursor: { where: (id) => gt(lfsLocks.id, id), value: ({ cursor }) => cursor },
} satisfies Filters<LockFilter, FilterNames<LockFilter, 'limit'>>

const columns = { id: lfsLocks.id, path: lfsLocks.path, locked_at: lfsLocks.locked_at, user_id: lfsLocks.user_id, owner: users.name }

/** The locks of a project, ordered by id, and the cursor of the next page. */
export async function listLocks(ctx: Context, projectId: number, filter: LockFilter): Promise<{ locks: LfsLock[]; next: number | null }> {
  const limit = Math.min(filter.limit ?? MAX_LOCKS, MAX_LOCKS)
  const found = await ctx.db.write
    .select(columns)
    .from(lfsLocks)
    .innerJoin(users, eq(users.id, lfsLocks.user_id))
    .where(and(eq(lfsLocks.project_id, projectId), ...conditionsWith(FILTERS, filter)))
    .orderBy(asc(lfsLocks.id))
    .limit(limit + 1)
  const locks = found.slice(0, limit)
  return { locks, next: found.length > limit ? (locks.at(-1)?.id ?? null) : null }
}

/**
 * Locks a file. If it is already locked, returns the existing lock and `created` false; 422 for one lock too many
 * (SEC-269).
 */
export async function lockFile(
  ctx: Context,
  caller: SignedIn,
  { project }: ProjectSubject,
  path: string,
): Promise<{ lock: LfsLock; created: boolean }> {
  if (path === '' || path.includes('\0') || Buffer.byteLength(path) > MAX_PATH) throw unprocessable(`path is not of 1 to ${MAX_PATH} bytes`)
  const values = { project_id: project.id, user_id: caller.user.id, path, locked_at: ctx.now() }
  const inserted = await ctx.db.transaction(async (tx) => {
    await lockName(tx, `lfs locks of project ${project.id}`)
    const created = await tx.insert(lfsLocks).values(values).onConflictDoNothing().returning({ id: lfsLocks.id })
    if (created.length > 0 && (await tx.$count(lfsLocks, eq(lfsLocks.project_id, project.id))) > MAX_LOCKS_OF_PROJECT)
      throw unprocessable(`the project already has ${MAX_LOCKS_OF_PROJECT} locks`)
    return created
  })
  const { locks } = await listLocks(ctx, project.id, { path })
  const [lock] = locks
  // it was unlocked between the two statements
  if (!lock) throw conflict('The lock has changed, try again')
  return { lock, created: inserted.length > 0 }
}

/** Removes a lock: the caller's own or, with `force` and for maintainers, that of another user. */
export async function unlockFile(ctx: Context, caller: SignedIn, subject: ProjectSubject, id: number, force: boolean): Promise<LfsLock> {
  const { id: projectId } = subject.project
  const [lock] = (await listLocks(ctx, projectId, { id })).locks
  if (!lock) throw notFound('Lock')
  const forced = force && subject.can('force_unlock')
  if (lock.user_id !== caller.user.id && !forced) throw forbidden(`the file is locked by ${lock.owner}${force ? '' : ', a maintainer may force it'}`)
  const unlocked = await ctx.db.write
    .delete(lfsLocks)
    .where(and(eq(lfsLocks.project_id, projectId), eq(lfsLocks.id, id)))
    .returning({ id: lfsLocks.id })
  if (unlocked.length === 0) throw notFound('Lock')
  return lock
}
