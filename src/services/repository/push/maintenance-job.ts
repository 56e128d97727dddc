import { eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import type { Database, Transaction } from '../../../db/client.js'
import { projects } from '../../../db/schema/index.js'
import { refused } from '../../../failures.js'
import { enqueue, type NewJob, newJob } from '../../../jobs/enqueue.js'
import { defineJob } from '../../../jobs/kinds.js'
import { dropOldEvents } from '../../activity/events.js'
import { readSettings } from '../../core/settings.js'
import { updateLanguages } from '../languages.js'
import { runMaintenance } from '../maintenance.js'
import { repositoryById, unlessRemoved } from '../repositories.js'

/** Delay before maintenance after a change, so that a burst of pushes causes one run. */
const MAINTENANCE_DELAY_MS = 2_000
/** Packing a large repository can take hours. */
const DEADLINE_MS = 6 * 3_600_000

/** Maintenance of a changed repository. */
export const maintenance = defineJob({
  kind: 'repository upkeep',
  input: z.object({ project: z.int() }),
  run: (ctx: Context, { project }, { signal }) => unlessRemoved(ctx, project, () => maintainRepository(ctx, project, signal)),
  slots: 'upkeep',
  priority: 'low',
  deadline: DEADLINE_MS,
})

/** The maintenance job of a project, to be inserted together with other rows. */
export const maintenanceJob = (projectId: number): NewJob =>
  newJob(maintenance, { project: projectId }, { key: String(projectId), delay: MAINTENANCE_DELAY_MS })

export const enqueueMaintenance = (db: Transaction | Database, projectId: number): Promise<void> =>
  enqueue(db, maintenance, { project: projectId }, { key: String(projectId), delay: MAINTENANCE_DELAY_MS })

/** Packs a repository anew and drops what nothing refers to, as if that were due (AS-41). */
export async function requestHousekeeping(ctx: Context, projectId: number): Promise<void> {
  const { housekeeping_enabled, housekeeping_gc_period } = await readSettings(ctx)
  if (!housekeeping_enabled) throw refused('Housekeeping is switched off on this instance')
  await ctx.db.transaction(async (tx) => {
    await tx
      .update(projects)
      .set({ pushes_since_gc: sql`greatest(${projects.pushes_since_gc}, ${housekeeping_gc_period})`, pushes_housekept: 0 })
      .where(eq(projects.id, projectId))
    await enqueueMaintenance(tx, projectId)
  })
}

/** Updates size, commit count, languages, commit-graph and packs. A push does not wait for these or fail with them. */
async function maintainRepository(ctx: Context, projectId: number, signal: AbortSignal) {
  const repository = await repositoryById(ctx, projectId)
  if (!repository) return
  await runMaintenance(ctx, projectId, repository.git, signal)
  signal.throwIfAborted()
  await dropOldEvents(ctx, projectId)
  const head = await repository.git.ref(`refs/heads/${repository.defaultBranch}`)
  const [size, log] = await Promise.all([repository.git.size(), head ? repository.git.log({ from: [head], skip: 0, limit: 1 }) : { total: 0 }])
  await ctx.db.write.update(projects).set({ repository_size: size, commit_count: log.total }).where(eq(projects.id, projectId))
  await updateLanguages(ctx, projectId, repository.git, head)
}
