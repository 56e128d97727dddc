// @module-tag long
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { afterAll, expect, it } from 'vitest'
import { identities, users } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { realOpenidProvider } from '../support/servers/real-openid-provider.js'

const provider = await realOpenidProvider({ id: 'roost', secret: 'a secret of the client', base: 'http://roost.test', name: 'real' })
const folder = mkdtempSync(join(tmpdir(), 'roost-openid-'))
const file = join(folder, 'sign-on.yml')
writeFileSync(
  file,
  `openid_connect:
  - name: real
    issuer: ${provider.issuer}
    client_id: roost
    client_secret: a secret of the client
    scopes: [openid, profile, email, groups]
    groups: {required: [staff]}
    create_accounts: true
    end_session: true
`,
)
afterAll(() => {
  provider.close()
  rmSync(folder, { recursive: true })
})
const t = testApp({ ROOST_SIGN_ON: file })

/** Sends the only form of a page of the provider. */
async function answer(there: TestBrowser, fields: Record<string, string> = {}) {
  const form = there.page?.$('form').first()
  const hidden = Object.fromEntries(form?.serializeArray().map(({ name, value }) => [name, value]) ?? [])
  return there.post(new URL(form?.attr('action') ?? '', provider.issuer).pathname, { ...hidden, ...fields })
}

it('signs in and out through an OpenID provider that others wrote (WB-42, WB-49)', async () => {
  const [here, there] = [new TestBrowser(t.url), new TestBrowser(provider.issuer)]
  await here.open('/users/sign_in')
  const out = (await here.submit('/users/auth/real')).$('main a').attr('href') ?? ''
  await there.open(out.slice(provider.issuer.length))
  await answer(there, { login: 'jane', password: 'any' })
  const { headers } = await answer(there)
  const back = new URL(headers.get('location') ?? '')
  expect(back.origin).toBe('http://roost.test')
  expect((await here.open(back.pathname + back.search)).at).toBe('/dashboard')
  const rows = await t.ctx.db.write.select().from(identities).innerJoin(users, eq(users.id, identities.user_id))
  expect(rows).toMatchObject([{ identities: { extern_uid: 'jane' }, users: { username: 'jane', name: 'Name of jane', email: 'jane@example.org' } }])

  const end = (await here.submit('/users/sign_out')).$('main a').attr('href') ?? ''
  await there.open(end.slice(provider.issuer.length))
  const ended = await answer(there, { logout: 'yes' })
  expect(ended.headers.get('location')).toBe('http://roost.test/users/sign_in')
})
