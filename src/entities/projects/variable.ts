import { z } from 'zod'
import type { Variable as VariableRecord } from '../../services/projects/variables.js'

const VARIABLE_TYPES = ['env_var', 'file'] as const

const common = {
  variable_type: z.enum(VARIABLE_TYPES),
  key: z.string(),
  value: z.string().nullable(),
  masked: z.boolean(),
  raw: z.boolean(),
  description: z.string().nullable(),
}

/** A variable of a project in lists and single views, without `protected` (V-2). */
export const Variable = z
  .strictObject({ ...common, environment_scope: z.string(), hidden: z.boolean() })
  .meta({ id: 'Variable', description: 'A variable for CI.' })

/** A variable after creation and update (V-4, V-8), and any variable of a group (OT-1). */
export const WrittenVariable = z
  .strictObject({ ...Variable.shape, protected: z.boolean() })
  .meta({ id: 'WrittenVariable', description: 'A variable for CI, and whether only protected branches and tags get it.' })

/** A variable of the instance, for all environments (V-65). */
export const InstanceVariable = z
  .strictObject({ ...common, protected: z.boolean() })
  .meta({ id: 'InstanceVariable', description: 'A variable for CI of all projects.' })

const presentCommon = ({ key, value, file, masked, raw, description, hidden }: VariableRecord) => ({
  variable_type: file ? ('file' as const) : ('env_var' as const),
  key,
  value: hidden ? null : value,
  masked,
  raw,
  description,
})

export const presentVariable = (variable: VariableRecord): z.infer<typeof Variable> =>
  Object.assign(presentCommon(variable), { environment_scope: variable.environment_scope, hidden: variable.hidden })

export const presentWrittenVariable = (variable: VariableRecord): z.infer<typeof WrittenVariable> =>
  Object.assign(presentVariable(variable), { protected: variable.protected })

export const presentInstanceVariable = (variable: VariableRecord): z.infer<typeof InstanceVariable> =>
  Object.assign(presentCommon(variable), { protected: variable.protected })
