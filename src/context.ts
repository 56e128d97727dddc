import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Caller } from './access/actor.js'
import { RequestLimit } from './access/request-limit.js'
import { Throttle } from './access/throttle.js'
import type { Config } from './config.js'
import type { Database } from './db/client.js'
import { openGit } from './git/repository.js'
import { TRANSPORT_LIMITS } from './git/transport.js'
import type { Git } from './git/types.js'
import { Fragments } from './http/fragments.js'
import { createJobs, type Jobs } from './jobs/queue.js'
import { Argon2 } from './lib/argon2.js'
import { ownSecret, type Vault, vaultOf } from './lib/vault.js'
import { type Links, linksFor } from './links.js'
import { holdsRepositories } from './services/repositories.js'
import { readSettings, type Settings } from './services/settings.js'
import { Totals } from './services/totals.js'

/** The call that a piece of work is done for. */
export interface Origin {
  caller: Caller
  /** Of the client. */
  address: string
  /** What its program calls itself; empty: nothing. */
  userAgent: string
  requestId: string
  /** Waits for a turn to have an answer of MiB in memory, which ends with the answer. Throws Unavailable. */
  holdLarge?: () => Promise<void>
}

/** All that code reaches beyond its arguments. */
export interface Context {
  config: Config
  db: Database
  git: Git
  jobs: Jobs
  links: Links
  /** What lists have rendered before. */
  fragments: Fragments
  totals: Totals
  throttle: Throttle
  /** Hashes passwords. */
  argon2: Argon2
  requestLimit: RequestLimit
  /** The settings in force, at most a second old. */
  settings(): Promise<Settings>
  /** The address of the avatar service with `%{hash}` in it, while the settings have it on (G-83). */
  avatarService(): Promise<string | null>
  /** Ref intents of this process: refs are being moved, or that was cut short and the intent is to be settled. */
  intents: Map<number, 'moving' | 'left'>
  /** For what is kept encrypted. */
  vault: Vault
  log: Logger
  /** Set while a call is answered (see `during`); absent in work of the service's own. */
  origin?: Origin
  /** Of the source this program was built from; empty when unknown. */
  revision: string
  now(): Date
  /** Fires when the service ends: what takes long stops and is taken up at the next start. */
  stopping: AbortSignal
  /** Waits for background work, then ends all git processes; the database is its opener's to close. */
  close(): Promise<void>
}

/** Puts the parts together; the configuration's address must be settled. */
export async function createContext(config: Config & { baseUrl: string }, db: Database, log: Logger): Promise<Context> {
  const hooks = join(config.dataDir, 'hooks')
  await mkdir(hooks, { recursive: true, mode: 0o700 })
  const git = openGit({
    storages: config.storages,
    hooks,
    shared: config.databaseUrl !== undefined,
    transport: { ...TRANSPORT_LIMITS, ...(config.limits.pushBytes > 0 && { packBytes: config.limits.pushBytes }) },
    onFault: (fault, key) => log.error({ err: fault, repository: key }, 'a repository is missing or cannot be read'),
  })
  const now = () => new Date()
  const argon2 = new Argon2()
  const stop = new AbortController()
  const jobs = createJobs({
    onFault: (fault, name) => log.error({ err: fault, job: name }, 'background work failed'),
    onRetry: (fault, name, wait) => log.debug({ err: fault, job: name, wait }, 'background work is tried again'),
  })
  const ctx: Context = {
    config,
    db,
    git,
    jobs,
    links: linksFor(config.baseUrl),
    fragments: new Fragments(),
    totals: new Totals(),
    throttle: new Throttle(config.failedCredentials.attempts, config.failedCredentials.window, now),
    argon2,
    requestLimit: new RequestLimit(config.requests, now),
    intents: new Map(),
    vault: vaultOf(config.secretKey ?? (await ownSecret(config.dataDir))),
    log,
    revision: config.revision,
    now,
    stopping: stop.signal,
    settings: () => readSettings(ctx),
    async avatarService() {
      return config.avatarService !== undefined && (await ctx.settings()).avatarsvc_enabled ? config.avatarService : null
    },
    async close() {
      stop.abort(new Error('the service is stopping'))
      await jobs.drain()
      await Promise.all([git.close(), argon2.close()])
    },
  }
  for (const storage of await git.claimStorages((name) => holdsRepositories(db, name)))
    log.error({ storage, path: config.storages[storage] }, 'a storage should hold repositories and is empty: is its disk mounted?')
  return ctx
}

/** The same context for the length of one call, which knows the call. */
export const during = (ctx: Context, origin: Origin): Context => Object.assign(Object.create(ctx) as Context, { origin })
