import { and, asc, eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Database, Transaction } from '../../db/client.js'
import { type HookEvent, hookChanges, type RowImage, users } from '../../db/schema/index.js'

/** An SQL condition: whether a hook listens to any of these, for the project or, with null, for the system. */
export const listens = (projectId: number | null, ...events: HookEvent[]) => sql`has_hook(${projectId}::bigint, ${`{${events.join(',')}}`}::text[])`

/** A row of the outbox. */
export type HookChange = typeof hookChanges.$inferSelect

/** Who reads the outbox, each by themselves. */
type Reader = 'hooks' | 'mail'

const waiting = (reader: Reader, transaction: bigint) => and(eq(hookChanges.transaction, transaction), hookChanges[reader])

/** What a transaction has left for one reader of the outbox, in the order of the changes. */
export const changesFor = (ctx: Context, reader: Reader, transaction: bigint): Promise<HookChange[]> =>
  ctx.db.write.select().from(hookChanges).where(waiting(reader, transaction)).orderBy(asc(hookChanges.id))

/** Takes it from the outbox. False: another run was faster. */
export async function takeChanges(tx: Transaction, reader: Reader, transaction: bigint): Promise<boolean> {
  const taken = await tx
    .update(hookChanges)
    .set({ [reader]: false })
    .where(waiting(reader, transaction))
    .returning({ id: hookChanges.id })
  // in a statement of its own, which sees what the other reader has taken meanwhile
  await tx.delete(hookChanges).where(and(eq(hookChanges.transaction, transaction), sql`not (${hookChanges.hooks} or ${hookChanges.mail})`))
  return taken.length > 0
}

/** A ref of a wiki that moves. */
export interface WikiMove {
  ref: string
  old: string
  new: string
}

const imageOf = (moves: WikiMove[]): RowImage => ({ moves: moves.map(({ ref, old, new: to }) => ({ ref, old, new: to })) })

/**
 * Writes down for the hooks which refs of a wiki are about to move. There is no intent as for other repositories, so
 * what a killed process leaves is judged by the refs. Null: nobody listens.
 */
export async function recordWikiMoves({ write }: Database, projectId: number, actorId: number, moves: WikiMove[]): Promise<number | null> {
  const { rows } = await write.execute<{ id: string }>(sql`insert into ${hookChanges} (source, operation, project_id, actor_id, after)
    select 'wiki_intents', 'INSERT', ${projectId}::bigint, ${actorId}::bigint, ${JSON.stringify(imageOf(moves))}::jsonb
    where ${listens(projectId, 'wiki_page')} returning id`)
  return rows[0] ? Number(rows[0].id) : null
}

/** These refs have moved, and no others. */
export async function confirmWikiMoves({ write }: Database, id: number | null, moves: WikiMove[]): Promise<void> {
  if (id === null) return
  if (moves.length === 0) await write.delete(hookChanges).where(eq(hookChanges.id, id))
  else
    await write
      .update(hookChanges)
      .set({ source: 'wikis', after: imageOf(moves) })
      .where(eq(hookChanges.id, id))
}

/** A wrong password for an account; 0, of no account, takes as long (SEC-27). */
export async function recordFailedLogin({ write }: Database, userId: number): Promise<void> {
  await write.execute(sql`insert into ${hookChanges} (source, operation, after)
    select 'failed_logins', 'INSERT', to_jsonb(u) - 'password_hash' from ${users} u where u.id = ${userId} and ${listens(null, 'system')}`)
}
