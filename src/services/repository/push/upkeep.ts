import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { projects } from '../../../db/schema/index.js'
import { dropOldEvents } from '../../activity/events.js'
import { updateLanguages } from '../languages.js'
import { runMaintenance } from '../maintenance.js'
import { repositoryById } from '../repositories.js'

/** Milliseconds between the starts of two maintenance runs of one project, so that a burst of commits causes few. */
const UPKEEP_GAP = 2_000

/** Maintenance of a repository that has changed, in the background. */
export const maintainSoon = (ctx: Context, projectId: number) =>
  ctx.jobs.coalesce(`upkeep ${projectId}`, UPKEEP_GAP, 'repository upkeep', () => maintainRepository(ctx, projectId))

/** Size, commit count, languages, commit-graph and packs: a push neither waits for these nor fails with them. */
async function maintainRepository(ctx: Context, projectId: number) {
  const repository = await repositoryById(ctx, projectId)
  if (!repository) return
  await runMaintenance(ctx, projectId, repository.git)
  await dropOldEvents(ctx, projectId)
  const head = await repository.git.ref(`refs/heads/${repository.defaultBranch}`)
  const [size, log] = await Promise.all([repository.git.size(), head ? repository.git.log({ from: [head], skip: 0, limit: 1 }) : { total: 0 }])
  await ctx.db.write.update(projects).set({ repository_size: size, commit_count: log.total }).where(eq(projects.id, projectId))
  await updateLanguages(ctx, projectId, repository.git, head)
}

/** Maintenance lost to a kill is at most this old; a second would do. */
const RECENT = '1 minute'

/**
 * At the start: updates what projects say of their repositories, for those that were busy when the last process ended.
 */
export async function catchUp(ctx: Context): Promise<void> {
  const busy = await ctx.db.write
    .select({ id: projects.id })
    .from(projects)
    .where(sql`${projects.last_activity_at} > (select max(${projects.last_activity_at}) from ${projects}) - ${RECENT}::interval`)
  for (const { id } of busy) maintainSoon(ctx, id)
}
