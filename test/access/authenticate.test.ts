import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Scope } from '../../src/access/scopes.js'
import { tokens, users } from '../../src/db/schema/index.js'
import { digestOf, newSecret } from '../../src/lib/crypto/secret.js'
import { families } from '../../src/routes/index.js'
import { testApp } from '../support/app.js'
import { anAdmin, aProject, aToken, aUser, type TestUser } from '../support/factories.js'

const t = testApp()
let admin: TestUser
let user: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
})

const whoIs = (body: unknown) => (body as { username?: string }).username
const day = (offset: number) => new Date(t.ctx.now().getTime() + offset * 86_400_000).toISOString().slice(0, 10)
const change = (token: string, values: Partial<typeof tokens.$inferInsert>) =>
  t.ctx.db.write
    .update(tokens)
    .set(values)
    .where(eq(tokens.digest, digestOf(token)))
/** Every way a token comes in (SEC-12). */
const CARRIERS: Record<string, (token: string) => ReturnType<typeof t.api>> = {
  'PRIVATE-TOKEN': (token) => t.api('get', '/user').set('PRIVATE-TOKEN', token),
  'private-token in another case': (token) => t.api('get', '/user').set('pRiVaTe-ToKeN', token),
  Bearer: (token) => t.api('get', '/user').set('Authorization', `Bearer ${token}`),
  'bearer in another case': (token) => t.api('get', '/user').set('authorization', `bearer  ${token}`),
  access_token: (token) => t.api('get', `/user?access_token=${token}`),
  private_token: (token) => t.api('get', `/user?private_token=${token}`),
}

describe('sources of a token (G-12, CR-5, CR-6)', () => {
  it.each(Object.keys(CARRIERS))('%s', async (name) => {
    expect(whoIs((await CARRIERS[name]?.(user.token).expect(200))?.body)).toBe(user.username)
  })

  it('the body of a write is a place too, in each of its types', async () => {
    const own = await aProject(t.ctx, { creator: user })
    for (const type of ['form', 'json'] as const)
      await t.api('put', own.path).type(type).send({ private_token: user.token, description: type }).expect(200)
    await t.api('put', own.path).field('access_token', user.token).field('description', 'multipart').expect(200)
  })

  it('every kind of token is taken in each place (G-12, CR-5)', async () => {
    const value = newSecret()
    await t.ctx.db.write.insert(tokens).values({ user_id: user.id, kind: 'impersonation', name: 'i', digest: digestOf(value), scopes: ['api'] })
    const grant = await fetch(`${t.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', username: user.username, password: user.password }),
    })
    const { access_token } = (await grant.json()) as { access_token: string }
    for (const token of [value, access_token])
      for (const carry of Object.values(CARRIERS)) expect(whoIs((await carry(token).expect(200)).body)).toBe(user.username)
  })

  it('the first place that holds one decides: Bearer, access_token, private_token, PRIVATE-TOKEN', async () => {
    const call = (query: string) => t.api('get', `/user?${query}`)
    expect(whoIs((await call(`private_token=${admin.token}`).set('PRIVATE-TOKEN', user.token).expect(200)).body)).toBe(admin.username)
    expect(whoIs((await call(`access_token=${admin.token}&private_token=${user.token}`).expect(200)).body)).toBe(admin.username)
    expect(whoIs((await call(`access_token=${user.token}`).set('Authorization', `Bearer ${admin.token}`).expect(200)).body)).toBe(admin.username)
    await call('private_token=wrong').set('PRIVATE-TOKEN', user.token).expect(401)
  })

  it('blank values count as absent', async () => {
    expect(
      whoIs(
        (await t.api('get', '/user?access_token=&private_token=%20').set('Authorization', 'Bearer').set('PRIVATE-TOKEN', user.token).expect(200))
          .body,
      ),
    ).toBe(user.username)
    await t.api('get', '/projects').set('PRIVATE-TOKEN', ' ').expect(200)
  })

  it('a value that is no text is a bad credential, not a missing one (SEC-11)', async () => {
    for (const query of ['private_token[]=x', 'access_token[a]=x', 'private_token=5']) await t.api('get', `/projects?${query}`).expect(401)
  })

  it('HTTP Basic and job tokens are no credentials here (CR-6)', async () => {
    const basic = `Basic ${Buffer.from(`${user.username}:${user.password}`).toString('base64')}`
    await t.api('get', '/projects').set('Authorization', basic).expect(401, { message: '401 Unauthorized' })
    await t.api('get', '/projects').set('JOB-TOKEN', user.token).expect(401)
    await t.api('get', '/user', user).set('JOB-TOKEN', 'x').expect(200)
  })

  it('neither identity headers nor cookies authenticate (SEC-28, SEC-29)', async () => {
    await t
      .api('get', '/user')
      .set('X-Forwarded-User', admin.username)
      .set('Remote-User', admin.username)
      .set('X-WebAuth-User', admin.username)
      .set('Cookie', `private_token=${admin.token}; _session=${admin.token}`)
      .expect(401)
  })
})

describe('a bad credential (G-13 to G-18, SEC-11 to SEC-15)', () => {
  it('none where one is needed (G-13, G-30, W-23)', async () => {
    await t.api('get', '/user').expect(401, { message: '401 Unauthorized' })
    expect((await t.api('get', '/user')).headers['www-authenticate']).toBeUndefined()
  })

  it('an unknown one is a 401 also where none is needed (G-14, SEC-11)', async () => {
    for (const path of ['/user', '/projects', '/groups', '/users?username=x'])
      await t.api('get', path, { token: 'unknown' }).expect(401, { message: '401 Unauthorized' })
  })

  const revoked = { error: 'invalid_token', error_description: 'Token was revoked. You have to re-authorize from the user.' }
  const expired = { error: 'invalid_token', error_description: 'Token is expired. You can either do re-authorization or token refresh.' }

  it.each(Object.keys(CARRIERS))('revoked and expired through %s (G-15, G-16, W-24, SEC-12)', async (name) => {
    const carry = CARRIERS[name] as (token: string) => ReturnType<typeof t.api>
    const token = await aToken(t.ctx, user, ['api'])
    await change(token, { revoked: true })
    const challenge = (description: string) => `Bearer realm="Protected by OAuth 2.0", error="invalid_token", error_description="${description}"`
    await carry(token).expect(401, revoked).expect('www-authenticate', challenge(revoked.error_description))
    await change(token, { expires_at: '2020-01-01' })
    await carry(token).expect(401, expired).expect('www-authenticate', challenge(expired.error_description))
  })

  it('good until the day before, and not on the day (G-16, CR-8, SEC-13)', async () => {
    const token = await aToken(t.ctx, user, ['api'])
    for (const [expires_at, status] of [
      [day(1), 200],
      [day(0), 401],
      [day(-1), 401],
    ] as const) {
      await change(token, { expires_at })
      await t.api('get', '/projects', { token }).expect(status)
    }
  })

  it('blocking binds from the next request on, unblocking restores (G-17, W-27, AC-9, SEC-14, SEC-15)', async () => {
    const person = await aUser(t.ctx)
    const own = await aProject(t.ctx, { creator: person })
    const state = (value: 'active' | 'blocked' | 'ldap_blocked') => t.ctx.db.write.update(users).set({ state: value }).where(eq(users.id, person.id))
    await t.api('get', '/user', person).expect(200)
    for (const value of ['blocked', 'ldap_blocked'] as const) {
      await state(value)
      for (const path of ['/user', '/projects', own.path])
        await t.api('get', path, person).expect(403, { message: '403 Forbidden - User is blocked' })
      const git = await fetch(`${t.url}/${own.fullPath}.git/info/refs?service=git-upload-pack`, {
        headers: { authorization: `Basic ${Buffer.from(`x:${person.token}`).toString('base64')}` },
      })
      expect(git.status).toBe(403)
    }
    await state('active')
    await t.api('get', own.path, person).expect(200)
  })

  it('the ghost’s token opens nothing (G-17, G-70)', async () => {
    const ghost = await aUser(t.ctx)
    await t.ctx.db.write.update(users).set({ kind: 'ghost' }).where(eq(users.id, ghost.id))
    await t.api('get', '/user', ghost).expect(403, { message: '403 Forbidden - User is blocked' })
  })

  it('an expired password or an unconfirmed address does not stop a token (G-18)', async () => {
    const person = await aUser(t.ctx, { skip_confirmation: false })
    await t.ctx.db.write.update(users).set({ password_expired: true }).where(eq(users.id, person.id))
    expect((await t.api('get', '/user', person).expect(200)).body).toMatchObject({ confirmed_at: null })
  })

  it('the same token fares the same on Git over HTTP (SEC-12)', async () => {
    const own = await aProject(t.ctx, { creator: user })
    const git = (token: string) =>
      fetch(`${t.url}/${own.fullPath}.git/info/refs?service=git-upload-pack`, {
        headers: { authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` },
      })
    const token = await aToken(t.ctx, user, ['api'])
    expect((await git(token)).status).toBe(200)
    await change(token, { expires_at: day(0) })
    expect((await git(token)).status).toBe(401)
    await change(token, { expires_at: null, revoked: true })
    expect((await git(token)).status).toBe(401)
  })
})

describe('values (G-20, CR-7, SEC-21 to SEC-23)', () => {
  it('twenty characters of sixty-four, the first a letter, never the same twice', () => {
    const made = new Set(Array.from({ length: 100_000 }, () => newSecret()))
    expect(made.size).toBe(100_000)
    for (const value of made) if (!/^[A-Za-z][A-Za-z0-9_-]{19}$/.test(value)) expect.fail(value)
    expect(new Set([...made].join('')).size).toBe(64)
  })

  it('a token is looked up by its digest: no query holds it, nor a part of it (SEC-22)', async () => {
    const { token } = user
    const queries = await t.queriesOf(() => t.api('get', '/user', { token }).expect(200))
    expect(queries.join('\n')).not.toContain(token)
    expect(queries.filter((text) => text.includes('"tokens"."digest" ='))).toHaveLength(1)
    // one character less is as unknown as any other text
    await t.api('get', '/user', { token: token.slice(0, -1) }).expect(401, { message: '401 Unauthorized' })
  })

  it('the database keeps neither token nor password', async () => {
    const dump = JSON.stringify([await t.ctx.db.read.select().from(tokens), await t.ctx.db.read.select().from(users)])
    expect(dump).toContain(digestOf(user.token))
    for (const secret of [user.token, admin.token, user.password]) expect(dump).not.toContain(secret)
  })

  it('the last use is written down, at most once in ten minutes (CR-9)', async () => {
    const token = await aToken(t.ctx, user, ['api'])
    const lastUse = async () => {
      await t.api('get', '/user', { token }).expect(200)
      await t.ctx.jobs.drain()
      return (
        await t.ctx.db.write
          .select()
          .from(tokens)
          .where(eq(tokens.digest, digestOf(token)))
      )[0]?.last_used_at
    }
    const before = new Date()
    const first = (await lastUse()) as Date
    expect(before <= first && first <= new Date()).toBe(true)
    expect(await lastUse()).toEqual(first)
    const long = new Date(Date.now() - 601_000)
    await change(token, { last_used_at: long })
    expect((await lastUse())?.getTime()).toBeGreaterThan(long.getTime())
  })

  it('a token without recorded scopes counts as api (G-19)', async () => {
    const token = await aToken(t.ctx, user, ['read_user'])
    await change(token, { scopes: [] })
    await t.api('get', '/projects', { token }).expect(200)
  })
})

describe('scopes (G-21 to G-23, CR-10, CR-11, section 3.3)', () => {
  const insufficient = (scope: string) => ({
    error: 'insufficient_scope',
    error_description: 'The request requires higher privileges than provided by the access token.',
    scope,
  })

  it('read_user opens GET of the user routes and nothing else of the whole table (SEC-16, G-9, G-21, G-22, G-23, W-25)', async () => {
    const token = await aToken(t.ctx, admin, ['read_user'])
    let walked = 0
    for (const { method, path } of families.flat()) {
      const users = /^\/users?(\/|$)/.test(path)
      const url = path
        .replace(/:user_id/g, String(user.id))
        .replace(/:id\(\^\\d\+\$\)/, String(user.id))
        .replace(/:[a-z_]+/g, '1')
      for (const asked of method === 'GET' ? (['GET', 'HEAD'] as const) : [method]) {
        const response = await t.app.inject({ method: asked, url: `/api/v4${url}`, headers: { 'private-token': token } })
        walked++
        // let in: what is asked for may be missing
        if (asked === 'GET' && users) expect([200, 404], `${url} ${response.statusCode}`).toContain(response.statusCode)
        else {
          expect([asked, url, response.statusCode]).toEqual([asked, url, 403])
          if (asked !== 'HEAD') expect(response.json()).toEqual(insufficient(users ? 'read_user api' : 'api'))
          expect(response.headers['www-authenticate']).toBeUndefined()
        }
      }
    }
    expect(walked).toBeGreaterThan(80)
  })

  it('read_api opens GET and HEAD of everything and no write', async () => {
    const token = await aToken(t.ctx, user, ['read_api'])
    const own = await aProject(t.ctx, { creator: user })
    for (const method of ['get', 'head'] as const)
      for (const path of ['/user', '/projects', own.path, '/groups', '/version']) await t.api(method, path, { token }).expect(200)
    await t.api('put', own.path, { token }).send({ description: 'x' }).expect(403, insufficient('api'))
    await t.api('post', '/users', { token }).send({}).expect(403, insufficient('read_user api'))
  })

  it('read_repository opens GET of files and trees, of nothing beside', async () => {
    const own = await aProject(t.ctx, { creator: user, files: { 'a.txt': 'a' } })
    const token = await aToken(t.ctx, user, ['read_repository'])
    for (const path of ['/repository/tree', '/repository/files/a.txt?ref=main', '/repository/files/a.txt/raw?ref=main'])
      await t.api('get', own.path + path, { token }).expect(200)
    for (const path of ['', '/repository/branches', '/members']) await t.api('get', own.path + path, { token }).expect(403, insufficient('api'))
    await t.api('delete', `${own.path}/repository/files/a.txt`, { token }).send({ branch: 'main', commit_message: 'x' }).expect(403)
  })

  it('public data needs no token, but one that is sent must suffice (CR-11)', async () => {
    const open = await aProject(t.ctx, { visibility: 'public' })
    await t.api('get', open.path).expect(200)
    await t.api('get', open.path, { token: await aToken(t.ctx, user, ['write_repository']) }).expect(403, insufficient('api'))
  })

  it('an impersonation token of an administrator that may read users cannot write (SEC-19)', async () => {
    const value = newSecret()
    await t.ctx.db.write
      .insert(tokens)
      .values({ user_id: admin.id, kind: 'impersonation', name: 'i', digest: digestOf(value), scopes: ['read_user'] })
    await t.api('get', `/users/${user.id}`, { token: value }).expect(200)
    await t.api('post', '/users', { token: value }).send({}).expect(403)
  })
})

describe('sudo (G-24 to G-28, CR-14, W-10, SEC-20)', () => {
  it('by parameter, in the query and in the body, and by header; by id and by username, whatever its case', async () => {
    for (const name of [String(user.id), user.username, user.username.toUpperCase()]) {
      expect(whoIs((await t.api('get', `/user?sudo=${name}`, admin).expect(200)).body)).toBe(user.username)
      expect(whoIs((await t.api('get', '/user', admin).set('Sudo', name).expect(200)).body)).toBe(user.username)
    }
    const other = await aUser(t.ctx)
    expect(whoIs((await t.api('get', `/user?sudo=${user.id}`, admin).set('SUDO', other.username).expect(200)).body)).toBe(user.username)
    expect(whoIs((await t.api('get', '/user?sudo=', admin).set('SUDO', other.username).expect(200)).body)).toBe(other.username)
    const { body } = await t
      .api('post', '/projects', admin)
      .send({ name: `bysudo${user.id}`, sudo: user.username })
      .expect(201)
    expect(body).toMatchObject({ creator_id: user.id, namespace: { path: user.username }, owner: { id: user.id } })
  })

  it('rights, authorship and views are the target’s, the scope check is not repeated, and a blocked target is no obstacle (G-28)', async () => {
    const hidden = await aProject(t.ctx)
    await t.api('get', hidden.path, admin).expect(200)
    await t.api('get', `${hidden.path}?sudo=${user.id}`, admin).expect(404)
    await t
      .api('post', `/users?sudo=${user.id}`, admin)
      .send({ email: 'a@example.com', name: 'a', username: 'abc', password: 'password' })
      .expect(403)
    expect((await t.api('get', `/user?sudo=${user.id}`, admin).expect(200)).body).not.toHaveProperty('is_admin')
    const second = await anAdmin(t.ctx)
    expect((await t.api('get', `/user?sudo=${second.id}`, admin).expect(200)).body).toMatchObject({ is_admin: true })
    const blocked = await aUser(t.ctx, { state: 'blocked' })
    await t.api('get', `/user?sudo=${blocked.id}`, admin).expect(200)
  })

  it('both identities are logged (SEC-20)', async () => {
    const from = t.logged.length
    await t.api('get', `/user?sudo=${user.id}`, admin).expect(200)
    const line = t.logged.slice(from).find((text) => text.includes('"request"')) ?? ''
    expect(JSON.parse(line)).toMatchObject({ user: user.username, sudoer: admin.username })
  })

  it('without a credential 401, not an administrator 403 (G-25)', async () => {
    await t.api('get', `/user?sudo=${user.id}`).expect(401, { message: '401 Unauthorized' })
    await t.api('get', `/projects?sudo=${user.id}`).expect(401)
    await t.api('get', `/user?sudo=${admin.id}`, user).expect(403, { message: '403 Forbidden - Must be admin to use sudo' })
  })

  it('needs a token with sudo or api; on GET /user whatever opens it (G-26)', async () => {
    const withScopes = async (...scopes: Scope[]) => ({ token: await aToken(t.ctx, admin, scopes) })
    for (const scopes of [['read_user'], ['read_api'], ['api'], ['read_user', 'sudo']] as const) {
      const { body } = await t.api('get', `/user?sudo=${user.id}`, await withScopes(...scopes)).expect(200)
      expect([scopes, body.username, body.is_admin]).toEqual([scopes, user.username, undefined])
    }
    const refusal = {
      error: 'insufficient_scope',
      error_description: 'The request requires higher privileges than provided by the access token.',
      scope: 'sudo',
    }
    for (const path of ['/user/keys', `/users/${user.id}`, '/users'])
      await t.api('get', `${path}?sudo=${user.id}`, await withScopes('read_user')).expect(403, refusal)
    await t.api('get', `/projects?sudo=${user.id}`, await withScopes('read_api')).expect(403, refusal)
    await t
      .api('get', `/user?sudo=${user.id}`, { token: await aToken(t.ctx, user, ['read_user']) })
      .expect(403, { message: '403 Forbidden - Must be admin to use sudo' })
  })

  it('an unknown target (G-27)', async () => {
    for (const name of ['no-such-user', '999999', '99999999999999999999', "x' or 1=1 --"]) {
      await t.api('get', `/user?sudo=${encodeURIComponent(name)}`, admin).expect(404, { message: `404 User with ID or username '${name}' Not Found` })
    }
    for (const query of ['sudo[]=x', 'sudo[a]=x']) await t.api('get', `/user?${query}`, admin).expect(400, { error: 'sudo is invalid' })
  })

  it('it works on every endpoint, never half applied (W-10)', async () => {
    const own = await aProject(t.ctx, { creator: user })
    for (const { method, path } of families.flat()) {
      if (method !== 'GET') continue
      const url = path
        .replace('/projects/:id', own.path)
        .replace(/:user_id/g, String(user.id))
        .replace(/:id\(\^\\d\+\$\)/, String(user.id))
        .replace('/personal_access_tokens/:id', '/personal_access_tokens/self')
        .replace(/:[a-z_]+/g, '1')
      const status = async ({ token }: TestUser, query: string) =>
        (await t.app.inject({ url: `/api/v4${url}${query}`, headers: { 'private-token': token } })).statusCode
      expect([url, await status(admin, `?sudo=${user.id}`)]).toEqual([url, await status(user, '')])
    }
  })
})

describe('a change takes effect with the next request (AC-15, SEC-14, SEC-41)', () => {
  it('membership, visibility and share', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner })
    const sees = async () => [
      (await t.api('get', project.path, user)).status,
      ((await t.api('get', '/projects?per_page=100', user)).body as { id: number }[]).some(({ id }) => id === project.id),
    ]
    expect(await sees()).toEqual([404, false])
    await t.api('post', `${project.path}/members`, owner).send({ user_id: user.id, access_level: 10 }).expect(201)
    expect(await sees()).toEqual([200, true])
    await t.api('delete', `${project.path}/members/${user.id}`, owner).expect(204)
    expect(await sees()).toEqual([404, false])
    await t.api('put', project.path, owner).send({ visibility: 'internal' }).expect(200)
    expect(await sees()).toEqual([200, true])
    await t.api('put', project.path, owner).send({ visibility: 'private' }).expect(200)
    expect(await sees()).toEqual([404, false])
  })
})
