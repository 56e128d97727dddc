import { z } from 'zod'
import type { View } from '../../http/view.js'
import { dayOf } from '../../lib/text/day.js'
import { PROJECT_CREATION_LEVELS, SUBGROUP_CREATION_LEVELS } from '../../rules/creation-levels.js'
import { VISIBILITIES, visibilityName } from '../../rules/visibility.js'
import type { GroupRecord, GroupStatistics } from '../../services/groups/list.js'
import { noted } from '../custom-attribute.js'
import { marked, Project } from '../projects/project.js'

const common = {
  id: z.int(),
  name: z.string(),
  path: z.string(),
  description: z.string(),
  visibility: z.enum(VISIBILITIES),
  lfs_enabled: z.boolean(),
  avatar_url: z.string().nullable(),
  web_url: z.url(),
  request_access_enabled: z.boolean(),
  full_name: z.string(),
  full_path: z.string(),
  parent_id: z.int().nullable(),
  created_at: z.iso.datetime(),
  share_with_group_lock: z.boolean(),
  project_creation_level: z.enum(PROJECT_CREATION_LEVELS),
  subgroup_creation_level: z.enum(SUBGROUP_CREATION_LEVELS),
  default_branch_protection: z.int(),
  default_branch: z.string().nullable(),
  emails_disabled: z.boolean(),
  emails_enabled: z.boolean(),
  mentions_disabled: z.boolean(),
  auto_devops_enabled: z.boolean(),
  require_two_factor_authentication: z.boolean(),
  two_factor_grace_period: z.int(),
  ...marked,
  ...noted,
}

/** A group in lists (GR-1). */
export const Group = z
  .strictObject({
    ...common,
    statistics: z
      .strictObject({
        storage_size: z.int(),
        repository_size: z.int(),
        lfs_objects_size: z.int(),
        job_artifacts_size: z.int(),
        packages_size: z.int(),
      })
      .optional(),
  })
  .meta({ id: 'Group', description: 'A group.' })

const GroupShare = z.strictObject({
  group_id: z.int(),
  group_name: z.string(),
  group_full_path: z.string(),
  group_access_level: z.int(),
  expires_at: z.iso.date().nullable(),
})

/** A group in its single view (GR-2). */
export const GroupDetails = z
  .strictObject({
    ...common,
    shared_with_groups: z.array(GroupShare),
    runners_token: z.string().optional(),
    projects: z.array(Project).optional(),
    shared_projects: z.array(Project).optional(),
  })
  .meta({ id: 'GroupDetails', description: 'A group with its projects.' })

/** The settings that apply where a group has none (GR-52). */
type GroupDefaults = { default_branch_protection: number }

function presentCommon(group: GroupRecord, view: View, defaults: GroupDefaults) {
  const { id, name, path, description, request_access_enabled, full_name, full_path, parent_id } = group
  const markedOn = group.marked_for_deletion_at && dayOf(group.marked_for_deletion_at)
  return {
    id,
    name,
    path,
    description,
    visibility: visibilityName(group.visibility),
    lfs_enabled: group.lfs_enabled,
    avatar_url: avatarUrl(id, group.avatar, view),
    web_url: view.links.group(full_path),
    request_access_enabled,
    full_name,
    full_path,
    parent_id,
    created_at: group.created_at.toISOString(),
    share_with_group_lock: group.share_with_group_lock,
    project_creation_level: group.project_creation_level,
    subgroup_creation_level: group.subgroup_creation_level,
    default_branch_protection: group.default_branch_protection ?? defaults.default_branch_protection,
    default_branch: group.default_branch,
    emails_disabled: group.emails_disabled,
    emails_enabled: !group.emails_disabled,
    mentions_disabled: group.mentions_disabled,
    auto_devops_enabled: group.auto_devops_enabled,
    require_two_factor_authentication: group.require_two_factor_authentication,
    two_factor_grace_period: group.two_factor_grace_period,
    marked_for_deletion_at: markedOn,
    marked_for_deletion_on: markedOn,
  }
}

/** `statistics` only for callers that may see them and ask for them (GR-12). */
export function presentGroup(group: GroupRecord, view: View, defaults: GroupDefaults, statistics?: GroupStatistics): z.infer<typeof Group> {
  return Object.assign(presentCommon(group, view, defaults), statistics && { statistics: presentStatistics(statistics) })
}

const presentStatistics = ({ repository_size, lfs_objects_size, job_artifacts_size, packages_size }: GroupStatistics) => ({
  storage_size: repository_size + lfs_objects_size + job_artifacts_size + packages_size,
  repository_size,
  lfs_objects_size,
  job_artifacts_size,
  packages_size,
})

/** All fields except `projects`, which are rendered separately. */
export const presentGroupDetails = (
  group: GroupRecord,
  shares: z.infer<typeof GroupShare>[],
  view: View,
  defaults: GroupDefaults,
): z.infer<typeof GroupDetails> => Object.assign(presentCommon(group, view, defaults), { shared_with_groups: shares })

/** A group as part of a project's group chain (PR-6). */
export const GroupRef = z
  .strictObject({
    id: z.int(),
    web_url: z.url(),
    name: z.string(),
    avatar_url: z.string().nullable(),
    full_name: z.string(),
    full_path: z.string(),
  })
  .meta({ id: 'GroupRef', description: 'A group, as a project refers to it.' })

export function presentGroupRef(
  { id, name, full_name, full_path, avatar }: Pick<GroupRecord, 'id' | 'name' | 'full_name' | 'full_path' | 'avatar'>,
  view: View,
): z.infer<typeof GroupRef> {
  return { id, web_url: view.links.group(full_path), name, avatar_url: avatarUrl(id, avatar, view), full_name, full_path }
}

const avatarUrl = (id: number, avatar: string | null, view: View) =>
  avatar ? `${view.links.base}/uploads/-/system/group/avatar/${id}/${avatar}` : null
