import { z } from 'zod'
import type { Endpoint } from './endpoint.js'

/** The names of the parameters in a path; all others are in the query or the body. */
const namesIn = (path: string) => [...path.matchAll(/:([a-z_]+)/g)].map((match) => match[1] as string)

type Json = Record<string, unknown>

/** Generates OpenAPI 3.1 from the declarations. */
export function openapi(endpoints: Endpoint[], info: { version: string; base: string }): Json {
  const schemas: Json = {}
  const paths: Record<string, Json> = {}
  for (const declared of endpoints) {
    const path = declared.path.replace(/:([a-z_]+)(?:\([^)]*\)+)?/g, '{$1}')
    paths[path] ??= {}
    ;(paths[path] as Json)[declared.method.toLowerCase()] = operation(declared, schemas)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Roost', version: info.version, description: 'Every endpoint of this server, from the declarations that serve them.' },
    servers: [{ url: `${info.base}/api/v4` }],
    security: [{ token: [] }, {}],
    paths,
    components: { schemas, securitySchemes: { token: { type: 'apiKey', in: 'header', name: 'PRIVATE-TOKEN' } } },
  }
}

/** A unique name for each endpoint, also for the two paths that differ only by `/-/`. */
const operationId = (method: string, path: string) => `${method.toLowerCase()} ${path.replaceAll('/-/', '/dash/')}`.replace(/[^a-z0-9]+/gi, '_')

function operation({ method, path, summary, access, input, output, status }: Endpoint, schemas: Json): Json {
  const names = new Set(namesIn(path))
  const { properties = {}, required = [] } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as {
    properties?: Json
    required?: string[]
  }
  const inPath = [...names].map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  const rest = Object.entries(properties).filter(([name]) => !names.has(name))
  const inQuery = method === 'GET' || method === 'HEAD' || method === 'DELETE'
  const query = inQuery ? rest.map(([name, schema]) => ({ name, in: 'query', required: required.includes(name), schema })) : []
  const form =
    inQuery || rest.length === 0
      ? undefined
      : { type: 'object', properties: Object.fromEntries(rest), required: required.filter((name) => !names.has(name)) }
  const code = status ?? (method === 'POST' ? 201 : method === 'DELETE' || method === 'HEAD' ? 204 : 200)
  return {
    summary,
    operationId: operationId(method, path),
    tags: [path.split('/')[path.startsWith('/projects/:id/') ? 3 : 1]],
    'x-access': access.rule,
    parameters: [...inPath, ...query],
    ...(form && { requestBody: { content: { 'application/json': { schema: form }, 'application/x-www-form-urlencoded': { schema: form } } } }),
    responses: {
      [code]: { description: 'Success', ...(output && { content: { 'application/json': { schema: component(output, schemas) } } }) },
      '4XX': { description: 'Refused', content: { 'application/json': { schema: { type: 'object' } } } },
    },
    ...(access.signedIn && { security: [{ token: [] }] }),
  }
}

/** The schema of an answer; entities with an id of their own are put into the components, once. */
function component(output: z.ZodType, schemas: Json): Json {
  const {
    $defs,
    $schema: _,
    ...schema
  } = z.toJSONSchema(output, { io: 'output', unrepresentable: 'any', reused: 'inline' }) as Json & { $defs?: Record<string, Json> }
  const rename = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rename)
    if (typeof value !== 'object' || value === null) return value
    const { id: __, ...rest } = value as Json
    return Object.fromEntries(
      Object.entries(typeof (value as Json)['id'] === 'string' ? rest : (value as Json)).map(([key, inner]) => [
        key,
        key === '$ref' && typeof inner === 'string' ? inner.replace('#/$defs/', '#/components/schemas/') : rename(inner),
      ]),
    )
  }
  for (const [name, definition] of Object.entries($defs ?? {})) schemas[name] ??= rename(definition)
  const own = schema['id']
  if (typeof own !== 'string') return rename(schema) as Json
  schemas[own] ??= rename(schema)
  return { $ref: `#/components/schemas/${own}` }
}
