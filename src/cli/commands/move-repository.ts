import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { and, asc, eq, isNotNull, sql } from 'drizzle-orm'
import { ConfigFault, readConfig } from '../../config.js'
import type { Context } from '../../context.js'
import { jobs, processes, projects, repositoryMoves, routes } from '../../db/schema/index.js'
import { StartFault } from '../../lib/start-fault.js'
import { withContext } from '../context.js'
import { print } from '../output.js'

/** Milliseconds between two looks at a move. */
const LOOK = 200

export function moveCommand(program: Command): void {
  program
    .command('move-repository')
    .summary('move repositories to another storage')
    .description(
      'Move the repository and wiki of a project to another storage of STORAGES, while they are in use, and wait until it is done. Beside a running service or without it.',
    )
    .argument('<project>', 'the id or path of a project; with --all the storage whose projects are moved')
    .argument('<storage>', 'where to')
    .option('--all', 'move all projects of a storage')
    .action(moveRepositories)
}

async function moveRepositories(what: string, storage: string, { all }: { all?: boolean }): Promise<void> {
  const config = readConfig()
  for (const name of all ? [what, storage] : [storage])
    if (!Object.hasOwn(config.storages, name))
      throw new ConfigFault(`there is no storage called ${name}: STORAGES has ${Object.keys(config.storages).join(', ')}`)
  await withContext(config, async (ctx) => {
    const ids = all ? await projectsIn(ctx, what) : [await projectNamed(ctx, what)]
    for (const id of ids) await moveOne(ctx, id, storage)
    if (all) await print(`${ids.length} projects were moved to ${storage}\n`)
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
  const { moveProject, requestMove } = await import('../../services/projects/storage-moves.js')
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
  await print(`project ${id} is in ${storage}\n`)
}

/** Whether a service works on jobs of this database. */
const isServed = async ({ db }: Context): Promise<boolean> =>
  (await db.write.select({ id: processes.id }).from(processes).where(sql`${processes.alive_until} > pg_catalog.now()`).limit(1)).length > 0

const isAsked = async ({ db }: Context, id: number): Promise<boolean> =>
  (await db.write.select({ id: repositoryMoves.project_id }).from(repositoryMoves).where(eq(repositoryMoves.project_id, id))).length > 0

/** Why the job was set aside; null: it was not. */
async function faultOf({ db }: Context, id: number): Promise<string | null> {
  const { moveRepository } = await import('../../services/projects/storage-moves.js')
  const [failed] = await db.write
    .select({ error: jobs.last_error })
    .from(jobs)
    .where(and(eq(jobs.kind, moveRepository.kind), eq(jobs.key, String(id)), isNotNull(jobs.failed_at)))
  return failed ? (failed.error ?? '') : null
}
