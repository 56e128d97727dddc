import { z } from 'zod'
import type { Variable as VariableRecord } from '../../services/projects/variables.js'

/** A variable of a project in lists and single views, with only these two fields (V-2). */
export const Variable = z.strictObject({ key: z.string(), value: z.string().nullable() }).meta({ id: 'Variable', description: 'A variable for CI.' })

/** A variable after creation and update (V-4, V-8), and any variable of a group (OT-1). */
export const WrittenVariable = z
  .strictObject({ ...Variable.shape, protected: z.boolean() })
  .meta({ id: 'WrittenVariable', description: 'A variable for CI, and whether only protected branches and tags get it.' })

export const presentVariable = ({ key, value }: VariableRecord): z.infer<typeof Variable> => ({ key, value })

export const presentWrittenVariable = (variable: VariableRecord): z.infer<typeof WrittenVariable> => ({
  key: variable.key,
  value: variable.value,
  protected: variable.protected,
})
