import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { checkAddress, resolveAddress } from '../../src/cli/host.js'
import { readConfig } from '../../src/config.js'

describe('the address of the service', () => {
  const at = async (env: NodeJS.ProcessEnv) => (await resolveAddress(readConfig(env))).baseUrl

  it.each([
    [{ PORT: '80' }, 'http://127.0.0.1'],
    [{ PORT: '8081' }, 'http://127.0.0.1:8081'],
    [{ HOST: '::1', PORT: '80' }, 'http://[::1]'],
    [{ HOST: '0.0.0.0', PORT: '8081' }, 'http://localhost:8081'],
    [{ PORT: '80', BASE_URL: 'https://git.example.com' }, 'https://git.example.com'],
  ])('of %o is %s', async (env, url) => {
    expect(await at(env)).toBe(url)
  })
})

it('a port that is given up soon, as by a service that was killed, is waited for; another is refused (SEC-235)', async () => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const { port } = holder.address() as AddressInfo
  const config = readConfig({ PORT: String(port) })
  await expect(checkAddress(config)).rejects.toThrow(`cannot listen on 127.0.0.1:${port} (EADDRINUSE)`)
  const checked = checkAddress(config)
  // by now the port has been tried
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
  holder.close()
  await checked
})
