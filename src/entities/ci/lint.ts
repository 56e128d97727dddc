import { z } from 'zod'
import type { CompiledPolicy } from '../../rules/ci/types.js'
import type { LintJob as LintJobRecord, LintRecord } from '../../services/ci/lint.js'

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

const Policy = z.strictObject({
  refs: z.array(z.string()).optional(),
  variables: z.array(z.string()).optional(),
  changes: z.array(z.string()).optional(),
  kubernetes: z.literal('active').optional(),
})

const LintJob = z
  .strictObject({
    name: z.string(),
    stage: z.string(),
    before_script: z.array(z.string()),
    script: z.array(z.string()),
    after_script: z.array(z.string()),
    tag_list: z.array(z.string()),
    only: Policy.nullable().optional().describe('Not of a dry run.'),
    except: Policy.nullable().optional().describe('Not of a dry run.'),
    environment: z.string().nullable(),
    when: z.string(),
    allow_failure: z.boolean(),
    needs: z
      .array(z.strictObject({ name: z.string(), artifacts: z.boolean(), optional: z.boolean() }))
      .nullable()
      .optional()
      .describe('Not of a dry run. Null: the job waits for all earlier stages.'),
  })
  .meta({ id: 'CiLintJob', description: 'A job of a CI configuration.' })

function presentPolicy(policy: CompiledPolicy | null): z.infer<typeof Policy> | null {
  if (!policy) return null
  const { refs, variables, changes, kubernetes } = policy
  return { ...(refs && { refs }), ...(variables && { variables }), ...(changes && { changes }), ...(kubernetes && { kubernetes: 'active' }) }
}

const presentJob = ({ tags, environment, only, except, needs, ...job }: LintJobRecord): z.infer<typeof LintJob> => ({
  name: job.name,
  stage: job.stage,
  before_script: job.before_script,
  script: job.script,
  after_script: job.after_script,
  tag_list: tags,
  ...(only !== undefined && { only: presentPolicy(only) }),
  ...(except !== undefined && { except: presentPolicy(except) }),
  environment: environment?.name ?? null,
  when: job.when,
  allow_failure: job.allow_failure,
  ...(needs !== undefined && { needs: needs?.map((each) => ({ name: each.job, artifacts: each.artifacts, optional: each.optional })) ?? null }),
})

/** The same of a project. */
export const ProjectCiLint = z
  .strictObject({
    valid: z.boolean(),
    errors: z.array(z.string()),
    warnings: z.array(z.string()),
    merged_yaml: z.string().nullable().describe('The configuration with everything that it includes.'),
    jobs: z.array(LintJob).optional().describe('With `include_jobs`: the jobs of the file, or in a dry run those of the pipeline.'),
  })
  .meta({ id: 'ProjectCiLint', description: 'Whether a CI configuration of a project is valid.' })

export const presentProjectCiLint = ({ errors, warnings, merged_yaml, jobs }: LintRecord): z.infer<typeof ProjectCiLint> => ({
  valid: errors.length === 0,
  errors,
  warnings,
  merged_yaml,
  ...(jobs && { jobs: jobs.map(presentJob) }),
})
