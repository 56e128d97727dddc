import { createHash } from 'node:crypto'
import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound, refused, tooLarge } from '../../failures.js'
import type { Oid, TreeEntry } from '../../git/types.js'
import { checkPath } from '../../lib/git-path.js'
import { MAX_JSON_BLOB } from './blobs.js'
import { createCommit, PATH_FAULTS } from './commits/create.js'
import { repositoryOf } from './repositories.js'
import { resolveRevision } from './revisions.js'

/** The metadata of a file, without its content (RF-2). */
export interface FileMetadata {
  path: string
  /** The path with its bytes, where it is not UTF-8. */
  bytePath?: string | undefined
  ref: string
  size: number
  sha256: string
  blob: Oid
  commit: Oid
  lastCommit: Oid
  executable: boolean
}

export interface FileRecord extends FileMetadata {
  content: Buffer
}

interface FileLocation {
  entry: TreeEntry
  commit: Oid
  ref: string
}

/**
 * The file at a path of a revision, by default of the default branch. 404 `Commit` for an unknown revision, 404 `File`
 * for an unknown path.
 */
export async function getFile(ctx: Context, subject: ProjectSubject, path: string, ref = 'HEAD'): Promise<FileLocation> {
  const { project } = subject
  const named = ref === 'HEAD' ? project.default_branch : ref
  const found = await resolveRevision(ctx, subject, named)
  if (!found) throw notFound('Commit')
  const entry = path === '' ? null : await repositoryOf(ctx, project).entry(found.commit, path)
  if (entry?.type !== 'blob') throw notFound('File')
  return { entry, commit: found.commit, ref: named }
}

/** The entries of those of these paths that are files of a revision, in their order; none of an unknown revision. */
export async function findFiles(ctx: Context, subject: ProjectSubject, paths: string[], ref: string): Promise<TreeEntry[]> {
  const found = await resolveRevision(ctx, subject, ref)
  if (!found) return []
  const repository = repositoryOf(ctx, subject.project)
  const entries = await Promise.all(paths.map((path) => (path === '' ? null : repository.entry(found.commit, path))))
  return entries.filter((entry) => entry !== null).filter(({ type }) => type === 'blob')
}

/** Files up to this size are read whole, and cached, to compute the digest; larger ones are streamed. */
const MAX_CACHED_BYTES = 32 * 1024

/** The metadata of a file of any size; a large file is streamed to compute its digest (SEC-146). */
export async function fileMetadata(
  ctx: Context,
  subject: ProjectSubject,
  path: string,
  ref: string | undefined,
  signal: AbortSignal,
): Promise<FileMetadata> {
  const location = await getFile(ctx, subject, path, ref)
  const repository = repositoryOf(ctx, subject.project)
  const info = await repository.objectInfo(location.entry.oid)
  const content =
    info && info.size <= MAX_CACHED_BYTES
      ? await repository.blob(location.entry.oid)
      : (await repository.blobStream(location.entry.oid, signal))?.stream
  if (!info || !content) throw notFound('File')
  const hash = createHash('sha256')
  if (Buffer.isBuffer(content)) hash.update(content)
  else for await (const chunk of content) hash.update(chunk as Buffer)
  return metadataOf(ctx, subject, location, { size: info.size, sha256: hash.digest('hex') })
}

/** The metadata and content of a file (RF-1); 413 when it is too large for JSON. */
export async function readFile(ctx: Context, subject: ProjectSubject, path: string, ref: string): Promise<FileRecord> {
  const repository = repositoryOf(ctx, subject.project)
  const location = await getFile(ctx, subject, path, ref)
  const info = await repository.objectInfo(location.entry.oid)
  if (info && info.size > MAX_JSON_BLOB) throw tooLarge()
  const content = info && (await repository.blob(location.entry.oid))
  if (!content) throw notFound('File')
  const sha256 = createHash('sha256').update(content).digest('hex')
  return { ...(await metadataOf(ctx, subject, location, { size: content.length, sha256 })), content }
}

async function metadataOf(
  ctx: Context,
  { project }: ProjectSubject,
  { entry, commit, ref }: FileLocation,
  content: { size: number; sha256: string },
): Promise<FileMetadata> {
  const { path, bytePath } = entry
  const [last] = await repositoryOf(ctx, project).lastCommits(commit, [bytePath ?? path])
  return { path, bytePath, ref, ...content, blob: entry.oid, commit, lastCommit: last ?? commit, executable: entry.mode === '100755' }
}

/**
 * Changes one file by a commit with one action (RF-5 to RF-8), with the rules and messages of commits. The path must be
 * exact: one that the commits API would normalise (C-38) is refused (RF-8).
 */
export async function writeFile(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  action: Record<string, unknown> & { file_path: string },
  given: {
    branch: string
    commit_message: string
    start_branch?: string | undefined
    author_email?: string | undefined
    author_name?: string | undefined
  },
): Promise<void> {
  const { file_path } = action
  const fault = checkPath(file_path)
  if (fault) throw refused(PATH_FAULTS[fault](file_path))
  await createCommit(ctx, subject, caller, { ...given, actions: [action] })
}
