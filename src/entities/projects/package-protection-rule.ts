import { z } from 'zod'
import { wordOf } from '../../rules/packages/protection.js'
import { PACKAGE_TYPES } from '../../rules/packages/types.js'
import type { PackageProtectionRule as Record } from '../../services/packages/protection.js'

const level = z.enum(['maintainer', 'owner', 'admin']).nullable()

export const PackageProtectionRule = z
  .strictObject({
    id: z.int(),
    project_id: z.int(),
    package_name_pattern: z.string(),
    package_type: z.enum(PACKAGE_TYPES),
    minimum_access_level_for_delete: level,
    minimum_access_level_for_push: level,
  })
  .meta({ id: 'PackageProtectionRule', description: 'Who may publish and delete packages of certain names.' })

export const presentPackageProtectionRule = (rule: Record): z.infer<typeof PackageProtectionRule> => ({
  id: rule.id,
  project_id: rule.project_id,
  package_name_pattern: rule.package_name_pattern,
  package_type: rule.package_type,
  minimum_access_level_for_delete: wordOf(rule.minimum_delete_level),
  minimum_access_level_for_push: wordOf(rule.minimum_push_level),
})
