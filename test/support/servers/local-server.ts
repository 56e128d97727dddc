import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll } from 'vitest'

/** A server of this machine for the tests of one file, which answers as it is told. Its requests are emitted by `server`. */
export function localServer(answer: RequestListener) {
  const server = createServer(answer)
  const local = { url: '', server }
  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    local.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  return local
}
