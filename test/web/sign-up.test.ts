import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { eq, sql } from 'drizzle-orm'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { jobs, users } from '../../src/db/schema/index.js'
import type { Settings } from '../../src/services/core/settings.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aUser, setSettings, unique } from '../support/factories.js'
import { mailbox } from '../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())

/** What the service of captchas was asked. */
const asked: Record<string, string>[] = []
const captchas = createServer(async (request, response) => {
  const given = Object.fromEntries(new URLSearchParams(await text(request)))
  asked.push(given)
  if (given['response'] === 'gone') return void request.socket.destroy()
  response.end(given['response'] === 'broken' ? '<html>' : JSON.stringify({ success: given['response'] === 'right' }))
})
await new Promise<void>((resolve) => captchas.listen(0, '127.0.0.1', resolve))
afterAll(() => void captchas.close())

const t = testApp({
  SMTP_URL: box.url,
  MAIL_FROM: 'roost@example.org',
  ROOST_FAILED_CREDENTIALS: '5',
  ROOST_TRUSTED_PROXIES: '127.0.0.1',
  ROOST_CAPTCHA_URL: `http://127.0.0.1:${(captchas.address() as AddressInfo).port}/siteverify`,
  ROOST_CAPTCHA_SCRIPT: 'https://captcha.example/1/api.js',
  ROOST_CAPTCHA_CLASS: 'h-captcha',
})
afterEach(() => setSettings(t.ctx, {}))

const OPEN: Partial<Settings> = { require_admin_approval_after_user_signup: false }
const CONFIRMED: Partial<Settings> = { ...OPEN, send_user_confirmation_email: true }

let visitors = 0
/** Each has another address, because attempts are counted by address. */
const aBrowser = () => new TestBrowser(t.url, { 'x-forwarded-for': `203.0.113.${++visitors}` })
const aVisitor = (more: object = {}) => {
  const username = `visitor${unique()}`
  return { name: 'A Visitor', username, email: `${username}@example.net`, password: 'a long password', ...more }
}
type Visitor = ReturnType<typeof aVisitor>
const fieldsOf = (visitor: Visitor, prefix = 'user') =>
  Object.fromEntries(Object.entries(visitor).map(([name, text]) => [`${prefix}[${name}]`, text]))
async function signUp(visitor: Visitor, browser = aBrowser()) {
  await browser.open('/users/sign_up')
  return browser.submit('/users', fieldsOf(visitor))
}
const stored = async ({ username }: { username: string }) => (await t.ctx.db.write.select().from(users).where(eq(users.username, username)))[0]
const stateOf = async (visitor: { username: string }) => (await stored(visitor))?.state
const signIn = async (visitor: Visitor) => (await aBrowser().signIn(visitor)).at
const audited = async (id: number | undefined) => {
  const { rows } = await t.ctx.db.write.execute<{ action: string }>(
    `select action from audit_events where target_type = 'user' and target_id = ${id} order by id`,
  )
  return rows.map(({ action }) => action)
}
/** Lets the mails about waiting accounts, which are collected for a minute, be sent now. */
const hurry = () => t.ctx.db.write.update(jobs).set({ run_at: sql`now()` }).where(eq(jobs.kind, 'mail: waiting accounts'))

describe('signing up', () => {
  it('makes an account that waits for an administrator, so that a new server stays closed (WB-25, US-75)', async () => {
    await setSettings(t.ctx, { after_sign_up_text: 'We look at it on Mondays.', admin_notification_email: 'admins@example.org' })
    const visitor = aVisitor()
    const browser = aBrowser()
    await browser.open('/users/sign_in')
    expect(browser.page?.$('a[href$="/users/sign_up"]').text()).toBe('Sign up')
    const page = await signUp(visitor, browser)
    expect([page.at, page.text]).toEqual(['/users/almost_there', expect.stringContaining('An administrator looks at your account.')])
    expect(page.text).toContain('We look at it on Mondays.')
    expect(await stored(visitor)).toMatchObject({ state: 'blocked_pending_approval', name: 'A Visitor', email: visitor.email, confirmed_at: null })
    expect(await signIn(visitor)).toBe('/users/sign_in')
    await hurry()
    const [mail] = await box.to('admins@example.org')
    expect(mail?.text).toContain(`${visitor.username} (A Visitor), ${visitor.email}`)
  })

  it('signs in at once where neither approval nor confirmation is asked for', async () => {
    await setSettings(t.ctx, { ...OPEN, after_sign_up_text: 'Read the rules.', user_default_external: true })
    const page = await signUp(aVisitor())
    expect([page.at, page.text]).toEqual(['/dashboard', expect.stringContaining('Your account is ready. Read the rules.')])
    await setSettings(t.ctx, { ...OPEN, default_projects_limit: 3 })
    const visitor = aVisitor()
    await signUp(visitor)
    expect(await stored(visitor)).toMatchObject({ state: 'active', external: false, projects_limit: 3, can_create_group: true })
    expect(await audited((await stored(visitor))?.id)).toEqual(['user_created', 'sign_in_done'])
  })

  it('takes the fields of the original under either name', async () => {
    const [visitor, browser] = [aVisitor(), aBrowser()]
    await browser.open('/users/sign_up')
    const authenticity_token = String(browser.page?.$('input[name=authenticity_token]').val())
    expect((await browser.post('/users', { ...fieldsOf(visitor, 'new_user'), authenticity_token })).at).toBe('/users/almost_there')
    expect(await stateOf(visitor)).toBe('blocked_pending_approval')
  })

  it('does not exist while signup_enabled is off, and leads away who is signed in', async () => {
    const browser = aBrowser()
    await browser.open('/users/sign_up')
    const authenticity_token = String(browser.page?.$('input[name=authenticity_token]').val())
    await setSettings(t.ctx, { signup_enabled: false })
    const visitor = aVisitor()
    expect((await browser.post('/users', { ...fieldsOf(visitor), authenticity_token })).status).toBe(404)
    expect(await stateOf(visitor)).toBeUndefined()
    expect((await browser.open('/users/sign_up')).at).toMatch(/^\/users\/sign_in/)
    expect(browser.page?.$('a[href$="/users/sign_up"]').length).toBe(0)
    const who = await aUser(t.ctx)
    await browser.signIn(who)
    expect((await browser.open('/users/sign_up')).at).toBe('/dashboard')
  })

  it('says what is wrong beside the fields, and keeps what was typed but the password', async () => {
    await setSettings(t.ctx, { ...OPEN, domain_whitelist: ['example.net'] })
    const taken = await aUser(t.ctx, { email: `taken${unique()}@example.net` })
    const refused = async (more: object) => {
      const page = await signUp(aVisitor(more))
      expect([page.status, page.at]).toEqual([422, '/users'])
      expect(page.$('#user_password').val()).toBeUndefined()
      expect(page.$('#user_name').val()).toBe('A Visitor')
      return page.$('.fault').text()
    }
    expect(await refused({ username: taken.username })).toBe('Username has already been taken.')
    expect(await refused({ email: taken.email })).toBe('E-mail address has already been taken.')
    expect(await refused({ email: 'x@example.com' })).toBe('E-mail address domain is not authorized for sign-up.')
    expect(await refused({ email: 'no address' })).toBe('E-mail address is invalid.')
    expect(await refused({ password: 'short' })).toBe('Password is too short (minimum is 8 characters).')
    expect(await refused({ username: 'a/b' })).toMatch(/^Username /)
    await setSettings(t.ctx, { ...OPEN, domain_blacklist_enabled: true, domain_blacklist: ['*.example.net'] })
    expect(await refused({ email: 'x@mail.example.net' })).toBe('E-mail address is not from an allowed domain.')
  })

  it('makes one account of two requests at the same time, and counts attempts (ML-27)', async () => {
    const [visitor, other] = [aVisitor(), aVisitor()]
    const email = visitor.email
    const both = await Promise.all([signUp(visitor), signUp({ ...other, email })])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 422])
    const browser = aBrowser()
    for (let i = 0; i < 5; i++) await signUp({ ...aVisitor(), email, password: 'x' }, browser)
    expect((await signUp(aVisitor({ email }), browser)).status).toBe(429)
  })
})

describe('a captcha (WB-29)', () => {
  const ON: Partial<Settings> = { ...OPEN, captcha_enabled: true }
  const keys = async () => {
    const admin = await anAdmin(t.ctx)
    const settings = { captcha_enabled: true, captcha_site_key: 'the-site', captcha_private_key: 'the-secret', ...OPEN }
    await t.api('put', '/application/settings', admin).send(settings).expect(200)
  }
  const solved = async (visitor: Visitor, response: string) => {
    const browser = aBrowser()
    await browser.open('/users/sign_up')
    return browser.submit('/users', { ...fieldsOf(visitor), 'h-captcha-response': response })
  }

  it('is shown on the page of sign-up, and no account is made before its service says that it is solved', async () => {
    await keys()
    const browser = aBrowser()
    const page = await browser.open('/users/sign_up')
    expect([page.$('.h-captcha').attr('data-sitekey'), page.$('script').attr('src')]).toEqual(['the-site', 'https://captcha.example/1/api.js'])
    const policy = String(page.headers.get('content-security-policy'))
    for (const part of ['script-src', 'frame-src', 'connect-src']) expect(policy).toMatch(new RegExp(`${part} [^;]*https://captcha\\.example`))
    expect((await browser.open('/users/sign_in')).headers.get('content-security-policy')).not.toContain('captcha.example')
    const visitor = aVisitor()
    for (const response of ['', 'wrong', 'x'.repeat(20_000)]) expect((await solved(visitor, response)).text).toContain('The captcha is not solved.')
    for (const response of ['broken', 'gone']) expect((await solved(visitor, response)).text).toContain('the captcha cannot be checked')
    expect(await stateOf(visitor)).toBeUndefined()
    expect((await solved(visitor, 'right')).at).toBe('/dashboard')
    expect(asked.at(-1)).toEqual({ secret: 'the-secret', response: 'right', remoteip: `203.0.113.${visitors}` })
  })

  it('without its keys lets no one in', async () => {
    await setSettings(t.ctx, ON)
    const visitor = aVisitor()
    expect((await solved(visitor, 'right')).text).toContain('the captcha cannot be checked')
    expect(await stateOf(visitor)).toBeUndefined()
  })
})

describe('with mails that confirm addresses (WB-26)', () => {
  it('the password signs in once the link of the mail is followed', async () => {
    await setSettings(t.ctx, CONFIRMED)
    const visitor = aVisitor()
    const page = await signUp(visitor)
    expect([page.at, page.text]).toEqual(['/users/almost_there', expect.stringContaining('Look into your mail')])
    expect(await signIn(visitor)).toBe('/users/sign_in')
    const [mail] = await box.to(visitor.email)
    const link = new URL(/http:\/\/roost\.test\/users\/\S+/.exec(mail?.text ?? '')?.[0] ?? '')
    const browser = aBrowser()
    await browser.open(link.pathname + link.search)
    expect((await browser.submit('/users/confirmation')).text).toContain('Your e-mail address is confirmed.')
    expect(await signIn(visitor)).toBe('/dashboard')
  })

  it('an account that waits for approval can be confirmed before', async () => {
    await setSettings(t.ctx, { send_user_confirmation_email: true })
    const visitor = aVisitor()
    const page = await signUp(visitor)
    expect([page.text.includes('Look into your mail'), page.text.includes('An administrator looks at your account.')]).toEqual([true, true])
    const [mail] = await box.to(visitor.email)
    const link = new URL(/http:\/\/roost\.test\/users\/\S+/.exec(mail?.text ?? '')?.[0] ?? '')
    const browser = aBrowser()
    await browser.open(link.pathname + link.search)
    await browser.submit('/users/confirmation')
    expect((await stored(visitor))?.confirmed_at).not.toBeNull()
    expect(await signIn(visitor)).toBe('/users/sign_in')
  })

  it('a taken address gets the same page, no account is made, and its owner gets a mail', async () => {
    await setSettings(t.ctx, CONFIRMED)
    const owner = await aUser(t.ctx)
    const [free, taken] = [aVisitor(), aVisitor({ email: owner.email.toUpperCase() })]
    const [one, two] = [await signUp(free), await signUp(taken)]
    expect([two.status, two.at, two.html]).toEqual([one.status, one.at, one.html])
    expect(await stateOf(taken)).toBeUndefined()
    const [mail, ...more] = await box.to(owner.email)
    expect([mail?.subject, more]).toEqual(['You have an account already', []])
    expect(mail?.text).toContain(owner.username)
    const short = { ...taken, password: 'short' }
    expect((await signUp(short)).$('.fault').text()).toBe('Password is too short (minimum is 8 characters).')
    expect((await signUp(aVisitor({ email: owner.email, username: owner.username }))).$('.fault').text()).toBe('Username has already been taken.')
  })

  it('an address that was not confirmed gets its link again', async () => {
    await setSettings(t.ctx, CONFIRMED)
    const visitor = aVisitor()
    await signUp(visitor)
    expect(await box.to(visitor.email)).toHaveLength(1)
    await t.ctx.db.write.execute(sql`update account_links set created_at = created_at - interval '2 minutes'`)
    expect((await signUp(aVisitor({ email: visitor.email }))).at).toBe('/users/almost_there')
    expect((await box.to(visitor.email)).map(({ subject }) => subject)).toEqual(['Confirm your e-mail address'])
  })
})

describe('a waiting account', () => {
  const waiting = async () => {
    const visitor = aVisitor()
    await signUp(visitor)
    return { visitor, id: (await stored(visitor))?.id ?? 0 }
  }

  it('is approved by an administrator, signs in, and gets a mail (US-72)', async () => {
    const [{ visitor, id }, admin] = [await waiting(), await anAdmin(t.ctx)]
    const path = `/users/${id}/approve`
    await t.api('post', path, await aUser(t.ctx)).expect(403)
    expect((await t.api('post', `/users/${id}/unblock`, admin).expect(403)).body.message).toContain('approved, not unblocked')
    expect((await t.api('get', '/users?blocked=true&per_page=100', admin)).body).toContainEqual(
      expect.objectContaining({ id, state: 'blocked_pending_approval' }),
    )
    expect((await t.api('post', path, admin).expect(201)).body).toEqual({ message: 'Success' })
    expect(await signIn(visitor)).toBe('/dashboard')
    expect((await box.to(visitor.email)).map(({ subject }) => subject)).toEqual(['Your account is approved'])
    expect(await audited(id)).toEqual(['user_created', 'user_approved', 'sign_in_done'])
    expect((await t.api('post', path, admin).expect(403)).body).toEqual({ message: 'The user you are trying to approve is not pending approval' })
    await t.api('post', '/users/999999/approve', admin).expect(404)
  })

  it('is rejected, which removes it (US-73)', async () => {
    const [{ visitor, id }, admin] = [await waiting(), await anAdmin(t.ctx)]
    const path = `/users/${id}/reject`
    await t.api('post', path, await aUser(t.ctx)).expect(403)
    expect((await t.api('post', path, admin).expect(200)).body).toEqual({ message: 'Success' })
    expect(await stateOf(visitor)).toBeUndefined()
    expect(await audited(id)).toEqual(['user_created', 'user_rejected', 'user_deleted'])
    await t.api('post', path, admin).expect(404)
    const other = await aUser(t.ctx)
    expect((await t.api('post', `/users/${other.id}/reject`, admin).expect(409)).body).toEqual({ message: 'User does not have a pending request' })
  })

  it('can be blocked', async () => {
    const [{ visitor, id }, admin] = [await waiting(), await anAdmin(t.ctx)]
    await t.api('post', `/users/${id}/block`, admin).expect(201)
    expect(await stateOf(visitor)).toBe('blocked')
  })
})
