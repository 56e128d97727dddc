import { and, eq, isNotNull } from 'drizzle-orm'
import { beforeEach, describe, expect, it } from 'vitest'
import { accountLinks, emails, users } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { anAdmin, aProject, aUser, setSettings, type TestUser, unique } from '../support/factories.js'
import { mailbox, type Received } from '../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'roost@example.org', ROOST_FAILED_CREDENTIALS: '5', ROOST_TRUSTED_PROXIES: '127.0.0.1' })

// asking is counted by address, so each test has its own
let from = ''
beforeEach(() => {
  from = `192.0.2.${unique()}`
})

/** The path and query of the link in a mail. */
const linkIn = ({ text = '' }: Received): URL => new URL(/http:\/\/roost\.test\/users\/\S+/.exec(text)?.[0] ?? '')
const forwarded = () => ({ headers: { 'x-forwarded-for': from } })
const get = (link: URL | string) => fetch(typeof link === 'string' ? t.url + link : `${t.url}${link.pathname}${link.search}`, forwarded())
const post = (path: string, fields: Record<string, string>) =>
  fetch(t.url + path, { method: 'POST', body: new URLSearchParams(fields), ...forwarded() })
const tokenOf = (link: URL) => [...link.searchParams.values()][0] ?? ''
const confirm = (link: URL) => post('/users/confirmation', { confirmation_token: tokenOf(link) })
const setPassword = (link: URL, password: string) => post('/users/password/edit', { reset_password_token: tokenOf(link), password })

const signIn = async (username: string, password: string) => (await post('/oauth/token', { grant_type: 'password', username, password })).status
const mailTo = async (address: string): Promise<Received> => {
  const [mail, ...more] = await box.to(address)
  expect(more).toEqual([])
  expect(mail).toBeDefined()
  return mail as Received
}
const address = () => `someone${unique()}@example.net`
const newUser = async (more: object) => {
  const email = address()
  const username = `someone${unique()}`
  const admin = await anAdmin(t.ctx)
  const { body } = await t
    .api('post', '/users', admin)
    .send({ email, username, name: 'Someone', ...more })
    .expect(201)
  return { id: body.id as number, email, username, admin }
}
const secondary = async (who: TestUser) => (await t.api('get', '/user/emails', who).expect(200)).body as { id: number; email: string }[]
const isConfirmed = async ({ id, admin }: { id: number; admin: TestUser }) =>
  (await t.api('get', `/users/${id}`, admin).expect(200)).body.confirmed_at !== null

describe('a mail to an address that is not confirmed', () => {
  it('holds no text that users choose, also not in its headers (ML-28)', async () => {
    const lure = 'Dear winner of evil.example'
    const who = await aUser(t.ctx, { name: lure, username: `lure${unique()}` })
    const added = address()
    await t.api('post', '/user/emails', who).send({ email: added }).expect(201)
    const invited = await newUser({ name: lure, reset_password: true })
    const changed = address()
    await t.api('put', `/users/${who.id}`, invited.admin).send({ email: changed }).expect(200)
    const mails = [await mailTo(added), await mailTo(invited.email), await mailTo(changed)]
    for (const received of mails) {
      const mail = JSON.stringify(received)
      expect(mail).not.toContain('winner')
      expect(mail).not.toContain(who.username)
      expect(mail).toContain('roost.test')
    }
    // one that is confirmed
    await confirm(linkIn(mails[0] as Received))
    await post('/users/password/new', { email: added })
    expect(JSON.stringify((await box.to(added)).at(-1))).toContain(lure)
  })
})

describe('a new address (ML-18)', () => {
  it('that is confirmed while others make it their main one belongs to one account (SEC-126)', async () => {
    const admin = await anAdmin(t.ctx)
    for (let round = 0; round < 6; round++) {
      const email = address()
      const [claimant, other] = [await aUser(t.ctx), await aUser(t.ctx)]
      await t.api('post', '/user/emails', claimant).send({ email }).expect(201)
      const link = linkIn(await mailTo(email))
      await Promise.all([
        confirm(link),
        t.api('post', '/users', admin).send({ email, username: `made${unique()}`, name: 'x', password: 'password1' }),
        t.api('put', `/users/${other.id}`, admin).send({ email }),
      ])
      const mains = await t.ctx.db.write.$count(users, eq(users.email, email))
      const seconds = await t.ctx.db.write.$count(emails, and(eq(emails.email, email), isNotNull(emails.confirmed_at)))
      expect([round, mains + seconds]).toEqual([round, 1])
    }
  })

  it('of an account is confirmed by the link, by POST alone, once (ML-20, ML-23)', async () => {
    const who = await aUser(t.ctx)
    const email = address()
    await t.api('post', '/user/emails', who).send({ email }).expect(201)
    const mail = await mailTo(email)
    expect(mail.subject).toBe('Confirm your e-mail address')
    const link = linkIn(mail)
    const page = await get(link)
    expect(page.status).toBe(200)
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy':
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    })
    const html = await page.text()
    expect(html).toContain(email)
    expect(html).not.toMatch(/<script|javascript:/)
    // not confirmed yet
    await t.api('put', '/notification_settings', who).send({ notification_email: email }).expect(400)
    expect((await confirm(link)).status).toBe(200)
    await t.api('put', '/notification_settings', who).send({ notification_email: email }).expect(200)
    expect([(await confirm(link)).status, (await get(link)).status]).toEqual([404, 404])
    const stored = JSON.stringify(await t.ctx.db.write.select().from(accountLinks))
    expect(stored).not.toContain(tokenOf(link))
  })

  it('is confirmed neither after three days nor when it is not theirs any more', async () => {
    const who = await aUser(t.ctx)
    const [first, second] = [address(), address()]
    for (const email of [first, second]) await t.api('post', '/user/emails', who).send({ email }).expect(201)
    const [late, gone] = [linkIn(await mailTo(first)), linkIn(await mailTo(second))]
    const [link] = await t.ctx.db.write.select().from(accountLinks).where(eq(accountLinks.email, first))
    expect(Number(link?.expires_at) - Number(link?.created_at)).toBe(3 * 86_400_000)
    await t.ctx.db.write
      .update(accountLinks)
      .set({ expires_at: new Date(Date.now() - 1) })
      .where(eq(accountLinks.email, first))
    const { id } = (await secondary(who)).find(({ email }) => email === second) ?? { id: 0 }
    await t.api('delete', `/user/emails/${id}`, who).expect(204)
    for (const link of [late, gone]) expect([(await get(link)).status, (await confirm(link)).status]).toEqual([404, 404])
  })

  it('of a new user is mailed and asked for only with send_user_confirmation_email (CR-4)', async () => {
    const password = 'a long password'
    const usual = await newUser({ password })
    expect(await box.to(usual.email)).toEqual([])
    expect(await signIn(usual.username, password)).toBe(200)
    await setSettings(t.ctx, { send_user_confirmation_email: true })
    try {
      expect(await signIn(usual.username, password)).toBe(401)
      const skipped = await newUser({ password, skip_confirmation: true })
      expect([await box.to(skipped.email), await signIn(skipped.username, password)]).toEqual([[], 200])
      const fresh = await newUser({ password })
      expect(await signIn(fresh.username, password)).toBe(401)
      const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
      const git = () =>
        fetch(`${t.url}/${project.fullPath}.git/info/refs?service=git-upload-pack`, {
          headers: { authorization: `Basic ${Buffer.from(`${fresh.username}:${password}`).toString('base64')}` },
        })
      expect((await git()).status).toBe(401)
      expect((await confirm(linkIn(await mailTo(fresh.email)))).status).toBe(200)
      expect([await signIn(fresh.username, password), (await git()).status]).toEqual([200, 200])
    } finally {
      await setSettings(t.ctx, {})
    }
  })

  it('that an administrator sets is unconfirmed until its owner confirms it, unless it was before', async () => {
    const [who, admin] = [await aUser(t.ctx), await anAdmin(t.ctx)]
    const account = { id: who.id, admin }
    const email = address()
    await t.api('put', `/users/${who.id}`, admin).send({ email }).expect(200)
    expect(await isConfirmed(account)).toBe(false)
    expect((await confirm(linkIn(await mailTo(email)))).status).toBe(200)
    expect(await isConfirmed(account)).toBe(true)
    // the former one is a confirmed secondary address
    await t.api('put', `/users/${who.id}`, admin).send({ email: who.email }).expect(200)
    expect([await isConfirmed(account), await box.to(who.email)]).toEqual([true, []])
    const other = address()
    await t.api('put', `/users/${who.id}`, admin).send({ email: other, skip_reconfirmation: true }).expect(200)
    expect([await isConfirmed(account), await box.to(other)]).toEqual([true, []])
  })

  it('gets another link on request (ML-26)', async () => {
    const who = await aUser(t.ctx, { skip_confirmation: false })
    expect((await get('/users/confirmation/new')).status).toBe(200)
    expect((await post('/users/confirmation/new', { email: who.email })).status).toBe(200)
    expect((await confirm(linkIn(await mailTo(who.email)))).status).toBe(200)
    expect((await post('/users/confirmation/new', { email: who.email })).status).toBe(200)
    expect(await box.to(who.email)).toEqual([])
  })
})

describe('a forgotten password (ML-24, ML-25)', () => {
  const ask = async (email: string) => {
    const answer = await post('/users/password/new', { email })
    return [answer.status, await answer.text()]
  }

  it('is set by the link, once, and ends what the old one gave', async () => {
    const who = await aUser(t.ctx)
    const grant = await post('/oauth/token', { grant_type: 'password', username: who.username, password: who.password })
    const { access_token: token } = (await grant.json()) as { access_token: string }
    await ask(who.email)
    const link = linkIn(await mailTo(who.email))
    expect(await (await get(link)).text()).toContain('autocomplete="new-password"')
    const short = await setPassword(link, 'short')
    expect([short.status, await short.text()]).toEqual([422, expect.stringContaining('New password is too short (minimum is 8 characters).')])
    const both = await Promise.all([1, 2].map(() => setPassword(link, 'a new password')))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 404])
    expect([await signIn(who.username, who.password), await signIn(who.username, 'a new password')]).toEqual([401, 200])
    await t.api('get', '/user', { token }).expect(401)
    await t.api('get', '/user', who).expect(200)
    expect([(await get(link)).status, (await setPassword(link, 'another password')).status]).toEqual([404, 404])
  })

  it('does not reveal addresses: the answer is the same, and mail is sent only to confirmed ones of active users', async () => {
    const [known, blocked, unconfirmed] = [
      await aUser(t.ctx),
      await aUser(t.ctx, { state: 'blocked' }),
      await aUser(t.ctx, { skip_confirmation: false }),
    ]
    const unknown = address()
    const answers = []
    for (const email of [known.email, blocked.email, unconfirmed.email, unknown, ` ${known.email.toUpperCase()} `]) answers.push(await ask(email))
    expect(answers[0]?.[0]).toBe(200)
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(await box.to(known.email)).toHaveLength(1)
    for (const email of [blocked.email, unconfirmed.email, unknown]) expect(await box.to(email)).toEqual([])
    expect((await ask('nothing'))[0]).toBe(422)
  })

  it('works by a confirmed secondary address, and not when the user was blocked meanwhile', async () => {
    const who = await aUser(t.ctx)
    const email = address()
    await t.api('post', '/user/emails', who).send({ email }).expect(201)
    await ask(email)
    // an unconfirmed one identifies no user (SEC-126)
    const mails = await box.to(email)
    expect(mails.map(({ subject }) => subject)).toEqual(['Confirm your e-mail address'])
    await confirm(linkIn(mails[0] as Received))
    await ask(email)
    const link = linkIn(await mailTo(email))
    const admin = await anAdmin(t.ctx)
    await t.api('post', `/users/${who.id}/block`, admin).expect(201)
    expect((await setPassword(link, 'a new password')).status).toBe(404)
    await t.api('post', `/users/${who.id}/unblock`, admin).expect(201)
    expect((await setPassword(link, 'a new password')).status).toBe(200)
  })

  it('any change of the password ends the links', async () => {
    const who = await aUser(t.ctx)
    await ask(who.email)
    const link = linkIn(await mailTo(who.email))
    await t.api('put', '/user/password', who).send({ current_password: who.password, password: 'of my own choice' }).expect(204)
    expect((await setPassword(link, 'a new password')).status).toBe(404)
  })

  it('of a new account is set by a link, which confirms the address (ML-19, ML-31, U-21)', async () => {
    const account = await newUser({ reset_password: true })
    const mail = await mailTo(account.email)
    expect(mail.subject).toBe('Your new account')
    expect(mail.text).toContain(`your username is ${account.username}. Please set your password with the link below.`)
    expect(mail.text).not.toContain('Someone')
    expect(await isConfirmed(account)).toBe(false)
    expect((await setPassword(linkIn(mail), 'a first password')).status).toBe(200)
    expect([await isConfirmed(account), await signIn(account.username, 'a first password')]).toEqual([true, 200])
  })

  it('is asked for in limited numbers (ML-27)', async () => {
    const who = await aUser(t.ctx)
    const statuses = []
    for (let i = 0; i < 7; i++) statuses.push((await ask(who.email))[0])
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
    expect(await box.to(who.email)).toHaveLength(1)
    expect(await signIn(who.username, who.password)).toBe(200)
  })
})

describe('bad tokens', () => {
  it('are counted, and the pages take no other method (ML-27)', async () => {
    expect((await fetch(`${t.url}/users/confirmation`, { method: 'DELETE' })).status).toBe(405)
    const statuses = new Set<number>()
    for (let i = 0; i < 20; i++) statuses.add((await get(`/users/password/edit?reset_password_token=${i}`)).status)
    expect([...statuses]).toEqual([404, 429])
  })
})

describe('domains (ML-21)', () => {
  it('that the settings exclude are refused to users, not to administrators', async () => {
    const [who, admin] = [await aUser(t.ctx), await anAdmin(t.ctx)]
    const add = (by: TestUser, email: string, path = '/user') => t.api('post', `${path}/emails`, by).send({ email: `n${unique()}@${email}` })
    const refusal = (text: string) => ({ message: { email: [text] } })
    try {
      await setSettings(t.ctx, { domain_blacklist_enabled: false, domain_blacklist: ['evil.example'] })
      await add(who, 'evil.example').expect(201)
      await setSettings(t.ctx, { domain_blacklist_enabled: true, domain_blacklist: ['evil.example', '*.bad.example'] })
      for (const domain of ['evil.example', 'EVIL.example', 'a.b.bad.example'])
        await add(who, domain).expect(400, refusal('is not from an allowed domain.'))
      for (const domain of ['bad.example', 'notevil.example', 'evil.example.org']) await add(who, domain).expect(201)
      await add(admin, 'evil.example').expect(201)
      await add(admin, 'evil.example', `/users/${who.id}`).expect(201)
      await newUser({ password: 'a long password', email: `new${unique()}@evil.example` })
      await setSettings(t.ctx, { domain_blacklist_enabled: true, domain_blacklist: ['*'], domain_whitelist: ['good.example', '*.fine.example'] })
      for (const domain of ['good.example', 'a.fine.example']) await add(who, domain).expect(201)
      await add(who, 'other.example').expect(400, refusal('domain is not authorized for sign-up'))
    } finally {
      await setSettings(t.ctx, {})
    }
  })
})
