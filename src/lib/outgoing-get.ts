import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { checkTarget, pinnedTo, type Target, type TargetRules } from './ssrf-guard.js'

const MAX_REDIRECTS = 3

/** A server redirects too often. */
export class TooManyRedirects extends Error {
  override name = 'TooManyRedirects'
}

/**
 * Reads what an address leads to. Each address that a redirect names is checked (SEC-138). Sends nothing about anybody:
 * no cookie, no referrer, no credentials.
 */
export async function getFrom<T>(
  address: string,
  rules: TargetRules,
  { accept, signal }: { accept: string; signal: AbortSignal },
  read: (response: IncomingMessage) => Promise<T>,
): Promise<T> {
  let at = address
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const target = await checkTarget(at, rules)
    const response = await get(target, accept, signal)
    const { statusCode = 0, headers } = response
    try {
      if (statusCode < 300 || statusCode >= 400 || headers.location === undefined) return await read(response)
    } finally {
      response.destroy()
    }
    at = new URL(headers.location, target.url).href
  }
  throw new TooManyRedirects('it is redirected too often')
}

const get = ({ url, addresses }: Target, accept: string, signal: AbortSignal): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'roost', connection: 'close' }
    const { request } = url.protocol === 'https:' ? https : http
    const call = request(url, { agent: false, lookup: pinnedTo(addresses), maxHeaderSize: 16_384, headers, signal })
    call.once('response', resolve)
    // also after the response, when the time is over
    call.on('error', reject)
    call.end()
  })
