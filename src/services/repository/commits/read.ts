import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { notFound, refused } from '../../../failures.js'
import type { Commit, Diff, FileDiff, GitRepository, Oid, Stats } from '../../../git/types.js'
import { limits, type Page, type Paging, slice } from '../../core/page.js'
import { DIFF_LIMITS } from '../diff-limits.js'
import { repositoryOf } from '../repositories.js'
import { resolveRevision } from '../revisions.js'

export interface CommitFilter extends Paging {
  ref_name?: string | undefined
  since?: Date | undefined
  until?: Date | undefined
  path?: string | undefined
  all?: boolean | undefined
  with_stats?: boolean | undefined
  first_parent?: boolean | undefined
}

export interface CommitRecord {
  commit: Commit
  stats?: Stats | undefined
}

/** The commits of a ref, newest first (C-9 to C-14); empty for an unknown ref and for an empty repository. */
export async function listCommits(ctx: Context, subject: ProjectSubject, filter: CommitFilter): Promise<Page<CommitRecord>> {
  const { project } = subject
  const repository = repositoryOf(ctx, project)
  const from = filter.all ? await allTips(repository) : await tipOf(ctx, subject, filter.ref_name || project.default_branch)
  if (from.length === 0) return { items: [], total: 0 }
  const { offset: skip, limit } = limits(filter)
  const { commits, total } = await repository.log({
    from,
    skip,
    limit,
    // to the second, which is the precision of a commit's date (C-12)
    ...(filter.since && { since: Math.floor(filter.since.getTime() / 1000) }),
    ...(filter.until && { until: Math.floor(filter.until.getTime() / 1000) }),
    ...(filter.path && { path: filter.path }),
    ...(filter.first_parent && { firstParent: true }),
  })
  const stats = filter.with_stats ? await repository.stats(commits.map(({ oid }) => oid)) : []
  return { items: commits.map((commit, i) => ({ commit, stats: stats[i] })), total }
}

async function allTips(repository: GitRepository): Promise<Oid[]> {
  const refs = await Promise.all([repository.refs('refs/heads/'), repository.refs('refs/tags/')])
  const tips = [...new Set(refs.flat().map(({ peeled }) => peeled))]
  const commits = await repository.commits(tips)
  return tips.filter((_, i) => commits[i] !== null)
}

async function tipOf(ctx: Context, subject: ProjectSubject, revision: string): Promise<Oid[]> {
  const found = await resolveRevision(ctx, subject, revision)
  return found ? [found.commit] : []
}

/** The commit of a branch, tag, id or abbreviation; 404 when there is none (C-8). */
export async function getCommit(ctx: Context, subject: ProjectSubject, revision: string): Promise<Commit> {
  const found = await resolveRevision(ctx, subject, revision)
  const commit = found && (await repositoryOf(ctx, subject.project).commit(found.commit))
  if (!commit) throw notFound('Commit')
  return commit
}

/** The commit that last changed a path of a revision, itself without a path; null if there is no such revision. */
export async function lastCommitOf(ctx: Context, subject: ProjectSubject, revision: string, path: string): Promise<Commit | null> {
  const found = await resolveRevision(ctx, subject, revision)
  if (!found) return null
  const repository = repositoryOf(ctx, subject.project)
  const [last] = path === '' ? [found.commit] : await repository.lastCommits(found.commit, [path])
  return last ? repository.commit(last) : null
}

/** The best common ancestor of all these revisions (RE-5). */
export async function getMergeBase(ctx: Context, subject: ProjectSubject, refs: string[]): Promise<Commit> {
  if (refs.length < 2) throw refused('Provide at least 2 refs')
  const repository = repositoryOf(ctx, subject.project)
  const found = await Promise.all(refs.map((ref) => resolveRevision(ctx, subject, ref)))
  const unknown = refs.filter((_, i) => found[i] === null)
  if (unknown.length > 0) throw refused(`Could not find ref: ${unknown.join(', ')}`)
  const base = await repository.mergeBase(...found.map((one) => one?.commit as Oid))
  const commit = base && (await repository.commit(base))
  if (!commit) throw notFound('Merge Base')
  return commit
}

export interface CommitRef {
  type: 'branch' | 'tag'
  name: string
}

const PREFIXES = { branch: ['refs/heads/'], tag: ['refs/tags/'], all: ['refs/heads/', 'refs/tags/'] } as const

/** The branches, then the tags, that contain a commit, each ordered by name (RE-8). */
export async function refsOf(
  ctx: Context,
  subject: ProjectSubject,
  { sha, type, ...paging }: { sha: string; type: keyof typeof PREFIXES } & Paging,
): Promise<Page<CommitRef>> {
  const { oid } = await getCommit(ctx, subject, sha)
  const repository = repositoryOf(ctx, subject.project)
  const found = await Promise.all(PREFIXES[type].map((prefix) => repository.refsContaining(oid, prefix)))
  const refs = found.flat().map((ref): CommitRef => {
    const tag = ref.startsWith('refs/tags/')
    return { type: tag ? 'tag' : 'branch', name: ref.slice(tag ? 'refs/tags/'.length : 'refs/heads/'.length) }
  })
  return slice(refs, paging)
}

/** Added and deleted lines against the first parent (C-6). */
export async function statsOf(ctx: Context, { project }: ProjectSubject, oid: Oid): Promise<Stats> {
  const [stats] = await repositoryOf(ctx, project).stats([oid])
  return stats ?? { additions: 0, deletions: 0 }
}

/** The diff of a commit against its first parent, one element per file. */
export const diffOf = (ctx: Context, { project }: ProjectSubject, commit: Commit): Promise<Diff> =>
  repositoryOf(ctx, project).diff(commit.parents[0] ?? null, commit.oid, DIFF_LIMITS)

export interface Comparison {
  /** What is compared with the base. */
  head: Oid
  /** Oldest first. */
  commits: Commit[]
  diffs: FileDiff[]
  /** Whether the diff is truncated. */
  overflow: boolean
  similarity: Diff['similarity']
  blobs: Diff['blobs']
  /** Where the differences begin; null without a common commit. */
  base: Oid | null
  sameRef: boolean
  timedOut: boolean
}

const MAX_COMPARED_COMMITS = 1_000

/** Two revisions to compare. */
export interface Compared {
  from: string
  to: string
  straight: boolean
}

/** The commits that are compared. */
export interface Ends {
  left: Oid
  right: Oid
}

/** The commits that two revisions name; the first one may be of another project. */
export async function endsOf(ctx: Context, subject: ProjectSubject, { from, to }: Compared, other = subject): Promise<Ends> {
  const [left, right] = await Promise.all([resolveRevision(ctx, other, from), resolveRevision(ctx, subject, to)])
  if (!left || !right) throw notFound('Ref')
  return { left: left.commit, right: right.commit }
}

/** Where differences begin: at the merge base, if there is one, or with `straight` at the first commit itself. */
export const baseOf = async (repository: Pick<GitRepository, 'mergeBase'>, { left, right }: Ends, straight: boolean): Promise<Oid | null> =>
  straight ? left : repository.mergeBase(left, right)

/** Compares two revisions (RE-4). */
export const compare = async (ctx: Context, subject: ProjectSubject, compared: Compared): Promise<Comparison> =>
  comparisonOf(repositoryOf(ctx, subject.project), await endsOf(ctx, subject, compared), compared.straight)

/** The commits that one commit has and another one has not, and the changes between them. */
export async function comparisonOf(
  repository: Pick<GitRepository, 'mergeBase' | 'log' | 'diff'>,
  { left, right }: Ends,
  straight: boolean,
): Promise<Comparison> {
  const base = await baseOf(repository, { left, right }, straight)
  const log = await repository.log({ from: [right], exclude: [left], skip: 0, limit: MAX_COMPARED_COMMITS })
  const diff = await repository.diff(base, right, DIFF_LIMITS)
  return {
    commits: log.commits.reverse(),
    head: right,
    diffs: diff.files,
    overflow: diff.truncated,
    similarity: diff.similarity,
    blobs: diff.blobs,
    base,
    sameRef: left === right,
    timedOut: diff.truncated || log.total > MAX_COMPARED_COMMITS,
  }
}
