import { generateKeyPairSync } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { users } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aUser, type TestUser, unique } from '../support/factories.js'
import { mailbox } from '../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'roost@example.org' })

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}
/** A public key as in ~/.ssh/id_ed25519.pub. */
const aKey = (comment: string) => {
  const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const part = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes])
  return `ssh-ed25519 ${Buffer.concat([part(Buffer.from('ssh-ed25519')), part(Buffer.from(x ?? '', 'base64url'))]).toString('base64')} ${comment}`
}
const faultsIn = (browser: TestBrowser) =>
  browser.page
    ?.$('.fault')
    .toArray()
    .map((one) => browser.page?.$(one).text())
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

describe('the profile', () => {
  it('is changed as the API shows it, with a picture, and shows what is wrong beside the field (WB-6)', async () => {
    const who = await aUser(t.ctx)
    const browser = await signedIn(who)
    await browser.open('/-/profile')
    const fields = {
      'user[name]': 'Ann <b>O’Neil</b>',
      'user[bio]': '\r\nTwo\r\nlines',
      'user[website_url]': 'https://example.org',
      'user[microblog]': 'ann',
    }
    const saved = await browser.submit('/-/profile', { ...fields, 'user[private_profile]': '1', 'user[avatar]': new File([PNG], 'me.png') })
    expect(saved.text).toContain('Profile updated.')
    expect([saved.$('#user_name').val(), saved.$('b').length]).toEqual(['Ann <b>O’Neil</b>', 0])
    expect(saved.$('#user_bio').val()).toBe('\nTwo\nlines')
    const { body } = await t.api('get', '/user', who).expect(200)
    expect(body).toMatchObject({
      name: 'Ann <b>O’Neil</b>',
      website_url: 'https://example.org',
      microblog: 'ann',
      bio: '\nTwo\nlines',
      private_profile: true,
    })
    expect(body.avatar_url).toContain(`/uploads/-/system/user/avatar/${who.id}/`)
    const refused = await browser.submit('/-/profile', { 'user[name]': '', 'user[website_url]': 'javascript:alert(1)' })
    expect([refused.status, faultsIn(browser)]).toEqual([422, ["Name can't be blank.", 'Website must be a valid URL.']])
    expect(refused.$('#user_website_url').val()).toBe('javascript:alert(1)')
    expect(refused.$('#user_website_url').attr('aria-describedby')).toBe('user_website_url_fault')
    expect((await browser.submit('/-/profile/avatar')).text).toContain('Avatar removed.')
  })

  it('moves with its username, also the personal projects', async () => {
    const who = await aUser(t.ctx)
    const { body: project } = await t.api('post', '/projects', who).send({ name: 'mine' }).expect(201)
    const browser = await signedIn(who)
    await browser.open('/-/profile/account')
    await browser.submit('/-/profile/update_username', { 'user[username]': 'no spaces' })
    expect(faultsIn(browser)).toEqual([expect.stringContaining('Username can contain only')])
    const username = `moved${unique()}`
    expect((await browser.submit('/-/profile/update_username', { 'user[username]': username })).text).toContain('Username updated.')
    const { body } = await t.api('get', `/projects/${project.id}`, who).expect(200)
    expect(body.path_with_namespace).toMatch(new RegExp(`^${username}/`))
  })

  it('is removed with its password, and not without', async () => {
    const who = await aUser(t.ctx)
    const browser = await signedIn(who)
    await browser.open('/-/profile/account')
    await browser.submit('/users', { password: 'wrong' })
    expect(faultsIn(browser)).toEqual(['Your password is wrong.'])
    expect((await browser.submit('/users', { password: who.password })).text).toContain('Account removed.')
    await t.api('get', '/user', who).expect(401)
  })

  it('is removed with its username where it has no password', async () => {
    const who = await aUser(t.ctx)
    const browser = await signedIn(who)
    await t.ctx.db.write.update(users).set({ password_hash: null }).where(eq(users.id, who.id))
    await browser.open('/-/profile/account')
    expect((await browser.submit('/users', { username: 'wrong' })).text).toContain('To remove the account, type its username')
    await t.api('get', '/user', who).expect(200)
    expect((await browser.submit('/users', { username: who.username })).text).toContain('Account removed.')
    await t.api('get', '/user', who).expect(401)
  })
})

describe('addresses', () => {
  it('are added, confirmed by mail, made the main one and removed', async () => {
    const who = await aUser(t.ctx)
    const browser = await signedIn(who)
    const email = `more${unique()}@example.net`
    await browser.open('/-/profile/emails')
    await browser.submit('/-/profile/emails', { 'email[email]': 'nothing' })
    expect(browser.page?.status).toBe(422)
    expect((await browser.submit('/-/profile/emails', { 'email[email]': email })).text).toContain(
      `A link that confirms it is on its way to ${email}.`,
    )
    expect(browser.page?.$('.rows').text()).toContain(`${email} not confirmed`)
    const link = /http:\/\/roost\.test(\/users\/confirmation\S+)/.exec((await box.to(email))[0]?.text ?? '')?.[1] ?? ''
    await browser.open(link)
    expect((await browser.submit('Confirm')).at).toBe('/-/profile/emails')
    await browser.submit('Make main')
    expect(browser.page?.text).toContain(`${email} is your main address now.`)
    const { body } = await t.api('get', '/user', who).expect(200)
    expect(body.email).toBe(email)
    await browser.submit('Remove')
    expect((await t.api('get', '/user/emails', who).expect(200)).body).toEqual([])
  })
})

describe('keys', () => {
  it('are added with the comment as their title, listed and removed', async () => {
    const who = await aUser(t.ctx)
    const browser = await signedIn(who)
    await browser.open('/-/profile/keys')
    await browser.submit('/-/profile/keys', { 'key[key]': 'no key', 'key[title]': '<i>x</i>' })
    expect(browser.page?.status).toBe(422)
    expect(browser.page?.$('.fault').text()).toContain('Public key is invalid')
    expect(browser.page?.$('#key_title').val()).toBe('<i>x</i>')
    await browser.submit('/-/profile/keys', { 'key[key]': aKey('ann@laptop'), 'key[title]': '' })
    expect(browser.page?.text).toContain('The key “ann@laptop” is added.')
    const { body } = await t.api('get', '/user/keys', who).expect(200)
    expect(body).toMatchObject([{ title: 'ann@laptop' }])
    expect((await browser.submit('Remove')).text).toContain('You have no keys yet.')
  })
})

describe('access tokens', () => {
  it('are shown once, work, and are revoked; a program may fill in the name and scopes', async () => {
    const who = await aUser(t.ctx)
    const browser = await signedIn(who)
    const page = await browser.open('/-/profile/personal_access_tokens?name=A+program&scopes=api,read_user')
    expect(page.$('#personal_access_token_name').val()).toBe('A program')
    expect(
      page
        .$('input:checked')
        .toArray()
        .map((one) => page.$(one).val()),
    ).toEqual(['api', 'read_user'])
    expect(page.$('input[value=sudo]').length).toBe(0)
    const shown = await browser.submit('/-/profile/personal_access_tokens')
    const token = String(shown.$('#token').val())
    expect(shown.headers.get('cache-control')).toBe('no-store')
    const { body } = await t.api('get', '/user', { token }).expect(200)
    expect(body.username).toBe(who.username)
    const list = await browser.open('/-/profile/personal_access_tokens')
    expect(list.$('.rows').text()).toContain('A program')
    expect(list.html).not.toContain(token)
    await browser.submit('Revoke')
    await t.api('get', '/user', { token }).expect(401)
  })

  it('need a name and a scope, and administrators alone get sudo', async () => {
    const browser = await signedIn(await aUser(t.ctx))
    await browser.open('/-/profile/personal_access_tokens')
    await browser.submit('/-/profile/personal_access_tokens', { 'personal_access_token[name]': '' })
    expect([browser.page?.status, faultsIn(browser), browser.page?.text]).toEqual([
      422,
      ["Name can't be blank."],
      expect.stringContaining("Scopes can't be blank"),
    ])
    await browser.submit('/-/profile/personal_access_tokens', { 'personal_access_token[name]': 'x', 'personal_access_token[scopes][]': ['sudo'] })
    expect(browser.page?.status).toBe(403)
  })
})

describe('notifications', () => {
  it('are chosen as over the API', async () => {
    const who = await aUser(t.ctx)
    const browser = await signedIn(who)
    await browser.open('/-/profile/notifications')
    await browser.submit('/-/profile/notifications', { level: 'custom', 'events[]': ['new_note', 'new_release'] })
    expect(browser.page?.text).toContain('Notifications updated.')
    const { body } = await t.api('get', '/notification_settings', who).expect(200)
    expect(body).toMatchObject({ level: 'custom', events: { new_note: true, new_release: true, failed_pipeline: false } })
  })
})

describe('older and later addresses of these pages', () => {
  it('lead to the present ones', async () => {
    const browser = await signedIn(await aUser(t.ctx))
    for (const [from, to] of [
      ['/profile', '/-/profile'],
      ['/profile/keys', '/-/profile/keys'],
      ['/profile/personal_access_tokens?name=a', '/-/profile/personal_access_tokens?name=a'],
      ['/-/user_settings/personal_access_tokens', '/-/profile/personal_access_tokens'],
      ['/-/user_settings/ssh_keys', '/-/profile/keys'],
    ] as const)
      expect((await browser.open(from)).at).toBe(to)
  })
})
