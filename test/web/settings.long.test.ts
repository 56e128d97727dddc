// @module-tag long
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { faultsOf, keepPicture, launchChromium } from '../support/chromium.js'
import { aGroup, aProject, aUser, type TestProject, type TestUser, unique } from '../support/factories.js'
import { receiver } from '../support/servers/receiver.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const r = receiver()
let browser: Browser
let user: TestUser
let member: TestUser
let project: TestProject
let group: Awaited<ReturnType<typeof aGroup>>
let invited: typeof group
let hook: number
let attempt: number

beforeAll(async () => {
  browser = await launchChromium()
  user = await aUser(t.ctx, { name: 'Olivia Owner' })
  member = await aUser(t.ctx, { name: 'Dev Eloper' })
  group = await aGroup(t.ctx, { creator: user, visibility: 'public', request_access_enabled: true, description: 'What the group does' })
  await aGroup(t.ctx, { creator: user, visibility: 'public', parent_id: group.id, name: 'Below', path: 'below' })
  project = await aProject(t.ctx, { creator: user, namespace_id: group.id, visibility: 'public', request_access_enabled: true, files: { a: 'a' } })
  const other = await aGroup(t.ctx, { creator: user, visibility: 'public' })
  const api = (path: string, body: object, who = user) => t.api('post', path, who).send(body).expect(201)
  await api(`${project.path}/members`, { user_id: member.id, access_level: 30, expires_at: '2999-01-01' })
  await api(`${project.path}/share`, { group_id: other.id, group_access: 20 })
  invited = await aGroup(t.ctx, { creator: user, visibility: 'public', developer: member })
  await api(`${group.path}/share`, { group_id: invited.id, group_access: 40, expires_at: '2999-01-01' })
  for (const path of [project.path, group.path]) {
    await api(`${path}/variables`, { key: 'TOKEN', value: 'value', protected: true })
    await api(`${path}/deploy_tokens`, { name: 'machine', scopes: ['read_repository'] })
    await api(`${path}/access_tokens`, { name: 'program', scopes: ['api'] })
    await api(`${path}/access_requests`, {}, await aUser(t.ctx))
  }
  await api(`${project.path}/protected_branches`, { name: 'release/*', allow_force_push: true })
  await api(`${project.path}/protected_tags`, { name: 'v*' })
  const { body } = await api(`${project.path}/hooks`, { url: `${r.url}/hook`, name: 'Chat', issues_events: true })
  hook = body.id
  r.reply('/hook', { status: 500, body: 'broken' })
  await api(`${project.path}/hooks/${hook}/test/push_events`, {})
  attempt = (await t.api('get', `${project.path}/hooks/${hook}/events`, user)).body[0].id
  const removed = await aProject(t.ctx, { creator: user })
  await t.api('delete', removed.path, user).expect(202)
})
afterAll(() => browser?.close())

async function signIn(page: Page, who = user) {
  await page.goto(`${t.url}/users/sign_in`)
  await page.getByLabel('Username or e-mail').fill(who.username)
  await page.getByLabel('Password').fill(who.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${t.url}/dashboard`)
}

const paths = () => [
  '/dashboard',
  '/dashboard/groups',
  '/dashboard/projects/removed',
  '/explore/groups',
  '/projects/new',
  '/projects/new?from=url',
  '/projects/new?from=template',
  '/groups/new',
  ...[
    'edit',
    '-/settings/features',
    '-/settings/merge_requests',
    '-/settings/advanced',
    '-/project_members',
    `-/project_members/${member.id}`,
    '-/group_links/new',
    '-/protected_branches',
    '-/protected_tags',
    '-/variables',
    '-/variables/TOKEN',
    '-/hooks',
    `-/hooks/${hook}/edit`,
    `-/hooks/${hook}/hook_logs/${attempt}`,
    '-/deploy_keys',
    '-/deploy_tokens',
    '-/settings/access_tokens',
    '-/audit_events',
  ].map((path) => `/${project.fullPath}/${path}`),
  ...[
    '',
    '/-/subgroups',
    '/-/group_members',
    '/-/group_links/new',
    `/-/group_links/${invited.id}`,
    '/-/edit',
    '/-/settings/permissions',
    '/-/settings/advanced',
    '/-/variables',
    '/-/hooks',
    '/-/deploy_tokens',
    '/-/settings/access_tokens',
  ].map((path) => `/groups/${group.fullPath}${path}`),
]

describe('every page of the settings', () => {
  it('fits its window and can be read by everyone', async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: true })
    const page = await context.newPage()
    await signIn(page)
    const found: [string, string[]][] = []
    for (const path of paths()) {
      const answer = await page.goto(t.url + path)
      found.push([path, [...(answer?.status() === 200 ? [] : ['not shown']), ...(await faultsOf(page, path))]])
    }
    await context.close()
    expect(found.filter(([, faults]) => faults.length > 0)).toEqual([])
  })
})

describe("an owner's day", () => {
  for (const javaScriptEnabled of [true, false])
    it(`a group with members, a project with rules, a webhook whose failed delivery is sent again: ${javaScriptEnabled ? 'with' : 'without'} scripts`, async () => {
      const owner = await aUser(t.ctx)
      const path = `team${unique()}`
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, javaScriptEnabled })
      const page = await context.newPage()
      const press = (name: string) => page.getByRole('button', { name, exact: true }).first().click()
      const follow = (name: string) => page.getByRole('link', { name, exact: true }).first().click()
      const seen = (text: string | RegExp) => page.getByText(text).first().waitFor()
      await signIn(page, owner)
      await follow('New group')
      await page.getByLabel('Name').fill('Team')
      await page.getByLabel('Path').fill(path)
      await page.getByLabel('Visibility').selectOption('public')
      await press('Create group')
      await seen('Group created.')
      await follow('Members')
      await page.getByLabel('Usernames').fill('no-such-person')
      await press('Add members')
      await seen(/names no account: no-such-person/)
      await page.getByLabel('Usernames').fill(member.username)
      await page.getByLabel('Until').first().fill('2999-12-31')
      await press('Add members')
      await seen('Developer · until 31 Dec 2999')
      await page.getByRole('link', { name: `Change ${member.username}` }).click()
      await page.getByLabel('Role').selectOption('20')
      await press('Save changes')
      await seen('Reporter · until 31 Dec 2999')
      await follow('Projects')
      await follow('New project')
      await page.getByLabel('Name').fill('App')
      await page.getByLabel('Visibility').selectOption('public')
      await press('Create project')
      await page.waitForURL(`${t.url}/${path}/app`)
      await follow('Settings')
      await page.getByLabel('Description').fill('What it is for')
      await press('Save changes')
      await seen('Settings updated.')
      await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Merge requests' }).click()
      await page.getByLabel('Pipelines must succeed').check()
      await page.getByLabel('Method').selectOption('ff')
      await press('Save changes')
      await seen('Rules updated.')
      await follow('Protected branches')
      await page.getByLabel('Branch', { exact: true }).fill('release/*')
      await press('Protect')
      await seen('release/* is protected.')
      await follow('Webhooks')
      await page.getByLabel('Address').fill(`${r.url}/hook`)
      await press('Add webhook')
      r.reply('/hook', { status: 500 })
      await press('Send a sample')
      await seen('The receiver has answered 500.')
      r.reply('/hook', { status: 200 })
      await page
        .getByRole('button', { name: /^Send again/ })
        .first()
        .click()
      await seen('The receiver has answered 200.')
      await follow('Advanced')
      await press('Archive project')
      await seen('Project archived.')
      await press('Unarchive project')
      await page.getByLabel('Confirm with the path').fill(`${path}/app`)
      await press('Delete project')
      await seen(`The project ${path}/app is deleted.`)
      await page.getByRole('button', { name: `Restore ${path}/app` }).click()
      await page.waitForURL(`${t.url}/${path}/app`)
      // the group moves into another, and its project with it
      const above = await aGroup(t.ctx, { creator: owner, visibility: 'internal' })
      await page.goto(`${t.url}/groups/${path}/-/settings/advanced`)
      await page.getByLabel('New parent group').fill('no-such-group')
      await press('Transfer group')
      await seen(/is no group that you may create subgroups in/)
      await keepPicture(page, `day-transfer-${javaScriptEnabled}`)
      await page.getByLabel('New parent group').fill(above.fullPath)
      await press('Transfer group')
      await seen('Group transferred.')
      await keepPicture(page, `day-transferred-${javaScriptEnabled}`)
      expect((await page.goto(`${t.url}/${above.fullPath}/${path}/app`))?.status()).toBe(200)
      await keepPicture(page, `day-moved-${javaScriptEnabled}`)
      await context.close()
      const { body } = await t.api('get', `/projects/${above.fullPath}%2F${path}%2Fapp`, owner).expect(200)
      expect(body.visibility).toBe('internal')
      expect(body).toMatchObject({ description: 'What it is for', merge_method: 'ff', only_allow_merge_if_pipeline_succeeds: true, archived: false })
    })
})
