import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { afterAll, describe, expect, it } from 'vitest'
import { identities, users } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aUser, setSettings } from '../support/factories.js'
import { rawAnswer } from '../support/raw.js'

const folder = mkdtempSync(join(tmpdir(), 'roost-proxied-'))
afterAll(() => rmSync(folder, { recursive: true }))
const fileFrom = (from: string) => {
  const file = join(folder, `${from.replace('/', '_')}.yml`)
  writeFileSync(
    file,
    JSON.stringify({ header: { name: 'proxy', username: 'X-Remote-User', email: 'X-Remote-Email', from: [from], create_accounts: true } }),
  )
  return file
}
const behind = testApp({ ROOST_SIGN_ON: fileFrom('127.0.0.0/8') })
const beside = testApp({ ROOST_SIGN_ON: fileFrom('192.0.2.1'), ROOST_TRUSTED_PROXIES: '127.0.0.1' })

describe('a header of a proxy', () => {
  const open = (user: string, email: string, path = '/users/sign_in') =>
    new TestBrowser(behind.url, { 'x-remote-user': user, 'x-remote-email': email }).open(path)

  it('signs in the person whom it names, with an account that is made or found (WB-53)', async () => {
    expect((await open('jane', 'jane@example.org', '/-/profile/keys')).at).toBe('/-/profile/keys')
    const { $ } = await open('jane', '', '/-/profile')
    expect($('#user_name').val()).toBe('jane')
    const rows = await behind.ctx.db.write.select().from(identities).innerJoin(users, eq(users.id, identities.user_id))
    expect(rows).toMatchObject([{ identities: { provider: 'proxy', extern_uid: 'jane' }, users: { username: 'jane', email: 'jane@example.org' } }])
  })

  it('does not sign in a blocked account, one without an address, or the account of another with the same address', async () => {
    await open('blocked', 'blocked@example.org')
    await behind.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.username, 'blocked'))
    expect(await open('blocked', '')).toMatchObject({ status: 403, text: expect.stringContaining('the account is blocked') })
    expect(await open('none', '')).toMatchObject({ status: 403, text: expect.stringContaining('it has no e-mail address of yours') })
    const { email } = await aUser(behind.ctx)
    expect(await open('other', email)).toMatchObject({ status: 403, text: expect.stringContaining('an account with your e-mail address exists') })
  })

  it('is ignored if it is empty or too long, or if the settings switch it off (WB-41)', async () => {
    for (const user of ['', ' ', 'x'.repeat(300)]) expect((await open(user, 'x@example.org')).at).toBe('/users/sign_in')
    await setSettings(behind.ctx, { disabled_oauth_sign_in_sources: ['proxy'] })
    expect((await open('jane', '')).at).toBe('/users/sign_in')
  })

  it('is ignored from any other address, whatever X-Forwarded-For says (WB-53)', async () => {
    const headers = { 'x-remote-user': 'jane', 'x-remote-email': 'jane@example.org', 'x-forwarded-for': '192.0.2.1' }
    expect((await new TestBrowser(beside.url, headers).open('/users/sign_in')).status).toBe(200)
    expect(await beside.ctx.db.write.$count(identities)).toBe(0)
  })

  it('that is there twice is refused, and signs in no one (WB-53)', async () => {
    await setSettings(behind.ctx, {})
    for (const twice of [
      'X-Remote-User: jane\r\nx-remote-user: other',
      'X-Remote-User: jane\r\nX-Remote-Email: a@example.org\r\nX-Remote-Email: b@example.org',
    ])
      for (const path of ['/users/sign_in', '/explore']) {
        const answer = await rawAnswer(behind.url, `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nConnection: close\r\n${twice}\r\n\r\n`)
        expect([answer.status, answer.headers['set-cookie']?.includes('roost_session')]).not.toContain(true)
        expect([answer.status, answer.body]).toEqual([400, expect.stringContaining('more than once')])
      }
  })

  it('does not sign in to the API', async () => {
    const answer = await fetch(`${behind.url}/api/v4/user`, { headers: { 'x-remote-user': 'jane' } })
    expect(answer.status).toBe(401)
  })
})
