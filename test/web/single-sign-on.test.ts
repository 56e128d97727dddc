import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { identities, sessions, signOnRequests, users } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aUser, setSettings } from '../support/factories.js'
import { openidProvider } from '../support/servers/openid-provider.js'

const provider = await openidProvider({ clientId: 'roost', secret: 'very secret' })
const folder = mkdtempSync(join(tmpdir(), 'roost-sign-on-'))
const file = join(folder, 'sign-on.yml')
const common = { issuer: provider.issuer, client_id: 'roost', client_secret: { env: 'COMPANY_SECRET' } }
writeFileSync(
  file,
  JSON.stringify({
    openid_connect: [
      { name: 'company', label: 'The Company', ...common, create_accounts: true, end_session: true },
      { name: 'linking', ...common, link_by_address: true },
      {
        name: 'groups',
        ...common,
        create_accounts: true,
        second_factor: true,
        groups: { required: ['staff', 'guests'], administrators: ['root'], external: ['guests'] },
      },
      { name: 'closed', ...common, issuer: 'http://127.0.0.1:9' },
      { name: 'elsewhere', ...common, issuer: `${provider.issuer}/other` },
      { name: 'wrong_secret', ...common, client_secret: 'wrong', create_accounts: true },
    ],
  }),
)
afterAll(() => {
  provider.close()
  rmSync(folder, { recursive: true })
})
const t = testApp({ ROOST_SIGN_ON: file, COMPANY_SECRET: 'very secret', ROOST_TRUSTED_PROXIES: '127.0.0.1' })

let visitors = 0
const aBrowser = () => new TestBrowser(t.url, { 'x-forwarded-for': `198.51.100.${++visitors}` })
let people = 0
const aPerson = (claims: Record<string, unknown> = {}) => {
  const n = ++people
  return { sub: `Sub-${n}`, preferred_username: `person${n}`, name: `Person ${n}`, email: `person${n}@example.org`, email_verified: true, ...claims }
}

/** Presses the button of a provider, and returns the address that the browser is sent to. */
async function begin(browser: TestBrowser, name = 'company', from = '/users/sign_in'): Promise<string> {
  await browser.open(from)
  const { $, headers, text } = await browser.submit(`/users/auth/${name}`)
  const to = $('main a').attr('href') ?? expect.fail(text)
  expect(headers.get('refresh')).toBe(`0; url=${to}`)
  return to
}

/** Signs in at a provider, and comes back. */
const signIn = async (claims: Record<string, unknown>, { browser = aBrowser(), name = 'company', from = '/users/sign_in' } = {}) =>
  browser.open(provider.authorize(await begin(browser, name, from), claims))

const rowOf = async (uid: string, name = 'company') => {
  const [row] = await t.ctx.db.write
    .select({ user: users })
    .from(identities)
    .innerJoin(users, eq(users.id, identities.user_id))
    .where(eq(identities.extern_uid, uid))
  return row?.user ?? expect.fail(`there is no account for ${uid} of ${name}`)
}
const count = async (table: typeof users | typeof sessions | typeof identities) => t.ctx.db.write.$count(table)
const audited = async (action: string) => {
  const { rows } = await t.ctx.db.write.execute<{ target: string; changes: { reason?: string; provider?: string } }>(
    `select target, changes from audit_events where action = '${action}' order by id desc limit 1`,
  )
  return rows[0]
}

beforeEach(() => {
  Object.assign(provider, { down: false, wrong: {}, forges: false, metadata: {}, userinfo: {} })
  t.ctx.caches.openid.clear()
})

describe('signing in with OpenID Connect', () => {
  it('makes an account at the first time, and finds it again by the subject (WB-45)', async () => {
    const person = aPerson({ preferred_username: 'Jörg.Müller@example.org', name: 'Jörg Müller' })
    expect((await signIn(person)).at).toBe('/dashboard')
    const user = await rowOf(person.sub)
    expect(user).toMatchObject({ username: 'Jorg.Muller', name: 'Jörg Müller', email: person.email, admin: false, external: false })
    expect([user.password_hash, user.confirmed_at]).toEqual([null, expect.any(Date)])
    expect((await signIn({ ...person, preferred_username: 'another', email: 'other@example.org' })).at).toBe('/dashboard')
    expect(await t.ctx.db.write.select().from(sessions).where(eq(sessions.user_id, user.id))).toMatchObject([{ provider: 'company' }, {}])
    expect(await audited('sign_in_done')).toMatchObject({ target: 'another' })
    const { body } = await t.api('get', `/users/${user.id}`, await anAdmin(t.ctx)).expect(200)
    expect(body.identities).toEqual([{ provider: 'company', extern_uid: person.sub }])
  })

  it('sends the browser to the provider with PKCE, state and nonce, which it does not store (WB-42)', async () => {
    const { searchParams: query } = new URL(await begin(aBrowser()))
    expect(Object.fromEntries(query)).toMatchObject({
      ...{ client_id: 'roost', response_type: 'code', scope: 'openid profile email', code_challenge_method: 'S256' },
      redirect_uri: 'http://roost.test/users/auth/company/callback',
    })
    for (const name of ['state', 'nonce', 'code_challenge']) expect(query.get(name)).toMatch(/^[\w-]{43}$/)
    const stored = JSON.stringify(await t.ctx.db.write.select().from(signOnRequests))
    for (const name of ['state', 'nonce']) expect(stored).not.toContain(query.get(name))
  })

  it('begins with a form of this service only, never with a link (WB-42)', async () => {
    const browser = aBrowser()
    expect((await browser.open('/users/auth/company')).status).toBe(405)
    expect((await browser.post('/users/auth/company', {})).status).toBe(422)
    await browser.open('/users/sign_in')
    expect((await browser.submit('/users/auth/company')).status).toBe(200)
  })

  it('leads back to where the reader wanted to go (WB-9)', async () => {
    expect((await signIn(aPerson(), { from: '/-/profile/keys' })).at).toBe('/-/profile/keys')
    const to = await signIn(aPerson(), { from: '/users/sign_in?return_to=https://evil.example/' })
    expect(to.at).toBe('/dashboard')
  })

  it('gives a free and valid username for any that a provider names (WB-45)', async () => {
    const taken = await aUser(t.ctx)
    const names = [taken.username, 'admin', '-', '../../etc/passwd', "'; drop table users --", 'x.git', '\u202egnp.exe', 'a'.repeat(5_000), '.', '']
    const persons = names.map((preferred_username) => aPerson({ preferred_username, name: '\u0000<script>\u202e' }))
    for (const person of persons) expect((await signIn(person)).at).toBe('/dashboard')
    const made = await Promise.all(persons.map(({ sub }) => rowOf(sub)))
    expect(made.map(({ username }) => username)).toEqual([
      `${taken.username}1`,
      'member',
      'member1',
      'etc-passwd',
      'drop-table-users',
      'x',
      'gnp.exe',
      'a'.repeat(100),
      'member2',
      expect.stringMatching(/^person\d+$/),
    ])
    expect(new Set(made.map(({ name }) => name))).toEqual(new Set(['<script>']))
  })

  it('takes claims of the wrong kind as absent', async () => {
    const odd = aPerson({ preferred_username: { a: 1 }, name: ['x'], groups: 'one' })
    expect((await signIn(odd)).at).toBe('/dashboard')
    expect((await rowOf(odd.sub)).name).toBe((await rowOf(odd.sub)).username)
    expect(await signIn(aPerson({ email: 7 }))).toMatchObject({ status: 403, text: expect.stringContaining('it has no e-mail address of yours') })
  })

  it('asks the userinfo endpoint for what the ID token does not say', async () => {
    const { sub, ...rest } = aPerson()
    provider.userinfo = rest
    expect((await signIn({ sub })).at).toBe('/dashboard')
    expect(await rowOf(sub)).toMatchObject({ username: rest.preferred_username, email: rest.email })
    provider.userinfo = { ...rest, sub: 'another' }
    expect((await signIn({ sub })).status).toBe(403)
  })

  it('asks for the second factor of the account, unless the provider is trusted with it (WB-48)', async () => {
    for (const [name, at] of [
      ['company', 'second_factor'],
      ['groups', '/dashboard'],
    ] as const) {
      const person = aPerson({ groups: ['staff'] })
      await signIn(person, { name })
      await t.ctx.db.write
        .update(users)
        .set({ two_factor_enabled: true })
        .where(eq(users.id, (await rowOf(person.sub)).id))
      expect((await signIn(person, { name })).at).toContain(at)
    }
  })
})

describe('refusing what a provider or a browser sends', () => {
  /** Refused with a page that says so; no session and no account is made. */
  const expectRefused = async (answer: Promise<{ status: number; text: string }>, status: number, text: string) => {
    const before = [await count(users), await count(sessions), await count(identities)]
    expect(await answer).toMatchObject({ status, text: expect.stringContaining(text) })
    expect([await count(users), await count(sessions), await count(identities)]).toEqual(before)
  }
  const EXPIRED = 'This sign-in has expired, was used already, or was begun in another browser.'

  it.each<[string, () => void, Record<string, unknown>]>([
    ['a wrong nonce', () => (provider.wrong = { nonce: 'another' }), {}],
    ['no nonce', () => (provider.wrong = { nonce: undefined }), {}],
    ['a token that has expired', () => (provider.wrong = { exp: 1_700_000_000, iat: 1_699_999_000 }), {}],
    ['a token for another client', () => (provider.wrong = { aud: 'another' }), {}],
    ['a token of another issuer', () => (provider.wrong = { iss: 'https://evil.example' }), {}],
    ['a token signed by another key', () => (provider.forges = true), {}],
    ['a token without a subject', () => (provider.wrong = { sub: undefined }), {}],
  ])('refuses %s, which stays in the audit log (WB-43)', async (_, prepare, claims) => {
    prepare()
    await expectRefused(signIn(aPerson(claims)), 403, 'The Company did not sign you in: its answer is not valid')
    expect(await audited('sign_in_refused')).toMatchObject({ changes: { reason: 'company: its answer is not valid' } })
  })

  it('refuses a state that is unknown, of another browser, of another provider, used or too old (WB-42)', async () => {
    const browser = aBrowser()
    const back = provider.authorize(await begin(browser), aPerson())
    await expectRefused(browser.open(back.replace(/state=[^&]*/, 'state=unknown')), 422, EXPIRED)
    await expectRefused(browser.open('/users/auth/company/callback'), 422, EXPIRED)
    const ofAnother = aBrowser()
    await ofAnother.open('/users/sign_in')
    await expectRefused(ofAnother.open(back), 422, EXPIRED)
    await expectRefused(browser.open(back), 422, EXPIRED)
    await expectRefused(browser.open(provider.authorize(await begin(browser), aPerson()).replace('/company/', '/linking/')), 422, EXPIRED)
    const late = provider.authorize(await begin(browser), aPerson())
    await t.ctx.db.write.update(signOnRequests).set({ expires_at: new Date(Date.now() - 1) })
    await expectRefused(browser.open(late), 422, EXPIRED)
    const used = provider.authorize(await begin(browser), aPerson())
    expect((await browser.open(used)).at).toBe('/dashboard')
    browser.cookies.delete('roost_session')
    await expectRefused(browser.open(used), 422, EXPIRED)
  })

  it('refuses an answer whose issuer is another, and one with an error, in the words of the provider (WB-43)', async () => {
    const browser = aBrowser()
    const mixed = provider.authorize(await begin(browser), aPerson()).replace(/iss=[^&]*/, 'iss=https%3A%2F%2Fevil.example')
    await expectRefused(browser.open(mixed), 403, 'its answer is not valid')
    for (const [error, text] of [
      ['access_denied', 'access was denied there'],
      ['login_required', 'it answers login_required'],
      ['<script>', 'its answer is not valid'],
    ]) {
      const state = new URL(await begin(browser)).searchParams.get('state') ?? ''
      const query = new URLSearchParams({ error: String(error), state, iss: provider.issuer, error_description: 'see evil.example' })
      await expectRefused(browser.open(`/users/auth/company/callback?${query}`), 403, String(text))
    }
    await expectRefused(signIn(aPerson(), { name: 'wrong_secret' }), 403, 'it answers invalid_client')
  })

  it('says that a provider cannot be reached, before and after, and works again when it does (WB-44)', async () => {
    const browser = aBrowser()
    await browser.open('/users/sign_in')
    await expectRefused(browser.submit('/users/auth/closed'), 503, 'closed cannot be reached at the moment')
    await browser.open('/users/sign_in')
    await expectRefused(browser.submit('/users/auth/elsewhere'), 503, 'elsewhere cannot be reached at the moment')
    provider.down = true
    await browser.open('/users/sign_in')
    await expectRefused(browser.submit('/users/auth/company'), 503, 'The Company cannot be reached at the moment')
    provider.down = false
    const back = provider.authorize(await begin(browser), aPerson())
    provider.down = true
    await expectRefused(browser.open(back), 503, 'The Company cannot be reached at the moment')
    provider.down = false
    expect((await signIn(aPerson(), { browser })).at).toBe('/dashboard')
  })

  it('calls no address of the local network that the provider names but for its own (SEC-138)', async () => {
    const port = new URL(provider.issuer).port
    provider.metadata = { token_endpoint: `http://localhost:${port}/token` }
    const before = provider.requests.length
    await expectRefused(signIn(aPerson()), 503, 'The Company cannot be reached at the moment')
    expect(provider.requests.slice(before)).not.toContain('/token')
  })

  it('refuses an address that is not verified, and one that another account has (WB-45)', async () => {
    await expectRefused(signIn(aPerson({ email_verified: false })), 403, 'your e-mail address is not verified there')
    await expectRefused(signIn(aPerson({ email_verified: undefined })), 403, 'your e-mail address is not verified there')
    const { email } = await aUser(t.ctx)
    await expectRefused(signIn(aPerson({ email: email.toUpperCase() })), 403, 'an account with your e-mail address exists')
  })

  it('refuses a person whose subject differs from a known one in case only', async () => {
    const person = aPerson()
    await signIn(person)
    await expectRefused(signIn({ ...aPerson(), sub: person.sub.toLowerCase() }), 400, '')
  })

  it('refuses a blocked account, and one that waits for its removal (WB-45)', async () => {
    const person = aPerson()
    await signIn(person)
    const { id } = await rowOf(person.sub)
    for (const state of [{ state: 'blocked' }, { state: 'ldap_blocked' }, { state: 'active', removal: 'soft' }] as const) {
      await t.ctx.db.write.update(users).set(state).where(eq(users.id, id))
      await expectRefused(signIn(person), 403, 'the account is blocked')
    }
  })

  it('refuses a provider that the settings switch off, and hides its button (AS-31)', async () => {
    const browser = aBrowser()
    const back = provider.authorize(await begin(browser), aPerson())
    await t
      .api('put', '/application/settings', await anAdmin(t.ctx))
      .send({ disabled_oauth_sign_in_sources: ['company'] })
      .expect(200)
    await expectRefused(browser.open(back), 403, 'there is no such way to sign in at the moment')
    const { $ } = await browser.open('/users/sign_in')
    expect($('form[action="/users/auth/company"]').length).toBe(0)
    expect($('form[action="/users/auth/linking"]').length).toBe(1)
    await expectRefused(browser.post('/users/auth/company', { authenticity_token: String($('[name=authenticity_token]').val()) }), 403, '')
    await setSettings(t.ctx, {})
  })
})

describe('groups of a provider', () => {
  it('decide who may sign in, who is an administrator and who is external, at each sign-in (WB-46)', async () => {
    const person = aPerson({ groups: ['staff', 'root'] })
    expect((await signIn(aPerson({ groups: ['other'] }), { name: 'groups' })).text).toContain('in none of the groups that may use this service')
    expect((await signIn(person, { name: 'groups' })).at).toBe('/dashboard')
    expect(await rowOf(person.sub)).toMatchObject({ admin: true, external: false })
    await anAdmin(t.ctx)
    expect((await signIn({ ...person, groups: ['guests'] }, { name: 'groups' })).at).toBe('/dashboard')
    expect(await rowOf(person.sub)).toMatchObject({ admin: false, external: true, projects_limit: 0, can_create_group: false })
    expect((await signIn({ ...person, groups: [] }, { name: 'groups' })).status).toBe(403)
  })

  it('do not take the rights of the last administrator (SEC-123)', async () => {
    const person = aPerson({ groups: ['staff', 'root'] })
    await signIn(person, { name: 'groups' })
    const { id } = await rowOf(person.sub)
    await t.ctx.db.write.update(users).set({ admin: false })
    await t.ctx.db.write.update(users).set({ admin: true }).where(eq(users.id, id))
    expect((await signIn({ ...person, groups: ['staff'] }, { name: 'groups' })).at).toBe('/dashboard')
    expect((await rowOf(person.sub)).admin).toBe(true)
  })
})

describe('testing a provider', () => {
  it('reads its metadata, and says if they cannot be read (WB-205)', async () => {
    const browser = aBrowser()
    const admin = await anAdmin(t.ctx)
    await browser.signIn(admin)
    const test = async (name: string) => {
      await browser.open('/admin/sign_in_providers')
      return browser.submit(`/admin/sign_in_providers/${name}/test`)
    }
    expect((await test('company')).$('.flash.notice').text()).toMatch(/^company: its metadata were read in \d+ ms\.$/)
    provider.down = true
    expect((await test('company')).$('.flash.alert').text()).toMatch(/^company: .*503\.$/)
    expect((await browser.open('/admin/sign_in_providers')).text).toContain('not reached')
    // by the API (WB-392)
    const listed = async () => (await t.api('get', '/admin/sign_in_providers', admin).expect(200)).body
    expect(await listed()).toContainEqual(
      expect.objectContaining({ name: 'company', kind: 'openid', enabled: true, last_check: expect.objectContaining({ good: false }) }),
    )
    provider.down = false
    const { body } = await t.api('post', '/admin/sign_in_providers/company/test', admin).expect(200)
    expect(body).toEqual({ good: true, message: expect.stringMatching(/^its metadata were read in \d+ ms$/) })
    const company = (await listed()).find(({ name }: { name: string }) => name === 'company')
    expect(company.last_check).toMatchObject({ ...body, checked_at: expect.any(String) })
  })
})

describe('connected accounts', () => {
  it('are connected by a verified address where that is configured (WB-45)', async () => {
    const who = await aUser(t.ctx)
    const unverified = await signIn(aPerson({ email: who.email, email_verified: false }), { name: 'linking' })
    expect([unverified.status, unverified.text]).toEqual([403, expect.stringContaining('there is no account for you here')])
    const person = aPerson({ email: who.email.toUpperCase() })
    expect((await signIn(person, { name: 'linking' })).at).toBe('/dashboard')
    expect((await rowOf(person.sub)).id).toBe(who.id)
    expect(await audited('identity_linked')).toMatchObject({ target: who.username, changes: { provider: 'linking' } })
    expect((await signIn(aPerson({ email: who.email }), { name: 'linking' })).text).toContain('connected with another person at linking')
    const unconfirmed = await aUser(t.ctx, { skip_confirmation: false })
    expect((await signIn(aPerson({ email: unconfirmed.email }), { name: 'linking' })).status).toBe(403)
  })

  it('are connected and disconnected by the user, on the page of the account (WB-47)', async () => {
    const [who, person, browser] = [await aUser(t.ctx), aPerson(), aBrowser()]
    await browser.signIn(who)
    const connected = await signIn(person, { browser, from: '/-/profile/account' })
    expect([connected.at, connected.text]).toEqual(['/-/profile/account', expect.stringContaining('Your account is connected with The Company.')])
    expect((await rowOf(person.sub)).id).toBe(who.id)
    expect(connected.$('form[action="/users/auth/company"]').length).toBe(0)
    expect((await signIn(person)).at).toBe('/dashboard')
    const other = aBrowser()
    await other.signIn(await aUser(t.ctx))
    expect((await signIn(person, { browser: other, from: '/-/profile/account' })).text).toContain('another account is connected with this person')
    await browser.open('/-/profile/account')
    expect((await browser.submit('Disconnect')).text).toContain('That account is disconnected from yours.')
    expect((await signIn({ ...person, email_verified: false })).status).toBe(403)
    expect(await audited('identity_unlinked')).toMatchObject({ target: who.username, changes: { provider: 'company' } })
  })

  it('stay connected where they are the only way in (WB-47)', async () => {
    const [person, browser] = [aPerson(), aBrowser()]
    await signIn(person, { browser })
    await browser.open('/-/profile/account')
    const refused = await browser.submit('Disconnect')
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('This is the only way to sign in to your account')])
    await rowOf(person.sub)
  })
})

describe('signing out', () => {
  it('leads to the end of the session at a provider that is configured so, for sessions from there (WB-49)', async () => {
    const browser = aBrowser()
    await signIn(aPerson(), { browser })
    const out = await browser.submit('/users/sign_out')
    const to = new URL(out.$('main a').attr('href') ?? '')
    expect([to.origin + to.pathname, to.searchParams.get('post_logout_redirect_uri')]).toEqual([
      `${provider.issuer}/end`,
      'http://roost.test/users/sign_in',
    ])
    expect((await browser.open('/-/profile')).at).toContain('/users/sign_in')
    await signIn(aPerson(), { browser })
    t.ctx.caches.openid.clear()
    provider.down = true
    expect((await browser.submit('/users/sign_out')).at).toBe('/users/sign_in')
    const who = await aUser(t.ctx)
    await browser.signIn(who)
    expect((await browser.submit('/users/sign_out')).at).toBe('/users/sign_in')
  })
})
