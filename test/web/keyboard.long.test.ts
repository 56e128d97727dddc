// @module-tag long
import { crc32, deflateSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { faultsOf, launchChromium } from '../support/chromium.js'
import { aProject, aUser, type TestUser } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'

const t = testApp()
let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
})
afterAll(() => browser?.close())

const LINES = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight']
const text = (lines: string[]) => lines.map((line) => `${line}\n`).join('')
/** Stops on the way through a page before what is looked for must be found. */
const MAX_STOPS = 250

/** Goes on with the tabulator until what has the focus is called this; it must be seen there. */
async function tabTo(page: Page, name: string | RegExp) {
  const wanted = typeof name === 'string' ? (called: string) => called === name : (called: string) => name.test(called)
  const passed: string[] = []
  for (let i = 0; i < MAX_STOPS; i++) {
    await page.keyboard.press('Tab')
    const called = await page.evaluate(() => {
      const at = document.activeElement as HTMLElement & { labels?: NodeListOf<HTMLElement> }
      if (at === document.body) return ''
      const label = at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent ?? ''
      return label.replace(/\s+/g, ' ').trim()
    })
    passed.push(called.slice(0, 40))
    if (!wanted(called)) continue
    const seen = await page.evaluate(() => {
      const { outlineStyle, outlineWidth, opacity } = getComputedStyle(document.activeElement as Element)
      return opacity !== '0' && outlineStyle !== 'none' && outlineWidth !== '0px'
    })
    expect([called, 'has a focus that is seen', seen]).toEqual([called, 'has a focus that is seen', true])
    return
  }
  expect.fail(`no ${name} by the tabulator: ${passed.join(' | ')}`)
}

/** Presses what the tabulator leads to. */
async function press(page: Page, name: string | RegExp, key = 'Enter') {
  await tabTo(page, name)
  await page.keyboard.press(key)
}

async function aWindow(who: TestUser) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: true })).newPage()
  page.on('pageerror', (error) => expect.fail(error.message))
  await page.goto(`${t.url}/users/sign_in`)
  await tabTo(page, /Username/)
  await page.keyboard.type(who.username)
  await page.keyboard.press('Tab')
  await page.keyboard.type(who.password)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${t.url}/dashboard`)
  return page
}

it('a review is done from the first line to the merge by the keyboard alone (WB-7, WB-93, WB-96, WB-261)', async () => {
  const [owner, author] = [await aUser(t.ctx), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { creator: owner, developer: author, visibility: 'private', files: { 'a.txt': text(LINES) } })
  const actions = [{ action: 'update', file_path: 'a.txt', content: text(LINES.with(1, 'TWO').with(2, 'THREE')) }]
  const given = { branch: 'topic', start_branch: 'main', commit_message: 'Capitals', actions }
  await t.api('post', `${project.path}/repository/commits`, author).send(given).expect(201)
  await t.ctx.jobs.drain()
  const request = await aMergeRequest(t, { project, caller: author, source: 'topic', title: 'Draft: capitals', files: null })
  await t.ctx.jobs.drain()
  const at = `${t.url}/${project.fullPath}/-/merge_requests/${request.iid}`
  const [mine, theirs] = [await aWindow(owner), await aWindow(author)]

  // a comment on two lines with a suggestion, in a review
  await mine.goto(at)
  await press(mine, /^Changes \d/)
  await mine.waitForURL(`${at}/diffs`)
  await press(mine, 'Comment on line 3')
  await mine.locator('#comment textarea').waitFor()
  await expect.poll(() => mine.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA')
  await mine.keyboard.type('Why?\n\n```suggestion:-1+0\nTwo\nThree\n```')
  await press(mine, 'Several lines')
  await tabTo(mine, 'From line')
  await mine.keyboard.type('2')
  await press(mine, 'Add to review')
  await mine.locator('.draft').waitFor()
  expect(await faultsOf(mine, 'keyboard-draft')).toEqual([])
  await press(mine, /^Overview/)
  await mine.waitForURL(at)
  await tabTo(mine, 'Summary of the review')
  await mine.keyboard.type('Nearly there')
  await press(mine, 'Submit review')
  await mine.getByText('Review submitted.').waitFor()

  // answered, applied, made ready
  await theirs.goto(at)
  await press(theirs, 'Reply')
  await theirs.locator('.reply textarea:focus').waitFor()
  await theirs.keyboard.type('So be it')
  await press(theirs, 'Reply')
  await theirs.getByText('So be it').waitFor()
  await press(theirs, 'Apply suggestion')
  await theirs.getByText(/Applied as commit/).waitFor()
  await t.ctx.jobs.drain()
  await theirs.goto(at)
  await press(theirs, 'Mark as ready')
  await theirs.getByText('The merge request is ready.').waitFor()
  await t.ctx.jobs.drain()

  // what has changed is looked at, approved and merged
  await mine.goto(`${at}/diffs`)
  await press(mine, /What has changed since version/)
  await mine.waitForURL(/start_sha/)
  expect(await faultsOf(mine, 'keyboard-compared')).toEqual([])
  await mine.locator('tr.added[id] .code', { hasText: /^Two$/ }).first().waitFor()
  await press(mine, /^Overview/)
  await mine.waitForURL(at)
  await press(mine, 'Approve')
  await mine.getByText('Merge request approved.').waitFor()
  await press(mine, 'Merge')
  await mine.getByText('Merged.', { exact: true }).waitFor()
  expect((await t.api('get', request.path, owner).expect(200)).body.state).toBe('merged')
  for (const page of [mine, theirs]) await page.context().close()
}, 120_000)

/** A picture of this size, of one colour. */
function aPng(width: number, height: number): string {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, sum])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.writeUInt8(8, 8)
  const rows = Buffer.alloc(height * (width + 1), 0xb0)
  for (let y = 0; y < height; y++) rows[y * (width + 1)] = 0
  const bytes = Buffer.concat([chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))])
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), bytes]).toString('base64')
}

it('lines are chosen with shift and a click, and points of pictures by a click (WB-261, WB-262)', async () => {
  const owner = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files: { 'a.txt': text(LINES) } })
  const actions = [
    { action: 'update', file_path: 'a.txt', content: text(LINES.with(1, 'TWO').with(2, 'THREE')) },
    { action: 'create', file_path: 'p.png', content: aPng(500, 200), encoding: 'base64' },
  ]
  const given = { branch: 'topic', start_branch: 'main', commit_message: 'Capitals', actions }
  await t.api('post', `${project.path}/repository/commits`, owner).send(given).expect(201)
  await t.ctx.jobs.drain()
  const request = await aMergeRequest(t, { project, source: 'topic', files: null })
  await t.ctx.jobs.drain()
  const at = `${t.url}/${project.fullPath}/-/merge_requests/${request.iid}/diffs`
  const page = await aWindow(owner)
  await page.goto(at)
  await page.getByRole('button', { name: 'Comment on line 3', exact: true }).click({ force: true })
  await page.locator('#comment').waitFor()
  // the second click is above the first: the range ends at the lower line
  await page.getByRole('button', { name: 'Comment on line 2', exact: true }).click({ force: true, modifiers: ['Shift'] })
  await expect.poll(() => page.getByLabel('From line').inputValue()).toBe('2')
  expect(await page.locator('#comment [name="position[new_line]"]').inputValue()).toBe('3')
  await page.locator('#comment textarea').fill('Both')
  await page.getByRole('button', { name: 'Add comment now' }).click()
  await page.getByText('Lines 2–3').waitFor()

  await page.getByRole('button', { name: 'Comment on the file p.png' }).click()
  await page.locator('#comment textarea').fill('Here')
  expect(await faultsOf(page, 'picture-form')).toEqual([])
  // at its own size, so that the point is one of the picture
  expect(await page.getByAltText('Comment at a point of the picture').boundingBox()).toMatchObject({ width: 500, height: 200 })
  await page.getByAltText('Comment at a point of the picture').click({ position: { x: 250, y: 50 } })
  await page.locator('svg.marked circle').waitFor()
  await page.getByText('Point 250, 50').waitFor()
  const { body } = await t.api('get', `${request.path}/discussions`, owner).expect(200)
  expect(body.at(-1).notes[0].position).toMatchObject({ position_type: 'image', x: 250, y: 50, width: 500, height: 200 })
  expect(await faultsOf(page, 'places')).toEqual([])
  await page.context().close()
}, 120_000)

it('j and k go through the rows of a list and the files of a diff, round and round, and not while something is typed (WB-266)', async () => {
  const owner = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files: { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' } })
  for (const title of ['first', 'second', 'third']) await t.api('post', `${project.path}/issues`, owner).send({ title }).expect(201)
  const page = await aWindow(owner)
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.replace(/\s+/g, ' ').trim() ?? '')
  const after = async (key: string) => {
    await page.keyboard.press(key)
    return focused()
  }
  await page.goto(`${t.url}/${project.fullPath}/-/issues`)
  const rows = [await after('j'), await after('j'), await after('j'), await after('j'), await after('k'), await after('k')]
  expect(rows).toEqual(['third', 'second', 'first', 'third', 'first', 'second'])
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/issues\/2$/)
  await page.focus('textarea[name="note[note]"]')
  await page.keyboard.type('jk')
  expect(await page.inputValue('textarea[name="note[note]"]')).toBe('jk')

  const actions = ['a', 'b', 'c'].map((name) => ({ action: 'update', file_path: `${name}.txt`, content: `${name} ${name}\n` }))
  const given = { branch: 'topic', start_branch: 'main', commit_message: 'Twice', actions }
  const { id } = (await t.api('post', `${project.path}/repository/commits`, owner).send(given).expect(201)).body
  await t.ctx.jobs.drain()
  const request = await aMergeRequest(t, { project, caller: owner, source: 'topic', files: null })
  await t.ctx.jobs.drain()
  for (const at of [`commit/${id}`, `merge_requests/${request.iid}/diffs`]) {
    // what was typed before is asked about
    page.once('dialog', (dialog) => dialog.accept())
    await page.goto(`${t.url}/${project.fullPath}/-/${at}`)
    const files = [await after('j'), await after('j'), await after('j'), await after('j'), await after('k')]
    expect(files.map((text) => /[abc]\.txt/.exec(text)?.[0])).toEqual(['a.txt', 'b.txt', 'c.txt', 'a.txt', 'c.txt'])
    expect(await page.locator('.current').count()).toBe(1)
    const inView = () =>
      page.evaluate(() => {
        const { top, bottom } = (document.activeElement as Element).getBoundingClientRect()
        return top >= 0 && bottom <= innerHeight
      })
    expect(await inView()).toBe(true)
  }
  // with an unresolved thread they go there
  const diff = (await t.api('get', request.path, owner).expect(200)).body.diff_refs
  const position = { ...diff, position_type: 'text', old_path: 'b.txt', new_path: 'b.txt', new_line: 1 }
  await t.api('post', `${request.path}/discussions`, owner).send({ body: 'why twice?', position }).expect(201)
  await page.reload()
  expect(await after('j')).toContain('why twice?')
  await page.context().close()
})

it('a reply in place has a preview, and survives a reload (WB-333, WB-340)', async () => {
  const owner = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files: { 'a.txt': text(LINES) } })
  const request = await aMergeRequest(t, { project, caller: owner, source: 'topic', title: 'One' })
  await t.ctx.jobs.drain()
  await t.api('post', `${request.path}/discussions`, owner).send({ body: 'first' }).expect(201)
  const page = await aWindow(owner)
  await page.goto(`${t.url}/${project.fullPath}/-/merge_requests/${request.iid}`)
  const reply = page.locator('.reply')
  const field = reply.locator('textarea')
  const open = () => reply.getByRole('link', { name: 'Reply' }).click()
  for (const round of ['one', 'two']) {
    await open()
    await field.fill(`**${round}**`)
    await reply.getByRole('button', { name: 'Preview' }).click()
    await reply.locator('.preview strong', { hasText: round }).waitFor()
    // the thread is replaced in place: its new form is an editor, too
    await reply.getByRole('button', { name: 'Reply', exact: true }).click()
    await page.locator('.thread article.note .prose strong', { hasText: round }).waitFor()
    expect(await field.count()).toBe(0)
  }
  // what was sent is forgotten; what was typed and not sent is there again, and where the keys were they still are
  await open()
  expect(await field.inputValue()).toBe('')
  await field.fill('half an ans')
  page.on('dialog', (dialog) => dialog.accept())
  await page.reload()
  await open()
  await page.waitForFunction(() => document.activeElement?.matches('.reply textarea'))
  expect(await field.inputValue()).toBe('half an ans')
  await page.keyboard.type('wer')
  await press(page, 'Cancel')
  await page.waitForFunction(() => document.activeElement?.matches('p.reply a'))
  await open()
  expect(await field.inputValue()).toContain('wer')
  await page.context().close()
})
