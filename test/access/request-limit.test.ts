import { beforeAll, describe, expect, it } from 'vitest'
import { Counters } from '../../src/access/counters.js'
import { RequestLimit } from '../../src/access/request-limit.js'
import { testApp } from '../support/app.js'
import { anAdmin, aUser, type TestUser } from '../support/factories.js'

describe('counting requests (SEC-148)', () => {
  const t = testApp()

  it('in windows, each caller alone, in all processes together', async () => {
    let time = 1_000_000
    const now = () => new Date(time)
    const process = (user = 2) => new RequestLimit({ user, anonymous: user / 2, window: 10 }, new Counters(t.ctx.db, now), now)
    const [limit, other] = [process(), process()]
    expect(await limit.count(1, 'a')).toEqual({ limit: 2, remaining: 1, observed: 1, reset: 1_010, wait: 0 })
    expect(await other.count(1, 'b')).toMatchObject({ remaining: 0, wait: 0 })
    time += 4_000
    expect(await limit.count(1, 'a')).toMatchObject({ remaining: 0, observed: 3, wait: 6 })
    expect(await limit.count(2, 'a')).toMatchObject({ observed: 1, wait: 0 })
    expect([await limit.count(null, 'a'), await other.count(null, 'a')]).toMatchObject([{ wait: 0 }, { wait: 10 }])
    time += 6_000
    expect(await limit.count(1, 'a')).toMatchObject({ remaining: 1, observed: 1, wait: 0 })
    expect(await process(0).count(null, 'a')).toBeNull()
  })

  it('gives each of many requests at once its own number', async () => {
    const now = () => new Date()
    const processes = [1, 2].map(() => new RequestLimit({ user: 50, anonymous: 0, window: 60 }, new Counters(t.ctx.db, now), now))
    const all = await Promise.all(Array.from({ length: 60 }, (_, i) => processes[i % 2]?.count(7, 'a')))
    expect(all.map((one) => one?.observed).sort((a = 0, b = 0) => a - b)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1))
    expect(all.filter((one) => one?.wait === 0)).toHaveLength(50)
  })
})

describe('request limits at work (SEC-148, W-34)', () => {
  const t = testApp({ ROOST_REQUESTS_PER_USER: '5', ROOST_REQUESTS_PER_ADDRESS: '3', ROOST_REQUESTS_WINDOW: '3600' })
  let user: TestUser
  let admin: TestUser
  beforeAll(async () => {
    user = await aUser(t.ctx)
    admin = await anAdmin(t.ctx)
  })
  const call = async (headers: Record<string, string>, url = '/api/v4/version') => {
    const { statusCode, headers: got, body } = await t.app.inject({ method: 'GET', url, headers })
    return {
      status: statusCode,
      limit: got['ratelimit-limit'],
      remaining: got['ratelimit-remaining'],
      observed: got['ratelimit-observed'],
      got,
      body,
    }
  }

  it('answers every caller how many are left, and refuses the rest with 429 as text; others go on', async () => {
    const as = (person: TestUser) => ({ 'private-token': person.token })
    const before = Math.floor(Date.now() / 1_000)
    const first = await call(as(user))
    expect(first).toMatchObject({ status: 200, limit: '5', remaining: '4', observed: '1' })
    const counted = Number(first.got['ratelimit-reset']) - 3_600
    expect(before <= counted && counted <= Math.ceil(Date.now() / 1_000)).toBe(true)
    // refusals have them too
    expect(await call(as(user), '/api/v4/projects/999999')).toMatchObject({ status: 404, remaining: '3' })
    for (let i = 0; i < 3; i++) expect((await call(as(user))).status).toBe(200)
    const over = await call(as(user))
    expect(over).toMatchObject({ status: 429, remaining: '0', observed: '6', body: 'Retry later' })
    expect(Number(over.got['retry-after'])).toBeGreaterThan(0)
    expect((await call(as(admin))).status).toBe(200)
    // a call with sudo counts for the administrator
    expect(await call({ ...as(admin), sudo: user.username }, '/api/v4/user')).toMatchObject({ status: 200, observed: '2' })
  })

  it('counts callers without a good credential by their address; health is free', async () => {
    const anonymous = await call({}, '/api/v4/projects')
    expect(anonymous).toMatchObject({ status: 200, limit: '3', remaining: '2' })
    expect(await call({ 'private-token': 'no-good' })).toMatchObject({ status: 401, remaining: '1' })
    expect((await call({}, '/api/v4/projects')).status).toBe(200)
    expect((await call({}, '/api/v4/projects')).status).toBe(429)
    expect((await call({ 'private-token': 'no-good' })).status).toBe(429)
    expect(await call({}, '/-/health')).toMatchObject({ status: 200, limit: undefined })
  })
})
