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

/** Everything known of a file but its content (RF-2). */
export interface FileFacts {
  path: string
  ref: string
  size: number
  sha256: string
  blob: Oid
  commit: Oid
  lastCommit: Oid
  executable: boolean
}

export interface FileRecord extends FileFacts {
  content: Buffer
}

interface FilePlace {
  entry: TreeEntry
  commit: Oid
  ref: string
}

/**
 * The file at a path of a revision, by default the default branch: 404 `Commit` for the revision, 404 `File` for the
 * path.
 */
export async function placeOf(ctx: Context, { project }: ProjectSubject, path: string, ref = 'HEAD'): Promise<FilePlace> {
  const repository = repositoryOf(ctx, project)
  const named = ref === 'HEAD' ? project.default_branch : ref
  const found = await repository.resolve(named)
  if (!found) throw notFound('Commit')
  const entry = path === '' ? null : await repository.entry(found.commit, path)
  if (entry?.type !== 'blob') throw notFound('File')
  return { entry, commit: found.commit, ref: named }
}

/** Bytes of a file that are read at once, and remembered, to make its digest. */
const SMALL = 32 * 1024

/** The facts of a file of any size; a large one is streamed, for its digest only (SEC-146). */
export async function factsOf(ctx: Context, subject: ProjectSubject, path: string, ref: string | undefined, signal: AbortSignal): Promise<FileFacts> {
  const place = await placeOf(ctx, subject, path, ref)
  const repository = repositoryOf(ctx, subject.project)
  const info = await repository.objectInfo(place.entry.oid)
  const content = info && info.size <= SMALL ? await repository.blob(place.entry.oid) : (await repository.blobStream(place.entry.oid, signal))?.stream
  if (!info || !content) throw notFound('File')
  const hash = createHash('sha256')
  if (Buffer.isBuffer(content)) hash.update(content)
  else for await (const chunk of content) hash.update(chunk as Buffer)
  return facts(ctx, subject, path, place, { size: info.size, sha256: hash.digest('hex') })
}

/** Everything that RF-1 shows of a file; 413 for one too large for JSON. */
export async function readFile(ctx: Context, subject: ProjectSubject, path: string, ref: string): Promise<FileRecord> {
  const repository = repositoryOf(ctx, subject.project)
  const place = await placeOf(ctx, subject, path, ref)
  const info = await repository.objectInfo(place.entry.oid)
  if (info && info.size > MAX_JSON_BLOB) throw tooLarge()
  const content = info && (await repository.blob(place.entry.oid))
  if (!content) throw notFound('File')
  const sha256 = createHash('sha256').update(content).digest('hex')
  return { ...(await facts(ctx, subject, path, place, { size: content.length, sha256 })), content }
}

async function facts(
  ctx: Context,
  { project }: ProjectSubject,
  path: string,
  { entry, commit, ref }: FilePlace,
  content: { size: number; sha256: string },
): Promise<FileFacts> {
  const [last] = await repositoryOf(ctx, project).lastCommits(commit, [path])
  return { path, ref, ...content, blob: entry.oid, commit, lastCommit: last ?? commit, executable: entry.mode === '100755' }
}

/**
 * Changes one file by a commit of one action (RF-5 to RF-8), with the same rules and messages. A path names one file
 * exactly here, so a path that C-38 would normalise is refused (RF-8).
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
