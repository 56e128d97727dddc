import { sql } from 'drizzle-orm'
import type { ActorUser } from '../../access/actor.js'
import type { Namespace } from '../../access/rules.js'
import type { Transaction } from '../../db/client.js'
import { namespaces, projects } from '../../db/schema/index.js'
import { MAX_GROUP_DESCRIPTION } from '../../rules/descriptions.js'
import { groupNameFaults, lengthOf, namespacePathFaults, tooLong } from '../../rules/path.js'
import { branchNameFault } from '../../rules/refs/branch-name.js'
import { type Visibility, visibilityName } from '../../rules/visibility.js'
import { isRestricted, type Settings } from '../core/settings.js'
import { imageFaults } from '../identity/avatars.js'
import { isRouteTaken } from '../identity/namespaces.js'

/** Attributes that creation and update both accept. */
export interface GroupAttributes {
  name?: string | undefined
  path?: string | undefined
  description?: string | null | undefined
  visibility?: Visibility | undefined
  lfs_enabled?: boolean | undefined
  request_access_enabled?: boolean | undefined
  share_with_group_lock?: boolean | undefined
  project_creation_level?: Namespace['project_creation_level'] | undefined
  subgroup_creation_level?: Namespace['subgroup_creation_level'] | undefined
  default_branch_protection?: number | undefined
  /** Of new projects; null or blank: as the group above has it (GR-83). */
  default_branch?: string | null | undefined
  emails_disabled?: boolean | undefined
  /** The opposite, as later versions call it. */
  emails_enabled?: boolean | undefined
  mentions_disabled?: boolean | undefined
  auto_devops_enabled?: boolean | undefined
  require_two_factor_authentication?: boolean | undefined
  two_factor_grace_period?: number | undefined
  /** Null removes the avatar. */
  avatar?: { data: Buffer } | null | undefined
}

/** The attributes that are stored as they are given. */
export const SETTINGS = [
  'lfs_enabled',
  'request_access_enabled',
  'share_with_group_lock',
  'project_creation_level',
  'subgroup_creation_level',
  'default_branch_protection',
  'emails_disabled',
  'mentions_disabled',
  'auto_devops_enabled',
  'require_two_factor_authentication',
  'two_factor_grace_period',
] as const

/** The given attributes that are settings, as columns. */
export const settingsOf = (given: GroupAttributes): Partial<Pick<Namespace, (typeof SETTINGS)[number] | 'default_branch'>> => ({
  ...(given.emails_enabled !== undefined && { emails_disabled: !given.emails_enabled }),
  ...Object.fromEntries(SETTINGS.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]))),
  ...(given.default_branch !== undefined && { default_branch: given.default_branch || null }),
})

/** What the attributes of a group are checked against; `self` is null for a new group. */
export interface GroupContext {
  user: ActorUser
  settings: Settings
  parent: Namespace | null
  self: Namespace | null
}

export const TAKEN = 'has already been taken'

/**
 * Field → messages for the given attributes (GR-24 to GR-31, GR-37); unchanged values are valid. The caller has locked
 * the parent and the group.
 */
export async function groupFaults(
  tx: Transaction,
  { user, settings, parent, self }: GroupContext,
  { name, path, description, default_branch, avatar, level }: GroupAttributes & { level?: number | undefined },
): Promise<Record<string, string[]>> {
  const faults: Record<string, string[]> = {}
  const add = (field: string, ...texts: string[]) => {
    if (texts.length > 0) faults[field] = [...(faults[field] ?? []), ...texts]
  }
  if (name !== undefined && name !== self?.name) {
    add('name', ...groupNameFaults(name))
    if (parent && (await hasSibling(tx, parent, name, self?.id ?? null))) add('name', TAKEN)
  }
  if (path !== undefined && path !== self?.path) {
    add('path', ...namespacePathFaults(path, parent ? 'below' : 'top'))
    const isOwnPath = path.toLowerCase() === self?.path.toLowerCase()
    if (!isOwnPath && (await isRouteTaken(tx, parent ? `${parent.full_path}/${path}` : path))) add('path', TAKEN)
  }
  if (description && lengthOf(description) > MAX_GROUP_DESCRIPTION) add('description', tooLong(MAX_GROUP_DESCRIPTION))
  if (level !== undefined && level !== self?.visibility) {
    const word = visibilityName(level)
    if (!user.admin && isRestricted(settings, level)) add('visibility_level', `${word} has been restricted by your administrator`)
    if (parent && level > parent.visibility)
      add('visibility_level', `${word} is not allowed since the parent group has a ${visibilityName(parent.visibility)} visibility.`)
    if (self) add('visibility_level', ...(await contentFaults(tx, self, level)))
  }
  if (default_branch && branchNameFault(default_branch)) add('default_branch', 'is invalid')
  if (avatar) add('avatar', ...imageFaults(avatar.data))
  return faults
}

/** Whether another group of the same parent has the name (GR-28). */
export async function hasSibling(tx: Transaction, parent: Namespace, name: string, selfId: number | null) {
  const twins = await tx
    .select({ id: namespaces.id })
    .from(namespaces)
    .where(
      sql`${namespaces.parent_id} = ${parent.id} and lower(${namespaces.name}) = lower(${name}) and ${namespaces.id} is distinct from ${selfId}::bigint`,
    )
    .limit(1)
  return twins.length > 0
}

/** Messages for projects and subgroups that would be more visible than the group (GR-37, AC-5). */
async function contentFaults(tx: Transaction, group: Namespace, level: number) {
  const faults: string[] = []
  const word = visibilityName(level)
  const [project] = await tx
    .select({ id: projects.id })
    .from(projects)
    .where(sql`${projects.namespace_id} = ${group.id} and ${projects.visibility} > ${level} and ${projects.marked_for_deletion_at} is null`)
    .limit(1)
  if (project) faults.push(`${word} is not allowed since this group contains projects with higher visibility.`)
  const [subgroup] = await tx
    .select({ id: namespaces.id })
    .from(namespaces)
    .where(sql`${namespaces.parent_id} = ${group.id} and ${namespaces.visibility} > ${level} and ${namespaces.marked_for_deletion_at} is null`)
    .limit(1)
  if (subgroup) faults.push(`${word} is not allowed since there are sub-groups with higher visibility.`)
  return faults
}
