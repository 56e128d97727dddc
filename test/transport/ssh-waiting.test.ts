import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SSH_LIMITS } from '../../src/transport/ssh/limits.js'
import { testApp } from '../support/app.js'
import { aUser } from '../support/factories.js'
import { type KeyPair, sshClient } from '../support/ssh/ssh.js'

const t = testApp({ SSH_PORT: '0' }, { limits: { ...SSH_LIMITS, waiting: 6 } })
const client = sshClient(t)

let key: KeyPair
beforeAll(async () => {
  key = await client.stored(await aUser(t.ctx), client.newKey())
})

const open: Socket[] = []
afterAll(() => {
  for (const socket of open) socket.destroy()
})

/** Connects from an address, and says nothing after the server's greeting. */
async function idle(localAddress: string): Promise<Socket> {
  const socket = connect({ port: client.port(), host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  open.push(socket)
  await once(socket, 'data')
  return socket
}

it('logs in beside as many idle connections as may wait, of which the oldest of the busiest address makes room (GS-11)', async () => {
  const few = [await idle('127.0.0.2'), await idle('127.0.0.2')]
  const many = [await idle('127.0.0.3'), await idle('127.0.0.3'), await idle('127.0.0.3'), await idle('127.0.0.3')]
  const closed = once(many[0] as Socket, 'close')
  expect(await client.ssh(key)).toMatchObject({ ready: true, code: 0 })
  await closed
  expect([...few, ...many].map(({ destroyed }) => destroyed)).toEqual([false, false, true, false, false, false])
  // somebody who has logged in is never the one
  const session = await client.connected(key)
  for (let n = 0; n < 8; n++) await idle('127.0.0.3')
  expect(await client.exec(session)).toMatchObject({ code: 0 })
  session.end()
})
