import { eq, sql } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Counters, dropCounters } from '../../src/access/counters.js'
import { Throttle } from '../../src/access/throttle.js'
import { readConfig } from '../../src/config.js'
import { counters } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { aProject, aToken, aUser, type TestUser } from '../support/factories.js'

describe('a throttle of bad credentials (SEC-26)', () => {
  const t = testApp()
  const clock = { now: Date.now() }
  const now = () => new Date(clock.now)
  /** As each process has one; they count together. */
  const throttle = (attempts = 3, delay = 0) => new Throttle({ attempts, window: 60, delay }, new Counters(t.ctx.db, now), now)
  const fail = async (kept: Throttle, times: number, address: string, account?: string) => {
    for (let i = 0; i < times; i++) await kept.failed(address, account)
  }
  const waits = (kept: Throttle, ...asked: [string, string?][]) => Promise.all(asked.map((one) => kept.wait(...one)))
  beforeEach(() => t.ctx.db.write.delete(counters))

  it('keeps an address out for the rest of its window, and no other', async () => {
    const kept = throttle()
    await fail(kept, 8, 'a')
    expect(await kept.wait('a')).toBe(0)
    await kept.failed('a')
    expect(await waits(kept, ['a'], ['b'])).toEqual([60, 0])
    clock.now += 59_001
    expect(await kept.wait('a')).toBe(1)
    clock.now += 1_000
    expect(await kept.wait('a')).toBe(0)
    await kept.failed('a')
    expect(await kept.wait('a')).toBe(0)
  })

  it('counts in all processes together, also concurrent calls', async () => {
    const [one, other] = [throttle(), throttle()]
    await Promise.all([one, other, one, other].map((kept) => fail(kept, 2, 'a')))
    expect(await waits(one, ['a'])).toEqual([0])
    await other.failed('a')
    expect([await one.wait('a'), await other.wait('a')]).toEqual([60, 60])
  })

  it('keeps an address from one account sooner, and not from others', async () => {
    const kept = throttle()
    await fail(kept, 3, 'a', 'one')
    expect(await waits(kept, ['a', 'one'], ['a', 'two'], ['b', 'one'], ['a'])).toEqual([60, 0, 0, 0])
  })

  it('counts an account’s failures from everywhere, against addresses that have failed with it only', async () => {
    const kept = throttle()
    for (let i = 0; i < 9; i++) await kept.failed(`10.0.0.${i}`, 'one')
    expect(await waits(kept, ['10.0.0.1', 'one'], ['10.0.0.1', 'two'], ['10.0.9.9', 'one'])).toEqual([60, 0, 0])
    await kept.failed('10.0.9.9', 'one')
    expect(await kept.wait('10.0.9.9', 'one')).toBe(60)
  })

  it('forgets slips before a right password', async () => {
    const kept = throttle()
    await fail(kept, 2, 'a', 'one')
    await kept.succeeded('a', 'one')
    await fail(kept, 2, 'a', 'one')
    expect(await kept.wait('a', 'one')).toBe(0)
  })

  it('takes an IPv6 network of 64 bits for one address, and an IPv4 address in either form', async () => {
    const kept = throttle()
    for (let i = 0; i < 9; i++) await kept.failed(`2001:db8:1:2::${i}`)
    expect(await waits(kept, ['2001:db8:1:2:ffff::1'], ['2001:db8:1:3::1'])).toEqual([60, 0])
    await fail(kept, 9, '::ffff:10.0.0.1')
    expect(await waits(kept, ['10.0.0.1'], ['10.0.0.2'])).toEqual([60, 0])
  })

  it('passes refusals on after its delay, a bounded number of them at once', async () => {
    const slow = throttle(3, 30_000)
    let answered = 0
    const refusals = Array.from({ length: 1_003 }, () => slow.refuse(new Error('no')).catch(() => answered++))
    await Promise.race(refusals)
    await new Promise(setImmediate)
    expect(answered).toBe(3)
    await expect(throttle(3, 1).refuse(new Error('no'))).rejects.toThrow('no')
  })

  it('can be switched off', async () => {
    const off = throttle(0)
    await fail(off, 100, 'a', 'one')
    expect(await off.wait('a', 'one')).toBe(0)
    expect(await t.ctx.db.write.$count(counters)).toBe(0)
    expect(readConfig({}).failedCredentials).toEqual({ attempts: 10, window: 180, delay: 1_000 })
  })

  it('remembers a bounded number of addresses, the newest, by no name, until their windows are over (SEC-150)', async () => {
    const kept = throttle()
    await fail(kept, 1, '10.0.0.1', 'somebody')
    const [row] = await t.ctx.db.write.select().from(counters)
    expect(row?.key).toMatch(/^[\w-]{43}$/)
    await t.ctx.db.write.execute(
      sql`insert into counters select 'key ' || n, 1, ${now().toISOString()}::timestamptz + n * interval '1 second' from generate_series(61, 50100) n`,
    )
    await dropCounters(t.ctx.db, now())
    expect(await t.ctx.db.write.$count(counters)).toBe(50_000)
    expect(await t.ctx.db.write.$count(counters, eq(counters.key, 'key 50100'))).toBe(1)
    await dropCounters(t.ctx.db, new Date(clock.now + 50_099_000))
    expect(await t.ctx.db.write.$count(counters)).toBe(1)
  })
})

describe('the throttle at work (SEC-26, CR-15, W-34)', () => {
  // the client's address is taken from a proxy that is trusted, so that the test has several
  const t = testApp({ ROOST_FAILED_CREDENTIALS: '3', ROOST_TRUSTED_PROXIES: '127.0.0.1' })
  let user: TestUser
  beforeAll(async () => {
    user = await aUser(t.ctx)
  })

  const from = (address: string, token: string) => t.api('get', '/user', { token }).set('X-Forwarded-For', address)
  const grant = (address: string, password: string, username = user.username) =>
    fetch(`${t.url}/oauth/token`, {
      method: 'POST',
      headers: { 'x-forwarded-for': address },
      body: new URLSearchParams({ grant_type: 'password', username, password }),
    })
  const git = (address: string, password: string, username = user.username) =>
    fetch(`${t.url}/${user.username}/none.git/info/refs?service=git-upload-pack`, {
      headers: { 'x-forwarded-for': address, authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
    })
  const statuses = async (times: number, ask: (i: number) => Promise<Response>) => {
    const all: number[] = []
    for (let i = 0; i < times; i++) all.push((await ask(i)).status)
    return all
  }

  it('tokens: bad ones are 429 with Retry-After after nine, from this address alone; good ones are good', async () => {
    for (let i = 0; i < 9; i++) await from('10.0.0.1', `guess ${i}`).expect(401)
    const { text, headers } = await from('10.0.0.1', 'guess').expect(429)
    expect(text).toBe('Retry later')
    expect(headers['content-type']).toContain('text/plain')
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    await from('10.0.0.1', user.token).expect(200)
    await from('10.0.0.2', 'guess').expect(401)
    // without a credential there is nothing to guess
    await t.api('get', '/projects').set('X-Forwarded-For', '10.0.0.1').expect(200)
    const info = (token: string) =>
      fetch(`${t.url}/oauth/token/info`, { headers: { 'x-forwarded-for': '10.0.0.1', authorization: `Bearer ${token}` } })
    expect([(await info('guess')).status, (await info(user.token)).status]).toEqual([429, 200])
  })

  it('tokens that are known are no guesses, whatever they are refused for, on the API and for Git (SEC-270)', async () => {
    const blocked = await aUser(t.ctx, { state: 'blocked' })
    const revoked = await aToken(t.ctx, user, ['api'])
    await t.api('delete', '/personal_access_tokens/self', { token: revoked }).expect(204)
    const expired = await aToken(t.ctx, user, ['api'], '2020-01-01')
    const project = await aProject(t.ctx, { creator: user })
    const { body: deploy } = await t
      .api('post', `${project.path}/deploy_tokens`, user)
      .send({ name: 'x', scopes: ['read_repository'], username: 'robot' })
      .expect(201)
    for (let i = 0; i < 3; i++) {
      await from('10.3.0.1', blocked.token).expect(403)
      for (const token of [revoked, expired]) await from('10.3.0.1', token).expect(401)
      expect((await git('10.3.0.1', blocked.token)).status).toBe(403)
      for (const token of [revoked, expired, deploy.token]) expect((await git('10.3.0.1', token)).status).toBe(401)
    }
    await from('10.3.0.1', 'guess').expect(401)
    expect((await grant('10.3.0.1', user.password)).status).toBe(200)
  })

  it.each([
    ['the password grant', grant, '10.0.1', 200],
    ['Git', git, '10.0.2', 404],
  ] as const)('%s: 429 with Retry-After for this account and address, even when right; from elsewhere it is right', async (_, ask, net, right) => {
    expect(await statuses(4, (i) => ask(`${net}.1`, `wrong ${i}`))).toEqual([401, 401, 401, 429])
    const refused = await ask(`${net}.1`, user.password)
    expect([refused.status, await refused.text(), Number(refused.headers.get('retry-after')) > 0]).toEqual([429, 'Retry later', true])
    expect((await ask(`${net}.2`, user.password)).status).toBe(right)
    // the other account has its own budget, as far as the address has one
    const other = await aUser(t.ctx)
    expect((await ask(`${net}.1`, other.password, other.username)).status).toBe(right)
    expect(await statuses(7, (i) => ask(`${net}.1`, `wrong ${i}`, `unknown${i}`))).toEqual([...Array(6).fill(401), 429])
    expect((await ask(`${net}.1`, other.password, other.username)).status).toBe(429)
  })

  it('limits guesses of an account from many addresses: those that failed share its budget, another one is accepted', async () => {
    const victim = await aUser(t.ctx)
    for (let i = 0; i < 9; i++) expect((await grant(`10.1.0.${i}`, 'wrong', victim.username)).status).toBe(401)
    expect((await grant('10.1.0.1', 'wrong', victim.email.toUpperCase())).status).toBe(429)
    expect((await git('10.1.0.2', 'wrong', victim.username)).status).toBe(429)
    expect((await grant('10.1.1.1', victim.password, victim.username)).status).toBe(200)
    expect((await grant('10.1.1.2', 'wrong', victim.username)).status).toBe(401)
    expect((await grant('10.1.1.2', victim.password, victim.username)).status).toBe(429)
  })

  it('an unknown name is treated alike', async () => {
    expect(await statuses(4, (i) => grant('10.2.0.1', `wrong ${i}`, 'no-such-user'))).toEqual([401, 401, 401, 429])
  })

  it('a flood from one address costs no hashing beyond its budget', async () => {
    const victim = await aUser(t.ctx)
    const verify = t.ctx.cpu.argon2.verify.bind(t.ctx.cpu.argon2)
    let hashed = 0
    t.ctx.cpu.argon2.verify = (stored, password, turn) =>
      verify(stored, password, {
        ...turn,
        async begin() {
          await turn?.begin?.()
          hashed++
        },
      })
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => grant('10.3.0.1', `wrong ${i}`, victim.username)))
    t.ctx.cpu.argon2.verify = verify
    // and the two that are hashed when the third has failed
    expect(hashed).toBeLessThanOrEqual(5)
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(hashed)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(30 - hashed)
  })

  it('a good credential does not count', async () => {
    for (let i = 0; i < 10; i++) await from('10.0.0.6', user.token).expect(200)
    expect(await statuses(10, () => grant('10.0.0.6', user.password))).toEqual(Array(10).fill(200))
  })
})
