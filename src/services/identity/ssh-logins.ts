import { eq, sql } from 'drizzle-orm'
import { type ActorUser, actorOf } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { sshKeys, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { SshKey } from './keys.js'

/** Minimum time between two recorded uses of a key. */
const LAST_USED_INTERVAL_MS = 60_000

export interface SshLogin {
  key: SshKey
  /** The owner, or for a deploy key its creator; null when that account is not active. */
  user: ActorUser | null
  /** Whether it is a deploy key; its rights do not depend on the user. */
  deploy: boolean
}

const selectLogin = statement('ssh login', (db, by: 'id' | 'sha256') =>
  db
    .select({ key: sshKeys, user: users })
    .from(sshKeys)
    .leftJoin(
      users,
      sql`${users.id} = coalesce(${sshKeys.user_id}, ${sshKeys.creator_id}) and ${users.state} = 'active' and ${users.kind} <> 'ghost'`,
    )
    .where(eq(by === 'id' ? sshKeys.id : sshKeys.fingerprint_sha256, sql.placeholder('value'))),
)

/**
 * Finds the key and its user by one index lookup. Null when the key is unknown or expired, or its owner is not active
 * (GS-2, GS-5).
 */
export async function findSshLogin(ctx: Context, by: { id: number } | { sha256: string }): Promise<SshLogin | null> {
  const [row] = await ('id' in by ? selectLogin(ctx.db, 'id').execute({ value: by.id }) : selectLogin(ctx.db, 'sha256').execute({ value: by.sha256 }))
  if (!row || (row.key.expires_at && row.key.expires_at <= ctx.now())) return null
  const deploy = row.key.user_id === null
  if (!deploy && !row.user) return null
  return { key: row.key, user: row.user && actorOf(row.user), deploy }
}

/** Records the use of a key, at most once a minute. */
export async function recordKeyUse(ctx: Context, { id, last_used_at }: SshKey): Promise<void> {
  const now = ctx.now()
  if (last_used_at && now.getTime() - last_used_at.getTime() < LAST_USED_INTERVAL_MS) return
  const before = new Date(now.getTime() - LAST_USED_INTERVAL_MS)
  await ctx.db.write
    .update(sshKeys)
    .set({ last_used_at: now })
    .where(sql`${sshKeys.id} = ${id} and (${sshKeys.last_used_at} is null or ${sshKeys.last_used_at} <= ${before.toISOString()}::timestamptz)`)
}
