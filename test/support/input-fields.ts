import { z } from 'zod'

/** What a schema takes in the end: without defaults, options and conversions around it. */
export function bareOf(schema: z.ZodType): z.ZodType {
  const { def } = schema as unknown as { def: { innerType?: z.ZodType; out?: z.ZodType } }
  const inner = def.innerType ?? (def.out && ['object', 'array', 'optional', 'pipe', 'default'].includes(def.out.type) ? def.out : undefined)
  return inner ? bareOf(inner) : schema
}

/** The fields that a form takes, those of records within it as `record[field]`. */
export function fieldsOf(schema: z.ZodObject, within = ''): string[] {
  return Object.entries(schema.shape).flatMap(([name, inner]) => {
    const field = within === '' ? name : `${within}[${name}]`
    const bare = bareOf(inner as z.ZodType)
    return bare instanceof z.ZodObject && within.length < 60 ? fieldsOf(bare, field) : [field]
  })
}
