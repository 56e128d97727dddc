import type { SQL } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { mentions } from '../../db/schema/index.js'
import { findMentionedUsers, mentionedNames } from '../activity/mentions.js'
import type { Target } from '../activity/subscriptions.js'
import { IMPORTER } from './run.js'

/** Stores the mentioned users who can read the target; creates no todos. */
export async function storeMentions(
  ctx: Pick<Context, 'cpu'>,
  tx: Transaction,
  { target, note_id, text }: { target: Target; note_id: number | null; text: string },
  readers: (who: SQL) => Promise<number[]>,
): Promise<void> {
  const { users } = await findMentionedUsers(IMPORTER, await mentionedNames(ctx.cpu.slices, text), readers)
  const row = { project_id: target.project_id, target_type: target.type, target_id: target.id, note_id }
  if (users.length > 0) await tx.insert(mentions).values(users.map((user_id) => ({ ...row, user_id })))
}
