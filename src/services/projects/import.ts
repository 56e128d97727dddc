import { eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { databaseError, isConnectionLoss } from '../../db/errors.js'
import { projectImports, projects } from '../../db/schema/index.js'
import { invalidRecord } from '../../failures.js'
import { GitKilled, TooLarge } from '../../git/errors.js'
import { type FetchSource, type GitRepository, ZERO } from '../../git/types.js'
import { enqueue } from '../../jobs/enqueue.js'
import { defineJob } from '../../jobs/kinds.js'
import { BadTarget, checkTarget, fetchHeaders, type Target } from '../../lib/ssrf-guard.js'
import { withoutTrailing } from '../../lib/text/without-trailing.js'
import { isUnavailable } from '../../lib/unavailable.js'
import { parseUrl } from '../../lib/url.js'
import { readSettings, type Settings } from '../core/settings.js'
import { updateDefaultBranch } from '../repository/push/finish.js'
import { enqueueMaintenance } from '../repository/push/maintenance-job.js'
import { repositoryLimit } from '../repository/quotas.js'
import { repositoryOf } from '../repository/repositories.js'

/** git itself times out earlier. */
const DEADLINE_MS = 24 * 3_600_000
const MAX_REDIRECTS = 3
const MAX_URL_LENGTH = 2_048

const PROTOCOLS = ['http:', 'https:', 'git:'] as const

const refuse = (text: string) => invalidRecord({ import_url: [text] })

const rulesOf = (ctx: Pick<Context, 'config'>, protocols: readonly string[] = PROTOCOLS) => ({ protocols, allowLocal: ctx.config.allowLocalRequests })

/** Validates the import URL of a new project, including its target address (OT-10, SEC-138). */
export async function readImportUrl(ctx: Context, settings: Settings, url: string, readme: boolean | undefined): Promise<string> {
  if (!settings.import_sources.includes('git')) throw refuse('is not allowed: imports by URL are switched off')
  if (readme) throw refuse("can't be given together with initialize_with_readme")
  if (url.length > MAX_URL_LENGTH) throw refuse(`is too long (maximum is ${MAX_URL_LENGTH} characters)`)
  await checkTarget(url, rulesOf(ctx)).catch((error: unknown) => {
    if (error instanceof BadTarget) throw refuse(error.message)
    throw error
  })
  return url
}

export const importPurpose = (projectId: number) => `import of project ${projectId}`

/** An import into a new project. */
export interface NewImport {
  id: number
  creatorId: number
  url: string
  defaultBranch: string | null
}

/** Records an import and enqueues its job, in the transaction that creates the project. */
export async function recordImport(
  ctx: Pick<Context, 'encryption'>,
  tx: Transaction,
  { id, creatorId, url, defaultBranch }: NewImport,
): Promise<void> {
  await tx.insert(projectImports).values({ project_id: id, url: ctx.encryption.seal(url, importPurpose(id)), default_branch: defaultBranch })
  await enqueue(tx, importJob, { project: id }, { key: String(id), lane: `imports of user ${creatorId}` })
}

/** Runs a recorded import; imports of one user run one after the other. */
export const importJob = defineJob({
  kind: 'import',
  input: z.object({ project: z.int() }),
  async run(ctx: Context, { project }, { signal }) {
    const [row] = await ctx.db.write.select().from(projectImports).where(eq(projectImports.project_id, project))
    if (row) await importProject(ctx, { id: project, sealed: row.url, default_branch: row.default_branch }, signal)
  },
  failed: (ctx, input) => recordImportFailure(ctx, input),
  // leaves capacity for other jobs
  concurrency: 2,
  deadline: DEADLINE_MS,
})

interface Import {
  id: number
  sealed: string
  default_branch: string | null
}

async function importProject(ctx: Context, work: Import, jobSignal: AbortSignal): Promise<void> {
  const { id } = work
  const signal = AbortSignal.any([ctx.process.stopping, jobSignal])
  try {
    const [project] = await ctx.db.write.update(projects).set({ import_status: 'started' }).where(eq(projects.id, id)).returning()
    if (!project) return
    await fetchImport(ctx, repositoryOf(ctx, project), work, signal)
    await finishImport(ctx, id, { import_status: 'finished', import_error: null })
  } catch (error) {
    // the job is retried from the start; what has come without its rows must not stay
    signal.throwIfAborted()
    if (error instanceof GitKilled || isConnectionLoss(databaseError(error))) throw error
    ctx.log.warn({ project: id, reason: error instanceof Error ? error.name : undefined }, 'an import failed')
    await finishImport(ctx, id, { import_status: 'failed', import_error: reasonOf(error) })
  }
}

/** What is said where the service is at fault, and its log says more. */
const FAILED = 'The server could not do it, also not when it tried again'

/** Records that a project stays without the contents that it was to get, for a reason of the server. */
export const recordImportFailure = (ctx: Context, { project }: { project: number }) =>
  finishImport(ctx, project, { import_status: 'failed', import_error: FAILED })

/** Marks an import as begun, unless it has ended or the project is gone. */
export async function beginImport(ctx: Context, id: number): Promise<typeof projects.$inferSelect | undefined> {
  const isUnfinished = sql`${projects.id} = ${id} and ${projects.import_status} in ('scheduled', 'started')`
  const [project] = await ctx.db.write.update(projects).set({ import_status: 'started' }).where(isUnfinished).returning()
  return project
}

/** Ends an import and deletes its URL. */
export async function finishImport(ctx: Context, id: number, end: { import_status: 'finished' | 'failed'; import_error: string | null }) {
  await ctx.db.transaction(async (tx) => {
    await tx
      .update(projects)
      .set({ ...end, updated_at: ctx.now() })
      .where(eq(projects.id, id))
    await tx.delete(projectImports).where(eq(projectImports.project_id, id))
  })
}

/** The error message for users; git's own messages could contain secrets or internal addresses. */
function reasonOf(error: unknown): string {
  if (error instanceof BadTarget) return `The import URL ${error.message}`
  if (error instanceof TooLarge) return 'The repository is too large'
  if (isUnavailable(error)) return 'The repository did not come in time'
  return 'The repository could not be fetched'
}

const fetchImport = async (ctx: Context, repository: GitRepository, { id, sealed, default_branch }: Import, signal: AbortSignal): Promise<void> =>
  fillRepository(ctx, repository, { id, default_branch, source: await sourceOf(ctx, ctx.encryption.open(sealed, importPurpose(id))) }, signal)

/** Empties the repository of a new project that is beyond the limit of its size, and throws TooLarge. */
export async function refuseTooLarge(ctx: Context, repository: GitRepository): Promise<void> {
  const limit = await repositoryLimit(ctx)
  if (limit === null || (await repository.size()) <= limit) return
  const head = await repository.headBranch()
  await ctx.git.remove(repository.key)
  await ctx.git.create(repository.key, head ?? 'main')
  throw new TooLarge('the repository is too large')
}

/** The source of an import into an empty repository. */
export interface RepositorySource {
  /** The id of the project. */
  id: number
  source: FetchSource
  /** The default branch; null for that of the source. */
  default_branch: string | null
  /** Refspecs to fetch in addition to branches and tags. */
  refspecs?: readonly string[]
}

/** Fetches everything into the repository of a project, within its size limit. */
export async function fillRepository(ctx: Context, repository: GitRepository, filling: RepositorySource, signal: AbortSignal): Promise<void> {
  const { id, source, default_branch, refspecs = [] } = filling
  const head = await repository.remoteHead(source, signal)
  const limit = (await repositoryLimit(ctx)) ?? undefined
  await repository.fetch(source, signal, { bytes: limit, refspecs })
  // a fast fetch can end before its size is first checked
  await refuseTooLarge(ctx, repository)
  const branches = await repository.refs('refs/heads/')
  const defaultBranch = [default_branch, head].find((name) => name !== null && branches.some((branch) => branch.name === `refs/heads/${name}`))
  if (defaultBranch) {
    await repository.setHeadBranch(defaultBranch)
    await ctx.db.write.update(projects).set({ default_branch: defaultBranch }).where(eq(projects.id, id))
  }
  const moves = branches.map(({ name, oid }) => ({ ref: name, old: ZERO, new: oid }))
  await updateDefaultBranch(ctx, id, moves, await readSettings(ctx))
  await enqueueMaintenance(ctx.db, id)
}

/**
 * The URL and addresses that git connects to. They are checked again, because names may resolve to other addresses now.
 * Redirects are followed here, because git does not follow them.
 */
async function sourceOf(ctx: Context, url: string) {
  const target = await checkTarget(url, rulesOf(ctx))
  if (target.url.protocol === 'git:') {
    const [first] = target.addresses
    const named = new URL(target.url.href)
    named.hostname = first?.family === 6 ? `[${first.address}]` : (first?.address ?? '')
    return { url: named.href, addresses: [], virtualHost: target.url.host }
  }
  const { url: found, addresses, credentials } = await followRedirects(ctx, target)
  return { url: found.href, addresses: addresses.map(({ address }) => address), ...(credentials && { authorization: basic(credentials) }) }
}

const basic = ({ user, password }: { user: string; password: string }) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

const ADVERTISEMENT = '/info/refs'

/**
 * Follows up to three redirects, each checked like the first URL. Credentials are not sent to another server (SEC-138,
 * SEC-139).
 */
async function followRedirects(ctx: Context, first: Target): Promise<Target> {
  first.url.search = ''
  let target = first
  for (let hop = 0; ; hop++) {
    const probeUrl = new URL(target.url.href)
    probeUrl.pathname = withoutTrailing(probeUrl.pathname, '/') + ADVERTISEMENT
    probeUrl.search = '?service=git-upload-pack'
    const { credentials } = target
    const headers = {
      accept: '*/*',
      'user-agent': 'git/roost',
      ...(credentials && { authorization: basic(credentials) }),
    }
    const answer = await fetchHeaders({ ...target, url: probeUrl }, { headers, responseTimeout: 60_000, signal: ctx.process.stopping }).catch(
      (error: unknown) => {
        if (error instanceof BadTarget || ctx.process.stopping.aborted) throw error
        throw new BadTarget('cannot be reached')
      },
    )
    const { location } = answer.headers
    if (answer.status < 300 || answer.status > 399 || location === undefined) {
      if (answer.status === 401 || answer.status === 403) throw new BadTarget('asks for other credentials')
      if (answer.status !== 200 || !answer.headers['content-type']?.startsWith('application/x-git-upload-pack-advertisement'))
        throw new BadTarget('is not the address of a Git repository')
      return target
    }
    const next = hop === MAX_REDIRECTS ? null : parseUrl(location, probeUrl.href)
    if (!next) throw new BadTarget('is redirected too often')
    if (!next.pathname.endsWith(ADVERTISEMENT)) throw new BadTarget('is not the address of a Git repository')
    next.pathname = next.pathname.slice(0, -ADVERTISEMENT.length)
    next.search = ''
    next.username = ''
    next.password = ''
    const checked = await checkTarget(next.href, rulesOf(ctx, ['http:', 'https:']))
    target = { ...checked, credentials: isSameServer(target.url, checked.url) ? credentials : null }
  }
}

/** Whether two URLs have the same origin, or differ only by an upgrade to HTTPS. */
const isSameServer = (from: URL, to: URL) =>
  from.origin === to.origin || (from.protocol === 'http:' && to.protocol === 'https:' && from.hostname === to.hostname && !from.port && !to.port)
