import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound, refused, tooLarge } from '../../failures.js'
import type { Commit, Oid } from '../../git/types.js'
import { Turn } from '../../lib/async/yield.js'
import { Unavailable } from '../../lib/unavailable.js'
import { MAX_JSON_BLOB } from './blobs.js'
import { getFile } from './files.js'
import { repositoryOf } from './repositories.js'

/** Consecutive lines that were last changed by one commit. */
export interface BlamedLines {
  commit: Commit
  lines: string[]
}

/** Line numbers from 1, both inclusive. */
export interface LineRange {
  start: number
  end: number
}

/** Maximum number of lines per response; longer files need a range. */
const MAX_LINES = 50_000
/** How long git may take. */
const DEADLINE_MS = 20_000

/** The last commit of each line of a file (RF-4); 413 when the file or the response is too large. */
export async function blameFile(
  ctx: Context,
  subject: ProjectSubject,
  { path, ref, range, signal }: { path: string; ref: string; range?: LineRange | undefined; signal: AbortSignal },
): Promise<BlamedLines[]> {
  const repository = repositoryOf(ctx, subject.project)
  const { entry, commit } = await getFile(ctx, subject, path, ref)
  const info = await repository.objectInfo(entry.oid)
  if (info && info.size > MAX_JSON_BLOB) throw tooLarge()
  const content = info && (await repository.blob(entry.oid))
  if (!content) throw notFound('File')
  const lines = await linesOf(content, range)
  if (lines.length === 0 && !range) return []
  if (lines.length === 0) throw refused('range[start] is beyond the last line')
  const first = range?.start ?? 1
  const requested = { start: first, end: first + lines.length - 1 }
  const { groups, truncated } = await repository.blame(commit, entry.bytePath ?? path, {
    ...(range && { range: requested }),
    deadline: DEADLINE_MS,
    signal,
  })
  if (truncated) {
    const found = groups.reduce((sum, { count }) => sum + count, 0)
    throw found > 0 && groups.length > 1_000 ? tooLarge() : new Unavailable('The file has too long a history, ask for a range of its lines', 30)
  }
  const commits = new Map<string, Commit | null>()
  const oids = [...new Set(groups.map(({ oid }) => oid))]
  for (const [at, found] of (await repository.commits(oids)).entries()) commits.set(oids[at] as string, found)
  return groups.flatMap(({ oid, start, count }) => {
    const found = commits.get(oid)
    return found ? [{ commit: found, lines: lines.slice(start - first, start - first + count) }] : []
  })
}

/** The file whose commits a blame leaves out, as git does with `blame.ignoreRevsFile`. */
export const IGNORED_REVISIONS = '.git-blame-ignore-revs'
const MAX_IGNORED_BYTES = 262_144
const MAX_IGNORED = 1_000

/**
 * The commits that blames leave out, as the file of the default branch names them (WB-396); null without the file. What
 * names no commit is skipped, where git would fail.
 */
export async function ignoredRevisions(ctx: Context, { project }: ProjectSubject): Promise<Oid[] | null> {
  const repository = repositoryOf(ctx, project)
  const head = await repository.ref(`refs/heads/${project.default_branch}`)
  const entry = head ? await repository.entry(head, IGNORED_REVISIONS) : null
  if (entry?.type !== 'blob' || entry.mode === '120000') return null
  const text = (await repository.blobStart(entry.oid, MAX_IGNORED_BYTES))?.toString('latin1') ?? ''
  const named = [...new Set(text.match(/^[ \t]*[0-9a-f]{40}(?=[ \t\r]*(?:#|$))/gim)?.map((line) => line.trim().toLowerCase()))].slice(0, MAX_IGNORED)
  const commits = await repository.commits(named)
  return named.filter((_, i) => commits[i])
}

/** The lines of a range, or all; 413 for more than `MAX_LINES`. */
async function linesOf(content: Buffer, { start, end }: LineRange = { start: 1, end: Number.POSITIVE_INFINITY }): Promise<string[]> {
  const lines: string[] = []
  const turn = new Turn()
  let at = 0
  for (let line = 1; at < content.length && line <= end; line++) {
    const found = content.indexOf(0x0a, at)
    const to = found < 0 ? content.length : found
    if (line >= start && lines.push(content.toString('utf8', at, to)) > MAX_LINES) throw tooLarge()
    at = to + 1
    if (turn.over) await turn.end()
  }
  return lines
}
