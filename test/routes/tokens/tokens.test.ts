import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { tokens } from '../../../src/db/schema/index.js'
import { digestOf, newSecret } from '../../../src/lib/crypto/secret.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aToken, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let user: TestUser

interface Shown {
  id: number
  name: string
  token: string
  active: boolean
  revoked: boolean
  expires_at: string | null
}

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
})

const create = async (caller: TestUser, given: object = {}) =>
  (
    await t
      .api('post', '/user/personal_access_tokens', caller)
      .send({ name: 'laptop', scopes: ['api'], ...given })
      .expect(201)
  ).body as Shown
const idOf = async (value: string) =>
  (
    await t.ctx.db.read
      .select()
      .from(tokens)
      .where(eq(tokens.digest, digestOf(value)))
  )[0]?.id
const day = (offset: number) => new Date(t.ctx.now().getTime() + offset * 86_400_000).toISOString().slice(0, 10)

describe('POST /user/personal_access_tokens (CR-16)', () => {
  it('answers with the value, this once', async () => {
    const made = await create(user, { description: 'mine', expires_at: '2099-1-2', scopes: ['read_user', 'read_api'] })
    expect(made).toMatchObject({
      name: 'laptop',
      description: 'mine',
      expires_at: '2099-01-02',
      scopes: ['read_user', 'read_api'],
      user_id: user.id,
      active: true,
      revoked: false,
      last_used_at: null,
    })
    expect(made.token).toMatch(/^[A-Za-z0-9_-]{20}$/)
    await t.api('get', '/user', { token: made.token }).expect(200)
    expect((await t.api('get', `/personal_access_tokens/${made.id}`, user).expect(200)).body).not.toHaveProperty('token')
  })

  it.each([
    ['an unknown scope', { scopes: ['api', 'everything'] }, { scopes: ['can only contain available scopes'] }],
    ['a scope twice', { scopes: ['api', 'api'] }, { scopes: ['can only contain available scopes'] }],
    ['a scope of 65 characters', { scopes: ['a'.repeat(65)] }, { scopes: ['can only contain available scopes'] }],
    ['21 scopes', { scopes: Array.from({ length: 21 }, (_, i) => `s${i}`) }, { scopes: ['can only contain available scopes'] }],
    ['an empty scope', { scopes: [''] }, { scopes: ['can only contain available scopes'] }],
    ['no scope', { scopes: [] }, { scopes: ["can't be blank"] }],
    ['a blank name', { name: ' ' }, { name: ["can't be blank"] }],
    ['a name of 256 characters', { name: 'a'.repeat(256) }, { name: ['is too long (maximum is 255 characters)'] }],
  ])('refuses %s (CR-10, SEC-17, SEC-63)', async (_, given, message) => {
    await t
      .api('post', '/user/personal_access_tokens', user)
      .send({ name: 'x', scopes: ['api'], ...given })
      .expect(400, { message })
  })

  it('needs a name and scopes (W-20)', async () => {
    await t.api('post', '/user/personal_access_tokens', user).send({}).expect(400, { error: 'name is missing, scopes is missing' })
    await t
      .api('post', '/user/personal_access_tokens', user)
      .send({ name: 'x', scopes: ['api'], expires_at: 'soon' })
      .expect(400, { error: 'expires_at is invalid' })
    await t
      .api('post', '/user/personal_access_tokens')
      .send({ name: 'x', scopes: ['api'] })
      .expect(401)
  })

  it('gives no more than the presented credential holds: sudo only out of sudo, and to administrators', async () => {
    const ask = (caller: { token: string }, scopes: string[]) => t.api('post', '/user/personal_access_tokens', caller).send({ name: 'x', scopes })
    await ask(user, ['sudo']).expect(403, { message: '403 Forbidden' })
    await ask({ token: await aToken(t.ctx, admin, ['api']) }, ['sudo']).expect(403)
    await ask(admin, ['sudo', 'api']).expect(201)
    const grant = await fetch(`${t.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', username: admin.username, password: admin.password }),
    })
    await ask({ token: ((await grant.json()) as { access_token: string }).access_token }, ['sudo']).expect(201)
  })
})

describe('POST /users/:user_id/personal_access_tokens (CR-17, G-75)', () => {
  it('is for administrators', async () => {
    const path = `/users/${user.id}/personal_access_tokens`
    const made = (
      await t
        .api('post', path, admin)
        .send({ name: 'x', scopes: ['api'] })
        .expect(201)
    ).body as Shown
    expect((await t.api('get', '/user', made).expect(200)).body).toMatchObject({ id: user.id })
    await t
      .api('post', path, user)
      .send({ name: 'x', scopes: ['api'] })
      .expect(403, { message: '403 Forbidden' })
    await t
      .api('post', path)
      .send({ name: 'x', scopes: ['api'] })
      .expect(401)
    await t
      .api('post', '/users/999999/personal_access_tokens', admin)
      .send({ name: 'x', scopes: ['api'] })
      .expect(404, { message: '404 User Not Found' })
  })
})

describe('GET /personal_access_tokens (CR-18)', () => {
  it('shows people their own, administrators everybody’s, newest first, and no impersonation or OAuth tokens', async () => {
    const person = await aUser(t.ctx)
    await t.ctx.db.write.insert(tokens).values([
      { user_id: person.id, kind: 'impersonation', name: 'i', digest: digestOf(newSecret()), scopes: ['api'] },
      { user_id: person.id, kind: 'oauth', name: 'o', digest: digestOf(newSecret()), scopes: ['api'] },
    ])
    await create(person, { name: 'second' })
    const names = async (caller: TestUser, query = '') =>
      ((await t.api('get', `/personal_access_tokens${query}`, caller).expect(200)).body as Shown[]).map(({ name }) => name)
    expect(await names(person)).toEqual(['second', 'test'])
    expect(await names(admin, `?user_id=${person.id}`)).toEqual(['second', 'test'])
    expect((await names(admin, '?per_page=100')).length).toBeGreaterThan(3)
    await t.api('get', `/personal_access_tokens?user_id=${person.id}`, user).expect(401, { message: '401 Unauthorized' })
    await t.api('get', '/personal_access_tokens').expect(401)
  })

  it('filters and sorts', async () => {
    const person = await aUser(t.ctx)
    const gone = await create(person, { name: 'Alpha gone' })
    await t.api('delete', `/personal_access_tokens/${gone.id}`, person).expect(204)
    const old = await create(person, { name: 'beta_old' })
    await t.ctx.db.write
      .update(tokens)
      .set({ expires_at: '2020-01-01', created_at: new Date('2019-01-01T00:00:00Z'), last_used_at: new Date('2019-06-01T00:00:00Z') })
      .where(eq(tokens.id, old.id))
    const names = async (query: string) =>
      ((await t.api('get', `/personal_access_tokens?${query}`, person).expect(200)).body as Shown[]).map(({ name }) => name)
    expect(await names('state=active')).toEqual(['test'])
    expect(await names('state=inactive&sort=name_asc')).toEqual(['Alpha gone', 'beta_old'])
    expect(await names('revoked=true')).toEqual(['Alpha gone'])
    expect(await names('revoked=false&sort=created_asc')).toEqual(['beta_old', 'test'])
    expect(await names('search=ETA_')).toEqual(['beta_old'])
    expect(await names('created_before=2019-01-01')).toEqual(['beta_old'])
    expect(await names('created_after=2019-01-02&sort=name_desc')).toEqual(['test', 'Alpha gone'])
    expect(await names('last_used_before=2019-07-01&last_used_after=2019-05-01')).toEqual(['beta_old'])
    expect((await names('sort=expires_asc'))[0]).toBe('beta_old')
    await t
      .api('get', '/personal_access_tokens?state=dead&sort=x', person)
      .expect(400, { error: 'state does not have a valid value, sort does not have a valid value' })
  })
})

describe('GET /personal_access_tokens/:id (CR-19)', () => {
  it('one’s own by id and as self; another’s and none are a 401, to an administrator 200 and 404', async () => {
    const id = await idOf(user.token)
    expect((await t.api('get', `/personal_access_tokens/${id}`, user).expect(200)).body).toMatchObject({ id, user_id: user.id })
    expect((await t.api('get', '/personal_access_tokens/self', user).expect(200)).body).toMatchObject({ id })
    expect((await t.api('get', `/personal_access_tokens/${id}`, admin).expect(200)).body).toMatchObject({ id })
    for (const other of [await idOf(admin.token), 999_999, 'abc', '99999999999'])
      await t.api('get', `/personal_access_tokens/${other}`, user).expect(401, { message: '401 Unauthorized' })
    for (const none of [999_999, 'abc']) await t.api('get', `/personal_access_tokens/${none}`, admin).expect(404)
  })

  it('self is open to every scope but read_user alone (G-21)', async () => {
    for (const scope of ['read_api', 'read_repository', 'write_repository'] as const)
      await t.api('get', '/personal_access_tokens/self', { token: await aToken(t.ctx, user, [scope]) }).expect(200)
    await t.api('get', '/personal_access_tokens/self', { token: await aToken(t.ctx, user, ['read_user']) }).expect(403)
    await t.api('get', `/personal_access_tokens/${await idOf(user.token)}`, { token: await aToken(t.ctx, user, ['write_repository']) }).expect(403)
  })
})

describe('POST /personal_access_tokens/:id/rotate (CR-20)', () => {
  it('makes a new one of the same name and scopes, good for a week, and revokes the old', async () => {
    const old = await create(user, { name: 'rotating', scopes: ['read_api'] })
    const fresh = (await t.api('post', `/personal_access_tokens/${old.id}/rotate`, user).expect(200)).body as Shown
    expect(fresh).toMatchObject({ name: 'rotating', scopes: ['read_api'], expires_at: day(7), active: true })
    await t.api('get', '/user', old).expect(401)
    await t.api('get', '/user', fresh).expect(200)
    await t.api('post', `/personal_access_tokens/${old.id}/rotate`, user).expect(401)
    const again = (
      await t
        .api('post', '/personal_access_tokens/self/rotate', { token: (await create(user)).token })
        .send({ expires_at: '2099-05-06' })
        .expect(200)
    ).body as Shown
    expect(again.expires_at).toBe('2099-05-06')
  })

  it('is a 401 for another’s token and for an expired one', async () => {
    await t.api('post', `/personal_access_tokens/${await idOf(admin.token)}/rotate`, user).expect(401)
    const old = await create(user)
    await t.ctx.db.write.update(tokens).set({ expires_at: '2020-01-01' }).where(eq(tokens.id, old.id))
    await t.api('post', `/personal_access_tokens/${old.id}/rotate`, user).expect(401)
    await t.api('post', '/personal_access_tokens/999999/rotate', admin).expect(404)
  })

  it('a token prolongs neither itself nor another of its user, nor makes one that outlives it (CR-22)', async () => {
    const old = await create(user, { expires_at: day(3) })
    const refusal = { message: { expires_at: [`cannot be after ${day(3)}, when the token of this call expires`] } }
    const rotate = (id: number | string, expires_at?: string) =>
      t.api('post', `/personal_access_tokens/${id}/rotate`, old).send(expires_at === undefined ? {} : { expires_at })
    const other = await create(user)
    for (const id of ['self', old.id, other.id]) await rotate(id, day(4)).expect(400, refusal)
    const given = { name: 'longer', scopes: ['read_api'] }
    const make = (expires_at?: string) => t.api('post', '/user/personal_access_tokens', old).send({ ...given, expires_at })
    await make(day(4)).expect(400, refusal)
    expect((await make().expect(201)).body).toMatchObject({ expires_at: day(3) })
    expect((await make(day(2)).expect(201)).body).toMatchObject({ expires_at: day(2) })
    expect((await rotate(other.id).expect(200)).body).toMatchObject({ expires_at: day(3) })
    expect((await rotate('self').expect(200)).body).toMatchObject({ expires_at: day(3) })
    // a token without expiry may do so
    const soon = await create(user, { expires_at: day(3) })
    expect(
      (
        await t
          .api('post', `/personal_access_tokens/${soon.id}/rotate`, user)
          .send({ expires_at: day(30) })
          .expect(200)
      ).body,
    ).toMatchObject({ expires_at: day(30) })
  })

  it('two at once make one', async () => {
    const old = await create(user)
    const answers = await Promise.all([1, 2, 3, 4].map(() => t.api('post', `/personal_access_tokens/${old.id}/rotate`, user)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
  })
})

describe('DELETE /personal_access_tokens/:id (CR-21)', () => {
  it('revokes and keeps the row; twice is a 400; binds at once', async () => {
    const made = await create(user)
    await t.api('delete', `/personal_access_tokens/${made.id}`, user).expect(204)
    expect((await t.api('get', `/personal_access_tokens/${made.id}`, user).expect(200)).body).toMatchObject({ revoked: true, active: false })
    await t.api('get', '/user', made).expect(401)
    await t.api('delete', `/personal_access_tokens/${made.id}`, user).expect(400)
    const self = await create(user)
    await t.api('delete', '/personal_access_tokens/self', self).expect(204)
    await t.api('get', '/user', self).expect(401)
  })

  it('another’s is a 401, an absent one a 404 to an administrator, who may revoke any', async () => {
    await t.api('delete', `/personal_access_tokens/${await idOf(admin.token)}`, user).expect(401)
    await t.api('delete', '/personal_access_tokens/999999', admin).expect(404)
    await t.api('delete', `/personal_access_tokens/${(await create(user)).id}`, admin).expect(204)
  })
})
