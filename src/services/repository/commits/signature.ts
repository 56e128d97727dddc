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
import { findCommit } from './read.js'

/** What is known of a signature (RE-11). */
export type VerificationStatus = 'verified' | 'unverified' | 'same_user_different_email' | 'other_user' | 'unverified_key' | 'unknown_key'

export type CommitSignature =
  | { type: 'PGP'; status: VerificationStatus; keyid: string | null; key: GpgKey | null; user: GpgUser | null }
  | { type: 'SSH'; status: VerificationStatus; key: SshKey | null }

/** Characters of a signature: that of an RSA key of 16,384 bits has 3,000. */
const MAX_SIGNATURE = 32_768
/** Stored keys that are tried for one signature: only one can have made it, but several can hold its subkey. */
const MAX_KEYS = 10
/** What Git signs with SSH keys. */
const NAMESPACE = 'git'

/** The signature of a commit, checked against the keys that people have stored (RE-11); 404 where there is none. */
export async function signatureOfCommit(ctx: Context, subject: ProjectSubject, sha: string): Promise<CommitSignature> {
  const commit = await findCommit(ctx, subject, sha)
  const signed = await repositoryOf(ctx, subject.project).signedCommit(commit.oid)
  if (!signed || signed.signature.length > MAX_SIGNATURE) throw notFound('GPG Signature')
  const found = signed.signature.startsWith('-----BEGIN SSH SIGNATURE-----')
    ? await sshSignature(ctx, commit, signed)
    : signed.signature.startsWith('-----BEGIN PGP ')
      ? await gpgSignature(ctx, commit, signed)
      : null
  if (!found) throw notFound('GPG Signature')
  return found
}

interface Signed {
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

async function gpgSignature(ctx: Context, commit: Commit, { signature, text }: Signed): Promise<CommitSignature> {
  const none = { type: 'PGP' as const, key: null, user: null }
  const read = await readGpgSignature(signature)
  if (!read?.keyid) return { ...none, status: 'unverified', keyid: read?.keyid ?? null }
  const { keyid } = read
  let found: { key: GpgKey; valid: boolean; users: GpgUser[] } | undefined
  for (const key of await gpgKeysFor(ctx, keyid, committerOf(commit))) {
    const made = await read.madeBy(key.key, text)
    if (made && (!found || made.valid)) found = { key, ...made }
    // anybody can put the subkey of another into a key of theirs, but it signs for its own alone
    if (made?.valid) break
  }
  if (!found) return { ...none, status: 'unknown_key', keyid }
  const { key, users: all } = found
  const confirmed = await confirmedEmails(ctx, key.user_id)
  const user = all.find(({ email }) => email === committerOf(commit)) ?? all[0] ?? null
  return { type: 'PGP', status: gpgStatus(found, confirmed, committerOf(commit)), keyid, key, user }
}

/** By the rule of SEC-129. */
function gpgStatus({ valid, users }: { valid: boolean; users: GpgUser[] }, confirmed: Set<string>, committer: string): VerificationStatus {
  if (!users.some(({ email }) => confirmed.has(email))) return 'unverified_key'
  if (!valid) return 'unverified'
  if (!confirmed.has(committer)) return 'other_user'
  return users.some(({ email }) => email === committer) ? 'verified' : 'same_user_different_email'
}

/** The keys that may have made a signature: those that have this id, or a subkey that has it; the committer's first. */
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

async function sshSignature(ctx: Context, commit: Commit, { signature, text }: Signed): Promise<CommitSignature> {
  const read = readSshSignature(signature)
  if (!read?.covers(text, NAMESPACE)) return { type: 'SSH', status: 'unverified', key: null }
  const [key] = await ctx.db.read
    .select()
    .from(sshKeys)
    .where(and(eq(sshKeys.fingerprint_sha256, read.sha256), isNotNull(sshKeys.user_id)))
  if (!key || key.user_id === null) return { type: 'SSH', status: 'unknown_key', key: null }
  const expired = key.expires_at !== null && key.expires_at.getTime() <= commit.committer.seconds * 1_000
  const confirmed = await confirmedEmails(ctx, key.user_id)
  return { type: 'SSH', status: expired ? 'unverified_key' : confirmed.has(committerOf(commit)) ? 'verified' : 'other_user', key }
}
