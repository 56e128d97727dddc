import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { projects } from '../../db/schema/index.js'
import { invalidRecord, notFound, refused, tooLarge } from '../../failures.js'
import { RefChanged } from '../../git/errors.js'
import { type Change, type GitRepository, type Oid, type TreeEntry, ZERO } from '../../git/types.js'
import { enqueue } from '../../jobs/enqueue.js'
import { defineJob } from '../../jobs/kinds.js'
import { checkPath } from '../../lib/git-path.js'
import { Unavailable } from '../../lib/unavailable.js'
import { lengthOf } from '../../rules/path.js'
import { EXTENSION, isAddressable, isReserved, pageOfFile, slugOfTitle, titleOfSlug, type WikiFormat } from '../../rules/wiki-page.js'
import { type Page, type Paging, slice } from '../core/page.js'
import { readSettings } from '../core/settings.js'
import { lockSource } from '../groups/members.js'
import { confirmWikiMoves, recordWikiMoves } from '../outbox/record.js'
import { MAX_JSON_BLOB, openBlobOf } from '../repository/blobs.js'
import { checkQuota } from '../repository/quotas.js'
import type { RawFile } from '../repository/raw.js'
import { createWikiRepository, signatureOf, unlessRemoved, wikiKeyOf } from '../repository/repositories.js'

/** A wiki page; `content` is null unless it was requested. */
export interface WikiPage {
  slug: string
  format: WikiFormat
  content: string | null
}

/** The most attempts of a write whose branch keeps moving. */
const MAX_ATTEMPTS = 8
const MAX_TITLE = 255

type Project = Pick<ProjectSubject['project'], 'id' | 'storage'>

const wikiOf = (ctx: Pick<Context, 'git'>, project: Project): GitRepository => ctx.git.open(wikiKeyOf(project))

/** The branch with the pages: the one that HEAD names or, if only others were pushed, the first of those. */
async function branchOf(ctx: Pick<Context, 'config'>, repository: GitRepository): Promise<{ name: string; head: Oid | null }> {
  const name = (await repository.headBranch()) ?? ctx.config.defaultBranch
  const head = await repository.ref(`refs/heads/${name}`)
  if (head) return { name, head }
  const [first] = await repository.refs('refs/heads/')
  return first ? { name: first.name.slice('refs/heads/'.length), head: first.oid } : { name, head: null }
}

/** The repository, branch and head of a wiki; null for a wiki without pages. */
export async function openWiki(ctx: Context, project: Project): Promise<{ repository: GitRepository; name: string; head: Oid } | null> {
  if (!(await ctx.git.exists(wikiKeyOf(project)))) return null
  const repository = wikiOf(ctx, project)
  const { name, head } = await branchOf(ctx, repository)
  return head === null ? null : { repository, name, head }
}

const bySlug = (a: { slug: string }, b: { slug: string }) => (a.slug < b.slug ? -1 : a.slug > b.slug ? 1 : 0)

/** The file of a page. */
export interface PageFile {
  slug: string
  format: WikiFormat
  entry: TreeEntry
}

export async function pagesAt(repository: GitRepository, commit: Oid): Promise<PageFile[]> {
  const entries = (await repository.tree(commit, '', { recursive: true })) ?? []
  return entries
    .flatMap((entry) => {
      const page = entry.type === 'blob' ? pageOfFile(entry.path) : null
      return page ? [{ ...page, entry }] : []
    })
    .sort(bySlug)
}

export async function contentOf(repository: GitRepository, { entry }: PageFile): Promise<string> {
  const info = await repository.objectInfo(entry.oid)
  if (info && info.size > MAX_JSON_BLOB) throw tooLarge()
  return (await repository.blob(entry.oid))?.toString('utf8') ?? ''
}

/** The most bytes of all contents together on one page of a list (SEC-178). */
const MAX_LIST_BYTES = 4 * 1024 * 1024

/** The most bytes of each content in a list, so that all contents fit. */
async function maxBytesPerPage(repository: GitRepository, pages: PageFile[]): Promise<number> {
  let all = 0
  for (const { entry } of pages) all += (await repository.objectInfo(entry.oid))?.size ?? 0
  return all <= MAX_LIST_BYTES ? MAX_LIST_BYTES : Math.floor(MAX_LIST_BYTES / pages.length)
}

async function contentStart(repository: GitRepository, { entry }: PageFile, maxBytes: number): Promise<string> {
  const start = await repository.blobStart(entry.oid, maxBytes + 1)
  if (!start) return ''
  if (start.length <= maxBytes) return start.toString('utf8')
  // `stream: true` drops an incomplete character at the end
  return `${new TextDecoder('utf-8', { ignoreBOM: true }).decode(start.subarray(0, maxBytes), { stream: true })}...`
}

/** The pages by slug (WK-1). */
export async function listWikiPages(
  ctx: Context,
  { project }: ProjectSubject,
  { with_content, ...paging }: { with_content: boolean } & Paging,
): Promise<Page<WikiPage>> {
  const now = await openWiki(ctx, project)
  if (!now) return { items: [], total: 0 }
  const { repository, head } = now
  const { items, total } = slice(await pagesAt(repository, head), paging)
  const pages: WikiPage[] = []
  const maxBytes = with_content ? await maxBytesPerPage(repository, items) : 0
  for (const page of items)
    pages.push({ slug: page.slug, format: page.format, content: with_content ? await contentStart(repository, page, maxBytes) : null })
  return { items: pages, total }
}

/** The current page, or the page at a commit (WK-2). */
export async function getWikiPage(
  ctx: Context,
  { project }: ProjectSubject,
  slug: string,
  version?: string,
): Promise<WikiPage & { content: string }> {
  const now = await openWiki(ctx, project)
  if (!now) throw notFound('Wiki Page')
  const { repository, head } = now
  const commit = version ? (await repository.resolve(version))?.commit : head
  const page = commit && (await findPage(repository, commit, slug))
  if (!page) throw notFound('Wiki Page')
  return { slug: page.slug, format: page.format, content: await contentOf(repository, page) }
}

async function findPage(repository: GitRepository, commit: Oid, slug: string): Promise<PageFile | null> {
  return (await pagesAt(repository, commit)).find((page) => page.slug === slug) ?? null
}

/** Whether a file stands in a wiki, as it is now. */
export async function hasWikiFile(ctx: Context, { project }: ProjectSubject, path: string): Promise<boolean> {
  const wiki = await openWiki(ctx, project)
  return (wiki && (await fileIn(wiki.repository, wiki.head, path))) !== null
}

/** A file of a wiki, as it is now or at a commit: pages show pictures (WA-20). */
export async function openWikiFile(
  ctx: Context,
  { project }: ProjectSubject,
  { path, version, signal }: { path: string; version?: string | undefined; signal: AbortSignal },
): Promise<RawFile> {
  const wiki = await openWiki(ctx, project)
  const commit = wiki && (version ? (await wiki.repository.resolve(version))?.commit : wiki.head)
  const entry = commit ? await fileIn(wiki.repository, commit, path) : null
  if (!wiki || !entry) throw notFound('File')
  return { id: entry.oid, path, ...(await openBlobOf(wiki.repository, entry.oid, signal)) }
}

async function fileIn(repository: GitRepository, commit: Oid, path: string): Promise<TreeEntry | null> {
  const entry = await repository.entry(commit, path)
  return entry?.type === 'blob' && entry.mode !== '120000' ? entry : null
}

export interface WikiChange {
  title?: string | undefined
  content?: string | undefined
  format?: WikiFormat | undefined
  message?: string | undefined
  /** Gets the blob of the page as it is before the change, and may refuse it. */
  check?: ((blob: Oid) => void) | undefined
}

/** The slug of a title; 400 if it is not a valid file name. */
function slugOf(title: string): string {
  // white space around it does not count
  const slug = slugOfTitle(title.trim().slice(0, 4 * MAX_TITLE))
  if (slug === '') throw invalidRecord({ title: ["can't be blank"] })
  if (lengthOf(slug) > MAX_TITLE) throw invalidRecord({ title: [`is too long (maximum is ${MAX_TITLE} characters)`] })
  if (checkPath(`${slug}.md`) || !isAddressable(slug)) throw invalidRecord({ title: ['is invalid'] })
  if (isReserved(slug)) throw invalidRecord({ title: ['is reserved'] })
  return slug
}

/** Creates a page with one commit; 400 if it exists already (WK-3). */
export async function createWikiPage(
  ctx: Context,
  { project }: ProjectSubject,
  caller: SignedIn,
  { title, content, format = 'markdown', message }: WikiChange & { title: string; content: string },
): Promise<WikiPage & { content: string }> {
  const slug = slugOf(title)
  // a wiki's repository is created with its first page
  await createWikiRepository(ctx, project)
  await commitPages(ctx, project, caller, message || `${caller.user.username} created page: ${titleOfSlug(slug)}`, (pages) => {
    if (pages.some((page) => page.slug === slug)) throw invalidRecord({ title: ['has already been taken'] })
    return [{ action: 'create', path: `${slug}.${EXTENSION[format]}`, content: Buffer.from(content) }]
  })
  return { slug, format, content }
}

/** Changes a page; a new title changes the slug, a new format changes the extension (WK-4). */
export async function updateWikiPage(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  slug: string,
  { title, content, format, message, check }: WikiChange,
): Promise<WikiPage & { content: string }> {
  const wanted = title === undefined ? slug : slugOf(title)
  await commitPages(ctx, subject.project, caller, message || `${caller.user.username} updated page: ${titleOfSlug(wanted)}`, (pages) => {
    const page = pages.find((other) => other.slug === slug)
    if (!page) throw notFound('Wiki Page')
    check?.(page.entry.oid)
    if (wanted !== slug && pages.some((other) => other.slug === wanted)) throw invalidRecord({ title: ['has already been taken'] })
    const from = page.entry.path
    const keeps = format === undefined || format === page.format
    const path = keeps ? `${wanted}${from.slice(slug.length)}` : `${wanted}.${EXTENSION[format]}`
    const written = content === undefined ? {} : { content: Buffer.from(content) }
    if (path !== from) return [{ action: 'move', from, path, ...written }]
    return written.content ? [{ action: 'update', path, content: written.content }] : []
  })
  return getWikiPage(ctx, subject, wanted)
}

/** Deletes a page (WK-5). */
export async function deleteWikiPage(ctx: Context, { project }: ProjectSubject, caller: SignedIn, slug: string): Promise<void> {
  await commitPages(ctx, project, caller, `${caller.user.username} deleted page: ${titleOfSlug(slug)}`, (pages) => {
    const page = pages.find((other) => other.slug === slug)
    if (!page) throw notFound('Wiki Page')
    return [{ action: 'delete', path: page.entry.path }]
  })
}

const MAX_MESSAGE = 1_000_000

const commitPages = (
  ctx: Context,
  project: Project,
  caller: SignedIn,
  message: string,
  change: (pages: PageFile[]) => Change[],
): Promise<string | null> => commitToWiki(ctx, project, caller, { message, change })

interface WikiCommit {
  message: string
  /** Another branch than that of the pages. */
  branch?: string | undefined
  change(pages: PageFile[]): Change[]
}

/**
 * Makes one commit by the caller on the wiki's branch, and returns its name; null if there is no such branch. `change`
 * computes the changes from the current pages, and is called again if the branch has moved meanwhile. Without changes
 * there is no commit.
 */
export async function commitToWiki(
  ctx: Context,
  project: Project,
  caller: SignedIn,
  { message, branch, change }: WikiCommit,
): Promise<string | null> {
  if (lengthOf(message) > MAX_MESSAGE) throw refused('The commit message is too long')
  if (!(await ctx.git.exists(wikiKeyOf(project)))) throw notFound('Wiki Page')
  const repository = wikiOf(ctx, project)
  const used = await ctx.process.mutex.run(`wiki ${project.id}`, async () => {
    for (let attempt = 1; ; attempt++) {
      const own = await branchOf(ctx, repository)
      const { name, head } = !branch || branch === own.name ? own : { name: branch, head: await repository.ref(`refs/heads/${branch}`) }
      if (name !== own.name && head === null) return null
      const changes = change(head ? await pagesAt(repository, head) : [])
      if (changes.length === 0) return name
      const adding = changes.reduce((sum, one) => sum + ('content' in one && one.content ? one.content.length : 0), 0)
      if (changes.some(({ action }) => action !== 'delete')) await checkQuota(ctx, repository, adding)
      const signature = signatureOf(ctx, caller)
      const drafted = await repository.draftCommit({ parents: head ? [head] : [], changes, author: signature, committer: signature, message })
      // the page's path conflicts with a folder or a file
      if ('fault' in drafted) throw invalidRecord({ title: ['is invalid'] })
      const move = { ref: `refs/heads/${name}`, old: head ?? ZERO, new: drafted.commit }
      const recorded = await recordWikiMoves(ctx.db, project.id, caller.user.id, [move])
      try {
        await repository.updateRefs([move])
        await confirmWikiMoves(ctx.db, recorded, [move])
        return name
      } catch (error) {
        if (!(error instanceof RefChanged)) throw error
        await confirmWikiMoves(ctx.db, recorded, [])
        if (attempt === MAX_ATTEMPTS) throw new Unavailable('The wiki is changing too fast')
      }
    }
  })
  // the commit has no row that would make a deletion of the project wait, so this fails if the project is gone
  await lockSource(ctx.db.write, { kind: 'project', id: project.id })
  maintainWikiSoon(ctx, project)
  return used
}

/** Delays maintenance after a write, so that a burst of writes causes one run. */
const MAINTENANCE_DELAY_MS = 2_000

/** Maintains packs and commit-graph of a wiki's repository. */
export const wikiMaintenance = defineJob({
  kind: 'wiki upkeep',
  input: z.object({ project: z.int() }),
  async run(ctx: Context, { project: id }, { signal }) {
    const [project] = await ctx.db.write.select({ id: projects.id, storage: projects.storage }).from(projects).where(eq(projects.id, id))
    if (!project) return
    const { housekeeping_enabled: packing, housekeeping_bitmaps_enabled: bitmaps } = await readSettings(ctx)
    await unlessRemoved(ctx, id, () => ctx.git.open(wikiKeyOf(project)).maintain({ packing, bitmaps, signal }))
  },
  slots: 'upkeep',
  priority: 'low',
  deadline: 3_600_000,
})

/** Enqueues maintenance after a write. A failure to enqueue does not fail the write; the next write enqueues again. */
export const maintainWikiSoon = (ctx: Context, project: Project): void =>
  ctx.jobs.add('wiki upkeep', () =>
    enqueue(ctx.db, wikiMaintenance, { project: project.id }, { key: String(project.id), delay: MAINTENANCE_DELAY_MS }),
  )
