import { setTimeout as sleep } from 'node:timers/promises'
import { and, asc, eq, isNotNull, sql } from 'drizzle-orm'
import type { Context } from '../context.js'
import { jobs, processes, projects, repositoryMoves, routes } from '../db/schema/index.js'
import { StartFault } from '../lib/start-fault.js'
import { moveProject, moveRepository, requestMove } from '../services/projects/storage-moves.js'
import { print } from './output.js'

/** How often a move is polled, in milliseconds. */
const POLL_INTERVAL_MS = 200

/** The id of a project, given by id or path. */
export async function projectNamed({ db }: Context, named: string): Promise<number> {
  const [found] = /^\d{1,15}$/.test(named)
    ? await db.write
        .select({ id: projects.id })
        .from(projects)
        .where(eq(projects.id, Number(named)))
    : await db.write.select({ id: routes.project_id }).from(routes).where(eq(routes.key, named.toLowerCase()))
  if (!found?.id) throw new StartFault(`there is no project ${named}`)
  return found.id
}

/** The ids of the projects of a storage. */
export const projectsIn = async ({ db }: Context, storage: string): Promise<number[]> =>
  (await db.write.select({ id: projects.id }).from(projects).where(eq(projects.storage, storage)).orderBy(asc(projects.id))).map(({ id }) => id)

/** Moves the repositories of a project, or waits for a running service to do it. */
export async function moveOne(ctx: Context, id: number, storage: string): Promise<void> {
  const [project] = await ctx.db.write.select({ id: projects.id, storage: projects.storage }).from(projects).where(eq(projects.id, id))
  if (!project) return // deleted meanwhile
  await ctx.db.transaction((tx) => requestMove(ctx, tx, project, storage))
  for (;;) {
    // the job stays in the queue, so that a service can finish the move if this command is killed
    if (!(await isServiceRunning(ctx))) await moveProject(ctx, id, AbortSignal.timeout(6 * 3_600_000))
    if (!(await isMovePending(ctx, id))) break
    const fault = await moveError(ctx, id)
    if (fault !== null) throw new StartFault(`project ${id} was not moved: ${fault}; roost jobs --retry tries it again`)
    await sleep(POLL_INTERVAL_MS)
  }
  await print(`project ${id} is in ${storage}\n`)
}

/** Whether a service is running on this database. */
const isServiceRunning = async ({ db }: Context): Promise<boolean> =>
  (await db.write.select({ id: processes.id }).from(processes).where(sql`${processes.alive_until} > pg_catalog.now()`).limit(1)).length > 0

const isMovePending = async ({ db }: Context, id: number): Promise<boolean> =>
  (await db.write.select({ id: repositoryMoves.project_id }).from(repositoryMoves).where(eq(repositoryMoves.project_id, id))).length > 0

/** The error of the job if it has failed for good; otherwise null. */
async function moveError({ db }: Context, id: number): Promise<string | null> {
  const [failed] = await db.write
    .select({ error: jobs.last_error })
    .from(jobs)
    .where(and(eq(jobs.kind, moveRepository.kind), eq(jobs.key, String(id)), isNotNull(jobs.failed_at)))
  return failed ? (failed.error ?? '') : null
}
