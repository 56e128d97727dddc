import { setTimeout as sleep } from 'node:timers/promises'
import type { projects } from '../../db/schema/index.js'
import { GitFault, TooLarge } from '../../git/errors.js'
import type { FetchSource } from '../../git/types.js'
import { fetchHeaders } from '../../lib/ssrf-guard.js'
import { isUnavailable } from '../../lib/unavailable.js'
import { maintainWikiSoon } from '../content/wikis.js'
import { fillRepository } from '../projects/import.js'
import { repositoryLimit } from '../repository/quotas.js'
import { createWikiRepository, repositoryOf, wikiKeyOf } from '../repository/repositories.js'
import { removeDefaultProtection } from './configuration.js'
import { CannotImport, importItem, type Write } from './items.js'
import { importLfsObjects } from './lfs.js'
import type { ImportedItem, Run } from './run.js'
import { withRetries } from './source/client.js'

type ProjectStorage = Pick<typeof projects.$inferSelect, 'id' | 'storage'>

/** Imports a project's repository, with the heads of its merge requests, and its wiki; each in full or not at all. */
export async function importRepositories(run: Run, place: ImportedItem, project: ProjectStorage, defaultBranch: string | null): Promise<void> {
  const { key, path } = place
  const isDue = async (kind: string) => (await run.ledger.findImported(kind, [key])).size === 0
  if (await isDue('repository')) {
    const source = fetchSourceOf(run, `/${path}.git`)
    await importItem(run, { kind: 'repository', key, name: path }, async () => {
      const status = await gitStatus(run, source)
      if (status !== 200) throw new CannotImport(`the server answers ${status} to Git: the token's user may not read it, or there is none`)
      return fetchBeforeWriting(run, () => fillProjectRepository(run, project, source, defaultBranch))
    })
  }
  await importLfsObjects(run, place, project, fetchSourceOf(run, `/${path}.git`))
  const source = fetchSourceOf(run, `/${path}.wiki.git`)
  if ((await isDue('wiki')) && (await hasPages(run, project, source)))
    await importItem(run, { kind: 'wiki', key, name: path }, () => fetchBeforeWriting(run, () => fillWiki(run, project, source)))
}

/** Whether the wiki has a page. Runs in the project's repository, as git needs a directory to run in. */
async function hasPages(run: Run, project: ProjectStorage, source: FetchSource): Promise<boolean> {
  if ((await gitStatus(run, source)) !== 200) return false
  if (run.ledger.dry) return advertisesBranches(run, source)
  return (
    (await repositoryOf(run.ctx, project)
      .remoteHead(source, run.signal)
      .catch(() => null)) !== null
  )
}

/** For dry runs, which have no repository: whether the ref advertisement has a branch. */
async function advertisesBranches({ source: { client } }: Run, { url, authorization }: FetchSource): Promise<boolean> {
  const headers = { accept: '*/*', 'user-agent': 'git/roost', ...(authorization && { authorization }) }
  const { text } = await client.text(`${url.slice(client.base.length)}${REF_ADVERTISEMENT_PATH}`, headers)
  return text.includes(' refs/heads/')
}

/** Builds the clone URL from the server's URL and the path; URLs in the server's responses are not trusted. */
function fetchSourceOf({ source: { client, authorization } }: Run, path: string): FetchSource {
  return { url: `${client.base}${path}`, addresses: client.target.addresses.map(({ address }) => address), authorization }
}

const REF_ADVERTISEMENT_PATH = '/info/refs?service=git-upload-pack'

/** The HTTP status of the ref advertisement. */
async function gitStatus(run: Run, { url, authorization }: FetchSource): Promise<number> {
  const { target } = run.source.client
  const headers = { accept: '*/*', 'user-agent': 'git/roost', ...(authorization && { authorization }) }
  const advertisement = { ...target, url: new URL(`${url}${REF_ADVERTISEMENT_PATH}`) }
  const answer = await withRetries(run.signal, async () => {
    const { status, headers: given } = await fetchHeaders(advertisement, { headers, responseTimeout: 60_000, signal: run.signal })
    return { status, retryAfter: given['retry-after'] }
  })
  return answer.status
}

/** A last resort: git itself gives up earlier. */
const FETCH_TIMEOUT_MS = 24 * 3_600_000

/** Fetches before the ledger row is written. Errors of git are not reported in full, as they may contain the token. */
async function fetchBeforeWriting(run: Run, fetch: () => Promise<void>): Promise<Write> {
  try {
    if (!run.ledger.dry) await retryFetch(run, fetch)
    return async () => null
  } catch (error) {
    run.signal.throwIfAborted()
    if (error instanceof TooLarge) throw new CannotImport('the repository is too large')
    if (isUnavailable(error)) throw new CannotImport('the repository could not be fetched in time')
    if (error instanceof GitFault) throw new CannotImport('git could not fetch the repository')
    throw error
  }
}

const MAX_FETCH_ATTEMPTS = 3
/** Multiplied by the number of the failed attempt. */
const FETCH_RETRY_DELAY_MS = 1_000

/** Retries a fetch whose connection was lost. */
async function retryFetch({ signal }: Run, fetch: () => Promise<void>): Promise<void> {
  for (let attempt = 1; attempt < MAX_FETCH_ATTEMPTS; attempt++) {
    try {
      return await fetch()
    } catch (error) {
      if (signal.aborted || !(error instanceof GitFault) || error instanceof TooLarge) throw error
      await sleep(FETCH_RETRY_DELAY_MS * attempt, undefined, { signal })
    }
  }
  await fetch()
}

const deadline = (run: Pick<Run, 'signal'>) => AbortSignal.any([run.signal, AbortSignal.timeout(FETCH_TIMEOUT_MS)])

async function fillProjectRepository(run: Run, project: ProjectStorage, source: FetchSource, defaultBranch: string | null): Promise<void> {
  const filling = { id: project.id, source, default_branch: defaultBranch, refspecs: [run.source.dialect.headRefspec] }
  await fillRepository(run.ctx, repositoryOf(run.ctx, project), filling, deadline(run))
  await removeDefaultProtection(run, project.id)
}

async function fillWiki({ ctx, ...run }: Run, project: ProjectStorage, source: FetchSource): Promise<void> {
  const key = wikiKeyOf(project)
  await createWikiRepository(ctx, project)
  const repository = ctx.git.open(key)
  const head = await repository.remoteHead(source, run.signal)
  await repository.fetch(source, deadline(run), { bytes: (await repositoryLimit(ctx)) ?? undefined })
  if (head !== null && (await repository.ref(`refs/heads/${head}`)) !== null) await repository.setHeadBranch(head)
  maintainWikiSoon(ctx, project)
}
