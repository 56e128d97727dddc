import type { Readable } from 'node:stream'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound } from '../../failures.js'
import type { GitRepository } from '../../git/types.js'
import { POINTER_BYTES, pointerIn } from '../../git/wire/lfs-pointers.js'
import { type ByteRange, openBlob } from './blobs.js'
import { getFile } from './files.js'
import { objectsOf, servesLfs } from './lfs/objects.js'
import { repositoryOf } from './repositories.js'

/** A path of more parts names no ref. */
const MAX_PARTS = 64

/**
 * Splits `main/docs/a.md` into a revision and a path: 40 hex digits are the revision; otherwise the longest branch or
 * tag that is followed by a slash, or else what stands before the first slash.
 */
async function splitRevision(repository: GitRepository, text: string): Promise<{ ref: string; path: string }> {
  const parts = text.split('/')
  const at = (count: number) => ({ ref: parts.slice(0, count).join('/'), path: parts.slice(count).join('/') })
  if (/^[0-9a-f]{40}$/.test(parts[0] ?? '')) return at(1)
  for (let count = Math.min(parts.length - 1, MAX_PARTS); count > 0; count--) {
    const { ref } = at(count)
    if ((await repository.ref(`refs/heads/${ref}`)) ?? (await repository.ref(`refs/tags/${ref}`))) return at(count)
  }
  return at(1)
}

export interface RawFile {
  /** An id of the content. */
  id: string
  path: string
  size: number
  type: string
  open(part?: ByteRange): Promise<Readable | Buffer>
}

/** The file that `main/docs/a.md` names; in place of a pointer of Git LFS, the object that it points to (WA-2). */
export async function openRaw(ctx: Context, subject: ProjectSubject, text: string, signal: AbortSignal): Promise<RawFile> {
  const { project } = subject
  const { ref, path } = await splitRevision(repositoryOf(ctx, project), text)
  const { entry } = await getFile(ctx, subject, path, ref)
  const blob = await openBlob(ctx, subject, entry.oid, signal)
  if (servesLfs(project) && blob.size >= POINTER_BYTES.min && blob.size <= POINTER_BYTES.max) {
    const content = await blob.open()
    const pointer = Buffer.isBuffer(content) ? pointerIn(content) : null
    const size = pointer ? (await objectsOf(ctx, project.id, [pointer.oid])).get(pointer.oid) : undefined
    if (pointer && size !== undefined) {
      const open = async (part?: ByteRange) => {
        const stream = await ctx.lfs.get(pointer.oid, part)
        if (!stream) throw notFound('File')
        return stream
      }
      return { id: pointer.oid, path, size, type: 'application/octet-stream', open }
    }
  }
  return { id: entry.oid, path, ...blob }
}
