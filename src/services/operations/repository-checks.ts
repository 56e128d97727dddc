import { and, eq, lt, or, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { projects, repositoryChecks } from '../../db/schema/index.js'
import type { Examination } from '../../git/types.js'
import { readSettings } from '../core/settings.js'
import { repositoryOf, wikiKeyOf } from '../repository/repositories.js'
import { enqueueDamageMail } from './damage-mail.js'

/** The time between two checks of a repository, and between its creation and the first. */
const CHECK_INTERVAL = '7 days'
/** How long one run starts new checks. */
const RUN_MS = 30_000
const MAX_FAULT_LENGTH = 2_000

/**
 * Reads all objects of repositories, one after the other, starting with the longest unchecked, while the setting is on.
 * Damage is logged, and stored for the doctor.
 */
export async function checkRepositories(ctx: Context, runMs = RUN_MS): Promise<void> {
  const end = Date.now() + runMs
  while (!ctx.process.stopping.aborted && Date.now() < end) {
    if (!(await readSettings(ctx)).repository_checks_enabled) return
    const project = await nextToCheck(ctx)
    if (!project) return
    try {
      await checkRepository(ctx, project)
    } catch (error) {
      if (ctx.process.stopping.aborted) return
      // an error does not keep other repositories from being checked
      ctx.log.error({ err: error, project: project.id }, 'a repository could not be checked')
      await storeCheck(ctx, project.id, error instanceof Error ? error.message : String(error))
    }
  }
}

type ProjectToCheck = Pick<typeof projects.$inferSelect, 'id' | 'storage'>

async function nextToCheck(ctx: Context): Promise<ProjectToCheck | undefined> {
  const before = sql`${ctx.now().toISOString()}::timestamptz - ${CHECK_INTERVAL}::interval`
  const [project] = await ctx.db.write
    .select({ id: projects.id, storage: projects.storage })
    .from(projects)
    .leftJoin(repositoryChecks, eq(repositoryChecks.project_id, projects.id))
    .where(or(lt(repositoryChecks.checked_at, before), and(sql`${repositoryChecks.project_id} is null`, lt(projects.created_at, before))))
    .orderBy(sql`${repositoryChecks.checked_at} nulls first`, projects.id)
    .limit(1)
  return project
}

async function checkRepository(ctx: Context, project: ProjectToCheck): Promise<void> {
  const wiki = wikiKeyOf(project)
  const options = { full: true, signal: ctx.process.stopping }
  const faults: string[] = []
  // a missing repository is reported when it is used
  if (ctx.config.storages[project.storage] !== undefined && (await ctx.git.exists({ ...wiki, kind: 'project' }))) {
    faults.push(...describeFaults(await repositoryOf(ctx, project).examine(options)))
    if (await ctx.git.exists(wiki)) faults.push(...describeFaults(await ctx.git.open(wiki).examine(options)).map((text) => `wiki: ${text}`))
  }
  const fault = faults.join('; ').slice(0, MAX_FAULT_LENGTH)
  if (fault !== '') ctx.log.error({ project: project.id, fault }, 'a repository is damaged: see roost doctor')
  await storeCheck(ctx, project.id, fault)
}

function describeFaults({ brokenGraph, brokenRefs, damage }: Examination): string[] {
  return [
    ...(damage === '' ? [] : [damage.split('\n').slice(0, 3).join(', ')]),
    ...brokenRefs.map(({ name, oid }) => `${name} is at ${oid}, which is not there`),
    ...(brokenGraph ? ['its commit-graph cannot be used'] : []),
  ]
}

/** Stores the result of a check, where an empty `fault` means no damage; enqueues a mail about new damage. */
async function storeCheck(ctx: Context, projectId: number, fault: string): Promise<void> {
  const known = await wasDamaged(ctx, projectId)
  const values = { checked_at: ctx.now(), fault }
  await ctx.db.write.execute(sql`insert into ${repositoryChecks} (project_id, checked_at, fault)
    select id, ${values.checked_at.toISOString()}::timestamptz, ${fault} from ${projects} where id = ${projectId}
    on conflict (project_id) do update set checked_at = excluded.checked_at, fault = excluded.fault`)
  if (fault !== '' && !known) await enqueueDamageMail(ctx)
}

/** Whether the last check found damage, so that the doctor reads all objects again. */
export async function wasDamaged(ctx: Context, projectId: number): Promise<boolean> {
  const [row] = await ctx.db.write.select({ fault: repositoryChecks.fault }).from(repositoryChecks).where(eq(repositoryChecks.project_id, projectId))
  return row !== undefined && row.fault !== ''
}
