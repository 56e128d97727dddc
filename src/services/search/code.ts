import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Commit, GitRepository, Oid, SearchDeadline, TreeEntry } from '../../git/types.js'
import { openWiki } from '../content/wikis.js'
import { limits, type Page, type Paging, slice } from '../core/page.js'
import { repositoryOf } from '../repository/repositories.js'
import { mayShow, resolveRevision } from '../repository/revisions.js'

/** Lines shown before and after a match. */
const CONTEXT_LINES = 2
/** The most chunks, and the most files found by path. */
const MAX_MATCHES = 100
const MAX_COMMITS = 1_000
/** How much is shown of a file that was found by path. */
const MAX_SHOWN_BYTES = 1_024

/** A match in a file. */
export interface CodeMatch {
  /** With its bytes (`byte-path.ts`). */
  path: string
  /** The blob id of a file found by path; null for a match in content. */
  oid: Oid | null
  /** The number of the first line shown, from 1. */
  line: number
  text: string
}

export interface CodeMatches extends Page<CodeMatch> {
  /** The branch that was searched, or the ref that the caller gave. */
  ref: string
}

const isBlank = (text: string) => text.trim() === ''

/** What is searched: the default branch, or another branch, tag or commit; and until when. */
interface CodeSearch extends SearchDeadline {
  ref: string | undefined
}

/** The commit to search; null if there is none. */
async function headOf(ctx: Context, subject: ProjectSubject, ref: string | undefined): Promise<Oid | null> {
  const { project } = subject
  if (ref === undefined) return repositoryOf(ctx, project).ref(`refs/heads/${project.default_branch}`)
  return (await resolveRevision(ctx, subject, ref))?.commit ?? null
}

/**
 * Searches the files of one commit by content and by path (S-24, S-29); empty if the caller may not read code
 * (SEC-34).
 */
export async function searchBlobs(
  ctx: Context,
  subject: ProjectSubject,
  text: string,
  paging: Paging,
  { ref: given, ...deadline }: CodeSearch,
): Promise<CodeMatches> {
  const { project, can } = subject
  const ref = given ?? project.default_branch
  const none = { items: [], total: 0, ref }
  if (isBlank(text) || !can('download_code') || project.empty_repo) return none
  const repository = repositoryOf(ctx, project)
  const head = await headOf(ctx, subject, given)
  if (!head) return none
  const { chunks, truncated } = await repository.grep(head, text, { context: CONTEXT_LINES, limit: MAX_MATCHES, ...deadline })
  const named = await filesAtPath(repository, head, text)
  const path = named && pathIn(text)
  // if chunks are truncated, more of these files may match by content
  const matched = new Set(path && truncated ? await repository.filesWith(head, text, { paths: [path], ...deadline }) : [])
  for (const chunk of chunks) matched.add(chunk.path)
  const byPath = (named ?? []).filter(({ path, bytePath = path }) => !matched.has(bytePath)).slice(0, MAX_MATCHES)
  const all = [
    ...chunks.map((chunk) => ({ path: chunk.path, line: chunk.startLine, text: chunk.text.trimEnd(), oid: null })),
    ...byPath.map(({ path, bytePath = path, oid }) => ({ path: bytePath, line: 1, text: '', oid })),
  ].sort((a, b) => compareByPath(a, b) || a.line - b.line)
  const { items, total } = slice(all, paging)
  return { items: await Promise.all(items.map((found) => withContentStart(repository, found))), total, ref }
}

const compareByPath = (a: { path: string }, b: { path: string }) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path))

const pathIn = (text: string) => text.replace(/^\/+/, '')

/** The file at the path `text`, or all files below it if it is a folder, in Git's order; null if there is neither. */
async function filesAtPath(repository: GitRepository, commit: Oid, text: string): Promise<TreeEntry[] | null> {
  const path = pathIn(text)
  if (path === '' || path.endsWith('/')) return null
  const entry = await repository.entry(commit, path)
  if (entry?.type === 'blob') return [entry]
  const below = entry?.type === 'tree' ? await repository.tree(commit, path, { recursive: true }) : null
  return below?.filter(({ type }) => type === 'blob') ?? null
}

/** Adds the start of the content to a file found by path, without an incomplete last character. */
async function withContentStart(repository: GitRepository, found: CodeMatch): Promise<CodeMatch> {
  if (found.oid === null) return found
  const start = (await repository.blobStart(found.oid, MAX_SHOWN_BYTES)) ?? Buffer.alloc(0)
  return { ...found, text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(start, { stream: start.length === MAX_SHOWN_BYTES }) }
}

/** Searches the pages of the wiki by content (S-16, S-29). */
export async function searchWiki(
  ctx: Context,
  subject: ProjectSubject,
  text: string,
  paging: Paging,
  { ref, ...deadline }: CodeSearch,
): Promise<CodeMatches> {
  const now = isBlank(text) || !subject.can('read_wiki') ? null : await openWiki(ctx, subject.project)
  if (!now) return { items: [], total: 0, ref: '' }
  const head = ref === undefined ? now.head : (await now.repository.resolve(ref))?.commit
  if (!head) return { items: [], total: 0, ref: ref ?? '' }
  const { chunks } = await now.repository.grep(head, text, { context: CONTEXT_LINES, limit: MAX_MATCHES, ...deadline })
  const { items, total } = slice(chunks, paging)
  return {
    items: items.map(({ path, startLine, text }) => ({ path, line: startLine, text: text.trimEnd(), oid: null })),
    total,
    ref: ref ?? now.name,
  }
}

/**
 * Searches the messages of the commits that a ref reaches. If the text is an id, the commit is added, whether a branch
 * contains it or not (S-22, S-29).
 */
export async function searchCommits(
  ctx: Context,
  subject: ProjectSubject,
  text: string,
  paging: Paging,
  { ref, ...deadline }: CodeSearch,
): Promise<Page<Commit>> {
  const { project, can } = subject
  if (isBlank(text) || !can('download_code') || project.empty_repo) return { items: [], total: 0 }
  const repository = repositoryOf(ctx, project)
  const head = await headOf(ctx, subject, ref)
  const oids = head ? (await repository.searchLog(head, text, { limit: MAX_COMMITS, ...deadline })).oids : []
  const hash = text.trim()
  const named = /^[0-9a-f]{7,40}$/i.test(hash) ? await repository.commitNamed(hash) : null
  const all = named && !oids.includes(named) && (await mayShow(ctx, subject, named)) ? [...oids, named] : oids
  const { limit, offset } = limits(paging)
  const commits = await repository.commits(all.slice(offset, offset + limit))
  return { items: commits.filter((commit) => commit !== null), total: all.length }
}
