import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { notFound } from '../../failures.js'
import { POINTER_BYTES, pointerIn } from '../../git/wire/lfs-pointers.js'
import { type ByteRange, type OpenBlob, openBlob } from './blobs.js'
import { getFile } from './files.js'
import { objectsOf, servesLfs } from './lfs/objects.js'
import { repositoryOf } from './repositories.js'
import { splitRevision } from './revisions.js'

export interface RawFile extends OpenBlob {
  /** An id of the content. */
  id: string
  path: string
}

/** The size of the object that a file points to, if it is a pointer of Git LFS. */
export const sizeOfPointer = (content: Buffer): number | null =>
  content.length >= POINTER_BYTES.min && content.length <= POINTER_BYTES.max ? (pointerIn(content)?.size ?? null) : null

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
