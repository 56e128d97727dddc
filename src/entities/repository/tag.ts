import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { TagRecord } from '../../services/repository/tags.js'
import { Commit, presentCommit } from './commit.js'

/** The release notes of a tag (TG-5). */
export const ReleaseNote = z.strictObject({ tag_name: z.string(), description: z.string() })

export const Tag = z
  .strictObject({
    name: z.string(),
    message: z.string().nullable(),
    target: z.string(),
    commit: Commit.nullable().describe('null for a tag of a tree or blob'),
    release: ReleaseNote.nullable(),
    protected: z.boolean(),
  })
  .meta({ id: 'Tag', description: 'A tag and the commit that it points to.' })

export function presentTag(
  { name, tag, target, commit, protected: isProtected, release }: TagRecord,
  project: { fullPath: string },
  view: View,
): z.infer<typeof Tag> {
  return {
    name,
    message: tag ? tag.message.replace(/\n$/, '') : null,
    target,
    commit: commit && presentCommit(commit, project, view),
    release,
    protected: isProtected,
  }
}
