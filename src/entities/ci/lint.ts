import { z } from 'zod'
import type { LintRecord } from '../../services/ci/lint.js'

/** What is wrong with a configuration, of no project. */
export const CiLint = z
  .strictObject({
    status: z.enum(['valid', 'invalid']),
    errors: z.array(z.string()),
    warnings: z.array(z.string()),
    merged_yaml: z.string().nullable().optional().describe('With `include_merged_yaml`: the configuration with everything that it includes.'),
  })
  .meta({ id: 'CiLint', description: 'Whether a CI configuration is valid.' })

export const presentCiLint = ({ errors, warnings, merged_yaml }: LintRecord, { withYaml }: { withYaml: boolean }): z.infer<typeof CiLint> => ({
  status: errors.length === 0 ? 'valid' : 'invalid',
  errors,
  warnings,
  ...(withYaml && { merged_yaml }),
})

/** The same of a project. */
export const ProjectCiLint = z
  .strictObject({
    valid: z.boolean(),
    errors: z.array(z.string()),
    warnings: z.array(z.string()),
    merged_yaml: z.string().nullable().describe('The configuration with everything that it includes.'),
  })
  .meta({ id: 'ProjectCiLint', description: 'Whether a CI configuration of a project is valid.' })

export const presentProjectCiLint = ({ errors, warnings, merged_yaml }: LintRecord): z.infer<typeof ProjectCiLint> => ({
  valid: errors.length === 0,
  errors,
  warnings,
  merged_yaml,
})
