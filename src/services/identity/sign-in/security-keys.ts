import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { and, asc, eq, isNull, lt, or } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../../context.js'
import { users, webauthnKeys } from '../../../db/schema/index.js'
import { unlessUniqueViolation } from '../../../db/unique-violation.js'
import { conflict, invalidRecord, notFound } from '../../../failures.js'
import { audit } from '../../core/audit.js'
import { checkOwnPassword } from '../own-password.js'
import { getUser, type User } from '../users.js'

export type SecurityKey = typeof webauthnKeys.$inferSelect

/** How long a challenge can be answered, in milliseconds. */
const CHALLENGE_MS = 300_000
const MAX_KEYS = 20
const MAX_NAME = 100
const MAX_RESPONSE = 20_000

/** What a browser is asked to sign, and the same encrypted, for the form that brings the answer. */
export interface Challenge {
  /** In JSON, for the script of the page. */
  options: string
  sealed: string
}

/** The answer of a browser to a challenge. */
export interface KeyAnswer {
  sealed: string
  /** In JSON, as the script sends it. */
  response: string
}

const Sealed = z.object({ challenge: z.string(), user: z.int().nullable(), issued: z.int() })
const shape = z.looseObject({ id: z.string(), rawId: z.string(), type: z.literal('public-key'), response: z.record(z.string(), z.unknown()) })
/** The library checks the rest. */
const Answer = z.custom<RegistrationResponseJSON & AuthenticationResponseJSON>((value) => shape.safeParse(value).success)

const purposeOf = (kind: 'new' | 'use') => (kind === 'new' ? 'challenge for a new security key' : 'challenge for a security key')
/** Loaded when it is needed: few calls are about keys. */
const library = () => import('@simplewebauthn/server')

/** What keys are bound to: the host of the service. */
const hostOf = ({ links }: Pick<Context, 'links'>) => new URL(links.base).hostname
const originOf = ({ links }: Pick<Context, 'links'>) => new URL(links.base).origin

/** Whether browsers offer security keys here: they do on https, and on the machine itself. */
export const keysWork = ({ links }: Pick<Context, 'links'>) => {
  const { protocol, hostname } = new URL(links.base)
  return protocol === 'https:' || hostname === 'localhost'
}

/** The security keys of a user, the oldest first. */
export const listSecurityKeys = (ctx: Context, userId: number): Promise<SecurityKey[]> =>
  ctx.db.read.select().from(webauthnKeys).where(eq(webauthnKeys.user_id, userId)).orderBy(asc(webauthnKeys.id)).limit(MAX_KEYS)

const credentialsOf = (keys: SecurityKey[]) =>
  keys.map(({ credential_id, transports }) => ({ id: credential_id, transports: transports as NonNullable<AuthenticatorTransports> }))
type AuthenticatorTransports = ('ble' | 'cable' | 'hybrid' | 'internal' | 'nfc' | 'smart-card' | 'usb')[]

const challengeOf = (ctx: Context, kind: 'new' | 'use', user: number | null, options: { challenge: string }): Challenge => ({
  options: JSON.stringify(options),
  sealed: ctx.encryption.seal(JSON.stringify({ challenge: options.challenge, user, issued: ctx.now().getTime() }), purposeOf(kind)),
})

/** Asks a browser for a new key of a user. */
export async function challengeForNew(ctx: Context, { id, username, name }: Pick<User, 'id' | 'username' | 'name'>): Promise<Challenge> {
  const { generateRegistrationOptions } = await library()
  const options = await generateRegistrationOptions({
    rpName: `Roost ${hostOf(ctx)}`,
    rpID: hostOf(ctx),
    userID: new TextEncoder().encode(String(id)),
    userName: username,
    userDisplayName: name,
    attestationType: 'none',
    excludeCredentials: credentialsOf(await listSecurityKeys(ctx, id)),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
  })
  return challengeOf(ctx, 'new', id, options)
}

/** Asks a browser for a key of the user; of any user if it is null, and then for one that checks who holds it. */
export async function challengeForUse(ctx: Context, userId: number | null): Promise<Challenge> {
  const { generateAuthenticationOptions } = await library()
  const options = await generateAuthenticationOptions({
    rpID: hostOf(ctx),
    ...(userId !== null && { allowCredentials: credentialsOf(await listSecurityKeys(ctx, userId)) }),
    userVerification: userId === null ? 'required' : 'preferred',
  })
  return challengeOf(ctx, 'use', userId, options)
}

/** The challenge and the answer of a form; null if they are not ours, for another user, or too old. */
function readAnswer(ctx: Context, kind: 'new' | 'use', userId: number | null, { sealed, response }: KeyAnswer) {
  if (response.length > MAX_RESPONSE) return null
  try {
    const asked = Sealed.parse(JSON.parse(ctx.encryption.open(sealed, purposeOf(kind))))
    const answer = Answer.parse(JSON.parse(response))
    return asked.user === userId && asked.issued + CHALLENGE_MS > ctx.now().getTime() ? { ...asked, answer } : null
  } catch {
    return null
  }
}

/** Adds a key to an account whose second factor is on; needs the password (WB-27). */
export async function addSecurityKey(ctx: Context, userId: number, { name, password, ...given }: KeyAnswer & { name: string; password: string }) {
  const user = await getUser(ctx, userId)
  if (user.password_hash !== null) await checkOwnPassword(ctx, userId, password, 'key_password')
  const title = name.trim()
  if (title === '' || title.length > MAX_NAME)
    throw invalidRecord({ name: [title === '' ? "can't be blank" : `is too long (maximum is ${MAX_NAME} characters)`] })
  const asked = readAnswer(ctx, 'new', userId, given)
  const key = asked && (await verifiedNew(ctx, asked.challenge, asked.answer))
  if (!key) throw invalidRecord({ base: ['key was not accepted: try again'] })
  const add = () =>
    ctx.db.transaction(async (tx) => {
      const [locked] = await tx.select({ on: users.two_factor_enabled }).from(users).where(eq(users.id, userId)).for('update')
      if (!locked?.on) throw conflict('Two-factor authentication is off')
      if ((await tx.$count(webauthnKeys, eq(webauthnKeys.user_id, userId))) >= MAX_KEYS)
        throw invalidRecord({ base: [`account has ${MAX_KEYS} keys`] })
      await tx.insert(webauthnKeys).values({ user_id: userId, name: title, ...key, created_at: ctx.now() })
      await audit(ctx, tx, { action: 'security_key_added', target: { type: 'user', id: userId, name: user.username }, changes: { key: title } })
    })
  await unlessUniqueViolation(add, () => invalidRecord({ base: ['key is in use already'] }))
}

async function verifiedNew(ctx: Context, expectedChallenge: string, response: RegistrationResponseJSON) {
  const { verifyRegistrationResponse } = await library()
  const options = { response, expectedChallenge, expectedOrigin: originOf(ctx), expectedRPID: hostOf(ctx), requireUserVerification: false }
  // the library throws for each way in which an answer is wrong
  const { verified, registrationInfo } = await verifyRegistrationResponse(options).catch(() => ({ verified: false, registrationInfo: undefined }))
  if (!verified || !registrationInfo) return null
  const { id, publicKey, counter, transports = [] } = registrationInfo.credential
  return { credential_id: id, public_key: Buffer.from(publicKey).toString('base64url'), counter, transports }
}

/**
 * The owner of the key that answered; null if the answer is wrong. `userId`: whose key it must be; null: of anybody, and
 * the key has checked who holds it. Each challenge works once for a key (WB-28).
 */
export async function redeemKey(ctx: Context, userId: number | null, given: KeyAnswer): Promise<number | null> {
  const asked = readAnswer(ctx, 'use', userId, given)
  if (!asked) return null
  const [key] = await ctx.db.write.select().from(webauthnKeys).where(eq(webauthnKeys.credential_id, asked.answer.id))
  if (!key || (userId !== null && key.user_id !== userId)) return null
  const { verifyAuthenticationResponse } = await library()
  const answer = await verifyAuthenticationResponse({
    response: asked.answer,
    expectedChallenge: asked.challenge,
    expectedOrigin: originOf(ctx),
    expectedRPID: hostOf(ctx),
    requireUserVerification: userId === null,
    credential: { id: key.credential_id, publicKey: new Uint8Array(Buffer.from(key.public_key, 'base64url')), counter: key.counter },
  }).catch(() => null)
  if (!answer?.verified) return null
  const used = await ctx.db.write
    .update(webauthnKeys)
    .set({ counter: answer.authenticationInfo.newCounter, last_used_at: ctx.now() })
    .where(and(eq(webauthnKeys.id, key.id), or(isNull(webauthnKeys.last_used_at), lt(webauthnKeys.last_used_at, new Date(asked.issued)))))
    .returning({ user_id: webauthnKeys.user_id })
  return used[0]?.user_id ?? null
}

/** Removes a key of the user, as turning the second factor off with the password (WB-27); 404 if there is none. */
export async function removeSecurityKey(
  ctx: Context,
  { id, username }: { id: number; username: string },
  { key: keyId, password }: { key: number; password: string },
): Promise<void> {
  const user = await getUser(ctx, id)
  if (user.password_hash !== null) await checkOwnPassword(ctx, id, password, 'removal_password')
  await ctx.db.transaction(async (tx) => {
    const [removed] = await tx
      .delete(webauthnKeys)
      .where(and(eq(webauthnKeys.id, keyId), eq(webauthnKeys.user_id, id)))
      .returning({ name: webauthnKeys.name })
    if (!removed) throw notFound()
    await audit(ctx, tx, { action: 'security_key_removed', target: { type: 'user', id, name: username }, changes: { key: removed.name } })
  })
}
