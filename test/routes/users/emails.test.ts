import { beforeAll, describe, expect, it } from 'vitest'
import { emails } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let user: TestUser
let other: TestUser

interface Shown {
  id: number
  email: string
}

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
  other = await aUser(t.ctx)
})

const clear = () => t.ctx.db.write.delete(emails)
const add = (caller: TestUser, email: string, path = '/user/emails') => t.api('post', path, caller).send({ email })
const added = async (...given: Parameters<typeof add>) => (await add(...given).expect(201)).body as Shown

describe('e-mail addresses: permissions (K-1, K-2)', () => {
  it('users get their own, administrators all', async () => {
    await clear()
    const mine = await added(user, 'mine@example.org')
    const theirs = await added(admin, 'theirs@example.org', `/users/${other.id}/emails`)
    // K-17, K-19: the primary one is not among them, the new one is
    expect((await t.api('get', '/user/emails', user).expect(200)).body).toEqual([mine])
    expect((await t.api('get', `/users/${other.id}/emails`, admin).expect(200)).body).toEqual([theirs])
    expect((await t.api('get', `/user/emails/${mine.id}`, user).expect(200)).body).toEqual({ id: mine.id, email: 'mine@example.org' })
    const missing = { message: '404 Email Not Found' }
    for (const caller of [user, admin]) {
      await t.api('get', `/user/emails/${theirs.id}`, caller).expect(404, missing)
      await t.api('delete', `/user/emails/${theirs.id}`, caller).expect(404, missing)
    }
    await t.api('delete', `/users/${user.id}/emails/${theirs.id}`, admin).expect(404, missing)
    await t.api('delete', `/users/${other.id}/emails/${theirs.id}`, admin).expect(204)
    await t.api('delete', `/user/emails/${mine.id}`, user).expect(204)
    expect(await t.ctx.db.read.$count(emails)).toBe(0)
  })

  it.each([
    ['get', '/user/emails', '/users/1/emails'],
    ['post', '/user/emails', '/users/1/emails'],
    ['delete', '/user/emails/1', '/users/1/emails/1'],
  ] as const)('%s %s: 401 without a token; %s 403 for others than administrators', async (method, own, theirs) => {
    for (const path of [own, theirs]) await t.api(method, path).send({ email: 'x@example.org' }).expect(401, { message: '401 Unauthorized' })
    await t.api(method, theirs, user).send({ email: 'x@example.org' }).expect(403, { message: '403 Forbidden' })
    await t.api(method, theirs.replace('/1/', '/999999/'), admin).send({ email: 'x@example.org' }).expect(404, { message: '404 User Not Found' })
  })

  it('an id is a number (G-3)', async () => {
    await t.api('get', '/user/emails/abc', user).expect(400, { error: 'email_id is invalid' })
    await t.api('get', '/user/emails/1').expect(401, { message: '401 Unauthorized' })
  })
})

describe('e-mail addresses: adding (K-3, K-17, K-18)', () => {
  it('stores it trimmed and in small letters, unconfirmed', async () => {
    await clear()
    const made = await added(user, '  Second@Example.ORG ')
    expect(made).toEqual({ id: made.id, email: 'second@example.org' })
    expect((await t.ctx.db.read.select().from(emails))[0]?.confirmed_at).toBeNull()
  })

  it.each([
    ['', "can't be blank"],
    ['  ', "can't be blank"],
    ['unknown', 'is invalid'],
    ['a@b@c', 'is invalid'],
    ['@example.org', 'is invalid'],
    ['a@', 'is invalid'],
    ['a b@example.org', 'is invalid'],
    ['a@exam\nple.org', 'is invalid'],
    [`${'a'.repeat(243)}@example.org`, 'is invalid'],
  ])('refuses %j: %s (SEC-62, SEC-63)', async (email, text) => {
    await clear()
    await add(user, email).expect(400, { message: { email: [text] } })
    expect(await t.ctx.db.read.$count(emails)).toBe(0)
  })

  it('main and confirmed addresses of any user are taken, and all of the own account, in any case (K-18, SEC-126)', async () => {
    await clear()
    await added(other, 'second@example.org')
    await t.ctx.db.write.update(emails).set({ confirmed_at: t.ctx.now() })
    await added(other, 'claimed@example.org')
    await added(user, `${'a'.repeat(242)}@example.org`)
    await added(user, 'claimed@example.org')
    for (const email of ['SECOND@example.org', 'Claimed@example.org', user.email, other.email.toUpperCase()])
      await add(user, email).expect(400, { message: { email: ['has already been taken'] } })
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => add(i % 2 ? user : other, 'race@example.org')))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, ...Array(8).fill(400)])
    await t.api('post', '/user/emails', user).send({}).expect(400, { error: 'email is missing' })
  })

  it('keeps what changed since (K-4, G-89)', async () => {
    await clear()
    const { id } = await added(user, 'kept@example.org')
    await t.api('delete', `/user/emails/${id}`, user).set('If-Unmodified-Since', 'Mon, 01 Jan 2018 00:00:00 GMT').expect(412)
    await t.api('delete', `/users/${user.id}/emails/${id}`, admin).set('If-Unmodified-Since', 'Mon, 01 Jan 2018 00:00:00 GMT').expect(412)
    await t.api('delete', `/user/emails/${id}`, user).set('If-Unmodified-Since', 'Thu, 01 Jan 2099 00:00:00 GMT').expect(204)
  })
})
