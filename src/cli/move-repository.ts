import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { and, asc, eq, isNotNull, sql } from 'drizzle-orm'
import { type Config, ConfigFault } from '../config.js'
import type { Context } from '../context.js'
import { jobs, processes, projects, repositoryMoves, routes } from '../db/schema/index.js'
import { StartFault } from '../lib/start-fault.js'
import { withContext } from './context.js'

export const MOVE_USAGE = 'roost move-repository PROJECT STORAGE | --all FROM TO'

const LOOK = 200

/**
 * Moves a project's repository, or those of all projects in a storage, to another storage, while the service runs or
 * without it, and waits until that is done.
 */
export async function moveRepositories(given: Config, args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { all: { type: 'boolean', default: false } } })
  const [what, storage, ...rest] = positionals
  if (what === undefined || storage === undefined || rest.length > 0) throw new ConfigFault(`usage: ${MOVE_USAGE}`)
  for (const name of values.all ? [what, storage] : [storage])
    if (!Object.hasOwn(given.storages, name))
      throw new ConfigFault(`there is no storage called ${name}: STORAGES has ${Object.keys(given.storages).join(', ')}`)
  await withContext(given, async (ctx) => {
    const ids = values.all ? await projectsIn(ctx, what) : [await projectNamed(ctx, what)]
    for (const id of ids) await moveOne(ctx, id, storage)
    process.stdout.write(values.all ? `${ids.length} projects were moved to ${storage}\n` : '')
  })
}

async function projectNamed({ db }: Context, named: string): Promise<number> {
  const [found] = /^\d{1,15}$/.test(named)
    ? await db.write
        .select({ id: projects.id })
        .from(projects)
        .where(eq(projects.id, Number(named)))
    : await db.write.select({ id: routes.project_id }).from(routes).where(eq(routes.key, named.toLowerCase()))
  if (!found?.id) throw new StartFault(`there is no project ${named}`)
  return found.id
}

const projectsIn = async ({ db }: Context, storage: string): Promise<number[]> =>
  (await db.write.select({ id: projects.id }).from(projects).where(eq(projects.storage, storage)).orderBy(asc(projects.id))).map(({ id }) => id)

async function moveOne(ctx: Context, id: number, storage: string): Promise<void> {
  const { moveProject, requestMove } = await import('../services/projects/storage-moves.js')
  const [project] = await ctx.db.write.select({ id: projects.id, storage: projects.storage }).from(projects).where(eq(projects.id, id))
  if (!project) return // deleted meanwhile
  await ctx.db.transaction((tx) => requestMove(ctx, tx, project, storage))
  for (;;) {
    // the job stays: what a kill of this command leaves is taken back by the service
    if (!(await isServed(ctx))) await moveProject(ctx, id, AbortSignal.timeout(6 * 3_600_000))
    if (!(await isAsked(ctx, id))) break
    const fault = await faultOf(ctx, id)
    if (fault !== null) throw new StartFault(`project ${id} was not moved: ${fault}; roost jobs --retry tries it again`)
    await sleep(LOOK)
  }
  process.stdout.write(`project ${id} is in ${storage}\n`)
}

/** Whether a service works on jobs of this database. */
const isServed = async ({ db }: Context): Promise<boolean> =>
  (await db.write.select({ id: processes.id }).from(processes).where(sql`${processes.alive_until} > now()`).limit(1)).length > 0

const isAsked = async ({ db }: Context, id: number): Promise<boolean> =>
  (await db.write.select({ id: repositoryMoves.project_id }).from(repositoryMoves).where(eq(repositoryMoves.project_id, id))).length > 0

/** Why the job was set aside; null: it was not. */
async function faultOf({ db }: Context, id: number): Promise<string | null> {
  const { moveRepository } = await import('../services/projects/storage-moves.js')
  const [failed] = await db.write
    .select({ error: jobs.last_error })
    .from(jobs)
    .where(and(eq(jobs.kind, moveRepository.kind), eq(jobs.key, String(id)), isNotNull(jobs.failed_at)))
  return failed ? (failed.error ?? '') : null
}
