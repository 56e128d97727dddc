import { z } from 'zod'
import { onProjectSignedIn } from '../../access/rules.js'
import { PackageProtectionRule, presentPackageProtectionRule } from '../../entities/projects/package-protection-rule.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { clearable, oneOf, opt, paging, rowId, updateOf, where } from '../../http/params.js'
import { PROTECTION_LEVELS, type ProtectionLevel } from '../../rules/packages/protection.js'
import { PACKAGE_TYPES } from '../../rules/packages/types.js'
import { createProtectionRule, deleteProtectionRule, listProtectionRules, updateProtectionRule } from '../../services/packages/protection.js'

const access = onProjectSignedIn('admin_package')
const AT = '/projects/:id/packages/protection/rules'
const ONE = `${AT}/:package_protection_rule_id`
const byId = { package_protection_rule_id: rowId() }
const LEVELS: readonly (string | null)[] = [...Object.keys(PROTECTION_LEVELS), '', null]
/** Null or nothing: no level of its own. */
const level = () => opt(where(clearable(), (given) => LEVELS.includes(given), 'does not have a valid value', { enum: [...LEVELS] }))
const levelOf = (given: string | null | undefined) => (given === undefined ? undefined : ((given || null) as ProtectionLevel | null))

/** Rules that protect packages (PK-90, PK-91). */
export const packageProtection = [
  endpoint({
    method: 'GET',
    path: AT,
    summary: 'List the rules that protect packages',
    access,
    input: z.object(paging),
    output: z.array(PackageProtectionRule),
    handler: async ({ ctx, subject, input }) => pageOf(await listProtectionRules(ctx, subject, input), input, presentPackageProtectionRule),
  }),
  endpoint({
    method: 'POST',
    path: AT,
    summary: 'Protect packages',
    access,
    answers: [422],
    input: z.object({
      package_name_pattern: documented.filled({ maxLength: 255 }),
      package_type: oneOf(PACKAGE_TYPES),
      minimum_access_level_for_push: level(),
      minimum_access_level_for_delete: level(),
    }),
    output: PackageProtectionRule,
    handler: async ({ ctx, subject, input }) =>
      presentPackageProtectionRule(
        await createProtectionRule(ctx, subject, {
          package_name_pattern: input.package_name_pattern,
          package_type: input.package_type,
          minimum_access_level_for_push: levelOf(input.minimum_access_level_for_push) ?? null,
          minimum_access_level_for_delete: levelOf(input.minimum_access_level_for_delete) ?? null,
        }),
      ),
  }),
  endpoint({
    method: 'PATCH',
    path: ONE,
    summary: 'Change a rule that protects packages',
    access,
    answers: [422],
    input: updateOf(
      z.object({
        ...byId,
        package_name_pattern: opt(documented.filled({ maxLength: 255 })),
        package_type: opt(oneOf(PACKAGE_TYPES)),
        minimum_access_level_for_push: level(),
        minimum_access_level_for_delete: level(),
      }),
    ),
    output: PackageProtectionRule,
    handler: async ({ ctx, subject, input }) =>
      presentPackageProtectionRule(
        await updateProtectionRule(ctx, subject, input.package_protection_rule_id, {
          package_name_pattern: input.package_name_pattern,
          package_type: input.package_type,
          minimum_access_level_for_push: levelOf(input.minimum_access_level_for_push),
          minimum_access_level_for_delete: levelOf(input.minimum_access_level_for_delete),
        }),
      ),
  }),
  endpoint({
    method: 'DELETE',
    path: ONE,
    summary: 'Delete a rule that protects packages',
    access,
    input: z.object(byId),
    handler: ({ ctx, subject, input }) => deleteProtectionRule(ctx, subject, input.package_protection_rule_id),
  }),
]
