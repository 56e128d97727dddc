import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aCommit, aProject, aUser } from '../support/factories.js'
import { bareOf } from '../support/repositories.js'

const t = testApp()

describe('pages of a repository', () => {
  it('lead to the same path of another branch, or to its root if it has none; tags of files lead nowhere (WB-70)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a.txt': 'a\rb\n' } })
    await aCommit(t.ctx, project, { 'docs/b.txt': 'b' }, { branch: 'two', start_branch: 'main' })
    const bare = bareOf(t, project)
    bare.git('tag', 'of-a-file', 'main:a.txt')
    bare.git('tag', 'of-a-folder', 'two:docs')
    const browser = new TestBrowser(t.url)
    const at = `/${project.fullPath}/-`
    const from = await browser.open(`${at}/blob/two/docs/b.txt`)
    const page = await browser.open(from.$('a:contains("All branches and tags")').attr('href') ?? '')
    const links = page
      .$('.rows a')
      .toArray()
      .map((each) => page.$(each).attr('href') ?? '')
    expect(links.length).toBe(2)
    expect((await browser.open(links[1] ?? '')).at).toBe(`${at}/blob/two/docs/b.txt`)
    const without = await browser.open(links[0] ?? '')
    expect([without.at, without.text.includes('docs/b.txt is not there in main.')]).toEqual([`${at}/tree/main`, true])
    expect((await browser.open(`${at}/refs/switch?ref=none`)).at).toContain('sign_in')
    const tags = await browser.open(`${at}/tags`)
    expect([tags.$('.rows strong').length, tags.$('.rows a[href*="/archive/"]').length]).toEqual([2, 0])
  })

  it('show a bare CR as it is', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { 'a.txt': 'a\rb\n' } })
    const page = await new TestBrowser(t.url).open(`/${project.fullPath}/-/blob/main/a.txt`)
    expect(page.$('.lines .code').text()).toBe('a\rb')
  })
})
