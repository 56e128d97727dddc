import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { applicationSettings, installation, tokens, variables, webHooks } from '../../src/db/schema/index.js'
import { secrets } from '../../src/services/operations/doctor/secrets.js'
import { keyCheckOf, openEncryption } from '../../src/services/operations/secret-key.js'
import { testApp } from '../support/app.js'
import { anAdmin, aProject, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
/** What another key has encrypted. */
const FOREIGN = Buffer.alloc(60, 7).toString('base64')
let admin: TestUser
let project: TestProject
beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'a' } })
})

const faults = async () => {
  const found = []
  for await (const fault of secrets(t.ctx)) found.push(fault)
  return found
}
/** What the doctor finds, which it then repairs. */
async function repairedFaults() {
  const found = await faults()
  for (const { repair } of found) await repair?.()
  expect(await faults()).toEqual([])
  return found.map(({ kind, of }) => `${kind}: ${of}`)
}

describe('a database that an older version has encrypted', () => {
  it('takes the key that opens its values, and no other (SEC-256)', async () => {
    const path = `/projects/${project.id}/variables`
    await t.api('post', path, admin).send({ key: 'OLD', value: 'old' }).expect(201)
    await t.ctx.db.write.delete(installation)
    const other = { ...t.ctx.config, secretKey: 'another key of more than 32 characters' }
    await expect(openEncryption(other, t.ctx.db)).rejects.toThrow(/are encrypted with another key, and ROOST_SECRET_KEY is key \S{8}/)
    expect(await t.ctx.db.write.$count(installation)).toBe(0)
    const opened = await Promise.all([openEncryption(t.ctx.config, t.ctx.db), openEncryption(t.ctx.config, t.ctx.db)])
    expect(new Set(opened.map(({ encryption }) => keyCheckOf(encryption))).size).toBe(1)
    await expect(openEncryption(other, t.ctx.db)).rejects.toThrow(/are encrypted with key \S{8}, and ROOST_SECRET_KEY is key \S{8}/)
    await t.api('delete', `${path}/OLD`, admin).expect(204)
  })
})

describe('a value that the key does not open', () => {
  it('a variable is null in lists and alone, can be set again, and the doctor removes it (SEC-257)', async () => {
    const path = `/projects/${project.id}/variables`
    for (const key of ['LOST', 'KEPT']) await t.api('post', path, admin).send({ key, value: key }).expect(201)
    const lose = () => t.ctx.db.write.update(variables).set({ sealed: FOREIGN }).where(eq(variables.key, 'LOST'))
    await lose()
    const { body } = await t.api('get', path, admin).expect(200)
    expect(body).toMatchObject([
      { key: 'LOST', value: null },
      { key: 'KEPT', value: 'KEPT' },
    ])
    expect((await t.api('get', `${path}/LOST`, admin).expect(200)).body).toMatchObject({ key: 'LOST', value: null })
    await t.api('put', `${path}/LOST`, admin).send({ value: 'again' }).expect(200)
    expect((await t.api('get', `${path}/LOST`, admin).expect(200)).body.value).toBe('again')
    await lose()
    expect(await repairedFaults()).toEqual([`unreadable value: variable LOST of project ${project.id}`])
    expect((await t.api('get', path, admin).expect(200)).body).toMatchObject([{ key: 'KEPT', value: 'KEPT' }])
  })

  it('a setting is null, and others can be changed (SEC-257)', async () => {
    await t.api('put', '/application/settings', admin).send({ errtracker_dsn: 'https://key@errors.example.com/1' }).expect(200)
    await t.ctx.db.write.update(applicationSettings).set({ values: { errtracker_dsn: FOREIGN } })
    expect((await t.api('get', '/application/settings', admin).expect(200)).body.errtracker_dsn).toBeNull()
    await t.api('put', '/application/settings', admin).send({ max_pages_size: 7 }).expect(200)
    expect(await repairedFaults()).toEqual(['unreadable value: setting errtracker_dsn'])
  })

  it('a webhook with it fails with the reason, and without its URL it is removed (SEC-257)', async () => {
    const path = `/projects/${project.id}/hooks`
    const create = async (url: string) =>
      (await t.api('post', path, admin).send({ url, token: 'identifies the sender' }).expect(201)).body.id as number
    const [withToken, withUrl] = [await create('http://127.0.0.1:1/a'), await create('http://user:password@127.0.0.1:1/b')]
    await t.ctx.db.write.update(webHooks).set({ sealed_token: FOREIGN })
    await t.ctx.db.write.update(webHooks).set({ sealed_url: FOREIGN }).where(eq(webHooks.id, withUrl))
    expect((await t.api('post', `${path}/${withToken}/test/push_events`, admin)).body.message).toMatch(/cannot be decrypted: set both again/)
    const found = [`token of webhook ${withToken}`, `URL of webhook ${withUrl}`, `token of webhook ${withUrl}`]
    expect(await repairedFaults()).toEqual(found.map((of) => `unreadable value: ${of}`))
    expect((await t.api('get', path, admin).expect(200)).body.map(({ id }: { id: number }) => id)).toEqual([withToken])
  })

  it('an impersonation token is listed without its value (SEC-257)', async () => {
    const path = `/users/${admin.id}/impersonation_tokens`
    const { body } = await t
      .api('post', path, admin)
      .send({ name: 'bot', scopes: ['api'] })
      .expect(201)
    await t.ctx.db.write.update(tokens).set({ sealed: FOREIGN }).where(eq(tokens.id, body.id))
    expect((await t.api('get', path, admin).expect(200)).body).toMatchObject([{ id: body.id, token: '' }])
    expect(await repairedFaults()).toEqual([`unreadable value: impersonation token ${body.id}`])
    expect((await t.api('get', path, admin).expect(200)).body).toMatchObject([{ id: body.id, token: '' }])
  })
})
