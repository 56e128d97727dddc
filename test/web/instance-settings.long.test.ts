// @module-tag long
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordCheck } from '../../src/services/core/last-checks.js'
import { testApp } from '../support/app.js'
import { faultsOf, launchChromium } from '../support/chromium.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { textReceiver } from '../support/servers/text-receiver.js'

const folder = mkdtempSync(join(tmpdir(), 'roost-instance-'))
const file = join(folder, 'sign-on.yml')
writeFileSync(
  file,
  JSON.stringify({
    openid_connect: [{ name: 'company', label: 'Company', issuer: 'http://127.0.0.1:9', client_id: 'roost', client_secret: 'secret' }],
    ldap: [{ name: 'staff', label: 'Staff directory', url: 'ldap://127.0.0.1:9', user_dn: 'uid=%{username}' }],
  }),
)
const t = testApp({ ROOST_SIGN_ON: file })
const there = textReceiver()
let browser: Browser
let root: TestUser
let who: TestUser
let project: TestProject
const put = (settings: object) => t.api('put', '/application/settings', root).send(settings).expect(200)

beforeAll(async () => {
  browser = await launchChromium()
  root = await anAdmin(t.ctx, { name: 'Root' })
  who = await aUser(t.ctx, { name: 'Ada Lovelace' })
  project = await aProject(t.ctx, { creator: root, visibility: 'public', files: { 'README.md': '# Hello' } })
  Object.assign(t.ctx.config, { spamFilter: there.url })
  there.answer = ({ path }) => ({ body: path === '/comment-check' ? 'true' : '' })
  await put({ performance_bar_enabled: true, spamfilter_enabled: true, spamfilter_api_key: 'key' })
  const text = `Buy cheap watches now!\n\n${'They are really very cheap. '.repeat(20)}\nhttps://${'long-'.repeat(40)}.example`
  for (const title of ['Watches', 'More watches'])
    await t.api('post', `/projects/${project.id}/issues`, who).send({ title, description: text }).expect(400)
  await put({ throttle_authenticated_api_enabled: true })
  await recordCheck(t.ctx, 'backup', true, '120 repositories, 1840.2 MiB, in /var/backups/roost/2026-11-25')
  await recordCheck(t.ctx, 'doctor', false, '2 faults, all objects read')
})
afterAll(async () => {
  await browser?.close()
  rmSync(folder, { recursive: true })
})

async function signIn(page: Page, user: TestUser) {
  await page.goto(`${t.url}/users/sign_in`)
  await page.getByLabel('Account', { exact: true }).selectOption({ label: 'Account of this service' })
  await page.getByLabel('Username or e-mail').fill(user.username)
  await page.getByLabel('Password', { exact: true }).fill(user.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL(`${t.url}/dashboard`)
}

describe('what settings of the instance show in Chromium', () => {
  for (const javaScriptEnabled of [true, false])
    it(`passes axe and fits the window, and leads back: ${javaScriptEnabled ? 'with' : 'without'} scripts`, async () => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, javaScriptEnabled, bypassCSP: true })
      const page = await context.newPage()
      const found: [string, string[]][] = []
      // axe needs scripts
      const see = async (name: string) => !javaScriptEnabled || found.push([name, await faultsOf(page, name)])
      await signIn(page, root)
      await page.goto(`${t.url}/${project.fullPath}`)
      await page.locator('.performance summary').first().click()
      await page.locator('.performance li').first().waitFor()
      await see('performance bar')
      await page.goto(`${t.url}/admin/sign_in_providers`)
      await page.getByRole('button', { name: 'Test Company' }).click()
      await page.getByText('not reached').first().waitFor()
      await see('providers')
      await page.goto(`${t.url}/admin/request_limits`)
      await page.getByLabel('Username or IP address').fill(who.username)
      await page.getByLabel('Requests in a period').fill('10000')
      await page.getByRole('button', { name: 'Set limit' }).click()
      await page.getByText(`@${who.username}`).first().waitFor()
      await see('limits of requests')
      for (const path of ['/admin', '/admin/held_texts', '/admin/application_settings/monitoring', '/admin/application_settings/requests']) {
        await page.goto(t.url + path)
        await see(path)
      }
      await page.goto(`${t.url}/admin/users/${who.username}`)
      await page.getByRole('button', { name: 'Act as this user' }).click()
      await page.getByText(`as administrator @${root.username}`).waitFor()
      await see('acting as another user')
      await page.getByRole('button', { name: /^Stop/ }).click()
      await page.waitForURL(`${t.url}/admin/users/${who.username}`)
      await context.close()
      expect(found.filter(([, faults]) => faults.length > 0)).toEqual([])
    })

  it('sends errors of the page script to the tracker, by way of the service (WB-201)', async () => {
    const dsn = `${there.url.replace('://', '://key@')}/3`
    await put({ clientside_errtracker_enabled: true, clientside_errtracker_dsn: dsn })
    const page = await browser.newPage()
    await page.goto(`${t.url}/explore`)
    await page.evaluate(() => {
      setTimeout(() => {
        throw new TypeError('it broke with token=glpat-0123456789abcdefghij')
      })
    })
    const { text } = await there.next(({ path }) => path.startsWith('/api/3/envelope/'))
    expect(JSON.parse(text.split('\n')[2] ?? '')).toMatchObject({
      exception: { values: [{ type: 'TypeError', value: 'it broke with token=[masked]' }] },
      request: { url: '/explore' },
    })
    await put({ clientside_errtracker_enabled: false })
  })
})
