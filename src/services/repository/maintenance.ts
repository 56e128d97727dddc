import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { mergeRequests, mergeRequestVersions, notes, pipelines, projects, todos } from '../../db/schema/index.js'
import type { MaintenanceDepth } from '../../git/types.js'
import { type GitRepository, type Oid, ZERO } from '../../git/types.js'
import { readSettings, type Settings } from '../core/settings.js'
import { dropUnreferenced } from './lfs/unreferenced.js'

/**
 * Runs maintenance according to the settings (AS-41). Its depth depends on the number of pushes since the last garbage
 * collection, and on how many of them an earlier run has considered.
 */
export async function runMaintenance(ctx: Context, projectId: number, repository: GitRepository, signal: AbortSignal): Promise<void> {
  const [[project], settings] = await Promise.all([
    ctx.db.write.select({ pushes: projects.pushes_since_gc, considered: projects.pushes_housekept }).from(projects).where(eq(projects.id, projectId)),
    readSettings(ctx),
  ])
  if (!project) return
  const { pushes, considered } = project
  const depth = depthAt(settings, pushes, considered)
  if (depth === 'gc') await keepReferencedCommits(ctx, projectId, repository)
  const options = { depth, packing: settings.housekeeping_enabled, bitmaps: settings.housekeeping_bitmaps_enabled, signal }
  if (!(await repository.maintain(options)) || depth === 'usual') return
  if (depth === 'gc') await dropUnreferenced(ctx, projectId, repository)
  // pushes that arrived meanwhile count towards the next run
  const counters =
    depth === 'gc' ? { pushes_since_gc: sql`${projects.pushes_since_gc} - ${pushes}`, pushes_housekept: 0 } : { pushes_housekept: pushes }
  await ctx.db.write.update(projects).set(counters).where(eq(projects.id, projectId))
}

/** The deepest maintenance that became due at any of the pushes since the last run. */
function depthAt(settings: Settings, pushes: number, considered: number): MaintenanceDepth {
  if (!settings.housekeeping_enabled) return 'usual'
  const due = (period: number) => Math.floor(pushes / period) > Math.floor(considered / period)
  if (due(settings.housekeeping_gc_period)) return 'gc'
  if (due(settings.housekeeping_full_repack_period)) return 'full'
  return due(settings.housekeeping_incremental_repack_period) ? 'incremental' : 'usual'
}

/**
 * Creates keep-around refs before garbage collection for unreachable commits that database rows refer to (SEC-158,
 * SEC-164). Push events do not count: commits that were pushed by mistake and removed again must disappear.
 */
async function keepReferencedCommits(ctx: Context, projectId: number, repository: GitRepository): Promise<void> {
  // in SQL, as the builder's `union` wants the same nullability of each part
  const { rows } = await ctx.db.write.execute<{ oid: Oid }>(sql`
    select ${pipelines.sha} as oid from ${pipelines} where ${pipelines.project_id} = ${projectId}
    union select ${notes.commit_id} from ${notes} where ${notes.project_id} = ${projectId} and ${notes.commit_id} is not null
    union select ${todos.commit_id} from ${todos} where ${todos.project_id} = ${projectId} and ${todos.commit_id} is not null
    union select ${mergeRequests.merge_commit_sha} from ${mergeRequests} where ${mergeRequests.project_id} = ${projectId} and ${mergeRequests.merge_commit_sha} is not null
    union select unnest(array[${mergeRequestVersions.start_commit_sha}, ${mergeRequestVersions.base_commit_sha}, ${mergeRequestVersions.head_commit_sha}])
      from ${mergeRequestVersions} where ${mergeRequestVersions.project_id} = ${projectId}`)
  const unreachable = await repository.unreachable(rows.flatMap(({ oid }) => (oid ? [oid] : [])))
  await repository.updateRefs(unreachable.map((oid) => ({ ref: `refs/keep-around/${oid}`, old: ZERO, new: oid })))
}
