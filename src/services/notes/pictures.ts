import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Oid } from '../../git/types.js'
import { type Size, sizeOfPicture } from '../../rules/reviews/picture-size.js'
import { repositoryOf } from '../repository/repositories.js'

/** The largest picture whose size is looked for, in bytes. */
const MAX_PICTURE = 5 * 1024 * 1024

/** The size of a picture in a commit; null if it is none, or too large (WB-262). */
export async function sizeOfFile(ctx: Context, project: ProjectSubject['project'], commit: Oid, path: string): Promise<Size | null> {
  const repository = repositoryOf(ctx, project)
  const entry = await repository.entry(commit, path)
  if (entry?.type !== 'blob') return null
  const info = await repository.objectInfo(entry.oid)
  const bytes = info && info.size <= MAX_PICTURE ? await repository.blob(entry.oid) : null
  return bytes && sizeOfPicture(bytes)
}
