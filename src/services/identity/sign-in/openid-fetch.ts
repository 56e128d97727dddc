import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Context } from '../../../context.js'
import { checkTarget, pinnedTo, type Target } from '../../../lib/ssrf-guard.js'
import type { OpenidProvider } from '../../../sign-on-config.js'
import { notReached } from './sign-on.js'

const MAX_BYTES = 1024 * 1024
const TIMEOUT_MS = 10_000

interface FetchOptions {
  method: string
  headers: Record<string, string>
  body?: unknown
  signal?: AbortSignal
}

/**
 * Calls an endpoint of an OpenID provider, as `fetch` does. The host of the issuer was configured and may be in the local
 * network; others, which the provider's metadata names, may not (SEC-138). Follows no redirect. Throws Unavailable if there
 * is no answer, or one that says that the provider does not work.
 */
export async function callProvider(ctx: Context, provider: OpenidProvider, address: string, options: FetchOptions): Promise<Response> {
  const answer = await fetchAnswer(ctx, provider, address, options).catch((error: unknown) => {
    throw notReached(ctx, provider, error)
  })
  if (answer.status >= 500) throw notReached(ctx, provider, new Error(`${address} answers ${answer.status}`))
  return answer
}

async function fetchAnswer({ config }: Context, { issuer }: OpenidProvider, address: string, options: FetchOptions): Promise<Response> {
  const own = new URL(issuer)
  const target = await checkTarget(address, {
    protocols: own.protocol === 'http:' ? ['http:', 'https:'] : ['https:'],
    allowLocal: config.allowLocalRequests || new URL(address).host === own.host,
  })
  const answer = await request(target, options)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error(`an answer has more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  const status = answer.statusCode ?? 0
  const headers = Object.entries(answer.headers).flatMap(([name, value]) => [value ?? []].flat().map((each): [string, string] => [name, each]))
  return new Response(status === 204 || status === 304 ? null : Buffer.concat(chunks), { status, headers })
}

const request = ({ url, addresses }: Target, { method, headers, body, signal }: FetchOptions): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const text = body === undefined || body === null ? undefined : String(body)
    const call = (url.protocol === 'https:' ? https : http).request(url, {
      agent: false,
      method,
      headers: { ...headers, connection: 'close', ...(text !== undefined && { 'content-length': String(Buffer.byteLength(text)) }) },
      lookup: pinnedTo(addresses),
      maxHeaderSize: 65_536,
      signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])]),
    })
    call.once('response', resolve)
    call.once('error', reject)
    call.end(text)
  })
