import type { z } from 'zod'
import type { Endpoint } from '../endpoint.js'
import { type JsonSchema, shownOf } from '../wire.js'
import { inputSchema } from './schemas.js'

type Json = Record<string, unknown>

/** Describes a parameter; an entry for the path or the tag takes precedence over a general one. */
export type Glossary = (name: string, place: { path: string; tag: string }) => string | undefined

/** A documented parameter. */
interface Parameter {
  name: string
  schema: JsonSchema
  inForm: JsonSchema
  required: boolean
  file: boolean
}

const PATH = /:([a-z_]+)/g

const pathNames = (path: string) => [...path.matchAll(PATH)].map((match) => match[1] as string)

/** The path in the document: names in braces, without the patterns of the router. */
export const documentPath = (path: string) => path.replace(/:([a-z_]+)(?:\([^)]*\)+)?/g, '{$1}')

/**
 * Whether the parameters of a method are documented as a query. A DELETE accepts both query and body, and clients use
 * the query.
 */
const inQuery = (method: string) => method === 'GET' || method === 'HEAD' || method === 'DELETE'

/** The path and query parameters, and the body. */
export function parametersOf(
  { method, path, access, input }: Endpoint,
  { tag, glossary, values }: { tag: string; glossary: Glossary; values: Map<string, string> },
): { parameters: Json[]; requestBody?: Json } {
  const names = pathNames(path)
  const describe = (name: string, schema: JsonSchema) => schema['description'] ?? glossary(name, { path, tag })
  const own = inputSchema(input)
  const fromAccess = inputSchema(access.path).properties
  const inPath = names.map((name) => {
    const { description, ...schema } = own.properties[name] ?? fromAccess[name] ?? { type: 'string' }
    return { name, in: 'path', required: true, description: description ?? describe(name, schema), schema: pathSchema(name, schema) }
  })
  const rest = Object.entries(own.properties)
    .filter(([name]) => !names.includes(name))
    .map(([name, schema]) => {
      const { file = false, single = false, inForm, more } = shownOf(input.shape[name] as z.ZodType)
      const described = { ...withoutNull(schema, single), description: describe(name, schema) }
      return {
        name,
        schema: described,
        inForm: inForm ? { ...inForm, ...more, description: described.description } : formSchemaOf(described),
        required: own.required.includes(name),
        file,
      }
    })
  const shown = (parameter: Json) => withExample(parameter, values)
  if (inQuery(method)) return { parameters: [...inPath, ...rest.map(queryParameter)].map(shown) }
  return { parameters: inPath.map(shown), ...(rest.length > 0 && { requestBody: bodyOf(rest, own.conditions) }) }
}

const NUMBER_OR_NAME = new Set(['id', 'project_id', 'user_id', 'label_id', 'forked_from_id'])

/** The schema of a path parameter: some accept a number or a name; none is empty. */
function pathSchema(name: string, schema: JsonSchema): JsonSchema {
  if (schema['type'] !== 'string' || schema['enum']) return schema
  if (name.endsWith('_iid') || name === 'snippet_id') return { type: 'integer', minimum: 1 }
  if (NUMBER_OR_NAME.has(name))
    return {
      oneOf: [
        { type: 'integer', minimum: 1 },
        { type: 'string', minLength: 1 },
      ],
    }
  return { minLength: 1, ...schema }
}

/** Removes the null that stands for an absent value; a list that usually has one value is documented as that value. */
function withoutNull(schema: JsonSchema, single: boolean): JsonSchema {
  const { anyOf } = schema as { anyOf?: JsonSchema[] }
  const [first, ...others] = anyOf?.filter(({ type }) => type !== 'null') ?? []
  if (first && others.length === 0) return { ...first, ...(schema['description'] !== undefined && { description: schema['description'] }) }
  return single ? (schema['items'] as JsonSchema) : schema
}

/** The schema in a form, which has no null: an empty text clears a value. */
function formSchemaOf(schema: JsonSchema): JsonSchema {
  const { type } = schema as { type?: string | string[] }
  return Array.isArray(type) && type.includes('null') ? { ...schema, type: type.find((each) => each !== 'null') } : schema
}

/** A query parameter; lists are sent as `name[]`, once for each value, and maps as `name[key]`. */
function queryParameter({ name, inForm: { description, ...schema }, required }: Parameter): Json {
  const isList = schema['type'] === 'array'
  const isMap = schema['type'] === 'object'
  return {
    name: isList ? `${name}[]` : name,
    in: 'query',
    ...(required && { required }),
    description,
    ...(isMap && { style: 'deepObject', explode: true }),
    schema,
  }
}

const hasMaps = ({ inForm }: Parameter) =>
  inForm['type'] === 'array' && ['object', undefined].includes((inForm['items'] as JsonSchema)['type'] as string)

/** The body as JSON and as a form; multipart if a parameter is a file. A form cannot have a list of objects. */
function bodyOf(parameters: Parameter[], conditions: JsonSchema[]): Json {
  const files = parameters.filter(({ file }) => file)
  const others = parameters.filter(({ file }) => !file)
  const content: Json = {}
  if (!files.some(({ required }) => required)) {
    content['application/json'] = { schema: objectOf(others, conditions, ({ name, schema }) => [name, schema]) }
    if (!others.some(hasMaps)) content['application/x-www-form-urlencoded'] = form(others, conditions)
  }
  if (files.length > 0) content['multipart/form-data'] = form(parameters, conditions)
  return { required: parameters.some(({ required }) => required) || conditions.some((condition) => !condition['dependentRequired']), content }
}

function form(parameters: Parameter[], conditions: JsonSchema[]): Json {
  const nameOf = ({ name, inForm }: Parameter) => (inForm['type'] === 'array' ? `${name}[]` : name)
  const maps = parameters.filter(({ inForm }) => inForm['type'] === 'object')
  return {
    schema: objectOf(parameters, conditions, (parameter) => [nameOf(parameter), parameter.inForm]),
    ...(maps.length > 0 && { encoding: Object.fromEntries(maps.map(({ name }) => [name, { style: 'deepObject', explode: true }])) }),
  }
}

function objectOf(parameters: Parameter[], conditions: JsonSchema[], show: (parameter: Parameter) => [string, JsonSchema]): Json {
  const required = parameters.filter((parameter) => parameter.required).map((parameter) => show(parameter)[0])
  const names = new Map(parameters.map((parameter) => [parameter.name, show(parameter)[0]]))
  const allOf = conditions.map((condition) => renameParameters(condition, names))
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(show)),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...(allOf.length > 0 && { allOf }),
  }
}

/** A condition on several parameters, with the names under which they are sent. */
function renameParameters(condition: JsonSchema, names: Map<string, string>): JsonSchema {
  const known = (given: string[]) => given.flatMap((name) => names.get(name) ?? [])
  const entries = Object.entries(condition).map(([keyword, value]) => {
    if (keyword !== 'dependentRequired')
      return [
        keyword,
        (value as { required: string[] }[]).map(({ required }) => ({ required: known(required) })).filter(({ required }) => required.length > 0),
      ]
    return [
      keyword,
      Object.fromEntries(
        Object.entries(value as Record<string, string[]>).flatMap(([name, others]) => known([name]).map((own) => [own, known(others)])),
      ),
    ]
  })
  return Object.fromEntries(entries) as JsonSchema
}

/** Adds the value of an example to a parameter, if it is a single value. */
function withExample(parameter: Json, values: Map<string, string>): Json {
  const value = values.get(parameter['name'] as string)
  if (value === undefined) return parameter
  const { type, oneOf, enum: words } = parameter['schema'] as JsonSchema & { oneOf?: JsonSchema[]; enum?: unknown[] }
  const isNumber = /^\d{1,9}$/.test(value)
  if (isNumber && (type === 'integer' || oneOf?.some((each) => each['type'] === 'integer'))) return { ...parameter, example: Number(value) }
  const isText = (type === 'string' && (!words || words.includes(value))) || oneOf?.some((each) => each['type'] === 'string')
  return isText && value !== '' ? { ...parameter, example: value } : parameter
}
