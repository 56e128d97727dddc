import { createHash } from 'node:crypto'
import type { SignedIn } from '../access/actor.js'
import type { ProjectSubject } from '../access/rules.js'
import type { Context } from '../context.js'
import { notFound, tooLarge } from '../failures.js'
import type { Oid, TreeEntry } from '../git/types.js'
import { MAX_JSON_BLOB } from './blobs.js'
import { createCommit } from './commits/create.js'
import { repositoryOf } from './repositories.js'

export interface FileRecord {
  path: string
  ref: string
  size: number
  sha256: string
  blob: Oid
  commit: Oid
  lastCommit: Oid
  executable: boolean
  content: Buffer
}

export interface FilePlace {
  entry: TreeEntry
  commit: Oid
  ref: string
}

/** The file at a path of a revision (RF-1): 404 `Commit` for the revision, 404 `File` for the path. */
export async function placeOf(ctx: Context, { project }: ProjectSubject, path: string, ref: string | undefined): Promise<FilePlace> {
  const repository = repositoryOf(ctx, project)
  const named = !ref || ref === 'HEAD' ? project.default_branch : ref
  const found = await repository.resolve(named)
  if (!found) throw notFound('Commit')
  const entry = path === '' ? null : await repository.entry(found.commit, path)
  if (entry?.type !== 'blob') throw notFound('File')
  return { entry, commit: found.commit, ref: ref && ref !== 'HEAD' ? ref : named }
}

/** All that RF-1 and the headers of RF-2 show. A file too large for JSON is a 413. */
export async function readFile(ctx: Context, subject: ProjectSubject, path: string, ref: string | undefined): Promise<FileRecord> {
  const { entry, commit, ref: named } = await placeOf(ctx, subject, path, ref)
  const repository = repositoryOf(ctx, subject.project)
  const info = await repository.objectInfo(entry.oid)
  if (!info) throw notFound('File')
  if (info.size > MAX_JSON_BLOB) throw tooLarge()
  const [content, [last]] = await Promise.all([repository.blob(entry.oid), repository.lastCommits(commit, [path])])
  if (!content) throw notFound('File')
  return {
    path,
    ref: named,
    size: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
    blob: entry.oid,
    commit,
    lastCommit: last ?? commit,
    executable: entry.mode === '100755',
    content,
  }
}

/** One file's change as a commit of one action (RF-5 to RF-8): same rules, same texts. */
export async function writeFile(
  ctx: Context,
  subject: ProjectSubject,
  caller: SignedIn,
  action: Record<string, unknown>,
  given: {
    branch: string
    commit_message: string
    start_branch?: string | undefined
    author_email?: string | undefined
    author_name?: string | undefined
  },
): Promise<void> {
  await createCommit(ctx, subject, caller, { ...given, actions: [action] })
}
