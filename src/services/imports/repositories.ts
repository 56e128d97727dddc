import { setTimeout as sleep } from 'node:timers/promises'
import type { projects } from '../../db/schema/index.js'
import { GitFault, TooLarge } from '../../git/errors.js'
import type { FetchSource } from '../../git/types.js'
import { fetchHeaders } from '../../lib/ssrf-guard.js'
import { isUnavailable } from '../../lib/unavailable.js'
import { maintainWikiSoon } from '../content/wikis.js'
import { fillRepository } from '../projects/import.js'
import { repositoryLimit } from '../repository/quotas.js'
import { repositoryOf, wikiKeyOf } from '../repository/repositories.js'
import { forgetUsualProtection } from './belongings.js'
import { bring, Refused, type Write } from './bring.js'
import { bringLfsObjects } from './lfs.js'
import type { Place, Run } from './run.js'
import { patiently } from './source/client.js'

/** A project here, as far as its repositories are concerned. */
type Home = Pick<typeof projects.$inferSelect, 'id' | 'storage'>

/**
 * Brings the repository of a project, with the heads of its merge requests, and its wiki. Each comes whole or not at
 * all.
 */
export async function bringRepositories(run: Run, place: Place, project: Home, defaultBranch: string | null): Promise<void> {
  const { key, path } = place
  const due = async (kind: string) => (await run.ledger.known(kind, [key])).size === 0
  if (await due('repository')) {
    const source = sourceAt(run, `/${path}.git`)
    await bring(run, { kind: 'repository', key, name: path }, async () => {
      const status = await statusOf(run, source)
      if (status !== 200) throw new Refused(`the server answers ${status} to Git: the token's user may not read it, or there is none`)
      return taken(run, () => fill(run, project, source, defaultBranch))
    })
  }
  await bringLfsObjects(run, place, project, sourceAt(run, `/${path}.git`))
  const source = sourceAt(run, `/${path}.wiki.git`)
  if ((await due('wiki')) && (await hasPages(run, project, source)))
    await bring(run, { kind: 'wiki', key, name: path }, () => taken(run, () => fillWiki(run, project, source)))
}

/** Whether there is a wiki with a page. Asked from the repository: git needs a folder to run in. */
async function hasPages(run: Run, project: Home, source: FetchSource): Promise<boolean> {
  if ((await statusOf(run, source)) !== 200) return false
  if (run.ledger.dry) return hasBranches(run, source)
  return (
    (await repositoryOf(run.ctx, project)
      .remoteHead(source, run.signal)
      .catch(() => null)) !== null
  )
}

/** The same where there is no folder: whether a branch is advertised. */
async function hasBranches({ source: { client } }: Run, { url, authorization }: FetchSource): Promise<boolean> {
  const headers = { accept: '*/*', 'user-agent': 'git/roost', ...(authorization && { authorization }) }
  const { text } = await client.text(`${url.slice(client.base.length)}${ADVERTISEMENT}`, headers)
  return text.includes(' refs/heads/')
}

/** The address is made of that of the server and of the path: what the server says of it is not followed. */
function sourceAt({ source: { client, authorization } }: Run, path: string): FetchSource {
  return { url: `${client.base}${path}`, addresses: client.target.addresses.map(({ address }) => address), authorization }
}

const ADVERTISEMENT = '/info/refs?service=git-upload-pack'

/** What the server answers to Git. */
async function statusOf(run: Run, { url, authorization }: FetchSource): Promise<number> {
  const { target } = run.source.client
  const headers = { accept: '*/*', 'user-agent': 'git/roost', ...(authorization && { authorization }) }
  const asked = { ...target, url: new URL(`${url}${ADVERTISEMENT}`) }
  const answer = await patiently(run.signal, async () => {
    const { status, headers: given } = await fetchHeaders(asked, { headers, responseTimeout: 60_000, signal: run.signal })
    return { status, after: given['retry-after'] }
  })
  return answer.status
}

/** Milliseconds; git itself gives up earlier. */
const DEADLINE = 24 * 3_600_000

/** Does it before the row of the ledger is written. What git says of a fault may contain the token. */
async function taken(run: Run, take: () => Promise<void>): Promise<Write> {
  try {
    if (!run.ledger.dry) await takeAgain(run, take)
    return async () => null
  } catch (error) {
    run.signal.throwIfAborted()
    if (error instanceof TooLarge) throw new Refused('the repository is too large')
    if (isUnavailable(error)) throw new Refused('the repository did not come in time')
    if (error instanceof GitFault) throw new Refused('git could not fetch the repository')
    throw error
  }
}

const FETCHES = 3
/** Milliseconds before the second fetch, and again before the third. */
const FETCH_WAIT = 1_000

/** A connection may be lost in the middle of a fetch. */
async function takeAgain({ signal }: Run, take: () => Promise<void>): Promise<void> {
  for (let tried = 1; tried < FETCHES; tried++) {
    try {
      return await take()
    } catch (error) {
      if (signal.aborted || !(error instanceof GitFault) || error instanceof TooLarge) throw error
      await sleep(FETCH_WAIT * tried, undefined, { signal })
    }
  }
  await take()
}

const deadline = (run: Pick<Run, 'signal'>) => AbortSignal.any([run.signal, AbortSignal.timeout(DEADLINE)])

async function fill(run: Run, project: Home, source: FetchSource, defaultBranch: string | null): Promise<void> {
  const filling = { id: project.id, source, default_branch: defaultBranch, refspecs: [run.source.dialect.heads] }
  await fillRepository(run.ctx, repositoryOf(run.ctx, project), filling, deadline(run))
  await forgetUsualProtection(run, project.id)
}

async function fillWiki({ ctx, ...run }: Run, project: Home, source: FetchSource): Promise<void> {
  const key = wikiKeyOf(project)
  await ctx.git.create(key, ctx.config.defaultBranch)
  const repository = ctx.git.open(key)
  const head = await repository.remoteHead(source, run.signal)
  await repository.fetch(source, deadline(run), { bytes: (await repositoryLimit(ctx)) ?? undefined })
  if (head !== null && (await repository.ref(`refs/heads/${head}`)) !== null) await repository.setHeadBranch(head)
  maintainWikiSoon(ctx, project)
}
