import { readFileSync } from 'node:fs'
import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { gpgKeys } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aUser, type TestUser } from '../../support/factories.js'

/** Made by gpg, with what `gpg --fingerprint` says of them. */
const { keys, both, rearmored } = JSON.parse(readFileSync(new URL('../../support/keys/gpg-keys.json', import.meta.url), 'utf8')) as {
  keys: { name: string; fingerprint: string; key: string }[]
  /** Two keys in one block. */
  both: string
  /** The RSA key with a comment in its armor. */
  rearmored: string
}
const [rsa, ed25519] = keys as [(typeof keys)[0], (typeof keys)[0]]

const t = testApp()
let admin: TestUser
let user: TestUser
let other: TestUser

interface Shown {
  id: number
  key: string
}

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
  other = await aUser(t.ctx)
})

const clear = () => t.ctx.db.write.delete(gpgKeys)
const add = (caller: TestUser, key: string, path = '/user/gpg_keys') => t.api('post', path, caller).send({ key })
const added = async (...given: Parameters<typeof add>) => ((await add(...given).expect(201)).body as [Shown])[0]

describe('GPG keys: permissions (K-1, K-2)', () => {
  it('users get their own, administrators all', async () => {
    await clear()
    const mine = await added(user, rsa.key)
    const theirs = await added(admin, ed25519.key, `/users/${other.id}/gpg_keys`)
    expect((await t.api('get', '/user/gpg_keys', user).expect(200)).body).toEqual([mine])
    expect((await t.api('get', `/users/${other.id}/gpg_keys`, admin).expect(200)).body).toEqual([theirs])
    expect((await t.api('get', `/user/gpg_keys/${mine.id}`, user).expect(200)).body).toEqual(mine)
    expect((await t.api('get', `/users/${other.id}/gpg_keys/${theirs.id}`, admin).expect(200)).body).toEqual(theirs)
    const missing = { message: '404 GPG Key Not Found' }
    for (const caller of [user, admin]) {
      await t.api('get', `/user/gpg_keys/${theirs.id}`, caller).expect(404, missing)
      await t.api('delete', `/user/gpg_keys/${theirs.id}`, caller).expect(404, missing)
    }
    await t.api('get', `/users/${user.id}/gpg_keys/${theirs.id}`, admin).expect(404, missing)
    await t.api('delete', `/users/${user.id}/gpg_keys/${theirs.id}`, admin).expect(404, missing)
    await t.api('delete', `/users/${other.id}/gpg_keys/${theirs.id}`, admin).expect(204)
    await t.api('delete', `/user/gpg_keys/${mine.id}`, user).expect(204)
    expect(await t.ctx.db.read.$count(gpgKeys)).toBe(0)
  })

  it.each([
    ['get', '/user/gpg_keys', '/users/1/gpg_keys'],
    ['post', '/user/gpg_keys', '/users/1/gpg_keys'],
    ['get', '/user/gpg_keys/1', '/users/1/gpg_keys/1'],
    ['delete', '/user/gpg_keys/1', '/users/1/gpg_keys/1'],
  ] as const)('%s %s: 401 without a token; %s 403 for others than administrators', async (method, own, theirs) => {
    for (const path of [own, theirs]) await t.api(method, path).send({ key: rsa.key }).expect(401, { message: '401 Unauthorized' })
    await t.api(method, theirs, user).send({ key: rsa.key }).expect(403, { message: '403 Forbidden' })
    await t.api(method, theirs.replace('/1/', '/999999/'), admin).send({ key: rsa.key }).expect(404, { message: '404 User Not Found' })
  })

  it('an id is a number (G-3)', async () => {
    await t.api('get', '/user/gpg_keys/abc', user).expect(400, { error: 'key_id is invalid' })
    await t.api('get', `/users/${user.id}/gpg_keys/abc`, admin).expect(400, { error: 'key_id is invalid' })
  })
})

describe('GPG keys: adding (K-3, K-12 to K-15)', () => {
  it.each(keys)('takes a key: $name', async ({ key, fingerprint }) => {
    await clear()
    const made = await added(user, `\n ${key}\n\n`)
    expect(made).toEqual({ id: made.id, key, created_at: expect.stringMatching(/Z$/) })
    const [row] = await t.ctx.db.read.select().from(gpgKeys).where(eq(gpgKeys.id, made.id))
    expect(row).toMatchObject({ fingerprint, primary_keyid: fingerprint.slice(-16) })
  })

  it('needs a key, and takes no id (K-12)', async () => {
    await clear()
    await t.api('post', '/user/gpg_keys', user).send({}).expect(400, { error: 'key is missing' })
    await t.api('post', `/users/${user.id}/gpg_keys`, admin).send({ key_id: 7 }).expect(400, { error: 'key is missing' })
    const { body } = await t.api('post', `/users/${user.id}/gpg_keys`, admin).send({ key: rsa.key, key_id: 'x' }).expect(201)
    expect(body).toHaveLength(1)
  })

  const INVALID =
    "is invalid. A valid public GPG key begins with '-----BEGIN PGP PUBLIC KEY BLOCK-----' and ends with '-----END PGP PUBLIC KEY BLOCK-----'"
  const NOTHING = { fingerprint: ["can't be blank"], primary_keyid: ["can't be blank"] }
  it.each([
    ['blank text', ' ', { key: ["can't be blank", INVALID] }],
    ['any text', 'hello', { key: [INVALID] }],
    ['a private key (SEC-129)', rsa.key.replaceAll('PUBLIC', 'PRIVATE'), { key: [INVALID] }],
    ['half a block', rsa.key.slice(0, -10), { key: [INVALID] }],
    ['two blocks', `${rsa.key}\n${ed25519.key}`, { key: [INVALID] }],
    ['an empty block', '-----BEGIN PGP PUBLIC KEY BLOCK-----\n-----END PGP PUBLIC KEY BLOCK-----', { key: [INVALID] }],
    ['nonsense in a block', '-----BEGIN PGP PUBLIC KEY BLOCK-----\n\naGVsbG8=\n-----END PGP PUBLIC KEY BLOCK-----', NOTHING],
    ['two keys in one block', both, NOTHING],
    ['100,001 characters (SEC-63)', 'x'.repeat(100_001), { key: ['is too long (maximum is 100000 characters)'] }],
  ])('refuses %s (K-13, K-14)', async (_, key, message) => {
    await clear()
    await add(user, key).expect(400, { message })
    expect(await t.ctx.db.read.$count(gpgKeys)).toBe(0)
  })

  it('a key is the same in any armor, and for any user (K-14)', async () => {
    await clear()
    await added(user, rsa.key)
    const taken = ['has already been taken']
    for (const caller of [user, other]) {
      await add(caller, rsa.key).expect(400, { message: { key: taken } })
      await add(caller, rearmored).expect(400, { message: { fingerprint: taken, primary_keyid: taken } })
    }
  })

  it('of ten at once one is taken (K-14)', async () => {
    await clear()
    const answers = await Promise.all(Array.from({ length: 10 }, () => add(user, rsa.key)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(400)])
  })

  it('deletes whatever If-Unmodified-Since says (K-16)', async () => {
    await clear()
    const { id } = await added(user, rsa.key)
    await t.api('delete', `/user/gpg_keys/${id}`, user).set('If-Unmodified-Since', 'Mon, 01 Jan 2018 00:00:00 GMT').expect(204)
  })
})
