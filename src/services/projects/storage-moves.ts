import { randomUUID } from 'node:crypto'
import { and, eq, lte, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { formerRepositories, jobs, projects, refIntents, repositoryMoves } from '../../db/schema/index.js'
import { invalidRecord } from '../../failures.js'
import { enqueue } from '../../jobs/enqueue.js'
import { defineJob } from '../../jobs/kinds.js'
import { Unavailable } from '../../lib/unavailable.js'
import { repositoryOf } from '../repository/repositories.js'

/** How long a former copy is kept: longer than the longest clone may take (an hour), so that its readers can finish. */
const FORMER_COPY_RETENTION = '70 minutes'
/** Time after which requests that started before the move have ended. */
const MAX_CALL_MS = 60_000
const DEADLINE_MS = 6 * 3_600_000

/** Enqueues the move of a project to another storage; 400 when the storage does not exist (SEC-187). */
export async function requestMove(
  ctx: Pick<Context, 'config'>,
  tx: Transaction,
  project: { id: number; storage: string },
  storage: string,
): Promise<void> {
  if (!Object.hasOwn(ctx.config.storages, storage)) throw invalidRecord({ repository_storage: ['is not included in the list'] })
  const [row] = await tx.select({ storage: projects.storage }).from(projects).where(eq(projects.id, project.id)).for('update')
  if (!row) return
  await tx
    .insert(repositoryMoves)
    .values({ project_id: project.id, from_storage: row.storage, to_storage: storage })
    .onConflictDoUpdate({ target: repositoryMoves.project_id, set: { to_storage: storage } })
  await enqueue(tx, moveRepository, { project: project.id }, { key: String(project.id) })
}

/** Moves a project's repository and wiki to the requested storage. */
export const moveRepository = defineJob({
  kind: 'move repository',
  input: z.object({ project: z.int() }),
  run: (ctx: Context, { project }, { signal }) => moveProject(ctx, project, signal),
  concurrency: 2,
  deadline: DEADLINE_MS,
})

/** A move that is requested and not finished. */
export interface PendingMove {
  storage: string
  state: 'waiting' | 'running' | 'failed'
  /** How often it was tried. */
  attempts: number
  /** The reason of the last failure. */
  error: string | null
  /** The failed job, which runs again when it is retried. */
  job: number | null
}

/** The move of a project that is not finished; null without one. */
export async function pendingMove(ctx: Context, id: number): Promise<PendingMove | null> {
  const [row] = await ctx.db.write
    .select({
      storage: repositoryMoves.to_storage,
      job: jobs.id,
      attempts: jobs.attempts,
      error: jobs.last_error,
      failed_at: jobs.failed_at,
      running: sql<boolean>`${jobs.worker} is not null and ${jobs.run_at} > pg_catalog.now()`,
    })
    .from(repositoryMoves)
    .innerJoin(jobs, and(eq(jobs.kind, moveRepository.kind), eq(jobs.key, String(id))))
    .where(eq(repositoryMoves.project_id, id))
    .orderBy(sql`${jobs.failed_at} desc nulls first`)
    .limit(1)
  if (!row) return null
  const state = row.failed_at ? 'failed' : row.running ? 'running' : 'waiting'
  return { storage: row.storage, state, attempts: row.attempts, error: row.error, job: row.failed_at ? row.job : null }
}

/** Runs the move. It first undoes an earlier run that was interrupted (SEC-187). */
export async function moveProject(ctx: Context, id: number, signal: AbortSignal): Promise<void> {
  const run = randomUUID()
  const started = await startRun(ctx, id, run)
  if (!started) return
  const { from, to, project } = started
  // no other run can commit any more, so its leftovers can be removed
  await ctx.git.undoRelocation(id, from, await formerStorages(ctx, id))
  if (!project || from === to) return endRun(ctx, id, run)
  for (const name of [from, to]) if (ctx.config.storages[name] === undefined) throw new Error(`there is no storage called ${name}`)
  if (project.importing) throw new Unavailable('the project is being imported', 30)
  await removeFormerCopy(ctx, id, to)
  const stop = AbortSignal.any([ctx.process.stopping, signal])
  await ctx.git.relocate(
    id,
    { from, to },
    { run, signal: stop, hasPendingWrites: () => hasOpenIntent(ctx, id), commit: () => commitMove(ctx, id, { run, from, to }) },
  )
  await syncHead(ctx, id)
}

/** Registers this run as the current one; null when no move is requested. */
async function startRun(ctx: Context, id: number, run: string) {
  return ctx.db.transaction(async (tx) => {
    const [row] = await tx
      .select({ storage: projects.storage, import_status: projects.import_status })
      .from(projects)
      .where(eq(projects.id, id))
      .for('update')
    const [requested] = await tx.select().from(repositoryMoves).where(eq(repositoryMoves.project_id, id)).for('update')
    if (!requested) return null
    const from = row?.storage ?? requested.from_storage
    await tx.update(repositoryMoves).set({ run, from_storage: from }).where(eq(repositoryMoves.project_id, id))
    const importing = row?.import_status === 'scheduled' || row?.import_status === 'started'
    return { from, to: requested.to_storage, project: row ? { importing } : null }
  })
}

const endRun = async (ctx: Context, id: number, run: string): Promise<void> =>
  void (await ctx.db.write.delete(repositoryMoves).where(and(eq(repositoryMoves.project_id, id), eq(repositoryMoves.run, run))))

/** The storages with former copies that are kept for their readers. */
const formerStorages = async (ctx: Context, id: number): Promise<string[]> =>
  (await ctx.db.write.select().from(formerRepositories).where(eq(formerRepositories.project_id, id))).map(({ storage }) => storage)

/** Removes a former copy from the target storage of a move back; throws `Unavailable` while it is being read. */
async function removeFormerCopy(ctx: Context, id: number, storage: string): Promise<void> {
  const [former] = await ctx.db.write
    .select({ due: sql<boolean>`due_at <= pg_catalog.now()`, age: sql<number>`extract(epoch from pg_catalog.now() - left_at)::float8 * 1000` })
    .from(formerRepositories)
    .where(and(eq(formerRepositories.project_id, id), eq(formerRepositories.storage, storage)))
  if (!former) return
  if (!former.due && (former.age < MAX_CALL_MS || (await ctx.git.isFormerCopyInUse(id, storage))))
    throw new Unavailable('its former copy in that storage is still being read', 60)
  await deleteFormerCopy(ctx, id, storage)
}

async function deleteFormerCopy(ctx: Context, id: number, storage: string): Promise<void> {
  await ctx.git.removeFormerCopies(id, storage)
  await ctx.db.write.delete(formerRepositories).where(and(eq(formerRepositories.project_id, id), eq(formerRepositories.storage, storage)))
}

/** Whether a push intent of the project is open: refs are about to move, or the push is not finished yet. */
const hasOpenIntent = async (ctx: Context, id: number): Promise<boolean> =>
  (await ctx.db.write.select({ id: refIntents.id }).from(refIntents).where(eq(refIntents.project_id, id)).limit(1)).length > 0

/** Commits the move: from then on every process opens the repository in the new storage. */
async function commitMove(ctx: Context, id: number, { run, from, to }: { run: string; from: string; to: string }): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [row] = await tx.select({ storage: projects.storage }).from(projects).where(eq(projects.id, id)).for('update')
    const [requested] = await tx.select().from(repositoryMoves).where(eq(repositoryMoves.project_id, id)).for('update')
    if (requested?.run !== run || requested.to_storage !== to || row?.storage !== from) throw new Unavailable('the move was taken over')
    await tx.update(projects).set({ storage: to }).where(eq(projects.id, id))
    await tx.delete(repositoryMoves).where(eq(repositoryMoves.project_id, id))
    await tx
      .insert(formerRepositories)
      .values({ project_id: id, storage: from, due_at: sql`pg_catalog.now() + ${FORMER_COPY_RETENTION}::interval` as unknown as Date })
      .onConflictDoUpdate({
        target: [formerRepositories.project_id, formerRepositories.storage],
        set: { left_at: sql`pg_catalog.now()`, due_at: sql`pg_catalog.now() + ${FORMER_COPY_RETENTION}::interval` },
      })
  })
}

/** Repeats a change of the default branch that was made while HEAD was copied and is only in the row. */
async function syncHead(ctx: Context, id: number): Promise<void> {
  const [project] = await ctx.db.write
    .select({ id: projects.id, storage: projects.storage, branch: projects.default_branch })
    .from(projects)
    .where(eq(projects.id, id))
  if (!project) return
  const repository = repositoryOf(ctx, project)
  if ((await repository.headBranch()) !== project.branch && (await repository.ref(`refs/heads/${project.branch}`)))
    await repository.setHeadBranch(project.branch)
}

/** Removes former copies after their retention period. */
export const removeFormerRepositories = defineJob({
  kind: 'remove former repositories',
  slots: 'upkeep',
  input: z.object({}),
  async run(ctx: Context) {
    const due = await ctx.db.write.select().from(formerRepositories).where(lte(formerRepositories.due_at, sql`pg_catalog.now()`))
    for (const { project_id: id, storage } of due) {
      if (ctx.config.storages[storage] === undefined) continue
      const [project] = await ctx.db.write.select({ storage: projects.storage }).from(projects).where(eq(projects.id, id))
      if (project?.storage !== storage) await deleteFormerCopy(ctx, id, storage)
    }
  },
  every: 60_000,
  deadline: 3_600_000,
})
