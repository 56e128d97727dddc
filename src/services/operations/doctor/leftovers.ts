import { lt, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { pendingRepositoryDeletions, refIntents } from '../../../db/schema/index.js'
import { finishDeletions } from '../../projects/remove.js'
import { resolveIntent } from '../../repository/push/recovery.js'
import type { Check } from './fault.js'

/** A running service finishes everything within this time. */
const STALE = '1 minute'
/** A service that has just started removes what a killed process left within this time. */
const STALE_FILE_MS = 120_000

/** Unfinished work of killed processes. A start of the service repairs the same. */
export async function* leftovers(ctx: Context): Check {
  for (const path of await ctx.git.leftovers(STALE_FILE_MS)) {
    const repair = async () => ((await ctx.git.removeLeftovers()).includes(path) ? 'removed' : 'left: a process holds it')
    yield { kind: 'stale file', of: path, text: 'a killed process left it behind', repair }
  }
  const old = sql`pg_catalog.now() - ${STALE}::interval`
  for (const intent of await ctx.db.write.select().from(refIntents).where(lt(refIntents.created_at, old)).orderBy(refIntents.id)) {
    const refs = intent.updates.map(({ ref }) => ref).join(', ')
    const repair = async () => {
      await resolveIntent(ctx, intent)
      return 'finished or undone, by what the refs say'
    }
    yield { kind: 'unfinished push', of: `project ${intent.project_id}`, text: `a move of ${refs} was begun and not ended`, repair }
  }
  for (const { project_id } of await ctx.db.write.select().from(pendingRepositoryDeletions).where(lt(pendingRepositoryDeletions.due_at, old))) {
    const repair = async () => {
      await finishDeletions(ctx)
      return 'removed'
    }
    yield { kind: 'unfinished deletion', of: `project ${project_id}`, text: 'it was deleted, and its repository is still to be removed', repair }
  }
}
