import { z } from 'zod'
import { visibilityWord } from '../lib/visibility.js'
import type { GroupRecord } from '../services/groups.js'
import type { ProjectRecord } from '../services/projects/load.js'
import { noted } from './custom-attribute.js'
import { VISIBILITIES } from './levels.js'
import { BasicProject, Project, presentProject } from './project.js'
import type { View } from './view.js'

const common = {
  id: z.int(),
  name: z.string(),
  path: z.string(),
  description: z.string(),
  visibility: z.enum(VISIBILITIES),
  avatar_url: z.string().nullable(),
  web_url: z.url(),
  request_access_enabled: z.boolean(),
  full_name: z.string(),
  full_path: z.string(),
  parent_id: z.int().nullable(),
  ...noted,
}

/** GR-1. */
export const Group = z.strictObject({ ...common, lfs_enabled: z.boolean() }).meta({ id: 'Group' })

/** GR-2: without `lfs_enabled`. */
export const GroupDetails = z
  .strictObject({
    ...common,
    projects: z.array(z.union([Project, BasicProject])).optional(),
    shared_projects: z.array(z.union([Project, BasicProject])).optional(),
  })
  .meta({ id: 'GroupDetails' })

function presentCommon(group: GroupRecord, view: View) {
  const { id, name, path, description, request_access_enabled, full_name, full_path, parent_id } = group
  return {
    id,
    name,
    path,
    description,
    visibility: visibilityWord(group.visibility),
    avatar_url: avatarUrl(id, group.avatar, view),
    web_url: view.links.group(full_path),
    request_access_enabled,
    full_name,
    full_path,
    parent_id,
  }
}

export function presentGroup(group: GroupRecord, view: View): z.infer<typeof Group> {
  return { ...presentCommon(group, view), lfs_enabled: group.lfs_enabled }
}

export function presentGroupDetails(
  group: GroupRecord,
  projects: { own: ProjectRecord[]; shared: ProjectRecord[] } | null,
  view: View,
): z.infer<typeof GroupDetails> {
  const present = (project: ProjectRecord) => presentProject(project, view)
  return { ...presentCommon(group, view), ...(projects && { projects: projects.own.map(present), shared_projects: projects.shared.map(present) }) }
}

/** A group as far as it is part of where a project stands (PR-6). */
export const GroupRef = z
  .strictObject({
    id: z.int(),
    web_url: z.url(),
    name: z.string(),
    avatar_url: z.string().nullable(),
    full_name: z.string(),
    full_path: z.string(),
  })
  .meta({ id: 'GroupRef' })

export function presentGroupRef(
  { id, name, full_name, full_path, avatar }: Pick<GroupRecord, 'id' | 'name' | 'full_name' | 'full_path' | 'avatar'>,
  view: View,
): z.infer<typeof GroupRef> {
  return { id, web_url: view.links.group(full_path), name, avatar_url: avatarUrl(id, avatar, view), full_name, full_path }
}

const avatarUrl = (id: number, avatar: string | null, view: View) =>
  avatar ? `${view.links.base}/uploads/-/system/group/avatar/${id}/${avatar}` : null
