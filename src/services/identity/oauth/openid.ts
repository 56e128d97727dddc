import { asc, desc, sql } from 'drizzle-orm'
import { calculateJwkThumbprint, exportJWK, exportPKCS8, generateKeyPair, importPKCS8, type JWK, SignJWT } from 'jose'
import { groupMembers, membershipCounts } from '../../../access/roles.js'
import type { Scope } from '../../../access/scopes.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { namespaceAncestry, namespaces, oauthKeys } from '../../../db/schema/index.js'
import { insufficientScope } from '../../../failures.js'
import { avatarUrl } from '../../../rules/avatar-url.js'
import { lockName } from '../../core/lock-name.js'
import { unsealed } from '../../core/unsealed.js'
import { getUser } from '../users.js'

const ALGORITHM = 'RS256'
const ID_TOKEN_LIFETIME_S = 600
/** Groups named in the answers about a user. */
const MAX_GROUPS = 1_000
/** A key is replaced after this time, in milliseconds; the old one stays published. */
const KEY_LIFETIME_MS = 180 * 86_400_000
/** The keys that are published. */
const PUBLISHED_KEYS = 2

export const oauthKeyPurpose = (kid: string) => `OAuth key ${kid}`

interface SigningKey {
  kid: string
  pem: string
}

/** The newest key, if it opens and is not too old. */
async function findSigningKey(ctx: Context, db: Pick<Transaction, 'select'> = ctx.db.write): Promise<SigningKey | null> {
  const [newest] = await db.select().from(oauthKeys).orderBy(desc(oauthKeys.created_at)).limit(1)
  if (!newest || newest.created_at.getTime() + KEY_LIFETIME_MS <= ctx.now().getTime()) return null
  const pem = unsealed(ctx, newest.sealed, oauthKeyPurpose(newest.kid))
  return pem === null ? null : { kid: newest.kid, pem }
}

/** The key that signs: made at the first use, and anew when it has become too old (CR-42). */
async function signingKey(ctx: Context): Promise<SigningKey> {
  const present = await findSigningKey(ctx)
  if (present) return present
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { modulusLength: 2_048, extractable: true })
  const jwk = await exportJWK(publicKey)
  const made = { kid: await calculateJwkThumbprint(jwk), pem: await exportPKCS8(privateKey) }
  return ctx.db.transaction(async (tx) => {
    await lockName(tx, 'oauth keys')
    const other = await findSigningKey(ctx, tx)
    if (other) return other
    await tx.insert(oauthKeys).values({
      kid: made.kid,
      public_jwk: JSON.stringify({ ...jwk, kid: made.kid, use: 'sig', alg: ALGORITHM }),
      sealed: ctx.encryption.seal(made.pem, oauthKeyPurpose(made.kid)),
      created_at: ctx.now(),
    })
    return made
  })
}

/** The public keys with which applications check id_tokens (CR-42). */
export async function publicKeys(ctx: Context): Promise<{ keys: JWK[] }> {
  await signingKey(ctx)
  const rows = await ctx.db.write.select({ jwk: oauthKeys.public_jwk }).from(oauthKeys).orderBy(desc(oauthKeys.created_at)).limit(PUBLISHED_KEYS)
  return { keys: rows.map(({ jwk }) => JSON.parse(jwk) as JWK) }
}

/** Scopes with which the API shows a user their own address. */
const SHOW_EMAIL: readonly string[] = ['email', 'read_user', 'read_api', 'api'] satisfies Scope[]

/** What an application with these scopes learns of a user (CR-43). */
async function claimsOf(ctx: Context, userId: number, scopes: readonly string[]) {
  const [user, groups, service] = await Promise.all([getUser(ctx, userId), groupsOf(ctx, userId), ctx.caches.settings.avatarService()])
  return {
    sub: String(user.id),
    name: user.name,
    nickname: user.username,
    preferred_username: user.username,
    profile: ctx.links.user(user.username),
    picture: avatarUrl(user, { base: ctx.links.base, service }),
    ...(user.website_url && { website: user.website_url }),
    ...(scopes.some((scope) => SHOW_EMAIL.includes(scope)) && { email: user.email, email_verified: user.confirmed_at !== null }),
    groups,
  }
}

/** Full paths of the groups that a user is a member of, also through a group above. */
async function groupsOf(ctx: Context, userId: number): Promise<string[]> {
  const own = sql`select m.namespace_id from ${groupMembers} m where m.user_id = ${userId} and ${membershipCounts}`
  const rows = await ctx.db.read
    .select({ path: namespaces.full_path })
    .from(namespaces)
    .where(
      sql`${namespaces.marked_for_deletion_at} is null and ${namespaces.id} in (
        select ${namespaceAncestry.descendant_id} from ${namespaceAncestry} where ${namespaceAncestry.ancestor_id} in (${own}))`,
    )
    .orderBy(asc(namespaces.full_path))
    .limit(MAX_GROUPS)
  return rows.map(({ path }) => path)
}

/** An id_token: who has signed in, where and for whom, signed (CR-42). */
export async function idToken(
  ctx: Context,
  userId: number,
  { uid, scopes, nonce, signedInAt }: { uid: string; scopes: readonly string[]; nonce?: string | null; signedInAt?: Date },
): Promise<string> {
  const [{ kid, pem }, claims] = await Promise.all([signingKey(ctx), claimsOf(ctx, userId, scopes)])
  const now = Math.floor(ctx.now().getTime() / 1000)
  return new SignJWT({ ...claims, ...(signedInAt && { auth_time: Math.floor(signedInAt.getTime() / 1000) }), ...(nonce && { nonce }) })
    .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
    .setIssuer(ctx.links.base)
    .setAudience(uid)
    .setIssuedAt(now)
    .setExpirationTime(now + ID_TOKEN_LIFETIME_S)
    .sign(await importPKCS8(pem, ALGORITHM))
}

/** What `/oauth/userinfo` answers to a token (CR-43). */
export async function userInfo(ctx: Context, userId: number, scopes: readonly Scope[]) {
  if (!scopes.includes('openid')) throw insufficientScope('openid')
  return claimsOf(ctx, userId, scopes)
}
