// @module-tag long
import { request } from 'node:http'
import { brotliDecompressSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { faultsOf, launchChromium } from '../support/chromium.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
})
afterAll(() => browser?.close())

const LINES = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight']
const text = (lines: string[]) => lines.map((line) => `${line}\n`).join('')

async function commit(project: TestProject, who: TestUser, content: string, more = {}) {
  const actions = [{ action: 'update', file_path: 'a.txt', content }]
  await t
    .api('post', `${project.path}/repository/commits`, who)
    .send({ branch: 'topic', commit_message: 'Work', actions, ...more })
    .expect(201)
  await t.ctx.jobs.drain()
}

async function aWindow(who: TestUser, options: Parameters<Browser['newContext']>[0]) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  page.on('pageerror', (error) => expect.fail(error.message))
  await page.goto(`${t.url}/users/sign_in`)
  await page.getByLabel('Username or e-mail').fill(who.username)
  await page.getByLabel('Password').fill(who.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${t.url}/dashboard`)
  return page
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).first().click()

describe('two people', () => {
  for (const javaScriptEnabled of [true, false])
    it(`take a change from a push to the merge, ${javaScriptEnabled ? 'with' : 'without'} scripts`, async () => {
      const [owner, author] = [await aUser(t.ctx), await aUser(t.ctx)]
      const project = await aProject(t.ctx, { creator: owner, developer: author, visibility: 'private', files: { 'a.txt': text(LINES) } })
      await commit(project, author, text(LINES.with(1, 'TWO').with(6, 'SEVEN')), { start_branch: 'main', commit_message: 'Capitals' })
      const theirs = await aWindow(author, { javaScriptEnabled })
      const mine = await aWindow(owner, { javaScriptEnabled })
      const at = `${t.url}/${project.fullPath}/-/merge_requests`

      // opened as a draft, from the link of the push
      await theirs.goto(`${at}/new?merge_request%5Bsource_branch%5D=topic`)
      await theirs.getByLabel('Draft').check()
      await press(theirs, 'Create merge request')
      await theirs.waitForURL(`${at}/1`)
      await theirs.getByText('This is a draft.').waitFor()
      await t.ctx.jobs.drain()

      // two comments on lines, one with a suggestion, in one review
      await mine.goto(`${at}/1/diffs`)
      await mine.locator('tr.added').first().hover()
      await mine.getByRole('button', { name: 'Comment on line 2', exact: true }).last().click()
      await mine.locator('#comment textarea').fill('Why capitals?')
      await press(mine, 'Add to review')
      await mine.locator('.draft').first().waitFor()
      await mine.waitForLoadState()
      await mine.getByRole('button', { name: 'Comment on line 7', exact: true }).last().press('Enter')
      await mine.locator('#comment textarea').fill('Quieter:')
      await mine.locator('#comment').getByText('Suggest a change').click()
      await expect.poll(() => mine.locator('#comment textarea').inputValue()).toMatch(/^Quieter:\n\n```suggestion/)
      await mine.locator('#comment textarea').fill('```suggestion:-0+0\nSeven\n```')
      await press(mine, 'Add to review')
      await expect.poll(() => mine.locator('.draft').count()).toBe(2)
      await theirs.goto(`${at}/1/diffs`)
      expect(await theirs.locator('.thread').count()).toBe(0)
      await mine.goto(`${at}/1`)
      await mine.getByLabel('Summary of the review', { exact: true }).fill('Nearly there')
      await press(mine, 'Submit review')
      await mine.getByText('Review submitted.').waitFor()

      // a suggestion is applied, a thread answered and resolved
      await theirs.goto(`${at}/1/diffs`)
      expect(await theirs.locator('.under .thread').count()).toBe(2)
      await press(theirs, 'Apply suggestion')
      await theirs.getByText(/Applied as commit/).waitFor()
      await t.ctx.jobs.drain()
      await theirs.goto(`${at}/1`)
      const thread = theirs.locator('.thread', { hasText: 'Why capitals?' })
      await thread.getByText('Reply', { exact: true }).first().click()
      await thread.getByLabel('Reply', { exact: true }).fill('They are louder.')
      await thread.getByRole('button', { name: 'Reply', exact: true }).click()
      await thread.getByText('They are louder.').waitFor()
      await press(theirs, 'Resolve thread')
      await expect.poll(() => theirs.locator('.thread .badge', { hasText: /^unresolved$/ }).count()).toBe(0)

      // a further push; the reviewer compares the versions
      await commit(project, author, text(LINES.with(1, 'Two').with(6, 'Seven')))
      await mine.goto(`${at}/1/diffs`)
      await mine.getByText('There are new commits since your last look.').waitFor()
      await mine.getByText('What has changed since version').click()
      await mine.locator('.removed .code', { hasText: /^TWO$/ }).first().waitFor()

      // ready, approved, merged by squash, branch deleted
      await theirs.goto(`${at}/1`)
      await press(theirs, 'Mark as ready')
      await theirs.getByText('The merge request is ready.').waitFor()
      await t.ctx.jobs.drain()
      await mine.goto(`${at}/1`)
      await press(mine, 'Approve')
      await mine.getByText('Merge request approved.').waitFor()
      await mine.getByLabel('Squash the commits into one').check()
      await press(mine, 'Merge')
      await mine.getByText('Merged.', { exact: true }).waitFor()
      await mine.getByRole('button', { name: /Delete branch/ }).click()
      await mine.getByText('The branch topic is deleted.').waitFor()
      const { body } = await t.api('get', `${project.path}/merge_requests/1`, owner).expect(200)
      expect([body.state, body.squash, body.draft]).toEqual(['merged', true, false])
      for (const page of [mine, theirs]) await page.context().close()
    })
})

/** A merge request with 20 files and 100 notes, 20 of them on lines. */
async function aLongReview() {
  const owner = await aUser(t.ctx)
  const files = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`src/file${i}.ts`, text(LINES)]))
  const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files })
  const actions = Object.keys(files).map((file_path) => ({ action: 'update', file_path, content: text(LINES.with(2, 'THREE')) }))
  const given = { branch: 'topic', start_branch: 'main', commit_message: 'Work', actions }
  await t.api('post', `${project.path}/repository/commits`, owner).send(given).expect(201)
  const opened = { title: 'A long review', source_branch: 'topic', target_branch: 'main', description: '- [ ] one\n- [x] two' }
  await t.api('post', `${project.path}/merge_requests`, owner).send(opened).expect(201)
  await t.ctx.jobs.drain()
  const { body } = await t.api('get', `${project.path}/merge_requests/1`, owner).expect(200)
  for (let i = 0; i < 100; i++) {
    const path = `src/file${i % 20}.ts`
    const position = { ...body.diff_refs, position_type: 'text', old_path: path, new_path: path, new_line: 3 }
    const said = `Comment ${i}: does this **still** hold for \`value${i}\`?`
    if (i < 20) await t.api('post', `${project.path}/merge_requests/1/discussions`, owner).send({ body: said, position }).expect(201)
    else await t.api('post', `${project.path}/merge_requests/1/notes`, owner).send({ body: said }).expect(201)
  }
  return { owner, project, at: `/${project.fullPath}/-/merge_requests/1` }
}

describe('a long review', () => {
  it('is a small page that is made fast, and every page of it can be read by everyone', async () => {
    const { owner, at } = await aLongReview()
    const reader = new TestBrowser(t.url)
    await reader.signIn(owner)
    const cookie = [...reader.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
    const get = () =>
      new Promise<Buffer>((resolve, reject) => {
        const asked = request(t.url + at, { headers: { accept: 'text/html', 'accept-encoding': 'br', cookie } }, (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks)))
        })
        asked.on('error', reject).end()
      })
    const times: number[] = []
    let bytes = await get()
    for (let i = 0; i < 60; i++) {
      const begun = performance.now()
      bytes = await get()
      if (i >= 30) times.push(performance.now() - begun)
    }
    const median = times.sort((a, b) => a - b)[15] as number
    process.stdout.write(`median ${Math.round(median)} ms, ${bytes.length} bytes of ${brotliDecompressSync(bytes).length}\n`)
    expect(bytes.length).toBeLessThan(20 * 1024)

    const page = await aWindow(owner, { bypassCSP: true })
    for (const path of ['', '/diffs', '/diffs?view=parallel', '/commits', '/edit']) {
      await page.goto(t.url + at + path)
      expect([path, await faultsOf(page, `review${path}`)]).toEqual([path, []])
    }
    await page.context().close()
  })
})
