import { setMaxListeners } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { createAccessState } from '../access/state.js'
import type { Config } from '../config.js'
import type { Context } from '../context.js'
import type { Database } from '../db/client.js'
import { newestMigration } from '../db/migrate.js'
import { openGit } from '../git/open.js'
import { directSpawner, type Spawner } from '../git/process/spawner.js'
import type { RepositoryKey } from '../git/types.js'
import { TRANSPORT_LIMITS } from '../git/wire/limits.js'
import { RenderedCache } from '../http/rendered-cache.js'
import { createJobs, type Jobs } from '../jobs/jobs.js'
import { LocalTasks } from '../jobs/local-tasks.js'
import { createWorker, type FinishedAttempt } from '../jobs/worker.js'
import { KeyedMutex, type ProcessMutex } from '../lib/async/keyed-mutex.js'
import { Slices } from '../lib/async/slices.js'
import { Argon2 } from '../lib/crypto/argon2.js'
import { type Source, systemSource } from '../lib/crypto/random.js'
import { FileCache } from '../lib/files/file-cache.js'
import { type ObjectStore, objectFolder } from '../lib/files/object-store.js'
import { openMailer } from '../lib/mailer.js'
import { Highlighter } from '../lib/text/highlight/highlighter.js'
import { MarkdownThread } from '../lib/text/markdown-thread.js'
import { isUnavailable } from '../lib/unavailable.js'
import { linksFor } from '../links.js'
import { type CacheCounts, countedSpawner, createMetrics, lazyMetrics, type Metrics } from '../metrics.js'
import { type PushedMetrics, pushedMetrics } from '../pushed-metrics.js'
import { CiCompiler } from '../services/ci/compiler.js'
import { ErrorTracker } from '../services/core/error-tracker.js'
import { ExternalPictures } from '../services/core/external-pictures.js'
import { ListCache } from '../services/core/list-cache.js'
import { SettingsCache } from '../services/core/settings-cache.js'
import type { Settings } from '../services/core/settings-table.js'
import { StorageWatch } from '../services/core/storage-watch.js'
import { openEncryption } from '../services/operations/secret-key.js'
import { hasRepositories, projectExists } from '../services/repository/repositories.js'
import { eventListeners } from './event-listeners.js'
import { kinds } from './kinds.js'

/** How long running jobs may take to end when the service stops. */
const JOB_STOP_TIMEOUT_MS = 2_000

/** Where the programs of the threads that render texts are: the build puts them beside this one. */
const PROGRAMS = new URL('./', import.meta.url)

/** Characters of rows of diffs that are kept: a page has up to 3 million. */
const DIFF_TABLES = 12_000_000
/** Characters that the colours of lines of diffs may take, about: a page has up to 300,000. */
const DIFF_COLORS = 4_000_000
/** Bytes of changes of whole pages that are kept. */
const CHANGES = 12_000_000
/** Folders whose last changes are kept. */
const LAST_CHANGES = 500
/** How long the metadata of an OpenID provider is kept, in milliseconds. */
const OPENID_MS = 3_600_000

/** Options that differ between processes of the service. */
export interface ContextOptions {
  /** Number of worker processes. */
  workers: number
  exclusion?: ProcessMutex
  /** The folder with the bundles of threads; by default that of the running program. */
  programs?: URL
  /** A password hasher shared by several contexts; its owner closes it. */
  argon2?: Argon2
  /** Source of time and random values; the default is the system. */
  source?: Source
  /** Called when another process has migrated the database to a schema that this version of the program does not know. */
  onOutdated?: () => void
  /** Called with the directory of a repository before it is used. */
  onUse?: (directory: string) => void
}

/** A context with what only its opener uses. */
export interface OpenContext extends Context {
  /** Monitors the storages while it is started. */
  storages: StorageWatch
  samples: Pick<PushedMetrics, 'startSampling'>
  /** Waits for background work, then ends all git processes. The opener closes the database. */
  close(): Promise<void>
}

/** What the parts of a context are made from. */
interface ContextParts {
  config: Config & { baseUrl: string }
  db: Database
  log: Logger
  options: ContextOptions
  metrics: Metrics
  settings: SettingsCache
}

/** Creates the context; the base URL of the configuration must be resolved. */
export async function createContext(
  config: Config & { baseUrl: string },
  db: Database,
  log: Logger,
  spawner: Spawner = directSpawner,
  options: ContextOptions = { workers: 1 },
): Promise<OpenContext> {
  const { workers, exclusion, argon2: shared, source = systemSource, programs = PROGRAMS } = options
  const { lists, rendered } = openCaches(db)
  const settings = new SettingsCache(db, config.avatarService)
  const metrics = pushedMetrics(await openMetrics(config, db, { lists, rendered }), settings.read)
  const parts: ContextParts = { config, db, log, options, metrics, settings }
  const { git, storages } = await openRepositories(parts, spawner)
  const { encryption, bucketOwner } = await openEncryption(config, db)
  const stop = new AbortController()
  // each webhook delivery in progress adds a listener
  setMaxListeners(0, stop.signal)
  const ctx: OpenContext = {
    config,
    db,
    git,
    lfs: await openObjectStore(config, bucketOwner, 'lfs'),
    artifacts: await openObjectStore(config, bucketOwner, 'artifacts'),
    packages: await openObjectStore(config, bucketOwner, 'packages'),
    jobs: openJobs(parts, () => ctx),
    mail: config.mail === undefined ? null : openMailer(config.mail),
    listeners: eventListeners,
    links: linksFor(config.baseUrl, config.ssh),
    caches: {
      archives: openArchives(parts),
      changes: new LRUCache({ maxSize: CHANGES, sizeCalculation: ({ bytes }) => bytes.length + 200 }),
      diffColors: new LRUCache({ maxSize: DIFF_COLORS, sizeCalculation: ({ old, now }) => 200 + 100 * (old.size + now.size) }),
      diffTables: new LRUCache({ maxSize: DIFF_TABLES, sizeCalculation: ({ rows }) => rows.length + 200 }),
      lastChanges: new LRUCache({ max: LAST_CHANGES }),
      lists,
      openid: new LRUCache({ max: 100, ttl: OPENID_MS }),
      pictures: openPictures(parts, source),
      rendered,
      settings,
    },
    access: createAccessState(config, db, systemSource.now, settings.limits),
    cpu: openCpu(parts, programs, shared),
    process: { workers, mutex: new KeyedMutex(exclusion), intents: new Map(), fetches: new Map(), stopping: stop.signal },
    encryption,
    monitoring: { metrics, errors: new ErrorTracker({ caches: { settings } as Context['caches'], encryption, log, now: source.now }) },
    log,
    ...source,
    storages,
    samples: metrics,
    async close() {
      stop.abort(new Error('the service is stopping'))
      await closeParts(ctx, shared !== undefined)
      metrics.close()
    },
  }
  await claimStorages(ctx)
  return ctx
}

async function closeParts({ jobs, storages, caches, git, cpu, lfs, artifacts, packages, mail }: OpenContext, argon2IsShared: boolean): Promise<void> {
  await Promise.all([jobs.stop(JOB_STOP_TIMEOUT_MS), storages.stop(), caches.archives.close(), caches.pictures.close()])
  await Promise.all([git.close(), cpu.markdown.close(), cpu.highlighter.close(), cpu.ci.close(), argon2IsShared ? undefined : cpu.argon2.close()])
  lfs.close()
  artifacts.close()
  packages.close()
  mail?.close()
}

function openCpu({ config, options, metrics }: ContextParts, programs: URL, argon2?: Argon2): Context['cpu'] {
  const slices = new Slices()
  return {
    argon2: argon2 ?? new Argon2(config.argon2, options.workers),
    markdown: new MarkdownThread(new URL('markdown.js', programs), slices, (result) => metrics.text('markdown', result)),
    highlighter: new Highlighter(new URL('highlight.js', programs), (result) => metrics.text('source', result)),
    ci: new CiCompiler(new URL('ci.js', programs), (result) => metrics.text('ci', result)),
    slices,
  }
}

function openCaches(db: Database): Pick<Context['caches'], 'lists' | 'rendered'> {
  const lists = new ListCache()
  const rendered = new RenderedCache()
  // a crash of Postgres may have lost commits that were cached
  db.onReconnect(() => {
    lists.clear()
    rendered.clear()
  })
  return { lists, rendered }
}

/** Metrics that count from the start if the configuration allows reading them, otherwise from the first read. */
function openMetrics({ metrics: { token, allowed } }: Config, db: Database, caches: Record<string, CacheCounts>): Metrics | Promise<Metrics> {
  const create = () => createMetrics(db, caches)
  return token !== undefined || allowed.length > 0 ? create() : lazyMetrics(create)
}

/** Opens Git and the storage watch, by which Git refuses failing storages. */
async function openRepositories(
  { config, db, log, options, metrics, settings }: ContextParts,
  spawner: Spawner,
): Promise<Pick<OpenContext, 'git' | 'storages'>> {
  const hooks = join(config.dataDir, 'hooks')
  await mkdir(hooks, { recursive: true, mode: 0o700 })
  const git = openGit({
    storages: config.storages,
    hooks,
    spawner: countedSpawner(spawner, () => metrics),
    workers: options.workers,
    shared: config.databaseUrl !== undefined,
    onUse: options.onUse,
    refusal: (storage, access) => storages.refusal(storage, access),
    transport: { ...TRANSPORT_LIMITS, ...(config.limits.pushBytes > 0 && { packBytes: config.limits.pushBytes }) },
    onFault: (fault, key) => void reportMissing({ db, log }, fault, key),
  })
  const storages = new StorageWatch({
    db,
    storages: Object.keys(config.storages),
    settings: () => settings.read(),
    probe: git.checkStorage,
    onChange: (storage, access, blocked) =>
      blocked
        ? log.error({ storage, access }, 'a storage fails; calls that need it are refused')
        : log.warn({ storage, access }, 'the storage is used again'),
    onFault: (fault) => log[isUnavailable(fault) ? 'debug' : 'error']({ err: fault }, 'the storages could not be checked'),
  })
  return { git, storages }
}

/** Logs that a repository is missing, unless its project has been removed meanwhile. */
async function reportMissing({ db, log }: Pick<Context, 'db' | 'log'>, fault: unknown, key: RepositoryKey): Promise<void> {
  if (await projectExists({ db }, key.id).catch(() => true)) log.error({ err: fault, repository: key }, 'a repository is missing or cannot be read')
}

async function claimStorages({ git, db, log, config }: Context): Promise<void> {
  for (const storage of await git.claimStorages((name) => hasRepositories(db, name)))
    log.error({ storage, path: config.storages[storage] }, 'a storage should hold repositories and is empty: is its disk mounted?')
}

function openArchives({ config, log, options }: ContextParts): FileCache {
  const archives = new FileCache(join(config.dataDir, 'archives'), config.limits.archiveBytes, options.workers)
  // remove leftovers of killed processes, and what exceeds the limit
  archives.sweep().catch((fault: unknown) => log.error({ err: fault }, 'the archive cache could not be swept'))
  return archives
}

function openPictures({ config, log, options }: ContextParts, { now }: Source): ExternalPictures {
  const rules = { protocols: ['http:', 'https:'], allowLocal: config.allowLocalRequests, self: { url: config.baseUrl, port: config.port } }
  return new ExternalPictures(join(config.dataDir, 'pictures'), options.workers, { log, now, rules })
}

function openJobs({ db, log, options, metrics, settings }: ContextParts, ctx: () => Context): Jobs {
  const hints = new LocalTasks({
    onFault: (fault, name) => {
      log.error({ err: fault, job: name }, 'background work failed')
      ctx().monitoring.errors.report(fault, { job: name })
    },
    onRetry: (fault, name, wait) => log.debug({ err: fault, job: name, wait }, 'background work is tried again'),
  })
  const worker = createWorker({
    db,
    kinds,
    ctx,
    throttling: async () => throttlingOf(await settings.read()),
    processes: options.workers,
    onEnd: (ended) => {
      metrics.job(ended)
      logEnd(log, ended)
      if (ended.end === 'failed') ctx().monitoring.errors.report(ended.fault, { job: ended.kind, attempts: ended.attempts })
    },
    onFault: (fault) => log.error({ err: fault }, 'the job queue failed'),
    ...(options.onOutdated && { schema: { known: newestMigration(), onOutdated: options.onOutdated } }),
  })
  return createJobs(hints, worker)
}

/** The kinds of jobs that the settings throttle (AS-62). */
const throttlingOf = ({ jobqueue_throttling_enabled: on, jobqueue_throttling_factor: factor, jobqueue_throttling_queues: kinds }: Settings) =>
  on && factor !== null ? { kinds, factor } : null

/** Opens the store of Git LFS objects, of artifacts or of packages: a folder, or a part of the bucket. */
async function openObjectStore({ dataDir, lfsBucket }: Config, owner: string, kind: 'lfs' | 'artifacts' | 'packages'): Promise<ObjectStore> {
  const folder = join(dataDir, kind)
  if (!lfsBucket) return objectFolder(folder)
  const { objectBucket } = await import('../lib/files/object-bucket.js')
  const bucket = kind === 'lfs' ? lfsBucket : { ...lfsBucket, prefix: `${lfsBucket.prefix}${kind}/` }
  return objectBucket(bucket, join(folder, 'incoming'), owner)
}

/** Logs a job that was retried or has failed for good. */
function logEnd(log: Logger, { kind, id, attempts, end, wait, fault }: FinishedAttempt): void {
  const job = { err: fault, job: kind, id, attempts }
  if (end === 'failed') log.error(job, 'a job failed and is set aside')
  else if (end === 'retried') log[isUnavailable(fault) ? 'debug' : 'warn']({ ...job, wait }, 'a job failed and is tried again')
}
