import { expect, it } from 'vitest'
import { proxyPath } from '../../src/services/core/external-pictures.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, aProject, aUser, setSettings } from '../support/factories.js'

const t = testApp()

it('badges of a project and of its groups are added, changed and deleted in pages, and shown on its page (BD-6)', async () => {
  const creator = await aUser(t.ctx)
  const group = await aGroup(t.ctx, { creator })
  const project = await aProject(t.ctx, { creator, namespace_id: group.id, visibility: 'private' })
  const browser = new TestBrowser(t.url)
  await browser.signIn(creator)
  const [ofGroup, ofProject] = [`/groups/${group.fullPath}/-/settings/badges`, `/${project.fullPath}/-/settings/badges`]
  for (const [at, name] of [
    [ofGroup, 'Of the group'],
    [ofProject, ''],
  ] as const) {
    const { $ } = await browser.open(at)
    expect($('main').text()).toContain(at === ofGroup ? 'There are no badges.' : 'Of the group')
    const sent = { 'badge[name]': name, 'badge[link_url]': 'javascript:alert(1)', 'badge[image_url]': 'https://example.com/%{project_id}.svg' }
    const refused = await browser.submit('Add badge', sent)
    expect(refused.status).toBe(422)
    expect(refused.$('main').text()).toContain('is blocked: Only allowed schemes are http, https')
    await browser.submit('Add badge', { ...sent, 'badge[link_url]': 'https://example.com/%{project_path}' })
  }
  const src = proxyPath(t.ctx, `https://example.com/${project.id}.svg`)
  const link = `https://example.com/${project.fullPath}`
  const shown = async () => {
    const { $ } = await browser.open(`/${project.fullPath}`)
    return $('aside a[rel="nofollow noopener"]')
      .map((_, each) => [[$(each).attr('href'), $(each).find('img').attr('src') ?? null, $(each).find('img').attr('alt') ?? $(each).text()]])
      .get()
  }
  expect(await shown()).toEqual([
    [link, src, 'Of the group'],
    [link, src, link],
  ])
  await setSettings(t.ctx, { external_images: 'direct' })
  expect(await shown()).toEqual([
    [link, null, 'Of the group'],
    [link, null, link],
  ])
  await setSettings(t.ctx, { external_images: 'proxy' })
  // only its own are changed there
  const { $ } = await browser.open(ofProject)
  const edits = $('a.button[aria-label^="Edit"]')
  expect(edits.map((_, each) => $(each).attr('aria-label')).get()).toEqual([`Edit ${link}`])
  await browser.open(edits.attr('href') as string)
  await browser.submit('Save changes', { 'badge[name]': 'Changed' })
  expect((await shown())[1]).toEqual([link, src, 'Changed'])
  await browser.open(ofProject)
  await browser.submit('Delete', {})
  expect(await shown()).toEqual([[link, src, 'Of the group']])
  const maintainer = await aUser(t.ctx)
  await t.api('post', `${group.path}/members`, creator).send({ user_id: maintainer.id, access_level: 40 }).expect(201)
  const other = new TestBrowser(t.url)
  await other.signIn(maintainer)
  expect((await other.open(ofGroup)).status).toBe(403)
  expect((await other.open(ofProject)).status).toBe(200)
})
