import { beforeAll, describe, expect, it } from 'vitest'
import { families } from '../../src/routes/index.js'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, aToken, aUser, type TestUser } from '../support/factories.js'

const t = testApp()
let admin: TestUser
/** The path parameters by the first segment of a route. */
const parameters: Record<string, Record<string, number | string>> = {}
/** What responses to `api` show again, and what is never shown again. */
const shown: Record<string, string> = {}
const hidden: Record<string, string> = {}

const create = async (path: string, body: object) => (await t.api('post', path, admin).send(body).expect(201)).body

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  const user = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'a\n' } })
  const group = await aGroup(t.ctx, { creator: admin })

  const impersonation = await create(`/users/${user.id}/impersonation_tokens`, { name: 'x', scopes: ['api'] })
  shown['impersonation token'] = impersonation.token
  for (const { path } of [project, group]) {
    await create(`${path}/variables`, { key: 'KEY', value: `value in ${path}` })
    shown[`variable of ${path}`] = `value in ${path}`
    shown[`registration token of ${path}`] = (await create(`${path}/runners/reset_registration_token`, {})).token
    hidden[`deploy token of ${path}`] = (await create(`${path}/deploy_tokens`, { name: 'x', scopes: ['read_repository'] })).token
    await create(`${path}/hooks`, { url: 'http://someone:pass-in-the-url@example.com/', token: 'token-of-a-hook' })
  }
  await create('/admin/ci/variables', { key: 'KEY', value: 'value of the instance' })
  shown['variable of the instance'] = 'value of the instance'
  await create('/hooks', { url: 'http://someone:pass-in-the-url@example.com/', token: 'token-of-a-hook' })
  hidden['token of a hook'] = 'token-of-a-hook'
  hidden['password in an address'] = 'pass-in-the-url'
  hidden['personal access token'] = (await create(`/users/${user.id}/personal_access_tokens`, { name: 'x', scopes: ['api'] })).token
  const settings = { spamfilter_api_key: 'key-of-the-filter', captcha_private_key: 'key-of-the-captcha', captcha_site_key: 'site-of-the-captcha' }
  const tracker = { errtracker_dsn: 'https://secret-of-errors@example.com/1', clientside_errtracker_dsn: 'https://secret-in-browsers@example.com/1' }
  await t
    .api('put', '/application/settings', admin)
    .send({ ...settings, ...tracker })
    .expect(200)
  Object.assign(shown, settings, { tracker: 'secret-of-errors', 'tracker in browsers': 'secret-in-browsers' })

  parameters['projects'] = { id: project.id, key: 'KEY' }
  parameters['admin'] = { key: 'KEY' }
  parameters['groups'] = { id: group.id, key: 'KEY' }
  parameters['users'] = { id: user.id, user_id: user.id, impersonation_token_id: impersonation.id }
})

/** The body of every GET of the route table, called with a token. */
async function readEverything(token: string): Promise<{ bodies: string; found: number }> {
  const bodies: string[] = []
  let found = 0
  for (const { method, path } of families.flat()) {
    if (method !== 'GET') continue
    const named = parameters[path.split('/')[1] as string] ?? {}
    const url = path.replace(/\([^)]*\)/g, '').replace(/:([a-z_]+)/g, (_, name: string) => String(named[name] ?? 1))
    const { statusCode, body } = await t.app.inject({ method, url: `/api/v4${url}`, headers: { 'private-token': token } })
    bodies.push(body)
    if (statusCode === 200) found++
  }
  return { bodies: bodies.join('\n'), found }
}

const namesOf = (secrets: Record<string, string>, text: string) => Object.keys(secrets).filter((name) => text.includes(secrets[name] as string))

describe('secrets in responses', () => {
  it('are shown to scope api alone, on no route of the table to another (SEC-265)', async () => {
    const api = await readEverything(await aToken(t.ctx, admin, ['api']))
    expect(api.found).toBeGreaterThan(50)
    expect(namesOf(shown, api.bodies)).toEqual(Object.keys(shown))
    expect(namesOf(hidden, api.bodies)).toEqual([])

    const reads = await readEverything(await aToken(t.ctx, admin, ['read_api', 'read_user', 'read_repository', 'write_repository', 'sudo']))
    expect(reads.found).toBe(api.found - 7)
    expect(namesOf({ ...shown, ...hidden }, reads.bodies)).toEqual([])

    const users = await readEverything(await aToken(t.ctx, admin, ['read_user']))
    expect(namesOf({ ...shown, ...hidden }, users.bodies)).toEqual([])
  })

  it('leave the value out of impersonation tokens and secret settings, and refuse variables (SEC-265)', async () => {
    const { user_id, impersonation_token_id } = parameters['users'] as Record<string, number>
    const path = `/users/${user_id}/impersonation_tokens`
    for (const scope of ['read_user', 'read_api'] as const) {
      const reader = { token: await aToken(t.ctx, admin, [scope]) }
      const { body } = await t.api('get', `${path}/${impersonation_token_id}`, reader).expect(200)
      expect(body).toMatchObject({ id: impersonation_token_id, scopes: ['api'], active: true })
      expect(body).not.toHaveProperty('token')
      expect((await t.api('get', path, reader).expect(200)).body).toEqual([body])
    }
    const reader = { token: await aToken(t.ctx, admin, ['read_api']) }
    expect((await t.api('get', '/application/settings', reader).expect(200)).body).toMatchObject({
      spamfilter_api_key: null,
      captcha_private_key: null,
      errtracker_dsn: null,
    })
    for (const family of ['projects', 'groups'] as const)
      for (const more of ['', '/KEY']) {
        const refused = t.api('get', `/${family}/${parameters[family]?.['id']}/variables${more}`, reader)
        expect((await refused.expect(403)).body).toMatchObject({ error: 'insufficient_scope', scope: 'api' })
      }
  })
})
