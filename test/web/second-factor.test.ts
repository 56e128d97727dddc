import { eq } from 'drizzle-orm'
import { Secret, TOTP } from 'otpauth'
import { describe, expect, it } from 'vitest'
import { otpSecrets, recoveryCodes, sessions, users, webauthnKeys } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, anAdmin, aProject, aUser, setSettings, type TestUser } from '../support/factories.js'

const t = testApp({ ROOST_FAILED_CREDENTIALS: '5', ROOST_TRUSTED_PROXIES: '127.0.0.1' })
const AT = '/-/profile/two_factor_auth'
const STEP = '/users/sign_in/second_factor'

let visitors = 0
/** Each has another address, because wrong codes are counted by address. */
const aBrowser = () => new TestBrowser(t.url, { 'x-forwarded-for': `198.51.100.${++visitors}` })
const signedIn = async (who: TestUser) => {
  const browser = aBrowser()
  await browser.signIn(who)
  return browser
}
const codeOf = (secret: string) => new TOTP({ secret: Secret.fromBase32(secret) }).generate()
const isSignedIn = async (browser: TestBrowser) => (await browser.open('/-/profile')).at === '/-/profile'
const stored = async (who: TestUser) => (await t.ctx.db.write.select().from(users).where(eq(users.id, who.id)))[0]
const audited = async (who: TestUser) => {
  const { rows } = await t.ctx.db.write.execute<{ action: string }>(
    `select action from audit_events where target_type = 'user' and target_id = ${who.id} order by id`,
  )
  return rows.map(({ action }) => action)
}
/** The code of the present period counts as unused again. */
const forgetPeriod = (who: TestUser) => t.ctx.db.write.update(otpSecrets).set({ last_period: 0 }).where(eq(otpSecrets.user_id, who.id))
const keyOn = ({ page }: TestBrowser) => String(page?.$('#otp_key').val()).replaceAll(' ', '')

/** Turns the second factor on in a browser, which stays signed in. */
async function enabled(who: TestUser, browser?: TestBrowser) {
  const one = browser ?? (await signedIn(who))
  await one.open(AT)
  const secret = keyOn(one)
  const page = await one.submit(AT, { pin_code: codeOf(secret), current_password: who.password })
  expect(page.status).toBe(200)
  await forgetPeriod(who)
  return { browser: one, secret, codes: page.$('#codes').text().trim().split('\n') }
}

describe('turning the second factor on', () => {
  it('needs a code of the application and the password, and shows ten recovery codes once (WB-22)', async () => {
    const who = await aUser(t.ctx)
    const [browser, other] = [await signedIn(who), await signedIn(who)]
    const { $, headers } = await browser.open(AT)
    expect(headers.get('cache-control')).toBe('no-store')
    expect($('svg.qr path').attr('d')).toMatch(/^M4 4h1v1h-1z/)
    const secret = keyOn(browser)
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    const wrong = await browser.submit(AT, { pin_code: '000000', current_password: who.password })
    expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('Code is wrong')])
    // the application need not be set up again
    expect(keyOn(browser)).toBe(secret)
    const refused = await browser.submit(AT, { pin_code: codeOf(secret), current_password: 'wrong' })
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('Your password is wrong')])
    expect(await t.ctx.db.write.$count(otpSecrets, eq(otpSecrets.user_id, who.id))).toBe(0)
    const page = await browser.submit(AT, { pin_code: codeOf(secret), current_password: who.password })
    const codes = page.$('#codes').text().trim().split('\n')
    expect([page.headers.get('cache-control'), codes.length, new Set(codes).size]).toEqual(['no-store', 10, 10])
    expect(codes[0]).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/)
    expect((await browser.open(AT)).text).toContain('You have 10 left.')
    expect([await isSignedIn(browser), await isSignedIn(other)]).toEqual([true, false])
    expect(await audited(who)).toContain('two_factor_enabled')
    expect((await t.api('get', '/user', who)).body.two_factor_enabled).toBe(true)
  })

  it('stores neither the secret nor a recovery code as text', async () => {
    const who = await aUser(t.ctx)
    const { secret, codes } = await enabled(who)
    const rows = [await t.ctx.db.write.select().from(otpSecrets), await t.ctx.db.write.select().from(recoveryCodes)]
    const text = JSON.stringify(rows)
    for (const each of [secret, ...codes, ...codes.map((code) => code.replaceAll('-', ''))]) expect(text).not.toContain(each)
  })

  it('does not take the key of another user, or a second one', async () => {
    const [who, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    const [browser, stranger] = [await signedIn(who), await signedIn(other)]
    await stranger.open(AT)
    const setup = String(stranger.page?.$('input[name=setup]').val())
    await browser.open(`${AT}?setup=${encodeURIComponent(setup)}`)
    expect(keyOn(browser)).not.toBe(keyOn(stranger))
    const fields = { pin_code: codeOf(keyOn(stranger)), current_password: who.password, setup }
    expect((await browser.submit(AT, fields)).status).toBe(422)
    const second = await signedIn(who)
    await second.open(AT)
    const late = { setup: String(second.page?.$('input[name=setup]').val()), pin_code: codeOf(keyOn(second)), current_password: who.password }
    const { browser: one } = await enabled(who, browser)
    await one.open(AT)
    const token = String(one.page?.$('input[name=authenticity_token]').first().val())
    expect((await one.post(AT, { ...late, authenticity_token: token })).status).toBe(422)
  })
})

describe('signing in with a second factor', () => {
  it('asks for a code after the password, opens nothing before it, and then leads on with a new session (WB-20)', async () => {
    const who = await aUser(t.ctx)
    const { secret } = await enabled(who)
    const browser = aBrowser()
    await browser.open('/-/profile/keys?a=b')
    const step = await browser.submit('/users/sign_in', { 'user[login]': who.username, 'user[password]': who.password, 'user[remember_me]': '1' })
    expect(step.at).toBe(`${STEP}?return_to=%2F-%2Fprofile%2Fkeys%3Fa%3Db`)
    const waiting = browser.cookies.get('roost_session')
    expect((await browser.open('/-/profile')).at).toBe('/users/sign_in?return_to=%2F-%2Fprofile')
    await browser.open(step.at)
    const page = await browser.submit(STEP, { 'user[otp_attempt]': ` ${codeOf(secret).replace(/(...)/, '$1 ')}` })
    expect(page.at).toBe('/-/profile/keys?a=b')
    expect(browser.cookies.get('roost_session')).not.toBe(waiting)
    const rows = await t.ctx.db.write.select().from(sessions).where(eq(sessions.user_id, who.id))
    expect(rows.filter(({ remembered }) => remembered).map(({ awaits_second_factor }) => awaits_second_factor)).toEqual([false])
    expect((await audited(who)).slice(-1)).toEqual(['sign_in_done'])
    // the value of the session that waited opens nothing
    browser.cookies.set('roost_session', waiting ?? '')
    expect(await isSignedIn(browser)).toBe(false)
  })

  it('takes each code once, of the application or of recovery (WB-21)', async () => {
    const who = await aUser(t.ctx)
    const { secret, codes } = await enabled(who)
    for (const code of [codeOf(secret), codes[0] as string, (codes[1] as string).replaceAll('-', ' ').toUpperCase()]) {
      const [one, two] = [await signedIn(who), await signedIn(who)]
      expect((await one.submit(STEP, { 'user[otp_attempt]': code })).at).toBe('/dashboard')
      const refused = await two.submit(STEP, { 'user[otp_attempt]': code })
      expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('The code is wrong, or was used before.')])
      expect(await isSignedIn(two)).toBe(false)
    }
    expect(await t.ctx.db.write.$count(recoveryCodes, eq(recoveryCodes.user_id, who.id))).toBe(8)
    await forgetPeriod(who)
    const both = await Promise.all([signedIn(who), signedIn(who)])
    const code = codeOf(secret)
    const ends = await Promise.all(both.map((browser) => browser.submit(STEP, { 'user[otp_attempt]': code })))
    expect(ends.map(({ status }) => status).sort()).toEqual([200, 422])
  })

  it('counts and records wrong codes as wrong passwords, and the right password does not begin anew (WB-21, SEC-26)', async () => {
    const who = await aUser(t.ctx)
    const { secret } = await enabled(who)
    const browser = await signedIn(who)
    for (let i = 0; i < 4; i++) expect((await browser.submit(STEP, { 'user[otp_attempt]': '000000' })).status).toBe(422)
    await browser.signIn(who)
    expect((await browser.submit(STEP, { 'user[otp_attempt]': 'not a code' })).status).toBe(422)
    const refused = await browser.submit(STEP, { 'user[otp_attempt]': codeOf(secret) })
    expect([refused.status, refused.text]).toEqual([429, expect.stringMatching(/Too many attempts\. Try again in \d+ seconds\./)])
    expect((await audited(who)).filter((action) => action === 'sign_in_refused')).toHaveLength(5)
    expect((await (await signedIn(who)).submit(STEP, { 'user[otp_attempt]': codeOf(secret) })).at).toBe('/dashboard')
  })

  it('begins anew when it took longer than ten minutes, and leads those away who have nothing to give', async () => {
    const who = await aUser(t.ctx)
    const { secret } = await enabled(who)
    const browser = await signedIn(who)
    const long = new Date(Date.now() - 601_000)
    await t.ctx.db.write.update(sessions).set({ last_used_at: long }).where(eq(sessions.awaits_second_factor, true))
    expect((await browser.submit(STEP, { 'user[otp_attempt]': codeOf(secret) })).text).toContain('It took too long. Sign in again.')
    expect((await aBrowser().open(STEP)).at).toBe('/users/sign_in?return_to=%2F')
    expect((await (await signedIn(await aUser(t.ctx))).open(`${STEP}?return_to=/explore`)).at).toBe('/explore')
  })
})

describe('while the second factor is on', () => {
  it('the password grant and the change of a password without a token are refused with a text that names access tokens (WB-23)', async () => {
    const who = await aUser(t.ctx)
    await enabled(who)
    const grant = (password: string) =>
      t.app.inject({ method: 'POST', url: '/oauth/token', payload: { grant_type: 'password', username: who.username, password } })
    const right = await grant(who.password)
    expect([right.statusCode, right.json()]).toEqual([
      401,
      { error: 'invalid_grant', error_description: expect.stringMatching(/^Two-factor authentication is on.*\/-\/profile\/personal_access_tokens/) },
    ])
    expect((await grant('wrong')).json().error_description).not.toContain('Two-factor')
    const change = { username: who.username, current_password: who.password, password: 'another password' }
    expect((await t.api('put', '/user/password').send(change).expect(401)).body.error_description).toContain('Two-factor authentication is on')
    await t.api('get', '/user', who).expect(200)
  })

  it('new recovery codes need the password and replace the old ones (WB-22)', async () => {
    const who = await aUser(t.ctx)
    const { browser, codes } = await enabled(who)
    await browser.open(AT)
    expect((await browser.submit(`${AT}/codes`, { password: 'wrong' })).status).toBe(422)
    const page = await browser.submit(`${AT}/codes`, { password: who.password })
    const fresh = page.$('#codes').text().trim().split('\n')
    expect(fresh).toHaveLength(10)
    expect((await (await signedIn(who)).submit(STEP, { 'user[otp_attempt]': codes[0] as string })).status).toBe(422)
    expect((await (await signedIn(who)).submit(STEP, { 'user[otp_attempt]': fresh[0] as string })).at).toBe('/dashboard')
    expect(await audited(who)).toContain('recovery_codes_created')
  })

  it('a security key is removed with the password, and not without (WB-27)', async () => {
    const who = await aUser(t.ctx)
    const { browser } = await enabled(who)
    const key = {
      user_id: who.id,
      name: 'blue key',
      credential_id: `key of ${who.username}`,
      public_key: 'x',
      counter: 0,
      transports: [],
      created_at: t.ctx.now(),
    }
    await t.ctx.db.write.insert(webauthnKeys).values(key)
    const left = () => t.ctx.db.write.$count(webauthnKeys, eq(webauthnKeys.user_id, who.id))
    await browser.open(AT)
    const refused = await browser.submit('Remove the key', { removal_password: 'wrong' })
    expect([refused.status, refused.$('details[open] .fault').text(), await left()]).toEqual([422, 'Your password is wrong.', 1])
    expect((await browser.submit('Remove the key')).status).toBe(422)
    expect((await browser.submit('Remove the key', { removal_password: who.password })).text).toContain('Key removed.')
    expect(await left()).toBe(0)
  })

  it('it is turned off with the password, and all that belongs to it is removed (WB-22)', async () => {
    const who = await aUser(t.ctx)
    const { browser } = await enabled(who)
    const waiting = await signedIn(who)
    await browser.open(AT)
    expect((await browser.submit('Turn off', { current_password: 'wrong' })).status).toBe(422)
    expect((await stored(who))?.two_factor_enabled).toBe(true)
    expect((await browser.submit('Turn off', { current_password: who.password })).text).toContain('The second factor is off.')
    expect((await stored(who))?.two_factor_enabled).toBe(false)
    const left = [otpSecrets, recoveryCodes].map((table) => t.ctx.db.write.$count(table, eq(table.user_id, who.id)))
    expect(await Promise.all(left)).toEqual([0, 0])
    expect([await audited(who), await isSignedIn(waiting)]).toEqual([expect.arrayContaining(['two_factor_disabled']), false])
    expect((await aBrowser().signIn(who)).at).toBe('/dashboard')
  })
})

describe('a demanded second factor (WB-24)', () => {
  const ask = (hours: number) => setSettings(t.ctx, { require_two_factor_authentication: true, two_factor_grace_period: hours })

  it('leads every page of a user without one to the page that sets it up, and leaves tokens alone', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, files: { 'a.txt': 'a' } })
    const browser = await signedIn(who)
    try {
      await ask(0)
      expect((await browser.open('/-/profile/keys')).at).toBe(AT)
      expect([browser.page?.text, browser.page?.$(`form[action="${AT}/skip"]`).length]).toEqual([
        expect.stringContaining('You need a second factor.'),
        0,
      ])
      const token = String(browser.page?.$('input[name=authenticity_token]').first().val())
      const skipped = await browser.post(`${AT}/skip`, { _method: 'patch', authenticity_token: token })
      expect(skipped.status).toBe(403)
      expect((await browser.post('/-/profile', { _method: 'put', 'user[name]': 'Changed', authenticity_token: token })).at).toBe(AT)
      expect((await stored(who))?.name).toBe(who.name)
      await t.api('get', project.path, who).expect(200)
      await enabled(who, browser)
      expect((await browser.open('/-/profile/keys')).at).toBe('/-/profile/keys')
    } finally {
      await setSettings(t.ctx, {})
    }
  })

  it('can be skipped in the period of grace, which begins when the user is first asked', async () => {
    const who = await aUser(t.ctx)
    const browser = await signedIn(who)
    const askedSince = (hours: number) =>
      t.ctx.db.write
        .update(users)
        .set({ second_factor_asked_at: new Date(Date.now() - hours * 3_600_000) })
        .where(eq(users.id, who.id))
    try {
      await ask(2)
      expect((await browser.open('/explore')).at).toBe(AT)
      expect(Number((await stored(who))?.second_factor_asked_at)).toBeGreaterThan(Date.now() - 60_000)
      expect((await browser.submit(`${AT}/skip`)).at).toBe('/dashboard')
      expect((await browser.open('/explore')).at).toBe('/explore')
      // a new session is asked again
      expect((await aBrowser().signIn(who)).at).toBe(AT)
      await askedSince(1.9)
      expect((await browser.open('/explore')).at).toBe('/explore')
      await askedSince(2.1)
      expect((await browser.open('/explore')).at).toBe(AT)
      expect(browser.page?.$(`form[action="${AT}/skip"]`).length).toBe(0)
    } finally {
      await setSettings(t.ctx, {})
    }
  })

  it('is demanded by a group of its members and of those above and below it (GR-55)', async () => {
    const [owner, member, below, above, stranger] = await Promise.all(Array.from({ length: 5 }, () => aUser(t.ctx)))
    if (!owner || !member || !below || !above || !stranger) return expect.fail('there are five')
    const root = await aGroup(t.ctx, { creator: owner })
    const group = await aGroup(t.ctx, { creator: owner, parent_id: root.id })
    const deep = await aGroup(t.ctx, { creator: owner, parent_id: group.id })
    for (const [to, who] of [
      [group, member],
      [deep, below],
      [root, above],
    ] as const)
      await t.api('post', `${to.path}/members`, owner).send({ user_id: who.id, access_level: 30 }).expect(201)
    const { body } = await t.api('put', group.path, owner).send({ require_two_factor_authentication: true, two_factor_grace_period: 0 }).expect(200)
    expect([body.require_two_factor_authentication, body.two_factor_grace_period]).toEqual([true, 0])
    const ends = await Promise.all([member, below, above, stranger].map(async (who) => (await aBrowser().signIn(who)).at))
    expect(ends).toEqual([AT, AT, AT, '/dashboard'])
    await t.api('put', group.path, owner).send({ require_two_factor_authentication: false }).expect(200)
    expect((await aBrowser().signIn(member)).at).toBe('/dashboard')
  })
})

describe('an administrator', () => {
  it('switches the second factor of a user off (US-70)', async () => {
    const [who, admin] = [await aUser(t.ctx), await anAdmin(t.ctx)]
    const path = `/users/${who.id}/disable_two_factor`
    await enabled(who)
    await t.api('patch', path, who).expect(403)
    await t.api('patch', path).expect(401)
    await t.api('patch', '/users/999999/disable_two_factor', admin).expect(404)
    await t.api('patch', path, admin).expect(204)
    expect((await aBrowser().signIn(who)).at).toBe('/dashboard')
    expect((await t.api('patch', path, admin).expect(400)).body).toEqual({ message: 'Two-factor authentication is not enabled for this user' })
    await enabled(admin)
    await t.api('patch', `/users/${admin.id}/disable_two_factor`, admin).expect(403)
  })

  it('finds users with and without one (US-71)', async () => {
    const [on, off, admin] = [await aUser(t.ctx), await aUser(t.ctx), await anAdmin(t.ctx)]
    await enabled(on)
    const idsOf = async (two_factor: string) =>
      (await t.api('get', `/users?two_factor=${two_factor}&per_page=100`, admin).expect(200)).body.map(({ id }: { id: number }) => id)
    const [with_, without] = [await idsOf('enabled'), await idsOf('disabled')]
    expect([with_.includes(on.id), with_.includes(off.id), without.includes(on.id), without.includes(off.id)]).toEqual([true, false, false, true])
    await t.api('get', '/users?two_factor=maybe', admin).expect(400)
    await t.api('get', '/users?two_factor=enabled', off).expect(400)
  })
})
