import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { buildApp } from '../../src/app.js'
import { testApp } from '../support/app.js'

const t = testApp()

it('SEC-160: a connection that was opened ahead, and on which nothing has come, does not hold up the end', async () => {
  const app = await buildApp(t.ctx)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as { port: number }
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  await expect.poll(() => new Promise((resolve) => app.server.getConnections((_, count) => resolve(count)))).toBe(1)
  const [closed] = await Promise.all([once(socket, 'close'), app.close()])
  expect(closed).toEqual([false])
})
