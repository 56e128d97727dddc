import { createServer, type Server } from 'node:http'
import * as client from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aUser, setSettings, type TestUser, unique } from '../support/factories.js'

const t = testApp()
let user: TestUser
let admin: TestUser

beforeAll(async () => {
  user = await aUser(t.ctx)
  admin = await anAdmin(t.ctx)
})

const BACK = 'https://ci.example.com/callback'

interface Client {
  id: number
  application_id: string
  application_name: string
  secret: string
}
const aClient = async (more: object = {}) => {
  const given = { name: `CI ${unique()}`, redirect_uri: BACK, scopes: 'api read_user openid email', ...more }
  return (await t.api('post', '/applications', admin).send(given).expect(201)).body as Client
}
const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  await browser.signIn(who)
  return browser
}
const at = ({ application_id: client_id }: Client, more: Record<string, string> = {}) =>
  `/oauth/authorize?${new URLSearchParams({ client_id, redirect_uri: BACK, response_type: 'code', scope: 'openid email', state: 's1', ...more })}`
const locationOf = (browser: TestBrowser) => browser.page?.headers.get('location') ?? null
const answered = (browser: TestBrowser) => {
  const { origin, pathname, searchParams } = new URL(locationOf(browser) ?? expect.fail(browser.page?.text))
  return { to: origin + pathname, ...Object.fromEntries(searchParams) } as Record<string, string>
}
const actions = async (id: number) => {
  const { body } = await t.api('get', `/audit_events?entity_type=Application&entity_id=${id}`, admin).expect(200)
  return (body as { author_id: number; details: { action: string } }[]).map(({ author_id, details }) => [author_id, details.action])
}

describe('the page that asks', () => {
  it('names the application, where it leads and what it gets, and leads back with a code (CR-32)', async () => {
    const app = await aClient({ name: '<b>CI</b> & more' })
    const browser = await signedIn(user)
    const page = await browser.open(at(app))
    expect([page.status, page.$('b').length, page.$('h1').text()]).toEqual([200, 0, 'Authorize <b>CI</b> & more?'])
    expect(page.text).toContain(user.username)
    expect(page.text).toContain('You will be led to https://ci.example.com.')
    expect(page.text).toContain('Sign you in: your name, username, picture and groups (openid)')
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self' https:;")
    await browser.submit('Authorize')
    expect(browser.page?.status).toBe(303)
    expect(answered(browser)).toEqual({ to: BACK, code: expect.stringMatching(/^[\w-]{40}$/) as string, state: 's1', iss: t.ctx.links.base })
    expect(await actions(app.id)).toEqual([
      [user.id, 'application_authorized'],
      [admin.id, 'application_created'],
    ])
  })

  it('leads back without a code when the user denies, and audits it (CR-32)', async () => {
    const app = await aClient()
    const browser = await signedIn(user)
    await browser.open(at(app))
    await browser.submit('Deny')
    expect(answered(browser)).toMatchObject({ to: BACK, error: 'access_denied', state: 's1' })
    expect(await actions(app.id)).toContainEqual([user.id, 'application_refused'])
  })

  it('is skipped for scopes that were given, and asks again for more, and on demand (CR-32)', async () => {
    const app = await aClient()
    const browser = await signedIn(user)
    await browser.open(at(app))
    await browser.submit('Authorize')
    await browser.open(at(app, { scope: 'openid' }))
    expect(answered(browser)).toMatchObject({ to: BACK, code: expect.any(String) as string })
    expect((await browser.open(at(app, { scope: 'openid api' }))).status).toBe(200)
    expect((await browser.open(at(app, { prompt: 'consent' }))).status).toBe(200)
    await browser.open(at(app, { scope: 'openid api', prompt: 'none' }))
    expect(answered(browser)).toMatchObject({ to: BACK, error: 'consent_required', state: 's1' })
  })

  it('is skipped for a trusted application, but never for what keeps no secret (CR-32)', async () => {
    const browser = await signedIn(user)
    await browser.open(at(await aClient({ trusted: true })))
    expect(answered(browser)).toHaveProperty('code')
    const open = await aClient({ confidential: false })
    const pkce = { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' }
    await browser.open(at(open, pkce))
    await browser.submit('Authorize')
    expect((await browser.open(at(open, pkce))).status).toBe(200)
  })

  it('leads to sign-in and back; after the form a page leads on, as browsers let no redirect leave it (WB-30)', async () => {
    const app = await aClient({ trusted: true })
    const browser = new TestBrowser(t.url, { 'sec-fetch-site': 'same-origin' })
    expect((await browser.open(at(app))).at).toContain('/users/sign_in?return_to=')
    const page = await browser.submit('/users/sign_in', { 'user[login]': user.username, 'user[password]': user.password })
    expect([page.status, page.$('h1').text()]).toEqual([200, `Back to ${app.application_name}`])
    expect(page.headers.get('refresh')).toMatch(/^0;url=https:\/\/ci\.example\.com\/callback\?code=[\w-]{40}&state=s1&iss=/)
    expect(page.$('a[href^="https://ci.example.com/callback?code="]').length).toBe(1)
  })

  it.each([
    ['an unknown application', { client_id: 'unknown' }, 'There is no application with this client_id'],
    ['no application', { client_id: '' }, 'Missing required parameter: client_id.'],
    ['an address that is not registered', { redirect_uri: `${BACK}/` }, 'is not one of those that are registered'],
    ['an address with a parameter more', { redirect_uri: `${BACK}?a=1` }, 'is not one of those that are registered'],
    ['another host', { redirect_uri: 'https://ci.example.com.evil.test/callback' }, 'is not one of those that are registered'],
    ['no address', { redirect_uri: '' }, 'Missing required parameter: redirect_uri.'],
    ['a long state', { state: 'x'.repeat(4_097) }, 'The parameter state is too long.'],
  ])('shows what is wrong with %s, and leads nowhere (CR-33)', async (_, more, text) => {
    const app = await aClient()
    for (const browser of [await signedIn(user), new TestBrowser(t.url)]) {
      const page = await browser.open(at(app, more))
      expect([page.status, locationOf(browser)]).toEqual([400, null])
      expect(page.text).toContain(text)
    }
  })

  it.each([
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['no response type', { response_type: '' }, 'invalid_request'],
    ['another response mode', { response_mode: 'fragment' }, 'invalid_request'],
    ['a scope that the application may not have', { scope: 'write_repository' }, 'invalid_scope'],
    ['an unknown scope', { scope: 'everything' }, 'invalid_scope'],
    ['plain PKCE', { code_challenge: 'c'.repeat(43) }, 'invalid_request'],
    ['a broken challenge', { code_challenge: 'c', code_challenge_method: 'S256' }, 'invalid_request'],
    ['prompt=login', { prompt: 'login' }, 'login_required'],
    ['an unknown prompt', { prompt: 'x' }, 'invalid_request'],
    ['a sign-in that is too old', { max_age: '0' }, 'login_required'],
  ])('says to the application what is wrong with %s (CR-33)', async (_, more, error) => {
    const app = await aClient()
    const browser = await signedIn(user)
    await browser.open(at(app, more))
    expect(answered(browser)).toMatchObject({ to: BACK, error, state: 's1' })
  })

  it('answers prompt=none without asking anyone to sign in, and sudo only to administrators (CR-33)', async () => {
    const app = await aClient({ scopes: 'openid sudo' })
    const visitor = new TestBrowser(t.url)
    await visitor.open(at(app, { scope: 'openid', prompt: 'none' }))
    expect(answered(visitor)).toMatchObject({ error: 'login_required' })
    const browser = await signedIn(user)
    await browser.open(at(app, { scope: 'sudo' }))
    expect(answered(browser)).toMatchObject({ error: 'invalid_scope' })
    expect((await (await signedIn(admin)).open(at(app, { scope: 'sudo' }))).status).toBe(200)
  })

  it('takes no form of another site, nor one that was changed (WB-5, CR-33)', async () => {
    const app = await aClient()
    const browser = await signedIn(user)
    await browser.open(at(app))
    const fields = { client_id: app.application_id, redirect_uri: BACK, response_type: 'code', scope: 'openid' }
    expect((await browser.post('/oauth/authorize', fields)).status).toBe(422)
    await browser.open(at(app))
    expect((await browser.submit('Authorize', { redirect_uri: 'https://evil.test' })).status).toBe(400)
    await browser.open(at(app))
    expect((await browser.submit('Authorize', { scope: 'write_repository' })).status).toBe(400)
    expect(await actions(app.id)).toEqual([[admin.id, 'application_created']])
  })

  it('serves programs on the device of the user: any port of a loopback address, their own scheme, a code to copy (CR-33)', async () => {
    const given = 'http://127.0.0.1/cb com.example.app:/cb urn:ietf:wg:oauth:2.0:oob'
    const app = await aClient({ redirect_uri: given })
    const browser = await signedIn(user)
    await browser.open(at(app, { redirect_uri: 'http://127.0.0.1:41234/cb' }))
    await browser.submit('Authorize')
    expect(answered(browser)).toMatchObject({ to: 'http://127.0.0.1:41234/cb', code: expect.any(String) as string })
    await browser.open(at(app, { redirect_uri: 'com.example.app:/cb', prompt: 'consent' }))
    expect(browser.page?.headers.get('content-security-policy')).toContain("form-action 'self' com.example.app:;")
    await browser.submit('Authorize')
    expect(locationOf(browser)).toMatch(/^com\.example\.app:\/cb\?code=/)
    for (const uri of ['http://127.0.0.1.evil.test/cb', 'http://127.0.0.1:80@evil.test/cb', 'http://127.0.0.1:41234/other', 'http://localhost/cb'])
      expect((await browser.open(at(app, { redirect_uri: uri }))).status).toBe(400)
    await browser.open(at(app, { redirect_uri: 'urn:ietf:wg:oauth:2.0:oob', prompt: 'consent' }))
    const page = await browser.submit('Authorize')
    expect([page.at.split('?')[0], page.$('#code').val()]).toEqual(['/oauth/authorize/native', expect.stringMatching(/^[\w-]{40}$/)])
  })
})

describe('applications of users', () => {
  const typed = { 'doorkeeper_application[name]': 'My tool', 'doorkeeper_application[redirect_uri]': BACK }

  it('are registered, changed and removed on pages, while user_oauth_applications is on (CR-31)', async () => {
    const who = await aUser(t.ctx)
    const browser = await signedIn(who)
    expect((await browser.open('/oauth/applications')).at).toBe('/-/profile/applications')
    const refused = await browser.submit('/oauth/applications', { ...typed, 'doorkeeper_application[redirect_uri]': 'nowhere' })
    expect([refused.status, refused.$('.fault').text()]).toEqual([422, 'Redirect URI must be an absolute URI.'])
    expect(refused.text).toContain("Scopes can't be blank")
    const made = await browser.submit('/oauth/applications', { ...typed, 'doorkeeper_application[scopes][]': ['openid', 'read_user'] })
    const [uid, secret] = [String(made.$('#uid').val()), String(made.$('#secret').val())]
    expect([uid, secret]).toEqual([expect.stringMatching(/^[\w-]{40}$/), expect.stringMatching(/^[\w-]{40}$/)])
    expect(made.headers.get('cache-control')).toBe('no-store')
    const list = await browser.open('/-/profile/applications')
    expect(list.html).not.toContain(secret)
    const path = list.$('a:contains("My tool")').attr('href') ?? expect.fail(list.text)
    await browser.open(path)
    const changed = await browser.submit('Save', { 'doorkeeper_application[name]': 'My other tool' })
    expect([changed.$('#uid').val(), changed.$('h1').text()]).toEqual([uid, 'My other tool'])
    const renewed = await browser.submit('Make a new secret')
    expect(renewed.$('#secret').val()).not.toBe(secret)
    const stranger = await signedIn(user)
    expect((await stranger.open(path)).status).toBe(404)
    await setSettings(t.ctx, { user_oauth_applications: false })
    expect((await browser.open('/-/profile/applications')).$('form[action="/oauth/applications"]').length).toBe(0)
    const forged = { ...typed, authenticity_token: String(browser.page?.$('[name=authenticity_token]').first().val()) }
    expect((await browser.post('/oauth/applications', { ...forged, 'doorkeeper_application[scopes][]': ['openid'] })).status).toBe(403)
    await setSettings(t.ctx, {})
    await browser.open('/-/profile/applications')
    expect((await browser.submit(path)).text).toContain('The application “My other tool” is removed.')
  })

  it('that were authorized are listed, and end when they are revoked (CR-39)', async () => {
    const app = await aClient()
    const browser = await signedIn(user)
    await browser.open(at(app, { scope: 'read_user' }))
    await browser.submit('Authorize')
    const { code = '' } = answered(browser)
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: BACK,
      client_id: app.application_id,
      client_secret: app.secret,
    })
    const { access_token: token } = (await (await fetch(`${t.url}/oauth/token`, { method: 'POST', body })).json()) as { access_token: string }
    await t.api('get', '/user', { token }).expect(200)
    const list = await browser.open('/-/profile/applications')
    expect(list.text).toContain(`${app.application_name}`)
    const done = await browser.submit(`/oauth/authorized_applications/${app.id}`)
    expect(done.text).toContain(`“${app.application_name}” can no longer use your account.`)
    await t.api('get', '/user', { token }).expect(401)
    expect((await browser.open(at(app, { scope: 'read_user' }))).status).toBe(200)
    expect(await actions(app.id)).toContainEqual([user.id, 'application_revoked'])
  })
})

describe('openid-client', () => {
  let app: Server
  let back: string
  const come: string[] = []

  beforeAll(async () => {
    app = createServer((request, response) => {
      come.push(request.url ?? '')
      response.end('signed in')
    })
    await new Promise<void>((done) => app.listen(0, '127.0.0.1', done))
    const address = app.address()
    back = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/callback`
  })
  afterAll(() => new Promise((done) => app.close(done)))

  /** Reaches the service, which names itself by its configured address. */
  const reach: client.CustomFetch = (url, options) => fetch(url.replace(t.ctx.links.base, t.url), options as RequestInit)

  it.each([
    ['with a secret', true],
    ['without one', false],
  ])('signs a user in %s: discovery, code with PKCE, id_token, userinfo, refresh, revocation (CR-40 to CR-43)', async (_, confidential) => {
    const { application_id, secret } = await aClient({ redirect_uri: back, confidential })
    const config = await client.discovery(
      new URL(t.ctx.links.base),
      application_id,
      undefined,
      confidential ? client.ClientSecretBasic(secret) : client.None(),
      { execute: [client.allowInsecureRequests], [client.customFetch]: reach },
    )
    expect(config.serverMetadata().supportsPKCE()).toBe(true)
    const [verifier, state, nonce] = [client.randomPKCECodeVerifier(), client.randomState(), client.randomNonce()]
    const to = client.buildAuthorizationUrl(config, {
      redirect_uri: back,
      scope: 'openid email api',
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const browser = await signedIn(user)
    await browser.open(to.pathname + to.search)
    await browser.submit('Authorize')
    await fetch(locationOf(browser) ?? expect.fail('not led back'))
    const tokens = await client.authorizationCodeGrant(config, new URL(come.at(-1) ?? '', back), {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
      maxAge: 3_600,
    })
    const claims = tokens.claims()
    expect(claims).toMatchObject({ sub: String(user.id), preferred_username: user.username, email: user.email, email_verified: true })
    const info = await client.fetchUserInfo(config, tokens.access_token, claims?.sub ?? '')
    expect(info).toMatchObject({ sub: String(user.id), name: user.name, groups: [] })
    const fresh = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
    expect(fresh.claims()?.sub).toBe(String(user.id))
    await t.api('get', '/user', { token: fresh.access_token }).expect(200)
    if (confidential) expect(await client.tokenIntrospection(config, fresh.access_token)).toMatchObject({ active: true, username: user.username })
    await client.tokenRevocation(config, fresh.access_token)
    await t.api('get', '/user', { token: fresh.access_token }).expect(401)
    await expect(client.refreshTokenGrant(config, fresh.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' })
  })

  it('checks the signature of the id_token with the published key (CR-42)', async () => {
    const { application_id, secret } = await aClient({ redirect_uri: back, trusted: true })
    const config = await client.discovery(new URL(t.ctx.links.base), application_id, secret, undefined, {
      execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
      [client.customFetch]: reach,
    })
    const to = client.buildAuthorizationUrl(config, { redirect_uri: back, scope: 'openid', state: 's' })
    const browser = await signedIn(user)
    await browser.open(to.pathname + to.search)
    const tokens = await client.authorizationCodeGrant(config, new URL(locationOf(browser) ?? ''), { expectedState: 's' })
    expect(tokens.claims()?.aud).toBe(application_id)
  })
})
