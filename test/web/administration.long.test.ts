// @module-tag long
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { faultsOf, keepPicture, launchChromium } from '../support/chromium.js'
import { aGroup, anAdmin, aProject, aUser, setSettings, type TestProject, type TestUser } from '../support/factories.js'
import { textReceiver } from '../support/servers/text-receiver.js'

const folder = mkdtempSync(join(tmpdir(), 'roost-administration-'))
const providers = join(folder, 'sign-on.yml')
const company = { name: 'company', label: 'Company', issuer: 'http://127.0.0.1:9', client_id: 'roost', client_secret: 'secret' }
writeFileSync(providers, JSON.stringify({ openid_connect: [company] }))
const storages = `default=${join(folder, 'first')},second=${join(folder, 'second')}`
const t = testApp({ ROOST_SIGN_ON: providers, STORAGES: storages })
const filter = textReceiver()
let browser: Browser
let root: TestUser
let who: TestUser
let away: TestUser
let project: TestProject
let hook: number

beforeAll(async () => {
  browser = await launchChromium()
  root = await anAdmin(t.ctx, { name: 'Root' })
  who = await aUser(t.ctx, { name: 'Ada Lovelace' })
  await aUser(t.ctx, { name: 'Charles Babbage', external: true })
  await aUser(t.ctx, { name: 'Who Waits', state: 'blocked_pending_approval' })
  await aUser(t.ctx, { name: 'Who Is Blocked', state: 'blocked' })
  away = await aUser(t.ctx, { name: 'Who Is Away', state: 'deactivated' })
  project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { 'README.md': '# Hello' } })
  for (let i = 0; i < 4; i++) await aProject(t.ctx, { creator: who, files: { a: 'a' } })
  const deleted = await aProject(t.ctx, { creator: who })
  await t.api('delete', deleted.path, who).expect(202)
  await aGroup(t.ctx, { creator: who, description: 'What we work on' })
  await t.ctx.db.write.execute(sql`insert into jobs (kind, payload, attempts, failed_at, last_error) values
    ('mail: damage', '{"since": "2026-01-01T00:00:00Z"}', 14, now(), 'connect ECONNREFUSED 192.0.2.1:25')`)
  await t.api('post', '/hooks', root).send({ url: 'http://127.0.0.1:9/hook' }).expect(201)
  hook = (await t.api('get', '/hooks', root).expect(200)).body[0].id
  await t.api('post', `/hooks/${hook}`, root).expect(422)
  await t.api('post', '/broadcast_messages', root).send({ message: 'Tonight at 22:00 UTC the service is updated.', dismissable: true }).expect(201)
})
afterAll(async () => {
  await browser?.close()
  rmSync(folder, { recursive: true })
})

async function signIn(page: Page, user: TestUser) {
  await page.goto(`${t.url}/users/sign_in`)
  await page.getByLabel('Username or e-mail').fill(user.username)
  await page.getByLabel('Password', { exact: true }).fill(user.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL(`${t.url}/dashboard`)
}

const paths = () => [
  '/admin',
  '/admin/users',
  '/admin/users/new',
  '/admin/users/import',
  `/admin/users/${who.username}`,
  `/admin/users/${who.username}/edit`,
  '/admin/users?filter=deactivated',
  `/admin/users/${away.username}`,
  '/admin/groups',
  '/admin/projects',
  '/admin/projects?filter=deleted',
  `/admin/projects/${project.id}`,
  '/admin/application_settings',
  ...['sign_in', 'sign_up', 'visibility', 'limits', 'repositories', 'pages', 'ci', 'monitoring'].map((name) => `/admin/application_settings/${name}`),
  '/admin/maintenance',
  '/admin/broadcast_messages',
  '/admin/abuse_reports',
  '/admin/audit_log',
  '/admin/jobs',
  '/admin/hooks',
  `/admin/hooks/${hook}/edit`,
  '/admin/applications',
  '/admin/sign_in_providers',
  '/admin/held_texts',
  '/admin/request_limits',
  '/help',
  `/abuse_reports/new?user_id=${who.id}`,
]

describe('pages of the administration in Chromium', () => {
  it('pass axe and fit the window', async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: true })
    const page = await context.newPage()
    await signIn(page, root)
    const found: [string, string[]][] = []
    for (const path of paths()) {
      const answer = await page.goto(t.url + path)
      found.push([path, [...(answer?.status() === 200 ? [] : [`status ${answer?.status()}`]), ...(await faultsOf(page, path))]])
    }
    await context.close()
    expect(found.filter(([, faults]) => faults.length > 0)).toEqual([])
  })

  for (const javaScriptEnabled of [true, false])
    it(`are enough for a day of an administrator: ${javaScriptEnabled ? 'with' : 'without'} scripts`, async () => {
      await setSettings(t.ctx, {})
      const context: BrowserContext = await browser.newContext({ viewport: { width: 1280, height: 900 }, javaScriptEnabled })
      const page = await context.newPage()
      const faults: string[] = []
      page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
      page.on('pageerror', (error) => faults.push(error.message))
      const name = `grace${javaScriptEnabled ? 1 : 2}`
      await signIn(page, root)
      if (javaScriptEnabled) await page.getByLabel(/^Account of/).click()
      await page.goto(`${t.url}/admin`)
      await page.getByRole('link', { name: 'Users', exact: true }).first().click()
      await page.getByRole('link', { name: 'New user' }).click()
      await page.getByLabel('Username').fill(name)
      await page.getByLabel('Name', { exact: true }).fill('Grace Hopper')
      await page.getByLabel('E-mail address').fill(`${name}@example.org`)
      await page.getByLabel('Password').fill('a good password')
      await page.getByRole('button', { name: 'Create user' }).click()
      await page.getByText(`${name} is created.`).waitFor()
      await page.getByRole('button', { name: 'Block' }).click()
      await page.getByText('The account is blocked.').waitFor()
      await page.goto(`${t.url}/admin/users?filter=blocked`)
      await page.getByText(`${name}@example.org`).waitFor()

      await page.getByRole('link', { name: 'Settings', exact: true }).last().click()
      await page.getByRole('link', { name: 'Pages and mail' }).click()
      await page.getByLabel('Help page text').fill('Ask **Ada**.')
      await page.getByRole('button', { name: 'Save changes' }).click()
      await page.getByText('the settings are saved').waitFor()
      await page.goto(`${t.url}/help`)
      await page.locator('.prose strong', { hasText: 'Ada' }).waitFor()

      await page.goto(`${t.url}/admin/audit_log`)
      await page.getByLabel('Action').fill('settings changed')
      await page.getByRole('button', { name: 'Filter' }).click()
      await page.getByText('help_page_text').first().waitFor()

      await page.goto(`${t.url}/admin/broadcast_messages`)
      await page.getByLabel('Message', { exact: true }).fill(`Lunch for ${name}`)
      await page.getByRole('button', { name: 'Add message' }).click()
      await page.getByText('Message added.').waitFor()
      await page
        .locator('.broadcast', { hasText: `Lunch for ${name}` })
        .getByRole('button')
        .click()
      await expect.poll(() => page.locator('.broadcast', { hasText: `Lunch for ${name}` }).count()).toBe(0)

      await page.goto(`${t.url}/admin/maintenance`)
      await page.getByLabel('Message', { exact: true }).fill('Back at noon')
      await page.getByRole('button', { name: 'Make the service read-only' }).click()
      await page.locator('.broadcast', { hasText: 'Back at noon' }).waitFor()
      await t.api('post', `${project.path}/issues`, who).send({ title: 'x' }).expect(503)
      await page.getByRole('button', { name: 'Allow changes again' }).click()
      await page.getByText('Changes are possible again.').waitFor()

      // a text that is held, and released
      Object.assign(t.ctx.config, { spamFilter: filter.url })
      filter.answer = ({ path }) => ({ body: path === '/comment-check' ? 'true' : '' })
      await t.api('put', '/application/settings', root).send({ spamfilter_enabled: true, spamfilter_api_key: 'key' }).expect(200)
      const seller = await aUser(t.ctx)
      await t
        .api('post', `${project.path}/issues`, seller)
        .send({ title: `Watches for ${name}` })
        .expect(400)
      await page.goto(`${t.url}/admin/held_texts`)
      await page.getByText(`Watches for ${name}`).waitFor()
      await keepPicture(page, `day-held-${javaScriptEnabled}`)
      await page.getByRole('button', { name: /^Not spam/ }).click()
      await page.getByText('Text published.').waitFor()
      const [released] = (await t.api('get', `${project.path}/issues`, who).expect(200)).body
      expect(released).toMatchObject({ title: `Watches for ${name}`, author: { username: seller.username } })
      await setSettings(t.ctx, {})

      await page.goto(`${t.url}/admin/sign_in_providers`)
      await page.getByRole('button', { name: 'Test Company' }).click()
      await page.getByText('not reached').first().waitFor()
      await keepPicture(page, `day-provider-${javaScriptEnabled}`)

      await page.goto(`${t.url}/admin/users/${who.username}`)
      await page.getByRole('button', { name: 'Act as this user' }).click()
      await page.getByText(`as administrator @${root.username}`).waitFor()
      await page.goto(`${t.url}/${project.fullPath}`)
      await page.getByText(`as administrator @${root.username}`).waitFor()
      await keepPicture(page, `day-acting-${javaScriptEnabled}`)
      await page.getByRole('button', { name: /^Stop/ }).click()
      await page.waitForURL(`${t.url}/admin/users/${who.username}`)

      // an archive of a project, and a project of the archive
      await page.goto(`${t.url}/${project.fullPath}/-/settings/advanced`)
      await page.getByRole('button', { name: /^Make an? (new )?archive/ }).click()
      await t.ctx.jobs.drain()
      await page.goto(`${t.url}/${project.fullPath}/-/settings/advanced`)
      await keepPicture(page, `day-archive-${javaScriptEnabled}`)
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download' }).click()])
      await page.goto(`${t.url}/projects/new`)
      await page.getByRole('link', { name: 'From an archive' }).click()
      await page.getByLabel('Archive').setInputFiles(await download.path())
      await page.getByLabel('Name', { exact: true }).fill(`Of an archive ${name}`)
      await page.getByRole('button', { name: 'Import project' }).click()
      await page.waitForURL(`${t.url}/${root.username}/of-an-archive-${name}`)
      await t.ctx.jobs.drain()
      await page.goto(`${t.url}/${root.username}/of-an-archive-${name}`)
      await page.getByRole('heading', { name: 'Hello' }).waitFor()

      // and to the other storage
      const [{ id: imported }] = (await t.api('get', `/projects?search=of-an-archive-${name}`, root).expect(200)).body
      await page.goto(`${t.url}/admin/projects/${imported}`)
      await page.getByLabel('Storage').selectOption('second')
      await page.getByRole('button', { name: 'Move', exact: true }).click()
      await page.getByText('The project is being moved to second.').waitFor()
      await keepPicture(page, `day-move-${javaScriptEnabled}`)
      await t.ctx.jobs.drain()
      await page.goto(`${t.url}/admin/projects?sort=storage_size_desc`)
      await page.getByText('in second').first().waitFor()
      await keepPicture(page, `day-sizes-${javaScriptEnabled}`)
      expect(faults).toEqual([])
      await context.close()
    })
})
