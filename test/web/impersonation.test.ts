import { sql } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { forms, pages } from '../../src/web/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aProject, aUser, type TestUser } from '../support/factories.js'

const t = testApp()
let root: TestUser
let admin: TestBrowser
let user: TestUser

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  await browser.signIn(who)
  return browser
}
const actAs = async (browser: TestBrowser, who: { username: string }) => {
  await browser.open(`/admin/users/${who.username}`)
  return browser.submit('Act as this user')
}
const bar = (browser: TestBrowser) => browser.page?.$('.impersonation').text().replace(/\s+/g, ' ').trim() ?? ''

beforeAll(async () => {
  root = await anAdmin(t.ctx)
})
beforeEach(async () => {
  admin = await signedIn(root)
  user = await aUser(t.ctx, { name: '<b>Ann</b>' })
})

describe('acting as another user (WB-203)', () => {
  it('is said on every page, leads back, and is in the audit log', async () => {
    const project = await aProject(t.ctx, { creator: user, visibility: 'private' })
    expect((await actAs(admin, user)).at).toBe('/dashboard')
    expect(bar(admin)).toMatch(new RegExp(`^You are <b>Ann</b> \\(@${user.username}\\) as administrator @${root.username}\\.`))
    expect((await admin.open(`/${project.fullPath}`)).status).toBe(200)
    expect(bar(admin)).toContain(root.username)
    expect((await admin.open('/admin')).status).toBe(404)
    expect(bar(admin)).toContain(root.username)
    await admin.open(`/${project.fullPath}/-/issues/new`)
    await admin.submit(`/${project.fullPath}/-/issues`, { 'issue[title]': 'In their name' })
    const [issue] = (await t.api('get', `/projects/${project.id}/issues`, user)).body
    expect(issue).toMatchObject({ title: 'In their name', author: { username: user.username } })
    await admin.open('/dashboard')
    const back = await admin.submit('Stop')
    expect(back.at).toBe(`/admin/users/${user.username}`)
    expect(back.text).toContain(`You no longer act as ${user.username}.`)
    expect(bar(admin)).toBe('')
    const events = (await t.api('get', `/audit_events?entity_type=User`, root)).body as { details: object }[]
    expect(JSON.stringify(events)).toContain('impersonation_started')
    const log = await admin.open(`/admin/audit_log?action=impersonation_ended`)
    expect(log.text).toContain(`by ${root.username}`)
  })

  it('does not open keys, tokens, passwords, sessions and consent', async () => {
    expect((await admin.open('/dashboard')).$('a[href^="/-/profile"]').length).toBe(2)
    expect((await actAs(admin, user)).$('a[href^="/-/profile"]').length).toBe(0)
    const closed = (at: string) => /^\/(-\/profile|oauth|users(\/|$))/.test(at) && at !== '/users/sign_out'
    const token = String(admin.page?.$('[name=authenticity_token]').val())
    const at = (path: string) => path.replace(/:\w+/g, '1')
    const shut = pages.filter((page) => closed(page.at))
    expect(shut.length).toBeGreaterThan(15)
    for (const page of shut) expect((await admin.open(at(page.at))).status, page.at).toBe(403)
    for (const form of forms.filter((each) => closed(each.at)))
      expect((await admin.post(at(form.at), { _method: form.method, authenticity_token: token })).status, form.at).toBe(403)
    expect((await t.api('get', `/users/${user.id}/keys`, root)).body).toEqual([])
    // no credential of the browser opens the API
    expect((await admin.open('/api/v4/user')).status).toBe(401)
  })

  it('is for active people, not for administrators, oneself or blocked accounts', async () => {
    const [other, blocked] = [await anAdmin(t.ctx), await aUser(t.ctx, { state: 'blocked' })]
    for (const who of [other, blocked, root]) {
      await admin.open(`/admin/users/${who.username}`)
      expect(admin.page?.text).not.toContain('Act as this user')
      const token = String(admin.page?.$('[name=authenticity_token]').val())
      expect((await admin.post(`/admin/users/${who.username}/impersonate`, { authenticity_token: token })).status).toBe(422)
    }
    await admin.open('/dashboard')
    expect(bar(admin)).toBe('')
    const stranger = await signedIn(user)
    await stranger.open('/-/profile')
    const token = String(stranger.page?.$('[name=authenticity_token]').val())
    expect((await stranger.post(`/admin/users/${other.username}/impersonate`, { authenticity_token: token })).status).toBe(404)
    expect((await stranger.post('/-/impersonation', { _method: 'DELETE', authenticity_token: token })).status).toBe(404)
  })

  it('takes no form that was made before it began or ended', async () => {
    await admin.open(`/admin/users/${user.username}`)
    const own = String(admin.page?.$('[name=authenticity_token]').val())
    await admin.submit('Act as this user')
    const theirs = String(admin.page?.$('[name=authenticity_token]').val())
    expect((await admin.post('/-/impersonation', { _method: 'DELETE', authenticity_token: own })).status).toBe(422)
    await admin.open('/dashboard')
    await admin.submit('Stop')
    expect((await admin.post(`/admin/users/${user.username}/impersonate`, { authenticity_token: theirs })).status).toBe(422)
  })

  it('ends with the rights and the session of the administrator, and with the account', async () => {
    const other = await anAdmin(t.ctx)
    const browser = await signedIn(other)
    await actAs(browser, user)
    await t.api('post', `/users/${user.id}/block`, root).expect(201)
    await browser.open('/dashboard')
    expect(bar(browser)).toBe('')
    expect(browser.page?.$('a[href="/admin"]').length).toBe(1)
    await t.api('post', `/users/${user.id}/unblock`, root).expect(201)
    await browser.open('/dashboard')
    expect(bar(browser)).toBe('')
    await actAs(browser, user)
    await t.ctx.db.write.execute(sql`update users set admin = false where id = ${other.id}`)
    await browser.open('/dashboard')
    expect(bar(browser)).toBe('')
    expect(browser.page?.text).toContain(`@${other.username}`)
    await t.ctx.db.write.execute(sql`update users set admin = true where id = ${other.id}`)
    await browser.open('/dashboard')
    expect(bar(browser)).toBe('')
    const out = await browser.submit('/users/sign_out')
    expect(out.status, out.text).toBe(200)
    expect((await browser.open('/dashboard')).at).toMatch(/^\/users\/sign_in/)
    // the session of the person is another one
    expect((await (await signedIn(user)).open('/dashboard')).status).toBe(200)
  })
})

describe('acting that has ended (WB-203)', () => {
  it.each([
    ['the administrator is no longer one', (other: TestUser) => other, [{ admin: false }, { admin: true }]],
    ['the person becomes an administrator', () => user, [{ admin: true }, { admin: false }]],
  ])('does not go on when %s, and that is undone, although nothing was opened meanwhile', async (_, whom, changes) => {
    const other = await anAdmin(t.ctx)
    const browser = await signedIn(other)
    await actAs(browser, user)
    for (const given of changes)
      await t
        .api('put', `/users/${whom(other).id}`, root)
        .send(given)
        .expect(200)
    await browser.open('/dashboard')
    expect([bar(browser), browser.page?.$('a[href="/admin"]').length]).toEqual(['', 1])
  })

  it.each(['block', 'ban', 'deactivate'])('does not go on after %s and its opposite, although nothing was opened meanwhile', async (what) => {
    const other = await anAdmin(t.ctx)
    const browser = await signedIn(other)
    await actAs(browser, user)
    await t.ctx.db.write.execute(sql`delete from tokens where user_id = ${user.id}`)
    await t.api('post', `/users/${user.id}/${what}`, root).expect(201)
    await t.api('post', `/users/${user.id}/${what === 'deactivate' ? 'activate' : `un${what}`}`, root).expect(201)
    await browser.open('/dashboard')
    expect(bar(browser)).toBe('')
    const log = await browser.open(`/admin/audit_log?action=impersonation_ended`)
    expect(log.text).toContain(user.username)
  })

  it('the account of the person is not removed meanwhile', async () => {
    await actAs(admin, user)
    const token = String(admin.page?.$('[name=authenticity_token]').val())
    const fields = { _method: 'DELETE', authenticity_token: token, password: user.password, username: user.username }
    expect((await admin.post('/users', fields)).status).toBe(403)
    await t.api('get', '/user', user).expect(200)
  })
})

describe('ROOST_IMPERSONATION=false', () => {
  const off = testApp({ ROOST_IMPERSONATION: 'false' })

  it('keeps administrators from acting as others, and refuses impersonation tokens (WB-203)', async () => {
    const [chief, person] = [await anAdmin(off.ctx), await aUser(off.ctx)]
    const browser = new TestBrowser(off.url)
    await browser.signIn(chief)
    await browser.open(`/admin/users/${person.username}`)
    expect(browser.page?.text).not.toContain('Act as this user')
    const token = String(browser.page?.$('[name=authenticity_token]').val())
    expect((await browser.post(`/admin/users/${person.username}/impersonate`, { authenticity_token: token })).status).toBe(404)
    const made = await off
      .api('post', `/users/${person.id}/impersonation_tokens`, chief)
      .send({ name: 'a', scopes: ['api'] })
      .expect(201)
    const refusal = await off.api('get', '/user', { token: made.body.token } as TestUser).expect(401)
    expect(refusal.body.error_description).toBe('Token is an impersonation token but impersonation was disabled.')
  })
})
