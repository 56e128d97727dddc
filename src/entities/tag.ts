import { z } from 'zod'
import type { TagRecord } from '../services/tags.js'
import { Commit, presentCommit } from './commit.js'
import type { View } from './view.js'

export const Tag = z
  .strictObject({
    name: z.string(),
    message: z.string().nullable(),
    target: z.string(),
    commit: Commit,
    release: z.strictObject({ tag_name: z.string(), description: z.string() }).nullable(),
    protected: z.boolean(),
  })
  .meta({ id: 'Tag' })

export function presentTag(
  { name, tag, target, commit, protected: isProtected }: TagRecord,
  project: { fullPath: string },
  view: View,
): z.infer<typeof Tag> {
  return {
    name,
    message: tag ? tag.message.replace(/\n$/, '') : null,
    target,
    commit: presentCommit(commit, project, view),
    release: null,
    protected: isProtected,
  }
}
