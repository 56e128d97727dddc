import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, aProject, aUser } from '../support/factories.js'

const t = testApp()

describe('a redirect to the present address', () => {
  it('is only for those who may see what is there (SEC-336, SEC-30)', async () => {
    const [owner, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const place = { creator: owner, visibility: 'private' as const }
    const { full_path: group } = (await t.api('get', (await aGroup(t.ctx, place)).path, owner).expect(200)).body
    const hidden = await aProject(t.ctx, { ...place, path: 'kept-one' })
    const moved = await aProject(t.ctx, { ...place, path: 'former-one' })
    await t.api('put', moved.path, owner).send({ path: 'later-one' }).expect(200)
    const [own, anonymous, other] = [new TestBrowser(t.url), new TestBrowser(t.url), new TestBrowser(t.url)]
    await own.signIn(owner)
    await other.signIn(stranger)
    await anonymous.open('/users/sign_in')
    const at = owner.username
    const said = async (browser: TestBrowser, path: string) => {
      const cookie = [...browser.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
      let answer = new Response()
      const statements = await t.queriesOf(async () => {
        answer = await fetch(t.url + path, { redirect: 'manual', headers: { accept: 'text/html', cookie } })
      })
      const names = new RegExp(`${at}|${group}|kept-one|former-one|gone-one|gone-group`, 'gi')
      const text = (await answer.text()).replace(/name="(authenticity_token|form_key)" value="[^"]*"/g, '')
      return [answer.status, decodeURIComponent(answer.headers.get('location') ?? ''), text, ...statements].map((each) =>
        String(each).replace(names, 'N'),
      )
    }
    for (const [there, gone, present] of [
      [`/${at.toUpperCase()}/Kept-One`, `/${at.toUpperCase()}/Gone-One`, `/${at}/kept-one`],
      [`/${at}/kept-one/issues`, `/${at}/gone-one/issues`, `/${at}/kept-one/-/issues`],
      [`/${at}/Kept-One/blob/main/a`, `/${at}/Gone-One/blob/main/a`, null],
      [`/${at}/kept-one.git`, `/${at}/gone-one.git`, `/${at}/kept-one`],
      [`/${at}/kept-one.wiki.git`, `/${at}/gone-one.wiki.git`, `/${at}/kept-one/-/wikis/home`],
      [`/${at}/kept-one.atom`, `/${at}/gone-one.atom`, `/${at}/kept-one.atom`],
      [`/${at}/former-one/-/issues`, `/${at}/gone-one/-/issues`, `/${at}/later-one/-/issues`],
      [`/${group.toUpperCase()}`, '/GONE-GROUP', `/${group}`],
      [`/groups/${group}/milestones`, '/groups/gone-group/milestones', `/groups/${group}/-/milestones`],
    ] as const) {
      for (const browser of [anonymous, other]) {
        // statements are prepared by the first call
        await said(browser, there)
        expect([there, await said(browser, there)]).toEqual([there, await said(browser, gone)])
      }
      if (present) expect([there, (await own.open(there)).at]).toEqual([there, present])
    }
    expect(hidden.fullPath).toBe(`${at}/kept-one`)
  })
})
