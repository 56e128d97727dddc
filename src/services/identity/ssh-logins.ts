import { eq, sql } from 'drizzle-orm'
import type { ActorUser } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { sshKeys, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { SshKey } from './keys.js'
import { actorOf } from './users.js'

/** Milliseconds within which a second use of a key is not recorded. */
const USED_EVERY = 60_000

/** Somebody who logs in with a key. */
export interface SshLogin {
  key: SshKey
  /** The owner; of a deploy key its creator, while that is an active account. */
  user: ActorUser | null
  /** Whether it is a deploy key, whose rights do not depend on the user. */
  deploy: boolean
}

const findLogin = statement('ssh login', (db, by: 'id' | 'sha256') =>
  db
    .select({ key: sshKeys, user: users })
    .from(sshKeys)
    .leftJoin(users, sql`${users.id} = coalesce(${sshKeys.user_id}, ${sshKeys.creator_id}) and ${users.state} = 'active' and ${users.kind} = 'human'`)
    .where(eq(by === 'id' ? sshKeys.id : sshKeys.fingerprint_sha256, sql.placeholder('value'))),
)

/**
 * Whose key this is, by one read whatever number of keys there are; null where nobody may log in with it, because it is
 * unknown or has expired or its owner is not active (GS-2, GS-5).
 */
export async function findSshLogin(ctx: Context, by: { id: number } | { sha256: string }): Promise<SshLogin | null> {
  const [row] = await ('id' in by ? findLogin(ctx.db, 'id').execute({ value: by.id }) : findLogin(ctx.db, 'sha256').execute({ value: by.sha256 }))
  if (!row || (row.key.expires_at && row.key.expires_at <= ctx.now())) return null
  const deploy = row.key.user_id === null
  if (!deploy && !row.user) return null
  return { key: row.key, user: row.user && actorOf(row.user), deploy }
}

/** Records the use of a key, once a minute. */
export async function recordKeyUse(ctx: Context, { id, last_used_at }: SshKey): Promise<void> {
  const now = ctx.now()
  if (last_used_at && now.getTime() - last_used_at.getTime() < USED_EVERY) return
  const before = new Date(now.getTime() - USED_EVERY)
  await ctx.db.write
    .update(sshKeys)
    .set({ last_used_at: now })
    .where(sql`${sshKeys.id} = ${id} and (${sshKeys.last_used_at} is null or ${sshKeys.last_used_at} <= ${before.toISOString()}::timestamptz)`)
}
