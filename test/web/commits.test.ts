import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { type Opened, TestBrowser } from '../support/browser.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}
const HOSTILE = '<script>alert(1)</script>'
const commit = async (project: TestProject, who: TestUser, message: string, actions: object[], more: object = {}) =>
  (
    await t
      .api('post', `${project.path}/repository/commits`, who)
      .send({ branch: 'main', commit_message: message, actions, ...more })
      .expect(({ status, text }) => status === 201 || expect.fail(text))
  ).body.id as string
const titlesOf = ({ $ }: Opened) =>
  $('.rows .title')
    .toArray()
    .map((a) => $(a).text())

describe('the list of commits', () => {
  it('is filtered by message, author, path and day (WB-66)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: '1' } })
    await commit(project, who, 'Change the needle', [{ action: 'update', file_path: 'a', content: '2' }], {
      author_name: 'Zoë',
      author_email: 'z@example.org',
    })
    await commit(project, who, 'Change hay', [{ action: 'create', file_path: 'b', content: 'hay' }])
    const browser = new TestBrowser(t.url)
    const base = `/${project.fullPath}/-/commits/main`
    expect(titlesOf(await browser.open(`${base}?search=NEEDLE`))).toEqual(['Change the needle'])
    expect(titlesOf(await browser.open(`${base}?author=zo%C3%AB`))).toEqual(['Change the needle'])
    expect(titlesOf(await browser.open(`${base}?author=z@example.org&search=hay`))).toEqual([])
    expect(titlesOf(await browser.open(`${base}/b?search=change`))).toEqual(['Change hay'])
    expect(titlesOf(await browser.open(`${base}?until=2000-01-01`))).toEqual([])
    expect(titlesOf(await browser.open(`${base}?since=2000-01-01`)).length).toBe(3)
    expect((await browser.open(`${base}?since=2000-01-01`)).$('[name=since]').val()).toBe('2000-01-01')
  })
})

describe('a commit', () => {
  it('is commented on by those who may, and the comments are read by all who read it (WB-67)', async () => {
    const [owner, guest] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, guest, visibility: 'public', files: { a: 'one\ntwo\n' } })
    const sha = await commit(project, owner, 'Change', [{ action: 'update', file_path: 'a', content: 'one\n2\n' }])
    const at = `/${project.fullPath}/-/commit/${sha}`
    const browser = await signedIn(owner)
    await browser.open(at)
    expect((await browser.submit('Comment', { 'note[note]': '  ' })).status).toBe(422)
    const made = await browser.submit('Comment', { 'note[note]': `**Good** ${HOSTILE}` })
    expect([made.$('.note .prose strong').text(), made.$('main script').length]).toEqual(['Good', 0])
    expect((await t.api('get', `${project.path}/repository/commits/${sha}/comments`, owner).expect(200)).body).toHaveLength(1)
    const page = await new TestBrowser(t.url).open(at)
    expect([page.$('.note .prose strong').text(), page.$('button:contains("Comment")').length]).toEqual(['Good', 0])
    expect((await (await signedIn(guest)).open(at)).$('.picks').length).toBe(0)
    // its author changes it, and gives it an emoji
    await browser.open(at)
    const to = (name: string) => browser.page?.$(`a[href*="${name}="]`).first().attr('href') ?? ''
    expect((await browser.open(to('react'))).$('button[aria-label="tada"]').length).toBe(1)
    await browser.open(to('edit_note'))
    expect((await browser.submit('Save comment', { 'note[note]': '**Better**' })).$('.note .prose strong').text()).toBe('Better')
    const shown = await browser.submit('Comment', { 'note[note]': '**why**', preview: 'note[note]' })
    expect([shown.$('.preview strong').text(), shown.$('.preview').length]).toEqual(['why', 1])
  })

  it('has threads under the lines that they are about, and opens the lines between (WB-67)', async () => {
    const owner = await aUser(t.ctx)
    const text = Array.from({ length: 40 }, (_, i) => `line ${i + 1}\n`)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a b': text.join('') } })
    const sha = await commit(project, owner, 'Change', [{ action: 'update', file_path: 'a b', content: text.join('').replace('line 20\n', 'new\n') }])
    const at = `/${project.fullPath}/-/commit/${sha}`
    const browser = await signedIn(owner)
    const page = await browser.open(`${at}?view=inline`)
    const button = page.$('tr.added button.remark')
    const kept = page.$(`form#${button.attr('form')}`).serialize()
    const withForm = await browser.open(`${at}?${kept}&line=${button.attr('value')}`)
    expect(withForm.$('tr.added + tr form').attr('action')).toBe(`${at}/lines`)
    const seen = await browser.submit('Comment on line', { 'note[note]': '**so**', preview: 'note[note]' })
    expect([seen.$('tr.added + tr .preview strong').text(), seen.$('.preview').length]).toEqual(['so', 1])
    expect((await browser.submit('Comment on line', { 'note[note]': ' ' })).status).toBe(422)
    const made = await browser.submit('Comment on line', { 'note[note]': `About ${HOSTILE}` })
    expect([made.$('tr.added + tr .prose').text().trim(), made.$('main script').length]).toEqual(['About', 0])
    const [{ path, line, line_type }] = (await t.api('get', `${project.path}/repository/commits/${sha}/comments`, owner).expect(200)).body
    expect([path, line, line_type]).toEqual(['a b', 20, 'new'])
    expect((await new TestBrowser(t.url).open(at)).$('tr.added + tr .prose').length).toBe(1)
    expect(
      (
        await browser.post(`${at}/lines`, {
          ...Object.fromEntries([['authenticity_token', made.$('[name=authenticity_token]').val() as string]]),
          path: 'a b',
          line: '_400',
          'note[note]': 'x',
        })
      ).status,
    ).toBe(422)
    expect(page.$('.lines tr').length).toBe(9)
    const opened = await browser.open(page.$('a:contains("All lines")').attr('href') as string)
    expect([opened.$('.lines tr.context').length, opened.$('.lines tr.context .code').first().text()]).toEqual([39, 'line 1'])
  })

  it('shows 1,500 lines, files beyond them alone, and no button of another reader (WB-370, WB-371)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: '1' } })
    const lines = (n: number) => Array.from({ length: n }, (_, i) => `line ${i} <i>`).join('\n')
    const parent = (await t.api('get', `${project.path}/repository/branches/main`).expect(200)).body.commit.id
    const create = (file_path: string, n: number) => ({ action: 'create', file_path, content: lines(n) })
    const sha = await commit(project, who, 'Much', [create('b', 1_000), create('c', 700), create('d', 20)])
    const browser = await signedIn(who)
    const at = `/${project.fullPath}/-/commit/${sha}`
    const numbersOf = ({ $ }: Opened) =>
      $('.box.diff[id]')
        .toArray()
        .map((box) => $(box).find('tr.added').length)
    const before = await browser.open(at)
    expect([numbersOf(before), before.$('.summary .plus').text(), before.$('.diff i').length]).toEqual([[1_000, 0, 20], '+1000+700+20', 0])
    const link = before.$('a:contains("Show them")').attr('href') ?? ''
    const alone = await browser.open(link)
    expect([numbersOf(alone), alone.$('.diff').attr('id')]).toEqual([[700], new URL(link, t.url).searchParams.get('only')])
    expect((await browser.open(alone.$('a:contains("All files")').attr('href') ?? '')).at).toBe(`${at}?`)
    // a thread on a line that is left out stands below, and under its line where that is shown
    const key = '_600'
    const anchor = new URL(link, t.url).searchParams.get('only') ?? ''
    await browser.open(`${link}&on=${anchor}&line=${key}`)
    await browser.submit('Comment on line', { 'note[note]': 'About 600' })
    const after = await browser.open(at)
    expect([after.$('.diff .thread').length, after.text.includes('About 600')]).toEqual([0, true])
    expect((await browser.open(link)).$('.diff tr.under').text()).toContain('About 600')
    // the same rows, but without buttons
    expect(after.$('.diff button.remark').length).toBe(1_020)
    const visitor = await new TestBrowser(t.url).open(at)
    expect([numbersOf(visitor), visitor.$('.diff button.remark').length]).toEqual([[1_000, 0, 20], 0])
    const parallel = await browser.open(`${at}?view=parallel`)
    expect([parallel.$('table.parallel tr').length, (await browser.open(at)).$('table.parallel').length]).toEqual([1_024, 0])
    await t.api('post', `${project.path}/repository/branches`, who).send({ branch: 'old', ref: parent }).expect(201)
    const compared = await browser.open(`/${project.fullPath}/-/compare/old...main`)
    expect([numbersOf(compared), numbersOf(await browser.open(compared.$('a:contains("Show them")').attr('href') ?? ''))]).toEqual([
      [1_000, 0, 20],
      [700],
    ])
  })

  it('is kept for each kind of reader, and sent to one reader after the other when it is large (WB-374)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: '1' } })
    const create = (_: unknown, i: number) => ({ action: 'create', file_path: `files/number-${i}`, content: `line ${i}\n`.repeat(12) })
    const sha = await commit(project, who, 'Many', Array.from({ length: 100 }, create))
    const at = `/${project.fullPath}/-/commit/${sha}`
    // large answers are compressed in turns
    const [member, visitor] = [1, 2].map(() => new TestBrowser(t.url, { 'accept-encoding': 'gzip' })) as [TestBrowser, TestBrowser]
    await member.signIn(who)
    const first = await member.open(at)
    expect([first.html.length > 200_000, first.$('button.remark').length, first.$('svg.icon use').length > 0]).toEqual([true, 1_200, true])
    const arrived: string[] = []
    const read = async (name: string, browser: TestBrowser, buttons: number) => {
      const { $ } = await browser.open(at)
      arrived.push(name)
      expect([$('.diff tr.added').length, $('button.remark').length]).toEqual([1_200, buttons])
    }
    await Promise.all([...Array.from({ length: 8 }, () => read('member', member, 1_200)), read('visitor', visitor, 0)])
    // the many of one reader do not stand before the one of another
    expect(arrived.indexOf('visitor')).toBeLessThan(8)
  })

  it('leads to its merge requests and pipelines, as far as the reader may see them (WB-373)', async () => {
    const [who, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: '1' } })
    const sha = await commit(project, who, 'Topic', [{ action: 'create', file_path: 'b', content: 'b' }], { branch: 'topic', start_branch: 'main' })
    const request = { source_branch: 'topic', target_branch: 'main', title: HOSTILE }
    await t.api('post', `${project.path}/merge_requests`, who).send(request).expect(201)
    await t.api('post', `${project.path}/statuses/${sha}`, who).send({ state: 'failed', ref: 'topic', name: 'test' }).expect(201)
    const browser = await signedIn(who)
    const at = `/${project.fullPath}/-/commit/${sha}`
    const page = await browser.open(at)
    const requests = await browser.open(page.$('a:contains("Merge requests")').last().attr('href') ?? '')
    expect([requests.$('.rows li').length, requests.text.includes(HOSTILE), requests.$('main script').length]).toEqual([1, true, 0])
    const pipelines = await browser.open(page.$('a[href$="/pipelines"]').last().attr('href') ?? '')
    expect([pipelines.at, pipelines.$('.rows .badge').text().trim()]).toEqual([`/${project.fullPath}/-/pipelines?sha=${sha}`, 'failed'])
    const head = (await t.api('get', `${project.path}/repository/branches/main`).expect(200)).body.commit.id
    expect((await browser.open(at.replace(sha, `${head}/pipelines`).replace('//', '/'))).$('.rows .badge').length).toBe(0)
    // what the API refuses, the page does not offer
    await t.api('put', project.path, who).send({ merge_requests_access_level: 'private', visibility: 'public' }).expect(200)
    expect((await (await signedIn(stranger)).open(`${at}/merge_requests`)).$('.rows li').length).toBe(0)
    const visitor = new TestBrowser(t.url)
    expect([(await visitor.open(`${at}/merge_requests`)).at, (await visitor.open(at)).$(`a[href="${at}/merge_requests"]`).length]).toEqual([
      `/users/sign_in?return_to=${encodeURIComponent(`${at}/merge_requests`)}`,
      0,
    ])
    expect((await browser.open(`/${project.fullPath}/-/commit/${'0'.repeat(40)}/merge_requests`)).status).toBe(404)
  })

  it('is picked and reverted on a branch, or on a new one with a merge request (WB-67)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: 'one\n' } })
    await t.api('post', `${project.path}/repository/branches`, owner).send({ branch: 'old', ref: 'main' }).expect(201)
    const sha = await commit(project, owner, 'Change', [{ action: 'update', file_path: 'a', content: 'two\n' }])
    const browser = await signedIn(owner)
    const at = `/${project.fullPath}/-/commit/${sha}`
    await browser.open(at)
    expect((await browser.submit('Cherry-pick', { start_branch: 'nowhere' })).status).toBe(404)
    await browser.open(at)
    const picked = await browser.submit('Cherry-pick', { start_branch: 'old' })
    expect([picked.text.includes('This commit is on the branch old.'), picked.$('h1').text()]).toEqual([true, 'Change'])
    await browser.open(at)
    const again = await browser.submit('Cherry-pick', { start_branch: 'old' })
    expect([again.status, again.text]).toEqual([422, expect.stringContaining('cannot cherry-pick this commit automatically')])
    expect(again.$('#cherry_pick_start_branch').val()).toBe('old')
    await browser.open(at)
    const request = await browser.submit('Revert', { start_branch: 'main', create_merge_request: 'revert' })
    expect(request.at).toContain(`/-/merge_requests/new?merge_request%5Bsource_branch%5D=revert-${sha.slice(0, 8)}`)
    expect((await browser.open(`/${project.fullPath}/-/blob/revert-${sha.slice(0, 8)}/a`)).$('.lines .code').text()).toBe('one')
    const refs = await browser.open(`${at}/branches`)
    expect(
      refs
        .$('.rows a')
        .toArray()
        .map((a) => refs.$(a).text()),
    ).toEqual(['main', `revert-${sha.slice(0, 8)}`])
  })

  it('shows changed words, leaves out white space, and both versions of a picture (WB-60)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: 'const one = <b>\nend\n' } })
    const sha = await commit(project, owner, 'Change', [
      { action: 'update', file_path: 'a', content: 'const two = <b>\n  end\n' },
      { action: 'create', file_path: 'p.png', content: Buffer.from([137, 80, 0, 1]).toString('base64'), encoding: 'base64' },
    ])
    const browser = new TestBrowser(t.url)
    const page = await browser.open(`/${project.fullPath}/-/commit/${sha}`)
    expect([page.$('.removed mark').text(), page.$('.added mark').text(), page.$('main b').length]).toEqual(['one', 'two  ', 0])
    expect(page.$('.picture img').attr('src')).toBe(`/${project.fullPath}/-/raw/${sha}/p.png`)
    const bare = await browser.open(`/${project.fullPath}/-/commit/${sha}?w=1&view=parallel`)
    expect([bare.$('td.removed').text(), bare.$('td.added').text()]).toEqual(['const one = <b>', 'const two = <b>'])
  })
})
