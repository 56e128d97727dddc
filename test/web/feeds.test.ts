import { DOMParser } from '@xmldom/xmldom'
import { beforeAll, describe, expect, it } from 'vitest'
import { atomOf } from '../../src/lib/text/atom.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aCommit, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
const ATOM = 'http://www.w3.org/2005/Atom'
const HOSTILE = '<b>"&\'</b>]]>'

/** Reads a feed as a strict parser does: anything that is not well-formed throws. */
function parse(text: string) {
  const document = new DOMParser({
    onError: (level, message) => {
      if (level !== 'warning') throw new Error(`${level}: ${message}`)
    },
  }).parseFromString(text, 'application/xml')
  const [root] = [document.documentElement]
  if (root?.namespaceURI !== ATOM || root.localName !== 'feed') throw new Error('no feed')
  const texts = (within: Element, name: string) => [...within.getElementsByTagNameNS(ATOM, name)].map((each) => each.textContent ?? '')
  for (const name of ['id', 'title', 'updated']) if (!texts(root as unknown as Element, name)[0]) throw new Error(`no ${name}`)
  return [...root.getElementsByTagNameNS(ATOM, 'entry')].map((element) => {
    const entry = element as unknown as Element
    const one = (name: string) => texts(entry, name)[0] ?? expect.fail(`an entry without ${name}`)
    return {
      id: one('id'),
      title: one('title'),
      updated: new Date(one('updated')),
      author: one('name'),
      link: entry.getElementsByTagNameNS(ATOM, 'link')[0]?.getAttribute('href') ?? '',
    }
  })
}

interface Answer {
  status: number
  entries: ReturnType<typeof parse>
  text: string
  etag: string | null
}

async function feed(path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await fetch(t.url + path, { headers, redirect: 'manual' })
  const text = await answer.text()
  const isFeed = answer.headers.get('content-type')?.startsWith('application/atom+xml')
  return { status: answer.status, entries: answer.status === 200 && isFeed ? parse(text) : [], text, etag: answer.headers.get('etag') }
}

/** The token on the page of access tokens. */
async function tokenOf(who: TestUser): Promise<string> {
  const browser = new TestBrowser(t.url)
  await browser.signIn(who)
  return String((await browser.open('/-/profile/personal_access_tokens')).$('#feed-token').attr('value'))
}

describe('feeds', () => {
  let [owner, guest, stranger]: TestUser[] = []
  let open: TestProject
  let hidden: TestProject
  let group: { id: number; fullPath: string }
  const titles = ({ entries }: Answer) => entries.map(({ title }) => title)

  beforeAll(async () => {
    owner = await aUser(t.ctx, { name: `Ann ${HOSTILE}` })
    guest = await aUser(t.ctx)
    stranger = await aUser(t.ctx)
    const path = `feeds-${owner.id}`
    const made = (await t.api('post', '/groups', owner).send({ name: 'Feeds', path, visibility: 'public' }).expect(201)).body
    group = { id: made.id, fullPath: path }
    open = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: 'a' } })
    hidden = await aProject(t.ctx, { creator: owner, visibility: 'private', files: { 'docs/a.md': 'a' } })
    await t.api('post', `${hidden.path}/members`, owner).send({ user_id: guest.id, access_level: 10 }).expect(201)
    for (const { path: at } of [open, hidden]) {
      await t
        .api('post', `${at}/issues`, owner)
        .send({ title: `Plain ${HOSTILE}`, labels: 'bug' })
        .expect(201)
      await t.api('post', `${at}/issues`, owner).send({ title: 'Secret', confidential: true }).expect(201)
    }
    await t
      .api('post', `${open.path}/repository/tags`, owner)
      .send({ tag_name: 'v1.0', ref: 'main', message: `First ${HOSTILE}` })
      .expect(201)
    await t
      .api('post', `${open.path}/releases`, owner)
      .send({ tag_name: 'v1.0', name: `One ${HOSTILE}`, description: '*x*' })
      .expect(201)
    await t.api('post', `${open.path}/repository/branches`, owner).send({ branch: 'fix/a.atom', ref: 'main' }).expect(201)
    await t.api('post', `${open.path}/merge_requests`, owner).send({ source_branch: 'fix/a.atom', target_branch: 'main', title: 'MR' })
    await aCommit(t.ctx, open, { 'b.txt': 'b' }, { message: `Title \u0001 ${HOSTILE}\n\nText` })
  })

  it('are well-formed Atom, whatever people write, with links that lead to pages (WB-230)', async () => {
    const visitor = new TestBrowser(t.url)
    const paths = [
      '.atom',
      '/-/commits/main.atom',
      '/commits/main.atom',
      '/-/commits/main/a.atom',
      '/-/tags.atom',
      '/-/releases.atom',
      '/-/issues.atom',
    ]
    for (const path of [
      ...paths.map((each) => `/${open.fullPath}${each}`),
      `/${owner?.username}.atom`,
      `/${group.fullPath}.atom`,
      `/groups/${group.fullPath}.atom`,
    ]) {
      const { status, entries } = await feed(path)
      expect([path, status, path.includes(group.fullPath) || entries.length > 0]).toEqual([path, 200, true])
      expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length)
      for (const { link } of entries) expect([link, (await visitor.open(new URL(link).pathname)).status]).toEqual([link, 200])
    }
    expect(titles(await feed(`/${open.fullPath}/-/tags.atom`))).toEqual(['v1.0'])
    expect(titles(await feed(`/${open.fullPath}/-/releases.atom`))).toEqual([`One ${HOSTILE}`])
    expect(titles(await feed(`/${open.fullPath}/-/commits/main?format=atom`))[0]).toBe(`Title \ufffd ${HOSTILE}`)
    expect((await feed(`/${owner?.username}.atom`)).entries[0]?.author).toBe(`Ann ${HOSTILE}`)
  })

  it('are answered once, without an error in the log (WB-230)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: '1' } })
    const before = t.logged.length
    const answer = await fetch(`${t.url}/${project.fullPath}.atom`, { headers: { accept: 'text/html' } })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/atom+xml; charset=utf-8'])
    await answer.text()
    await fetch(`${t.url}/${project.fullPath}`)
    expect(t.logged.slice(before).filter((line) => line.includes('"level":50'))).toEqual([])
  })

  it('of a ref whose name ends in .atom are of the ref, and its page stays a page (WB-230)', async () => {
    const answer = await fetch(`${t.url}/${open.fullPath}/-/commits/fix/a.atom`, { headers: { accept: 'text/html' } })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect((await feed(`/${open.fullPath}/-/commits/fix/a.atom.atom`)).entries.length).toBeGreaterThan(0)
    expect((await feed(`/${open.fullPath}/-/commits/none.atom`)).status).toBe(404)
    await aCommit(t.ctx, open, { 'feed.atom': '<feed/>' }, { message: 'A file' })
    const file = await fetch(`${t.url}/${open.fullPath}/blob/main/feed.atom`, { headers: { accept: 'text/html' } })
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  })

  it('show the user of a token what that user may see, and nothing more (WB-231)', async () => {
    const [own, other, none] = [await tokenOf(owner as TestUser), await tokenOf(guest as TestUser), await tokenOf(stranger as TestUser)]
    const issues = async (token?: string) =>
      titles(await feed(`/${hidden.fullPath}/-/issues.atom${token ? `?feed_token=${token}` : ''}`)).map((each) => each.slice(0, 8))
    expect([await issues(own), await issues(other), await issues(none), await issues()]).toEqual([['#2 Secre', '#1 Plain'], ['#1 Plain'], [], []])
    const status = async (path: string) => (await feed(path)).status
    expect([await status(`/${hidden.fullPath}.atom?rss_token=${own}`), await status(`/${hidden.fullPath}.atom?feed_token=${none}`)]).toEqual([
      200, 404,
    ])
    // a guest of a private project reads no code
    for (const path of ['commits/main', 'tags', 'releases']) expect(await status(`/${hidden.fullPath}/-/${path}.atom?feed_token=${other}`)).toBe(404)
    for (const path of [`/${hidden.fullPath}.atom`, `/${owner?.username}.atom`, '/dashboard/projects.atom']) {
      const [text, all] = [(await feed(`${path}?feed_token=${other}`)).text, (await feed(`${path}?feed_token=${own}`)).text]
      expect([text.includes('Secret in'), text.includes('commit'), all.includes('Secret in')]).toEqual([
        false,
        path === `/${owner?.username}.atom`,
        true,
      ])
    }
    expect([
      await status('/dashboard/projects.atom'),
      await status('/dashboard/issues.atom'),
      await status(`/${open.fullPath}/-/merge_requests.atom`),
    ]).toEqual([401, 401, 401])
    expect((await feed(`/${open.fullPath}/-/merge_requests.atom?feed_token=${none}`)).entries.length).toBe(1)
    const mine = await t.api('put', `${hidden.path}/issues/1`, owner as TestUser).send({ assignee_ids: [owner?.id] })
    expect([mine.status, titles(await feed(`/dashboard/issues.atom?feed_token=${own}`))]).toEqual([200, [`#1 Plain ${HOSTILE}`]])
  })

  it('take the filters of their page (WB-230)', async () => {
    const filtered = async (query: string) => titles(await feed(`/${open.fullPath}/-/issues.atom${query}`)).length
    expect([
      await filtered(''),
      await filtered('?label_name[]=bug&sort=updated_desc'),
      await filtered('?label_name[]=none'),
      await filtered('?state=closed'),
    ]).toEqual([1, 1, 0, 0])
  })

  it('need a token that opens nothing else, and that is void once it was reset (WB-231)', async () => {
    const token = await tokenOf(owner as TestUser)
    for (const path of [
      `/api/v4${hidden.path}?feed_token=${token}`,
      `/api/v4${hidden.path}?private_token=${token}`,
      `/${hidden.fullPath}/-/raw/main/docs/a.md?feed_token=${token}`,
    ])
      expect([401, 404]).toContain((await fetch(t.url + path)).status)
    const page = new TestBrowser(t.url)
    expect((await page.open(`/${hidden.fullPath}?feed_token=${token}`)).at).toContain('/users/sign_in')
    const browser = new TestBrowser(t.url)
    await browser.signIn(owner as TestUser)
    await browser.open('/-/profile/personal_access_tokens')
    await browser.submit('Reset the token for feeds')
    expect(browser.page?.$('#feed-token').attr('value')).not.toBe(token)
    expect((await feed(`/${open.fullPath}.atom?feed_token=${token}`)).status).toBe(401)
    expect((await feed(`/${open.fullPath}.atom?feed_token=1-${'x'.repeat(43)}`)).status).toBe(401)
    const next = await tokenOf(owner as TestUser)
    expect((await feed(`/${hidden.fullPath}.atom?feed_token=${next}`)).status).toBe(200)
  })

  it('are named by the pages that show the same, and cached by readers (WB-230)', async () => {
    const visitor = new TestBrowser(t.url)
    const pages = ['', '/activity', '/-/commits/main', '/-/tags', '/-/releases', '/-/issues?label_name[]=bug']
    for (const path of [
      ...pages.map((each) => `/${open.fullPath}${each}`),
      `/${owner?.username}`,
      `/groups/${group.fullPath}`,
      `/groups/${group.fullPath}/-/activity`,
    ]) {
      const page = await visitor.open(path)
      const at = page.$('link[rel="alternate"][type="application/atom+xml"]').attr('href') ?? expect.fail(`${path} names no feed`)
      const { status, etag } = await feed(at)
      expect([at, status, (await feed(at, { 'if-none-match': String(etag) })).status]).toEqual([at, 200, 304])
    }
  })

  it('have dates that the format can write', () => {
    const at = (updated: Date) =>
      parse(atomOf({ title: 'x', self: 'x', page: 'x', entries: [{ id: 'x', title: 'x', link: 'x', author: 'x', updated }] }))[0]?.updated
    expect([at(new Date(8.64e15))?.getUTCFullYear(), at(new Date(-8.64e15))?.getUTCFullYear()]).toEqual([9999, 0])
  })
})

describe('the activity of a group', () => {
  it('has what happened in projects below it that the reader may see (WB-233)', async () => {
    const owner = await aUser(t.ctx)
    const path = `act-${owner.id}`
    const { id } = (await t.api('post', '/groups', owner).send({ name: 'A', path, visibility: 'public' }).expect(201)).body
    const sub = (await t.api('post', '/groups', owner).send({ name: 'S', path: 's', parent_id: id, visibility: 'public' }).expect(201)).body
    for (const [namespace_id, visibility, title] of [
      [id, 'private', 'Hidden <i>'],
      [sub.id, 'public', 'Shown <i>'],
    ]) {
      const { id: project } = (
        await t
          .api('post', '/projects', owner)
          .send({ name: `p-${visibility}`, namespace_id, visibility })
          .expect(201)
      ).body
      await t.api('post', `/projects/${project}/issues`, owner).send({ title }).expect(201)
    }
    const member = new TestBrowser(t.url)
    await member.signIn(owner)
    const seen = async (browser: TestBrowser) => {
      const { text, $ } = await browser.open(`/groups/${path}/-/activity`)
      return [text.includes('Hidden <i>'), text.includes('Shown <i>'), $('main i').length]
    }
    expect([await seen(new TestBrowser(t.url)), await seen(member)]).toEqual([
      [false, true, 0],
      [true, true, 0],
    ])
  })
})
