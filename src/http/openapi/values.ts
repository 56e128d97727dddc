import type { JsonSchema } from '../wire.js'

/** The parameter values in the URL of an example by name, from the declared path and the query. */
export function valuesIn(path: string, url: string | undefined): Map<string, string> {
  const values = new Map<string, string>()
  if (url === undefined) return values
  const { pathname, searchParams } = new URL(url, 'http://example.com')
  const given = pathname.replace('/api/v4', '').split('/')
  for (const [i, part] of path.split('/').entries()) {
    const name = /^:([a-z_]+)/.exec(part)?.[1]
    if (name !== undefined && given[i] !== undefined) values.set(name, decodeURIComponent(given[i]))
  }
  for (const [name, value] of searchParams) values.set(name, value)
  return values
}

const FORMATS: Record<string, RegExp> = { date: /^\d{4}-\d\d-\d\d$/, 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/ }

/** The type of a JSON value as in JSON schema. */
const typeOf = (value: unknown) => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** Whether a value uses the documented notation; examples come from tests, which also use other accepted ones. */
function fits(schema: JsonSchema, value: unknown): boolean {
  const {
    type,
    enum: words,
    format,
    pattern,
    items,
    anyOf,
    oneOf,
    minimum = value,
  } = schema as {
    type?: string | string[]
    enum?: unknown[]
    format?: string
    pattern?: string
    items?: JsonSchema
    anyOf?: JsonSchema[]
    oneOf?: JsonSchema[]
    minimum?: unknown
  }
  const choices = anyOf ?? oneOf
  if (choices) return choices.some((each) => fits(each, value))
  const types = [type ?? []].flat()
  const own = typeOf(value)
  if (types.length > 0 && !types.includes(own) && !(own === 'integer' && types.includes('number'))) return false
  if (words && !words.includes(value)) return false
  if (typeof value === 'string' && pattern && !new RegExp(pattern, 'u').test(value)) return false
  if (typeof value === 'string' && format && FORMATS[format] && !FORMATS[format].test(value)) return false
  if (typeof value === 'number' && value < (minimum as number)) return false
  return !Array.isArray(value) || !items || value.every((each) => fits(items, each))
}

/** The parameters of an example body that use the documented notation; undefined if a required one does not. */
export function requestExample(schema: JsonSchema, request: unknown): object | undefined {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, JsonSchema>; required?: string[] }
  const kept = Object.entries(request as object).flatMap(([name, value]) => {
    const property = properties[name]
    const given = property?.['type'] === 'array' && !Array.isArray(value) ? [value] : value
    return property && fits(property, given) ? [[name, given] as const] : []
  })
  const names = new Set(kept.map(([name]) => name))
  return names.size > 0 && required.every((name) => names.has(name)) ? Object.fromEntries(kept) : undefined
}
