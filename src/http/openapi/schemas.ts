import { z } from 'zod'
import { type JsonSchema, wire } from '../wire.js'

type Json = Record<string, unknown>

/** What zod cannot know: a type is shown in its one form, not in all that are accepted. */
const override = ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }) => {
  const shown = wire.get(zodSchema as unknown as z.ZodType)
  if (shown?.schema) {
    const { description } = jsonSchema
    for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword]
    Object.assign(jsonSchema, shown.schema, description !== undefined && { description })
  }
  Object.assign(jsonSchema, shown?.more)
}

/** The parameters of an input, and which of them are required. */
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

/** A bound that only says that a number is one that JavaScript can count with says nothing to a client. */
const ANY_INTEGER = new Set([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])

/**
 * The elements of an array that is always empty: generators of clients know `maxItems`, but not a schema of nothing.
 */
const isNever = (items: unknown) => JSON.stringify(items) === '{"not":{}}'

/** Removes what is noise, and what the dialect of OpenAPI 3.1 does not allow. */
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

/** The schema of an answer; entities with an id of their own are put into the components, once. */
export function answerSchema(output: z.ZodType, components: Json): Json {
  const { $defs, ...schema } = tidy(z.toJSONSchema(output, { io: 'output', unrepresentable: 'any', reused: 'inline' })) as Json & {
    $defs?: Record<string, Json>
  }
  for (const [name, definition] of Object.entries($defs ?? {})) components[name] ??= named(definition)
  const own = schema['id']
  if (typeof own !== 'string') return named(schema) as Json
  components[own] ??= named(schema)
  return { $ref: `#/components/schemas/${own}` }
}

/** Refers to the components instead of to definitions inside, and leaves out the names that zod keeps in `id`. */
function named(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(named)
  if (typeof value !== 'object' || value === null) return value
  const { id, ...rest } = value as Json
  const entries = Object.entries(typeof id === 'string' ? rest : (value as Json))
  return Object.fromEntries(
    entries.map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string' ? inner.replace('#/$defs/', '#/components/schemas/') : named(inner),
    ]),
  )
}
