import { z } from 'zod'
import type { View } from '../../http/view.js'
import { STRATEGIES } from '../../rules/features/feature-flags.js'
import type { ClientFlag } from '../../services/projects/feature-flags/clients.js'
import type { FeatureFlag as FlagRecord } from '../../services/projects/feature-flags/flags.js'
import type { UserList } from '../../services/projects/feature-flags/user-lists.js'

const BasicUserList = z.strictObject({ id: z.int(), iid: z.int(), name: z.string(), user_xids: z.string() })
const parameters = z.record(z.string(), z.string())

export const FeatureFlag = z
  .strictObject({
    name: z.string(),
    description: z.string().nullable(),
    active: z.boolean(),
    version: z.literal('new_version_flag'),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    scopes: z.tuple([]).describe('Of flags of the first version, which there are none of.'),
    strategies: z.array(
      z.strictObject({
        id: z.int(),
        name: z.enum(STRATEGIES),
        parameters,
        scopes: z.array(z.strictObject({ id: z.int(), environment_scope: z.string() })),
        user_list: BasicUserList.nullable(),
      }),
    ),
  })
  .meta({ id: 'FeatureFlag', description: 'A feature flag of a project.' })

export const presentFeatureFlag = (flag: FlagRecord): z.infer<typeof FeatureFlag> => ({
  name: flag.name,
  description: flag.description,
  active: flag.active,
  version: 'new_version_flag',
  created_at: flag.created_at.toISOString(),
  updated_at: flag.updated_at.toISOString(),
  scopes: [],
  strategies: flag.strategies.map(({ id, name, parameters: given, scopes, user_list }) => ({ id, name, parameters: given, scopes, user_list })),
})

export const FeatureFlagUserList = z
  .strictObject({
    ...BasicUserList.shape,
    project_id: z.int(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    path: z.string(),
    edit_path: z.string(),
  })
  .meta({ id: 'FeatureFlagUserList', description: 'Users of other programs, for whom feature flags are on.' })

/** `fullPath`: of the project. */
export function presentUserList(list: UserList, fullPath: string, { links }: View): z.infer<typeof FeatureFlagUserList> {
  const path = `${new URL(links.project(fullPath)).pathname}/-/feature_flags_user_lists/${list.iid}`
  return {
    id: list.id,
    iid: list.iid,
    name: list.name,
    user_xids: list.user_xids,
    project_id: list.project_id,
    created_at: list.created_at.toISOString(),
    updated_at: list.updated_at.toISOString(),
    path,
    edit_path: `${path}/edit`,
  }
}

export const ClientFeatures = z
  .strictObject({
    version: z.literal(1),
    features: z.array(
      z.strictObject({
        name: z.string(),
        description: z.string().optional(),
        enabled: z.boolean(),
        strategies: z.array(z.strictObject({ name: z.string(), parameters })),
      }),
    ),
  })
  .meta({ id: 'ClientFeatures', description: 'The flags of a project for a client of Unleash.' })

export const presentClientFeatures = (flags: ClientFlag[]): z.infer<typeof ClientFeatures> => ({
  version: 1,
  features: flags.map(({ name, description, active, strategies }) => ({
    name,
    ...(description !== null && { description }),
    enabled: active,
    strategies,
  })),
})
