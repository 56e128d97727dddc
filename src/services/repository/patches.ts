import { createHash } from 'node:crypto'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound } from '../../failures.js'
import type { Oid, PatchKind } from '../../git/types.js'
import type { CachedFile } from '../../lib/files/file-cache.js'
import { baseOf, type Compared, endsOf, getCommit } from './commits/read.js'
import { repositoryOf } from './repositories.js'

/** The changes between two commits; `from` null: all files of `to`. */
export interface CommitRange {
  from: Oid | null
  to: Oid
}

/** The changes of a commit against its first parent. */
export async function rangeOfCommit(ctx: Context, subject: ProjectSubject, sha: string): Promise<CommitRange> {
  const { oid, parents } = await getCommit(ctx, subject, sha)
  return { from: parents[0] ?? null, to: oid }
}

/** The differences of a comparison; 404 without a merge base. */
export async function rangeOfComparison(ctx: Context, subject: ProjectSubject, compared: Compared): Promise<CommitRange> {
  const ends = await endsOf(ctx, subject, compared)
  const base = await baseOf(repositoryOf(ctx, subject.project), ends, compared.straight)
  if (base === null) throw notFound('Ref')
  return { from: base, to: ends.right }
}

/** The name of a patch in the cache of archives, and its ETag. */
export const patchName = (kind: PatchKind, { from, to }: CommitRange): string =>
  createHash('sha256')
    .update(JSON.stringify([kind, from, to]))
    .digest('hex')

/** The patch; concurrent and later requests share it through the cache of archives (WA-4). */
export const openPatch = (
  ctx: Context,
  { project }: ProjectSubject,
  { kind, range, signal }: { kind: PatchKind; range: CommitRange; signal: AbortSignal },
): Promise<CachedFile> => {
  const holder = ctx.origin?.address
  const make = (signal: AbortSignal) => repositoryOf(ctx, project).patch({ kind, ...range, signal, holder })
  return ctx.caches.archives.read(`${project.id}/${patchName(kind, range)}`, make, signal)
}
