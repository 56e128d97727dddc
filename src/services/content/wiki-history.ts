import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound } from '../../failures.js'
import type { Commit, FileDiff, GitRepository, Oid } from '../../git/types.js'
import { limits, type Page, type Paging } from '../core/page.js'
import { contentOf, openWiki, type PageFile, pagesAt, type WikiPage } from './wikis.js'

/** A page as it is shown beside others. */
export interface ShownWikiPage extends WikiPage {
  content: string
  /** The blob of its text. */
  oid: Oid
  /** The commit that last changed it. */
  commit: Commit | null
  /** The text of the page `_sidebar`; null without one. */
  sidebar: string | null
  /** The slugs of all pages, up to `MAX_LISTED`. */
  slugs: string[]
  hasMore: boolean
}

/** The pages that are listed beside one. */
const MAX_LISTED = 100

const SIDEBAR = '_sidebar'
const byName = (pages: PageFile[], slug: string) => pages.find((page) => page.slug === slug)

/** What is beside every page of a wiki. */
async function besides(repository: GitRepository, pages: PageFile[]) {
  const sidebar = byName(pages, SIDEBAR)
  const listed = pages.filter(({ slug }) => slug !== SIDEBAR)
  return {
    sidebar: sidebar ? await contentOf(repository, sidebar) : null,
    slugs: listed.slice(0, MAX_LISTED).map(({ slug }) => slug),
    hasMore: listed.length > MAX_LISTED,
  }
}

/** A page now or at a commit, with what stands beside it; null if there is none. */
export async function findShownPage(ctx: Context, { project }: ProjectSubject, slug: string, version?: string): Promise<ShownWikiPage | null> {
  const wiki = await openWiki(ctx, project)
  if (!wiki) return null
  const { repository, head } = wiki
  const commit = version ? (await repository.resolve(version))?.commit : head
  if (!commit) return null
  const pages = await pagesAt(repository, commit)
  const page = byName(pages, slug) ?? (version ? await formerly(repository, wiki.head, commit, pages, slug) : undefined)
  if (!page) return null
  const [[last], content, beside] = await Promise.all([
    repository.lastCommits(commit, [page.entry.path]),
    contentOf(repository, page),
    besides(repository, pages),
  ])
  return { slug, format: page.format, content, oid: page.entry.oid, commit: last ? await repository.commit(last) : null, ...beside }
}

const LIMITS = { files: 1_000, lines: 20_000, bytes: 1_048_576, fileBytes: 524_288 }

/** The path that a file of the wiki had at a commit, if it has moved since. */
async function pathAt(repository: GitRepository, commit: Oid, head: Oid, path: string): Promise<string> {
  if (await repository.entry(commit, path)) return path
  const { files } = await repository.diff(commit, head, LIMITS)
  return files.find(({ renamed_file, new_path }) => renamed_file && new_path === path)?.old_path ?? path
}

/** A page of an older commit that has another name today. */
async function formerly(repository: GitRepository, head: Oid, commit: Oid, pages: PageFile[], slug: string): Promise<PageFile | undefined> {
  const now = byName(await pagesAt(repository, head), slug)
  const path = now && (await pathAt(repository, commit, head, now.entry.path))
  return pages.find(({ entry }) => entry.path === path)
}

/** The versions of a page, newest first. */
export async function listWikiVersions(ctx: Context, { project }: ProjectSubject, slug: string, paging: Paging): Promise<Page<Commit>> {
  const wiki = await openWiki(ctx, project)
  const page = wiki && byName(await pagesAt(wiki.repository, wiki.head), slug)
  if (!wiki || !page) throw notFound('Wiki Page')
  const { offset: skip, limit } = limits(paging)
  const { commits, total } = await wiki.repository.log({ from: [wiki.head], path: page.entry.path, skip, limit })
  return { items: commits, total }
}

/** What a version changed of a page, or what is different from another version; null if nothing is. */
export async function compareWikiPage(
  ctx: Context,
  { project }: ProjectSubject,
  slug: string,
  { from, to }: { from?: string | undefined; to: string },
): Promise<FileDiff | null> {
  const wiki = await openWiki(ctx, project)
  if (!wiki) throw notFound('Wiki Page')
  const { repository } = wiki
  const end = (await repository.resolve(to))?.commit
  const commit = end && (await repository.commit(end))
  if (!commit) throw notFound('Commit')
  const start = from ? (await repository.resolve(from))?.commit : (commit.parents[0] ?? null)
  if (start === undefined) throw notFound('Commit')
  const { files } = await repository.diff(start, commit.oid, LIMITS)
  const now = byName(await pagesAt(repository, wiki.head), slug)
  if (!now) throw notFound('Wiki Page')
  const path = await pathAt(repository, commit.oid, wiki.head, now.entry.path)
  return files.find(({ old_path, new_path }) => new_path === path || old_path === path) ?? null
}
