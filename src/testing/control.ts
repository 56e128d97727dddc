import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Lifecycle } from '../cli/lifecycle.js'
import { Failure, STATUS } from '../failures.js'
import { unavailableIn } from '../lib/unavailable.js'
import { extensions } from './extensions.js'
import type { Worlds } from './worlds.js'

/** Bytes of a body. */
const BODY_LIMIT = 8 * 1024 * 1024

declare module 'fastify' {
  interface FastifyInstance {
    /** Of the control channel, with its secret. */
    address: string
  }
}

/**
 * Listens on a free port of this machine for those who control the worlds: JSON over HTTP. Its address has a secret in
 * it, so that no page in a browser can call it.
 */
export async function openControl(worlds: Worlds, lifecycle: Lifecycle): Promise<string> {
  const secret = randomBytes(16).toString('hex')
  const app = Fastify({ bodyLimit: BODY_LIMIT, forceCloseConnections: true, routerOptions: { maxParamLength: 256 } })
  app.setErrorHandler(async (error: { statusCode?: number; message: string }, _, reply) => {
    if (error instanceof Failure) return reply.code(STATUS[error.kind]).send(error.body)
    const unavailable = unavailableIn(error)
    if (unavailable) return reply.code(503).send({ message: unavailable.message })
    const status = error.statusCode ?? 500
    if (status >= 500) lifecycle.log.error({ err: error }, 'a call of the control channel failed')
    return reply.code(status).send({ message: error.message })
  })
  app.setNotFoundHandler(async (_, reply) => reply.code(404).send({ message: '404 Not Found' }))
  app.decorate('address', '')
  await app.register(
    async (control: FastifyInstance) => {
      for (const { routes } of extensions) routes?.(control, worlds)
    },
    { prefix: `/${secret}` },
  )
  lifecycle.onClose(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  app.address = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/${secret}`
  return app.address
}
