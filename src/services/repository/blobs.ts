import type { Readable } from 'node:stream'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound, tooLarge } from '../../failures.js'
import type { GitRepository } from '../../git/types.js'
import { repositoryOf } from './repositories.js'

/** Bytes of a blob that JSON may hold (SEC-146); raw answers stream any size. */
export const MAX_JSON_BLOB = 10 * 1024 * 1024
/** Bytes that are examined to tell text from binary content, as Git does. */
const SNIFFED = 8_000

async function blobSize(repository: GitRepository, sha: string): Promise<number> {
  const info = /^[0-9a-f]{40}$/.test(sha) ? await repository.objectInfo(sha) : null
  if (info?.type !== 'blob') throw notFound('Blob')
  return info.size
}

/** The whole content of a blob; 413 when it is too large for JSON (RE-2). */
export async function readBlob(ctx: Context, { project }: ProjectSubject, sha: string): Promise<Buffer> {
  const repository = repositoryOf(ctx, project)
  if ((await blobSize(repository, sha)) > MAX_JSON_BLOB) throw tooLarge()
  const content = await repository.blob(sha)
  if (!content) throw notFound('Blob')
  return content
}

/** The bytes of a blob of any size, as `text/plain` when they look like text (RE-3). */
export async function streamBlob(
  ctx: Context,
  { project }: ProjectSubject,
  sha: string,
  signal: AbortSignal,
): Promise<{ size: number; type: string; stream: Readable | Buffer }> {
  const repository = repositoryOf(ctx, project)
  const size = await blobSize(repository, sha)
  if (size <= MAX_JSON_BLOB) {
    const content = await repository.blob(sha)
    if (!content) throw notFound('Blob')
    return { size, type: typeOf(content), stream: content }
  }
  const blob = await repository.blobStream(sha, signal)
  if (!blob) throw notFound('Blob')
  return { size, type: 'application/octet-stream', stream: blob.stream }
}

/** Git's own test: a NUL near the start makes it binary. No charset is named, because it is not known (RE-3). */
const typeOf = (content: Buffer) => (content.subarray(0, SNIFFED).includes(0) ? 'application/octet-stream' : 'text/plain')
