import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseForm } from '../../../src/http/form.js'
import type { Examples } from '../../../src/http/openapi/document.js'
import { families, sections } from '../../../src/routes/index.js'
import { plainRoutes } from '../../../src/routes/reference/plain.js'
import { testApp } from '../../support/app.js'

interface Schema {
  [keyword: string]: unknown
  properties?: Record<string, Schema>
  items?: Schema
}
interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  style?: string
  schema: Schema
}
interface Operation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  'x-access'?: string
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Record<string, { schema: Schema; example?: object }> }
  responses: Record<string, { $ref?: string; headers?: object; content?: Record<string, { schema: Schema; example?: unknown }> }>
}
interface Document {
  openapi: string
  info: object
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, { content?: Record<string, { examples?: Record<string, unknown> }> }>
    headers: object
  }
}

const t = testApp()
const endpoints = families.flat()
const examples = JSON.parse(readFileSync(new URL('../../../src/http/reference/examples.json', import.meta.url), 'utf8')) as Examples
let document: Document
let text: string

beforeAll(async () => {
  const response = await fetch(`${t.url}/api/v4/openapi.json`)
  expect(response.headers.get('content-type')).toBe('application/json')
  text = await response.text()
  document = JSON.parse(text) as Document
})

const operations = () =>
  Object.entries(document.paths).flatMap(([path, each]) => Object.entries(each).map(([method, operation]) => ({ path, method, ...operation })))
const operation = (method: string, path: string) => document.paths[path]?.[method] as Operation
const query = (path: string, name: string) =>
  operation('get', path).parameters?.find((parameter) => parameter.in === 'query' && parameter.name === name)
const body = (method: string, path: string, type = 'application/json') => operation(method, path).requestBody?.content[type]?.schema.properties ?? {}

/** The example of a response: its own, or that of the entity that it is or lists. */
function exampleOf({ schema, example }: { schema: Schema; example?: unknown }): unknown {
  if (example !== undefined) return example
  const { $ref, items } = schema as { $ref?: string; items?: Schema }
  const one = items && exampleOf({ schema: items })
  if (one !== undefined) return [one]
  return (document.components.schemas[$ref?.replace('#/components/schemas/', '') ?? '']?.['examples'] as unknown[] | undefined)?.[0]
}

describe('the OpenAPI document', () => {
  it('is OpenAPI 3.1 and has every endpoint with its rule, and the routes outside the API', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(document.info).toMatchObject({ title: 'Roost', version: '13.12.0', license: { identifier: 'MIT' } })
    const declared = endpoints.map(({ method, path }) => `${method} ${path.replace(/:([a-z_]+)(\([^/]*\))?/g, '{$1}')}`)
    const plain = plainRoutes.map(({ method, path }) => `${method} ${path}`)
    expect(plain).toEqual(expect.arrayContaining(['POST /oauth/token', 'GET /-/health', 'GET /-/readiness', 'GET /-/metrics']))
    expect(
      operations()
        .map(({ method, path }) => `${method.toUpperCase()} ${path}`)
        .sort(),
    ).toEqual([...declared, ...plain].sort())
    expect(new Set(operations().map(({ operationId }) => operationId)).size).toBe(operations().length)
  })

  it('has the parts of the contract in their order, then all others', () => {
    const names = document.tags.map(({ name }) => name)
    expect(names.slice(0, 12)).toEqual([
      'Search',
      'Commits',
      'Commit statuses',
      'Users',
      'SSH keys',
      'GPG keys',
      'Emails',
      'Impersonation tokens',
      'Groups',
      'Merge requests',
      'Application settings',
      'Project variables',
    ])
    expect(new Set(names).size).toBe(names.length)
    for (const { tags } of operations()) expect(names).toContain(tags[0])
    expect(sections.flatMap(({ endpoints: each }) => each)).toHaveLength(endpoints.length)
  })

  it('refers only to existing schemas', () => {
    for (const [, kind = '', name = ''] of text.matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g))
      expect(document.components).toHaveProperty([kind, name])
    expect([...text.matchAll(/"\$ref":"([^"]+)"/g)].filter(([, ref = '']) => !/^#\/components\/\w+\/[\w-]+$/.test(ref))).toEqual([])
    for (const { path, parameters = [] } of operations())
      expect(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`)).toEqual(path.match(/\{[a-z_]+\}/g) ?? [])
  })
})

describe('parameters are shown as they are sent', () => {
  it('lists with brackets in queries and forms, and without in JSON (W-3, G-52)', () => {
    expect(query('/projects/{id}/issues', 'iids[]')?.schema).toMatchObject({ type: 'array', items: { type: 'integer', minimum: 1 }, maxItems: 100 })
    expect(query('/groups', 'skip_groups[]')?.schema).toMatchObject({ type: 'array', items: { type: 'integer' } })
    expect(query('/projects/{id}/issues', 'iids')).toBeUndefined()
    const path = '/user/personal_access_tokens'
    expect(body('post', path)['scopes']).toMatchObject({ type: 'array', items: { type: 'string' } })
    expect(body('post', path, 'application/x-www-form-urlencoded')).toHaveProperty(['scopes[]'])
    // none but those in brackets is a list
    for (const { parameters = [] } of operations())
      for (const { name, schema } of parameters) expect([name, schema['type'] === 'array']).toEqual([name, name.endsWith('[]')])
  })

  it('maps as deep objects (W-3, G-53)', () => {
    expect(query('/users', 'custom_attributes')).toMatchObject({
      style: 'deepObject',
      explode: true,
      schema: { type: 'object', additionalProperties: { type: 'string' } },
    })
    expect(query('/projects/{id}/issues', 'not')).toMatchObject({ style: 'deepObject', schema: { type: 'object', properties: { labels: {} } } })
  })

  it('what everybody may filter by, and sudo where the contract has it (SEC-46, W-10)', () => {
    const described = (path: string, name: string) => query(path, name)?.description
    expect(described('/user', 'sudo')).toContain('administrators only')
    for (const path of ['/users', '/groups', '/projects']) {
      expect(described(path, 'custom_attributes')).not.toMatch(/administrator/i)
      expect(described(path, 'with_custom_attributes')).toContain('administrators only')
    }
  })

  it('files as multipart bodies, and only there (SEC-75)', () => {
    const file = { type: 'string', format: 'binary' }
    expect(Object.keys(operation('post', '/projects/{id}/uploads').requestBody?.content ?? {})).toEqual(['multipart/form-data'])
    expect(body('post', '/projects/{id}/uploads', 'multipart/form-data')['file']).toMatchObject(file)
    expect(body('post', '/users', 'multipart/form-data')['avatar']).toMatchObject(file)
    expect(body('post', '/users')).not.toHaveProperty('avatar')
    expect(operation('post', '/projects/{id}/uploads').requestBody?.required).toBe(true)
  })

  it('ids are integers, or for projects and groups also paths (G-2, G-49)', () => {
    const idOf = (method: string, path: string, name: string) =>
      operation(method, path).parameters?.find((parameter) => parameter.name === name)?.schema
    expect(idOf('get', '/users/{id}', 'id')).toMatchObject({ type: 'integer', minimum: 1 })
    expect(idOf('get', '/projects/{id}/merge_requests/{merge_request_iid}', 'merge_request_iid')).toMatchObject({ type: 'integer', minimum: 1 })
    expect(idOf('get', '/projects/{id}', 'id')).toMatchObject({ oneOf: [{ type: 'integer' }, { type: 'string' }] })
  })

  it('bounds, formats and defaults (G-47, G-50, G-55, G-56)', () => {
    expect(query('/users', 'page')?.schema).toEqual({ type: 'integer', minimum: 1, default: 1 })
    expect(query('/users', 'per_page')?.schema).toEqual({ type: 'integer', minimum: 1, maximum: 100, default: 20 })
    expect(query('/users', 'created_before')?.schema).toEqual({ type: 'string', format: 'date-time' })
    expect(query('/user/activities', 'from')?.schema).toEqual({ type: 'string', format: 'date' })
    expect(query('/users', 'order_by')?.schema).toMatchObject({ enum: expect.arrayContaining(['id', 'name']) as string[], default: 'id' })
    expect(query('/users', 'search')?.schema).toEqual({ type: 'string', maxLength: 255 })
    expect(query('/avatar', 'size')?.schema).toEqual({ type: 'integer', minimum: 1, maximum: 4096 })
    expect(body('post', '/projects/{id}/protected_branches')['push_access_level']).toMatchObject({ type: 'integer', enum: [0, 30, 40], default: 40 })
    expect(body('put', '/projects/{id}/issues/{issue_iid}')['due_date']).toMatchObject({ type: ['string', 'null'], format: 'date' })
  })
})

describe('answers', () => {
  it('to G-38: refusals have statuses, a schema and their texts (G-29)', () => {
    for (const { path, responses } of operations()) {
      if (path.startsWith('/-/') || path.startsWith('/oauth') || path.startsWith('/.well-known') || path.startsWith('/uploads')) continue
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['400', '401', '403', '429', '503']))
    }
    expect(Object.keys(operation('put', '/projects/{id}/merge_requests/{merge_request_iid}/merge').responses)).toEqual(
      expect.arrayContaining(['200', '401', '404', '405', '406', '409']),
    )
    expect(Object.keys(operation('post', '/projects/{id}/merge_requests/{merge_request_iid}/subscribe').responses)).toContain('304')
    for (const [name, { content }] of Object.entries(document.components.responses)) {
      if (name === 'NotModified' || name === 'TooManyRequests') continue
      expect([name, Object.keys(content?.['application/json']?.examples ?? {}).length > 0]).toEqual([name, true])
    }
  })

  it('to G-59, SEC-148: lists have headers of pages, and everything has those of the limits (G-57)', () => {
    const headers = (path: string) => Object.keys(operation('get', path).responses['200']?.headers ?? {})
    expect(headers('/users')).toEqual(expect.arrayContaining(['Link', 'X-Total', 'X-Next-Page', 'RateLimit-Remaining']))
    expect(headers('/user')).not.toContain('Link')
    expect(headers('/user')).toContain('RateLimit-Limit')
    expect(headers('/projects/{id}/pipelines')).toContain('Poll-Interval')
  })
})

describe('examples', () => {
  it('every operation that answers JSON has one', () => {
    const without = operations().filter(({ method, responses }) => {
      const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
      const json = success?.content?.['application/json']
      return method !== 'head' && json && exampleOf(json) === undefined
    })
    expect(without.map(({ method, path }) => `${method} ${path}`)).toEqual([])
  })

  it('each has the shape that its endpoint declares', () => {
    const declared = endpoints.map(({ method, path }) => `${method} ${path}`)
    expect(declared).toEqual(expect.arrayContaining(Object.keys(examples.operations)))
    expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(Object.keys(examples.entities)))
    for (const { method, path, output } of endpoints) {
      const { responses } = operation(method.toLowerCase(), path.replace(/:([a-z_]+)(\([^/]*\))?/g, '{$1}'))
      for (const { content } of Object.values(responses)) {
        const json = content?.['application/json']
        const example = json && exampleOf(json)
        if (example !== undefined) expect([method, path, output?.safeParse(example).error?.message]).toEqual([method, path, undefined])
      }
    }
  })

  it('the requests of examples are accepted as parameters', () => {
    for (const endpoint of endpoints) {
      const { method, path } = endpoint
      const shown = operation(method.toLowerCase(), path.replace(/:([a-z_]+)(\([^/]*\))?/g, '{$1}'))
      const example = shown.requestBody?.content['application/json']?.example
      if (!example) continue
      const inPath = Object.fromEntries((shown.parameters ?? []).map(({ name, ...more }) => [name, String((more as { example?: unknown }).example)]))
      const parsed = endpoint.input.safeParse(Object.assign(parseForm(''), example, inPath))
      expect([method, path, parsed.error?.message]).toEqual([method, path, undefined])
    }
  })
})
