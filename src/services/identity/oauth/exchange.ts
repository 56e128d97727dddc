import { createHash } from 'node:crypto'
import { eq } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { oauthCodes, users } from '../../../db/schema/index.js'
import { digestOf } from '../../../lib/crypto/secret.js'
import { type Grant, issueTokens } from '../oauth.js'
import { revokeWithDescendants } from '../token-descent.js'
import { auditToken } from '../tokens.js'
import { type Application, auditApplication } from './applications.js'
import { invalidCode } from './failures.js'
import { idToken } from './openid.js'

export interface Exchange {
  code: string
  redirectUri: string
  verifier: string | undefined
}

type Code = typeof oauthCodes.$inferSelect

/** Exchanges a code for tokens, once; a second use ends what the first one gave (CR-35). */
export async function grantByCode(ctx: Context, application: Application, given: Exchange): Promise<Grant> {
  const exchanged = await ctx.db.transaction(async (tx) => {
    const [found] = await tx
      .select({ code: oauthCodes, state: users.state, kind: users.kind })
      .from(oauthCodes)
      .innerJoin(users, eq(users.id, oauthCodes.user_id))
      .where(eq(oauthCodes.digest, digestOf(given.code)))
      .for('update', { of: oauthCodes })
    if (!found || found.code.application_id !== application.id) return null
    const { code } = found
    if (code.used) return endReplayed(ctx, tx, application, code)
    if (found.state !== 'active' || found.kind !== 'human' || !matches(ctx, code, given)) return null
    const { token, grant } = await issueTokens(ctx, tx, { userId: code.user_id, application, scopes: code.scopes })
    await tx.update(oauthCodes).set({ used: true, token_id: token.id }).where(eq(oauthCodes.id, code.id))
    return { code, grant }
  })
  if (!exchanged) throw invalidCode()
  const { code, grant } = exchanged
  if (!code.scopes.includes('openid')) return grant
  const { user_id, scopes, nonce, signed_in_at: signedInAt } = code
  return { ...grant, id_token: await idToken(ctx, user_id, { uid: application.uid, scopes, nonce, signedInAt }) }
}

function matches(ctx: Pick<Context, 'now'>, code: Code, { redirectUri, verifier }: Exchange): boolean {
  if (code.expires_at <= ctx.now() || code.redirect_uri !== redirectUri) return false
  // a verifier without a challenge: the challenge was taken out of the request on its way
  if (code.challenge === null) return verifier === undefined
  return verifier !== undefined && createHash('sha256').update(verifier).digest('base64url') === code.challenge
}

/** A code that comes twice has been seen by somebody else. */
async function endReplayed(ctx: Context, tx: Transaction, application: Application, { token_id }: Code): Promise<null> {
  const revoked = token_id === null ? [] : await revokeWithDescendants(tx, token_id, ctx.now())
  for (const token of revoked) await auditToken(ctx, tx, 'token_revoked', token)
  await auditApplication(ctx, tx, 'application_revoked', application, { reason: 'a code was used twice' })
  return null
}
