import { z } from 'zod'
import type { Endpoint } from '../endpoint.js'
import type { JsonSchema } from '../wire.js'
import { documentPath, type Glossary, parametersOf } from './parameters.js'
import { headerComponents, REFUSAL_SCHEMA, refusalComponents, refusalResponses, refusalsOf, successHeaders, successOf } from './responses.js'
import { answerSchema } from './schemas.js'
import { requestExample, valuesIn } from './values.js'

type Json = Record<string, unknown>

/** A group of endpoints; a tag of the document. */
export interface Section {
  name: string
  description: string
  endpoints: Endpoint[]
}

/** A route outside the API, as the document shows it. */
export interface PlainRoute {
  method: string
  path: string
  tag: string
  operation: Json & { summary: string; description: string; responses: Json }
}

export interface Examples {
  /** Requests by method and path of the declaration, and responses that are no entity. */
  operations: Record<string, { url?: string; request?: unknown; response?: unknown }>
  /** One of each entity, by its name. */
  entities: Record<string, unknown>
}

/** The input of the document. */
export interface Reference {
  sections: Section[]
  plain: PlainRoute[]
  /** Tags of the routes outside the API. */
  plainTags: { name: string; description: string }[]
  glossary: Glossary
  examples: Examples
  introduction: string
}

/** Generates OpenAPI 3.1 from the declarations. */
export function openapi(reference: Reference, info: { version: string; base: string }): Json {
  const schemas: Json = { Refusal: REFUSAL_SCHEMA }
  const paths: Record<string, Json> = {}
  const put = (path: string, method: string, operation: Json) => {
    paths[path] ??= {}
    ;(paths[path] as Json)[method.toLowerCase()] = operation
  }
  for (const { name, endpoints } of reference.sections)
    for (const declared of endpoints) put(documentPath(declared.path), declared.method, operationOf(declared, name, reference, schemas))
  for (const { method, path, tag, operation } of reference.plain)
    put(path, method, { operationId: operationId(method, path), tags: [tag], security: [{}], servers: [{ url: info.base }], ...operation })
  for (const [name, example] of Object.entries(reference.examples.entities)) Object.assign(schemas[name] ?? {}, { examples: [example] })
  const tags = [...reference.sections, ...reference.plainTags]
  return {
    openapi: '3.1.0',
    info: {
      title: 'Roost',
      version: info.version,
      description: reference.introduction,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${info.base}/api/v4` }],
    security: [{ token: [] }, {}],
    tags: tags.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      schemas,
      responses: refusalComponents(),
      headers: headerComponents(),
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'PRIVATE-TOKEN',
          description: 'A personal access token, impersonation token or OAuth token. `Authorization: Bearer` takes the same.',
        },
        job: { type: 'apiKey', in: 'header', name: 'JOB-TOKEN', description: 'The token of a job that runs, `CI_JOB_TOKEN`; also as `job_token`.' },
      },
    },
  }
}

/** A unique id for each endpoint, also for two paths that differ only by `/-/`. */
const operationId = (method: string, path: string) =>
  `${method.toLowerCase()} ${path.replaceAll('/-/', '/dash/')}`.replace(/[^a-z0-9]+/gi, '_').replace(/_$/, '')

function operationOf(declared: Endpoint, tag: string, { glossary, examples }: Reference, schemas: Json): Json {
  const { method, path, summary, access, jobToken, output } = declared
  const { url, request, response } = examples.operations[`${method} ${path}`] ?? {}
  const { parameters, requestBody } = parametersOf(declared, { tag, glossary, values: valuesIn(path, url) })
  if (requestBody && request !== undefined) {
    const json = (requestBody['content'] as Record<string, Json>)['application/json']
    const example = json && requestExample(json['schema'] as JsonSchema, request)
    if (example) json['example'] = example
  }
  const paged = output instanceof z.ZodArray && 'page' in declared.input.shape
  const headers = successHeaders({ paged, polled: declared.polled === true })
  return {
    summary,
    description: describe(declared, paged),
    operationId: operationId(method, path),
    tags: [tag],
    'x-access': access.rule,
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: {
      [successOf(declared)]: { description: successText(declared, paged), ...headers, ...contentOf(declared, response, schemas) },
      ...refusalResponses(refusalsOf(declared)),
    },
    ...((access.signedIn || jobToken) && { security: [{ token: [] }, ...(jobToken ? [{ job: [] }] : []), ...(access.signedIn ? [] : [{}])] }),
  }
}

function contentOf({ method, output, raw }: Endpoint, example: unknown, schemas: Json): Json {
  if (method === 'HEAD') return {}
  if (raw) return { content: Object.fromEntries(raw.map((type) => [type, { schema: { type: 'string', format: 'binary' } }])) }
  if (!output) return {}
  return { content: { 'application/json': { schema: answerSchema(output, schemas), ...(example !== undefined && { example }) } } }
}

/** Describes an endpoint in words: what it does, its access rule, and how it responds. */
function describe({ description, access, polled, answers = [], path }: Endpoint, paged: boolean): string {
  const sentences = [
    ...(description ? [description] : []),
    accessSentence(access.rule, path),
    ...(paged ? ['A list in pages.'] : []),
    ...(polled ? ['Made to be polled: the answer says how often.'] : []),
    ...(answers.includes(304) ? ['304 if it is so already.'] : []),
  ]
  return sentences.join(' ')
}

/** The access rule as a sentence. */
function accessSentence(rule: string, path: string): string {
  if (rule.startsWith('administrator')) return 'For administrators only.'
  const ability = /(project|group|issue|merge request|snippet|commit|wiki)[^:]*: ([a-z_]+)/.exec(rule)
  const token = rule.startsWith('signed in') ? 'Needs a token' : ''
  if (ability)
    return `${token ? `${token} of a user with` : 'Needs'} the ability \`${ability[2]}\` on the ${ability[1]}${token ? '' : '; what is public needs no token'}.`
  if (token) return `${token}${path.startsWith('/user') ? ', and is about its user' : ''}.`
  return 'Needs no token; with one, it answers what its user may see.'
}

function successText(declared: Endpoint, paged: boolean): string {
  if (paged) return 'A page of the list.'
  const status = successOf(declared)
  if (status === 201) return declared.output ? 'It is done; the answer is what there is now.' : 'It is done.'
  if (status === 202) return 'Accepted; it is done in the background.'
  if (status === 204) return 'It is done; the answer is empty.'
  return 'The answer.'
}
