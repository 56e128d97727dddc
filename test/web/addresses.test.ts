import { eq, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { emails, users } from '../../src/db/schema/index.js'
import { idToken } from '../../src/services/identity/oauth/openid.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aCommit, anAdmin, aProject, aUser, type TestUser, unique } from '../support/factories.js'
import { mailbox } from '../support/smtp/mailbox.js'

const box = await mailbox(() => mailing.ctx.jobs.drain())
const silent = testApp()
const mailing = testApp({ SMTP_URL: box.url, MAIL_FROM: 'roost@example.org' })

const AT = '/-/profile/emails'
const address = () => `address${unique()}@example.net`
const claimsOf = async (ctx: typeof silent.ctx, userId: number) => {
  const token = await idToken(ctx, userId, { uid: 'application', scopes: ['openid', 'email'] })
  return JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()) as { email: string; email_verified: boolean }
}

describe.each([
  ['without mail', silent],
  ['with mail', mailing],
])('a confirmation belongs to its address, %s', (_, t) => {
  const rowOf = async (user: TestUser) => (await t.ctx.db.write.select().from(users).where(eq(users.id, user.id)))[0]
  const signedIn = async (who: TestUser) => {
    const browser = new TestBrowser(t.url)
    await browser.signIn(who)
    return browser
  }
  const add = async (who: TestUser, email: string) => (await t.api('post', '/user/emails', who).send({ email }).expect(201)).body as { id: number }
  const confirm = (id: number) =>
    t.ctx.db.write
      .update(emails)
      .set({ confirmed_at: new Date('2021-01-01') })
      .where(eq(emails.id, id))
  const makeMain = async (browser: TestBrowser, id: number) => {
    const { $ } = await browser.open(AT)
    const token = String($('[name=authenticity_token]').first().val())
    return browser.post(`${AT}/${id}/main`, { _method: 'PUT', authenticity_token: token })
  }

  it('an unconfirmed address is not offered as the main one, and the form refuses it (US-95)', async () => {
    const who = await aUser(t.ctx)
    const { id } = await add(who, address())
    const browser = await signedIn(who)
    expect((await browser.open(AT)).text).not.toContain('Make main')
    const refused = await makeMain(browser, id)
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('is not confirmed')])
    expect(await rowOf(who)).toMatchObject({ email: who.email, confirmed_at: who.confirmed_at })
  })

  it('a confirmed one becomes the main one with its own confirmation, and the former keeps what it has (US-95)', async () => {
    const who = await aUser(t.ctx, { skip_confirmation: false })
    const email = address()
    const { id } = await add(who, email)
    await confirm(id)
    const browser = await signedIn(who)
    await browser.open(AT)
    await browser.submit('Make main')
    expect(browser.page?.text).toContain(`${email} is your main address now.`)
    expect(await rowOf(who)).toMatchObject({ email, confirmed_at: new Date('2021-01-01') })
    expect(await t.ctx.db.write.select().from(emails).where(eq(emails.user_id, who.id))).toMatchObject([{ email: who.email, confirmed_at: null }])
    expect(await claimsOf(t.ctx, who.id)).toMatchObject({ email, email_verified: true })
    const [former] = await t.ctx.db.write.select().from(emails).where(eq(emails.user_id, who.id))
    expect((await makeMain(browser, Number(former?.id))).status).toBe(422)
  })

  it('an address that an administrator sets is confirmed by skip_reconfirmation alone (U-26)', async () => {
    const admin = await anAdmin(t.ctx)
    const who = await aUser(t.ctx)
    const put = (given: object) => t.api('put', `/users/${who.id}`, admin).send(given).expect(200)
    const email = address()
    expect((await put({ email })).body).toMatchObject({ email, confirmed_at: null })
    expect(await claimsOf(t.ctx, who.id)).toMatchObject({ email, email_verified: false })
    const other = address()
    expect((await put({ email: other, skip_reconfirmation: true })).body).toMatchObject({ email: other, confirmed_at: expect.any(String) })
    // back to the first one, which is not confirmed, and to the address that was confirmed from the beginning
    expect((await put({ email })).body).toMatchObject({ email, confirmed_at: null })
    expect((await put({ email: who.email })).body).toMatchObject({ confirmed_at: who.confirmed_at?.toISOString() })
  })

  it('a commit is not shown as a user’s by an unconfirmed main address (SEC-126)', async () => {
    const author = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: author, visibility: 'public' })
    await aCommit(t.ctx, project, { 'a.txt': 'a' })
    const admin = await anAdmin(t.ctx)
    await t.api('put', `/users/${author.id}`, admin).send({ email: address(), skip_reconfirmation: true }).expect(200)
    const [former] = await t.ctx.db.write.select().from(emails).where(eq(emails.user_id, author.id))
    await t.api('delete', `/user/emails/${former?.id}`, author).expect(204)
    const thief = await aUser(t.ctx)
    await t.api('put', `/users/${thief.id}`, admin).send({ email: author.email }).expect(200)
    const { html } = await new TestBrowser(t.url).open(`/${project.fullPath}/-/commits/main`)
    expect(html).not.toContain(`href="/${thief.username}"`)
  })

  it('a link is sent again only for what is not confirmed, and with mail (WB-414)', async () => {
    const who = await aUser(t.ctx)
    const [open, done] = [await add(who, address()), await add(who, address())]
    await confirm(done.id)
    const browser = await signedIn(who)
    const again = async (id: number) => {
      const token = String((await browser.open(AT)).$('[name=authenticity_token]').first().val())
      return (await browser.post(`${AT}/${id}/resend_confirmation_instructions`, { _method: 'PUT', authenticity_token: token })).status
    }
    expect([await again(open.id), await again(done.id)]).toEqual(t === mailing ? [200, 422] : [404, 404])
  })

  it('an unconfirmed secondary address reserves nothing (SEC-126)', async () => {
    const [squatter, owner, newcomer] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const admin = await anAdmin(t.ctx)
    const [one, two, three] = [address(), address(), address()]
    for (const email of [one, two, three]) await add(squatter, email)
    const mine = await add(owner, one)
    await t
      .api('post', '/user/emails', owner)
      .send({ email: one })
      .expect(400, { message: { email: ['has already been taken'] } })
    await t.api('put', `/users/${newcomer.id}`, admin).send({ email: two }).expect(200)
    const made = { email: three, username: `three${unique()}`, name: 'Three', password: 'password of three', skip_confirmation: true }
    await t.api('post', '/users', admin).send(made).expect(201)
    // who confirms it first has it
    await confirm(mine.id)
    await t
      .api('post', '/user/emails', newcomer)
      .send({ email: one })
      .expect(400, { message: { email: ['has already been taken'] } })
  })
})

describe('who confirms an address has it, and others lose what they claimed (ML-53)', () => {
  let first: TestUser
  let second: TestUser
  const t = mailing
  beforeAll(async () => {
    first = await aUser(t.ctx)
    second = await aUser(t.ctx)
  })
  const linkTo = async (email: string) =>
    (await box.to(email)).map(({ text = '' }) => /http:\/\/roost\.test(\/users\/confirmation\?\S+)/.exec(text)?.[1] ?? '')
  const claimed = (email: string) =>
    t.ctx.db.write.select({ user: emails.user_id, confirmed: sql<boolean>`confirmed_at is not null` }).from(emails).where(eq(emails.email, email))

  it('each gets another link, of which the first that is used counts', async () => {
    const email = address()
    await t.api('post', '/user/emails', first).send({ email }).expect(201)
    await t.api('post', '/user/emails', second).send({ email }).expect(201)
    const links = await linkTo(email)
    expect(new Set(links).size).toBe(2)
    const browser = new TestBrowser(t.url)
    for (const link of links) await browser.open(link)
    const forms = await Promise.all(
      links.map(async (link) => {
        const one = new TestBrowser(t.url)
        await one.open(link)
        return (await one.submit('Confirm')).status
      }),
    )
    expect(forms.sort()).toEqual([200, 404])
    expect(await claimed(email)).toEqual([{ user: expect.any(Number), confirmed: true }])
  })

  it('a main address is not confirmed as a secondary one of somebody else', async () => {
    const email = address()
    await t.api('post', '/user/emails', first).send({ email }).expect(201)
    const [link = ''] = await linkTo(email)
    await aUser(t.ctx, { email, skip_confirmation: false })
    const browser = new TestBrowser(t.url)
    await browser.open(link)
    expect(browser.page?.status === 404 || (await browser.submit('Confirm')).status === 404).toBe(true)
    expect(await claimed(email)).not.toContainEqual({ user: first.id, confirmed: true })
  })

  it('the link of an administrator’s change is that of the account which has the address', async () => {
    const email = address()
    await t.api('post', '/user/emails', first).send({ email }).expect(201)
    const admin = await anAdmin(t.ctx)
    await t.api('put', `/users/${second.id}`, admin).send({ email }).expect(200)
    const links = await linkTo(email)
    const browser = new TestBrowser(t.url)
    await browser.open(links.at(-1) ?? '')
    await browser.submit('Confirm')
    const [row] = await t.ctx.db.write.select().from(users).where(eq(users.id, second.id))
    expect([row?.email, row?.confirmed_at]).toEqual([email, expect.any(Date)])
    expect(await claimed(email)).toEqual([])
  })
})
