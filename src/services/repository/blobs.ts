import { finished, Readable } from 'node:stream'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound, tooLarge } from '../../failures.js'
import type { GitRepository } from '../../git/types.js'
import { repositoryOf } from './repositories.js'

/** Maximum bytes of a blob in a JSON response (SEC-146); raw responses stream any size. */
export const MAX_JSON_BLOB = 10 * 1024 * 1024
/** How many bytes are examined to tell text from binary content; the same as in Git. */
const SNIFFED_BYTES = 8_000

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

export interface OpenBlob {
  size: number
  type: string
  open(part?: ByteRange): Promise<Readable | Buffer>
}

/** A blob of any size, as `text/plain` when it looks like text (RE-3); `open` reads it, or a byte range of it. */
export const openBlob = (ctx: Context, { project }: ProjectSubject, sha: string, signal: AbortSignal): Promise<OpenBlob> =>
  openBlobOf(repositoryOf(ctx, project), sha, signal)

export async function openBlobOf(repository: GitRepository, sha: string, signal: AbortSignal): Promise<OpenBlob> {
  const size = await blobSize(repository, sha)
  if (size <= MAX_JSON_BLOB) {
    const content = await repository.blob(sha)
    if (!content) throw notFound('Blob')
    return { size, type: typeOf(content), open: async (part) => (part ? content.subarray(part.start, part.end + 1) : content) }
  }
  const open = async (part?: ByteRange) => {
    const blob = await repository.blobStream(sha, signal)
    if (!blob) throw notFound('Blob')
    return part ? sliceStream(blob.stream, part) : blob.stream
  }
  return { size, type: 'application/octet-stream', open }
}

/** The offsets of the first and the last byte. */
export interface ByteRange {
  start: number
  end: number
}

/** A byte range of a stream. Git can only read a blob from its beginning, so earlier bytes are skipped. */
function sliceStream(stream: Readable, { start, end }: ByteRange): Readable {
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
  // a generator that was never started does not destroy its source
  finished(part, () => stream.destroy())
  return part
}

/** Binary when there is a NUL near the start, as in Git. There is no charset, because it is not known (RE-3). */
const typeOf = (content: Buffer) => (content.subarray(0, SNIFFED_BYTES).includes(0) ? 'application/octet-stream' : 'text/plain')
