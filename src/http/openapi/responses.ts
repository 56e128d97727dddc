import { STATUS } from '../../failures.js'
import type { Endpoint } from '../endpoint.js'

type Json = Record<string, unknown>

const JSON_TYPE = 'application/json'
const text = (value: object) => ({ value })

/** An error response: its name in the components, when it occurs, and example bodies. */
interface Refusal {
  name: string
  when: string
  examples?: Record<string, Json>
}

const REFUSALS: Record<number, Refusal> = {
  304: { name: 'NotModified', when: 'Nothing has changed: it is so already.' },
  400: {
    name: 'BadRequest',
    when: 'A parameter is missing or malformed, or the record would not be valid.',
    examples: {
      missing: text({ error: 'title is missing' }),
      malformed: text({ error: 'per_page has a value not allowed' }),
      record: text({ message: { email: ['has already been taken'] } }),
    },
  },
  401: {
    name: 'Unauthorized',
    when: 'The call needs a token, or the token is not valid.',
    examples: {
      missing: text({ message: '401 Unauthorized' }),
      revoked: text({ error: 'invalid_token', error_description: 'Token was revoked. You have to re-authorize from the user.' }),
    },
  },
  403: {
    name: 'Forbidden',
    when: 'The caller may not do this, or the token lacks the scope.',
    examples: {
      ability: text({ message: '403 Forbidden' }),
      scope: text({
        error: 'insufficient_scope',
        error_description: 'The request requires higher privileges than provided by the access token.',
        scope: 'api',
      }),
    },
  },
  404: {
    name: 'NotFound',
    when: 'There is no such thing, or the caller may not see it; or nobody has the name that `Sudo` gives.',
    examples: { named: text({ message: '404 Project Not Found' }), child: text({ message: '404 Not found' }) },
  },
  405: {
    name: 'MethodNotAllowed',
    when: 'The state of the thing does not allow it.',
    examples: { state: text({ message: 'Method Not Allowed' }), conflicts: text({ message: 'Branch cannot be merged' }) },
  },
  406: {
    name: 'NotAcceptable',
    when: 'The body has a content type that is not read, or the thing is in another state.',
    examples: { type: text({ error: "The requested content-type 'text/xml' is not supported." }), state: text({ message: 'Method Not Allowed' }) },
  },
  409: {
    name: 'Conflict',
    when: 'It contradicts what is there.',
    examples: { sha: text({ message: 'SHA does not match HEAD of source branch' }), exists: text({ message: 'Member already exists' }) },
  },
  412: {
    name: 'PreconditionFailed',
    when: 'It has changed since `If-Unmodified-Since`.',
    examples: { changed: text({ message: '412 Precondition Failed' }) },
  },
  413: { name: 'TooLarge', when: 'The body is larger than allowed.', examples: { size: text({ message: '413 Request Entity Too Large' }) } },
  415: {
    name: 'UnsupportedMediaType',
    when: 'The body is compressed, has another charset than UTF-8, or does not say its content type.',
    examples: { type: text({ message: '415 Unsupported Media Type' }) },
  },
  422: {
    name: 'Unprocessable',
    when: 'The record cannot be created or changed like this.',
    examples: { record: text({ error: ['Cannot create: source and target branch are the same'] }) },
  },
  429: { name: 'TooManyRequests', when: 'Too many requests, or too many bad credentials.' },
  503: {
    name: 'Unavailable',
    when: 'The database or a storage does not answer, or too much is going on; the header says when to try again.',
    examples: { storage: text({ message: '503 Service Unavailable: the storage does not answer' }) },
  },
}

/** Headers of lists (G-57 to G-59). */
const PAGE_HEADERS: Record<string, [description: string, schema: object]> = {
  Link: ['The pages before and after, and the first and the last, as URLs.', { type: 'string' }],
  'X-Total': ['Number of items in all pages.', { type: 'integer' }],
  'X-Total-Pages': ['Number of pages.', { type: 'integer' }],
  'X-Page': ['Number of this page.', { type: 'integer' }],
  'X-Per-Page': ['Items on a page.', { type: 'integer' }],
  'X-Next-Page': ['Number of the next page; empty on the last one.', { type: 'string' }],
  'X-Prev-Page': ['Number of the page before; empty on the first one.', { type: 'string' }],
}

/** Headers of responses while requests are limited (SEC-148). */
const RATE_HEADERS: Record<string, [description: string, schema: object]> = {
  'RateLimit-Limit': ['Requests that the caller may make in a window of time; sent where the server limits them.', { type: 'integer' }],
  'RateLimit-Remaining': ['Requests left in this window.', { type: 'integer' }],
  'RateLimit-Observed': ['Requests made in this window.', { type: 'integer' }],
  'RateLimit-Reset': ['When the window ends, in seconds since 1970.', { type: 'integer' }],
}

const OTHER_HEADERS: Record<string, [description: string, schema: object]> = {
  'Poll-Interval': ['Milliseconds to wait before asking again; -1: do not poll.', { type: 'integer' }],
  'Retry-After': ['Seconds after which to try again.', { type: 'integer' }],
}

const headerRefs = (names: string[]) => Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** All headers, for the components. */
export const headerComponents = (): Json =>
  Object.fromEntries(
    Object.entries({ ...PAGE_HEADERS, ...RATE_HEADERS, ...OTHER_HEADERS }).map(([name, [description, schema]]) => [name, { description, schema }]),
  )

/** All error responses, for the components. */
export function refusalComponents(): Json {
  const body = ({ examples }: Refusal) => ({
    content: { [JSON_TYPE]: { schema: { $ref: '#/components/schemas/Refusal' }, ...(examples && { examples }) } },
  })
  return Object.fromEntries(
    Object.entries(REFUSALS).map(([status, refusal]) => {
      const content =
        status === '304'
          ? {}
          : status === '429'
            ? { content: { 'text/plain': { schema: { type: 'string' }, example: 'Retry later' } } }
            : body(refusal)
      const headers =
        status === '429'
          ? { headers: headerRefs(['Retry-After', ...Object.keys(RATE_HEADERS)]) }
          : status === '503'
            ? { headers: headerRefs(['Retry-After']) }
            : {}
      return [refusal.name, { description: refusal.when, ...headers, ...content }]
    }),
  )
}

/** The schema of every error response (G-29 to G-38). */
export const REFUSAL_SCHEMA = {
  description: 'Why a call was refused: `error` for its parameters, `message` for anything else.',
  type: 'object',
  properties: {
    message: {
      description: 'A sentence, or the faults of a record: a list of sentences for each field.',
      anyOf: [
        { type: 'string' },
        { type: 'array', items: { type: 'string' } },
        { type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } },
      ],
    },
    error: {
      description: 'What is wrong with the parameters, or a code of OAuth.',
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    },
    error_description: { description: 'The same as a sentence.', type: 'string' },
    scope: { description: 'The scope that the token lacks.', type: 'string' },
  },
}

/** The status of a success (G-7). */
export const successOf = ({ method, status }: Pick<Endpoint, 'method' | 'status'>): number =>
  status ?? (method === 'POST' ? 201 : method === 'DELETE' || method === 'HEAD' ? 204 : 200)

/** All statuses of an endpoint other than its success, in order. */
export function refusalsOf({ method, answers = [] }: Pick<Endpoint, 'method' | 'answers'>): number[] {
  const always = [STATUS.invalid, STATUS.unauthenticated, STATUS.forbidden, STATUS.not_found, STATUS.too_many, STATUS.unavailable]
  const statuses = new Set<number>([...always, ...answers])
  if (method === 'POST' || method === 'PUT' || method === 'PATCH')
    for (const status of [STATUS.not_acceptable, STATUS.too_large, STATUS.unsupported_media_type]) statuses.add(status)
  return [...statuses].sort((a, b) => a - b)
}

/** The error responses as references to the components. */
export const refusalResponses = (statuses: number[]): Json =>
  Object.fromEntries(
    statuses.flatMap((status) => {
      const refusal = REFUSALS[status]
      return refusal ? [[String(status), { $ref: `#/components/responses/${refusal.name}` }]] : []
    }),
  )

/** The headers of a successful response. */
export const successHeaders = ({ paged, polled }: { paged: boolean; polled: boolean }): Json => ({
  headers: headerRefs([...(paged ? Object.keys(PAGE_HEADERS) : []), ...(polled ? ['Poll-Interval'] : []), ...Object.keys(RATE_HEADERS)]),
})
