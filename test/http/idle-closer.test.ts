import { once } from 'node:events'
import http from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { buildApp } from '../../src/app.js'
import { testApp } from '../support/app.js'

const t = testApp()

it('a connection that was opened ahead, and on which nothing has come, does not hold up the end (SEC-160)', async () => {
  const app = await buildApp(t.ctx)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as { port: number }
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  await expect.poll(() => new Promise((resolve) => app.server.getConnections((_, count) => resolve(count)))).toBe(1)
  const [closed] = await Promise.all([once(socket, 'close'), app.close()])
  expect(closed).toEqual([false])
})

it('a connection whose answer is on its way when the end begins is not kept for another request (SEC-160)', async () => {
  const app = await buildApp(t.ctx)
  // more than the buffers between both sides hold
  app.get('/large', { config: { policy: 'anyone' } }, (_, reply) => reply.send(Readable.from(Array(64).fill(Buffer.alloc(1_048_576)))))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as { port: number }
  const agent = new http.Agent({ keepAlive: true })
  const request = http.get({ host: '127.0.0.1', port, agent, path: '/large' })
  const [response] = await once(request, 'response')
  expect(response.headers.connection).toBe('keep-alive')
  const closed = Promise.all([once(request.socket as Socket, 'close'), app.close()])
  response.resume()
  await Promise.all([once(response, 'end'), closed])
})
