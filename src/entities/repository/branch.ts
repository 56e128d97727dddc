import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { BranchRecord } from '../../services/repository/branches.js'
import type { ProtectedBranch as ProtectedBranchRow, ProtectedTag as ProtectedTagRow } from '../../services/repository/protection.js'
import { Commit, presentCommit } from './commit.js'

export const Branch = z
  .strictObject({
    name: z.string(),
    commit: Commit,
    merged: z.boolean(),
    protected: z.boolean(),
    developers_can_push: z.boolean(),
    developers_can_merge: z.boolean(),
    can_push: z.boolean(),
    default: z.boolean(),
    web_url: z.url(),
  })
  .meta({ id: 'Branch', description: 'A branch and its newest commit.' })

export function presentBranch({ commit, ...branch }: BranchRecord, project: { fullPath: string }, view: View): z.infer<typeof Branch> {
  return {
    ...branch,
    commit: presentCommit(commit, project, view),
    web_url: `${view.links.project(project.fullPath)}/tree/${branch.name.split('/').map(encodeURIComponent).join('/')}`,
  }
}

/** Levels are of roles, never of a user or group (FD-20). */
const AccessLevel = z.strictObject({
  id: z.int(),
  access_level: z.int(),
  access_level_description: z.string(),
  user_id: z.null(),
  group_id: z.null(),
})

export const ProtectedBranch = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    push_access_levels: z.array(AccessLevel),
    merge_access_levels: z.array(AccessLevel),
    allow_force_push: z.boolean(),
  })
  .meta({ id: 'ProtectedBranch', description: 'A protected branch or pattern.' })

export const ProtectedTag = z
  .strictObject({ name: z.string(), create_access_levels: z.array(AccessLevel) })
  .meta({ id: 'ProtectedTag', description: 'A protected tag or pattern.' })

const DESCRIPTIONS: Record<number, string> = { 0: 'No one', 30: 'Developers + Maintainers', 40: 'Maintainers' }

const levels = (id: number, level: number) => [
  { id, access_level: level, access_level_description: DESCRIPTIONS[level] ?? '', user_id: null, group_id: null },
]

export function presentProtectedBranch({ id, name, push_level, merge_level, allow_force_push }: ProtectedBranchRow): z.infer<typeof ProtectedBranch> {
  return { id, name, push_access_levels: levels(id, push_level), merge_access_levels: levels(id, merge_level), allow_force_push }
}

export function presentProtectedTag({ id, name, create_level }: ProtectedTagRow): z.infer<typeof ProtectedTag> {
  return { name, create_access_levels: levels(id, create_level) }
}
