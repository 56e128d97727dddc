import type { LRUCache } from 'lru-cache'
import type { Configuration } from 'openid-client'
import type { Logger } from 'pino'
import type { input, ZodType } from 'zod'
import type { Caller, SignedIn } from './access/actor.js'
import type { AccessState } from './access/state.js'
import type { Config } from './config.js'
import type { Database, Transaction } from './db/client.js'
import type { MergeIntent } from './db/schema/index.js'
import type { LastChangesWalk } from './git/history/last-changes-walk.js'
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
import type { Highlighter } from './lib/text/highlight/highlighter.js'
import type { MarkdownThread } from './lib/text/markdown-thread.js'
import type { Links } from './links.js'
import type { Metrics } from './metrics.js'
import type { PipelineState } from './rules/pipeline-states.js'
import type { CiCompiler } from './services/ci/compiler.js'
import type { ExternalPictures } from './services/core/external-pictures.js'
import type { ListCache } from './services/core/list-cache.js'
import type { SettingsCache } from './services/core/settings-cache.js'

/** The API call that work is done for. */
export interface Origin {
  caller: Caller
  /** The address of the client. */
  address: string
  /** The User-Agent header, or empty. */
  userAgent: string
  requestId: string
  /** An administrator has read the text and releases it: the spam filter is not asked again. */
  released?: boolean
  /** Waits until a response of several MiB may be held in memory, until it has been sent. Throws Unavailable. */
  holdLarge?: () => Promise<void>
}

type Enqueue = <Input extends ZodType>(job: Job<Context, Input>, input: input<Input>, options?: JobOptions) => void

/** An update of a project's ref. */
export interface Move extends RefUpdate {
  /** The pusher wants no CI to run for it (PO-9). */
  skip_ci?: boolean | undefined
  /** It makes no pipeline at all, as what a mirror brings (PM-24). */
  without_ci?: boolean | undefined
  /** Variables for its pipeline, encrypted (PO-20). */
  ci_variables?: string | undefined
}

/** Refs of a repository have moved. */
export interface PushEvent {
  projectId: number
  moves: Move[]
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

/** An error of the page script, as its browser tells it. */
export interface PageError {
  message: string
  source: string
  line: number
  column: number
  stack: string
  /** The path of the page. */
  page: string
}

/** Sends errors to the trackers of the settings, if there are some (SEC-275). */
interface ErrorReports {
  /** Reports an error of the service; `about`: kinds, route patterns and ids of requests, no names. */
  report(error: unknown, about: Record<string, string | number>): void
  reportPage(error: PageError, userAgent: string): void
}

/** What may be dropped at any time: all of it is read or made again. */
interface Caches {
  archives: FileCache
  /** The commits that last changed the entries of a folder, by project, commit and path. */
  lastChanges: LRUCache<string, LastChangesWalk>
  /** Changes as pages show them, by what makes them. */
  changes: LRUCache<string, { bytes: Buffer; icons: ReadonlySet<string> }>
  /** The rows of diffs of files, by what makes them. */
  diffTables: LRUCache<string, { added: number; removed: number; rows: string; hidden: boolean }>
  /** The colours of the lines of diffs, by what makes them. */
  diffColors: LRUCache<string, { old: ReadonlyMap<number, string>; now: ReadonlyMap<number, string> }>
  lists: ListCache
  /** Rendered list entries. */
  rendered: RenderedCache
  /** What the OpenID providers say about themselves, by name. */
  openid: LRUCache<string, Promise<Configuration>>
  /** Pictures of other sites, on disk. */
  pictures: ExternalPictures
  /** The current settings, at most one second old. */
  settings: SettingsCache
}

/** How long work shares the processor with other calls. */
interface Cpu {
  /** Hashes passwords, in threads. */
  argon2: Argon2
  /** Renders Markdown, in a thread. */
  markdown: MarkdownThread
  /** Marks the syntax of programs, in another thread. */
  highlighter: Highlighter
  /** Reads `.gitlab-ci.yml`, in a third. */
  ci: CiCompiler
  /** Runs long computations in slices on the event loop. */
  slices: Slices
}

/** What this process says about itself besides its log. */
interface Monitoring {
  metrics: Metrics
  errors: ErrorReports
}

/** This process among those that serve on this machine. */
interface ServingProcess {
  /** The number of these processes, which share the limits of the machine. */
  workers: number
  mutex: KeyedMutex
  /** Ref intents of this process: refs are moving, or the move was interrupted and recovery must resolve the intent. */
  intents: Map<number, 'moving' | 'abandoned'>
  /** Fetches by project that are not written yet. */
  fetches: Map<number, number>
  /** Fires when the service stops: long work stops, and the next process that claims its job starts it again. */
  stopping: AbortSignal
}

/** The dependencies that services and routes share. What only the opener of a service needs is in `OpenContext`. */
export interface Context extends Source {
  config: Config
  db: Database
  git: Git
  /** The store of Git LFS objects. */
  lfs: ObjectStore
  /** The store of what jobs have made. */
  artifacts: ObjectStore
  /** The store of the files of packages. */
  packages: ObjectStore
  jobs: Jobs
  /** Null where mail is not configured (ML-1). */
  mail: Mailer | null
  listeners: EventListeners
  links: Links
  caches: Caches
  access: AccessState
  cpu: Cpu
  process: ServingProcess
  encryption: Encryption
  monitoring: Monitoring
  log: Logger
  /** Set during an API call (see `withOrigin`); undefined in background work. */
  origin?: Origin
}

/** A context for one API call. */
export const withOrigin = (ctx: Context, origin: Origin): Context => Object.assign(Object.create(ctx) as Context, { origin })
