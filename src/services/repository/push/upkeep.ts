import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import type { Database, Transaction } from '../../../db/client.js'
import { projects } from '../../../db/schema/index.js'
import { enqueue, type NewJob, newJob } from '../../../jobs/enqueue.js'
import { defineJob } from '../../../jobs/kinds.js'
import { dropOldEvents } from '../../activity/events.js'
import { updateLanguages } from '../languages.js'
import { runMaintenance } from '../maintenance.js'
import { repositoryById, whileThere } from '../repositories.js'

/** Milliseconds before the maintenance of a repository that has changed, so that a burst of commits causes little. */
const GAP = 2_000
/** Milliseconds; a large repository is packed for long. */
const DEADLINE = 6 * 3_600_000

/** Maintenance of a repository that has changed. */
export const upkeep = defineJob({
  kind: 'repository upkeep',
  input: z.object({ project: z.int() }),
  run: (ctx: Context, { project }, { signal }) => whileThere(ctx, project, () => maintainRepository(ctx, project, signal)),
  priority: 'low',
  deadline: DEADLINE,
})

/** The same as a job to be written. */
export const upkeepOf = (projectId: number): NewJob => newJob(upkeep, { project: projectId }, { key: String(projectId), delay: GAP })

export const maintainSoon = (db: Transaction | Database, projectId: number): Promise<void> =>
  enqueue(db, upkeep, { project: projectId }, { key: String(projectId), delay: GAP })

/** Size, commit count, languages, commit-graph and packs: a push neither waits for these nor fails with them. */
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
