import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { BadTarget, checkTarget, pinnedTo, type Target } from '../../../lib/ssrf-guard.js'
import { withoutTrailing } from '../../../lib/text/without-trailing.js'
import { JsonCounter } from './json-counter.js'

/** Ends the run. Imported items stay, so that the next run continues from there. */
export class SourceFailed extends Error {
  override name = 'SourceFailed'
}

/** The server does not return one resource; the import continues without it. */
export class NotAvailable extends Error {
  override name = 'NotAvailable'
  constructor(
    message: string,
    readonly status?: number,
  ) {
    super(message)
  }
}

/** A page has more than is read; smaller ones may do. */
export class PageTooLarge extends NotAvailable {
  override name = 'PageTooLarge'
}

export interface ClientOptions {
  url: string
  signal: AbortSignal
}

/** An HTTP client for one server. It uses the addresses resolved at the start and follows no redirects. */
export interface SourceClient {
  /** The base URL, with any path prefix and without a trailing slash. */
  base: string
  target: Target
  /** GETs a path below `base` and parses the JSON response. Throws NotAvailable and SourceFailed. */
  get(path: string, headers: Record<string, string>): Promise<JsonResponse>
  /** The same, without parsing. */
  text(path: string, headers: Record<string, string>): Promise<TextResponse>
}

export interface TextResponse {
  text: string
  link: string | undefined
  /** The total number of elements in a list, if the server sends `X-Total-Count` or `X-Total`. */
  total: number | undefined
}

export interface JsonResponse extends Pick<TextResponse, 'link' | 'total'> {
  body: unknown
}

/** Limit of a raw text, such as that of a snippet. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024
/** Limits of a page of JSON (SEC-211). */
const MAX_PAGE_BYTES = 8 * 1024 * 1024
const MAX_PAGE_VALUES = 200_000
const MAX_PAGE_DEPTH = 100
const MAX_ATTEMPTS = 5
const CONNECT_TIMEOUT_MS = 10_000
const RESPONSE_TIMEOUT_MS = 120_000
/** The longest `Retry-After` that is honoured. */
const MAX_RETRY_DELAY_MS = 600_000
const INITIAL_RETRY_DELAY_MS = 500

/** The URL comes from an administrator, so it may be in the local network. */
export async function openClient({ url, signal }: ClientOptions): Promise<SourceClient> {
  const target = await checkTarget(url, { protocols: ['http:', 'https:'], allowLocal: true }).catch((error: unknown) => {
    if (error instanceof BadTarget) throw new SourceFailed(`the URL ${error.message}`)
    throw error
  })
  if (target.url.search !== '') throw new SourceFailed('the URL has a query')
  const base = withoutTrailing(target.url.href, '/')
  const call = async (path: string, headers: Record<string, string>, readBody: ReadBody) =>
    requireSuccess(await withRetries(signal, () => request({ target, base, signal }, path, { headers, readBody })))
  return {
    base,
    target,
    text: (path, headers) => call(path, headers, readText),
    async get(path, headers) {
      const answer = await call(path, headers, readPage)
      try {
        return { body: JSON.parse(answer.text) as unknown, link: answer.link, total: answer.total }
      } catch {
        throw new NotAvailable('the answer is not JSON')
      }
    },
  }
}

interface Server {
  target: Target
  base: string
  signal: AbortSignal
}

/** Retries 408, 429, 5xx and lost connections, with backoff or after `Retry-After`, and returns the last response. */
export async function withRetries<T extends { status: number; retryAfter?: string | undefined }>(
  signal: AbortSignal,
  request: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const answer = await request().catch((error: unknown) => {
      if (error instanceof NotAvailable || signal.aborted) throw error
      return { failed: error instanceof Error ? error.message : String(error) }
    })
    if (!('failed' in answer) && (attempt === MAX_ATTEMPTS || !isTransient(answer.status))) return answer
    if (attempt === MAX_ATTEMPTS && 'failed' in answer) throw new SourceFailed(`the server cannot be reached: ${answer.failed}`)
    await sleep(retryDelayMs('failed' in answer ? undefined : answer.retryAfter, attempt), undefined, { signal })
  }
}

const isTransient = (status: number) => status === 429 || status === 408 || status >= 500

/** `Retry-After` is in seconds. */
function retryDelayMs(retryAfter: string | undefined, attempt: number): number {
  const asked = retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : INITIAL_RETRY_DELAY_MS * 2 ** (attempt - 1)
  return Math.min(asked, MAX_RETRY_DELAY_MS)
}

interface RawResponse extends TextResponse {
  status: number
  retryAfter: string | undefined
  location: string | undefined
}

function requireSuccess(answer: RawResponse): TextResponse {
  const { status, location } = answer
  if (status >= 200 && status < 300) return answer
  if (status === 401) throw new SourceFailed('the server does not accept the token')
  if (status >= 300 && status < 400)
    throw new NotAvailable(`the server redirects to ${(location ?? 'nowhere').slice(0, 200)}, which is not followed`, status)
  // often limited to one resource, so the import continues with the others
  if (status === 500) throw new NotAvailable('the server fails with it (500)', status)
  if (isTransient(status)) throw new SourceFailed(`the server answers ${status}`)
  if (status === 403) throw new NotAvailable('the token may not read it (403)', status)
  throw new NotAvailable(`the server answers ${status}`, status)
}

const request = async (
  { target, base, signal }: Server,
  path: string,
  { headers, readBody }: { headers: Record<string, string>; readBody: ReadBody },
): Promise<RawResponse> =>
  read(await openResponse({ ...target, url: new URL(`${base}${path}`) }, { headers, signal, timeoutMs: RESPONSE_TIMEOUT_MS }), readBody)

export interface RequestOptions {
  headers: Record<string, string>
  signal: AbortSignal
  /** The body of a POST; without it, the request is a GET. */
  body?: string
  /** Limit of the whole call; without it, only IDLE_TIMEOUT_MS applies. */
  timeoutMs?: number
}

const IDLE_TIMEOUT_MS = 60_000

/** Sends a request to the checked addresses and resolves with the response when its headers arrive. */
export function openResponse({ url, addresses }: Target, { headers, signal, body, timeoutMs }: RequestOptions): Promise<IncomingMessage> {
  const secure = url.protocol === 'https:'
  return new Promise((resolve, reject) => {
    const call = (secure ? https : http).request(url, {
      agent: false,
      method: body === undefined ? 'GET' : 'POST',
      lookup: pinnedTo(addresses),
      maxHeaderSize: 65_536,
      headers: { accept: 'application/json', 'user-agent': 'roost', ...headers },
      signal,
    })
    const abort = (text: string) => () => call.destroy(new Error(text))
    const connecting = setTimeout(abort('no connection in time'), CONNECT_TIMEOUT_MS)
    const answering = setTimeout(abort('no answer in time'), timeoutMs ?? 2 ** 31 - 1)
    call.setTimeout(IDLE_TIMEOUT_MS, abort('no answer in time'))
    call.once('socket', (socket) => socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(connecting)))
    call.on('error', reject)
    call.once('close', () => {
      clearTimeout(connecting)
      clearTimeout(answering)
    })
    call.once('response', resolve)
    call.end(body)
  })
}

/** Reads and parses a successful JSON response. Throws NotAvailable and SourceFailed. */
export async function readJson(response: IncomingMessage): Promise<unknown> {
  const { text } = requireSuccess(await read(response, readPage))
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new NotAvailable('the answer is not JSON')
  }
}

/** Reads a body within its limits. */
type ReadBody = (chunks: AsyncIterable<Buffer>) => Promise<string>

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_TEXT_BYTES) throw new NotAvailable(`an answer has more than ${MAX_TEXT_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function readPage(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  const counter = new JsonCounter()
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_PAGE_BYTES) throw new PageTooLarge(`a page has more than ${MAX_PAGE_BYTES} bytes`)
    counter.push(chunk)
    if (counter.values > MAX_PAGE_VALUES) throw new PageTooLarge(`a page has more than ${MAX_PAGE_VALUES} values`)
    if (counter.depth > MAX_PAGE_DEPTH) throw new NotAvailable(`a page is nested more than ${MAX_PAGE_DEPTH} deep`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function read(response: IncomingMessage, readBody: ReadBody): Promise<RawResponse> {
  const text = await readBody(response as AsyncIterable<Buffer>)
  const header = (name: string) => [response.headers[name]].flat()[0]
  return {
    status: response.statusCode ?? 0,
    text,
    link: header('link'),
    total: wholeNumber(header('x-total-count') ?? header('x-total')),
    retryAfter: header('retry-after'),
    location: header('location'),
  }
}

const wholeNumber = (given: string | undefined) => (given !== undefined && /^\d{1,9}$/.test(given) ? Number(given) : undefined)
