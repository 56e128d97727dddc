// @module-tag long
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { afterAll, describe, expect, it } from 'vitest'
import { identities, users } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin } from '../support/factories.js'
import { startSlapd } from '../support/servers/slapd.js'

const ENTRIES = `dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: cn=roost,dc=example,dc=org
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: roost
userPassword: of the service

dn: uid=jane,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: jane
cn: Jane Doe
sn: Doe
mail: jane@example.org
userPassword: secret of jane

dn: uid=o\\2C(dd\\29,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: o,(dd)
cn: Odd
sn: Odd
mail: odd@example.org
userPassword: secret of odd

dn: cn=admins,dc=example,dc=org
objectClass: groupOfNames
cn: admins
member: uid=jane,ou=people,dc=example,dc=org
`

const folder = mkdtempSync(join(tmpdir(), 'roost-slapd-'))
const slapd = await startSlapd(folder, ENTRIES)
const file = join(folder, 'sign-on.yml')
const search = { bind: { dn: 'cn=roost,dc=example,dc=org', password: 'of the service' }, base: 'ou=people,dc=example,dc=org', create_accounts: true }
writeFileSync(
  file,
  JSON.stringify({
    ldap: [
      {
        ...{ name: 'secure', url: slapd.url, start_tls: true, ca: slapd.ca, ...search },
        groups: { base: 'dc=example,dc=org', administrators: ['admins'] },
      },
      { name: 'unknown_authority', url: slapd.url, start_tls: true, ...search },
      { name: 'without_tls', url: slapd.url, ...search },
      {
        ...{ name: 'template', url: slapd.url, start_tls: true, ca: slapd.ca, user_dn: 'uid=%{username},ou=people,dc=example,dc=org' },
        link_by_address: true,
      },
    ],
  }),
)
afterAll(() => {
  slapd.stop()
  rmSync(folder, { recursive: true })
})
const t = testApp({ ROOST_SIGN_ON: file })

async function signIn(login: string, password: string, provider: string) {
  const browser = new TestBrowser(t.url)
  await browser.open('/users/sign_in')
  return browser.submit('/users/sign_in', { 'user[login]': login, 'user[password]': password, 'user[provider]': provider })
}

describe('OpenLDAP', () => {
  it('signs in by search and by template, over StartTLS, with groups (WB-50)', async () => {
    await anAdmin(t.ctx)
    expect((await signIn('jane', 'secret of jane', 'secure')).at).toBe('/dashboard')
    const rows = await t.ctx.db.write.select().from(identities).innerJoin(users, eq(users.id, identities.user_id))
    expect(rows).toMatchObject([
      { identities: { extern_uid: 'uid=jane,ou=people,dc=example,dc=org' }, users: { username: 'jane', name: 'Jane Doe', admin: true } },
    ])
    expect((await signIn('jane', 'secret of jane', 'template')).at).toBe('/dashboard')
    for (const provider of ['secure', 'template']) expect((await signIn('jane', 'wrong', provider)).status).toBe(422)
  })

  it('finds names with characters that mean something in filters and DNs (WB-51)', async () => {
    for (const provider of ['secure', 'template']) expect((await signIn('o,(dd)', 'secret of odd', provider)).at).toBe('/dashboard')
    for (const login of ['*', 'j*', 'jane)(uid=*', 'jane,ou=people'])
      for (const provider of ['secure', 'template']) expect((await signIn(login, 'secret of jane', provider)).status).toBe(422)
  })

  it('is not sent a password if its certificate is not trusted, or without encryption (WB-44)', async () => {
    for (const provider of ['unknown_authority', 'without_tls']) expect((await signIn('jane', 'secret of jane', provider)).status).toBe(503)
    expect(t.logged.join('\n')).not.toContain('secret of jane')
  })
})
