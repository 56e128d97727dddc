import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}
const HOSTILE = '<script>alert(1)</script>'

async function project(more: object = {}): Promise<{ project: TestProject; maintainer: TestUser; developer: TestUser; guest: TestUser }> {
  const [maintainer, developer, guest] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
  const made = await aProject(t.ctx, { creator: maintainer, developer, guest, visibility: 'public', files: { a: 'a' }, ...more })
  return { project: made, maintainer, developer, guest }
}

describe('releases', () => {
  it('are made with their tag, shown with notes, assets and sources, changed and deleted (WB-61)', async () => {
    const { project: one, developer } = await project()
    const base = `/${one.fullPath}/-/releases`
    const browser = await signedIn(developer)
    await browser.open(`${base}/new`)
    const made = await browser.submit('Create release', {
      'release[tag_name]': 'v1/a b',
      'release[name]': HOSTILE,
      'release[description]': `**Notes** ${HOSTILE}`,
      'release[released_at]': '2026-01-02',
      'release[links][0][name]': 'App',
      'release[links][0][url]': 'https://example.org/app.zip',
    })
    // no ref name has a space
    expect([made.status, made.text]).toEqual([422, expect.stringContaining('Tag name invalid')])
    expect(made.$('[name="release[links][0][url]"]').val()).toBe('https://example.org/app.zip')
    const shown = await browser.submit('Create release', { 'release[tag_name]': 'v1/a' })
    expect([shown.at, shown.status]).toEqual([`${base}/v1%2Fa`, 200])
    expect([shown.$('h1').text(), shown.$('.prose strong').text(), shown.$('main script').length]).toEqual([HOSTILE, 'Notes', 0])
    expect(shown.$('time').first().attr('datetime')).toBe('2026-01-02T00:00:00.000Z')
    expect(shown.$('a:contains("App")').attr('href')).toBe('https://example.org/app.zip')
    // the archive that it links to is there
    const zip = await fetch(t.url + shown.$('a:contains("tar.gz")').attr('href'))
    expect([zip.status, zip.headers.get('content-disposition')]).toEqual([200, expect.stringContaining('v1-a.tar.gz')])

    await browser.open(`${base}/v1%2Fa/edit`)
    expect((await browser.submit('Add asset', { 'link[name]': 'x', 'link[url]': 'javascript:alert(1)' })).status).toBe(422)
    await browser.submit('Add asset', { 'link[name]': 'Kept', 'link[url]': 'https://example.org/k', 'link[filepath]': '/bin/k' })
    expect(browser.page?.text).toContain('Kept is added.')
    const kept = await fetch(`${t.url}${base}/v1%2Fa/downloads/bin/k`, { redirect: 'manual', headers: { accept: 'text/html' } })
    expect([kept.status, kept.headers.get('location')]).toEqual([302, 'https://example.org/k'])
    await browser.submit('Save changes', { 'release[name]': 'First' })
    expect([browser.page?.at, browser.page?.$('h1').text()]).toEqual([`${base}/v1%2Fa`, 'First'])
    expect(browser.page?.$('time').first().attr('datetime')).toBe('2026-01-02T00:00:00.000Z')
    const latest = await fetch(`${t.url}${base}/permalink/latest`, { redirect: 'manual', headers: { accept: 'text/html' } })
    expect(latest.headers.get('location')).toBe(`http://roost.test${base}/v1%2Fa`)
    expect((await browser.open(`/${one.fullPath}`)).text).toContain('Latest releaseFirst')

    await browser.open(`${base}/v1%2Fa/edit`)
    expect((await browser.submit('Delete release')).at).toBe(base)
    expect((await browser.open(`${base}/v1%2Fa`)).status).toBe(404)
    expect((await browser.open(`/${one.fullPath}/-/tags/v1/a`)).status).toBe(200)
  })

  it('are offered to change to those who may alone (WB-61)', async () => {
    const { project: one, developer, guest } = await project()
    await t.api('post', `${one.path}/releases`, developer).send({ tag_name: 'v1', ref: 'main', description: 'x' }).expect(201)
    const base = `/${one.fullPath}/-/releases`
    for (const browser of [new TestBrowser(t.url), await signedIn(guest)]) {
      const { $, status } = await browser.open(`${base}/v1`)
      expect([status, $('a:contains("Edit")').length]).toEqual([200, 0])
      expect((await browser.open(base)).$('a:contains("New release")').length).toBe(0)
    }
    expect((await (await signedIn(guest)).open(`${base}/new`)).status).toBe(403)
    const hidden = await project({ visibility: 'private' })
    const stranger = await signedIn(await aUser(t.ctx))
    expect((await stranger.open(`/${hidden.project.fullPath}/-/releases`)).status).toBe(404)
    expect((await (await signedIn(hidden.guest)).open(`/${hidden.project.fullPath}/-/releases`)).status).toBe(403)
  })
})

describe('tags', () => {
  it('are made with a message, shown, and deleted by maintainers (WB-61)', async () => {
    const { project: one, maintainer, developer } = await project()
    const base = `/${one.fullPath}/-/tags`
    const browser = await signedIn(developer)
    await browser.open(`${base}/new`)
    expect((await browser.submit('Create tag', { tag_name: 'v1', ref: 'nowhere' })).text).toContain('Target nowhere is invalid')
    const made = await browser.submit('Create tag', { tag_name: 'v/1', ref: 'main', message: `One ${HOSTILE}` })
    expect([made.at, made.$('.message').text(), made.$('main script').length]).toEqual([`${base}/v/1`, `One ${HOSTILE}`, 0])
    expect([made.text.includes('Delete tag'), made.text.includes('New release')]).toEqual([false, true])
    await browser.open(`${base}/new`)
    expect((await browser.submit('Create tag', { tag_name: 'v/1', ref: 'main' })).text).toContain('Tag v/1 already exists')
    const owner = await signedIn(maintainer)
    await owner.open(`${base}/v/1`)
    expect((await owner.submit('Delete tag')).at).toBe(base)
    expect((await owner.open(`${base}/v/1`)).status).toBe(404)
  })
})

describe('branches', () => {
  it('say how far they are from the default branch; merged ones are deleted together (WB-61)', async () => {
    const { project: one, maintainer, guest } = await project()
    const commit = (branch: string, path: string) =>
      t
        .api('post', `${one.path}/repository/commits`, maintainer)
        .send({ branch, start_branch: 'main', commit_message: path, actions: [{ action: 'create', file_path: path, content: 'x' }] })
        .expect(201)
    await commit('topic/x', 'b')
    await t.api('post', `${one.path}/repository/branches`, maintainer).send({ branch: 'done', ref: 'main' }).expect(201)
    await t
      .api('post', `${one.path}/repository/commits`, maintainer)
      .send({ branch: 'main', commit_message: 'c', actions: [{ action: 'create', file_path: 'c', content: 'x' }] })
      .expect(201)
    const base = `/${one.fullPath}/-/branches`
    const browser = await signedIn(maintainer)
    const page = await browser.open(base)
    const rowOf = (name: string) => page.$(`.rows > li:contains("${name}")`).text()
    expect([rowOf('topic/x'), rowOf('done')]).toEqual([expect.stringContaining('1 ahead, 1 behind'), expect.stringContaining('merged')])
    expect((await browser.submit('Delete merged branches')).text).not.toContain('done')
    expect(browser.page?.text).toContain('topic/x')
    const other = await (await signedIn(guest)).open(base)
    expect(other.$('button:contains("Delete")').length).toBe(0)
  })
})

describe('files', () => {
  it('are found by a part of their path, best matches first (WB-62)', async () => {
    const { project: one } = await project({ files: { 'src/deep/main.ts': '', 'docs/main-page.md': '', 'many/a/i/n': '', other: '' } })
    const browser = new TestBrowser(t.url)
    const found = await browser.open(`/${one.fullPath}/-/find_file/main?search=MAIN`)
    const names = found
      .$('.rows a')
      .toArray()
      .map((a) => found.$(a).text())
    expect(names).toEqual(['src/deep/main.ts', 'docs/main-page.md', 'many/a/i/n'])
    expect((await browser.open(found.$('.rows a').first().attr('href') as string)).status).toBe(200)
    expect((await browser.open(`/${one.fullPath}/-/find_file/main?search=${'x'.repeat(200)}`)).text).toContain('There is no such file.')
  })
})

describe('stars and forks', () => {
  it('are given and taken back, and a form sent twice counts once (WB-63)', async () => {
    const { project: one, guest } = await project()
    const browser = await signedIn(guest)
    await browser.open(`/${one.fullPath}`)
    const token = browser.page?.$('[name=authenticity_token]').first().val() as string
    await browser.submit('Star')
    expect(browser.page?.text).toContain('1 star')
    await browser.post(`/${one.fullPath}/toggle_star`, { authenticity_token: token, starred: 'true' })
    expect(browser.page?.$('main a[href$="/starrers"]').text()).toBe('1 star')
    await browser.submit('Unstar')
    expect(browser.page?.text).toContain('0 stars')
    expect((await new TestBrowser(t.url).open(`/${one.fullPath}`)).$('button:contains("Star")').length).toBe(0)
  })

  it('show who gave them, but for private profiles, to those who are signed in (WB-376)', async () => {
    const { project: one, guest } = await project()
    const [hidden, away, admin] = [await aUser(t.ctx), await aUser(t.ctx), await anAdmin(t.ctx)]
    await t.api('put', `/users/${hidden.id}`, admin).send({ private_profile: true }).expect(200)
    for (const who of [guest, hidden, away]) {
      const browser = await signedIn(who)
      await browser.open(`/${one.fullPath}`)
      await browser.submit('Star')
    }
    await t.api('post', `/users/${away.id}/block`, admin).expect(201)
    const namesSeenBy = async (who: TestUser) => {
      const browser = await signedIn(who)
      await browser.open(`/${one.fullPath}`)
      const page = await browser.follow('3 stars')
      return page
        .$('.rows .person .dim')
        .toArray()
        .map((name) => page.$(name).text())
    }
    expect(await namesSeenBy(guest)).toEqual([`@${guest.username}`])
    expect(await namesSeenBy(admin)).toEqual([`@${guest.username}`, `@${hidden.username}`])
    expect(await namesSeenBy(hidden)).toEqual([`@${guest.username}`, `@${hidden.username}`])
    const visitor = new TestBrowser(t.url)
    expect((await visitor.open(`/${one.fullPath}/-/starrers`)).at).toContain('/users/sign_in')
    const exists = async (name: string) => (await visitor.open(`/users/${name}/exists`)).html
    expect([await exists(guest.username.toUpperCase()), await exists('no-such-user-0815')]).toEqual(['{"exists":true}', '{"exists":false}'])
  })

  it('are made into a namespace of the caller (WB-63)', async () => {
    const { project: one, guest } = await project()
    const browser = await signedIn(guest)
    await browser.open(`/${one.fullPath}/-/forks/new`)
    const path = one.fullPath.split('/').at(-1)
    expect((await browser.submit('Fork project')).at).toBe(`/${guest.username}/${path}`)
    await browser.open(`/${one.fullPath}/-/forks/new`)
    expect((await browser.submit('Fork project')).status).toBe(422)
    expect((await browser.open(`/${one.fullPath}/-/forks`)).text).toContain(guest.username)
  })
})
