import { z } from 'zod'

/** A JSON schema. */
export type JsonSchema = { [keyword: string]: unknown }

interface Shown {
  /** In place of the schema derived from the type, which has the spellings that are accepted as well. */
  schema?: JsonSchema
  /** The same in a query or form, where it differs. */
  inForm?: JsonSchema
  /** Added to what the type has. */
  more?: JsonSchema
  /** A parameter that takes several values under one name. */
  several?: boolean
  /** Of these, one that mostly is a single value. */
  single?: boolean
  /** A file of a multipart body. */
  file?: boolean
}

/** How types of parameters are shown in the OpenAPI document: the one form that clients should send. */
export const wire = z.registry<Shown>()

/** Shows a type as this schema. */
export function shownAs<T extends z.ZodType>(type: T, schema: JsonSchema, more: Omit<Shown, 'schema'> = {}): T {
  wire.add(type, { schema, ...more })
  return type
}

/** Adds keywords to what is shown of a type. */
export function shownWith<T extends z.ZodType>(type: T, more: JsonSchema): T {
  wire.add(type, { ...wire.get(type), more: { ...wire.get(type)?.more, ...more } })
  return type
}

/** What is shown of a parameter, whatever steps are around its type. */
export function shownOf(type: z.ZodType): Shown {
  const shown = wire.get(type)
  const { def } = type as unknown as { def: { in?: z.ZodType; out?: z.ZodType; innerType?: z.ZodType } }
  const inner = def.innerType ?? (def.in instanceof z.ZodTransform ? def.out : def.in)
  return { ...(inner && shownOf(inner)), ...shown }
}
