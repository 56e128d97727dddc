import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { admittedAddresses } from '../access/addresses.js'
import { RequestLimit } from '../access/request-limit.js'
import { Throttle } from '../access/throttle.js'
import type { Config } from '../config.js'
import type { Context } from '../context.js'
import type { Database } from '../db/client.js'
import { openGit } from '../git/open.js'
import { directSpawner, type Spawner } from '../git/process/spawner.js'
import { TRANSPORT_LIMITS } from '../git/wire/transport.js'
import { Fragments } from '../http/fragments.js'
import { createHints } from '../jobs/hints.js'
import { createJobs } from '../jobs/jobs.js'
import { createWorker, type Ended } from '../jobs/worker.js'
import { KeyedMutex } from '../lib/async/keyed-mutex.js'
import { Slices } from '../lib/async/slices.js'
import { Argon2 } from '../lib/crypto/argon2.js'
import { encryptionWith, ownSecret } from '../lib/crypto/encryption.js'
import { openMailer } from '../lib/mailer.js'
import { type ObjectStore, objectFolder } from '../lib/object-store.js'
import { isUnavailable } from '../lib/unavailable.js'
import { linksFor } from '../links.js'
import { countedSpawner, createMetrics, noMetrics } from '../metrics.js'
import { ListCache } from '../services/core/list-cache.js'
import { SettingsCache } from '../services/core/settings-cache.js'
import { holdsRepositories } from '../services/repository/repositories.js'
import { followers } from './followers.js'
import { kinds } from './kinds.js'

/** Milliseconds that running jobs get to end when the service stops. */
const JOBS_END = 2_000

/** Wires the parts of the service; the configuration's address must be settled. */
export async function createContext(config: Config & { baseUrl: string }, db: Database, log: Logger, spawner?: Spawner): Promise<Context> {
  const listCache = new ListCache()
  const fragments = new Fragments()
  const measured = config.metrics.token !== undefined || config.metrics.allowed.length > 0
  const metrics = measured ? await createMetrics(db, { totals: listCache, fragments }) : noMetrics
  const hooks = join(config.dataDir, 'hooks')
  await mkdir(hooks, { recursive: true, mode: 0o700 })
  const git = openGit({
    storages: config.storages,
    hooks,
    spawner: countedSpawner(spawner ?? directSpawner, () => metrics),
    shared: config.databaseUrl !== undefined,
    transport: { ...TRANSPORT_LIMITS, ...(config.limits.pushBytes > 0 && { packBytes: config.limits.pushBytes }) },
    onFault: (fault, key) => log.error({ err: fault, repository: key }, 'a repository is missing or cannot be read'),
  })
  const now = () => new Date()
  const argon2 = new Argon2(config.argon2)
  const stop = new AbortController()
  const hints = createHints({
    onFault: (fault, name) => log.error({ err: fault, job: name }, 'background work failed'),
    onRetry: (fault, name, wait) => log.debug({ err: fault, job: name, wait }, 'background work is tried again'),
  })
  const worker = createWorker({
    db,
    kinds,
    ctx: () => ctx,
    onEnd: (ended) => {
      metrics.job(ended)
      logEnd(log, ended)
    },
    onFault: (fault) => log.error({ err: fault }, 'the job queue failed'),
  })
  // what a crash of Postgres took back may have been read and cached
  db.onBack(() => listCache.clear())
  const ctx: Context = {
    config,
    db,
    git,
    lfs: await objectStore(config),
    jobs: createJobs(hints, worker),
    mailer: config.mail === undefined ? null : openMailer(config.mail),
    followers,
    links: linksFor(config.baseUrl, config.ssh),
    fragments,
    metrics,
    listCache,
    throttle: new Throttle(config.failedCredentials, now),
    argon2,
    slices: new Slices(),
    mutex: new KeyedMutex(),
    requestLimit: new RequestLimit(config.requests, now),
    admittedAddresses: admittedAddresses(),
    settingsCache: new SettingsCache(db),
    intents: new Map(),
    encryption: encryptionWith(config.secretKey ?? (await ownSecret(config.dataDir))),
    log,
    revision: config.revision,
    now,
    stopping: stop.signal,
    settings: () => ctx.settingsCache.read(),
    async avatarService() {
      return config.avatarService !== undefined && (await ctx.settings()).avatarsvc_enabled ? config.avatarService : null
    },
    async close() {
      stop.abort(new Error('the service is stopping'))
      await ctx.jobs.stop(JOBS_END)
      await Promise.all([git.close(), argon2.close()])
      ctx.lfs.close()
      ctx.mailer?.close()
    },
  }
  for (const storage of await git.claimStorages((name) => holdsRepositories(db, name)))
    log.error({ storage, path: config.storages[storage] }, 'a storage should hold repositories and is empty: is its disk mounted?')
  return ctx
}

/** Where the objects of Git LFS are kept. */
async function objectStore({ dataDir, lfsBucket }: Config): Promise<ObjectStore> {
  const folder = join(dataDir, 'lfs')
  if (!lfsBucket) return objectFolder(folder)
  const { objectBucket } = await import('../lib/object-bucket.js')
  return objectBucket(lfsBucket, join(folder, 'incoming'))
}

/** What was tried again or set aside is logged; a job that was done is not. */
function logEnd(log: Logger, { kind, id, attempts, end, wait, fault }: Ended): void {
  const job = { err: fault, job: kind, id, attempts }
  if (end === 'failed') log.error(job, 'a job failed and is set aside')
  else if (end === 'retried') log[isUnavailable(fault) ? 'debug' : 'warn']({ ...job, wait }, 'a job failed and is tried again')
}
