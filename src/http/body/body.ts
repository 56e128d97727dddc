import type { IncomingMessage } from 'node:http'
import { Failure } from '../../failures.js'

const GIT = /\/git-(?:upload|receive)-pack\/*$/

export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Whether the headers announce a body. */
export const isSent = ({ headers }: IncomingMessage) => headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Whether a request has a body that counts (G-5). */
export const hasBody = (request: IncomingMessage) => request.method !== 'GET' && request.method !== 'HEAD' && isSent(request)

/**
 * Normalises the content type for the parsers, and refuses bodies that none of them reads: other charsets and
 * compressed bodies (SEC-74, SEC-76). Requests of Git pass unchanged.
 */
export function prepareBody(request: IncomingMessage): void {
  const { headers, method } = request
  if (method === 'GET' || method === 'HEAD' || GIT.test(request.url?.split('?', 1)[0] ?? '')) return
  // an empty body counts as no body, whatever its type (G-5)
  if (!isSent(request)) {
    delete headers['content-type']
    return
  }
  if (headers['content-encoding'] && headers['content-encoding'].toLowerCase() !== 'identity') throw unsupported()
  const given = headers['content-type']
  if (given === undefined) return
  const [type = '', ...parameters] = given.split(';').map((part) => part.trim())
  let boundary = ''
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=', 2).map((part) => part.trim())
    if (name.toLowerCase() === 'charset' && !/^"?utf-?8"?$/i.test(value)) throw unsupported()
    if (name.toLowerCase() === 'boundary') boundary = `; ${parameter}`
  }
  headers['content-type'] = `${type.toLowerCase()}${boundary}`
}

const unsupported = () => new Failure('unsupported_media_type', { message: '415 Unsupported Media Type' })
