import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { NamespaceRecord } from '../../services/identity/namespaces.js'

export const Namespace = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    path: z.string(),
    kind: z.enum(['user', 'group']),
    full_path: z.string(),
    parent_id: z.int().nullable(),
    avatar_url: z.string().nullable(),
    web_url: z.url(),
    members_count_with_descendants: z.int().optional(),
  })
  .meta({ id: 'Namespace', description: 'A user or a group, as a place of projects.' })

export function presentNamespace(namespace: NamespaceRecord, view: View): z.infer<typeof Namespace> {
  const { id, name, path, kind, full_path, parent_id, members_count } = namespace
  return {
    id,
    name,
    path,
    kind,
    full_path,
    parent_id,
    avatar_url: namespace.avatar ? `${view.links.base}/uploads/-/system/group/avatar/${id}/${namespace.avatar}` : null,
    web_url: kind === 'group' ? view.links.group(full_path) : view.links.user(full_path),
    ...(members_count === undefined ? {} : { members_count_with_descendants: members_count }),
  }
}
