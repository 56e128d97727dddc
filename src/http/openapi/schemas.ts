import { z } from 'zod'
import { type JsonSchema, wire } from '../wire.js'

type Json = Record<string, unknown>

/** Replaces the schema that zod derives by the documented one, which has only one of the accepted notations. */
const override = ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }) => {
  const shown = wire.get(zodSchema as unknown as z.ZodType)
  if (shown?.schema) {
    const { description } = jsonSchema
    for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword]
    Object.assign(jsonSchema, shown.schema, description !== undefined && { description })
  }
  Object.assign(jsonSchema, shown?.more)
}

/** The parameters of an input, the required ones, and conditions on several. */
export function inputSchema(input: z.ZodObject): { properties: Record<string, JsonSchema>; required: string[]; conditions: JsonSchema[] } {
  const {
    properties = {},
    required = [],
    allOf: conditions = [],
  } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any', reused: 'inline', override }) as {
    properties?: Record<string, JsonSchema>
    required?: string[]
    allOf?: JsonSchema[]
  }
  return { properties: tidy(properties) as Record<string, JsonSchema>, required, conditions }
}

/** Bounds of all safe integers of JavaScript, which tell clients nothing. */
const ANY_INTEGER = new Set([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])

/** Whether an array is always empty: client generators support `maxItems`, but not a schema that nothing matches. */
const isNever = (items: unknown) => JSON.stringify(items) === '{"not":{}}'

/** Removes keywords that are noise, or invalid in OpenAPI 3.1. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy)
  if (typeof value !== 'object' || value === null) return value
  const { $schema: _, ...rest } = value as Json
  if (isNever(rest['items'])) Object.assign(rest, { items: {}, maxItems: 0 })
  return Object.fromEntries(
    Object.entries(rest)
      .filter(([key, inner]) => !((key === 'maximum' || key === 'minimum') && ANY_INTEGER.has(inner as number)))
      .map(([key, inner]) => [key, tidy(inner)]),
  )
}

/** The schema of a response; entities with an id are added to the components, once. */
export function answerSchema(output: z.ZodType, components: Json): Json {
  const { $defs, ...schema } = tidy(z.toJSONSchema(output, { io: 'output', unrepresentable: 'any', reused: 'inline' })) as Json & {
    $defs?: Record<string, Json>
  }
  for (const [name, definition] of Object.entries($defs ?? {})) components[name] ??= withComponentRefs(definition)
  const own = schema['id']
  if (typeof own !== 'string') return withComponentRefs(schema) as Json
  components[own] ??= withComponentRefs(schema)
  return { $ref: `#/components/schemas/${own}` }
}

/** The name of the entity that an answer is, or is a list of. */
export function entityOf(schema: Json): { name: string; list: boolean } | null {
  const list = schema['type'] === 'array'
  const { $ref } = (list ? schema['items'] : schema) as { $ref?: string }
  return $ref === undefined ? null : { name: $ref.replace('#/components/schemas/', ''), list }
}

/**
 * Replaces references to inner definitions by references to the components, and removes the names that zod puts into
 * `id`.
 */
function withComponentRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withComponentRefs)
  if (typeof value !== 'object' || value === null) return value
  const { id, ...rest } = value as Json
  const entries = Object.entries(typeof id === 'string' ? rest : (value as Json))
  return Object.fromEntries(
    entries.map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string' ? inner.replace('#/$defs/', '#/components/schemas/') : withComponentRefs(inner),
    ]),
  )
}
