import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { identities, sessions, users } from '../../src/db/schema/index.js'
import { directoryCheck } from '../../src/services/identity/sign-in/ldap.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aUser, setSettings } from '../support/factories.js'
import { ldapServer } from '../support/servers/ldap-server.js'

const directory = await ldapServer()
const folder = mkdtempSync(join(tmpdir(), 'roost-directory-'))
const file = join(folder, 'sign-on.yml')
const service = { dn: 'cn=roost,dc=example,dc=org', password: { env: 'DIRECTORY_PASSWORD' } }
writeFileSync(
  file,
  JSON.stringify({
    ldap: [
      {
        ...{ name: 'staff', label: 'Company directory', url: directory.url, bind: service, base: 'ou=people,dc=example,dc=org' },
        ...{ filter: '(&(objectClass=person)(uid=%{username}))', create_accounts: true, link_by_address: true },
        groups: { base: 'ou=groups,dc=example,dc=org', administrators: ['admins'] },
      },
      { name: 'template', url: directory.url, user_dn: 'uid=%{username},ou=people,dc=example,dc=org', create_accounts: true },
      {
        ...{ name: 'members', url: directory.url, bind: service, base: 'ou=people,dc=example,dc=org', create_accounts: true },
        groups: { base: 'ou=groups,dc=example,dc=org', required: ['members'] },
      },
      { name: 'closed', url: 'ldap://127.0.0.1:9', user_dn: 'uid=%{username}' },
    ],
  }),
)
afterAll(() => {
  directory.close()
  rmSync(folder, { recursive: true })
})
const t = testApp({ ROOST_SIGN_ON: file, DIRECTORY_PASSWORD: 'of the service', ROOST_TRUSTED_PROXIES: '127.0.0.1', ROOST_FAILED_CREDENTIALS: '5' })

let visitors = 0
const aBrowser = () => new TestBrowser(t.url, { 'x-forwarded-for': `198.51.100.${++visitors}` })
let people = 0
/** Adds a person to the directory. */
function aPerson(attributes: Record<string, string> = {}) {
  const n = ++people
  const uid = attributes['uid'] ?? `Person${n}`
  const dn = `uid=Person${n},ou=people,dc=example,dc=org`
  directory.entries.set(dn, {
    objectClass: 'person',
    uid,
    cn: `Person ${n}`,
    mail: `person${n}@example.org`,
    userPassword: `secret ${n}`,
    ...attributes,
  })
  return { dn, uid, mail: `person${n}@example.org`, password: `secret ${n}` }
}
const addGroup = (cn: string, member: string[]) => directory.entries.set(`cn=${cn},ou=groups,dc=example,dc=org`, { objectClass: 'group', cn, member })

async function signIn(who: { uid: string; password: string }, { browser = aBrowser(), provider = 'staff' } = {}) {
  await browser.open('/users/sign_in')
  return browser.submit('/users/sign_in', { 'user[login]': who.uid, 'user[password]': who.password, 'user[provider]': provider })
}
const findUser = async (dn: string, provider = 'staff') => {
  const rows = await t.ctx.db.write
    .select({ user: users, provider: identities.provider })
    .from(identities)
    .innerJoin(users, eq(users.id, identities.user_id))
    .where(eq(identities.extern_uid, dn.toLowerCase()))
  return rows.find((row) => row.provider === provider)?.user
}
const check = () => directoryCheck.run(t.ctx, {}, { id: 1, number: 1, signal: new AbortController().signal })
const REFUSED = 'The username, address or password is wrong, or the account may not sign in.'

beforeEach(() => {
  directory.busy = false
  directory.filters.length = 0
  directory.entries.clear()
  for (const dn of ['ou=people,dc=example,dc=org', 'ou=groups,dc=example,dc=org']) directory.entries.set(dn, { objectClass: 'organizationalUnit' })
  directory.entries.set(service.dn, { objectClass: 'account', userPassword: 'of the service' })
})

describe('signing in with a directory', () => {
  it('is offered beside the password of this service (WB-50)', async () => {
    const { $ } = await aBrowser().open('/users/sign_in')
    const choices = $('select[name="user[provider]"] option').toArray()
    expect(choices.map((one) => $(one).text())).toEqual(['Company directory', 'template', 'members', 'closed', 'Account of this service'])
    const who = await aUser(t.ctx)
    expect((await signIn({ uid: who.username, password: who.password }, { provider: '' })).at).toBe('/dashboard')
    await setSettings(t.ctx, { password_authentication_enabled_for_web: false, disabled_oauth_sign_in_sources: ['template', 'closed', 'members'] })
    const alone = await aBrowser().open('/users/sign_in')
    expect(alone.$('select[name="user[provider]"] option').text()).toBe('Company directory')
    expect((await signIn(aPerson(), { provider: 'template' })).status).toBe(422)
    expect((await signIn(aPerson())).at).toBe('/dashboard')
    await setSettings(t.ctx, {})
  })

  it.each(['staff', 'template'])('makes an account at the first time, and finds it again by the DN: %s (WB-50)', async (provider) => {
    const person = aPerson()
    expect((await signIn(person, { provider })).at).toBe('/dashboard')
    const user = await findUser(person.dn, provider)
    expect(user).toMatchObject({ username: person.uid, email: person.mail, name: `Person ${people}`, password_hash: null, state: 'active' })
    expect((await signIn(person, { provider })).at).toBe('/dashboard')
    expect(
      await t.ctx.db.write
        .select()
        .from(sessions)
        .where(eq(sessions.user_id, user?.id ?? 0)),
    ).toMatchObject([{ provider }, { provider }])
    const { body } = await t.api('get', `/users/${user?.id}`, await anAdmin(t.ctx)).expect(200)
    expect(body.identities).toEqual([{ provider, extern_uid: person.dn.toLowerCase() }])
  })

  it('says of a wrong password, an unknown name and no password the same, and keeps the name that was typed (WB-12)', async () => {
    const person = aPerson()
    for (const provider of ['staff', 'template'])
      for (const who of [
        { ...person, password: 'wrong' },
        { ...person, password: '' },
        { uid: 'unknown', password: 'x' },
        { uid: '', password: 'x' },
        { ...person, password: 'x'.repeat(2_000) },
        { ...person, uid: 'x'.repeat(300) },
      ]) {
        const { status, text } = await signIn(who, { provider })
        expect([status, text]).toEqual([422, expect.stringContaining(REFUSED)])
      }
    expect(await findUser(person.dn)).toBeUndefined()
    const { rows } = await t.ctx.db.write.execute(`select changes from audit_events where target = 'unknown' and action = 'sign_in_refused'`)
    expect(rows).toEqual([{ changes: { reason: 'staff: wrong name or password' } }, { changes: { reason: 'template: wrong name or password' } }])
  })

  it('takes a name for itself, whatever characters it has (WB-51)', async () => {
    const person = aPerson()
    for (const uid of ['*', 'Person*', `${person.uid})(uid=*`, `${person.uid})(|(uid=*))`, '\\2a'])
      expect((await signIn({ uid, password: person.password })).status).toBe(422)
    expect(directory.filters.every((filter) => filter.startsWith('(&(objectClass=person)(uid=') || filter.startsWith('(member='))).toBe(true)
    const sneaky = `${person.uid},ou=people,dc=example,dc=org`
    for (const uid of [sneaky, `x+uid=${person.uid}`, ` ${person.uid}, `, '#0401'])
      expect((await signIn({ uid, password: person.password }, { provider: 'template' })).status).toBe(422)
    expect((await signIn({ uid: `${person.uid}\u0000`, password: person.password }, { provider: 'template' })).status).toBe(400)
  })

  it('refuses a name that two people have', async () => {
    const [one, two] = [aPerson({ uid: 'same' }), aPerson({ uid: 'same' })]
    for (const { password } of [one, two]) expect((await signIn({ uid: 'same', password })).status).toBe(422)
  })

  it('is throttled by account and address, also for guesses at the same time (SEC-26)', async () => {
    const [person, browser] = [aPerson(), aBrowser()]
    await browser.open('/users/sign_in')
    const token = String(browser.page?.$('input[name=authenticity_token]').val())
    const guess = (password: string) =>
      fetch(`${t.url}/users/sign_in`, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie: `roost_visitor=${browser.cookies.get('roost_visitor')}`, 'x-forwarded-for': '203.0.113.1' },
        body: new URLSearchParams({ 'user[login]': person.uid, 'user[password]': password, 'user[provider]': 'staff', authenticity_token: token }),
      })
    const statuses = (await Promise.all(Array.from({ length: 12 }, () => guess('wrong')))).map(({ status }) => status)
    expect(statuses.filter((status) => status === 422)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(7)
    expect((await guess(person.password)).status).toBe(429)
    expect((await signIn(person)).at).toBe('/dashboard')
  })

  it('answers 503 with a page while the directory cannot be reached, and counts no wrong password (WB-44)', async () => {
    const [person, browser] = [aPerson(), aBrowser()]
    expect(await signIn(person, { provider: 'closed' })).toMatchObject({ status: 503, text: expect.stringContaining('closed cannot be reached') })
    directory.busy = true
    for (let i = 0; i < 7; i++)
      expect(await signIn(person, { browser })).toMatchObject({ status: 503, text: expect.stringContaining('Company directory cannot be reached') })
    directory.busy = false
    expect((await signIn(person, { browser })).at).toBe('/dashboard')
  })

  it('connects the account with the address of the entry where that is configured (WB-45)', async () => {
    const who = await aUser(t.ctx)
    const person = aPerson({ mail: who.email })
    expect((await signIn(person, { provider: 'template' })).text).toContain('an account with your e-mail address exists')
    expect((await signIn(person)).at).toBe('/dashboard')
    expect((await findUser(person.dn))?.id).toBe(who.id)
  })

  it('makes those in the group of administrators administrators, and refuses those outside the required group (WB-46)', async () => {
    const [person, outsider] = [aPerson(), aPerson()]
    addGroup('admins', [person.dn])
    addGroup('members', [person.dn])
    await anAdmin(t.ctx)
    await signIn(person)
    expect(await findUser(person.dn)).toMatchObject({ admin: true })
    addGroup('admins', [])
    await signIn(person)
    expect(await findUser(person.dn)).toMatchObject({ admin: false })
    expect((await signIn(outsider, { provider: 'members' })).text).toContain('in none of the groups that may use this service')
  })

  it('gives no password to the API or Git (WB-50)', async () => {
    const person = aPerson()
    await signIn(person)
    const grant = await fetch(`${t.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', username: person.uid, password: person.password }),
    })
    expect(grant.status).toBe(401)
  })
})

describe('people who leave the directory', () => {
  it('are blocked with their sessions and tokens, and unblocked when they are back (WB-52)', async () => {
    const [person, stays, browser] = [aPerson(), aPerson(), aBrowser()]
    await signIn(person, { browser })
    await signIn(stays)
    const admin = await anAdmin(t.ctx)
    const entry = directory.entries.get(person.dn) ?? {}
    directory.entries.delete(person.dn)
    await check()
    const user = await findUser(person.dn)
    expect([user?.state, (await findUser(stays.dn))?.state]).toEqual(['ldap_blocked', 'active'])
    expect((await browser.open('/-/profile')).at).toContain('/users/sign_in')
    for (const action of ['block', 'unblock']) {
      const { body } = await t.api('post', `/users/${user?.id}/${action}`, admin).expect(403)
      expect(body.message).toContain('LDAP blocked users cannot be')
    }
    directory.entries.set(person.dn, entry)
    await check()
    expect((await findUser(person.dn))?.state).toBe('active')
    directory.entries.set(person.dn, { ...entry, objectClass: 'former' })
    await check()
    expect((await findUser(person.dn))?.state).toBe('ldap_blocked')
    directory.entries.set(person.dn, entry)
    expect((await signIn(person)).at).toBe('/dashboard')
    expect((await findUser(person.dn))?.state).toBe('active')
  })

  it('are those, too, who have left the required group (WB-52)', async () => {
    const person = aPerson()
    addGroup('members', [person.dn])
    await signIn(person, { provider: 'members' })
    addGroup('members', [])
    await check()
    expect((await findUser(person.dn, 'members'))?.state).toBe('ldap_blocked')
  })

  it('stay blocked if an administrator has blocked them, and as the last administrator are not blocked (SEC-123)', async () => {
    const [blocked, last] = [aPerson(), aPerson()]
    await signIn(blocked)
    await signIn(last)
    const ids = [(await findUser(blocked.dn))?.id ?? 0, (await findUser(last.dn))?.id ?? 0] as const
    await t.ctx.db.write.update(users).set({ admin: false })
    await t.ctx.db.write.update(users).set({ admin: true }).where(eq(users.id, ids[1]))
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, ids[0]))
    directory.entries.delete(last.dn)
    await check()
    expect([(await findUser(blocked.dn))?.state, (await findUser(last.dn))?.state]).toEqual(['blocked', 'active'])
    expect((await signIn(blocked)).text).toContain('the account is blocked')
  })

  it('are not all users while the directory does not answer, or its base is not there (WB-52)', async () => {
    const person = aPerson()
    await signIn(person)
    directory.busy = true
    await expect(check()).rejects.toThrow('cannot be reached')
    directory.busy = false
    directory.entries.clear()
    directory.entries.set(service.dn, { userPassword: 'of the service' })
    await expect(check()).rejects.toThrow('cannot be reached')
    expect((await findUser(person.dn))?.state).toBe('active')
  })
})

describe('testing a provider', () => {
  it('says on its page whether it answers, and keeps that (WB-205)', async () => {
    const admin = await anAdmin(t.ctx)
    const locally = async ({ username, password }: { username: string; password: string }) => {
      const browser = aBrowser()
      await browser.open('/users/sign_in')
      await browser.submit('/users/sign_in', { 'user[login]': username, 'user[password]': password, 'user[provider]': '' })
      return browser
    }
    const browser = await locally(admin)
    const test = async (name: string) => {
      await browser.open('/admin/sign_in_providers')
      return browser.submit(`/admin/sign_in_providers/${name}/test`)
    }
    expect((await test('staff')).text).toContain('staff: the account of this service was taken in ')
    expect((await test('template')).text).toContain('template: it has answered in ')
    const closed = await test('closed')
    expect(closed.$('.flash.alert').text()).toContain('ECONNREFUSED')
    expect(closed.text).not.toContain('of the service.')
    const page = await browser.open('/admin/sign_in_providers')
    expect(page.text.match(/(?:not )?reached/g)).toEqual(['reached', 'reached', 'not reached'])
    const own = await locally(await aUser(t.ctx))
    const token = String((await own.open('/-/profile')).$('[name=authenticity_token]').val())
    expect((await own.post('/admin/sign_in_providers/staff/test', { authenticity_token: token })).status).toBe(404)
  })
})
