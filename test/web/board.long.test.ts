// @module-tag long
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { faultsOf, keepPicture, launchChromium } from '../support/chromium.js'
import { aGroup, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
let browser: Browser
let user: TestUser
let project: TestProject
let groupPath: string

beforeAll(async () => {
  browser = await launchChromium()
  user = await aUser(t.ctx, { name: 'Anna Berg' })
  const group = await aGroup(t.ctx, { creator: user })
  groupPath = group.fullPath
  project = await aProject(t.ctx, { creator: user, namespace_id: group.id })
  const post = async (path: string, sent: object) => (await t.api('post', path, user).send(sent).expect(201)).body
  await post(`${project.path}/labels`, { name: 'doing', color: '#428bca', priority: 1 })
  await post(`${project.path}/labels`, { name: 'bug', color: '#d9534f' })
  await post(`${group.path}/labels`, { name: 'team', color: '#5cb85c', priority: 1 })
  const milestone = await post(`${project.path}/milestones`, { title: 'Version 1.0' })
  await post(`${project.path}/issues`, { title: 'The first words of a title that is somewhat longer', labels: 'doing,bug', assignee_ids: [user.id] })
  await post(`${project.path}/issues`, { title: 'A secret', confidential: true, labels: 'bug', milestone_id: milestone.id })
  await post(`${project.path}/issues`, { title: 'Closed one' })
  await t.api('put', `${project.path}/issues/3`, user).send({ state_event: 'close' }).expect(200)
})
afterAll(() => browser.close())

async function opened(path: string, work: (page: Page) => Promise<void>, options: Parameters<Browser['newContext']>[0] = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', (message) => void (message.type() === 'error' && faults.push(message.text())))
  page.on('pageerror', (error) => void faults.push(error.message))
  await page.goto(`${t.url}/users/sign_in`)
  await page.getByLabel('Username or e-mail').fill(user.username)
  await page.getByLabel('Password').fill(user.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${t.url}/dashboard`)
  await page.goto(t.url + path)
  await work(page)
  expect(faults).toEqual([])
  await context.close()
}

const at = () => `/${project.fullPath}/-/boards`
const stateOf = async (iid: number) => (await t.api('get', `${project.path}/issues/${iid}`, user)).body

describe('a board in the browser (WB-133)', () => {
  it('is made of lists, between which cards are dragged and moved by keyboard', async () => {
    await opened(at(), async (page) => {
      expect(await faultsOf(page, 'board-first')).toEqual([])
      await page.getByRole('combobox', { name: 'Add a list' }).selectOption({ label: 'Anna Berg' })
      await page.getByRole('button', { name: 'Add list' }).click()
      await page.locator(`[data-list=assignee-${user.id}]`).waitFor()
      await page.getByRole('combobox', { name: 'Add a list' }).selectOption({ label: 'Version 1.0' })
      await page.getByRole('button', { name: 'Add list' }).click()
      await page.locator('[data-list^=milestone]').waitFor()
      expect(await faultsOf(page, 'board')).toEqual([])
      await page.locator('summary[aria-label="List doing"]').click()
      await keepPicture(page, 'board-list-menu')
      await page.getByRole('button', { name: 'Move right doing' }).click()
      const titles = () => page.locator('[data-list] h2 .cut').allTextContents()
      await expect.poll(titles).toEqual(['Open', 'team', 'doing', 'Anna Berg', 'Version 1.0', 'Closed'])
      const doing = page.locator('[data-list]:has(h2:has-text("doing"))')
      const card = doing.locator('.card')
      await card.dragTo(page.locator('[data-list=opened]'))
      await doing.getByText('The first words').waitFor({ state: 'detached' })
      expect((await stateOf(1)).labels).toEqual(['bug'])
      // by keyboard
      await page.locator('[data-list=closed] [data-move]').focus()
      await page.keyboard.press('Enter')
      await page.locator('dialog.moves').waitFor()
      expect(await faultsOf(page, 'board-move')).toEqual([])
      while ((await page.evaluate(() => document.activeElement?.textContent)) !== 'doing') await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await doing.locator('.card', { hasText: 'Closed one' }).waitFor()
      expect(await stateOf(3)).toMatchObject({ state: 'opened', labels: ['doing'] })
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Closed one')
      await page.goto(`${t.url}${at()}/new`)
      expect(await faultsOf(page, 'board-new')).toEqual([])
      await page.getByLabel('Name').fill('Next')
      await page.getByRole('button', { name: 'Create board' }).click()
      await page.locator('.menu > summary', { hasText: 'Next' }).click()
      expect(await faultsOf(page, 'board-empty')).toEqual([])
      await page.getByRole('link', { name: 'Edit board' }).click()
      await page.getByLabel('Name').waitFor()
      expect(await faultsOf(page, 'board-edit')).toEqual([])
    })
  })

  it('works without scripts, and for a group', async () => {
    await opened(
      `/groups/${groupPath}/-/boards`,
      async (page) => {
        await keepPicture(page, 'board-group-no-scripts')
        await page.locator('.card', { hasText: 'A secret' }).locator('[data-move]').click()
        await keepPicture(page, 'board-move-page')
        await page.getByRole('button', { name: 'team' }).click()
        await page.locator('[data-list^=label] .card', { hasText: 'A secret' }).waitFor()
        expect((await stateOf(2)).labels).toEqual(['bug', 'team'])
      },
      { javaScriptEnabled: false },
    )
    await opened(`/groups/${groupPath}/-/boards`, async (page) => {
      expect(await faultsOf(page, 'board-group')).toEqual([])
      await page.locator('.card', { hasText: 'A secret' }).dragTo(page.locator('[data-list=opened]'))
      await page.locator('[data-list=opened] .card', { hasText: 'A secret' }).waitFor()
      expect((await stateOf(2)).labels).toEqual(['bug'])
    })
  })
})
