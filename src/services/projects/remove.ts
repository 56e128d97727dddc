import { and, eq, type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { pendingAvatarDeletions, pendingRepositoryDeletions } from '../../db/schema/index.js'
import { enqueue } from '../../jobs/enqueue.js'
import { defineJob } from '../../jobs/kinds.js'
import { auditEach } from '../core/audit.js'
import { retireBots } from '../groups/bots.js'
import { removeAvatar } from '../identity/avatars.js'
import { finishObjectDeletions, releaseObjects } from '../repository/lfs/objects.js'
import { removeUploads } from './uploads.js'

/**
 * Takes projects out of the counts of forks, and closes the open merge requests from them to others (PR-26), unless that
 * was done when they were hidden. `condition` is a condition on `projects p`.
 */
export async function detachProjects(tx: Transaction, condition: SQL): Promise<void> {
  const shown = sql`${condition} and p.marked_for_deletion_at is null`
  await tx.execute(sql`update projects s set forks_count = greatest(s.forks_count - f.gone, 0)
    from (select p.forked_from_id as id, count(*) as gone from projects p where ${shown} and p.forked_from_id is not null group by 1) f where s.id = f.id`)
  await tx.execute(sql`update merge_requests r set state = 'closed', closed_at = now(), updated_at = now(), merge_when_pipeline_succeeds = false, merge_user_id = null,
        merge_commit_message = null, should_remove_source_branch = null, rebase_user_id = null
      from projects p where p.id = r.source_project_id and r.state = 'opened' and ${shown}
        and r.project_id not in (select p.id from projects p where ${condition})`)
}

/**
 * Deletes projects with all their rows and records their files for removal (SEC-134). `condition` is a condition on
 * `projects p`.
 */
export async function deleteProjectRows(ctx: Context, tx: Transaction, condition: SQL): Promise<void> {
  await auditEach(ctx, tx, {
    action: 'project_deleted',
    type: 'project',
    targets: sql`select p.id, n.full_path || '/' || p.path as name from projects p join namespaces n on n.id = p.namespace_id where ${condition} order by p.id`,
  })
  await tx.execute(
    sql`insert into pending_repository_deletions (project_id, storage) select p.id, p.storage from projects p where ${condition} on conflict do nothing`,
  )
  await tx.execute(
    sql`insert into pending_avatar_deletions (kind, id) select 'project', p.id from projects p where ${condition} and p.avatar is not null on conflict do nothing`,
  )
  await retireBots(tx, sql`b.project_id in (select p.id from projects p where ${condition})`)
  await detachProjects(tx, condition)
  await releaseObjects(tx, condition)
  await tx.execute(sql`delete from projects p where ${condition}`)
  await enqueue(tx, removeFiles, {}, { key: '', lane: removeFiles.kind })
}

/** Removes the files of deleted rows; runs periodically, for failed and not yet due removals. */
export const removeFiles = defineJob({
  kind: 'remove files',
  slots: 'upkeep',
  input: z.object({}),
  run: (ctx: Context) => finishDeletions(ctx),
  every: 30_000,
  deadline: 3_600_000,
})

/**
 * Removes the files of deleted projects and groups, and the repositories of projects whose creation failed. Locked rows
 * are skipped: their projects are being created. `alone`: no other service can be creating projects.
 */
export async function finishDeletions(ctx: Context, { alone = false } = {}): Promise<void> {
  for (const { kind, id } of await ctx.db.write.select().from(pendingAvatarDeletions)) {
    await removeAvatar(ctx, kind, id)
    await ctx.db.write.delete(pendingAvatarDeletions).where(and(eq(pendingAvatarDeletions.kind, kind), eq(pendingAvatarDeletions.id, id)))
  }
  const pending = await ctx.db.write
    .select()
    .from(pendingRepositoryDeletions)
    .where(alone ? undefined : sql`${pendingRepositoryDeletions.due_at} <= pg_catalog.now()`)
  for (const { project_id } of pending) {
    await ctx.db.transaction(async (tx) => {
      const [row] = await tx
        .select()
        .from(pendingRepositoryDeletions)
        .where(eq(pendingRepositoryDeletions.project_id, project_id))
        .for('update', { skipLocked: true })
      if (!row) return
      if (ctx.config.storages[row.storage] !== undefined) {
        for (const kind of ['project', 'wiki'] as const) await ctx.git.remove({ storage: row.storage, id: project_id, kind })
      }
      await removeAvatar(ctx, 'project', project_id)
      await removeUploads(ctx, project_id)
      await ctx.caches.archives.drop(String(project_id))
      await tx.delete(pendingRepositoryDeletions).where(eq(pendingRepositoryDeletions.project_id, project_id))
    })
  }
  await finishObjectDeletions(ctx)
}
