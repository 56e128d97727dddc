// @module-tag long
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { faultsOf, keepPicture, launchChromium } from '../support/chromium.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { aMergeRequest, type TestRequest } from '../support/merge-requests.js'

const t = testApp()
let browser: Browser
let user: TestUser
let project: TestProject
let request: TestRequest
const others: TestUser[] = []

beforeAll(async () => {
  browser = await launchChromium()
  user = await aUser(t.ctx, { name: 'Anna Berg' })
  for (const name of ['Ben Ito', 'Cleo Marsh', 'Dee Okafor', 'Emil Zola', 'Fay Nakamura']) others.push(await aUser(t.ctx, { name }))
  project = await aProject(t.ctx, { creator: user, developer: others, files: { 'a.txt': 'one\n' } })
  request = await aMergeRequest(t, { project })
  const post = (path: string, by: TestUser, sent: object) => t.api('post', path, by).send(sent)
  await post(`${project.path}/issues`, user, { title: 'For all of us', assignee_ids: others.map(({ id }) => id) }).expect(201)
  await post(`${project.path}/issues`, user, { title: 'For two of us', assignee_ids: others.slice(0, 2).map(({ id }) => id) }).expect(201)
})
afterAll(() => browser.close())

async function opened(path: string, work: (page: Page) => Promise<void>, options: Parameters<Browser['newContext']>[0] = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: true, ...options })
  const page = await context.newPage()
  await page.goto(`${t.url}/users/sign_in`)
  await page.getByLabel('Username or e-mail').fill(user.username)
  await page.getByLabel('Password').fill(user.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${t.url}/dashboard`)
  await page.goto(t.url + path)
  await work(page)
  await context.close()
}

const at = () => `/${project.fullPath}/-/merge_requests/${request.iid}`
const shown = async () => (await t.api('get', request.path, user).expect(200)).body

it('several people are chosen in the side column, with scripts and without, and asked anew (WB-760, WB-762)', { timeout: 120_000 }, async () => {
  await opened(at(), async (page) => {
    await page.locator('#side_reviewer summary').click()
    await page.locator('#side_reviewer [data-filter]').fill('cleo')
    await page.locator('#side_reviewer label:has-text("Cleo Marsh")').click()
    await page.locator('#side_reviewer [data-filter]').fill('')
    await page.locator('#side_reviewer label:has-text("Ben Ito")').click()
    await keepPicture(page, 'people-menu')
    expect(await faultsOf(page, 'people-menu-open')).toEqual([])
    await page.locator('#side_reviewer').getByRole('button', { name: 'Save' }).click()
    await page.locator('#side_reviewer > p:has-text("Cleo Marsh")').waitFor()
    expect((await shown()).reviewers.map(({ name }: { name: string }) => name).toSorted()).toEqual(['Ben Ito', 'Cleo Marsh'])
  })
  for (const who of others.slice(0, 2))
    await t.api('post', `${request.path}/draft_notes/bulk_publish`, who).send({ note: 'No.', reviewer_state: 'requested_changes' }).expect(204)
  await opened(
    at(),
    async (page) => {
      await page.locator('#side_assignee summary').click()
      for (const { name } of others) await page.locator(`#side_assignee label:has-text("${name}")`).click()
      await page.locator('#side_assignee').getByRole('button', { name: 'Save' }).click()
      await page.locator('#side_assignee > p:has-text("Emil Zola")').waitFor()
      await page.getByRole('button', { name: 'Ask again for a review of Ben Ito' }).click()
      await page.locator('#side_reviewer > p:has-text("Ben Ito"):has-text("has not reviewed yet")').waitFor()
    },
    { javaScriptEnabled: false },
  )
  await opened(at(), async (page) => expect(await faultsOf(page, 'people-request')).toEqual([]))
})

it('several people stand in a row in lists and on boards (WB-761)', { timeout: 120_000 }, async () => {
  for (const [path, name] of [
    ['issues', 'people-issues'],
    ['merge_requests', 'people-requests'],
    ['boards', 'people-board'],
  ])
    await opened(`/${project.fullPath}/-/${path}`, async (page) => {
      await page.locator('.faces').first().waitFor()
      expect(await faultsOf(page, String(name))).toEqual([])
    })
})
