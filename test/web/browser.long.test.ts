// @module-tag long
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { faultsOf, launchChromium } from '../support/chromium.js'
import { aGroup, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { bareOf } from '../support/repositories.js'

const t = testApp()
let browser: Browser
let user: TestUser
let project: TestProject
let groupPath: string

beforeAll(async () => {
  browser = await launchChromium()
  user = await aUser(t.ctx)
  const files = {
    'README.md': `# Hello\n\n- [x] done\n\n| a | b |\n|---|---|\n| 1 | ${'`wide`'.repeat(40)} |\n\n    ${'a long line '.repeat(40)}\n`,
    'src/a.ts': 'export const a = 1\n'.repeat(30),
    'docs/guide.md': 'x',
    'table.csv': `name,count\n${'a,1\n'.repeat(3)}`,
  }
  project = await aProject(t.ctx, { creator: user, visibility: 'public', description: 'What it is for', files })
  const actions = [{ action: 'update', file_path: 'src/a.ts', content: `${'export const a = 1\n'.repeat(29)}export const a = 2\n` }]
  await t.api('post', `${project.path}/repository/commits`, user).send({ branch: 'main', commit_message: 'Count', actions }).expect(201)
  const more = [{ action: 'create', file_path: 'more', content: 'more' }]
  await t
    .api('post', `${project.path}/repository/commits`, user)
    .send({ branch: 'topic', start_branch: 'main', commit_message: 'More', actions: more })
    .expect(201)
  await t.api('post', `${project.path}/merge_requests`, user).send({ title: 'More', source_branch: 'topic', target_branch: 'main' }).expect(201)
  await t.api('post', `${project.path}/labels`, user).send({ name: 'bug', color: '#d9534f', description: 'Broken', priority: 1 }).expect(201)
  const { body: milestone } = await t.api('post', `${project.path}/milestones`, user).send({ title: 'One', due_date: '2030-01-01' }).expect(201)
  const issue = { title: 'An issue', description: 'Of **some** text\n\n- [ ] a task\n- [x] done', labels: 'bug,docs', assignee_ids: [user.id] }
  await t
    .api('post', `${project.path}/issues`, user)
    .send({ ...issue, milestone_id: milestone.id, due_date: '2020-01-01' })
    .expect(201)
  await t.api('post', `${project.path}/issues/1/time_estimate`, user).send({ duration: '3h' }).expect(200)
  await t.api('post', `${project.path}/issues/1/award_emoji`, user).send({ name: 'tada' }).expect(201)
  await t.api('post', `${project.path}/issues/1/todo`, user).expect(201)
  await t.api('post', `${project.path}/wikis`, user).send({ title: 'home', content: '# Welcome\n\nSee [more](more).' }).expect(201)
  await t.api('put', `${project.path}/wikis/home`, user).send({ content: '# Welcome\n\nSee [even more](more).' }).expect(200)
  const snippet = { title: 'A snippet', file_name: 'a.ts', content: 'const a = 1\n', visibility: 'public' }
  await t.api('post', `${project.path}/snippets`, user).send(snippet).expect(201)
  await t.api('post', '/snippets', user).send(snippet).expect(201)
  const group = await aGroup(t.ctx, { creator: user, visibility: 'public' })
  groupPath = group.fullPath
  await t.api('post', `${group.path}/milestones`, user).send({ title: 'Of the group' }).expect(201)
  await t.api('post', `${group.path}/labels`, user).send({ name: 'team', color: '#428bca' }).expect(201)
  const links = [{ name: 'App', url: 'https://example.org/app.zip' }]
  await t
    .api('post', `${project.path}/releases`, user)
    .send({ tag_name: 'v1', ref: 'main', name: 'One', description: 'What is **new**', assets: { links } })
    .expect(201)
  for (const path of ['issues/1/notes', 'merge_requests/1/discussions'])
    await t.api('post', `${project.path}/${path}`, user).send({ body: 'A comment' }).expect(201)
  await t.ctx.jobs.drain()
})
afterAll(() => browser?.close())

/** A window; whatever it complains of fails the test, and so does a request to another site. */
async function inWindow(
  work: (page: Page, context: BrowserContext) => Promise<void>,
  options: Parameters<Browser['newContext']>[0] = {},
  expected?: RegExp,
) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const faults: string[] = []
  const origins = new Set<string>()
  page.on('console', (message) => message.type() === 'error' && !expected?.test(message.text()) && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('request', (request) => origins.add(new URL(request.url()).origin))
  await work(page, context)
  expect(faults).toEqual([])
  expect([...origins]).toEqual([t.url])
  await context.close()
}

async function signIn(page: Page) {
  await page.goto(`${t.url}/users/sign_in`)
  await page.getByLabel('Username or e-mail').fill(user.username)
  await page.getByLabel('Password').fill(user.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${t.url}/dashboard`)
}

const paths = () => [
  '/dashboard',
  '/dashboard/projects/starred',
  '/dashboard/activity',
  '/explore',
  '/search?search=a',
  `/${user.username}`,
  `/${user.username}?tab=activity`,
  ...[
    '',
    '/-/tree/main/src',
    '/-/blob/main/src/a.ts',
    '/-/blob/main/README.md',
    '/-/blame/main/src/a.ts',
    '/-/commits/main',
    '/-/commit/main',
    '/-/commit/main?view=parallel&w=1',
    '/-/commit/main/branches',
    '/-/blob/main/table.csv',
    '/-/find_file/main',
    '/-/search?search=const',
    '/-/search?search=count&scope=commits',
    '/-/releases',
    '/-/releases/v1',
    '/-/releases/v1/edit',
    '/-/releases/new',
    '/-/tags/v1',
    '/-/tags/new',
    '/-/starrers',
    '/-/forks',
    '/-/forks/new',
    '/-/graphs/main',
    '/-/network/main',
    '/-/compare',
    '/-/compare/main...topic',
    '/activity',
    '/-/branches',
    '/-/tags',
    '/-/refs/switch',
    '/-/edit/main/src/a.ts',
    '/-/new/main/src',
    '/-/issues',
    '/-/issues/new',
    '/-/issues/1',
    '/-/issues/1/edit',
    '/-/boards',
    '/-/labels',
    '/-/labels/new',
    '/-/labels/1/edit',
    '/-/milestones',
    '/-/milestones/new',
    '/-/milestones/1',
    '/-/milestones/1/edit',
    '/-/wikis/home',
    '/-/wikis/home/edit',
    '/-/wikis/home/history',
    '/-/wikis/home/diff?version_id=HEAD',
    '/-/wikis/pages',
    '/-/wikis/new',
    '/-/wikis/git_access',
    '/-/snippets',
    '/-/snippets/new',
    '/-/snippets/1',
    '/-/snippets/1/edit',
    '/-/merge_requests',
    '/-/merge_requests/new',
    '/-/merge_requests/1',
    '/-/merge_requests/1/commits',
    '/-/merge_requests/1/diffs',
    '/-/pipelines',
  ].map((path) => `/${project.fullPath}${path}`),
  ...[
    '',
    '/account',
    '/password/edit',
    '/emails',
    '/notifications',
    '/keys',
    '/gpg_keys',
    '/personal_access_tokens',
    '/applications',
    '/active_sessions',
  ].map((path) => `/-/profile${path}`),
  '/dashboard/todos',
  '/dashboard/issues',
  '/dashboard/merge_requests',
  '/dashboard/snippets',
  '/explore/snippets',
  '/-/snippets/new',
  '/-/snippets/2',
  '/-/snippets/2/edit',
  ...[
    '',
    '/-/issues',
    '/-/merge_requests',
    '/-/labels',
    '/-/labels/new',
    '/-/milestones',
    '/-/milestones/1',
    '/-/milestones/1/edit',
    '/-/activity',
  ].map((path) => `/groups/${groupPath}${path}`),
  '/no/such/page',
]

describe('every page', () => {
  it('fits its window and can be read by everyone', async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: true })
    const page = await context.newPage()
    await page.goto(`${t.url}/users/sign_in`)
    const found: [string, string[]][] = [['sign-in', await faultsOf(page, 'sign-in')]]
    await signIn(page)
    for (const path of paths()) {
      await page.goto(t.url + path)
      found.push([path, await faultsOf(page, path)])
    }
    await context.close()
    expect(found.filter(([, faults]) => faults.length > 0)).toEqual([])
  })

  it('blame has the lines of a commit below each other, the first one beside it', async () => {
    await inWindow(async (page) => {
      await page.goto(`${t.url}/${project.fullPath}/-/blame/main/src/a.ts`)
      const left = (line: string) => page.locator(`${line} .code`).evaluate((cell) => cell.getBoundingClientRect().left)
      expect(await left('#L1')).toBe(await left('#L2'))
      expect(await page.locator('#L1 .code').textContent()).toBe('export const a = 1')
    })
  })

  it('what takes a long walk is shown when it is found, without a reload: the last changes of a folder', async () => {
    const long = await aProject(t.ctx, { creator: user, visibility: 'public', files: { old: 'x', changed: '0' } })
    bareOf(t, long).commits(...Array.from({ length: 4_000 }, (_, i) => ({ files: { changed: `${i}` } })))
    await inWindow(async (page) => {
      await page.goto(`${t.url}/${long.fullPath}/-/tree/main`)
      await expect.poll(() => page.locator('.files .date time').count()).toBe(2)
      expect(await page.locator('[data-refresh]').count()).toBe(0)
    })
  })

  it('loads at most its stylesheet and its script when it is opened first, and nothing but itself afterwards', async () => {
    await inWindow(async (page) => {
      await signIn(page)
      const requests = async (path: string) => {
        const seen: string[] = []
        const note = (request: { url(): string; resourceType(): string }) =>
          request.resourceType() !== 'image' && seen.push(new URL(request.url()).pathname)
        page.on('request', note)
        await page.goto(t.url + path)
        page.off('request', note)
        return seen
      }
      const path = `/${project.fullPath}`
      const sizes = await page.evaluate(() =>
        performance.getEntriesByType('resource').map((one) => [one.name, (one as PerformanceResourceTiming).encodedBodySize] as const),
      )
      for (const [name, size] of sizes)
        if (/\.(css|js)$/.test(name)) expect([name, size < (name.endsWith('css') ? 14 : 8) * 1024]).toEqual([name, true])
      expect((await requests(path)).filter((name) => !name.startsWith('/assets/'))).toEqual([path])
    })
  })
})

describe('with scripts', () => {
  it('dates say how long ago they were, addresses are copied, and menus close by Escape', async () => {
    await inWindow(async (page, context) => {
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
      await signIn(page)
      await page.goto(`${t.url}/${project.fullPath}`)
      await expect.poll(() => page.locator('time').first().textContent()).toMatch(/just now|ago/)
      await page.locator('summary', { hasText: 'Clone' }).click()
      await page.getByRole('button', { name: 'Copy the HTTP address' }).click()
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`http://roost.test/${project.fullPath}.git`)
      await page.locator('summary[aria-label^=Account]').click()
      expect(await page.getByRole('button', { name: 'Sign out' }).isVisible()).toBe(true)
      await page.keyboard.press('Escape')
      expect(await page.getByRole('button', { name: 'Sign out' }).isVisible()).toBe(false)
    })
  })
})

describe('without scripts', () => {
  it('a person signs in, makes a token, and signs out by keyboard alone', async () => {
    await inWindow(
      async (page) => {
        await signIn(page)
        await page.goto(`${t.url}/-/profile/personal_access_tokens`)
        await page.getByLabel('Name').fill('A script')
        await page.getByLabel('api', { exact: true }).focus()
        await page.keyboard.press('Space')
        await page.getByRole('button', { name: 'Create token' }).focus()
        await page.keyboard.press('Enter')
        const token = await page.getByLabel('Token', { exact: true }).inputValue()
        await t.api('get', '/user', { token }).expect(200)
        await page.locator('summary[aria-label^=Account]').focus()
        await page.keyboard.press('Enter')
        await page.getByRole('button', { name: 'Sign out' }).focus()
        await page.keyboard.press('Enter')
        await page.getByText('You are signed out.').waitFor()
      },
      { javaScriptEnabled: false },
    )
  })
})

describe('planning', () => {
  for (const javaScriptEnabled of [true, false])
    it(`an issue goes from new to closed, a wiki page is edited by two, a snippet is made: ${javaScriptEnabled ? 'with' : 'without'} scripts`, async () => {
      const at = `${t.url}/${project.fullPath}/-`
      await inWindow(
        async (page) => {
          await signIn(page)
          await page.goto(`${at}/issues/new`)
          await page.getByLabel('Title').fill('From a browser')
          await page.getByLabel('Description', { exact: true }).fill('- [ ] do **it**')
          await page.getByRole('button', { name: 'Preview' }).click()
          await page.locator('.preview strong').waitFor()
          await page.getByLabel('Assignee').fill(user.username)
          await page.getByLabel('bug').check()
          await page.getByLabel('Milestone').selectOption('One')
          await page.getByRole('button', { name: 'Create issue' }).click()
          await page.getByText('Issue created.').waitFor()
          await page.getByRole('checkbox', { name: 'Task' }).first().click()
          await page.getByText('1 of 1 tasks done').waitFor()
          await page.locator('#side_time summary').click()
          await page.getByLabel('Time', { exact: true }).fill('1h')
          await page.getByRole('button', { name: 'Add spent time' }).click()
          await page.getByText('1h spent').waitFor()
          await page.locator('#side_labels summary').click()
          await page.locator('#side_labels').getByLabel('docs').check()
          await page.locator('#side_labels').getByRole('button', { name: 'Save', exact: true }).click()
          await page.locator('#side_labels .label:visible', { hasText: 'docs' }).first().waitFor()
          await page.getByLabel('Comment', { exact: true }).fill('Done.')
          await page.getByRole('button', { name: 'Comment', exact: true }).click()
          await page.locator('.note', { hasText: 'Done.' }).waitFor()
          await page.goto(`${at}/boards`)
          const card = page.locator('.card', { hasText: 'From a browser' }).first()
          // by the form, or by dragging it
          if (javaScriptEnabled) await card.dragTo(page.locator('[data-list=opened]'))
          else {
            await card.locator('[data-move]').click()
            await page.getByRole('button', { name: 'Open', exact: true }).click()
          }
          await page.locator('[data-list=opened] .card', { hasText: 'From a browser' }).first().waitFor()
          await page.locator('[data-list=opened] .card', { hasText: 'From a browser' }).getByRole('link').first().click()
          await page.getByRole('button', { name: 'Close issue' }).click()
          await page.getByText('Issue closed.').waitFor()
          await page.goto(`${at}/wikis/home/edit`)
          await t
            .api('put', `${project.path}/wikis/home`, user)
            .send({ content: `Theirs ${javaScriptEnabled}` })
            .expect(200)
          await page.getByLabel('Content', { exact: true }).fill(`Mine ${javaScriptEnabled}`)
          await page.getByRole('button', { name: 'Save changes' }).click()
          await page.getByText('Somebody else has saved this meanwhile').waitFor()
          expect(await page.getByLabel('Content, as saved').inputValue()).toBe(`Theirs ${javaScriptEnabled}`)
          await page.getByRole('button', { name: 'Save changes' }).click()
          await page.getByText('Page updated.').waitFor()
          await page.goto(`${at}/snippets/new`)
          await page.getByLabel('Title').fill('Made here')
          await page.getByLabel('Content', { exact: true }).fill('const a = 1')
          await page.getByRole('button', { name: 'Create snippet' }).click()
          await page.getByText('Snippet created.').waitFor()
          await t.api('post', `${project.path}/issues/1/todo`, user)
          await page.goto(`${t.url}/dashboard/todos`)
          await page.getByRole('button', { name: /^Done/ }).first().click()
          await page.getByRole('button', { name: 'Undo' }).click()
          await page.getByText('It is in the list again.').waitFor()
        },
        // the refused text is answered with 422, of which Chromium complains
        { javaScriptEnabled },
        /422/,
      )
    })

  it('a text is completed, marked by keys, gets a file, and survives a reload', async () => {
    await inWindow(async (page) => {
      await signIn(page)
      const at = `${t.url}/${project.fullPath}/-/issues/1`
      await page.goto(at)
      const text = page.getByLabel('Comment', { exact: true })
      await text.pressSequentially('See ~bu')
      await page.getByRole('option').first().waitFor()
      await page.keyboard.press('Enter')
      expect(await text.inputValue()).toBe('See ~bug ')
      await page.keyboard.press('Control+b')
      expect(await text.inputValue()).toBe('See ~bug ****')
      await page.getByLabel('Attach a file: Comment').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') })
      await expect.poll(() => text.inputValue()).toMatch(/\[a\.txt\]\(\/uploads\/[0-9a-f]{32}\/a\.txt\)/)
      const typed = await text.inputValue()
      page.on('dialog', (dialog) => dialog.accept())
      await page.reload()
      expect(await text.inputValue()).toBe(typed)
      await page.getByRole('button', { name: 'Comment', exact: true }).click()
      await page.locator('.note', { hasText: 'a.txt' }).waitFor()
      expect(await text.inputValue()).toBe('')
      await page.locator('h1').click()
      await page.keyboard.press('g')
      await page.keyboard.press('i')
      await page.waitForURL(`${t.url}/dashboard/issues`)
    })
  })
})
