import { inArray } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { formerRepositories, pendingRepositoryDeletions, projects, repositoryMoves } from '../../db/schema/index.js'
import type { RepositoryKey } from '../../git/types.js'

/** The number of repositories looked up in one query. */
const BATCH_SIZE = 500
const DAY_MS = 86_400_000
/** How long a repository has had no row before it is quarantined, and how long it stays in quarantine. */
const QUARANTINE_AFTER_MS = DAY_MS
const REMOVE_AFTER_MS = 30 * DAY_MS
/** Up to this many orphans are always quarantined; more only if most repositories have a row. */
const ALWAYS_QUARANTINED = 10

/**
 * Repositories on disk that no row refers to and that have not changed for `unchanged` milliseconds. The default is ten
 * minutes, because a new repository exists before its row.
 */
export async function* orphanRepositories(ctx: Context, unchanged?: number): AsyncGenerator<RepositoryKey> {
  for await (const { key, known } of repositoriesOnDisk(ctx, unchanged)) if (!known) yield key
}

async function* repositoriesOnDisk(ctx: Context, unchanged?: number): AsyncGenerator<{ key: RepositoryKey; known: boolean }> {
  let batch: RepositoryKey[] = []
  for await (const key of ctx.git.listRepositories(unchanged)) {
    batch.push(key)
    if (batch.length < BATCH_SIZE) continue
    yield* lookUp(ctx, batch)
    batch = []
  }
  yield* lookUp(ctx, batch)
}

async function* lookUp(ctx: Context, keys: RepositoryKey[]): AsyncGenerator<{ key: RepositoryKey; known: boolean }> {
  if (keys.length === 0) return
  const ids = [...new Set(keys.map(({ id }) => id))]
  const known = await ctx.db.write.select({ id: projects.id, storage: projects.storage }).from(projects).where(inArray(projects.id, ids))
  const pendingDeletions = await ctx.db.write
    .select({ id: pendingRepositoryDeletions.project_id, storage: pendingRepositoryDeletions.storage })
    .from(pendingRepositoryDeletions)
    .where(inArray(pendingRepositoryDeletions.project_id, ids))
  const former = await ctx.db.write
    .select({ id: formerRepositories.project_id, storage: formerRepositories.storage })
    .from(formerRepositories)
    .where(inArray(formerRepositories.project_id, ids))
  const moving = await ctx.db.write
    .select({ id: repositoryMoves.project_id, storage: repositoryMoves.to_storage })
    .from(repositoryMoves)
    .where(inArray(repositoryMoves.project_id, ids))
  const knownLocations = new Set([...known, ...pendingDeletions, ...former, ...moving].map(({ id, storage }) => `${id} ${storage}`))
  for (const key of keys) yield { key, known: knownLocations.has(`${key.id} ${key.storage}`) }
}

/**
 * Moves repositories without a row that have not changed for a day to `lost+found` of their storage, and removes them
 * after thirty days. If most repositories have no row, this is probably the wrong database, and nothing is moved.
 */
export async function clearOrphans(ctx: Context): Promise<void> {
  const orphans: RepositoryKey[] = []
  let known = 0
  for await (const found of repositoriesOnDisk(ctx, QUARANTINE_AFTER_MS)) {
    if (found.known) known++
    else orphans.push(found.key)
  }
  if (orphans.length > Math.max(ALWAYS_QUARANTINED, known)) {
    ctx.log.error({ orphans: orphans.length, known }, 'most repositories have no project: is this the right database? They are left where they are')
    return
  }
  for (const key of orphans)
    ctx.log.warn({ repository: key, place: await ctx.git.quarantineRepository(key) }, 'moved a repository without a project to lost+found')
  const removed = await ctx.git.removeQuarantinedRepositories(REMOVE_AFTER_MS)
  if (removed.length > 0) ctx.log.warn({ removed }, 'removed repositories from lost+found after 30 days')
}
