import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { oauthKeys } from '../../../src/db/schema/index.js'
import { sealedValues } from '../../../src/services/operations/sealed-values.js'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser, unique } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let user: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
})

const BACK = 'https://ci.example.com/callback'
const VERIFIER = 'a'.repeat(50)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
const PKCE = { code_challenge: CHALLENGE, code_challenge_method: 'S256' }

interface Client {
  id: number
  application_id: string
  secret: string
}
type Fields = Record<string, string>

const aClient = async (more: object = {}): Promise<Client> => {
  const given = { name: `CI ${unique()}`, redirect_uri: BACK, scopes: 'api read_user openid email write_repository', ...more }
  return (await t.api('post', '/applications', admin).send(given).expect(201)).body as Client
}
const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  await browser.signIn(who)
  return browser
}
const query = ({ application_id }: Client, more: Fields = {}) =>
  new URLSearchParams({ client_id: application_id, redirect_uri: BACK, response_type: 'code', scope: 'read_user openid email', ...more }).toString()
/** Where a browser is led: the redirect to another site, which is not followed. */
const ledTo = (browser: TestBrowser) => new URL(browser.page?.headers.get('location') ?? expect.fail(browser.page?.text))
const allowed = async (browser: TestBrowser, client: Client, more: Fields = {}) => {
  await browser.open(`/oauth/authorize?${query(client, more)}`)
  if (!browser.page?.headers.has('location')) await browser.submit('Authorize')
  return ledTo(browser).searchParams
}
const codeFor = async (who: TestUser, client: Client, more: Fields = {}) =>
  (await allowed(await signedIn(who), client, more)).get('code') ?? expect.fail('no code')
const basic = ({ application_id, secret }: Client) => `Basic ${Buffer.from(`${application_id}:${secret}`).toString('base64')}`
const post = (path: string, fields: Fields, headers: Fields = {}) =>
  fetch(t.url + path, { method: 'POST', body: new URLSearchParams(fields), headers })
const exchange = (client: Client, code: string, more: Fields = {}, headers: Fields = { authorization: basic(client) }) =>
  post('/oauth/token', { grant_type: 'authorization_code', code, redirect_uri: BACK, ...more }, headers)
interface Grant {
  access_token: string
  refresh_token: string
  id_token?: string
  scope: string
}
const grantFor = async (who: TestUser, client: Client, more: Fields = {}) =>
  (await (await exchange(client, await codeFor(who, client, more))).json()) as Grant
const refreshed = (client: Client, refresh_token: string) =>
  post('/oauth/token', { grant_type: 'refresh_token', refresh_token }, { authorization: basic(client) })
const fault = async (response: Response) => [response.status, ((await response.json()) as { error: string }).error]
const claims = (token = '') => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>
const later = async (ms: number, work: () => Promise<void>) => {
  const { now } = t.ctx
  t.ctx.now = () => new Date(now().getTime() + ms)
  try {
    await work()
  } finally {
    t.ctx.now = now
  }
}

describe('applications of the service', () => {
  it('are created with a secret that is shown once, listed, and deleted by administrators (CR-30)', async () => {
    const given = { name: 'Woodpecker', redirect_uri: `${BACK}\nhttp://127.0.0.1/cb`, scopes: 'api', confidential: false }
    const { body } = await t.api('post', '/applications', admin).send(given).expect(201)
    const shown = {
      id: expect.any(Number) as number,
      application_id: expect.stringMatching(/^[\w-]{40}$/) as string,
      application_name: 'Woodpecker',
      callback_url: `${BACK}\nhttp://127.0.0.1/cb`,
      confidential: false,
    }
    expect(body).toEqual({ ...shown, secret: expect.stringMatching(/^[\w-]{40}$/) as string })
    const { body: listed } = await t.api('get', '/applications?per_page=100', admin).expect(200)
    expect(listed).toContainEqual(shown)
    await t.api('delete', `/applications/${body.id}`, admin).expect(204)
    await t.api('delete', `/applications/${body.id}`, admin).expect(404)
    await t.api('get', '/applications', user).expect(403)
    await t.api('post', '/applications', user).send(given).expect(403)
    const { body: events } = await t.api('get', `/audit_events?entity_type=Application&entity_id=${body.id}`, admin).expect(200)
    expect(events.map(({ details }: { details: { action: string } }) => details.action)).toEqual(['application_removed', 'application_created'])
  })

  it.each([
    ['a path', 'redirect_uri', { redirect_uri: '/callback' }, 'must be an absolute URI'],
    ['a script', 'redirect_uri', { redirect_uri: 'javascript:alert(1)' }, 'is forbidden by the server'],
    ['a fragment', 'redirect_uri', { redirect_uri: `${BACK}#x` }, 'cannot contain a fragment'],
    ['a password', 'redirect_uri', { redirect_uri: 'https://me:secret@ci.example.com' }, 'cannot contain a password'],
    ['a long address', 'redirect_uri', { redirect_uri: `https://ci.example.com/${'x'.repeat(2_000)}` }, 'is too long (maximum is 2000 characters)'],
    ['no address', 'redirect_uri', { redirect_uri: ' ' }, "can't be blank"],
    ['an unknown scope', 'scopes', { scopes: 'everything' }, "doesn't match configured on the server"],
    ['a long name', 'name', { name: 'x'.repeat(256) }, 'is too long (maximum is 255 characters)'],
  ])('are refused with %s (CR-31)', async (_, field, more, text) => {
    const { body } = await t
      .api('post', '/applications', admin)
      .send({ name: 'x', redirect_uri: BACK, scopes: 'api', ...more })
      .expect(400)
    expect(JSON.stringify(body)).toContain(text)
    expect(JSON.stringify(body)).toContain(field)
  })
})

describe('POST /oauth/token with a code', () => {
  it.each(['basic', 'body'])('gives a token that opens the API and Git, to a client by %s (CR-34, CR-35)', async (how) => {
    const client = await aClient()
    const code = await codeFor(user, client, { scope: 'api', state: 'x y' })
    const inBody = { client_id: client.application_id, client_secret: client.secret }
    const response = await (how === 'basic' ? exchange(client, code) : exchange(client, code, inBody, {}))
    expect(response.headers.get('cache-control')).toBe('no-store')
    const body = (await response.json()) as Grant
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 7_200, scope: 'api', refresh_token: expect.any(String) as string })
    expect(body).not.toHaveProperty('id_token')
    expect((await t.api('get', '/user', { token: body.access_token }).expect(200)).body).toMatchObject({ id: user.id })
    const project = await aProject(t.ctx, { creator: user, files: { 'a.txt': 'a' } })
    const refs = await fetch(`${t.url}/${project.fullPath}.git/info/refs?service=git-upload-pack`, {
      headers: { authorization: `Basic ${Buffer.from(`oauth2:${body.access_token}`).toString('base64')}` },
    })
    expect(refs.status).toBe(200)
    const info = await fetch(`${t.url}/oauth/token/info`, { headers: { authorization: `Bearer ${body.access_token}` } })
    expect(await info.json()).toMatchObject({ resource_owner_id: user.id, scope: ['api'], application: { uid: client.application_id } })
  })

  it('opens no more than its scopes, and makes no tokens (CR-37, CR-41)', async () => {
    const client = await aClient()
    const { access_token: token } = await grantFor(user, client, { scope: 'openid email' })
    await t.api('get', '/user', { token }).expect(403)
    await t.api('get', '/projects', { token }).expect(403)
    const { access_token: full } = await grantFor(user, client, { scope: 'api' })
    await t
      .api('post', '/user/personal_access_tokens', { token: full })
      .send({ name: 'x', scopes: ['api'] })
      .expect(403)
    await t.api('get', '/personal_access_tokens/self', { token: full }).expect(400)
    expect(
      (
        await t
          .api('post', '/user/personal_access_tokens', user)
          .send({ name: 'x', scopes: ['openid'] })
          .expect(400)
      ).body,
    ).toEqual({
      message: { scopes: ['can only contain available scopes'] },
    })
  })

  it('takes a code once; a second use ends what the first one gave (CR-35)', async () => {
    const client = await aClient()
    const code = await codeFor(user, client)
    const { access_token: token, refresh_token } = (await (await exchange(client, code)).json()) as Grant
    await t.api('get', '/user', { token }).expect(200)
    expect(await fault(await exchange(client, code))).toEqual([400, 'invalid_grant'])
    await t.api('get', '/user', { token }).expect(401)
    expect(await fault(await refreshed(client, refresh_token))).toEqual([401, 'invalid_grant'])
  })

  it('gives one token when a code comes twice at once (CR-35)', async () => {
    const client = await aClient()
    const code = await codeFor(user, client)
    const answers = await Promise.all([exchange(client, code), exchange(client, code), exchange(client, code)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400])
  })

  it('refuses a code of another client, address, or time, and an unknown one (CR-34, CR-35)', async () => {
    const [client, other] = [await aClient(), await aClient()]
    const code = await codeFor(user, client)
    expect(await fault(await exchange(other, code))).toEqual([400, 'invalid_grant'])
    expect(await fault(await exchange(client, code, { redirect_uri: `${BACK}/` }))).toEqual([400, 'invalid_grant'])
    expect(await fault(await exchange(client, 'unknown'))).toEqual([400, 'invalid_grant'])
    expect(await fault(await exchange({ ...client, secret: 'wrong' }, code))).toEqual([401, 'invalid_client'])
    expect(await fault(await exchange({ ...client, secret: '' }, code))).toEqual([401, 'invalid_client'])
    expect(await fault(await exchange({ ...client, application_id: 'unknown' }, code))).toEqual([401, 'invalid_client'])
    expect(await fault(await exchange(client, code, {}, {}))).toEqual([401, 'invalid_client'])
    expect(await fault(await exchange(client, '', {}))).toEqual([400, 'invalid_request'])
    await later(600_000, async () => expect(await fault(await exchange(client, code))).toEqual([400, 'invalid_grant']))
    expect((await exchange(client, code)).status).toBe(200)
  })

  it('checks PKCE, by S256 alone, and requires it of a client without a secret (CR-33, CR-35)', async () => {
    const client = await aClient()
    const code = await codeFor(user, client, PKCE)
    expect(await fault(await exchange(client, code))).toEqual([400, 'invalid_grant'])
    expect(await fault(await exchange(client, code, { code_verifier: 'b'.repeat(50) }))).toEqual([400, 'invalid_grant'])
    expect((await exchange(client, code, { code_verifier: VERIFIER })).status).toBe(200)
    const bare = await codeFor(user, client)
    expect(await fault(await exchange(client, bare, { code_verifier: VERIFIER }))).toEqual([400, 'invalid_grant'])
    const browser = await signedIn(user)
    await browser.open(`/oauth/authorize?${query(client, { code_challenge: VERIFIER.slice(0, 43), code_challenge_method: 'plain' })}`)
    expect(ledTo(browser).searchParams.get('error')).toBe('invalid_request')
    const open = await aClient({ confidential: false })
    await browser.open(`/oauth/authorize?${query(open)}`)
    expect(ledTo(browser).searchParams.get('error_description')).toContain('code_challenge')
    const own = { client_id: open.application_id, code_verifier: VERIFIER }
    expect((await exchange(open, await codeFor(user, open, PKCE), own, {})).status).toBe(200)
    expect(await fault(await exchange(open, await codeFor(user, open, PKCE), { ...own, client_secret: 'wrong' }, {}))).toEqual([
      401,
      'invalid_client',
    ])
  })
})

describe('tokens of an application', () => {
  it('are refreshed with rotation; a refresh token that comes again later ends all that it led to (CR-36)', async () => {
    const client = await aClient()
    const first = await grantFor(user, client)
    const second = (await (await refreshed(client, first.refresh_token)).json()) as Grant
    await t.api('get', '/user', { token: first.access_token }).expect(401)
    expect(claims(second.id_token)).toMatchObject({ sub: String(user.id), aud: client.application_id })
    const third = (await (await refreshed(client, second.refresh_token)).json()) as Grant
    // at once: another thread of the same program
    expect(await fault(await refreshed(client, first.refresh_token))).toEqual([401, 'invalid_grant'])
    await t.api('get', '/user', { token: third.access_token }).expect(200)
    await later(60_000, async () => expect(await fault(await refreshed(client, first.refresh_token))).toEqual([401, 'invalid_grant']))
    await t.api('get', '/user', { token: third.access_token }).expect(401)
    expect(await fault(await refreshed(client, third.refresh_token))).toEqual([401, 'invalid_grant'])
  })

  it('are refreshed by their application alone (CR-36)', async () => {
    const [client, other] = [await aClient(), await aClient()]
    const { refresh_token } = await grantFor(user, client)
    expect(await fault(await refreshed(other, refresh_token))).toEqual([401, 'invalid_grant'])
    expect(await fault(await refreshed({ ...client, secret: 'wrong' }, refresh_token))).toEqual([401, 'invalid_client'])
    expect(await fault(await post('/oauth/token', { grant_type: 'refresh_token', refresh_token }))).toEqual([401, 'invalid_grant'])
    expect((await refreshed(client, refresh_token)).status).toBe(200)
  })

  it('come of a password, too, if the client is known (CR-12)', async () => {
    const client = await aClient()
    const login = (more: Fields, headers: Fields = {}) =>
      post('/oauth/token', { grant_type: 'password', username: user.username, password: user.password, ...more }, headers)
    const body = (await (await login({ scope: 'openid read_user' }, { authorization: basic(client) })).json()) as Grant
    const info = await fetch(`${t.url}/oauth/token/info`, { headers: { authorization: `Bearer ${body.access_token}` } })
    expect(await info.json()).toMatchObject({ application: { uid: client.application_id } })
    expect(await fault(await login({ client_id: client.application_id, client_secret: 'wrong' }))).toEqual([401, 'invalid_client'])
    expect(await fault(await login({ scope: 'sudo' }, { authorization: basic(client) }))).toEqual([400, 'invalid_scope'])
    expect(await fault(await login({ scope: 'openid' }))).toEqual([400, 'invalid_scope'])
  })

  it('are described to their application alone (CR-38)', async () => {
    const [client, other] = [await aClient(), await aClient()]
    const { access_token, refresh_token } = await grantFor(user, client)
    const described = async (who: Client, token: string) =>
      (await (await post('/oauth/introspect', { token }, { authorization: basic(who) })).json()) as Record<string, unknown>
    expect(await described(client, access_token)).toEqual({
      active: true,
      scope: 'read_user openid email',
      client_id: client.application_id,
      token_type: 'Bearer',
      username: user.username,
      sub: String(user.id),
      iss: t.ctx.links.base,
      iat: expect.any(Number) as number,
      exp: expect.any(Number) as number,
    })
    expect(await described(client, refresh_token)).toMatchObject({ active: true, token_type: 'refresh_token' })
    expect(await described(other, access_token)).toEqual({ active: false })
    expect(await described(client, 'unknown')).toEqual({ active: false })
    await later(7_200_000, async () => expect(await described(client, access_token)).toEqual({ active: false }))
    expect((await post('/oauth/introspect', { token: access_token })).status).toBe(401)
    // another application revokes nothing
    expect((await post('/oauth/revoke', { token: access_token }, { authorization: basic(other) })).status).toBe(200)
    expect(await described(client, access_token)).toMatchObject({ active: true })
    expect((await post('/oauth/revoke', { token: access_token }, { authorization: basic({ ...client, secret: 'x' }) })).status).toBe(401)
    expect((await post('/oauth/revoke', { token: refresh_token }, { authorization: basic(client) })).status).toBe(200)
    expect(await described(client, access_token)).toEqual({ active: false })
  })

  it('end with the application, the block of the user, and a changed password (CR-23, CR-39)', async () => {
    const who = await aUser(t.ctx)
    const client = await aClient()
    const blocked = await grantFor(who, client)
    const waiting = await codeFor(who, client)
    await t.api('post', `/users/${who.id}/block`, admin).expect(201)
    await t.api('get', '/user', { token: blocked.access_token }).expect(403)
    expect(await fault(await refreshed(client, blocked.refresh_token))).toEqual([401, 'invalid_grant'])
    expect(await fault(await exchange(client, waiting))).toEqual([400, 'invalid_grant'])
    await t.api('post', `/users/${who.id}/unblock`, admin).expect(201)
    const before = await grantFor(who, client)
    const code = await codeFor(who, client)
    const change = { current_password: who.password, password: 'another password' }
    await t.api('put', '/user/password', who).send(change).expect(204)
    await t.api('get', '/user', { token: before.access_token }).expect(401)
    expect(await fault(await refreshed(client, before.refresh_token))).toEqual([401, 'invalid_grant'])
    expect(await fault(await exchange(client, code))).toEqual([400, 'invalid_grant'])
    const after = await grantFor({ ...who, password: 'another password' }, client)
    await t.api('delete', `/applications/${client.id}`, admin).expect(204)
    await t.api('get', '/user', { token: after.access_token }).expect(401)
    expect(await fault(await refreshed(client, after.refresh_token))).toEqual([401, 'invalid_grant'])
  })
})

describe('OpenID Connect', () => {
  it('names its addresses, and publishes the key that signs (CR-40, CR-42)', async () => {
    const read = async (path: string) => (await (await fetch(t.url + path)).json()) as Record<string, unknown>
    const { base } = t.ctx.links
    expect(await read('/.well-known/openid-configuration')).toMatchObject({
      issuer: base,
      authorization_endpoint: `${base}/oauth/authorize`,
      token_endpoint: `${base}/oauth/token`,
      jwks_uri: `${base}/oauth/discovery/keys`,
      code_challenge_methods_supported: ['S256'],
      id_token_signing_alg_values_supported: ['RS256'],
    })
    const [one, two] = await Promise.all([read('/oauth/discovery/keys'), read('/oauth/discovery/keys')])
    expect(one).toEqual({
      keys: [{ kty: 'RSA', alg: 'RS256', use: 'sig', kid: expect.any(String) as string, n: expect.any(String) as string, e: 'AQAB' }],
    })
    expect(two).toEqual(one)
  })

  it('makes a key again after 180 days, stores it encrypted, and publishes the former one, too (CR-42)', async () => {
    const keys = async () => ((await (await fetch(`${t.url}/oauth/discovery/keys`)).json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
    const [first] = await keys()
    await later(180 * 86_400_000, async () => {
      const [second, former] = await keys()
      expect([former, second]).toEqual([first, expect.not.stringMatching(first ?? '')])
      expect(await keys()).toEqual([second, first])
    })
    const rows = await t.ctx.db.write.select().from(oauthKeys)
    for (const { kid, sealed } of rows) {
      expect(sealed).not.toContain('PRIVATE')
      expect(t.ctx.encryption.open(sealed, `OAuth key ${kid}`)).toContain('PRIVATE KEY')
    }
    const found: string[] = []
    for await (const { of } of sealedValues(t.ctx.db.write)) found.push(of)
    expect(found).toEqual(expect.arrayContaining(rows.map(({ kid }) => `OAuth key ${kid}`)))
    await t.ctx.db.write.delete(oauthKeys)
  })

  it('says who has signed in, in the id_token and at /oauth/userinfo, by scope (CR-42, CR-43)', async () => {
    const who = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: who })
    const client = await aClient()
    const { access_token, id_token } = await grantFor(who, client, { nonce: 'n1' })
    const known = {
      sub: String(who.id),
      name: who.name,
      nickname: who.username,
      preferred_username: who.username,
      profile: t.ctx.links.user(who.username),
      picture: expect.stringContaining('/uploads/') as string,
      email: who.email,
      email_verified: true,
      groups: [group.fullPath],
    }
    expect(claims(id_token)).toMatchObject({
      ...known,
      iss: t.ctx.links.base,
      aud: client.application_id,
      nonce: 'n1',
      auth_time: expect.any(Number) as number,
    })
    const asked = (token: string, method = 'GET') => fetch(`${t.url}/oauth/userinfo`, { method, headers: { authorization: `Bearer ${token}` } })
    expect(await (await asked(access_token)).json()).toEqual(known)
    expect(await (await asked(access_token, 'POST')).json()).toEqual(known)
    const less = await grantFor(who, client, { scope: 'openid' })
    const { email: _, email_verified: __, ...rest } = known
    expect(await (await asked(less.access_token)).json()).toEqual(rest)
    const { access_token: none } = await grantFor(who, client, { scope: 'read_user' })
    expect((await asked(none)).status).toBe(403)
    expect((await asked('unknown')).status).toBe(401)
  })
})
