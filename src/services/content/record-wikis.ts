import { and, eq, gt, inArray } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { projects } from '../../db/schema/index.js'
import { mapConcurrently } from '../../lib/async/concurrency.js'
import { wikiKeyOf } from '../repository/repositories.js'

const BATCH_SIZE = 500
const CONCURRENCY = 16

/**
 * Records the wikis that exist and whose project does not say so: those of older versions, those that a backup of such
 * a version brought, and one whose creation was killed before its commit (SEC-420).
 */
export async function recordWikis(ctx: Context): Promise<void> {
  for (let last = 0; !ctx.process.stopping.aborted; ) {
    const batch = await ctx.db.write
      .select({ id: projects.id, storage: projects.storage })
      .from(projects)
      .where(and(eq(projects.has_wiki, false), gt(projects.id, last)))
      .orderBy(projects.id)
      .limit(BATCH_SIZE)
    const exist = await mapConcurrently(CONCURRENCY, batch, (project) => hasWiki(ctx, project))
    const found = batch.filter((_, at) => exist[at]).map(({ id }) => id)
    if (found.length > 0) await ctx.db.write.update(projects).set({ has_wiki: true }).where(inArray(projects.id, found))
    if (batch.length < BATCH_SIZE) return
    last = batch.at(-1)?.id as number
  }
}

/** Whether the wiki's repository exists; an unavailable storage says nothing. */
const hasWiki = async (ctx: Context, project: { id: number; storage: string }) =>
  ctx.config.storages[project.storage] !== undefined && (await ctx.git.exists(wikiKeyOf(project)).catch(() => false))
