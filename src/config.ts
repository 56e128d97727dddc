import { availableParallelism, homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { databaseUrlFault } from './db/server-urls.js'
import type { BucketSetting } from './lib/files/object-bucket.js'
import type { ImapSetting } from './lib/mail/imap.js'
import type { MailSetting } from './lib/mailer.js'
import { isNetwork } from './lib/networks.js'
import { StartFault } from './lib/start-fault.js'
import { withoutTrailing } from './lib/text/without-trailing.js'
import { parseUrl } from './lib/url.js'
import { emailFault } from './rules/email.js'
import { NO_SIGN_ON, readSignOn, type SignOnConfig, SignOnFault } from './sign-on-config.js'

/** An environment variable has an invalid value; the message names the variable. */
export class ConfigFault extends StartFault {
  override name = 'ConfigFault'
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
const MEBIBYTE = 1024 * 1024
const BODY_MEMORY = 256 * MEBIBYTE
const MAX_WORKERS = 64

/** An integer in decimal digits. */
const int = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'is not a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `is not between ${min} and ${max}`)

const flag = z
  .enum(['true', 'false', '1', '0', 'yes', 'no', 'on', 'off'], 'is neither true nor false')
  .transform((value) => ['true', '1', 'yes', 'on'].includes(value))

const absoluteUrl = (protocols: string[], what: string) =>
  z.string().refine((value) => protocols.includes(parseUrl(value)?.protocol ?? ''), `is not ${what}`)

const hostName = z.string().regex(/^[A-Za-z0-9.:_-]+$/, 'is not a host name or address')

/** The port if SSH_PORT is not set; SSH is off if it is taken. */
const DEFAULT_SSH_PORT = 2222

const Environment = z.object({
  HOST: hostName.default('127.0.0.1'),
  PORT: int(0, 65_535).default(8080),
  SSH_PORT: int(0, 65_535).optional(),
  SSH_HOST: hostName.optional(),
  SSH_PUBLIC_HOST: hostName.optional(),
  SSH_PUBLIC_PORT: int(1, 65_535).optional(),
  BASE_URL: absoluteUrl(['http:', 'https:'], 'an http or https URL')
    .refine((value) => !/[?#@]/.test(value), 'has a query, a fragment or a user')
    .transform((value) => withoutTrailing(value, '/'))
    .optional(),
  DATA_DIR: z.string().default('./data'),
  DATABASE_URL: z
    .string()
    .superRefine((value, given) => {
      const fault = databaseUrlFault(value)
      if (fault !== null) given.addIssue(fault)
    })
    .optional(),
  ROOST_DATABASE_POOL: int(1, 200).default(8),
  ROOST_DATABASE_UNNAMED_STATEMENTS: flag.default(false),
  ROOST_ADMIN_USERNAME: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,253}[A-Za-z0-9_-]$/, 'is not a user name')
    .default('root'),
  ROOST_ADMIN_EMAIL: z
    .string()
    .regex(/^[^\s@]+@[^\s@]+$/, 'is not an e-mail address')
    .default('admin@example.com'),
  ROOST_ADMIN_PASSWORD: z.string().min(8, 'is shorter than 8 characters').max(128, 'is longer than 128 characters').optional(),
  ROOST_ADMIN_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{20,255}$/, 'is not 20 to 255 printable ASCII characters')
    .optional(),
  ROOST_FAILED_CREDENTIALS: int(0, 1_000_000).default(10),
  ROOST_FAILED_CREDENTIALS_WINDOW: int(1, 86_400).default(180),
  ROOST_FAILED_CREDENTIALS_DELAY: int(0, 60_000).default(1_000),
  ROOST_ARGON2_MEMORY: int(8, 4 * 1024 * 1024).default(19_456),
  ROOST_ARGON2_PASSES: int(1, 1_000).default(2),
  ROOST_REQUESTS_PER_USER: int(0, 1_000_000_000).default(0),
  ROOST_REQUESTS_PER_ADDRESS: int(0, 1_000_000_000).default(0),
  ROOST_REQUESTS_WINDOW: int(1, 86_400).default(60),
  ROOST_SECRET_KEY: z.string().min(32, 'is shorter than 32 characters').max(1_024, 'is longer than 1024 characters').optional(),
  ROOST_NEW_SECRET_KEY: z.string().min(32, 'is shorter than 32 characters').max(1_024, 'is longer than 1024 characters').optional(),
  LOG_LEVEL: z.enum(LOG_LEVELS, `is not one of ${LOG_LEVELS.join(', ')}`).default('info'),
  LFS_STORAGE: z
    .string()
    .regex(/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9!_.*'()/-]*)?$/, 'is not of the form s3://bucket or s3://bucket/prefix')
    .optional(),
  AWS_REGION: z.string().optional(),
  AWS_DEFAULT_REGION: z.string().optional(),
  AWS_ENDPOINT_URL_S3: z.string().optional(),
  AWS_ENDPOINT_URL: z.string().optional(),
  AWS_ACCESS_KEY_ID: z.string().optional(),
  AWS_SECRET_ACCESS_KEY: z.string().optional(),
  AWS_SESSION_TOKEN: z.string().optional(),
  STORAGES: z
    .string()
    .transform((value) => value.split(',').map((pair) => pair.trim()))
    .refine((pairs) => pairs.every((pair) => /^[A-Za-z0-9_-]{1,64}=./.test(pair)), 'is not a list of name=path')
    .refine((pairs) => new Set(pairs.map((pair) => pair.split('=')[0])).size === pairs.length, 'has a name twice')
    .optional(),
  ROOST_VERSION: z
    .string()
    .regex(/^\d+\.\d+\.\d[A-Za-z0-9.+-]*$/, 'is not of the form 13.12.0')
    .default('13.12.0'),
  ROOST_REVISION: z
    .string()
    .regex(/^[0-9a-f]{7,40}$/, 'is not a commit id')
    .default('unknown'),
  ROOST_DEFAULT_BRANCH: z
    .string()
    .regex(/^(?!-)(?!.*(\.\.|@\{|\/\/|\.lock(\/|$)))(?!.*(^|\/)\.)[^\s~^:?*[\\\p{Cc}]{1,244}(?<![./])$/u, 'is not a branch name')
    .default('main'),
  ROOST_AVATAR_SERVICE: absoluteUrl(['http:', 'https:'], 'an http or https URL')
    .refine((value) => value.includes('%{hash}'), 'does not say where the digest of the address goes: %{hash}')
    .optional(),
  ROOST_SPAM_FILTER_URL: z
    .string()
    .refine((value) => ['http:', 'https:'].includes(parseUrl(value.replaceAll('%{key}', 'key'))?.protocol ?? ''), 'is not an http or https URL')
    .default('https://%{key}.rest.akismet.com/1.1'),
  ROOST_CAPTCHA_URL: absoluteUrl(['http:', 'https:'], 'an http or https URL').optional(),
  ROOST_CAPTCHA_SCRIPT: absoluteUrl(['http:', 'https:'], 'an http or https URL').optional(),
  ROOST_CAPTCHA_CLASS: z.enum(['g-recaptcha', 'h-captcha', 'cf-turnstile'], 'is not g-recaptcha, h-captcha or cf-turnstile').default('g-recaptcha'),
  ROOST_CAPTCHA_SOURCES: z
    .string()
    .transform((value) => value.split(',').map((source) => source.trim()))
    .refine((sources) => sources.every((source) => /^https?:\/\/[A-Za-z0-9.*-]+(:\d{1,5})?$/.test(source)), 'is not a list of origins')
    .optional(),
  ROOST_TRUSTED_PROXIES: z
    .string()
    .transform((value) => value.split(',').map((proxy) => proxy.trim()))
    .refine((proxies) => proxies.every((proxy) => /^[0-9A-Fa-f.:]+(\/\d{1,3})?$/.test(proxy)), 'is not a list of addresses or networks')
    .optional(),
  // a parsed body is one string, and V8 limits strings to half a GiB
  ROOST_MAX_BODY_BYTES: int(MEBIBYTE, 500 * MEBIBYTE).default(100 * MEBIBYTE),
  ROOST_BODY_MEMORY_BYTES: int(MEBIBYTE, Number.MAX_SAFE_INTEGER).optional(),
  ROOST_MAX_CONNECTIONS: int(10, 1_000_000).default(2_000),
  ROOST_MAX_PUSH_BYTES: int(0, Number.MAX_SAFE_INTEGER).default(0),
  ROOST_ARCHIVE_CACHE_BYTES: int(0, Number.MAX_SAFE_INTEGER).default(1024 * MEBIBYTE),
  ROOST_IMPERSONATION: flag.default(true),
  ROOST_ALLOW_LOCAL_REQUESTS: flag.default(false),
  ROOST_CI_REMOTE_INCLUDES: flag.default(true),
  ROOST_WORKERS: z
    .string()
    .regex(/^(auto|\d{1,3})$/, 'is neither a number nor auto')
    .transform((value) => (value === 'auto' ? Math.min(MAX_WORKERS, availableParallelism()) : Number(value)))
    .refine((value) => value >= 1 && value <= MAX_WORKERS, `is not between 1 and ${MAX_WORKERS}`)
    .default(1),
  ROOST_SIGN_ON: z.string().optional(),
  SMTP_URL: absoluteUrl(['smtp:', 'smtps:'], 'an smtp or smtps URL').optional(),
  MAIL_FROM: z
    .string()
    .max(500, 'is longer than 500 characters')
    .refine((value) => senderOf(value) !== null, 'is neither an e-mail address nor of the form: Name <address>')
    .optional(),
  ROOST_REPLY_ADDRESS: z
    .string()
    .regex(/^[A-Za-z0-9._+-]{0,10}%\{key\}[A-Za-z0-9._+-]{0,4}@[A-Za-z0-9.-]{1,200}$/, 'is not of the form reply+%{key}@example.com')
    .optional(),
  IMAP_URL: absoluteUrl(['imap:', 'imaps:'], 'an imap or imaps URL').optional(),
  METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{20,255}$/, 'is not 20 to 255 printable ASCII characters')
    .optional(),
  METRICS_ALLOWED: z
    .string()
    .transform((value) => value.split(',').map((entry) => entry.trim()))
    .refine((places) => places.every(isNetwork), 'is not a list of addresses or networks')
    .optional(),
})

/** Parses a sender, `Name <address>` or an address alone; null if it is invalid. */
function senderOf(text: string): MailSetting['from'] | null {
  const [, name = '', address = ''] = /^(?:([^<>]*)<([^<>]+)>|[^<>]+)$/.exec(text.trim()) ?? []
  const from = { name: name.trim().replace(/^"(.*)"$/, '$1'), address: address === '' ? text.trim() : address.trim() }
  return /\p{Cc}/u.test(text) || /[",;:\\()[\]]/.test(from.address) || emailFault(from.address) !== null ? null : from
}

export type Config = Readonly<{
  host: string
  /** Number of processes that serve. */
  workers: number
  /** 0: any free port. */
  port: number
  ssh: Readonly<{
    host: string
    /** Null: SSH is off; 0: any free port. */
    port: number | null
    /** Whether SSH_PORT is set: the start fails if the port is taken. */
    named: boolean
    /** Host of clone URLs, if it differs from that of the base URL. */
    publicHost: string | undefined
    publicPort: number | undefined
  }>
  /** Without a trailing slash; undefined: derived from the address listened on. */
  baseUrl: string | undefined
  /** Absolute. */
  dataDir: string
  /** Undefined for the embedded Postgres. */
  databaseUrl: string | undefined
  database: Readonly<{
    poolSize: number
    /** True behind a transaction pooler that does not support named prepared statements. */
    unnamedStatements: boolean
  }>
  admin: Readonly<{ username: string; email: string; password: string | undefined; token: string | undefined }>
  /** The secret that encryption keys are derived from; undefined: the one in the data folder. */
  secretKey: string | undefined
  /** The secret that `roost secret rotate` puts in its place. */
  newSecretKey: string | undefined
  logLevel: (typeof LOG_LEVELS)[number]
  /** The bucket of Git LFS objects; undefined: they are in the data folder. */
  lfsBucket: Readonly<BucketSetting> | undefined
  /** The mail server; undefined: no mail is sent (ML-1). */
  mail: Readonly<MailSetting> | undefined
  /** The address that answers to mails go to, before and after the key, and the mailbox that has them; undefined: there are no answers. */
  replies: Readonly<{ before: string; after: string; mailbox: Readonly<ImapSetting> | undefined }> | undefined
  /** Name → absolute path; never empty. */
  storages: Readonly<Record<string, string>>
  /** The version in `GET /version` (VE-6). */
  version: string
  /** The commit that this program was built from, for `GET /version`. */
  revision: string
  defaultBranch: string
  /** The URL template of avatars, with `%{hash}` for the MD5 of the e-mail address; undefined: none. */
  avatarService: string | undefined
  /** Where the spam filter is asked; `%{key}` stands for its key. */
  spamFilter: string
  /** The captcha of sign-up: where answers are checked, its script and element, and the origins that its page loads from. */
  captcha: Readonly<{ url: string; script: string; widget: string; sources: readonly string[] }> | undefined
  /** Addresses and networks whose X-Forwarded headers are trusted; empty: none. */
  trustedProxies: readonly string[]
  limits: Readonly<{
    /** Maximum bytes of a body with files, such as an API commit; other bodies are limited to 8 MiB (SEC-71). */
    bodyBytes: number
    /** Maximum bytes in memory of all request bodies above 64 KiB (SEC-71). */
    bodyMemory: number
    /** Maximum open connections (SEC-142). */
    connections: number
    /** Maximum bytes of a pushed pack; 0: the default of the transport (GH-24). */
    pushBytes: number
    /** Size of the archive cache on disk, in bytes; 0: no cache (RE-13). */
    archiveBytes: number
  }>
  /**
   * Who may read `/-/metrics`: clients with the token, or from these addresses and networks; neither: none (SEC-169).
   */
  metrics: Readonly<{ token: string | undefined; allowed: readonly string[] }>
  /** Whether webhooks and imports may call local addresses and private networks (SEC-138). */
  allowLocalRequests: boolean
  /** Whether `.gitlab-ci.yml` may include files of other servers (CI-60). */
  ciRemoteIncludes: boolean
  /** Whether administrators may act as other users, by pages and by impersonation tokens. */
  impersonation: boolean
  /**
   * How many wrong passwords an address may send for one account in a window, in seconds; three times as many invalid
   * credentials in total; 0 attempts: no limit. Refusals are sent after `delay` milliseconds (SEC-26).
   */
  failedCredentials: Readonly<{ attempts: number; window: number; delay: number }>
  /** Where people may sign in beside here (WB-40). */
  signOn: SignOnConfig
  /** The cost of hashing a password: memory in KiB, and passes (SEC-25). */
  argon2: Readonly<{ memory: number; passes: number }>
  /**
   * How many requests a user, and an address without a credential, may make in a window, in seconds; 0: no limit
   * (SEC-148).
   */
  requests: Readonly<{ user: number; anonymous: number; window: number }>
}>

/**
 * Reads and checks the environment once; an empty variable counts as absent, except SSH_PORT. Throws ConfigFault with
 * one line that names the first invalid variable.
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const env = parseEnvironment(environment)
  const bodyMemory = env.ROOST_BODY_MEMORY_BYTES ?? Math.max(BODY_MEMORY, env.ROOST_MAX_BODY_BYTES)
  if (bodyMemory < env.ROOST_MAX_BODY_BYTES) throw new ConfigFault('ROOST_BODY_MEMORY_BYTES is smaller than ROOST_MAX_BODY_BYTES')
  const dataDir = resolve(env.DATA_DIR)
  return Object.freeze({
    host: env.HOST,
    workers: env.ROOST_WORKERS,
    port: env.PORT,
    ssh: Object.freeze({
      host: env.SSH_HOST ?? env.HOST,
      // for this variable, empty differs from absent
      port: environment['SSH_PORT'] === '' ? null : (env.SSH_PORT ?? DEFAULT_SSH_PORT),
      named: env.SSH_PORT !== undefined,
      publicHost: env.SSH_PUBLIC_HOST,
      publicPort: env.SSH_PUBLIC_PORT,
    }),
    baseUrl: env.BASE_URL,
    dataDir,
    databaseUrl: env.DATABASE_URL,
    database: Object.freeze({ poolSize: env.ROOST_DATABASE_POOL, unnamedStatements: env.ROOST_DATABASE_UNNAMED_STATEMENTS }),
    admin: Object.freeze({
      username: env.ROOST_ADMIN_USERNAME,
      email: env.ROOST_ADMIN_EMAIL,
      password: env.ROOST_ADMIN_PASSWORD,
      token: env.ROOST_ADMIN_TOKEN,
    }),
    secretKey: env.ROOST_SECRET_KEY,
    newSecretKey: env.ROOST_NEW_SECRET_KEY,
    logLevel: env.LOG_LEVEL,
    lfsBucket: bucketOf(env),
    mail: mailOf(env),
    replies: repliesOf(env),
    storages: storagesOf(env, dataDir),
    version: env.ROOST_VERSION,
    revision: env.ROOST_REVISION,
    defaultBranch: env.ROOST_DEFAULT_BRANCH,
    avatarService: env.ROOST_AVATAR_SERVICE,
    spamFilter: env.ROOST_SPAM_FILTER_URL,
    captcha: captchaOf(env),
    trustedProxies: Object.freeze(env.ROOST_TRUSTED_PROXIES ?? []),
    limits: Object.freeze({
      bodyBytes: env.ROOST_MAX_BODY_BYTES,
      bodyMemory,
      connections: env.ROOST_MAX_CONNECTIONS,
      pushBytes: env.ROOST_MAX_PUSH_BYTES,
      archiveBytes: env.ROOST_ARCHIVE_CACHE_BYTES,
    }),
    metrics: Object.freeze({ token: env.METRICS_TOKEN, allowed: Object.freeze(env.METRICS_ALLOWED ?? []) }),
    allowLocalRequests: env.ROOST_ALLOW_LOCAL_REQUESTS,
    ciRemoteIncludes: env.ROOST_CI_REMOTE_INCLUDES,
    impersonation: env.ROOST_IMPERSONATION,
    failedCredentials: Object.freeze({
      attempts: env.ROOST_FAILED_CREDENTIALS,
      window: env.ROOST_FAILED_CREDENTIALS_WINDOW,
      delay: env.ROOST_FAILED_CREDENTIALS_DELAY,
    }),
    signOn: signOnOf(env, environment),
    argon2: Object.freeze({ memory: env.ROOST_ARGON2_MEMORY, passes: env.ROOST_ARGON2_PASSES }),
    requests: Object.freeze({ user: env.ROOST_REQUESTS_PER_USER, anonymous: env.ROOST_REQUESTS_PER_ADDRESS, window: env.ROOST_REQUESTS_WINDOW }),
  })
}

/** Variables with these prefixes are meant for this service. */
const OWN_PREFIXES = /^(?:ROOST|METRICS|SMTP|IMAP|LFS)_/

/** Variables that start with such a prefix but belong to the test server and its clients (docs/testing.md). */
const OF_TESTS = /^ROOST_(?:TEST_|PROGRAM$)/

const lettersOf = (name: string) => name.replaceAll('_', '').toUpperCase()

/** What an administrator should know about the environment, though it is valid; a line each. */
export function configWarnings(config: Config, environment: NodeJS.ProcessEnv = process.env): string[] {
  const known = Object.keys(Environment.shape)
  const byLetters = new Map(known.map((name) => [lettersOf(name), name]))
  const warnings = Object.keys(environment).flatMap((name) => {
    if (known.includes(name) || OF_TESTS.test(name)) return []
    const meant = byLetters.get(lettersOf(name))
    if (meant === undefined && !OWN_PREFIXES.test(name)) return []
    return [`${name} is no setting of this version and has no effect${meant === undefined ? '' : `; ${meant} is meant`}`]
  })
  if (config.baseUrl === undefined && ['0.0.0.0', '::'].includes(config.host))
    warnings.push('HOST serves other machines, but links in answers and mails say localhost: set BASE_URL to the address that clients use')
  return warnings
}

function parseEnvironment(environment: NodeJS.ProcessEnv): z.output<typeof Environment> {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))
  const parsed = Environment.safeParse(given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new ConfigFault(`${String(issue?.path[0])} ${issue?.message}`)
}

function signOnOf({ ROOST_SIGN_ON: path }: z.output<typeof Environment>, environment: NodeJS.ProcessEnv): SignOnConfig {
  try {
    return path === undefined ? NO_SIGN_ON : readSignOn(path, environment)
  } catch (error) {
    if (error instanceof SignOnFault) throw new ConfigFault(`ROOST_SIGN_ON ${error.message}`)
    throw error
  }
}

/** The directories of the storages by name: those that `STORAGES` names, or one in the data directory. */
function storagesOf({ STORAGES: given }: z.output<typeof Environment>, dataDir: string): Config['storages'] {
  const pairs = given ?? [`default=${resolve(dataDir, 'repositories')}`]
  return Object.freeze(
    Object.fromEntries(
      pairs.map((pair) => {
        const at = pair.indexOf('=')
        return [pair.slice(0, at), resolve(pair.slice(at + 1))]
      }),
    ),
  )
}

/** The bucket of `LFS_STORAGE`, with region, endpoint and credentials from the AWS variables. */
function bucketOf(env: z.output<typeof Environment>): Config['lfsBucket'] {
  const { LFS_STORAGE: named, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: sessionToken } = env
  if (named === undefined) return undefined
  const [bucket = '', ...prefix] = named.slice('s3://'.length).split('/').filter(Boolean)
  const endpoint = env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL
  if (endpoint !== undefined && !(parseUrl(endpoint) && /^https?:/.test(endpoint)))
    throw new ConfigFault(`${env.AWS_ENDPOINT_URL_S3 === undefined ? 'AWS_ENDPOINT_URL' : 'AWS_ENDPOINT_URL_S3'} is not an http or https URL`)
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined))
    throw new ConfigFault('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are needed together')
  return Object.freeze({
    bucket,
    prefix: prefix.map((part) => `${part}/`).join(''),
    region: env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? 'us-east-1',
    endpoint,
    credentials:
      accessKeyId === undefined || secretAccessKey === undefined
        ? undefined
        : { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
  })
}

/** Options of SMTP_URL, named as in nodemailer; each is true or false. */
const SMTP_OPTIONS = ['requireTLS', 'ignoreTLS', 'tls.rejectUnauthorized']

/** The server that `SMTP_URL` names, and the sender. */
function captchaOf(env: z.output<typeof Environment>): Config['captcha'] {
  const { ROOST_CAPTCHA_URL: url, ROOST_CAPTCHA_SCRIPT: script, ROOST_CAPTCHA_CLASS: widget, ROOST_CAPTCHA_SOURCES: more = [] } = env
  if (url === undefined && script === undefined) return undefined
  if (url === undefined) throw new ConfigFault('ROOST_CAPTCHA_SCRIPT is set, and ROOST_CAPTCHA_URL is not')
  if (script === undefined) throw new ConfigFault('ROOST_CAPTCHA_URL is set, and ROOST_CAPTCHA_SCRIPT is not')
  return Object.freeze({ url, script, widget, sources: Object.freeze([new URL(script).origin, ...more]) })
}

function mailOf({ SMTP_URL: url, MAIL_FROM: sender }: z.output<typeof Environment>): Config['mail'] {
  if (url === undefined && sender === undefined) return undefined
  const from = sender === undefined ? null : senderOf(sender)
  if (url === undefined || from === null) throw new ConfigFault('SMTP_URL and MAIL_FROM are needed together')
  const { protocol, hostname, port, username, password, pathname, searchParams, hash } = new URL(url)
  if (hostname === '' || !['', '/'].includes(pathname) || hash !== '')
    throw new ConfigFault('SMTP_URL is not of the form smtp://user:password@host:port')
  if (password !== '' && username === '') throw new ConfigFault('SMTP_URL has a password without a user')
  for (const [name, value] of searchParams) {
    if (!SMTP_OPTIONS.includes(name)) throw new ConfigFault(`SMTP_URL has an option other than ${SMTP_OPTIONS.join(', ')}`)
    if (!['true', 'false'].includes(value)) throw new ConfigFault(`SMTP_URL has an option that is neither true nor false: ${name}`)
  }
  const option = (name: string) => searchParams.get(name)
  const secure = protocol === 'smtps:'
  const ignoreTls = option('ignoreTLS') === 'true'
  let credentials: { user: string; password: string } | undefined
  try {
    if (username !== '') credentials = { user: decodeURIComponent(username), password: decodeURIComponent(password) }
  } catch {
    throw new ConfigFault('SMTP_URL has a user or password that is not percent-encoded')
  }
  // a password is not sent unencrypted unless the URL says so
  const requireTls = option('requireTLS') === null ? credentials !== undefined && !secure && !ignoreTls : option('requireTLS') === 'true'
  if (requireTls && ignoreTls) throw new ConfigFault('SMTP_URL has both requireTLS and ignoreTLS')
  const verify = option('tls.rejectUnauthorized') !== 'false'
  return Object.freeze({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (secure ? 465 : 25) : Number(port),
    secure,
    requireTls,
    ignoreTls,
    verify,
    credentials,
    from,
  })
}

/** Options of IMAP_URL. */
const IMAP_OPTIONS = ['ignoreTLS', 'tls.rejectUnauthorized', 'moveTo']

/** The address of answers, and the mailbox that `IMAP_URL` names. */
function repliesOf(env: z.output<typeof Environment>): Config['replies'] {
  const { ROOST_REPLY_ADDRESS: address, IMAP_URL: url, SMTP_URL } = env
  if (address === undefined) {
    if (url !== undefined) throw new ConfigFault('IMAP_URL is set, and ROOST_REPLY_ADDRESS is not')
    return undefined
  }
  if (SMTP_URL === undefined) throw new ConfigFault('ROOST_REPLY_ADDRESS is set, and SMTP_URL is not')
  const [before = '', after = ''] = address.split('%{key}')
  return Object.freeze({ before, after, mailbox: url === undefined ? undefined : imapOf(url) })
}

function imapOf(url: string): Readonly<ImapSetting> {
  const { protocol, hostname, port, username, password, pathname, searchParams, hash } = new URL(url)
  if (hostname === '' || username === '' || password === '' || hash !== '')
    throw new ConfigFault('IMAP_URL is not of the form imaps://user:password@host:port/folder')
  for (const [name, value] of searchParams) {
    if (!IMAP_OPTIONS.includes(name)) throw new ConfigFault(`IMAP_URL has an option other than ${IMAP_OPTIONS.join(', ')}`)
    if (name !== 'moveTo' && !['true', 'false'].includes(value))
      throw new ConfigFault(`IMAP_URL has an option that is neither true nor false: ${name}`)
  }
  const secure = protocol === 'imaps:'
  try {
    return Object.freeze({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? (secure ? 993 : 143) : Number(port),
      secure,
      // a password is not sent unencrypted unless the URL says so
      ignoreTls: searchParams.get('ignoreTLS') === 'true',
      verify: searchParams.get('tls.rejectUnauthorized') !== 'false',
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      folder: decodeURIComponent(pathname.slice(1)) || 'INBOX',
      moveTo: searchParams.get('moveTo') || undefined,
    })
  } catch {
    throw new ConfigFault('IMAP_URL has a user, password or folder that is not percent-encoded')
  }
}

/** What an OpenSSH server passes to its forced command. */
export interface SshRequest {
  /** Empty for a shell. */
  command: string
  address: string
  protocol: string | undefined
}

export function readSshRequest(environment: NodeJS.ProcessEnv = process.env): SshRequest {
  return {
    command: environment['SSH_ORIGINAL_COMMAND'] ?? '',
    address: environment['SSH_CONNECTION']?.split(' ', 1)[0] ?? '',
    protocol: environment['GIT_PROTOCOL'],
  }
}

/** Environment variables that `roost test` reads; the rest of its configuration is fixed. */
const TEST_VARIABLES = /^(LOG_LEVEL|SMTP_URL|MAIL_FROM|ROOST_(VERSION|DEFAULT_BRANCH|ADMIN_.*|REQUESTS_.*|MAX_BODY_BYTES))$/

/** The configuration of a test server with its data in `folder`: no delays, and webhooks may call this machine. */
export function readTestConfig(
  { folder, port, ssh, token, password, secret }: { folder: string; port: number; ssh: boolean; token: string; password: string; secret?: string },
  environment: NodeJS.ProcessEnv = process.env,
): Config {
  return readConfig({
    LOG_LEVEL: 'error',
    ROOST_ADMIN_TOKEN: token,
    ROOST_ADMIN_PASSWORD: password,
    ...Object.fromEntries(Object.entries(environment).filter(([name, value]) => TEST_VARIABLES.test(name) && value !== '')),
    ...(secret !== undefined && { ROOST_SECRET_KEY: secret }),
    DATA_DIR: folder,
    PORT: String(port),
    SSH_PORT: ssh ? '0' : '',
    ROOST_ALLOW_LOCAL_REQUESTS: 'true',
    ROOST_FAILED_CREDENTIALS: '0',
    ROOST_FAILED_CREDENTIALS_DELAY: '0',
    ROOST_ARGON2_MEMORY: '8',
    ROOST_ARGON2_PASSES: '1',
  })
}

/** Sets what libraries take for the user's name and home, and leaves a temporary folder that is another user's. */
export function setUserVariables(user: { name: string; home: string } | undefined, keepTemporaryFolder: boolean): void {
  if (user) Object.assign(process.env, { USER: user.name, LOGNAME: user.name, HOME: user.home })
  // PAM may give root a temporary folder of its own
  if (!keepTemporaryFolder) for (const name of ['TMPDIR', 'TMP', 'TEMP']) delete process.env[name]
}

/** The cache folder of the user. */
export const cacheFolder = (environment: NodeJS.ProcessEnv = process.env): string =>
  join(environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'roost')
