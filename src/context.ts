import type { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import type { input, ZodType } from 'zod'
import type { Caller, SignedIn } from './access/actor.js'
import type { RequestLimit } from './access/request-limit.js'
import type { Throttle } from './access/throttle.js'
import type { Config } from './config.js'
import type { Database, Transaction } from './db/client.js'
import type { MergeIntent } from './db/schema/index.js'
import type { Git, GitRepository, Oid, RefUpdate } from './git/types.js'
import type { RenderedCache } from './http/rendered-cache.js'
import type { JobOptions } from './jobs/enqueue.js'
import type { Jobs } from './jobs/jobs.js'
import type { Job } from './jobs/kinds.js'
import type { KeyedMutex } from './lib/async/keyed-mutex.js'
import type { Slices } from './lib/async/slices.js'
import type { Argon2 } from './lib/crypto/argon2.js'
import type { Encryption } from './lib/crypto/encryption.js'
import type { Source } from './lib/crypto/random.js'
import type { FileCache } from './lib/files/file-cache.js'
import type { ObjectStore } from './lib/files/object-store.js'
import type { Mailer } from './lib/mailer.js'
import type { PipelineState } from './lib/pipeline-states.js'
import type { Links } from './links.js'
import type { Metrics } from './metrics.js'
import type { ListCache } from './services/core/list-cache.js'
import type { SettingsCache } from './services/core/settings-cache.js'
import type { Settings } from './services/core/settings-table.js'
import type { StorageWatch } from './services/core/storage-watch.js'

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

type Enqueue = <Input extends ZodType>(job: Job<Context, Input>, input: input<Input>, options?: JobOptions) => void

/** Refs of a repository have moved. */
export interface PushEvent {
  projectId: number
  moves: RefUpdate[]
  /** The row of `ref_intents`; null where there is none. */
  intent: number | null
  /** What the moves merged. */
  merge: MergeIntent | null
  /** Who moved them, unless they are gone meanwhile. */
  actor(): Promise<number | null>
  repository(): Promise<GitRepository | null>
  /** Enqueues a job in the transaction that ends the intent. */
  enqueue: Enqueue
}

/** A commit has got a status. */
export interface StatusEvent {
  caller: SignedIn
  projectId: number
  sha: Oid
  pipeline: number
  status: PipelineState
}

/** A membership has ended. */
export interface MemberRemovedEvent {
  tx: Transaction
  userId: number
  /** Of the one of the two that they were a member of. */
  project_id: number | null
  namespace_id: number | null
}

type EventListener<Event> = (ctx: Context, event: Event) => Promise<void>

/**
 * What happens in one room and follows in rooms above it, which it does not know; filled where the application is
 * wired.
 */
export interface EventListeners {
  /** Before the answer, at once, and again until all succeed: a second time must change nothing. */
  push: EventListener<PushEvent>[]
  /** Before the answer. */
  status: EventListener<StatusEvent>[]
  /** In the transaction that ends the membership. */
  memberRemoved: EventListener<MemberRemovedEvent>[]
}

/** All that code reaches beyond its arguments. */
export interface Context extends Source {
  config: Config
  db: Database
  git: Git
  /** Where the objects of Git LFS lie. */
  lfs: ObjectStore
  jobs: Jobs
  /** Null: no mail is sent (ML-1). */
  mailer: Mailer | null
  listeners: EventListeners
  links: Links
  /** Archives of repositories that were asked for. */
  archives: FileCache
  /** What lists have rendered before. */
  renderedCache: RenderedCache
  listCache: ListCache
  throttle: Throttle
  /** Processes like this one that serve on this machine and share its limits, this one included. */
  workers: number
  /** Hashes passwords. */
  argon2: Argon2
  /** Takes turns for long work on the event loop. */
  slices: Slices
  /** Work that should not run twice at a time. */
  mutex: KeyedMutex
  requestLimit: RequestLimit
  /** The callers of recent tokens, by digest: guesses that each call verifies. */
  recentCallers: LRUCache<string, SignedIn>
  /** Addresses that users were admitted from a moment ago. */
  admittedAddresses: LRUCache<string, number>
  settingsCache: SettingsCache
  /** Which storages fail; looks while it is started. */
  storages: StorageWatch
  /** The settings in force, at most a second old. */
  settings(): Promise<Settings>
  /** The address of the avatar service with `%{hash}` in it, while the settings have it on (G-83). */
  avatarService(): Promise<string | null>
  /** Ref intents of this process: refs are being moved, or that was cut short and the intent is to be settled. */
  intents: Map<number, 'moving' | 'abandoned'>
  encryption: Encryption
  metrics: Metrics
  log: Logger
  /** Set while a call is answered (see `during`); absent in work of the service's own. */
  origin?: Origin
  revision: string
  /** Fires when the service ends: long work stops, and is begun anew by whoever takes its job. */
  stopping: AbortSignal
  /** Waits for background work, then ends all git processes; the database is its opener's to close. */
  close(): Promise<void>
}

/** The same context for the length of one call, which knows the call. */
export const withOrigin = (ctx: Context, origin: Origin): Context => Object.assign(Object.create(ctx) as Context, { origin })
