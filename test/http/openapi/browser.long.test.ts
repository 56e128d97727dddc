// @module-tag long
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { launchChromium } from '../../support/chromium.js'
import { anAdmin, aProject, type TestProject, type TestUser } from '../../support/factories.js'

/** Pictures are kept where this says. */
const PICTURES = process.env['ROOST_TEST_PICTURES']

const t = testApp()
let browser: Browser
let user: TestUser
let project: TestProject

beforeAll(async () => {
  browser = await launchChromium()
  user = await anAdmin(t.ctx)
  project = await aProject(t.ctx, { creator: user, visibility: 'private' })
  for (const title of ['one', 'two']) await t.api('post', `${project.path}/issues`, user).send({ title }).expect(201)
})
afterAll(() => browser?.close())

/** Opens the page; whatever it complains of fails the test. */
async function open(work: (page: Page) => Promise<void>, name: string, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const faults: string[] = []
  const origins = new Set<string>()
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('request', (request) => origins.add(new URL(request.url()).origin))
  await page.goto(`${t.url}/api/docs`)
  await work(page)
  const picture = await page.screenshot(PICTURES ? { path: join(PICTURES, `${name}.png`) } : {})
  expect(picture.byteLength).toBeGreaterThan(10_000)
  expect(faults).toEqual([])
  expect([...origins].filter((origin) => origin.startsWith('http'))).toEqual([t.url])
  await context.close()
}

/** Clicks on an operation. The list is laid out as it scrolls, and may move under the pointer of a program. */
const choose = (page: Page, id: string) =>
  expect
    .poll(
      () =>
        page
          .locator(`nav a[href="#${id}"]`)
          .click()
          .then(() => page.url()),
      { timeout: 20_000 },
    )
    .toContain(`#${id}`)

/** Whether anything is wider than the window. */
const overflows = (page: Page) => page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')

describe('the page of the reference in a browser', () => {
  beforeAll(async () => {
    if (PICTURES) await mkdir(PICTURES, { recursive: true })
  })

  it('lists all operations, finds one by words, and opens it', async () => {
    const { paths } = (await (await fetch(`${t.url}/api/v4/openapi.json`)).json()) as { paths: Record<string, object> }
    const count = Object.values(paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0)
    await open(async (page) => {
      expect(await page.locator('nav li:visible').count()).toBe(count)
      await page.keyboard.press('/')
      await page.keyboard.type('put merge request cancel')
      expect(await page.locator('nav li:visible').allInnerTexts()).toEqual([expect.stringContaining('Cancel merge when pipeline succeeds')])
      await page.locator('nav li:visible a').click()
      await page.getByRole('heading', { name: 'Cancel merge when pipeline succeeds' }).waitFor()
      expect(await page.locator('main').innerText()).toContain(
        '/api/v4/projects/{id}/merge_requests/{merge_request_iid}/cancel_merge_when_pipeline_succeeds',
      )
    }, 'search')
  })

  it('every operation can be shown', async () => {
    await open(async (page) => {
      const shown = (await page.evaluate(`(async () => {
        const counts = []
        for (const { hash } of document.querySelectorAll('nav li a')) {
          location.hash = hash
          while (!document.querySelector('nav a[href="' + hash + '"][aria-current]')) await new Promise(requestAnimationFrame)
          counts.push([hash, document.querySelectorAll('main h1').length, document.querySelectorAll('#send').length])
        }
        return counts
      })()`)) as [string, number, number][]
      expect(shown.length).toBeGreaterThan(300)
      expect(shown.filter(([, headings, forms]) => headings !== 1 || forms !== 1)).toEqual([])
    }, 'all')
  })

  it('makes a call with a token that is typed in and stored nowhere', async () => {
    await open(async (page) => {
      await page.locator('#token').fill(user.token)
      await choose(page, 'get_projects_id_issues')
      await page.locator('main input[name="id"]').fill(project.fullPath)
      await page.locator('main input[name="iids[]"]').fill('2')
      expect(await page.locator('main form pre').innerText()).toBe(
        `curl '${t.url}/api/v4/projects/${encodeURIComponent(project.fullPath)}/issues?iids[]=2' \\\n  --header "PRIVATE-TOKEN: $TOKEN"`,
      )
      await page.locator('#send').click()
      await page.locator('#answer .good').waitFor()
      const answer = await page.locator('#answer').innerText()
      expect(answer).toContain('200')
      expect(answer).toContain('"title": "two"')
      expect(answer).not.toContain('"title": "one"')
      expect(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')).toEqual([0, 0, ''])
      expect(await page.content()).not.toContain(user.token)
      await page.reload()
      expect(await page.locator('#token').inputValue()).toBe('')
    }, 'call')
  })

  it('sends a body, and shows a refusal', async () => {
    await open(async (page) => {
      await page.locator('#token').fill(user.token)
      await choose(page, 'post_projects_id_issues')
      await page.locator('main input[name="id"]').fill(String(project.id))
      await page.locator('main textarea').fill('{"title": "three"}')
      await page.locator('#send').click()
      await page.locator('#answer .good').waitFor()
      expect(await page.locator('#answer').innerText()).toContain('"title": "three"')
    }, 'body')
    const { body } = await t.api('get', `${project.path}/issues?search=three`, user).expect(200)
    expect(body).toHaveLength(1)
  })

  it.each([
    ['light', { colorScheme: 'light' as const }],
    ['dark', { colorScheme: 'dark' as const }],
    ['phone', { colorScheme: 'light' as const, viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }],
  ])('fits the window: %s', async (name, options) => {
    const read = async (page: Page) => {
      expect(await overflows(page)).toBe(false)
      const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
      expect(background).toBe(name === 'dark' ? 'rgb(20, 23, 26)' : 'rgb(255, 255, 255)')
      await choose(page, 'put_projects_id_merge_requests_merge_request_iid_merge')
      await page.locator('#send').waitFor()
      expect(await overflows(page)).toBe(false)
    }
    await open(read, name, options)
  })
})
