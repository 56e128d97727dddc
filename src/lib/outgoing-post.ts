import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { pinnedTo, type Target } from './ssrf-guard.js'

/** Why there was no response. The message is for the owner of the address and contains no address of this service. */
export class NoAnswer extends Error {
  override name = 'NoAnswer'
}

export interface PostAnswer {
  status: number
  headers: Record<string, string>
  /** The beginning of the body. */
  body: string
}

export interface PostOptions {
  /** POST, unless another is named. */
  method?: 'POST' | 'PUT'
  headers: Record<string, string>
  body: string
  /** Whether the certificate must be valid. */
  verify: boolean
  /** Milliseconds until the connection must be made, and until the whole exchange must be complete. */
  connectTimeout?: number
  timeout?: number
  signal?: AbortSignal
}

/** Limits of the response that is stored. */
const MAX_BODY = 64 * 1024
const MAX_HEADERS = 64
const MAX_HEADER_BYTES = 16 * 1024

/**
 * Posts a text to a checked address and to no other, without a proxy, and follows no redirect. Only the beginning of
 * the response is read, and it is not decompressed, so that a slow, endless or compressed response costs no more
 * (SEC-138 to SEC-140). Throws NoAnswer.
 */
export function post({ url, addresses, credentials }: Target, options: PostOptions): Promise<PostAnswer> {
  const { method = 'POST', headers, body, verify, connectTimeout = 5_000, timeout = 10_000, signal } = options
  const secure = url.protocol === 'https:'
  const auth = credentials && { auth: `${credentials.user}:${credentials.password}` }
  return new Promise((resolve, reject) => {
    const call = (secure ? https : http).request(url, {
      method,
      agent: false,
      lookup: pinnedTo(addresses),
      maxHeaderSize: MAX_HEADER_BYTES,
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' },
      ...(secure && { rejectUnauthorized: verify }),
      ...auth,
      ...(signal && { signal }),
    })
    const read = collectAnswer(call, resolve)
    const timeOut = (text: string) => () => read() || call.destroy(new NoAnswer(text))
    const connecting = setTimeout(timeOut('no connection in time'), connectTimeout)
    const answering = setTimeout(timeOut('no answer in time'), timeout)
    call.once('socket', (socket) => socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(connecting)))
    call.once('error', (error: NodeJS.ErrnoException) => read() || reject(error instanceof NoAnswer ? error : new NoAnswer(describeError(error))))
    call.once('close', () => {
      clearTimeout(connecting)
      clearTimeout(answering)
      read()
    })
    call.end(body)
  })
}

/**
 * Collects the response. The returned function completes it with what has arrived, and returns whether there is a
 * response.
 */
function collectAnswer(call: ClientRequest, resolve: (answer: PostAnswer) => void): () => boolean {
  let response: IncomingMessage | undefined
  const chunks: Buffer[] = []
  const finish = () => {
    if (!response) return false
    const text = Buffer.concat(chunks).subarray(0, MAX_BODY).toString('utf8').replaceAll('\0', '\ufffd')
    resolve({ status: response.statusCode ?? 0, headers: headersOf(response), body: text })
    call.destroy()
    return true
  }
  call.once('response', (answer) => {
    response = answer
    let bytes = 0
    answer.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= MAX_BODY) finish()
    })
    answer.once('end', finish)
    answer.on('error', finish)
  })
  return finish
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .slice(0, MAX_HEADERS)
      .map(([name, value]) => [name, [value].flat().join(', ')]),
  )

const ERROR_MESSAGES: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed without an answer',
  EPIPE: 'the connection was closed without an answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'no connection in time',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too large',
}

function describeError({ code = '' }: NodeJS.ErrnoException): string {
  const known = ERROR_MESSAGES[code]
  if (known) return known
  if (code.startsWith('HPE_')) return 'the answer is not HTTP'
  return /CERT|SSL|TLS|ALTNAME|SIGNATURE|ISSUER/.test(code) ? `the certificate is not accepted (${code})` : 'the request failed'
}
