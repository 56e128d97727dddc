import { beforeAll, describe, expect, it } from 'vitest'
import { tokens } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { gitRun } from '../../support/clients/git-client.js'
import { anAdmin, aProject, aToken, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let user: TestUser
let path: string

interface Shown {
  id: number
  token: string
  active: boolean
  revoked: boolean
}

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
  path = `/users/${user.id}/impersonation_tokens`
})

const day = (offset: number) => new Date(t.ctx.now().getTime() + offset * 86_400_000).toISOString().slice(0, 10)
const create = async (given: object = {}) =>
  (
    await t
      .api('post', path, admin)
      .send({ name: 'robot', scopes: ['api'], ...given })
      .expect(201)
  ).body as Shown

describe('impersonation tokens: permissions (T-1, T-2, SEC-18)', () => {
  it.each([
    ['get', ''],
    ['post', ''],
    ['get', '/1'],
    ['delete', '/1'],
  ] as const)('%s %s: 401 without a token, 403 for the user, both before the parameters', async (method, more) => {
    await t.api(method, `${path}${more}?state=odd`).expect(401, { message: '401 Unauthorized' })
    await t.api(method, `${path}${more}?state=odd`, user).expect(403, { message: '403 Forbidden' })
    const missing = t.api(method, `/users/999999/impersonation_tokens${more}`, admin).send({ name: 'x', scopes: ['api'] })
    await missing.expect(404, { message: '404 User Not Found' })
    await t
      .api(method, `/users/x/impersonation_tokens${more}`, admin)
      .send({ name: 'x', scopes: ['api'] })
      .expect(400, { error: 'user_id is invalid' })
  })

  it("another's, an ordinary and an unknown token are missing", async () => {
    const { id } = await create()
    const other = await aUser(t.ctx)
    const ordinary = user.caller.token.id
    const missing = { message: '404 Impersonation Token Not Found' }
    for (const odd of [`/users/${other.id}/impersonation_tokens/${id}`, `${path}/${ordinary}`, `${path}/999999`]) {
      await t.api('get', odd, admin).expect(404, missing)
      await t.api('delete', odd, admin).expect(404, missing)
    }
    await t.api('get', `${path}/x`, admin).expect(400, { error: 'impersonation_token_id is invalid' })
    await t.api('get', '/user', user).expect(200)
  })
})

describe('POST /users/:user_id/impersonation_tokens (T-5, T-6)', () => {
  it('makes one', async () => {
    const made = await create({ expires_at: '2099-1-2', scopes: ['api', 'read_user'], impersonation: false })
    expect(made).toEqual({
      id: made.id,
      name: 'robot',
      token: expect.stringMatching(/^[A-Za-z0-9_-]{20}$/),
      active: true,
      revoked: false,
      impersonation: true,
      scopes: ['api', 'read_user'],
      created_at: expect.stringMatching(/Z$/),
      expires_at: '2099-01-02',
    })
    expect((await t.api('get', `${path}/${made.id}`, admin).expect(200)).body).toEqual(made)
  })

  it('names may be blank and repeat (T-6)', async () => {
    await create({ name: '' })
    await create({ name: '' })
  })

  it('a day that is over makes an inactive token', async () => {
    const made = await create({ expires_at: day(0) })
    expect(made.active).toBe(false)
    const { body, headers } = await t.api('get', '/user', { token: made.token }).expect(401)
    expect(body).toMatchObject({ error: 'invalid_token' })
    expect(headers['www-authenticate']).toContain('invalid_token')
    expect((await create({ expires_at: day(1) })).active).toBe(true)
  })

  it.each([
    [{}, { error: 'name is missing, scopes is missing' }],
    [{ scopes: ['api'] }, { error: 'name is missing' }],
    [{ name: 'x' }, { error: 'scopes is missing' }],
    [{ name: 'x', scopes: [] }, { message: { scopes: ["can't be blank"] } }],
    [{ name: 'x', scopes: ['sudo'] }, { message: { scopes: ['can only contain available scopes'] } }],
    [{ name: 'x', scopes: ['api', 'api'] }, { message: { scopes: ['can only contain available scopes'] } }],
    [{ name: 'x', scopes: ['api'], expires_at: 'soon' }, { error: 'expires_at is invalid' }],
    [{ name: 'x'.repeat(256), scopes: ['api'] }, { message: { name: ['is too long (maximum is 255 characters)'] } }],
  ])('refuses %o', async (given, body) => {
    const before = await t.ctx.db.read.$count(tokens)
    await t.api('post', path, admin).send(given).expect(400, body)
    expect(await t.ctx.db.read.$count(tokens)).toBe(before)
  })
})

describe('GET /users/:user_id/impersonation_tokens (T-3, T-4)', () => {
  it('lists by id, by state, with values', async () => {
    const person = await aUser(t.ctx)
    const list = `/users/${person.id}/impersonation_tokens`
    const made: Shown[] = []
    for (const given of [{}, { expires_at: day(-1) }, {}])
      made.push(
        (
          await t
            .api('post', list, admin)
            .send({ name: 'x', scopes: ['api'], ...given })
            .expect(201)
        ).body,
      )
    await t.api('delete', `${list}/${made[2]?.id}`, admin).expect(204)
    const ids = async (query: string) =>
      ((await t.api('get', `${list}${query}`, admin).expect(200)).body as Shown[]).map(({ id, token, active, revoked }) => [
        id,
        token,
        active,
        revoked,
      ])
    const [good, expired, revoked] = [
      [made[0]?.id, made[0]?.token, true, false],
      [made[1]?.id, made[1]?.token, false, false],
      [made[2]?.id, made[2]?.token, false, true],
    ]
    expect(await ids('')).toEqual([good, expired, revoked])
    expect(await ids('?state=all&per_page=2')).toEqual([good, expired])
    expect(await ids('?state=active')).toEqual([good])
    expect(await ids('?state=inactive')).toEqual([expired, revoked])
    await t.api('get', `${list}?state=odd`, admin).expect(400, { error: 'state does not have a valid value' })
  })
})

describe('DELETE /users/:user_id/impersonation_tokens/:impersonation_token_id (T-7, T-8)', () => {
  it('revokes, any number of times', async () => {
    const { id, token } = await create()
    await t.api('get', '/user', { token }).expect(200)
    for (let i = 0; i < 2; i++) await t.api('delete', `${path}/${id}`, admin).expect(204)
    expect((await t.api('get', `${path}/${id}`, admin).expect(200)).body).toMatchObject({ active: false, revoked: true, token })
    const { body } = await t.api('get', '/user', { token }).expect(401)
    expect(body).toEqual({ error: 'invalid_token', error_description: 'Token was revoked. You have to re-authorize from the user.' })
  })

  it('keeps what changed since (G-89)', async () => {
    const { id } = await create()
    await t.api('delete', `${path}/${id}`, admin).set('If-Unmodified-Since', 'Mon, 01 Jan 2018 00:00:00 GMT').expect(412)
    expect((await t.api('get', `${path}/${id}`, admin).expect(200)).body).toMatchObject({ active: true })
  })
})

describe('what the token opens (T-8, T-9, SEC-19)', () => {
  it('acts as the user, with their rights and no more', async () => {
    const { token } = await create()
    expect((await t.api('get', '/user', { token }).expect(200)).body).toMatchObject({ id: user.id, username: user.username })
    await t.api('get', path, { token }).expect(403)
    await t.api('post', '/users', { token }).send({}).expect(400)
    const reader = await create({ scopes: ['read_user'] })
    await t.api('get', '/user', { token: reader.token }).expect(200)
    await t.api('post', '/user/emails', { token: reader.token }).send({ email: 'x@example.org' }).expect(403)
  })

  it('one of an administrator has administrator rights, and one with a read scope cannot write', async () => {
    const make = async (scopes: string[]) =>
      (await t.api('post', `/users/${admin.id}/impersonation_tokens`, admin).send({ name: 'x', scopes }).expect(201)).body as Shown
    const { token } = await make(['api'])
    await t.api('get', path, { token }).expect(200)
    const reader = await make(['read_user'])
    await t.api('get', path, { token: reader.token }).expect(200)
    await t
      .api('post', path, { token: reader.token })
      .send({ name: 'x', scopes: ['api'] })
      .expect(403)
  })

  it('its owner sees it nowhere (T-9)', async () => {
    const { id, token } = await create({ name: 'unseen' })
    const { body } = await t.api('get', '/personal_access_tokens?per_page=100', user).expect(200)
    expect((body as Shown[]).map((shown) => shown.id)).not.toContain(id)
    await t.api('get', `/personal_access_tokens/${id}`, user).expect(401)
    expect(JSON.stringify((await t.api('get', '/user', user).expect(200)).body)).not.toContain(token)
  })

  it('opens Git with scope api, not with read_user, not when revoked or expired (T-9)', async () => {
    const project = await aProject(t.ctx, { creator: user, files: { 'a.txt': 'a\n' } })
    const url = (token: string) => `${t.url.replace('://', `://x:${token}@`)}/${project.fullPath}.git`
    const reads = async (token: string) => (await gitRun(t.dataDir, 'ls-remote', url(token))).code === 0
    const good = await create()
    expect(await reads(good.token)).toBe(true)
    expect(await reads((await create({ scopes: ['read_user'] })).token)).toBe(false)
    expect(await reads((await create({ expires_at: day(0) })).token)).toBe(false)
    await t.api('delete', `${path}/${good.id}`, admin).expect(204)
    expect(await reads(good.token)).toBe(false)
  })

  it('no value is readable in the database (SEC-21)', async () => {
    const { token } = await create()
    const personal = await aToken(t.ctx, user, ['api'])
    const dump = JSON.stringify(await t.ctx.db.read.select().from(tokens))
    expect(dump).not.toContain(token)
    expect(dump).not.toContain(personal)
  })
})
