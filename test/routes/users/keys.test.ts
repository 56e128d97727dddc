import { readFileSync } from 'node:fs'
import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { sshKeys } from '../../../src/db/schema/index.js'
import type { Settings } from '../../../src/services/core/settings.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aUser, setSettings, type TestUser } from '../../support/factories.js'

const KEYS = JSON.parse(readFileSync(new URL('../../support/keys/ssh-keys.json', import.meta.url), 'utf8')) as {
  name: string
  bits: number
  fingerprint: string
  line: string
}[]
const keyOf = (name: string, bits?: number) => KEYS.find((key) => key.name === name && (bits === undefined || key.bits === bits)) as (typeof KEYS)[0]
const ed25519 = keyOf('ssh-ed25519').line

const t = testApp()
let admin: TestUser
let user: TestUser
let other: TestUser

interface Shown {
  id: number
  title: string
  key: string
}

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
  other = await aUser(t.ctx)
})

const clear = () => t.ctx.db.write.delete(sshKeys)
const add = (caller: TestUser, key = ed25519, title = 'laptop', path = '/user/keys') => t.api('post', path, caller).send({ title, key })
const added = async (...given: Parameters<typeof add>) => (await add(...given).expect(201)).body as Shown

describe('SSH keys: when they expire', () => {
  it.each(['0001-02-03T04:05:06.789Z', '0016-03-05T04:54:46.591Z', '0070-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'])(
    '%s is read back as it was given (SEC-59, SEC-152)',
    async (expires_at) => {
      await clear()
      const { body } = await t.api('post', '/user/keys', user).send({ title: 'old', key: ed25519, expires_at }).expect(201)
      expect((await t.api('get', `/keys/${body.id}`, admin).expect(200)).body).toMatchObject({ expires_at })
    },
  )
})

describe('SSH keys: permissions (K-1, K-2)', () => {
  it('users get their own, administrators all', async () => {
    await clear()
    const mine = await added(user)
    const theirs = await added(admin, keyOf('ssh-rsa', 2048).line, 'work', `/users/${other.id}/keys`)
    expect((await t.api('get', '/user/keys', user).expect(200)).body).toEqual([mine])
    expect((await t.api('get', `/users/${other.id}/keys`, admin).expect(200)).body).toEqual([theirs])
    expect((await t.api('get', `/user/keys/${theirs.id}`, other).expect(200)).body).toEqual(theirs)
    const missing = { message: '404 Key Not Found' }
    for (const caller of [user, admin]) {
      await t.api('get', `/user/keys/${theirs.id}`, caller).expect(404, missing)
      await t.api('delete', `/user/keys/${theirs.id}`, caller).expect(404, missing)
    }
    expect((await t.api('get', `/users/${other.id}/keys/${theirs.id}`, admin).expect(200)).body).toEqual(theirs)
    // under a user, only that user's (SEC-31)
    await t.api('get', `/users/${user.id}/keys/${theirs.id}`, admin).expect(404, missing)
    await t.api('delete', `/users/${user.id}/keys/${theirs.id}`, admin).expect(404, missing)
    await t.api('delete', `/users/${other.id}/keys/${theirs.id}`, admin).expect(204)
    await t.api('delete', `/user/keys/${mine.id}`, user).expect(204)
    await t.api('delete', `/user/keys/${mine.id}`, user).expect(404, missing)
    expect((await t.api('get', '/user/keys', user).expect(200)).body).toEqual([])
  })

  it.each([
    ['get', '/user/keys'],
    ['post', '/user/keys'],
    ['get', '/user/keys/1'],
    ['delete', '/user/keys/1'],
    ['get', '/users/1/keys'],
    ['get', '/users/1/keys/1'],
    ['post', '/users/1/keys'],
    ['delete', '/users/1/keys/1'],
  ] as const)('%s %s without a token: 401', async (method, path) => {
    await t.api(method, path).send({ title: 'x', key: ed25519 }).expect(401, { message: '401 Unauthorized' })
  })

  it("by id for administrators only, even the caller's own", async () => {
    const forbidden = { message: '403 Forbidden' }
    for (const id of [user.id, other.id]) {
      await t.api('get', `/users/${id}/keys`, user).expect(403, forbidden)
      await t.api('get', `/users/${id}/keys/1`, user).expect(403, forbidden)
      await t.api('post', `/users/${id}/keys`, user).send({ title: 'x', key: ed25519 }).expect(403, forbidden)
      await t.api('delete', `/users/${id}/keys/1`, user).expect(403, forbidden)
    }
    const missing = { message: '404 User Not Found' }
    await t.api('get', '/users/999999/keys', admin).expect(404, missing)
    await t.api('post', '/users/999999/keys', admin).send({ title: 'x', key: ed25519 }).expect(404, missing)
    await t.api('delete', '/users/999999/keys/1', admin).expect(404, missing)
    // the parameters come first (G-11)
    await t.api('post', '/users/999999/keys', admin).send({}).expect(400, { error: 'key is missing, title is missing' })
    await t.api('post', `/users/${other.id}/keys`, user).send({ title: 'x' }).expect(400, { error: 'key is missing' })
    await t.api('get', '/users/abc/keys', admin).expect(404, { error: '404 Not Found' })
    await t.api('get', '/user/keys/abc', user).expect(400, { error: 'key_id is invalid' })
    await t.api('delete', '/user/keys/99999999999', user).expect(404, { message: '404 Key Not Found' })
  })
})

describe('SSH keys: adding (K-3, K-5 to K-10)', () => {
  it.each(KEYS)('takes $name of $bits bits', async ({ line, fingerprint }) => {
    await clear()
    const made = await added(user, line, 'my key')
    expect(made).toEqual({ id: made.id, title: 'my key', key: line, created_at: expect.stringMatching(/^\d{4}-.*Z$/) })
    const [row] = await t.ctx.db.read.select().from(sshKeys).where(eq(sshKeys.id, made.id))
    expect(row?.fingerprint).toBe(fingerprint)
  })

  it('line breaks inside go, white space around too (K-6)', async () => {
    await clear()
    const broken = `  ${ed25519.slice(0, 30)}\r\n${ed25519.slice(30, 50)}\n${ed25519.slice(50)}\n`
    expect((await added(user, broken)).key).toBe(ed25519)
  })

  it('names missing parameters (K-5)', async () => {
    await t.api('post', '/user/keys', user).send({}).expect(400, { error: 'key is missing, title is missing' })
    await t.api('post', '/user/keys', user).send({ key: ed25519 }).expect(400, { error: 'title is missing' })
  })

  const FORBIDDEN = 'type is forbidden. Must be RSA, DSA, ECDSA, or ED25519'
  it.each([
    ['a blank title', ed25519, ' ', { title: ["can't be blank"] }],
    ['a title of 256 characters', ed25519, 'é'.repeat(256), { title: ['is too long (maximum is 255 characters)'] }],
    ['a blank key', '', 'x', { key: ["can't be blank", 'is invalid', FORBIDDEN], fingerprint: ['cannot be generated'] }],
    ['no key at all (K-9)', 'hello', 'x', { key: ['is invalid', FORBIDDEN], fingerprint: ['cannot be generated'] }],
    ['a broken key with the right beginning (K-9)', 'ssh-rsa AAAA', 'x', { key: [FORBIDDEN], fingerprint: ['cannot be generated'] }],
    [
      'a key of 5,001 characters',
      `${ed25519} ${'x'.repeat(5_000 - ed25519.length)}`,
      'x',
      { key: ['is too long (maximum is 5000 characters)', FORBIDDEN], fingerprint: ['cannot be generated'] },
    ],
  ])('refuses %s (K-7)', async (_, key, title, message) => {
    await clear()
    await add(user, key, title).expect(400, { message })
    expect(await t.ctx.db.read.$count(sshKeys)).toBe(0)
  })

  it('a key of 5,000 characters and a title of 255 are taken (K-7, SEC-63)', async () => {
    await clear()
    await added(user, `${ed25519} ${'x'.repeat(5_000 - ed25519.length - 1)}`, 'é'.repeat(255))
  })

  it('a key is the same with any comment, and for any user (K-8)', async () => {
    await clear()
    await added(user)
    const message = { fingerprint: ['has already been taken'], key: ['has already been taken'] }
    for (const caller of [user, other]) await add(caller, `${ed25519.split(' ').slice(0, 2).join(' ')} other@host`).expect(400, { message })
  })

  it('of twenty at once one is taken (K-8)', async () => {
    await clear()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => add(i % 2 ? user : other)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(400)])
    for (const { status, body } of answers)
      if (status === 400) expect(body).toEqual({ message: { fingerprint: ['has already been taken'], key: ['has already been taken'] } })
  })

  it.each<[Partial<Settings>, string, number, string]>([
    [{ rsa_key_restriction: -1 }, 'ssh-rsa', 2048, 'type is forbidden. Must be DSA, ECDSA, or ED25519'],
    [{ rsa_key_restriction: -1, dsa_key_restriction: -1 }, 'ssh-dss', 1024, 'type is forbidden. Must be ECDSA or ED25519'],
    [
      { rsa_key_restriction: -1, dsa_key_restriction: -1, ecdsa_key_restriction: -1 },
      'ecdsa-sha2-nistp256',
      256,
      'type is forbidden. Must be ED25519',
    ],
    [{ ed25519_key_restriction: -1 }, 'sk-ssh-ed25519@openssh.com', 256, 'type is forbidden. Must be RSA, DSA, or ECDSA'],
    [{ rsa_key_restriction: 3072 }, 'ssh-rsa', 2050, 'must be at least 3072 bits'],
    [{ ecdsa_key_restriction: 384 }, 'ecdsa-sha2-nistp256', 256, 'must be at least 384 bits'],
  ])('with %o a %s key of %i bits %s (K-7, SEC-128)', async (settings, name, bits, text) => {
    await clear()
    await setSettings(t.ctx, settings)
    await add(user, keyOf(name, bits).line).expect(400, { message: { key: [text] } })
    await setSettings(t.ctx, {})
    await added(user, keyOf(name, bits).line)
  })

  it('existing keys stay when their kind is forbidden (K-11)', async () => {
    await clear()
    const made = await added(user, keyOf('ssh-rsa', 1024).line)
    await setSettings(t.ctx, { rsa_key_restriction: 4096 })
    expect((await t.api('get', '/user/keys', user).expect(200)).body).toEqual([made])
    await setSettings(t.ctx, {})
  })

  it('at most 100 (SEC-130)', async () => {
    await clear()
    const rows = Array.from({ length: 100 }, (_, i) => ({
      user_id: user.id,
      title: `key ${i}`,
      key: 'ssh-rsa AAAA',
      fingerprint: `${i}`,
      fingerprint_sha256: `${i}`,
    }))
    await t.ctx.db.write.insert(sshKeys).values(rows)
    await add(user).expect(400, { message: { base: ['there are already 100'] } })
    await added(other)
  })

  it('lists by id, in pages', async () => {
    await clear()
    const made: Shown[] = []
    for (const { line } of KEYS.slice(0, 3)) made.push(await added(user, line))
    const { body, headers } = await t.api('get', '/user/keys?per_page=2', user).expect(200)
    expect(body).toEqual(made.slice(0, 2))
    expect(headers['x-total']).toBe('3')
  })
})

describe('SSH keys: If-Unmodified-Since (K-4, G-89, G-37)', () => {
  it('keeps what changed since', async () => {
    await clear()
    const { id } = await added(user)
    const remove = (since: string) => t.api('delete', `/user/keys/${id}`, user).set('If-Unmodified-Since', since)
    await remove('Mon, 01 Jan 2018 00:00:00 GMT').expect(412, { message: '412 Precondition Failed' })
    await t.api('get', `/user/keys/${id}`, user).expect(200)
    await remove(new Date().toUTCString()).expect(204)
  })

  it('does not mind a header that is no date', async () => {
    await clear()
    const { id } = await added(user)
    await t.api('delete', `/users/${user.id}/keys/${id}`, admin).set('If-Unmodified-Since', 'yesterday').expect(204)
  })
})
