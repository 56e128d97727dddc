import type { Context } from '../../context.js'
import { forbidden, nullOnFailure, refused } from '../../failures.js'
import { auditAccessToken, getAccessToken } from '../groups/access-tokens.js'
import type { MemberSource } from '../groups/members.js'
import { markRevoked } from '../identity/tokens.js'
import { removeUser } from './user-removal.js'

/** Revokes a token of a project or group and removes its bot, whose work becomes that of the ghost user (PT-7). */
export async function revokeAccessToken(ctx: Context, source: MemberSource, id: number): Promise<string> {
  const found = await getAccessToken(ctx, source, id)
  if (found.access_level > source.level) throw forbidden()
  if (!(await markRevoked(ctx, found.token))) throw refused('The token is already revoked')
  await auditAccessToken(ctx, ctx.db.write, source, 'access_token_revoked', found)
  // unless the job does it at this moment
  await nullOnFailure(removeUser(ctx, found.token.user_id, false, () => undefined))
  return found.token.name
}
