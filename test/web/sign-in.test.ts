import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { sessions, users } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aProject, aUser, setSettings, type TestUser } from '../support/factories.js'

const t = testApp({ ROOST_FAILED_CREDENTIALS: '5', ROOST_TRUSTED_PROXIES: '127.0.0.1' })

let visitors = 0
/** Each has another address, because wrong passwords are counted by address. */
const aBrowser = (headers: Record<string, string> = {}) => new TestBrowser(t.url, { 'x-forwarded-for': `198.51.100.${++visitors}`, ...headers })
const signedIn = async (who: TestUser, headers?: Record<string, string>) => {
  const browser = aBrowser(headers)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}
const sessionsOf = (who: TestUser) => t.ctx.db.write.select().from(sessions).where(eq(sessions.user_id, who.id))
const isSignedIn = async (browser: TestBrowser) => (await browser.open('/-/profile')).at === '/-/profile'
const audited = async (who: TestUser) => {
  const { rows } = await t.ctx.db.write.execute<{ action: string }>(
    `select action from audit_events where target_type = 'user' and target_id = ${who.id} order by id`,
  )
  return rows.map(({ action }) => action)
}

describe('signing in', () => {
  it('opens a session by username or address, and stores only the digest of its cookie (WB-10)', async () => {
    const who = await aUser(t.ctx)
    for (const username of [who.username, ` ${who.email.toUpperCase()} `]) await signedIn({ ...who, username })
    const browser = await signedIn(who, { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' })
    const value = browser.cookies.get('roost_session') ?? ''
    expect(value).toMatch(/^[A-Za-z0-9_-]{43}$/)
    const rows = await sessionsOf(who)
    expect(rows).toHaveLength(3)
    expect(JSON.stringify(rows)).not.toContain(value)
    const { $ } = await browser.open('/-/profile/active_sessions')
    expect($('.rows > li').length).toBe(3)
    expect($('.rows').text()).toContain('Firefox on Linux')
    expect(await audited(who)).toContain('sign_in_done')
  })

  it('sets a cookie that no script reads and no other site sends, with a new value each time', async () => {
    const who = await aUser(t.ctx)
    const browser = aBrowser()
    await browser.open('/users/sign_in')
    const token = String(browser.page?.$('input[name=authenticity_token]').val())
    const send = () =>
      fetch(`${t.url}/users/sign_in`, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie: `roost_visitor=${browser.cookies.get('roost_visitor')}` },
        body: new URLSearchParams({
          'user[login]': who.username,
          'user[password]': who.password,
          'user[remember_me]': '1',
          authenticity_token: token,
        }),
      })
    const [one, two] = [await send(), await send()].map((answer) => answer.headers.getSetCookie().find((text) => text.startsWith('roost_session=')))
    expect(one).toMatch(/^roost_session=[^;]+; Max-Age=1209600; Path=\/; HttpOnly; SameSite=Lax$/)
    expect(one).not.toBe(two)
  })

  it('says the same of a wrong password, an unknown name and a blocked account, and keeps the name that was typed (WB-12)', async () => {
    const [who, blocked] = [await aUser(t.ctx), await aUser(t.ctx, { state: 'blocked' })]
    const pages = []
    for (const [username, password] of [
      [who.username, 'wrong'],
      ['unknown', 'wrong'],
      [blocked.username, blocked.password],
    ] as const) {
      const { status, text, $ } = await aBrowser().signIn({ username, password })
      expect($('#user_login').val()).toBe(username)
      expect($('#user_password').val()).toBeUndefined()
      pages.push([status, text])
    }
    expect(pages[0]).toEqual([422, expect.stringContaining('The username, address or password is wrong, or the account may not sign in.')])
    for (const each of pages) expect(each).toEqual(pages[0])
    expect(await audited(who)).toContain('sign_in_refused')
  })

  it('is throttled like the password grant, by account and address (SEC-26)', async () => {
    const who = await aUser(t.ctx)
    const browser = aBrowser()
    for (let i = 0; i < 5; i++) await browser.signIn({ ...who, password: 'wrong' })
    const refused = await browser.signIn(who)
    expect([refused.status, refused.text]).toEqual([429, expect.stringMatching(/Too many attempts\. Try again in \d+ seconds\./)])
    expect((await aBrowser().signIn(who)).at).toBe('/dashboard')
  })

  it('leads back to where the reader wanted to go, and to no other site (WB-9)', async () => {
    const who = await aUser(t.ctx)
    const browser = aBrowser()
    expect((await browser.open('/-/profile/keys?a=b')).at).toBe('/users/sign_in?return_to=%2F-%2Fprofile%2Fkeys%3Fa%3Db')
    expect((await browser.submit('/users/sign_in', { 'user[login]': who.username, 'user[password]': who.password })).at).toBe('/-/profile/keys?a=b')
    for (const to of ['https://evil.example/', '//evil.example', '/\\evil.example', '/\tevil', 'javascript:alert(1)']) {
      const other = aBrowser()
      await other.open(`/users/sign_in?return_to=${encodeURIComponent(to)}`)
      expect((await other.submit('/users/sign_in', { 'user[login]': who.username, 'user[password]': who.password })).at).toBe('/dashboard')
    }
  })

  it('with a password that an administrator has set opens only the page that changes it (WB-13)', async () => {
    const [who, admin] = [await aUser(t.ctx), await anAdmin(t.ctx)]
    await t.api('put', `/users/${who.id}`, admin).send({ password: 'set by an administrator' }).expect(200)
    const browser = aBrowser()
    expect((await browser.signIn({ ...who, password: 'set by an administrator' })).at).toBe('/-/profile/password/new')
    expect((await browser.open('/-/profile/keys')).at).toBe('/-/profile/password/new')
    const change = {
      'user[current_password]': 'set by an administrator',
      'user[password]': 'of my own choice',
      'user[password_confirmation]': 'another',
    }
    const refused = await browser.submit('/-/profile/password', change)
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('New password again is not the same as the new password.')])
    expect((await browser.submit('/-/profile/password', { ...change, 'user[password_confirmation]': 'of my own choice' })).at).toBe('/dashboard')
    expect(await isSignedIn(browser)).toBe(true)
  })
})

describe('a session ends', () => {
  it('by signing out, which no link can do', async () => {
    const who = await aUser(t.ctx)
    const browser = await signedIn(who)
    expect((await browser.open('/users/sign_out')).status).toBe(405)
    expect(await isSignedIn(browser)).toBe(true)
    const page = await browser.submit('/users/sign_out')
    expect([page.at, page.text]).toEqual(['/users/sign_in', expect.stringContaining('You are signed out.')])
    expect([await isSignedIn(browser), await sessionsOf(who)]).toEqual([false, []])
    await setSettings(t.ctx, { after_sign_out_path: 'https://example.org/bye' })
    try {
      const other = await signedIn(who)
      await other.open('/dashboard')
      // some browsers hold the redirect of a form to its own site
      const page = await other.submit('/users/sign_out')
      expect([page.headers.get('refresh'), page.$('main a').attr('href')]).toEqual(['0; url=https://example.org/bye', 'https://example.org/bye'])
      expect(await isSignedIn(other)).toBe(false)
    } finally {
      await setSettings(t.ctx, {})
    }
  })

  it('when the user is blocked, also for good, and when the user is removed', async () => {
    const [who, admin] = [await aUser(t.ctx), await anAdmin(t.ctx)]
    const browser = await signedIn(who)
    await t.api('post', `/users/${who.id}/block`, admin).expect(201)
    expect(await isSignedIn(browser)).toBe(false)
    await t.api('post', `/users/${who.id}/unblock`, admin).expect(201)
    expect(await isSignedIn(browser)).toBe(false)
    const again = await signedIn(who)
    await t.api('delete', `/users/${who.id}`, admin).expect(204)
    expect(await isSignedIn(again)).toBe(false)
  })

  it('when the user is deactivated, who is active again by signing in (WB-350)', async () => {
    const [who, admin] = [await aUser(t.ctx), await anAdmin(t.ctx)]
    const browser = await signedIn(who)
    await t.ctx.db.write.update(users).set({ last_activity_on: null, current_sign_in_at: null }).where(eq(users.id, who.id))
    await t.ctx.db.write
      .update(sessions)
      .set({ last_used_at: new Date(0) })
      .where(eq(sessions.user_id, who.id))
    await t.api('post', `/users/${who.id}/deactivate`, admin).expect(201)
    expect(await isSignedIn(browser)).toBe(false)
    expect(await sessionsOf(who)).toEqual([])
    const wrong = await aBrowser().signIn({ ...who, password: 'wrong password' })
    expect(wrong.at).toBe('/users/sign_in')
    const grant = { grant_type: 'password', username: who.username, password: who.password }
    expect((await fetch(`${t.url}/oauth/token`, { method: 'POST', body: new URLSearchParams(grant) })).status).toBe(401)
    await t.api('get', '/user', who).expect(403)
    await signedIn(who)
    await t.api('get', '/user', who).expect(200)
    expect((await audited(who)).slice(-4)).toEqual(['sign_in_refused', 'sign_in_refused', 'user_activated', 'sign_in_done'])
  })

  it('when the password changes, but for the one that changes it', async () => {
    const who = await aUser(t.ctx)
    const [one, two] = [await signedIn(who), await signedIn(who)]
    await one.open('/-/profile/password/edit')
    const fields = { 'user[current_password]': who.password, 'user[password]': 'a new password', 'user[password_confirmation]': 'a new password' }
    expect((await one.submit('/-/profile/password', fields)).text).toContain('Password updated.')
    expect([await isSignedIn(one), await isSignedIn(two)]).toEqual([true, false])
    await t.api('put', '/user/password', who).send({ current_password: 'a new password', password: 'yet another one' }).expect(204)
    expect(await isSignedIn(one)).toBe(false)
  })

  it('from the list of sessions, and only those of the user', async () => {
    const [who, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    const [one, two, stranger] = [await signedIn(who), await signedIn(who), await signedIn(other)]
    const [mine] = (await sessionsOf(who)).sort((a, b) => b.id - a.id)
    await stranger.open('/-/profile/active_sessions')
    const token = String(stranger.page?.$('input[name=authenticity_token]').val())
    const path = `/-/profile/active_sessions/${mine?.id}`
    expect((await stranger.post(path, { _method: 'delete', authenticity_token: token })).status).toBe(404)
    expect(await isSignedIn(two)).toBe(true)
    await one.open('/-/profile/active_sessions')
    expect((await one.submit(path)).text).toContain('The session is ended.')
    expect([await isSignedIn(one), await isSignedIn(two)]).toEqual([true, false])
  })

  it('when it was not used for as long as session_expire_delay says, or two weeks if it is remembered (WB-11)', async () => {
    const who = await aUser(t.ctx)
    const browser = await signedIn(who)
    const unusedFor = (minutes: number, more = {}) =>
      t.ctx.db.write
        .update(sessions)
        .set({ last_used_at: new Date(Date.now() - minutes * 60_000), ...more })
        .where(eq(sessions.user_id, who.id))
    try {
      await setSettings(t.ctx, { session_expire_delay: 60 })
      await unusedFor(59)
      expect(await isSignedIn(browser)).toBe(true)
      await t.ctx.jobs.drain()
      expect(Number((await sessionsOf(who))[0]?.last_used_at)).toBeGreaterThan(Date.now() - 60_000)
      await unusedFor(61)
      expect(await isSignedIn(browser)).toBe(false)
      await unusedFor(13 * 1_440, { remembered: true })
      expect(await isSignedIn(browser)).toBe(true)
      await t.ctx.jobs.drain()
      await unusedFor(14 * 1_440 + 1, { remembered: true })
      expect(await isSignedIn(browser)).toBe(false)
    } finally {
      await setSettings(t.ctx, {})
    }
  })
})

describe('a form (WB-5)', () => {
  it('without the token of its browser, or sent by another site, changes nothing', async () => {
    const [who, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    const [browser, stranger] = [await signedIn(who), await signedIn(other)]
    await browser.open('/-/profile')
    await stranger.open('/-/profile')
    const tokenOf = (one: TestBrowser) => String(one.page?.$('input[name=authenticity_token]').first().val())
    const send = (authenticity_token: string, headers: Record<string, string> = {}) =>
      browser.request('/-/profile', {
        method: 'POST',
        body: new URLSearchParams({ _method: 'put', 'user[name]': 'Changed', authenticity_token }),
        headers,
      })
    const token = tokenOf(browser)
    const refused = [
      await send(''),
      await send(tokenOf(stranger)),
      await send(`${token.slice(0, -2)}AA`),
      await send(token, { origin: 'https://evil.example' }),
      await send(token, { 'sec-fetch-site': 'cross-site' }),
      await send(token, { 'sec-fetch-site': 'same-site', origin: t.url }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([422, 422, 422, 422, 422, 422])
    expect(refused[0]?.text).toContain('This form has expired, or was sent by another site.')
    const nameOf = async () => (await t.ctx.db.write.select().from(users).where(eq(users.id, who.id)))[0]?.name
    expect(await nameOf()).toBe(who.name)
    expect((await send(token, { origin: t.url, 'sec-fetch-site': 'same-origin' })).text).toContain('Profile updated.')
    expect(await nameOf()).toBe('Changed')
    // masked anew in each answer
    await browser.open('/-/profile')
    expect(tokenOf(browser)).not.toBe(token)
  })
})

describe('the cookie of a session', () => {
  it('opens pages and files of the browser, and nothing of the API or of Git (WB-10)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'private', files: { 'a.txt': 'the text' } })
    const browser = await signedIn(who)
    expect((await browser.open(`/${project.fullPath}/-/raw/main/a.txt`)).html).toContain('the text')
    expect((await browser.open('/api/v4/user')).status).toBe(401)
    expect((await browser.open(`/api/v4${project.path}`)).status).toBe(404)
    expect((await browser.open(`/${project.fullPath}.git/info/refs?service=git-upload-pack`)).status).toBe(401)
  })
})

describe('what a page costs', () => {
  it('is one statement for the session, and one for what waits for its user (WB-129)', async () => {
    const browser = await signedIn(await aUser(t.ctx))
    await browser.open('/-/profile/password/edit')
    const statements = await t.queriesOf(() => browser.open('/-/profile/password/edit'))
    expect(statements).toEqual([expect.stringContaining('from "sessions"'), expect.stringContaining('from "todos"')])
  })
})
