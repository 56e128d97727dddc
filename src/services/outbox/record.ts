import { eq, sql } from 'drizzle-orm'
import type { Database } from '../../db/client.js'
import { type HookEvent, hookChanges, type RowImage, users } from '../../db/schema/index.js'

/** SQL condition: whether a hook of the project (null: a system hook) subscribes to any of the events. */
export const hasListener = (projectId: number | null, ...events: HookEvent[]) =>
  sql`has_hook(${projectId}::bigint, ${`{${events.join(',')}}`}::text[])`

/** The update of a wiki's ref. */
export interface WikiMove {
  ref: string
  old: string
  new: string
}

const imageOf = (moves: WikiMove[]): RowImage => ({ moves: moves.map(({ ref, old, new: to }) => ({ ref, old, new: to })) })

/**
 * Records for the webhooks which wiki refs are about to move. Wikis have no push intents, so what a killed process
 * leaves behind is resolved by looking at the refs. Returns null when no hook subscribes to wiki pages.
 */
export async function recordWikiMoves({ write }: Database, projectId: number, actorId: number, moves: WikiMove[]): Promise<number | null> {
  const { rows } = await write.execute<{ id: string }>(sql`insert into ${hookChanges} (source, operation, project_id, actor_id, after)
    select 'wiki_intents', 'INSERT', ${projectId}::bigint, ${actorId}::bigint, ${JSON.stringify(imageOf(moves))}::jsonb
    where ${hasListener(projectId, 'wiki_page')} returning id`)
  return rows[0] ? Number(rows[0].id) : null
}

/** Records that exactly these refs have moved. */
export async function confirmWikiMoves({ write }: Database, id: number | null, moves: WikiMove[]): Promise<void> {
  if (id === null) return
  if (moves.length === 0) await write.delete(hookChanges).where(eq(hookChanges.id, id))
  else
    await write
      .update(hookChanges)
      .set({ source: 'wikis', after: imageOf(moves) })
      .where(eq(hookChanges.id, id))
}

/** Records a failed login for system hooks. `userId` 0 means no such account; it takes the same time (SEC-27). */
export async function recordFailedLogin({ write }: Database, userId: number): Promise<void> {
  await write.execute(sql`insert into ${hookChanges} (source, operation, after)
    select 'failed_logins', 'INSERT', to_jsonb(u) - 'password_hash' from ${users} u where u.id = ${userId} and ${hasListener(null, 'system')}`)
}
