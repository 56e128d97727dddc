import { z } from 'zod'

/** A JSON schema. */
export type JsonSchema = { [keyword: string]: unknown }

interface Shown {
  /** Replaces the schema derived from the type, which includes all accepted notations. */
  schema?: JsonSchema
  /** The schema in a query or form, if it differs. */
  inForm?: JsonSchema
  /** Keywords to add to the schema. */
  more?: JsonSchema
  /** Whether it accepts several values under one name. */
  several?: boolean
  /** Whether it accepts several values, but usually gets a single one. */
  single?: boolean
  /** A path, whose bytes in a URL need not be UTF-8. */
  path?: boolean
  /** A file of a multipart body. */
  file?: boolean
}

/** The documentation of parameter types in the OpenAPI document: the one notation that clients should use. */
export const wire = z.registry<Shown>()

/** Documents a type with this schema. */
export function shownAs<T extends z.ZodType>(type: T, schema: JsonSchema, more: Omit<Shown, 'schema'> = {}): T {
  wire.add(type, { schema, ...more })
  return type
}

/** Adds keywords to the documented schema of a type. */
export function shownWith<T extends z.ZodType>(type: T, more: JsonSchema): T {
  wire.add(type, { ...wire.get(type), more: { ...wire.get(type)?.more, ...more } })
  return type
}

/** The type within a wrapper: an option, a default, or a conversion before or after it. */
export function innerOf(type: z.ZodType): z.ZodType | undefined {
  const { def } = type as unknown as { def: { in?: z.ZodType; out?: z.ZodType; innerType?: z.ZodType } }
  return def.innerType ?? (def.in instanceof z.ZodTransform ? def.out : def.in)
}

/** The documentation of a parameter, through all wrappers of its type. */
export function shownOf(type: z.ZodType): Shown {
  const inner = innerOf(type)
  return { ...(inner && shownOf(inner)), ...wire.get(type) }
}

/** The documented keywords of a parameter, those of all wrappers of its type. */
export function keywordsOf(type: z.ZodType): JsonSchema {
  const inner = innerOf(type)
  const { schema, more } = wire.get(type) ?? {}
  return { ...(inner && keywordsOf(inner)), ...schema, ...more }
}
