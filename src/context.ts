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
import type { MarkdownThread } from './lib/text/markdown-thread.js'
import type { Links } from './links.js'
import type { Metrics } from './metrics.js'
import type { PipelineState } from './rules/pipeline-states.js'
import type { ListCache } from './services/core/list-cache.js'
import type { SettingsCache } from './services/core/settings-cache.js'
import type { Settings } from './services/core/settings-table.js'
import type { StorageWatch } from './services/core/storage-watch.js'

/** The API call that work is done for. */
export interface Origin {
  caller: Caller
  /** The address of the client. */
  address: string
  /** The User-Agent header, or empty. */
  userAgent: string
  requestId: string
  /** Waits until a response of several MiB may be held in memory, until it has been sent. Throws Unavailable. */
  holdLarge?: () => Promise<void>
}

type Enqueue = <Input extends ZodType>(job: Job<Context, Input>, input: input<Input>, options?: JobOptions) => void

/** Refs of a repository have moved. */
export interface PushEvent {
  projectId: number
  moves: RefUpdate[]
  /** The row of `ref_intents`; null where there is none. */
  intent: number | null
  /** The merge that the moves are part of. */
  merge: MergeIntent | null
  /** The id of the user who moved the refs; null if they have been removed. */
  actor(): Promise<number | null>
  repository(): Promise<GitRepository | null>
  /** Enqueues a job in the transaction that ends the intent. */
  enqueue: Enqueue
}

/** A commit status was posted. */
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
  /** One of the two is null. */
  project_id: number | null
  namespace_id: number | null
}

type EventListener<Event> = (ctx: Context, event: Event) => Promise<void>

/**
 * Event listeners, with which lower rooms notify rooms above them without importing them. Filled in
 * `cli/event-listeners.ts`.
 */
export interface EventListeners {
  /** Run before the response, concurrently, and retried until all succeed: they must be idempotent. */
  push: EventListener<PushEvent>[]
  /** Run before the response. */
  status: EventListener<StatusEvent>[]
  /** Run in the transaction that ends the membership. */
  memberRemoved: EventListener<MemberRemovedEvent>[]
}

/** The dependencies that services and routes share. */
export interface Context extends Source {
  config: Config
  db: Database
  git: Git
  /** The store of Git LFS objects. */
  lfs: ObjectStore
  jobs: Jobs
  /** Null if mail is not configured (ML-1). */
  mailer: Mailer | null
  /** Renders long texts. */
  markdown: MarkdownThread
  listeners: EventListeners
  links: Links
  /** Cache of repository archives. */
  archives: FileCache
  /** Cache of rendered list entries. */
  renderedCache: RenderedCache
  listCache: ListCache
  throttle: Throttle
  /** Number of processes that serve on this machine and share its limits, including this one. */
  workers: number
  /** Hashes passwords. */
  argon2: Argon2
  /** Schedules long CPU work in slices on the event loop. */
  slices: Slices
  /** Mutexes by key. */
  mutex: KeyedMutex
  requestLimit: RequestLimit
  /** Recent callers by token digest: predictions that each call verifies. */
  recentCallers: LRUCache<string, SignedIn>
  /** Addresses from which users were recently admitted. */
  admittedAddresses: LRUCache<string, number>
  settingsCache: SettingsCache
  /** Monitors the storages while it is started. */
  storages: StorageWatch
  /** The current settings, at most one second old. */
  settings(): Promise<Settings>
  /** The URL template of the avatar service, with `%{hash}`; null if the settings turn it off (G-83). */
  avatarService(): Promise<string | null>
  /** Ref intents of this process: refs are moving, or the move was interrupted and recovery must resolve the intent. */
  intents: Map<number, 'moving' | 'abandoned'>
  encryption: Encryption
  metrics: Metrics
  log: Logger
  /** Set during an API call (see `withOrigin`); undefined in background work. */
  origin?: Origin
  revision: string
  /** Fires when the service stops: long work stops, and the next process that claims its job starts it again. */
  stopping: AbortSignal
  /** Waits for background work, then ends all git processes. The opener closes the database. */
  close(): Promise<void>
}

/** A context for one API call. */
export const withOrigin = (ctx: Context, origin: Origin): Context => Object.assign(Object.create(ctx) as Context, { origin })
