import { beforeAll, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aUser, setSettings } from '../support/factories.js'
import { mailbox } from '../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({
  ROOST_FAILED_CREDENTIALS: '3',
  ROOST_FAILED_CREDENTIALS_DELAY: '0',
  ROOST_TRUSTED_PROXIES: '127.0.0.1',
  SMTP_URL: box.url,
  MAIL_FROM: 'roost@example.org',
})

beforeAll(() => setSettings(t.ctx, { signup_enabled: true }))

let visitors = 0
const anAddress = () => ({ 'x-forwarded-for': `198.51.100.${++visitors}` })

const FORMS: [string, (browser: TestBrowser, i: number) => Promise<{ status: number }>][] = [
  ['a sign-up', (browser, i) => browser.post('/users', { 'user[email]': `someone${i}@example.org`, 'user[username]': 'x' })],
  ['a mail for a password', (browser, i) => browser.post('/users/password/new', { email: `someone${i}@example.org` })],
  ['a mail that confirms', (browser, i) => browser.post('/users/confirmation/new', { email: `someone${i}@example.org` })],
  ['a link for a password', (browser) => browser.post('/users/password/edit', { reset_password_token: 'x', password: 'long enough' })],
  ['a link that confirms', (browser) => browser.open('/users/confirmation?confirmation_token=x')],
]

it.each(FORMS)('more forms for %s than an address may send do not keep it from signing in, and are limited themselves (ML-27)', async (_, send) => {
  const who = await aUser(t.ctx)
  const from = anAddress()
  const visitor = new TestBrowser(t.url, from)
  await visitor.open('/users/sign_up')
  const token = String(visitor.page?.$('[name=authenticity_token]').val())
  const post = visitor.post.bind(visitor)
  visitor.post = (path, fields, enctype) => post(path, { ...fields, authenticity_token: token }, enctype)
  const answers: number[] = []
  for (let i = 0; i < 12; i++) answers.push((await send(visitor, i)).status)
  expect(answers.slice(9)).toEqual([429, 429, 429])
  expect(answers.slice(0, 9)).not.toContain(429)
  expect((await new TestBrowser(t.url, from).signIn(who)).at).toBe('/dashboard')
  await t.app
    .inject({ method: 'GET', url: '/api/v4/user', headers: { ...from, 'private-token': 'nonsense' } })
    .then(({ statusCode }) => expect(statusCode).toBe(401))
})

it('wrong passwords do not keep an address from asking for a mail', async () => {
  const from = anAddress()
  for (let i = 0; i < 9; i++) await new TestBrowser(t.url, from).signIn({ username: `noone${i}`, password: 'wrong' })
  const browser = new TestBrowser(t.url, from)
  expect((await browser.signIn({ username: 'noone', password: 'wrong' })).status).toBe(429)
  await browser.open('/users/password/new')
  expect((await browser.submit('/users/password/new', { email: 'someone@example.org' })).status).toBe(200)
})
