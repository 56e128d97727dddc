import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { BadTarget, checkTarget, pinnedTo, type Target } from '../../../lib/ssrf-guard.js'

/** Why the import cannot go on; what has come stays, and it goes on from there when it is started again. */
export class SourceFailed extends Error {
  override name = 'SourceFailed'
}

/** Why the server does not give one thing; the import goes on without it. */
export class NotGiven extends Error {
  override name = 'NotGiven'
  constructor(
    message: string,
    readonly status?: number,
  ) {
    super(message)
  }
}

export interface ClientOptions {
  url: string
  signal: AbortSignal
}

/** Calls one server at the addresses its name had at the start, and no other: redirects are not followed. */
export interface SourceClient {
  /** Scheme, host and port, with the path below which the server answers; without a slash at its end. */
  base: string
  target: Target
  /** The answer to a GET of a path below `base`, parsed. Throws NotGiven and SourceFailed. */
  get(path: string, headers: Record<string, string>): Promise<JsonAnswer>
  /** The same as text. */
  text(path: string, headers: Record<string, string>): Promise<TextAnswer>
}

export interface TextAnswer {
  text: string
  link: string | undefined
  /** How many elements all pages of a list have together, where the server says so. */
  total: number | undefined
}

export interface JsonAnswer extends Pick<TextAnswer, 'link' | 'total'> {
  body: unknown
}

const MAX_BODY = 64 * 1024 * 1024
const TRIES = 5
/** Milliseconds. */
const CONNECT_WITHIN = 10_000
const ANSWER_WITHIN = 120_000
/** The longest wait that a server may ask for. */
const LONGEST_WAIT = 600_000
const FIRST_WAIT = 500

/** A server named by an administrator: it may be in the local network. */
export async function openClient({ url, signal }: ClientOptions): Promise<SourceClient> {
  const target = await checkTarget(url, { protocols: ['http:', 'https:'], allowLocal: true }).catch((error: unknown) => {
    if (error instanceof BadTarget) throw new SourceFailed(`the URL ${error.message}`)
    throw error
  })
  if (target.url.search !== '') throw new SourceFailed('the URL has a query')
  const base = target.url.href.replace(/\/+$/, '')
  const text = async (path: string, headers: Record<string, string>) =>
    accepted(await patiently(signal, () => ask({ target, base, signal }, path, headers)))
  return {
    base,
    target,
    text,
    async get(path, headers) {
      const answer = await text(path, headers)
      try {
        return { body: JSON.parse(answer.text) as unknown, link: answer.link, total: answer.total }
      } catch {
        throw new NotGiven('the answer is not JSON')
      }
    },
  }
}

interface Place {
  target: Target
  base: string
  signal: AbortSignal
}

/** Tries again what is too many, failing or lost, as long after as the server asks, and gives the last answer. */
export async function patiently<T extends { status: number; after?: string | undefined }>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    const answer = await ask().catch((error: unknown) => {
      if (error instanceof NotGiven || signal.aborted) throw error
      return { failed: error instanceof Error ? error.message : String(error) }
    })
    if (!('failed' in answer) && (tried === TRIES || !isPassing(answer.status))) return answer
    if (tried === TRIES && 'failed' in answer) throw new SourceFailed(`the server cannot be reached: ${answer.failed}`)
    await sleep(waitOf('failed' in answer ? undefined : answer.after, tried), undefined, { signal })
  }
}

const isPassing = (status: number) => status === 429 || status === 408 || status >= 500

/** Milliseconds: `Retry-After` has seconds. */
function waitOf(after: string | undefined, tried: number): number {
  const asked = after !== undefined && /^\d{1,6}$/.test(after) ? Number(after) * 1_000 : FIRST_WAIT * 2 ** (tried - 1)
  return Math.min(asked, LONGEST_WAIT)
}

interface Answer extends TextAnswer {
  status: number
  after: string | undefined
  location: string | undefined
}

function accepted(answer: Answer): TextAnswer {
  const { status, location } = answer
  if (status >= 200 && status < 300) return answer
  if (status === 401) throw new SourceFailed('the server does not accept the token')
  if (status >= 300 && status < 400)
    throw new NotGiven(`the server redirects to ${(location ?? 'nowhere').slice(0, 200)}, which is not followed`, status)
  // a fault of the server in one thing: the others may be whole
  if (status === 500) throw new NotGiven('the server fails with it (500)', status)
  if (isPassing(status)) throw new SourceFailed(`the server answers ${status}`)
  if (status === 403) throw new NotGiven('the token may not read it (403)', status)
  throw new NotGiven(`the server answers ${status}`, status)
}

const ask = async ({ target, base, signal }: Place, path: string, headers: Record<string, string>): Promise<Answer> =>
  read(await openAnswer({ ...target, url: new URL(`${base}${path}`) }, { headers, signal, within: ANSWER_WITHIN }))

export interface Question {
  headers: Record<string, string>
  signal: AbortSignal
  /** What is posted; without it, it is a GET. */
  body?: string
  /** Milliseconds for everything together; without it, an answer may take long as long as something of it comes. */
  within?: number
}

/** Milliseconds without a byte. */
const IDLE = 60_000

/** Begins a call at a checked address and no other; the body of the answer is still to come. */
export function openAnswer({ url, addresses }: Target, { headers, signal, body, within }: Question): Promise<IncomingMessage> {
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
    const late = (text: string) => () => call.destroy(new Error(text))
    const connecting = setTimeout(late('no connection in time'), CONNECT_WITHIN)
    const answering = setTimeout(late('no answer in time'), within ?? 2 ** 31 - 1)
    call.setTimeout(IDLE, late('no answer in time'))
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

/** The whole of an answer, which must be a success and JSON. Throws NotGiven. */
export async function readJson(response: IncomingMessage): Promise<unknown> {
  const { text } = accepted(await read(response))
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new NotGiven('the answer is not JSON')
  }
}

async function read(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY) throw new NotGiven(`an answer has more than ${MAX_BODY} bytes`)
    chunks.push(chunk)
  }
  const header = (name: string) => [response.headers[name]].flat()[0]
  return {
    status: response.statusCode ?? 0,
    text: Buffer.concat(chunks).toString('utf8'),
    link: header('link'),
    total: wholeNumber(header('x-total-count')),
    after: header('retry-after'),
    location: header('location'),
  }
}

const wholeNumber = (given: string | undefined) => (given !== undefined && /^\d{1,9}$/.test(given) ? Number(given) : undefined)
