import { beforeAll, describe, expect, it } from 'vitest'
import { Throttle } from '../../src/access/throttle.js'
import { testApp } from '../support/app.js'
import { aUser, type TestUser } from '../support/factories.js'

describe('a throttle of bad credentials (SEC-26)', () => {
  const clock = { now: 0 }
  const throttle = () => new Throttle(3, 60, () => new Date(clock.now))

  it('keeps an address out for the rest of its window, and no other', () => {
    const kept = throttle()
    for (let i = 0; i < 2; i++) kept.failed('a')
    expect(kept.wait('a')).toBe(0)
    kept.failed('a')
    expect(kept.wait('a')).toBe(60)
    expect(kept.wait('b')).toBe(0)
    clock.now += 59_001
    expect(kept.wait('a')).toBe(1)
    clock.now += 1_000
    expect(kept.wait('a')).toBe(0)
    kept.failed('a')
    expect(kept.wait('a')).toBe(0)
  })

  it('is off by default', () => {
    const off = new Throttle(0, 60, () => new Date())
    for (let i = 0; i < 100; i++) off.failed('a')
    expect(off.wait('a')).toBe(0)
  })

  it('remembers a bounded number of addresses', () => {
    const kept = throttle()
    for (let i = 0; i < 3; i++) kept.failed('first')
    for (let i = 0; i < 20_000; i++) kept.failed(`address ${i}`)
    expect(kept.wait('first')).toBe(0)
  })
})

describe('the throttle at work (SEC-26, CR-15, W-34)', () => {
  // the client's address is taken from a proxy that is trusted, so that the test has several
  const t = testApp({ ROOST_FAILED_CREDENTIALS: '5', ROOST_TRUSTED_PROXIES: '127.0.0.1' })
  let user: TestUser
  beforeAll(async () => {
    user = await aUser(t.ctx)
  })

  const from = (address: string, token: string) => t.api('get', '/user', { token }).set('X-Forwarded-For', address)
  const grant = (address: string, password: string) =>
    fetch(`${t.url}/oauth/token`, {
      method: 'POST',
      headers: { 'x-forwarded-for': address },
      body: new URLSearchParams({ grant_type: 'password', username: user.username, password }),
    })

  it('tokens: 429 with Retry-After after five bad ones, from this address alone', async () => {
    for (let i = 0; i < 5; i++) await from('10.0.0.1', `guess ${i}`).expect(401)
    const { text, headers } = await from('10.0.0.1', user.token).expect(429)
    expect(text).toBe('Retry later')
    expect(headers['content-type']).toContain('text/plain')
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    await from('10.0.0.2', user.token).expect(200)
    // without a credential there is nothing to guess
    await t.api('get', '/projects').set('X-Forwarded-For', '10.0.0.1').expect(200)
  })

  it('passwords: 401 as before, even when right', async () => {
    for (let i = 0; i < 5; i++) expect((await grant('10.0.0.3', `wrong ${i}`)).status).toBe(401)
    const answer = await grant('10.0.0.3', user.password)
    expect(answer.status).toBe(401)
    expect(await answer.json()).toMatchObject({ error: 'invalid_grant' })
    expect((await grant('10.0.0.4', user.password)).status).toBe(200)
  })

  it('Git: 401 as before', async () => {
    const ask = (password: string) =>
      fetch(`${t.url}/${user.username}/none.git/info/refs?service=git-upload-pack`, {
        headers: { 'x-forwarded-for': '10.0.0.5', authorization: `Basic ${Buffer.from(`${user.username}:${password}`).toString('base64')}` },
      })
    expect((await ask(user.token)).status).toBe(404)
    for (let i = 0; i < 5; i++) expect((await ask(`wrong ${i}`)).status).toBe(401)
    expect((await ask(user.token)).status).toBe(401)
  })

  it('a good credential does not count', async () => {
    for (let i = 0; i < 10; i++) await from('10.0.0.6', user.token).expect(200)
  })
})
