import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { type Opened, TestBrowser } from '../support/browser.js'
import { aGroup, aProject, aUser, type TestUser } from '../support/factories.js'

const t = testApp()

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}
const tabsOf = ({ $ }: Opened) =>
  $('nav[aria-label="Kinds of results"] a')
    .toArray()
    .map((a) => $(a).text())

describe('the search of a project', () => {
  it('finds code with the lines around it, commits and what was written, and marks the hits (WB-65)', async () => {
    const owner = await aUser(t.ctx)
    const files = { 'src/a.ts': 'first\nbefore\nThe Needle <b>\nafter\nlast\nfar\n', other: 'none' }
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files })
    await t
      .api('post', `${project.path}/repository/commits`, owner)
      .send({ branch: 'main', commit_message: 'Sharpen the needle', actions: [{ action: 'create', file_path: 'b', content: 'b' }] })
      .expect(201)
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'Lost <needle>' }).expect(201)
    const browser = new TestBrowser(t.url)
    await browser.open(`/${project.fullPath}`)
    expect(browser.page?.$('header form').attr('action')).toBe(`/${project.fullPath}/-/search`)
    const code = await browser.open(`/${project.fullPath}/-/search?search=needle`)
    const lines = code
      .$('.lines tr')
      .toArray()
      .map((row) => code.$(row).text())
    expect(lines).toEqual(['1first', '2before', '3The Needle <b>', '4after', '5last'])
    expect([code.$('mark').text(), code.$('.lines a').eq(2).attr('href')]).toEqual(['Needle', `/${project.fullPath}/-/blob/main/src/a.ts#L3`])
    expect(tabsOf(code)).toEqual(['Code', 'Commits', 'Wiki'])
    const commits = await browser.open(`/${project.fullPath}/-/search?search=needle&scope=commits`)
    expect([commits.$('.rows > li').length, commits.$('mark').text()]).toEqual([1, 'needle'])
    const member = await signedIn(owner)
    const issues = await member.open(`/${project.fullPath}/-/search?search=needle&scope=issues`)
    expect([issues.$('.rows .title').text(), issues.$('main needle').length]).toEqual(['Lost <needle>', 0])
    expect((await member.open(`/search?project_id=${project.id}&search=needle`)).at).toBe(`/${project.fullPath}/-/search?search=needle`)
    expect((await member.open(`/${project.fullPath}/-/search?search=${encodeURIComponent('(.*[')}`)).text).toContain('Nothing was found.')
    expect((await member.open(`/${project.fullPath}/-/search`)).text).toContain('Type what you look for.')
  })

  it('shows nothing of what the reader may not see (WB-65)', async () => {
    const [owner, guest, stranger] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, guest, visibility: 'private', files: { a: 'needle' } })
    expect((await (await signedIn(stranger)).open(`/${project.fullPath}/-/search?search=needle`)).status).toBe(404)
    const seen = await (await signedIn(guest)).open(`/${project.fullPath}/-/search?search=needle&scope=blobs`)
    expect([seen.status, tabsOf(seen).includes('Code'), seen.$('mark').length]).toEqual([200, false, 0])
    const found = await (await signedIn(stranger)).open(`/search?search=${project.fullPath.split('/')[1]}`)
    expect(found.text).toContain('Nothing was found.')
  })
})

describe('the search of everything and of groups', () => {
  it('finds projects, groups and people, the latter for those who are signed in (WB-65)', async () => {
    const owner = await aUser(t.ctx, { name: 'Findable Person' })
    const group = await aGroup(t.ctx, { creator: owner, name: 'Findable Group', visibility: 'public' })
    await aProject(t.ctx, { creator: owner, namespace_id: group.id, name: 'findable', visibility: 'public', files: { a: 'the needle' } })
    const visitor = new TestBrowser(t.url)
    expect((await visitor.open('/search?search=findable')).$('.rows strong').first().text()).toBe('findable')
    expect(tabsOf(visitor.page as Opened)).toEqual(['Projects', 'Groups'])
    expect((await visitor.open('/search?search=findable&scope=users')).text).not.toContain('Findable Person')
    expect((await visitor.open('/search?search=findable&scope=groups')).text).toContain('Findable Group')
    const browser = await signedIn(owner)
    expect((await browser.open('/search?search=findable&scope=users')).text).toContain('Findable Person')
    for (const scope of ['issues', 'merge_requests']) expect((await browser.open(`/search?search=x&scope=${scope}`)).status).toBe(200)
    const code = await visitor.open(`/groups/${group.fullPath}/-/search?search=needle&scope=blobs`)
    expect([code.$('mark').text(), code.$('h2 a').first().text()]).toEqual(['needle', `${group.fullPath}/findable`])
  })
})
