import { z } from 'zod'
import { digestOf } from '../../../lib/crypto/secret.js'
import { parseUrl } from '../../../lib/url.js'
import { NotAvailable, openClient, PageTooLarge, type SourceClient, SourceFailed } from './client.js'
import type { Dialect, Scope } from './dialect.js'
import { gitea, gogs } from './gitea.js'
import type { Kind, Records } from './records.js'
import { v4 } from './v4.js'

export type SourceName = Dialect['name']

const DIALECTS: Record<SourceName, Dialect> = { v4, gitea, gogs }

/** The server that is imported from. */
export interface Source {
  client: SourceClient
  dialect: Dialect
  headers: Record<string, string>
  /** The value of an Authorization header for Git. */
  authorization: string
}

/** One page of a list: the valid records, and the elements that failed validation. */
export interface SourcePage<T> {
  items: T[]
  invalid: { key: string; reason: string }[]
}

/** Connects to the server; detects its kind unless `from` is given. */
export async function openSource(given: { url: string; token: string; from?: SourceName | undefined; signal: AbortSignal }): Promise<Source> {
  const client = await openClient(given)
  if (!/^[\x21-\x7e]{1,1000}$/.test(given.token)) throw new SourceFailed('the token is not valid: it must be one word')
  const open = ({ name }: Dialect): Source => ({
    client,
    dialect: DIALECTS[name],
    headers: DIALECTS[name].headers(given.token),
    authorization: `Basic ${Buffer.from(DIALECTS[name].gitCredentials(given.token)).toString('base64')}`,
  })
  if (given.from) return open(DIALECTS[given.from])
  for (const [dialect, path] of PROBES) if (await hasEndpoint(open(dialect), path)) return open(dialect)
  throw new SourceFailed('the server has neither a v4 API nor that of Gitea or Gogs at this URL')
}

/** Gogs does not say its version. */
const PROBES = [
  [v4, '/api/v4/version'],
  [gitea, '/api/v1/version'],
  [gogs, '/api/v1/user'],
] as const

async function hasEndpoint({ client, headers }: Source, path: string): Promise<boolean> {
  try {
    const { body } = await client.get(path, headers)
    return z.union([z.object({ version: z.string() }), z.object({ username: z.string() })]).safeParse(body).success
  } catch (error) {
    if (error instanceof NotAvailable) return false
    throw error
  }
}

/** Pages and elements of one list; more are refused. */
const MAX_PAGES = 20_000
const MAX_ELEMENTS = 2_000_000
/** Pages without an element that may follow each other. */
const MAX_EMPTY_PAGES = 100
/** Longer identifiers are kept as digests. */
const MAX_KEPT = 64

/** The most elements of a list of which the server said that it has `total`: it may grow while it is read. */
const mostOf = (total: number | undefined) => Math.min(total === undefined ? MAX_ELEMENTS : 2 * total + 1_000, MAX_ELEMENTS)

/** All pages of a list; none if the server has no such list. Throws NotAvailable and SourceFailed. */
export async function* pagesOf<K extends Kind>(source: Source, kind: K, scope: Scope): AsyncGenerator<SourcePage<Records[K]>> {
  const listing = source.dialect.lists[kind]
  if (!listing) return
  const shape = typeof listing.shape === 'function' ? listing.shape(scope) : listing.shape
  const seen = new Set<string>()
  for (const path of listing.paths(scope)) {
    let pages = 0
    for await (const { elements, again } of pagesInSizes(source, path)) {
      if (again) pages = 0
      const unseen = elements.filter((element) => isNew(seen, element))
      // a server that ignores the page number would never end
      if (pages++ > 0 && elements.length > 0 && unseen.length === 0)
        throw new NotAvailable('the list does not end: a page has only what others have had')
      yield read(shape as z.ZodType<Records[K] | Records[K][] | null>, unseen)
    }
  }
}

function isNew(seen: Set<string>, element: unknown): boolean {
  const key = identifierOf(element)
  const kept = key.length > MAX_KEPT ? digestOf(key) : key
  if (key === '' || seen.has(kept)) return key === ''
  seen.add(kept)
  return true
}

/** The id, key or name of an element; '' if it has none. */
function identifierOf(element: unknown): string {
  if (typeof element !== 'object' || element === null) return ''
  const { id, key, tag_name, rule_name, name } = element as Record<string, unknown>
  const found = [id, tag_name, key, rule_name, name].find((value) => typeof value === 'number' || (typeof value === 'string' && value.length < 300))
  return found === undefined ? '' : String(found)
}

function read<T>(shape: z.ZodType<T | T[] | null>, elements: unknown[]): SourcePage<T> {
  const page: SourcePage<T> = { items: [], invalid: [] }
  for (const element of elements) {
    const parsed = shape.safeParse(element)
    if (!parsed.success) page.invalid.push({ key: identifierOf(element).slice(0, 100), reason: reasonOf(parsed.error) })
    else if (Array.isArray(parsed.data)) page.items.push(...parsed.data)
    else if (parsed.data !== null) page.items.push(parsed.data as T)
  }
  return page
}

/** The first three validation errors, with field names. */
const reasonOf = ({ issues }: z.ZodError) =>
  issues
    .slice(0, 3)
    .map(({ path, message }) => `${path.join('.') || 'it'}: ${message}`)
    .join('; ')
    .slice(0, 300)

/** A page of elements; `again`: the list begins anew, in smaller pages. */
interface Elements {
  elements: unknown[]
  again: boolean
}

/** The pages of one path. Where one is too large to be read, the list is read again in smaller ones. */
async function* pagesInSizes(source: Source, first: string): AsyncGenerator<Elements> {
  for (let path: string | null = first; path !== null; ) {
    try {
      let again = path !== first
      for await (const elements of elementsOf(source, path)) {
        yield { elements, again }
        again = false
      }
      return
    } catch (error) {
      path = error instanceof PageTooLarge ? inSmallerPages(path) : null
      if (path === null) throw error
    }
  }
}

/** The path with a tenth of the page size; null if it has none, or pages of one element. */
function inSmallerPages(path: string): string | null {
  const [, size] = /[?&](?:per_page|limit)=(\d+)/.exec(path) ?? []
  if (size === undefined || Number(size) < 2) return null
  return path.replace(/([?&](?:per_page|limit)=)\d+/, (_, name: string) => `${name}${Math.max(1, Math.floor(Number(size) / 10))}`)
}

/** The pages of one path. A `next` link only contributes its query; host and path stay the same. */
async function* elementsOf({ client, headers }: Source, first: string): AsyncGenerator<unknown[]> {
  const [path] = first.split('?')
  const requested = new Set<string>()
  let given = 0
  let empty = 0
  let promised: number | undefined
  for (let next: string | null = first; next !== null; ) {
    if (requested.size === MAX_PAGES || requested.has(next)) throw new NotAvailable('the list does not end')
    requested.add(next)
    const { body, link, total } = await client.get(next, headers)
    const elements = elementsIn(body)
    promised ??= total
    given += elements.length
    empty = elements.length > 0 ? 0 : empty + 1
    if (given > mostOf(promised))
      throw new NotAvailable(`the list does not end: it has more than the ${promised ?? MAX_ELEMENTS} elements it should have`)
    if (empty > MAX_EMPTY_PAGES) throw new NotAvailable('the list does not end: its pages are empty')
    yield elements
    // many lists of Gitea have a total but no Link header
    const hasMore = elements.length > 0 && total !== undefined && given < total
    const query: string | null = queryOfNext(link, client.base) ?? (hasMore ? queryAfter(next) : null)
    next = query === null ? null : `${path}${query}`
  }
}

/** The elements of a list, of `{ data: [...] }`, or a single resource. */
function elementsIn(body: unknown): unknown[] {
  if (Array.isArray(body)) return body
  if (typeof body !== 'object' || body === null) throw new NotAvailable('the answer is not a list')
  const { data } = body as { data?: unknown }
  if (Array.isArray(data)) return data
  return [body]
}

/** The query of the next page in a Link header (RFC 8288). */
function queryOfNext(link: string | undefined, base: string): string | null {
  const [, url] = /<([^<>]{1,4000})>\s*;[^<]*\brel="?next"?/.exec(link ?? '') ?? []
  return (url !== undefined && parseUrl(url, base)?.search) || null
}

/** The query of the page after one. */
function queryAfter(path: string): string {
  const query = new URLSearchParams(path.slice(path.indexOf('?') + 1))
  query.set('page', String(Number(query.get('page') ?? 1) + 1))
  return `?${query}`
}
