import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { tokens, users } from '../../../src/db/schema/index.js'
import { digestOf } from '../../../src/lib/crypto/secret.js'
import { createUser } from '../../../src/services/identity/users.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aToken, aUser, setSettings, type TestUser } from '../../support/factories.js'

const t = testApp()
let user: TestUser

beforeAll(async () => {
  user = await aUser(t.ctx)
})

interface Grant {
  access_token: string
  refresh_token: string
}
const post = (path: string, fields: Record<string, string>) => fetch(t.url + path, { method: 'POST', body: new URLSearchParams(fields) })
const login = (more: Record<string, string> = {}) =>
  post('/oauth/token', { grant_type: 'password', username: user.username, password: user.password, ...more })
const grant = async (more?: Record<string, string>) => (await (await login(more)).json()) as Grant
const fault = async (response: Response) => [response.status, ((await response.json()) as { error: string }).error]

describe('POST /oauth/token (CR-12)', () => {
  it('a password gives a pair, for username or address', async () => {
    const response = await login()
    expect(response.headers.get('cache-control')).toBe('no-store')
    const body = (await response.json()) as Grant
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[A-Za-z0-9_-]{20}$/) as string,
      token_type: 'Bearer',
      expires_in: 7_200,
      refresh_token: expect.any(String) as string,
      scope: 'api',
      created_at: expect.any(Number) as number,
    })
    await t.api('get', '/user', { token: body.access_token }).expect(200)
    expect((await login({ username: user.email.toUpperCase(), client_id: 'x', client_secret: 'y' })).status).toBe(200)
    expect((await login({ scope: 'read_user read_api' })).status).toBe(200)
    const json = await fetch(`${t.url}/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'password', username: user.username, password: user.password }),
    })
    expect(json.status).toBe(200)
  })

  it('marks the sign-in', async () => {
    await login()
    const { body } = await t.api('get', '/user', user).expect(200)
    expect(body).toMatchObject({
      current_sign_in_at: expect.any(String) as string,
      last_sign_in_at: expect.any(String) as string,
      last_activity_on: t.ctx.now().toISOString().slice(0, 10),
    })
  })

  it.each([
    ['a wrong password', { password: 'wrong password' }],
    ['an unknown user', { username: 'no-such-user' }],
    ['an overlong password', { password: 'x'.repeat(10_000) }],
  ])('%s is invalid_grant', async (_, more) => {
    expect(await fault(await login(more))).toEqual([401, 'invalid_grant'])
  })

  it('so are a blocked user, two factors and the setting', async () => {
    const person = await aUser(t.ctx)
    const as = () => login({ username: person.username, password: person.password })
    const set = (values: Partial<typeof users.$inferInsert>) => t.ctx.db.write.update(users).set(values).where(eq(users.id, person.id))
    expect((await as()).status).toBe(200)
    await set({ state: 'blocked' })
    expect(await fault(await as())).toEqual([401, 'invalid_grant'])
    await set({ state: 'active', two_factor_enabled: true })
    expect(await fault(await as())).toEqual([401, 'invalid_grant'])
    await set({ two_factor_enabled: false })
    await setSettings(t.ctx, { password_authentication_enabled_for_web: false })
    expect(await fault(await as())).toEqual([401, 'invalid_grant'])
    await setSettings(t.ctx, {})
    expect((await as()).status).toBe(200)
  })

  it('an unconfirmed user may sign in (CR-4); one whose password is to be reset may not (SEC-25)', async () => {
    const fresh = await aUser(t.ctx, { skip_confirmation: false })
    expect((await login({ username: fresh.username, password: fresh.password })).status).toBe(200)
    await createUser(t.ctx, { email: 'reset@example.com', username: 'resetting', name: 'R', password: 'password given', reset_password: true })
    expect(await fault(await login({ username: 'resetting', password: 'password given' }))).toEqual([401, 'invalid_grant'])
    expect(await fault(await login({ username: 'resetting', password: '' }))).toEqual([400, 'invalid_request'])
  })

  it.each([
    ['invalid_request', { grant_type: '' }],
    ['invalid_request', { username: '' }],
    ['invalid_request', { grant_type: 'refresh_token' }],
    ['unsupported_grant_type', { grant_type: 'client_credentials' }],
    ['invalid_scope', { scope: 'everything' }],
    ['invalid_scope', { scope: 'sudo' }],
  ])('400 %s for %o', async (error, more) => {
    expect(await fault(await login(more))).toEqual([400, error])
  })

  it('an administrator may ask for sudo', async () => {
    const admin = await anAdmin(t.ctx)
    const { access_token } = await grant({ username: admin.username, password: admin.password, scope: 'api sudo' })
    expect((await t.api('get', `/user?sudo=${user.id}`, { token: access_token }).expect(200)).body).toMatchObject({ id: user.id })
  })

  it('a refresh ends the old pair, once, also when two ask', async () => {
    const old = await grant()
    const refresh = () => post('/oauth/token', { grant_type: 'refresh_token', refresh_token: old.refresh_token })
    const answers = await Promise.all([refresh(), refresh(), refresh()])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401])
    const fresh = (await answers.find(({ status }) => status === 200)?.json()) as Grant
    await t.api('get', '/user', { token: old.access_token }).expect(401)
    await t.api('get', '/user', { token: fresh.access_token }).expect(200)
    expect(await fault(await post('/oauth/token', { grant_type: 'refresh_token', refresh_token: 'unknown' }))).toEqual([401, 'invalid_grant'])
  })

  describe('a password that an administrator set (CR-24)', () => {
    const change = (body: object, caller: { token: string } | null = null) => t.api('put', '/user/password', caller).send(body)
    const aNewcomer = async () => {
      const person = await aUser(t.ctx)
      const admin = await anAdmin(t.ctx)
      await t.api('put', `/users/${person.id}`, admin).send({ password: 'chosen for them' }).expect(200)
      return { ...person, password: 'chosen for them' }
    }
    const basic = ({ username }: TestUser, password: string) =>
      fetch(`${t.url}/no/where.git/info/refs?service=git-upload-pack`, { headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` } })

    it('opens nothing but its change, by name and password', async () => {
      const person = await aNewcomer()
      const { username, password: current_password } = person
      const refusal = await login({ username, password: current_password })
      expect([refusal.status, await refusal.json()]).toEqual([
        403,
        { error: 'password_expired', error_description: expect.stringContaining('PUT http://roost.test/api/v4/user/password') as string },
      ])
      expect((await login({ username, password: 'wrong password' })).status).toBe(401)
      const git = await basic(person, current_password)
      expect([git.status, await git.text()]).toEqual([403, expect.stringContaining('/api/v4/user/password')])
      await t.api('get', '/user', person).expect(200)
      await change({ username, current_password, password: 'short' }).expect(400, {
        message: { password: ['is too short (minimum is 8 characters)'] },
      })
      await change({ username, current_password, password: current_password }).expect(400, {
        message: { password: ['must differ from the current one'] },
      })
      await change({ username, current_password: 'wrong password', password: 'my own password' }).expect(401)
      await change({ current_password, password: 'my own password' }).expect(401)
      await change({ username }).expect(400, { error: 'current_password is missing, password is missing' })
      expect((await login({ username, password: current_password })).status).toBe(403)
      await change({ username, current_password, password: 'my own password' }).expect(204)
      expect((await login({ username, password: current_password })).status).toBe(401)
      expect((await login({ username, password: 'my own password' })).status).toBe(200)
      expect((await basic(person, 'my own password')).status).toBe(404)
    })

    it('is changed with a token, too; the password is asked for all the same, and earlier grants end', async () => {
      const person = await aUser(t.ctx)
      const pair = await grant({ username: person.username, password: person.password })
      await change({ current_password: 'wrong password', password: 'my own password' }, person).expect(400, {
        message: { current_password: ['is invalid'] },
      })
      const reader = { token: await aToken(t.ctx, person, ['read_user']) }
      await change({ current_password: person.password, password: 'my own password' }, reader).expect(403)
      await change({ current_password: person.password, password: 'my own password' }, person).expect(204)
      expect(await refreshed(pair)).toBe(401)
      expect((await login({ username: person.username, password: 'my own password' })).status).toBe(200)
    })

    it('is not required for own changes of administrators, nor on creation', async () => {
      const admin = await anAdmin(t.ctx)
      await t.api('put', `/users/${admin.id}`, admin).send({ password: 'my own password' }).expect(200)
      expect((await login({ username: admin.username, password: 'my own password' })).status).toBe(200)
      const given = { email: 'given@example.com', username: 'given', name: 'Given', password: 'given on creation' }
      await t.api('post', '/users', admin).send(given).expect(201)
      expect((await login({ username: 'given', password: 'given on creation' })).status).toBe(200)
    })

    it('of a blocked user is not changed by name', async () => {
      const { id, username, password: current_password } = await aNewcomer()
      await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, id))
      await change({ username, current_password, password: 'my own password' }).expect(401)
    })
  })

  const refreshed = async ({ refresh_token }: Grant) => (await post('/oauth/token', { grant_type: 'refresh_token', refresh_token })).status

  it('a change of password ends what the old one had granted, but no personal token (CR-23)', async () => {
    const person = await aUser(t.ctx)
    const admin = await anAdmin(t.ctx)
    const credentials = { username: person.username, password: person.password }
    const [one, two] = [await grant(credentials), await grant(credentials)]
    await t.api('put', `/users/${person.id}`, admin).send({ name: 'Same password' }).expect(200)
    expect(await refreshed(two)).toBe(200)
    await t.api('put', `/users/${person.id}`, admin).send({ password: 'another password' }).expect(200)
    expect(await refreshed(one)).toBe(401)
    await t.api('get', '/user', { token: one.access_token }).expect(401)
    await t.api('get', '/user', person).expect(200)
  })

  it('a refresh token is good for 30 days (CR-23)', async () => {
    const madeAgo = async (days: number) => {
      const pair = await grant()
      await t.ctx.db.write
        .update(tokens)
        .set({ created_at: new Date(t.ctx.now().getTime() - days * 86_400_000) })
        .where(eq(tokens.digest, digestOf(pair.access_token)))
      return pair
    }
    expect(await refreshed(await madeAgo(29))).toBe(200)
    expect(await refreshed(await madeAgo(30))).toBe(401)
  })

  it('the pair lives two hours', async () => {
    const { access_token } = await grant()
    await t.ctx.db.write
      .update(tokens)
      .set({ valid_until: new Date(t.ctx.now().getTime() - 1) })
      .where(eq(tokens.digest, digestOf(access_token)))
    expect((await t.api('get', '/user', { token: access_token }).expect(401)).body).toMatchObject({ error: 'invalid_token' })
  })

  it('a known and an unknown user cost the same hashing (SEC-27)', async () => {
    const verify = vi.spyOn(t.ctx.cpu.argon2, 'verify')
    const costOf = (stored = '') => stored.split('$').slice(0, 4)
    for (const username of [user.username, 'no-such-user']) await login({ username, password: 'wrong password' })
    const [known, unknown, ...more] = verify.mock.calls
    verify.mockRestore()
    expect(costOf(known?.[0])).toEqual(['', 'argon2id', 'v=19', 'm=8,t=1,p=1'])
    expect([costOf(unknown?.[0]), more]).toEqual([costOf(known?.[0]), []])
  })

  it('there is no session (section 3.4)', async () => {
    await t.api('post', '/session', user).send({ login: 'x', password: 'y' }).expect(404, { error: '404 Not Found' })
  })
})

describe('POST /oauth/revoke (CR-13)', () => {
  it('ends a pair by either half; an unknown token looks the same', async () => {
    for (const half of ['access_token', 'refresh_token'] as const) {
      const pair = await grant()
      const response = await post('/oauth/revoke', { token: pair[half] })
      expect([response.status, await response.json()]).toEqual([200, {}])
      await t.api('get', '/user', { token: pair.access_token }).expect(401)
      expect(await fault(await post('/oauth/token', { grant_type: 'refresh_token', refresh_token: pair.refresh_token }))).toEqual([
        401,
        'invalid_grant',
      ])
    }
    const unknown = await post('/oauth/revoke', { token: 'unknown' })
    expect([unknown.status, await unknown.json()]).toEqual([200, {}])
    expect(await fault(await post('/oauth/revoke', {}))).toEqual([400, 'invalid_request'])
    await post('/oauth/revoke', { token: user.token })
    await t.api('get', '/user', user).expect(200)
  })
})

describe('GET /oauth/token/info (CR-13a)', () => {
  it('shows the bearer’s token', async () => {
    const info = (token: string) => fetch(`${t.url}/oauth/token/info`, { headers: { authorization: `Bearer ${token}` } })
    const { access_token } = await grant({ scope: 'read_user' })
    const body = (await (await info(access_token)).json()) as { expires_in: number }
    expect(body).toEqual({
      resource_owner_id: user.id,
      scope: ['read_user'],
      expires_in: expect.any(Number) as number,
      application: { uid: null },
      created_at: expect.any(Number) as number,
    })
    expect(body.expires_in).toBeGreaterThan(7_100)
    expect(await (await info(await aToken(t.ctx, user, ['api']))).json()).toMatchObject({ expires_in: null })
    expect((await info('unknown')).status).toBe(401)
    expect((await fetch(`${t.url}/oauth/token/info`)).status).toBe(401)
    expect((await fetch(`${t.url}/oauth/token/info`, { headers: { 'PRIVATE-TOKEN': user.token } })).status).toBe(401)
  })
})
