// @module-tag long
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { Secret, TOTP } from 'otpauth'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { faultsOf, launchChromium } from '../support/chromium.js'
import { aUser, type TestUser } from '../support/factories.js'

const AT = '/-/profile/two_factor_auth'

/** Keys are bound to a host by its name, so the base URL and its port are those that the browser uses. */
const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
const port = await freePort()
const base = `http://localhost:${port}`
const t = testApp({ PORT: String(port), BASE_URL: base })
let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
})
afterAll(() => browser?.close())

/** A browser with an authenticator that holds keys, and asks for nothing. */
async function aBrowser(options: BrowserContextOptions = {}): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const cdp = await context.newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { context, page }
}

/** Nothing that axe finds, and nothing wider than the window. */
async function checked(page: Page, name: string): Promise<void> {
  expect(await faultsOf(page, name)).toEqual([])
}

async function signIn(page: Page, { username, password }: TestUser): Promise<void> {
  await page.goto(`${base}/users/sign_in`)
  await page.fill('#user_login', username)
  await page.fill('#user_password', password)
  await page.click('button.primary')
}
const signOut = (context: BrowserContext) => context.clearCookies()

/** Turns the second factor on and adds a key. */
async function addKey(page: Page, who: TestUser): Promise<void> {
  await page.goto(base + AT)
  await checked(page, 'second-factor-off')
  const secret = Secret.fromBase32((await page.inputValue('#otp_key')).replaceAll(' ', ''))
  await page.fill('#pin_code', new TOTP({ secret }).generate())
  await page.fill('#current_password', who.password)
  await page.click('text=Turn on')
  await page.waitForSelector('#codes')
  await checked(page, 'recovery-codes')
  await page.goto(base + AT)
  await page.fill('#name', 'blue key')
  await page.fill('#key_password', who.password)
  await page.click('text=Add a key')
  await page.waitForSelector('text=is added')
  await checked(page, 'second-factor-on')
}

describe('a security key', () => {
  it('is added, stands for the code after the password, and signs in alone as a passkey (WB-27, WB-28)', async () => {
    const who = await aUser(t.ctx)
    const { context, page } = await aBrowser()
    await signIn(page, who)
    await addKey(page, who)
    expect(await page.textContent('.rows')).toContain('blue key')

    await signOut(context)
    await signIn(page, who)
    await page.waitForURL(/second_factor/)
    await checked(page, 'second-factor')
    await page.click('text=Use a security key')
    await page.waitForURL(`${base}/dashboard`)

    await signOut(context)
    await page.goto(`${base}/users/sign_in?return_to=/explore`)
    await checked(page, 'sign-in')
    await page.click('text=Sign in with a passkey')
    await checked(page, 'passkey')
    const sent = page.waitForRequest((request) => request.method() === 'POST')
    await page.click('text=Use a passkey')
    const body = (await sent).postData() ?? ''
    await page.waitForURL(`${base}/explore`)

    // what was sent works once: sent again by the same visitor, it opens nothing
    await signOut(context)
    const visitor = await browser.newContext()
    const again = await visitor.newPage()
    await again.goto(`${base}/users/sign_in/passkey`)
    const token = await again.inputValue('input[name=authenticity_token]')
    const fields = Object.fromEntries(new URLSearchParams(body))
    const replayed = await visitor.request.post(`${base}/users/sign_in/passkey`, {
      form: { ...fields, authenticity_token: token },
      headers: { accept: 'text/html' },
    })
    expect([replayed.status(), await replayed.text()]).toEqual([422, expect.stringContaining('The passkey was not accepted')])
    await visitor.close()

    await page.goto(`${base}/users/sign_in/passkey`)
    await page.click('text=Use a passkey')
    await page.waitForURL(`${base}/dashboard`)
    await page.goto(base + AT)
    await page.click('summary:has-text("Remove blue key")')
    await page.fill('[name=removal_password]', who.password)
    await page.click('text=Remove the key')
    await page.waitForSelector('text=Key removed.')
    await signOut(context)
    await page.goto(`${base}/users/sign_in/passkey`)
    await page.click('text=Use a passkey')
    await page.waitForSelector('text=The passkey was not accepted')
    await context.close()
  })

  it('of a blocked user signs in no more', async () => {
    const who = await aUser(t.ctx)
    const { context, page } = await aBrowser()
    await signIn(page, who)
    await addKey(page, who)
    await t.ctx.db.write.execute(`update users set state = 'blocked' where id = ${who.id}`)
    await signOut(context)
    await page.goto(`${base}/users/sign_in/passkey`)
    await page.click('text=Use a passkey')
    await page.waitForSelector('text=The passkey was not accepted')
    await context.close()
  })
})

describe('pages of the second factor and of sign-up', () => {
  it('work without scripts, in the dark, and on a narrow screen', async () => {
    const who = await aUser(t.ctx)
    const { context, page } = await aBrowser({ viewport: { width: 390, height: 800 }, colorScheme: 'dark' })
    await page.goto(`${base}/users/sign_up`)
    await checked(page, 'sign-up-dark')
    await page.click('button.primary')
    await page.goto(`${base}/users/almost_there`)
    await checked(page, 'almost-there-dark')
    await signIn(page, who)
    await addKey(page, who)
    await context.close()

    const plain = await aBrowser({ javaScriptEnabled: false })
    await signIn(plain.page, who)
    await plain.page.waitForURL(/second_factor/)
    expect(await plain.page.isVisible('text=Use a security key')).toBe(false)
    expect(await plain.page.isVisible('text=Verify')).toBe(true)
    await plain.context.close()
  })
})
