import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { applicationSettings } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser, unique } from '../../support/factories.js'

const t = testApp()
let admin: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})
afterEach(async () => {
  await t.ctx.db.write.delete(applicationSettings)
  t.ctx.caches.settings.invalidate()
})

const put = (given: object) => t.api('put', '/application/settings', admin).send(given).expect(200)

describe('defaults of new items', () => {
  it('of projects and snippets, with the next request (AS-29, AS-61, PR-7)', async () => {
    const user = await aUser(t.ctx)
    const project = async () => {
      const { body } = await t
        .api('post', '/projects', user)
        .send({ name: `p${unique()}` })
        .expect(201)
      return [body.visibility, body.shared_runners_enabled]
    }
    const snippet = async () =>
      (await t.api('post', '/snippets', user).send({ title: 'x', file_name: 'x', content: 'x' }).expect(201)).body.visibility as string
    expect([await project(), await snippet()]).toEqual([['private', true], 'private'])
    await put({ default_project_visibility: 'internal', shared_runners_enabled: false, default_snippet_visibility: 'public' })
    expect([await project(), await snippet()]).toEqual([['internal', false], 'public'])
    await put({ default_project_visibility: 'private', shared_runners_enabled: true, default_snippet_visibility: 'private' })
    expect([await project(), await snippet()]).toEqual([['private', true], 'private'])
  })
})

describe('the number of addresses a user calls from (AS-66)', () => {
  const LIMIT = { unique_ips_limit_enabled: true, unique_ips_limit_per_user: 2, unique_ips_limit_time_window: 3600 }
  const TOO_MANY = { message: '403 Forbidden - Too many logins from different IPs' }
  const from = (address: string, user: TestUser, url = '/api/v4/user') =>
    t.app.inject({ method: 'GET', url, headers: { 'private-token': user.token }, remoteAddress: address })
  const password = (address: string, user: TestUser) =>
    t.app.inject({
      method: 'POST',
      url: '/oauth/token',
      payload: { grant_type: 'password', username: user.username, password: 'password1' },
      remoteAddress: address,
    })
  const git = (address: string, user: TestUser, project: TestProject) =>
    t.app.inject({
      method: 'GET',
      url: `/${project.fullPath}.git/info/refs?service=git-upload-pack`,
      headers: { authorization: `Basic ${Buffer.from(`oauth2:${user.token}`).toString('base64')}` },
      remoteAddress: address,
    })

  it('is refused beyond the limit, by token, by password and over Git; those who came first stay', async () => {
    const user = await aUser(t.ctx, { password: 'password1' })
    const project = await aProject(t.ctx, { creator: user, files: { a: 'a' } })
    await put(LIMIT)
    expect((await from('10.1.0.1', user)).statusCode).toBe(200)
    expect((await git('10.1.0.2', user, project)).statusCode).toBe(200)
    const third = await from('10.1.0.3', user)
    expect([third.statusCode, third.json()]).toEqual([403, TOO_MANY])
    expect([(await password('10.1.0.4', user)).statusCode, (await git('10.1.0.5', user, project)).statusCode]).toEqual([403, 403])
    expect([(await from('10.1.0.1', user)).statusCode, (await password('10.1.0.2', user)).statusCode]).toEqual([200, 200])
    // users for themselves, and no one once it is switched off
    expect((await from('10.1.0.3', await aUser(t.ctx))).statusCode).toBe(200)
    await put({ unique_ips_limit_enabled: false })
    for (const address of ['10.1.0.3', '10.1.0.4', '10.1.0.5']) expect((await from(address, user)).statusCode).toBe(200)
  })

  it('of many new addresses at once only so many get in', async () => {
    const user = await aUser(t.ctx)
    await put({ ...LIMIT, unique_ips_limit_per_user: 3 })
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => from(`10.2.0.${i}`, user)))
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(3)
  })

  it('an address counts for as long as the window', async () => {
    const user = await aUser(t.ctx)
    await put({ ...LIMIT, unique_ips_limit_per_user: 1, unique_ips_limit_time_window: 0 })
    for (const address of ['10.3.0.1', '10.3.0.2', '10.3.0.3']) expect((await from(address, user)).statusCode).toBe(200)
  })
})

describe('the root page (AS-40)', () => {
  it('redirects callers without a token to the home page', async () => {
    const root = (token?: string) =>
      fetch(`${t.url}/`, { redirect: 'manual', headers: token ? { 'private-token': token } : { accept: 'application/json' } })
    expect((await root()).status).toBe(404)
    await put({ home_page_url: 'https://example.com/welcome' })
    const answer = await root()
    expect([answer.status, answer.headers.get('location')]).toEqual([302, 'https://example.com/welcome'])
    expect((await root(admin.token)).status).toBe(404)
    await put({ home_page_url: '' })
    expect((await root()).status).toBe(404)
  })
})

describe('how often clients ask again (AS-50)', () => {
  it('is said on what they wait for, and nowhere else', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { a: 'a' } })
    const interval = async (path: string) => (await t.api('get', `${project.path}${path}`, admin).expect(200)).headers['poll-interval']
    expect(await interval('/pipelines')).toBe('10000')
    expect(await interval('/repository/branches')).toBeUndefined()
    await put({ polling_interval_multiplier: 2.5 })
    expect(await interval('/repository/commits/main/statuses')).toBe('25000')
    await put({ polling_interval_multiplier: 0 })
    expect(await interval('/pipelines')).toBe('-1')
  })
})
