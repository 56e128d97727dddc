import { sql } from 'drizzle-orm'
import { type AnyPgColumn, boolean, date, index, integer, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { id, moment, ref } from './columns.js'
import { users } from './users.js'

/** Of the account that may sign in with it. */
const owner = () =>
  ref()
    .notNull()
    .references(() => users.id, { onDelete: 'cascade' })

export const sshKeys = pgTable(
  'ssh_keys',
  {
    id: id(),
    /** Null for a deploy key, which belongs to the projects that it opens (DK-7). */
    user_id: ref().references(() => users.id, { onDelete: 'cascade' }),
    /** The creator of a deploy key, while that account exists; its pushes are attributed to them. */
    creator_id: ref().references(() => users.id, { onDelete: 'set null' }),
    /** A deploy key that every project may enable, and that stays without projects (PT-10). */
    public: boolean().notNull().default(false),
    title: text().notNull(),
    /** One line as submitted, except for line breaks (K-6). */
    key: text().notNull(),
    /**
     * MD5 of the key's bytes, as pairs of hex digits with colons; keys with the same value are the same (K-8, K-10).
     */
    fingerprint: text().notNull(),
    /** SHA-256 of the same bytes, base64 without padding. */
    fingerprint_sha256: text().notNull(),
    expires_at: moment(),
    /** Last use, to the minute (GS-2). */
    last_used_at: moment(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('ssh_keys_fingerprint_key').on(t.fingerprint),
    uniqueIndex('ssh_keys_fingerprint_sha256_key').on(t.fingerprint_sha256),
    index('ssh_keys_user_id_idx').on(t.user_id, t.id),
    index('ssh_keys_creator_id_idx').on(t.creator_id).where(sql`${t.creator_id} is not null`),
  ],
)

export const gpgKeys = pgTable(
  'gpg_keys',
  {
    id: id(),
    user_id: owner(),
    /** The armored block, trimmed. */
    key: text().notNull(),
    /** Of the primary key, in upper-case hex. */
    fingerprint: text().notNull(),
    primary_keyid: text().notNull(),
    /** Ids of its subkeys, which sign as well. */
    subkey_ids: text().array().notNull(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    // the block may be longer than an index entry allows
    uniqueIndex('gpg_keys_key_key').on(sql`md5(${t.key})`),
    uniqueIndex('gpg_keys_fingerprint_key').on(t.fingerprint),
    uniqueIndex('gpg_keys_primary_keyid_key').on(t.primary_keyid),
    index('gpg_keys_user_id_idx').on(t.user_id, t.id),
    index('gpg_keys_subkey_ids_idx').using('gin', t.subkey_ids),
  ],
)

/**
 * All kinds of tokens, so that one query and one function check every credential (SEC-12). Only digests are stored;
 * impersonation tokens are also stored encrypted (SEC-21).
 */
export const tokens = pgTable(
  'tokens',
  {
    id: id(),
    user_id: ref()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** The token that it was made with and is revoked with (CR-25); of an OAuth token, the one that it was refreshed from. */
    parent_id: ref().references((): AnyPgColumn => tokens.id, { onDelete: 'set null' }),
    /** `oauth`: of a password grant without an application; `application`: of an OAuth application. */
    kind: text({ enum: ['personal', 'impersonation', 'oauth', 'application'] }).notNull(),
    application_id: ref().references((): AnyPgColumn => oauthApplications.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    description: text(),
    /** SHA-256 of the value, hex. */
    digest: text().notNull(),
    refresh_digest: text(),
    /** The encrypted value of an impersonation token, which can be shown again (CR-7, T-4). */
    sealed: text(),
    scopes: text().array().notNull(),
    revoked: boolean().notNull().default(false),
    /** Valid until 00:00 UTC of this day (CR-8). */
    expires_at: date({ mode: 'string' }),
    /** Expiry of OAuth tokens, to the second. */
    valid_until: moment(),
    last_used_at: moment(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('tokens_digest_key').on(t.digest),
    uniqueIndex('tokens_refresh_digest_key').on(t.refresh_digest).where(sql`${t.refresh_digest} is not null`),
    index('tokens_user_id_idx').on(t.user_id, t.id),
    index('tokens_parent_id_idx').on(t.parent_id).where(sql`${t.parent_id} is not null`),
    index('tokens_application_id_idx').on(t.application_id, t.user_id).where(sql`${t.application_id} is not null`),
  ],
)

/** A mailed link, which confirms an address or sets a password once (ML-20). */
export const accountLinks = pgTable(
  'account_links',
  {
    id: id(),
    digest: text().notNull(),
    purpose: text({ enum: ['confirm', 'reset'] }).notNull(),
    user_id: owner(),
    /** The address that it was sent to. */
    email: text().notNull(),
    /** The id of the job that sent it; a repeated run of the job replaces its link. */
    job_id: ref().notNull(),
    expires_at: moment().notNull(),
    created_at: moment().notNull(),
  },
  (t) => [uniqueIndex('account_links_digest_key').on(t.digest), index('account_links_user_id_idx').on(t.user_id, t.purpose)],
)

/** A browser in which a user is signed in, or has given the password and not yet the second factor (WB-10). */
export const sessions = pgTable(
  'sessions',
  {
    id: id(),
    user_id: owner(),
    /** SHA-256 of the value of the cookie, hex. */
    digest: text().notNull(),
    /** Of the last use. */
    address: text().notNull(),
    user_agent: text().notNull(),
    /** The user asked to stay signed in for two weeks. */
    remembered: boolean().notNull().default(false),
    awaits_second_factor: boolean().notNull().default(false),
    /** The user sets up a demanded second factor later (WB-24). */
    second_factor_skipped: boolean().notNull().default(false),
    /** The provider that the user signed in with; null: here. */
    provider: text(),
    /** Whom the administrator acts as (WB-203). */
    impersonates_id: ref().references(() => users.id, { onDelete: 'set null' }),
    created_at: moment().notNull(),
    /** To the minute. */
    last_used_at: moment().notNull(),
  },
  (t) => [
    uniqueIndex('sessions_digest_key').on(t.digest),
    index('sessions_user_id_idx').on(t.user_id, t.id),
    index('sessions_last_used_at_idx').on(t.last_used_at),
    index('sessions_impersonates_id_idx').on(t.impersonates_id).where(sql`${t.impersonates_id} is not null`),
  ],
)

/** A browser that was sent to an OpenID provider and is to come back, once, with this state (WB-42). */
export const signOnRequests = pgTable(
  'sign_on_requests',
  {
    id: id(),
    /** SHA-256 of the state, hex. */
    digest: text().notNull(),
    provider: text().notNull(),
    /** SHA-256 of the cookie that the forms of the browser are tied to, hex. */
    browser_digest: text().notNull(),
    /** Of the client; few requests of one address wait at a time. */
    address: text().notNull(),
    return_to: text().notNull(),
    expires_at: moment().notNull(),
  },
  (t) => [
    uniqueIndex('sign_on_requests_digest_key').on(t.digest),
    index('sign_on_requests_address_idx').on(t.address, t.id),
    index('sign_on_requests_expires_at_idx').on(t.expires_at),
  ],
)

/** The secret of an authenticator application, which shows a code every 30 seconds (TOTP). */
export const otpSecrets = pgTable('otp_secrets', {
  user_id: ref()
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  /** Encrypted. */
  sealed: text().notNull(),
  /** The period of the last code that was accepted, in units of 30 seconds since 1970: no code works twice. */
  last_period: integer().notNull().default(0),
  created_at: moment().notNull(),
})

/** Codes that stand for the second factor once each. */
export const recoveryCodes = pgTable('recovery_codes', { user_id: owner(), /** SHA-256, hex. */ digest: text().notNull() }, (t) => [
  primaryKey({ columns: [t.user_id, t.digest] }),
])

/** A security key or a passkey (WebAuthn). */
export const webauthnKeys = pgTable(
  'webauthn_keys',
  {
    id: id(),
    user_id: owner(),
    name: text().notNull(),
    /** Of the credential, base64url. */
    credential_id: text().notNull(),
    /** COSE, base64url. */
    public_key: text().notNull(),
    /** Signatures that the key has made, as far as it counts them: a lower number comes from a copy. */
    counter: ref().notNull(),
    transports: text().array().notNull(),
    created_at: moment().notNull(),
    last_used_at: moment(),
  },
  (t) => [uniqueIndex('webauthn_keys_credential_id_key').on(t.credential_id), index('webauthn_keys_user_id_idx').on(t.user_id, t.id)],
)

/** A program that asks users for access in their name (OAuth 2). */
export const oauthApplications = pgTable(
  'oauth_applications',
  {
    id: id(),
    /** The `client_id`. */
    uid: text().notNull(),
    /** SHA-256 of the `client_secret`, hex. */
    secret_digest: text().notNull(),
    name: text().notNull(),
    redirect_uris: text().array().notNull(),
    /** What it may ask for. */
    scopes: text().array().notNull(),
    /** It keeps its secret; one that cannot needs PKCE. */
    confidential: boolean().notNull().default(true),
    /** Users are not asked. */
    trusted: boolean().notNull().default(false),
    /** Null for one that an administrator has registered for the whole service. */
    owner_id: ref().references(() => users.id, { onDelete: 'cascade' }),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [
    uniqueIndex('oauth_applications_uid_key').on(t.uid),
    index('oauth_applications_owner_id_idx').on(t.owner_id, t.id).where(sql`${t.owner_id} is not null`),
  ],
)

const application = () =>
  ref()
    .notNull()
    .references(() => oauthApplications.id, { onDelete: 'cascade' })

/** What a user has allowed an application, which is not asked for again. */
export const oauthGrants = pgTable(
  'oauth_grants',
  {
    user_id: owner(),
    application_id: application(),
    scopes: text().array().notNull(),
    created_at: moment().notNull(),
    updated_at: moment().notNull(),
  },
  (t) => [primaryKey({ columns: [t.user_id, t.application_id] }), index('oauth_grants_application_id_idx').on(t.application_id)],
)

/** An authorization code, which an application exchanges for a token once. It is kept until it expires, to notice a second use. */
export const oauthCodes = pgTable(
  'oauth_codes',
  {
    id: id(),
    /** SHA-256, hex. */
    digest: text().notNull(),
    user_id: owner(),
    application_id: application(),
    redirect_uri: text().notNull(),
    scopes: text().array().notNull(),
    /** PKCE, S256. */
    challenge: text(),
    nonce: text(),
    /** When the user signed in. */
    signed_in_at: moment().notNull(),
    expires_at: moment().notNull(),
    used: boolean().notNull().default(false),
    /** What it was exchanged for. */
    token_id: ref().references(() => tokens.id, { onDelete: 'set null' }),
  },
  (t) => [
    uniqueIndex('oauth_codes_digest_key').on(t.digest),
    index('oauth_codes_user_id_idx').on(t.user_id, t.id),
    index('oauth_codes_application_id_idx').on(t.application_id),
    index('oauth_codes_token_id_idx').on(t.token_id).where(sql`${t.token_id} is not null`),
    index('oauth_codes_expires_at_idx').on(t.expires_at),
  ],
)

/** A key that id_tokens are signed with. */
export const oauthKeys = pgTable('oauth_keys', {
  /** Of the public key, as applications see it: its thumbprint (RFC 7638). */
  kid: text().primaryKey(),
  /** The public key as JSON (JWK). */
  public_jwk: text().notNull(),
  /** The private key, encrypted. */
  sealed: text().notNull(),
  created_at: moment().notNull(),
})
