import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Failure, invalidInput, noSuchRoute, STATUS, tooLarge, unknownType } from '../failures.js'
import { asUnavailable } from '../lib/unavailable.js'

/**
 * Sends the response for an error. Anything but a Failure is a bug or a fault of the server: 500 without details, with
 * the whole error in the log (SEC-4).
 */
export function renderFailure(error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const failure = asFailure(error, request)
  if (failure) {
    if (failure.kind === 'unavailable') request.log.warn({ err: error }, 'a call could not be served')
    const { kind, headers, body } = failure
    reply.code(STATUS[kind]).headers(headers)
    return typeof body === 'string' ? reply.type('text/plain; charset=utf-8').send(body) : sendJson(reply, body)
  }
  request.log.error({ err: error }, 'a call failed')
  return sendJson(reply.code(500), { message: '500 Internal Server Error' })
}

export const sendJson = (reply: FastifyReply, body: unknown) => sendJsonText(reply, JSON.stringify(body))

/**
 * Marked as serialised, because Fastify would otherwise append a charset, and two clients compare the header literally
 * (W-12).
 */
export function sendJsonText(reply: FastifyReply, text: string) {
  return reply.serializer(asItIs).header('content-type', 'application/json').send(text)
}

const asItIs = (text: string) => text

export function asFailure(error: unknown, { headers }: FastifyRequest): Failure | undefined {
  if (error instanceof Failure) return error
  const unavailable = asUnavailable(error)
  if (unavailable)
    return new Failure(
      'unavailable',
      { message: `503 Service Unavailable: ${unavailable.message}` },
      { 'retry-after': String(unavailable.retryAfter) },
    )
  const { code, statusCode } = error as FastifyError
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unknownType(headers['content-type'])
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return tooLarge()
    case 'FST_ERR_BAD_URL':
      return invalidInput('the URL is not valid')
    case 'FST_ERR_MAX_PARAM_LENGTH':
    case 'FST_ERR_NOT_FOUND':
      return noSuchRoute()
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalidInput('the body does not have the length it declares')
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return invalidInput('the body ended too early')
  }
  return code?.startsWith('FST_') && statusCode && statusCode < 500 ? invalidInput('the request is not valid') : undefined
}
