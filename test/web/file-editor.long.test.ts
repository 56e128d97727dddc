// @module-tag long
import { readdirSync, statSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { testApp } from '../support/app.js'
import { faultsOf, keepPicture, launchChromium } from '../support/chromium.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
let browser: Browser
let user: TestUser
let project: TestProject

beforeAll(async () => {
  // the script of the editor
  await build()
  browser = await launchChromium()
  user = await aUser(t.ctx)
  const source = Array.from({ length: 40 }, (_, n) => `/* ${n} */\nexport function f${n}(a: string) {\n  return "x" + ${n}\n}\n`).join('')
  const files = { 'src/a.ts': source, 'docs/guide.md': '# Guide\n\nSome **text**.\n', '.gitlab-ci.yml': 'build:\n  script:\n    - make\n' }
  project = await aProject(t.ctx, { creator: user, visibility: 'public', files })
})
afterAll(() => browser.close())

/** A page of the project in a window, whose complaints fail the test: of the content security policy, too. */
async function opened(path: string, work: (page: Page, asked: string[]) => Promise<void>, options: Parameters<Browser['newContext']>[0] = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const [faults, asked]: [string[], string[]] = [[], []]
  page.on('console', (message) => void (message.type() === 'error' && faults.push(message.text())))
  page.on('pageerror', (error) => void faults.push(error.message))
  page.on('request', (request) => void asked.push(new URL(request.url()).pathname))
  page.on('dialog', (dialog) => void dialog.accept())
  await page.goto(`${t.url}/users/sign_in`)
  await page.getByLabel('Username or e-mail').fill(user.username)
  await page.getByLabel('Password').fill(user.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${t.url}/dashboard`)
  await page.goto(`${t.url}/${project.fullPath}/-/${path}`)
  await work(page, asked)
  expect(faults).toEqual([])
  await context.close()
}

const raw = async (path: string) =>
  (await t.api('get', `${project.path}/repository/files/${encodeURIComponent(path)}/raw?ref=main`, user).expect(200)).text
const editor = (page: Page) => page.getByRole('textbox', { name: 'Content' })

describe('the editor of a file (WB-642)', () => {
  it('has numbers, colours, indentation by Tab, a search and a way out, and changes the file', async () => {
    await opened('edit/main/src/a.ts', async (page) => {
      await editor(page).waitFor()
      expect(await page.locator('.cm-lineNumbers .cm-gutterElement').nth(2).textContent()).toBe('2')
      const ground = await page
        .locator('.cm-line span:text-is("function")')
        .first()
        .evaluate((element) => getComputedStyle(element).color)
      const plain = await editor(page).evaluate((element) => getComputedStyle(element).color)
      expect(ground).not.toBe(plain)
      expect(await faultsOf(page, 'edit-ts')).toEqual([])
      await editor(page).focus()
      await page.keyboard.press('Control+Home')
      await page.keyboard.type('x')
      await page.keyboard.press('Home')
      await page.keyboard.press('Tab')
      // a letter here is no key of the page, and Esc, then Tab, leads on
      await page.keyboard.type('t')
      expect(await page.locator('dialog').count()).toBe(0)
      await page.keyboard.press('Control+f')
      await page.keyboard.type('return')
      await keepPicture(page, 'edit-ts-find')
      expect(await page.locator('.cm-searchMatch').count()).toBeGreaterThan(1)
      expect(await faultsOf(page, 'edit-ts-find')).toEqual([])
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('commit_message')
      await page.getByRole('button', { name: 'Preview changes' }).click()
      expect(await page.locator('#shown tr.added .code').first().textContent()).toBe('  tx/* 0 */')
      expect(await editor(page).isVisible()).toBe(false)
      expect(await faultsOf(page, 'edit-ts-changes')).toEqual([])
      await page.getByRole('button', { name: 'Commit changes' }).click()
      await page.waitForURL(`**/-/blob/main/src/a.ts`)
      expect(await raw('src/a.ts')).toMatch(/^ {2}tx\/\* 0 \*\/\nexport/)
    })
  })

  it('previews Markdown in its place, and goes on where it was', async () => {
    await opened('edit/main/docs/guide.md', async (page) => {
      await editor(page).focus()
      await page.keyboard.press('Control+End')
      await page.keyboard.type('_new_')
      await page.getByRole('button', { name: 'Preview', exact: true }).click()
      expect(await page.locator('#shown em').textContent()).toBe('new')
      expect(await faultsOf(page, 'edit-md-preview')).toEqual([])
      await page.getByRole('button', { name: 'Edit', exact: true }).click()
      await page.keyboard.type('er')
      await page.keyboard.press('Control+z')
      await page.getByRole('button', { name: 'Commit changes' }).click()
      await page.waitForURL(`**/-/blob/main/docs/guide.md`)
      expect(await raw('docs/guide.md')).toBe('# Guide\n\nSome **text**.\n_new_')
    })
  })

  it('knows the language of a new file by the name that is typed, and asks before a text is lost', async () => {
    await opened('new/main', async (page) => {
      await page.getByLabel('Name').fill('a.py')
      await editor(page).focus()
      await page.keyboard.type('def f():')
      await page.locator('.cm-line span:text-is("def")').waitFor()
      expect(await faultsOf(page, 'new-py')).toEqual([])
      expect(await page.evaluate(() => !dispatchEvent(new Event('beforeunload', { cancelable: true })))).toBe(true)
    })
  })

  it('is a field of text without scripts', async () => {
    await opened(
      'edit/main/.gitlab-ci.yml',
      async (page) => {
        expect(await page.getByLabel('Content').inputValue()).toContain('- make')
        await page.getByLabel('Content').fill('build:\n  script:\n    - make all\n')
        await page.getByRole('button', { name: 'Preview changes' }).click()
        expect(await page.locator('#shown tr.added .code').textContent()).toBe('    - make all')
        await keepPicture(page, 'edit-yml-no-scripts')
        await page.getByRole('button', { name: 'Commit changes' }).click()
        expect(await raw('.gitlab-ci.yml')).toContain('make all')
      },
      { javaScriptEnabled: false },
    )
  })

  it('is loaded by its pages alone, and has at most 150 KiB compressed', async () => {
    await opened('edit/main/.gitlab-ci.yml', async (page, asked) => {
      await editor(page).waitFor()
      await page.locator('.cm-line span').first().waitFor()
      const names = asked.filter((path) => path.startsWith('/assets/editor/')).map((path) => path.replace('/assets/editor/', ''))
      expect(names.length).toBeGreaterThan(1)
      const sizeOf = (name: string) => statSync(new URL(`../../dist/assets/editor/${name}.gz`, import.meta.url)).size
      const folder = new URL('../../dist/assets/editor/', import.meta.url)
      const own = new Set(names)
      const largest = Math.max(
        ...readdirSync(folder)
          .filter((name) => !own.has(name.replace('.gz', '')))
          .map((name) => statSync(new URL(name, folder)).size),
      )
      expect(names.reduce((sum, name) => sum + sizeOf(name), 0) + largest).toBeLessThan(150 * 1024)
      asked.length = 0
      await page.goto(`${t.url}/${project.fullPath}/-/blob/main/.gitlab-ci.yml`)
      expect(asked.filter((path) => path.startsWith('/assets/editor/'))).toEqual([])
      expect(await faultsOf(page, 'blob-yml')).toEqual([])
      await page.locator('summary[aria-label="Change this file"]').click()
      await keepPicture(page, 'blob-menu')
      for (const link of ['Replace', 'Rename or move', 'Delete']) {
        await page.goto(`${t.url}/${project.fullPath}/-/blob/main/.gitlab-ci.yml`)
        await page.locator('summary[aria-label="Change this file"]').click()
        await page.getByRole('link', { name: link }).click()
        await page.waitForURL(/\/-\/(?:replace|rename|delete)\//)
        expect(await faultsOf(page, `file-${link}`)).toEqual([])
      }
      await page.goto(`${t.url}/${project.fullPath}/-/upload/main`)
      expect(await faultsOf(page, 'file-upload')).toEqual([])
    })
  })
})
