import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aCommit, aProject, aUser, type TestUser } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'
import { bareOf } from '../support/repositories.js'

const t = testApp()

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}

interface Offered {
  groups: Record<string, string[]>
  status: string
  links: string[]
  marks: string[]
}

/** What is offered at an address of choices. */
async function offered(browser: TestBrowser, at: string): Promise<Offered> {
  const { $, status } = await browser.open(at)
  expect(status).toBe(200)
  const texts = (selector: string, within = $.root()) =>
    within
      .find(selector)
      .toArray()
      .map((each) => $(each).text().trim())
  const groups = $('[role=group]')
    .toArray()
    .map((group) => [$(group).attr('aria-label') ?? '', texts('[role=option]', $(group) as never)])
  const links = $('[role=option]')
    .toArray()
    .map((each) => $(each).attr('href') ?? '')
  return { groups: Object.fromEntries(groups), status: texts('p')[0] ?? '', links, marks: texts('mark') }
}

describe('the files of a revision', () => {
  it('come as one list for the finder, with the addresses of those that are no UTF-8, and to those who read the code (WB-560)', async () => {
    const [owner, guest] = [await aUser(t.ctx), await aUser(t.ctx)]
    const files = { 'src/a b.ts': 'a', 'src/deep/c.ts': 'c', 'README.md': 'r' }
    const project = await aProject(t.ctx, { creator: owner, guest, visibility: 'private', files })
    const at = `/${project.fullPath}/-/find_file/main?list=true`
    const { text, response } = await (await signedIn(owner)).open(at).then((page) => ({ text: page.text, response: page }))
    expect(response.status).toBe(200)
    const list = JSON.parse(text)
    expect(list.files.sort()).toEqual(['README.md', 'src/a b.ts', 'src/deep/c.ts'])
    expect([list.before, list.bound]).toEqual([`/${project.fullPath}/-/blob/main/`, null])
    expect((await (await signedIn(guest)).open(at)).status).toBe(403)
  })

  it('are ranked with letters in their order, those in the name first, and white space left out (WB-62)', async () => {
    const files = { 'fi/nd/er/x': '', 'a/find-the-error': '', 'a/f-i-n-d-e-r': '', 'b/myfinder.ts': '', 'c/finder.ts': '' }
    const project = await aProject(t.ctx, { visibility: 'public', files })
    const found = await new TestBrowser(t.url).open(`/${project.fullPath}/-/find_file/main?search=find%20ER`)
    const paths = found
      .$('.rows a')
      .toArray()
      .map((a) => found.$(a).text())
    expect(paths).toEqual(['c/finder.ts', 'b/myfinder.ts', 'a/f-i-n-d-e-r', 'a/find-the-error', 'fi/nd/er/x'])
  })

  it('are bounded, and the answer says so (WB-560)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const bare = bareOf(t, project)
    // folders that hold one another: 60 000 entries of a few objects
    const blob = bare.git('rev-parse', 'main:a').trim()
    const tree = (lines: string[]) =>
      bare
        .gitBytes(['mktree'], `${lines.join('\n')}\n`)
        .toString()
        .trim()
    const inner = tree(Array.from({ length: 300 }, (_, i) => `100644 blob ${blob}\tf${i}`))
    const outer = tree(Array.from({ length: 200 }, (_, i) => `040000 tree ${inner}\td${i}`))
    const commit = bare.git('commit-tree', outer, '-m', 'many').trim()
    bare.git('update-ref', 'refs/heads/many', commit)
    const browser = new TestBrowser(t.url)
    const list = JSON.parse((await browser.open(`/${project.fullPath}/-/find_file/many?list=true`)).text)
    expect([list.files.length, list.bound]).toEqual([50_000, 'Only the first 50000 files of 60200 entries are looked at.'])
    expect((await browser.open(`/${project.fullPath}/-/find_file/many?search=f299`)).text).toContain(list.bound)
  })
})

describe('the menu of branches and tags', () => {
  it('offers the default branch, then the newest, by a part of the name, and says how many there are (WB-562)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'docs/a.txt': 'a' } })
    const bare = bareOf(t, project)
    const day = 86_400
    bare.commits(
      ...['aged', 'fresh', 'middle'].map((name, i) => ({ branch: `topic/${name}`, date: 1_900_000_000 + ([1, 20, 10][i] as number) * day })),
    )
    bare.git('tag', 'v1', 'main')
    bare.git('tag', 'of-a-file', 'main:docs/a.txt')
    const browser = new TestBrowser(t.url)
    const at = `/${project.fullPath}/-/refs/switch?choices=true&destination=tree`
    const all = await offered(browser, at)
    expect(all.groups).toEqual({ Branches: ['maindefault', 'topic/fresh', 'topic/middle', 'topic/aged'], Tags: ['v1'] })
    expect(all.links[1]).toBe(`/${project.fullPath}/-/tree/topic/fresh`)
    const some = await offered(browser, `${at}&search=MID&from=topic/middle`)
    expect([some.groups, some.marks]).toEqual([{ Branches: ['topic/middle'] }, ['mid']])
    const names = Array.from({ length: 40 }, (_, i) => `create refs/heads/many/${i} ${bare.git('rev-parse', 'main').trim()}\n`)
    bare.gitBytes(['update-ref', '--stdin'], names.join(''))
    const many = await offered(browser, `${at}&search=many/`)
    expect([many.groups['Branches']?.length, many.status]).toEqual([30, '30 of 40 branches, 0 tags'])
    // the one of exactly this name is there, however old
    expect((await offered(browser, `${at}&search=many/3`)).groups['Branches']?.[0]).toBe('many/3')
    const page = await browser.open(`/${project.fullPath}/-/refs/switch?search=many`)
    expect(page.text).toContain('The newest 30 of 40 are shown.')
  })

  it('is a form without scripts, and keeps the path (WB-562)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'docs/a.txt': 'a' } })
    await aCommit(t.ctx, project, { 'docs/b.txt': 'b' }, { branch: 'two', start_branch: 'main' })
    const browser = new TestBrowser(t.url)
    const { $ } = await browser.open(`/${project.fullPath}/-/blob/main/docs/a.txt`)
    const form = $('details.refs form')
    const query = new URLSearchParams({ search: 'tw' })
    for (const field of form.find('input[type=hidden]').toArray()) query.set($(field).attr('name') ?? '', $(field).attr('value') ?? '')
    const found = await browser.open(`${form.attr('action')}?${query}`)
    expect((await browser.open(found.$('.rows a').attr('href') ?? '')).at).toBe(`/${project.fullPath}/-/blob/two/docs/a.txt`)
  })
})

describe('the search', () => {
  it('offers projects, issues and merge requests by number or words, only what the reader may see (WB-563)', async () => {
    const [owner, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const name = `quokka${owner.id}`
    const project = await aProject(t.ctx, { creator: owner, name, visibility: 'private', files: { a: 'a' } })
    await t
      .api('post', `${project.path}/issues`, owner)
      .send({ title: `Lost <${name}>` })
      .expect(201)
    await aMergeRequest(t, { project, caller: owner, source: 'topic', title: `Find ${name}` })
    const mine = await signedIn(owner)
    const here = `/${project.fullPath}/-/search/suggestions?search=`
    expect((await offered(mine, `${here}1`)).groups).toEqual({
      'Issues of this project': [`Lost <${name}> #1`],
      'Merge requests of this project': [`Find ${name} !1`],
    })
    expect((await offered(mine, `${here}%231`)).links).toEqual([`/${project.fullPath}/-/issues/1`])
    expect((await offered(mine, `${here}!1`)).links).toEqual([`/${project.fullPath}/-/merge_requests/1`])
    const words = await offered(mine, `/search/suggestions?search=${name}`)
    expect(words.groups).toEqual({
      Projects: [project.fullPath],
      Issues: [`Lost <${name}> ${project.fullPath}#1`],
      'Merge requests': [`Find ${name} ${project.fullPath}!1`],
    })
    expect([words.status, new Set(words.marks)]).toEqual(['3 suggestions. Enter searches.', new Set([name])])
    for (const other of [await signedIn(stranger), new TestBrowser(t.url)]) {
      expect((await offered(other, `/search/suggestions?search=${name}`)).groups).toEqual({})
      const closed = await other.open(`${here}1`)
      expect([closed.$('[role=option]').length, closed.text.includes(name)]).toEqual([0, false])
    }
    // nothing is looked for by one letter, and numbers too large are none
    expect((await offered(mine, '/search/suggestions?search=q')).groups).toEqual({})
    expect((await offered(mine, `${here}99999999999999`)).groups).toEqual({})
    expect((await mine.open(`/search/suggestions?search=${'x'.repeat(300)}`)).status).toBe(400)
  })

  it('offers something 120 times a minute to one reader (WB-563)', async () => {
    const [one, two] = [await signedIn(await aUser(t.ctx)), await signedIn(await aUser(t.ctx))]
    for (let i = 0; i < 120; i++) expect((await one.open('/search/suggestions?search=')).status).toBe(200)
    expect((await one.open('/search/suggestions?search=')).status).toBe(429)
    expect((await two.open('/search/suggestions?search=')).status).toBe(200)
  })
})
