import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { pendingRepositoryDeletions } from '../../db/schema/index.js'
import { enqueue } from '../../jobs/enqueue.js'
import { Unavailable } from '../../lib/unavailable.js'
import { removeFiles } from './remove.js'

/** How long a reservation is valid until a transaction locks it. */
const RESERVATION_TTL = '1 minute'

/**
 * Reserves the id of a new project. Its repository counts as pending deletion until the project exists, so that a kill
 * leaves nothing behind.
 */
export async function reserveProject(ctx: Context, storage: string): Promise<number> {
  // needs no synchronous commit: a lost reservation has nothing to remove yet
  const { rows } = await ctx.db.write.execute<{ id: string }>(sql`insert into ${pendingRepositoryDeletions} (project_id, storage, due_at)
    select nextval(pg_get_serial_sequence('projects', 'id')), ${storage}, pg_catalog.now() + ${RESERVATION_TTL}::interval
    from set_config('synchronous_commit', 'off', true) returning project_id as id`)
  return Number(rows[0]?.id)
}

/** Locks a reservation, so that the repository is not removed while the transaction creates it. */
export async function lockReservation(tx: Transaction, id: number): Promise<void> {
  const [reservation] = await tx.select().from(pendingRepositoryDeletions).where(eq(pendingRepositoryDeletions.project_id, id)).for('update')
  if (!reservation) throw new Unavailable('the reservation of the project is over')
}

/** Ends the reservation of a project that has been created. */
export async function endReservation(tx: Transaction, id: number): Promise<void> {
  await tx.delete(pendingRepositoryDeletions).where(eq(pendingRepositoryDeletions.project_id, id))
}

/** Ends the reservation of a project whose creation failed; its files are removed in the background. */
export async function cancelReservation(ctx: Context, id: number): Promise<void> {
  const due = ctx.db.write
    .update(pendingRepositoryDeletions)
    .set({ due_at: sql`pg_catalog.now()` })
    .where(eq(pendingRepositoryDeletions.project_id, id))
  await due.catch(() => undefined) // it becomes due within a minute anyway
  await enqueue(ctx.db, removeFiles, {}, { key: '', lane: removeFiles.kind }).catch(() => undefined)
}
