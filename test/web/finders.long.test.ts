// @module-tag long
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { faultsOf, findings, keepPicture, launchChromium } from '../support/chromium.js'
import { aProject, aUser, type TestUser } from '../support/factories.js'
import { bareOf } from '../support/repositories.js'

const t = testApp()
let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
})
afterAll(() => browser?.close())

const FILES = { 'src/web/find-file.tsx': 'x', 'src/web/page.ts': 'x', 'docs/finding-them.md': 'x', 'README.md': '# Hello', 'a file.txt': 'x' }

async function aWindow(who: TestUser) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: true })).newPage()
  page.on('pageerror', (error) => expect.fail(error.message))
  await page.goto(`${t.url}/users/sign_in`)
  await page.getByLabel(/Username/).fill(who.username)
  await page.getByLabel('Password', { exact: true }).fill(who.password)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${t.url}/dashboard`)
  return page
}

const optionsOf = (page: Page) => page.locator('[role=option]').allTextContents()
const chosen = (page: Page) => page.locator('[role=option][aria-selected=true]')

it('t, letters in their order and Enter open a file; nothing that is typed is lost, and the focus returns (WB-560, WB-561)', async () => {
  const owner = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files: FILES })
  const at = `${t.url}/${project.fullPath}`
  const page = await aWindow(owner)
  await page.goto(at)
  // without a rest between the keys
  await page.keyboard.type('tfft')
  expect(await page.evaluate(() => (document.activeElement as HTMLInputElement).value)).toBe('fft')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${at}/-/blob/main/src/web/find-file.tsx`)

  await page.keyboard.press('t')
  await page.keyboard.type('find')
  await expect.poll(() => optionsOf(page)).toEqual(['docs/finding-them.md', 'src/web/find-file.tsx'])
  await expect.poll(() => page.getByRole('status').filter({ hasText: '2 files' }).count()).toBe(1)
  expect(await page.locator('[role=option] mark').allTextContents()).toEqual(['find', 'find'])
  const field = page.getByRole('combobox', { name: 'Find a file' })
  expect(await field.getAttribute('aria-activedescendant')).toBe(await chosen(page).getAttribute('id'))
  expect(await faultsOf(page, 'finder-files')).toEqual([])
  const afterKey = async (key: string) => {
    await page.keyboard.press(key)
    return chosen(page).textContent()
  }
  expect([await afterKey('ArrowDown'), await afterKey('ArrowDown'), await afterKey('ArrowUp')]).toEqual([
    'src/web/find-file.tsx',
    'docs/finding-them.md',
    'src/web/find-file.tsx',
  ])
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('dialog').count()).toBe(0)
  await page.keyboard.type('ta file')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${at}/-/blob/main/a%20file.txt`)

  // the page of the finder is one, too
  await page.goto(`${at}/-/find_file/main`)
  await page.keyboard.type('nothing like it')
  await page.getByText('There is no such file.').waitFor()
  await page.keyboard.press('Enter')
  await page.locator('[data-finder=files]').fill('readme')
  await expect.poll(() => optionsOf(page)).toEqual(['README.md'])
  expect(await faultsOf(page, 'finder-page')).toEqual([])
  await page.keyboard.press('Enter')
  await page.waitForURL(`${at}/-/blob/main/README.md`)
  await page.context().close()
}, 120_000)

it('the menu of branches opens by w, is filtered by the server, and closes by Escape (WB-562)', async () => {
  const owner = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files: FILES })
  const bare = bareOf(t, project)
  const head = bare.git('rev-parse', 'main').trim()
  bare.gitBytes(['update-ref', '--stdin'], Array.from({ length: 2_000 }, (_, i) => `create refs/heads/topic/${i} ${head}\n`).join(''))
  bare.git('tag', 'v1')
  const page = await aWindow(owner)
  const at = `${t.url}/${project.fullPath}`
  await page.goto(`${at}/-/blob/main/src/web/page.ts`)
  await page.keyboard.press('w')
  await expect.poll(() => page.getByText('30 of 2001 branches, 1 tag').count()).toBe(1)
  expect((await optionsOf(page))[0]).toContain('main')
  expect(await page.locator('.here').textContent()).toContain('main')
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Find a branch or tag')
  expect(await findings(page)).toEqual([])
  for (const [name, scheme, width] of [
    ['light', 'light', 1280],
    ['dark', 'dark', 1280],
    ['narrow', 'light', 390],
  ] as const) {
    await page.emulateMedia({ colorScheme: scheme })
    await page.setViewportSize({ width, height: 900 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false)
    await keepPicture(page, `finder-branches-${name}`)
  }
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.keyboard.press('Escape')
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('SUMMARY')
  await page.keyboard.press('w')
  await page.keyboard.type('topic/1999')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${at}/-/blob/topic/1999/src/web/page.ts`)
  await page.context().close()
}, 120_000)

it('/ offers what it finds while something is typed; Enter searches, or opens what is chosen (WB-563)', async () => {
  const owner = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files: FILES })
  for (const title of ['Wombats dig', 'Wombats sleep']) await t.api('post', `${project.path}/issues`, owner).send({ title }).expect(201)
  const page = await aWindow(owner)
  const asked: string[] = []
  page.on('request', (request) => request.url().includes('/suggestions') && asked.push(request.url()))
  const at = `${t.url}/${project.fullPath}`
  await page.goto(at)
  await page.keyboard.type('/wombats')
  await expect.poll(() => optionsOf(page)).toEqual(['Wombats sleep #2', 'Wombats dig #1'])
  expect(asked.length).toBeLessThan('wombats'.length)
  expect(await chosen(page).count()).toBe(0)
  expect(await faultsOf(page, 'finder-search')).toEqual([])
  // a narrow window has a link in place of the field, which lost the focus
  await page.locator('.top input[data-finder]').focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${at}/-/issues/1`)
  await page.keyboard.type('/#2')
  await expect.poll(() => optionsOf(page)).toEqual(['Wombats sleep #2'])
  await page.keyboard.press('Escape')
  expect(await page.locator('.top .panel').isVisible()).toBe(false)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${at}/-/search?search=%232`)
  await page.context().close()
}, 120_000)

it('? shows the keys of the page, each of which does what is said (WB-564)', async () => {
  const owner = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files: FILES })
  const page = await aWindow(owner)
  const at = `${t.url}/${project.fullPath}`
  await page.goto(`${at}/-/blob/main/README.md`)
  const keysOf = async () => {
    await page.keyboard.press('?')
    await page.locator('dialog.keys').waitFor()
    const keys = await page.locator('dialog.keys dt').allTextContents()
    const texts = await page.locator('dialog.keys dd').allTextContents()
    return Object.fromEntries(keys.map((key, i) => [key, texts[i]]))
  }
  expect(await keysOf()).toEqual({
    '/': 'Search this project',
    gm: 'Reviews',
    gi: 'Issues',
    gt: 'To-dos',
    w: 'Switch branch or tag',
    t: 'Find file',
    y: 'Permalink',
    '?': 'Keys of this page',
    Esc: 'Close',
  })
  expect(await faultsOf(page, 'finder-keys')).toEqual([])
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('dialog').count()).toBe(0)
  await page.keyboard.press('y')
  await page.waitForURL(/\/blob\/[0-9a-f]{40}\/README\.md$/)
  await page.keyboard.type('gi')
  await page.waitForURL(/\/dashboard\/issues/)
  expect(Object.keys(await keysOf())).not.toContain('t')
  await page.context().close()
}, 120_000)

it('a file, chosen lines and the id of a commit are copied, and a button stays what it was (WB-566)', async () => {
  const owner = await aUser(t.ctx)
  const files = { 'a.txt': 'one\n\ttwo\nthree\n' }
  const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files })
  const page = await aWindow(owner)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const copied = () => page.evaluate(() => navigator.clipboard.readText())
  const at = `${t.url}/${project.fullPath}`
  await page.goto(`${at}/-/blob/main/a.txt`)
  const whole = page.getByRole('button', { name: 'Copy the file' })
  const lines = page.getByRole('button', { name: 'Copy lines' })
  expect(await lines.isVisible()).toBe(false)
  await whole.click()
  await expect.poll(copied).toBe(files['a.txt'])
  await whole.click()
  await expect.poll(() => whole.locator('svg').count()).toBe(1)
  await page.goto(`${at}/-/blob/main/a.txt#L2-3`)
  await lines.click()
  await expect.poll(copied).toBe('\ttwo\nthree')
  expect(await faultsOf(page, 'file-copied')).toEqual([])
  await page.goto(at)
  await page.getByRole('button', { name: 'Copy the commit id' }).click()
  await expect.poll(copied).toMatch(/^[0-9a-f]{40}$/)
  expect(await faultsOf(page, 'file-folder')).toEqual([])
  await page.goto(`${at}/-/blame/main/a.txt`)
  expect(await faultsOf(page, 'file-blame')).toEqual([])
  await page.context().close()
}, 120_000)
