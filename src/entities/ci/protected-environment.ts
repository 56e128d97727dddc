import { z } from 'zod'
import type { ProtectedEnvironment as Record } from '../../services/ci/environments/protected.js'

export const ProtectedEnvironment = z
  .strictObject({
    name: z.string(),
    deploy_access_levels: z.array(
      z.strictObject({
        id: z.int(),
        access_level: z.int().nullable(),
        access_level_description: z.string(),
        user_id: z.int().nullable(),
        group_id: z.int().nullable(),
        group_inheritance_type: z.int(),
      }),
    ),
    required_approval_count: z.literal(0),
  })
  .meta({ id: 'ProtectedEnvironment', description: 'An environment to which only some may deploy.' })

const ROLES: { [level: number]: string } = { 30: 'Developers + Maintainers', 40: 'Maintainers', 60: 'Administrators' }

export const presentProtectedEnvironment = ({ name, levels }: Record): z.infer<typeof ProtectedEnvironment> => ({
  name,
  deploy_access_levels: levels.map(({ id, access_level, user_id, group_id, group_inheritance_type, user_name, group_name }) => ({
    id,
    access_level,
    access_level_description: user_name ?? group_name ?? ROLES[access_level ?? 40] ?? '',
    user_id,
    group_id,
    group_inheritance_type,
  })),
  required_approval_count: 0,
})
