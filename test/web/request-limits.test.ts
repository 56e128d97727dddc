import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aUser, setSettings, type TestUser } from '../support/factories.js'

const t = testApp({ ROOST_TRUSTED_PROXIES: '127.0.0.1' })
let root: TestUser
let admin: TestBrowser
let addresses = 0
const anAddress = () => `198.51.100.${++addresses}`
const call = (headers: Record<string, string>, path = '/api/v4/version') => fetch(t.url + path, { headers })
const asUser = ({ token }: TestUser) => call({ 'private-token': token })
const statuses = async (times: number, work: () => Promise<{ status: number }>) => {
  const seen = []
  for (let n = 0; n < times; n++) seen.push((await work()).status)
  return seen
}

beforeAll(async () => {
  root = await anAdmin(t.ctx)
  admin = new TestBrowser(t.url)
  await admin.signIn(root)
})
beforeEach(() => setSettings(t.ctx, {}))

describe('the limits of requests', () => {
  it('holds users to the settings, for the API and pages apart (WB-206)', async () => {
    const user = await aUser(t.ctx)
    const browser = new TestBrowser(t.url)
    await browser.signIn(user)
    await t.api('put', '/application/settings', root).send({
      throttle_authenticated_api_enabled: true,
      throttle_authenticated_api_requests_per_period: 3,
      throttle_authenticated_api_period_in_seconds: 1_000,
      throttle_authenticated_web_enabled: true,
      throttle_authenticated_web_requests_per_period: 2,
      throttle_authenticated_web_period_in_seconds: 2_000,
    })
    expect(await statuses(5, () => asUser(user))).toEqual([200, 200, 200, 429, 429])
    const refused = await asUser(user)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(900)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(1_000)
    expect(await statuses(3, () => browser.open('/dashboard'))).toEqual([200, 200, 429])
    expect(Number(browser.page?.headers.get('retry-after'))).toBeGreaterThan(1_900)
    // another user has not called
    expect((await asUser(await aUser(t.ctx))).status).toBe(200)
    await setSettings(t.ctx, {})
    expect((await asUser(user)).status).toBe(200)
    expect((await browser.open('/dashboard')).status).toBe(200)
  })

  it('holds addresses to the settings, for pages and the API (WB-206)', async () => {
    await t.api('put', '/application/settings', root).send({
      throttle_unauthenticated_enabled: true,
      throttle_unauthenticated_requests_per_period: 2,
      throttle_unauthenticated_period_in_seconds: 500,
    })
    const from = { 'x-forwarded-for': anAddress() }
    expect((await call({ ...from, accept: 'text/html' }, '/explore')).status).toBe(200)
    expect(await statuses(2, () => call(from, '/api/v4/projects'))).toEqual([200, 429])
    const refused = await call({ ...from, accept: 'text/html' }, '/explore')
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(500)
    expect((await call({ 'x-forwarded-for': anAddress() }, '/api/v4/projects')).status).toBe(200)
  })

  it('are those of single callers where these have some, from the next request (WB-206)', async () => {
    await setSettings(t.ctx, {
      throttle_authenticated_api_enabled: true,
      throttle_authenticated_api_requests_per_period: 1,
      throttle_unauthenticated_enabled: true,
      throttle_unauthenticated_requests_per_period: 1,
    })
    const [user, free] = [await aUser(t.ctx), await aUser(t.ctx)]
    const address = anAddress()
    const set = async (caller: string, requests: string) => {
      await admin.open('/admin/request_limits')
      return admin.submit('Set limit', { caller, requests })
    }
    expect((await set(`@${user.username}`, '3')).text).toContain(`The limit of ${user.username} is set.`)
    await set(free.username, '0')
    await set(`::ffff:${address}`, '2')
    expect(await statuses(4, () => asUser(user))).toEqual([200, 200, 200, 429])
    expect(await statuses(4, () => asUser(free))).toEqual([200, 200, 200, 200])
    expect(await statuses(3, () => call({ 'x-forwarded-for': address }, '/api/v4/projects'))).toEqual([200, 200, 429])
    // one replaces another
    await set(user.username, '4')
    expect(await statuses(1, () => asUser(user))).toEqual([429])
    await set(user.username, '100')
    expect(await statuses(1, () => asUser(user))).toEqual([200])
    expect((await admin.open('/admin/request_limits')).text.split(`@${user.username}`).length).toBe(2)
    const log = await admin.open('/admin/audit_log?action=request_limit_set')
    expect(log.text).toContain(user.username)
    expect(log.text).toContain(address)
  })

  it('of single callers are refused with what is wrong, and removed (WB-206)', async () => {
    await admin.open('/admin/request_limits')
    const wrong = await admin.submit('Set limit', { caller: '<b>no one</b>', requests: '-1' })
    expect(wrong.status).toBe(422)
    expect(wrong.text).toContain('is neither a username nor an IP address')
    expect(wrong.text).toContain('must be between 0 and 1000000')
    expect(wrong.$('[name=caller]').val()).toBe('<b>no one</b>')
    const user = await aUser(t.ctx)
    await admin.open('/admin/request_limits')
    await admin.submit('Set limit', { caller: user.username, requests: '1' })
    expect(await statuses(2, () => asUser(user))).toEqual([200, 429])
    while (admin.page?.$('button[aria-label^="Remove the limit"]').length) await admin.submit('Remove')
    expect(admin.page?.text).toContain('Every caller has the limits above.')
    expect((await asUser(user)).status).toBe(200)
  })
})
