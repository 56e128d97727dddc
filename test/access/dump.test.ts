import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { gitClient, gitRun } from '../support/clients/git-client.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser, unique } from '../support/factories.js'

const t = testApp()
const client = gitClient(t)
let admin: TestUser
/** What may not be readable in a copy of the database. */
const secrets: Record<string, string> = {}

const later = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)
const send = (method: 'post' | 'put', path: string, body: object, caller = admin) => t.api(method, path, caller).send(body)

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  const user = await aUser(t.ctx, { password: 'the first password' })
  secrets['personal access token'] = user.token
  secrets['password'] = 'the first password'
  await send('put', `/users/${user.id}`, { password: 'the second password' }).expect(200)
  secrets['changed password'] = 'the second password'
  await send('put', '/user/password', { current_password: 'the second password', password: 'the fourth password' }, user).expect(204)
  secrets['own password'] = 'the fourth password'
  const n = unique()
  const person = { username: `p${n}`, email: `p${n}@example.com`, name: 'x', password: 'the third password', reset_password: false }
  await send('post', '/users', person).expect(201)
  secrets['password of a new user'] = person.password
  const impersonation = { name: 'x', scopes: ['api'], expires_at: later }
  secrets['impersonation token'] = (await send('post', `/users/${user.id}/impersonation_tokens`, impersonation).expect(201)).body.token
  const grant = { grant_type: 'password', username: user.username, password: 'the fourth password' }
  const oauth = (await t.app.inject({ method: 'POST', url: '/oauth/token', payload: grant })).json()
  secrets['access token'] = oauth.access_token
  secrets['refresh token'] = oauth.refresh_token

  const project = await aProject(t.ctx, { creator: admin, files: { a: 'a' } })
  const group = await aGroup(t.ctx, { creator: admin })
  for (const [place, value] of [
    [project.path, 'value of the project'],
    [group.path, 'value of the group'],
  ] as const) {
    await send('post', `${place}/variables`, { key: 'KEY', value }).expect(201)
    await send('put', `${place}/variables/KEY`, { value: `${value}, changed` }).expect(200)
    secrets[`variable of ${place}`] = value
  }
  const settings = { spamfilter_api_key: 'key-of-the-filter', captcha_private_key: 'key-of-the-captcha', captcha_site_key: 'site' }
  await send('put', '/application/settings', { ...settings, errtracker_dsn: 'https://secret-of-errors@example.com/1' }).expect(200)
  secrets['filter'] = 'key-of-the-filter'
  secrets['captcha'] = 'key-of-the-captcha'
  secrets['tracker'] = 'secret-of-errors'
  await send('post', '/projects', { name: `imported${n}`, import_url: 'http://someone:pass-in-the-url@192.0.2.1/x.git' })
  secrets['password in an address'] = 'pass-in-the-url'
  // used in every way they can be
  await t.api('get', `/user?private_token=${user.token}`).expect(200)
  await gitRun(t.dataDir, 'ls-remote', client.url(project.fullPath, user))
  await t.api('get', `/projects/${project.id}/variables/KEY`, admin).expect(200)
  await t.ctx.jobs.drain()
})

/** Every row of every table, bytes as text. */
async function dump(): Promise<string> {
  const { rows: tables } = await t.ctx.db.write.execute<{ name: string }>(
    sql`select format('%I.%I', table_schema, table_name) as name from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema')`,
  )
  const parts: string[] = []
  for (const { name } of tables) {
    const { rows } = await t.ctx.db.write.execute<{ row: string }>(sql.raw(`select t::text as row from ${name} t`))
    parts.push(...rows.map(({ row }) => `${row}\n${row.replace(/\\x([0-9a-f]+)/g, (_, hex: string) => Buffer.from(hex, 'hex').toString('latin1'))}`))
  }
  return parts.join('\n')
}

describe('a copy of the database (SEC-21, SEC-24, SEC-135, SEC-136)', () => {
  it('and the log hold no token, password, value of a variable or secret setting, in no usual coding', async () => {
    const [rows, log] = [await dump(), t.logged.join('\n')]
    expect(rows).toContain(admin.username)
    expect(rows.length).toBeGreaterThan(5_000)
    expect(Object.keys(secrets)).toHaveLength(14)
    const codings = (text: string) => [
      text,
      Buffer.from(text).toString('base64').replace(/=+$/, ''),
      Buffer.from(text).toString('hex'),
      encodeURIComponent(text),
    ]
    const found = Object.entries(secrets).flatMap(([what, secret]) =>
      codings(secret).flatMap((coded) => [rows.includes(coded) ? `${what} in a row` : [], log.includes(coded) ? `${what} in the log` : []].flat()),
    )
    expect(found).toEqual([])
  })
})
