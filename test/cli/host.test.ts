import { describe, expect, it } from 'vitest'
import { resolveAddress } from '../../src/cli/host.js'
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
