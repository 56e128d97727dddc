import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { mergeRequests, mergeRequestVersions, notes, pipelines, projects, todos } from '../../db/schema/index.js'
import type { Depth } from '../../git/types.js'
import { type GitRepository, type Oid, ZERO } from '../../git/types.js'
import { readSettings, type Settings } from '../core/settings.js'
import { dropUnreferenced } from './lfs/unreferenced.js'

/**
 * Runs maintenance according to the settings (AS-41): its depth depends on the pushes since the last collection, and on
 * how many of them were already considered.
 */
export async function runMaintenance(ctx: Context, projectId: number, repository: GitRepository, signal: AbortSignal): Promise<void> {
  const [[project], settings] = await Promise.all([
    ctx.db.write.select({ pushes: projects.pushes_since_gc, seen: projects.pushes_housekept }).from(projects).where(eq(projects.id, projectId)),
    readSettings(ctx),
  ])
  if (!project) return
  const { pushes, seen } = project
  const depth = depthAt(settings, pushes, seen)
  if (depth === 'gc') await keepReferred(ctx, projectId, repository)
  const options = { depth, packing: settings.housekeeping_enabled, bitmaps: settings.housekeeping_bitmaps_enabled, signal }
  if (!(await repository.maintain(options)) || depth === 'usual') return
  if (depth === 'gc') await dropUnreferenced(ctx, projectId, repository)
  // pushes that came meanwhile count towards the next run
  const counted =
    depth === 'gc' ? { pushes_since_gc: sql`${projects.pushes_since_gc} - ${pushes}`, pushes_housekept: 0 } : { pushes_housekept: pushes }
  await ctx.db.write.update(projects).set(counted).where(eq(projects.id, projectId))
}

/**
 * Several pushes may have come since maintenance last ran: what was due at any of them is due now, but only the deepest
 * of these.
 */
function depthAt(settings: Settings, pushes: number, seen: number): Depth {
  if (!settings.housekeeping_enabled) return 'usual'
  const due = (period: number) => Math.floor(pushes / period) > Math.floor(seen / period)
  if (due(settings.housekeeping_gc_period)) return 'gc'
  if (due(settings.housekeeping_full_repack_period)) return 'full'
  return due(settings.housekeeping_incremental_repack_period) ? 'incremental' : 'usual'
}

/**
 * Before anything is dropped, commits that rows refer to get a ref, though no branch has them any more (SEC-158,
 * SEC-164). Not those of push events, which only mention them: what was pushed by mistake and taken back is to
 * disappear.
 */
async function keepReferred(ctx: Context, projectId: number, repository: GitRepository): Promise<void> {
  const { rows } = await ctx.db.write.execute<{ oid: Oid }>(sql`
    select ${pipelines.sha} as oid from ${pipelines} where ${pipelines.project_id} = ${projectId}
    union select ${notes.commit_id} from ${notes} where ${notes.project_id} = ${projectId} and ${notes.commit_id} is not null
    union select ${todos.commit_id} from ${todos} where ${todos.project_id} = ${projectId} and ${todos.commit_id} is not null
    union select ${mergeRequests.merge_commit_sha} from ${mergeRequests} where ${mergeRequests.project_id} = ${projectId} and ${mergeRequests.merge_commit_sha} is not null
    union select unnest(array[${mergeRequestVersions.start_commit_sha}, ${mergeRequestVersions.base_commit_sha}, ${mergeRequestVersions.head_commit_sha}])
      from ${mergeRequestVersions} where ${mergeRequestVersions.project_id} = ${projectId}`)
  const loose = await repository.unreached(rows.flatMap(({ oid }) => (oid ? [oid] : [])))
  await repository.updateRefs(loose.map((oid) => ({ ref: `refs/keep-around/${oid}`, old: ZERO, new: oid })))
}
