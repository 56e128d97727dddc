import { finished, Readable } from 'node:stream'
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

/** The bytes of a blob of any size, as `text/plain` when they look like text (RE-3); `open` gives them, or a part. */
export async function openBlob(
  ctx: Context,
  { project }: ProjectSubject,
  sha: string,
  signal: AbortSignal,
): Promise<{ size: number; type: string; open(part?: Part): Promise<Readable | Buffer> }> {
  const repository = repositoryOf(ctx, project)
  const size = await blobSize(repository, sha)
  if (size <= MAX_JSON_BLOB) {
    const content = await repository.blob(sha)
    if (!content) throw notFound('Blob')
    return { size, type: typeOf(content), open: async (part) => (part ? content.subarray(part.start, part.end + 1) : content) }
  }
  const open = async (part?: Part) => {
    const blob = await repository.blobStream(sha, signal)
    if (!blob) throw notFound('Blob')
    return part ? partOf(blob.stream, part) : blob.stream
  }
  return { size, type: 'application/octet-stream', open }
}

/** The first and the last byte of a part. */
interface Part {
  start: number
  end: number
}

/** Git gives a blob from its beginning: what comes before the part is read and dropped. */
function partOf(stream: Readable, { start, end }: Part): Readable {
  const cut = async function* () {
    let at = 0
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const piece = chunk.subarray(Math.max(0, start - at), Math.max(0, end + 1 - at))
      at += chunk.length
      if (piece.length > 0) yield piece
      if (at > end) return
    }
  }
  const part = Readable.from(cut(), { objectMode: false })
  // what has not begun to be read does not end with its reader
  finished(part, () => stream.destroy())
  return part
}

/** Git's own test: a NUL near the start makes it binary. No charset is named, because it is not known (RE-3). */
const typeOf = (content: Buffer) => (content.subarray(0, SNIFFED).includes(0) ? 'application/octet-stream' : 'text/plain')
