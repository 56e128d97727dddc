import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser } from '../support/factories.js'

const t = testApp()

describe('what a page says to services that show links', () => {
  it('is there for public things, and for readers who are not signed in alone (WB-232)', async () => {
    const owner = await aUser(t.ctx, { name: 'Ann "<b>"' })
    const description = `<script>"x"</script>\n${'long '.repeat(100)}`
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', description, files: { 'a.txt': 'a' } })
    const hidden = await aProject(t.ctx, { creator: owner, visibility: 'private', description: 'Hidden words', files: { 'a.txt': 'a' } })
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'Broken', description: 'It *does* not work' }).expect(201)
    await t.api('post', `${project.path}/releases`, owner).send({ tag_name: 'v1', ref: 'main', description: 'Notes' }).expect(201)
    const [{ id: sha }] = (await t.api('get', `${project.path}/repository/commits`, owner).expect(200)).body
    const [visitor, member] = [new TestBrowser(t.url), new TestBrowser(t.url)]
    await member.signIn(owner)
    const card = async (browser: TestBrowser, path: string) => {
      const { $ } = await browser.open(path)
      return Object.fromEntries(
        $('meta[property]')
          .toArray()
          .map((each) => [$(each).attr('property')?.slice(3), $(each).attr('content')]),
      )
    }
    const at = `/${project.fullPath}`
    const home = await card(visitor, `${at}?x=1`)
    expect(home).toMatchObject({ title: project.fullPath, url: t.ctx.links.base + at })
    expect([home['description']?.length, home['description']?.slice(0, 20)]).toEqual([201, '<script>"x"</script>'])
    expect((await card(visitor, `${at}/-/issues/1`))['description']).toBe('It *does* not work')
    expect((await card(visitor, `${at}/-/releases/v1`))['description']).toBe('Notes')
    expect((await card(visitor, `/${owner.username}`))['title']).toBe('Ann "<b>"')
    for (const path of [`${at}/-/blob/main/a.txt`, `${at}/-/commit/${sha}`]) expect((await card(visitor, path))['url']).toBe(t.ctx.links.base + path)
    expect(await card(visitor, `/${hidden.fullPath}`)).toEqual({})
    for (const path of [at, `${at}/-/issues/1`, `/${hidden.fullPath}`]) expect(await card(member, path)).toEqual({})
  })
})
