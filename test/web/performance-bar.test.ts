import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../support/factories.js'

const t = testApp()
let admin: TestUser
const put = (settings: object) => t.api('put', '/application/settings', admin).send(settings).expect(200)
const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  await browser.signIn(who)
  return browser
}
beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})

describe('the performance bar', () => {
  it('is for administrators and members of the group, while performance_bar_enabled is on (WB-200)', async () => {
    const [inGroup, above, stranger] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const parent = await aGroup(t.ctx, { guest: [above] })
    const group = await aGroup(t.ctx, { creator: parent.creator, parent_id: parent.id, guest: [inGroup] })
    const bars = async () => {
      const pages = [admin, inGroup, above, stranger].map(async (who) => (await (await signedIn(who)).open('/dashboard')).$('.performance').length)
      const anybody = await new TestBrowser(t.url).open('/explore')
      return [...(await Promise.all(pages)), anybody.$('.performance').length]
    }
    expect(await bars()).toEqual([0, 0, 0, 0, 0])
    await put({ performance_bar_enabled: true })
    expect(await bars()).toEqual([1, 0, 0, 0, 0])
    await put({ performance_bar_allowed_group_id: String(group.id) })
    expect(await bars()).toEqual([1, 1, 1, 0, 0])
    await put({ performance_bar_enabled: false })
    expect(await bars()).toEqual([0, 0, 0, 0, 0])
  })

  it('says what the page cost: time, statements without values, git processes, cache hits (WB-200)', async () => {
    const project = await aProject(t.ctx, { creator: admin, name: 'secret-name', files: { 'a.txt': 'text' } })
    await put({ performance_bar_enabled: true })
    const browser = await signedIn(admin)
    const page = await browser.open(`/${project.fullPath}/-/search?search=text&scope=blobs`)
    const bar = page.$('.performance')
    const text = bar.text().replace(/\s+/g, ' ')
    const [, total, postgres, statements, git, processes] =
      /([\d.]+) ms in all ?Postgres ([\d.]+) ms, (\d+) statements.*Git ([\d.]+) ms, (\d+) process.*\d+ of \d+ cached/.exec(text) ?? expect.fail(text)
    for (const number of [total, postgres, statements, git, processes]) expect(Number(number)).toBeGreaterThan(0)
    const listed = bar.find('details').first().find('li code')
    expect(listed.length).toBe(Number(statements))
    expect(listed.text()).toMatch(/from "projects"/)
    expect(listed.text()).not.toContain('secret-name')
    expect(bar.find('details').last().text()).toMatch(/grep/)
    const issues = await browser.open(`/${project.fullPath}/-/issues`)
    expect(issues.$('.performance').text()).toMatch(/\d+ of \d+ cached/)
    // an error page has it, too
    expect((await browser.open('/no/such/page')).$('.performance').length).toBe(1)
    await put({ performance_bar_enabled: false })
  })
})
