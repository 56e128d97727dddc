import { and, arrayContains, eq, isNotNull, or, sql } from 'drizzle-orm'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { emails, gpgKeys, sshKeys, users } from '../../../db/schema/index.js'
import { notFound } from '../../../failures.js'
import type { Commit } from '../../../git/types.js'
import { type GpgUser, readGpgSignature } from '../../../lib/crypto/gpg-signature.js'
import { readSshSignature } from '../../../lib/crypto/ssh-signature.js'
import type { GpgKey } from '../../identity/gpg-keys.js'
import type { SshKey } from '../../identity/keys.js'
import { repositoryOf } from '../repositories.js'
import { getCommit } from './read.js'

/** The result of verifying a signature (RE-11). */
export type VerificationStatus = 'verified' | 'unverified' | 'same_user_different_email' | 'other_user' | 'unverified_key' | 'unknown_key'

export type CommitSignature =
  | { type: 'PGP'; status: VerificationStatus; keyid: string | null; key: GpgKey | null; user: GpgUser | null }
  | { type: 'SSH'; status: VerificationStatus; key: SshKey | null }

/** Maximum length of a signature in characters; one by an RSA key of 16,384 bits has 3,000. */
const MAX_SIGNATURE_LENGTH = 32_768
/** Maximum number of stored keys tried per signature: several keys can contain the signing subkey. */
const MAX_KEYS = 10
/** The namespace of Git's SSH signatures. */
const NAMESPACE = 'git'

/** The signature of a commit, verified with the keys that users have stored (RE-11); 404 when there is none. */
export async function signatureOfCommit(ctx: Context, subject: ProjectSubject, sha: string): Promise<CommitSignature> {
  const commit = await getCommit(ctx, subject, sha)
  const signed = await repositoryOf(ctx, subject.project).signedCommit(commit.oid)
  if (!signed || signed.signature.length > MAX_SIGNATURE_LENGTH) throw notFound('Signature')
  const found = signed.signature.startsWith('-----BEGIN SSH SIGNATURE-----')
    ? await sshSignature(ctx, commit, signed)
    : signed.signature.startsWith('-----BEGIN PGP ')
      ? await gpgSignature(ctx, commit, signed)
      : null
  if (!found) throw notFound('Signature')
  return found
}

interface SignedText {
  signature: string
  text: Buffer
}

const committerOf = ({ committer }: Commit) => committer.email.toLowerCase()

/** The confirmed addresses of an account. */
async function confirmedEmails(ctx: Context, userId: number): Promise<Set<string>> {
  const rows = await ctx.db.read
    .select({ email: sql<string>`lower(${users.email})` })
    .from(users)
    .where(and(eq(users.id, userId), isNotNull(users.confirmed_at)))
    .union(
      ctx.db.read
        .select({ email: sql<string>`lower(${emails.email})` })
        .from(emails)
        .where(and(eq(emails.user_id, userId), isNotNull(emails.confirmed_at))),
    )
  return new Set(rows.map(({ email }) => email))
}

async function gpgSignature(ctx: Context, commit: Commit, { signature, text }: SignedText): Promise<CommitSignature> {
  const none = { type: 'PGP' as const, key: null, user: null }
  const parsed = await readGpgSignature(signature)
  if (!parsed?.keyid) return { ...none, status: 'unverified', keyid: parsed?.keyid ?? null }
  const { keyid } = parsed
  let found: { key: GpgKey; valid: boolean; users: GpgUser[] } | undefined
  for (const key of await gpgKeysFor(ctx, keyid, committerOf(commit))) {
    const verified = await parsed.madeBy(key.key, text)
    if (verified && (!found || verified.valid)) found = { key, ...verified }
    // a key can contain a copy of another key's subkey, but the signature is valid only for the real owner
    if (verified?.valid) break
  }
  if (!found) return { ...none, status: 'unknown_key', keyid }
  const { key, users: all } = found
  const confirmed = await confirmedEmails(ctx, key.user_id)
  const user = all.find(({ email }) => email === committerOf(commit)) ?? all[0] ?? null
  return { type: 'PGP', status: gpgStatus(found, confirmed, committerOf(commit)), keyid, key, user }
}

/** The status of a GPG signature whose key is known (SEC-129). */
function gpgStatus({ valid, users }: { valid: boolean; users: GpgUser[] }, confirmed: Set<string>, committer: string): VerificationStatus {
  if (!users.some(({ email }) => confirmed.has(email))) return 'unverified_key'
  if (!valid) return 'unverified'
  if (!confirmed.has(committer)) return 'other_user'
  return users.some(({ email }) => email === committer) ? 'verified' : 'same_user_different_email'
}

/** The stored keys whose key id or subkey id is `keyid`; the committer's first. */
async function gpgKeysFor(ctx: Context, keyid: string, committer: string): Promise<GpgKey[]> {
  const owner = sql`select ${users.id} from ${users} where lower(${users.email}) = ${committer}
    union select ${emails.user_id} from ${emails} where lower(${emails.email}) = ${committer} and ${emails.confirmed_at} is not null`
  return ctx.db.read
    .select()
    .from(gpgKeys)
    .where(or(eq(gpgKeys.primary_keyid, keyid), arrayContains(gpgKeys.subkey_ids, [keyid])))
    .orderBy(sql`${gpgKeys.primary_keyid} = ${keyid} desc`, sql`${gpgKeys.user_id} in (${owner}) desc`, gpgKeys.id)
    .limit(MAX_KEYS)
}

async function sshSignature(ctx: Context, commit: Commit, { signature, text }: SignedText): Promise<CommitSignature> {
  const parsed = readSshSignature(signature)
  if (!parsed?.covers(text, NAMESPACE)) return { type: 'SSH', status: 'unverified', key: null }
  const [key] = await ctx.db.read
    .select()
    .from(sshKeys)
    .where(and(eq(sshKeys.fingerprint_sha256, parsed.sha256), isNotNull(sshKeys.user_id)))
  if (!key || key.user_id === null) return { type: 'SSH', status: 'unknown_key', key: null }
  const expired = key.expires_at !== null && key.expires_at.getTime() <= commit.committer.seconds * 1_000
  const confirmed = await confirmedEmails(ctx, key.user_id)
  return { type: 'SSH', status: expired ? 'unverified_key' : confirmed.has(committerOf(commit)) ? 'verified' : 'other_user', key }
}
