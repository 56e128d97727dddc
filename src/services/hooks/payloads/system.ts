import type { RowImage } from '../../../db/schema/index.js'
import { visibilityName } from '../../../rules/visibility.js'
import type { HookChange } from '../../outbox/changes.js'
import type { WebhookEvent } from '../event.js'
import { type PayloadData, stamp } from '../payload-data.js'

const LEVELS: Record<number, string> = { 10: 'Guest', 20: 'Reporter', 30: 'Developer', 40: 'Maintainer', 50: 'Owner' }

const systemEvent = (event_name: string, row: RowImage, more: object): WebhookEvent => ({
  listens: 'system',
  event: 'System Hook',
  project: null,
  body: { created_at: stamp(row['created_at']), updated_at: stamp(row['updated_at']), event_name, ...more },
})

const at = (change: HookChange): RowImage => (change.after ?? change.before) as RowImage

/** The events of a change of an account (HK-23). */
export async function userOf(_: PayloadData, change: HookChange): Promise<WebhookEvent[]> {
  const user = at(change)
  const name = { INSERT: 'user_create', UPDATE: 'user_rename', DELETE: 'user_destroy' }[change.operation]
  return [
    systemEvent(name, user, {
      name: user['name'],
      email: user['email'],
      user_id: user['id'],
      username: user['username'],
      ...(change.operation === 'UPDATE' && { old_username: change.before?.['username'] }),
    }),
  ]
}

/** The event of a failed sign-in (HK-23). */
export async function failedLoginOf(_: PayloadData, change: HookChange): Promise<WebhookEvent[]> {
  const user = at(change)
  return [
    systemEvent('user_failed_login', user, {
      name: user['name'],
      email: user['email'],
      user_id: user['id'],
      username: user['username'],
      state: user['state'],
    }),
  ]
}

const projectEvent = ({ operation, before, after }: HookChange) =>
  operation === 'INSERT'
    ? 'project_create'
    : operation === 'DELETE'
      ? 'project_destroy'
      : before?.['namespace_id'] !== after?.['namespace_id']
        ? 'project_transfer'
        : before?.['path'] !== after?.['path']
          ? 'project_rename'
          : 'project_update'

/** The events of a change of a project (HK-23). */
export async function projectOf(data: PayloadData, change: HookChange): Promise<WebhookEvent[]> {
  const project = at(change)
  const namespace = await data.row('namespaces', project['namespace_id'])
  const former = await data.row('namespaces', change.before?.['namespace_id'])
  const owner = namespace && (await data.row('users', namespace['owner_id']))
  const name = projectEvent(change)
  const moved = name === 'project_transfer' || name === 'project_rename'
  return [
    systemEvent(name, project, {
      name: project['name'],
      path: project['path'],
      path_with_namespace: `${namespace?.['full_path'] ?? ''}/${project['path']}`,
      project_id: project['id'],
      owner_name: owner?.['name'] ?? namespace?.['name'] ?? null,
      owner_email: owner?.['email'] ?? null,
      project_visibility: visibilityName(Number(project['visibility'])),
      ...(moved && { old_path_with_namespace: `${former?.['full_path'] ?? ''}/${change.before?.['path']}` }),
    }),
  ]
}

/** A rename writes `path` before `full_path`, so the last segment of `full_path` may be outdated. */
const fullPathOf = ({ path, full_path }: RowImage) => `${String(full_path).replace(/[^/]*$/, '')}${path}`

/** The events of a change of a group, for system hooks and hooks of its ancestors (HK-23, HK-24). */
export async function groupOf(data: PayloadData, change: HookChange): Promise<WebhookEvent[]> {
  const group = at(change)
  const { operation, before } = change
  const name = { INSERT: 'group_create', UPDATE: 'group_rename', DELETE: 'group_destroy' }[operation]
  const facts = { name: group['name'], path: group['path'], full_path: fullPathOf(group), group_id: group['id'] }
  const former = operation === 'UPDATE' && before ? { old_path: before['path'], old_full_path: fullPathOf(before) } : {}
  const system = systemEvent(name, group, { ...facts, ...former })
  const parent = await data.row('namespaces', group['parent_id'])
  if (!parent || operation === 'UPDATE') return [system]
  const above = {
    parent_group_id: parent['id'],
    parent_name: parent['name'],
    parent_path: parent['path'],
    parent_full_path: parent['full_path'],
  }
  const subgroup = systemEvent(operation === 'INSERT' ? 'subgroup_create' : 'subgroup_destroy', group, { ...facts, ...above })
  return [system, { ...subgroup, listens: 'subgroup', event: 'Subgroup Hook', group: Number(parent['id']) }]
}

const memberEvent = ({ operation, before }: HookChange, names: readonly [string, string, string]) =>
  operation === 'DELETE' ? names[2] : operation === 'INSERT' || before?.['requested_at'] !== null ? names[0] : names[1]

/** The events of a membership (HK-23). */
export async function memberOf(data: PayloadData, change: HookChange): Promise<WebhookEvent[]> {
  const member = at(change)
  const user = await data.row('users', member['user_id'])
  if (!user) return []
  const person = { user_username: user['username'], user_name: user['name'], user_email: user['email'], user_id: user['id'] }
  const level = LEVELS[Number(member['access_level'])] ?? String(member['access_level'])
  if (member['project_id'] === null) {
    const group = await data.row('namespaces', member['namespace_id'])
    if (!group) return []
    const name = memberEvent(change, ['user_add_to_group', 'user_update_for_group', 'user_remove_from_group'])
    return [
      systemEvent(name, member, { group_name: group['name'], group_path: group['path'], group_id: group['id'], ...person, group_access: level }),
    ]
  }
  const project = await data.project(member['project_id'])
  if (!project) return []
  const { row, fullPath } = project
  return [
    systemEvent(memberEvent(change, ['user_add_to_team', 'user_update_for_team', 'user_remove_from_team']), member, {
      project_name: row['name'],
      project_path: row['path'],
      project_path_with_namespace: fullPath,
      project_id: row['id'],
      ...person,
      access_level: level,
      project_visibility: visibilityName(Number(row['visibility'])),
    }),
  ]
}

/** The events of an SSH key (HK-23). */
export async function keyOf(data: PayloadData, change: HookChange): Promise<WebhookEvent[]> {
  const key = at(change)
  const user = await data.row('users', key['user_id'] ?? key['creator_id'])
  return [
    systemEvent(change.operation === 'INSERT' ? 'key_create' : 'key_destroy', key, {
      username: user?.['username'] ?? null,
      key: key['key'],
      id: key['id'],
    }),
  ]
}
