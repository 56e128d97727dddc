// @module-tag long
import { createServer, type RequestListener, type Server } from 'node:http'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { findings, launchChromium } from '../support/chromium.js'
import { anAdmin, aUser, type TestUser } from '../support/factories.js'

const t = testApp()
const servers: Server[] = []
let browser: Browser
let user: TestUser
let admin: TestUser
/** An address of an application that leads on to another site, as one that signs users in for others does. */
let back: string
let end: string

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, done))
  const address = server.address()
  return `localhost:${typeof address === 'object' ? address?.port : 0}`
}

beforeAll(async () => {
  browser = await launchChromium()
  user = await aUser(t.ctx)
  admin = await anAdmin(t.ctx)
  end = `http://${await serve((_, response) => response.end('signed in'))}/end`
  const between = await serve((request, response) => response.writeHead(303, { location: `${end}${request.url?.replace(/^[^?]*/, '')}` }).end())
  back = `http://${between}/callback`
})
afterAll(async () => {
  await browser?.close()
  for (const server of servers) server.close()
})

const addressOf = async (more: object = {}) => {
  const given = { name: 'CI', redirect_uri: back, scopes: 'openid api', ...more }
  const { body } = await t.api('post', '/applications', admin).send(given).expect(201)
  const query = { client_id: body.application_id, redirect_uri: back, response_type: 'code', scope: 'openid', state: 's1' }
  return `${t.url}/oauth/authorize?${new URLSearchParams(query)}`
}

async function signIn(page: Page) {
  await page.getByLabel('Username or e-mail').fill(user.username)
  await page.getByLabel('Password').fill(user.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

const ended = (page: Page) => page.waitForURL((url) => url.href.startsWith(`${end}?code=`) && url.searchParams.get('state') === 's1')

describe.each([true, false])('in Chromium, with scripts: %s', (javaScriptEnabled) => {
  it('the browser follows from sign-in over consent to a site that the application leads on to (WB-30)', async () => {
    const page = await browser.newPage({ javaScriptEnabled })
    await page.goto(await addressOf())
    await signIn(page)
    await page.getByRole('button', { name: 'Authorize' }).click()
    await ended(page)
    await page.close()
  })

  it('and from sign-in at once, where the user is not asked (WB-30)', async () => {
    const page = await browser.newPage({ javaScriptEnabled })
    const address = await addressOf({ trusted: true })
    await page.goto(address)
    await signIn(page)
    await ended(page)
    await page.goto(address)
    await ended(page)
    await page.close()
  })
})

it('axe finds nothing on the pages of OAuth', async () => {
  const context = await browser.newContext({ bypassCSP: true })
  const page = await context.newPage()
  await page.goto(`${t.url}/users/sign_in`)
  await signIn(page)
  await page.waitForURL(`${t.url}/dashboard`)
  const addresses = [await addressOf(), `${t.url}/oauth/authorize/native?code=x`, `${t.url}/oauth/authorize?client_id=x`]
  const found: string[] = []
  for (const address of addresses) {
    await page.goto(address)
    found.push(...(await findings(page)).map((fault) => `${address}: ${fault}`))
  }
  expect(found).toEqual([])
  await context.close()
})
