import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser, type TestUser } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'

const t = testApp()

const LINES = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight']
const text = (lines: string[]) => lines.map((line) => `${line}\n`).join('')
/** A grey pixel, and bytes that are no picture. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=='

async function signedIn(who: TestUser) {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}

/** A merge request that changes lines 2 and 3 of a text and adds pictures. */
async function aReview() {
  const [owner, author] = [await aUser(t.ctx), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { creator: owner, developer: author, visibility: 'public', files: { 'a.txt': text(LINES) } })
  const actions = [
    { action: 'update', file_path: 'a.txt', content: text(LINES.with(1, 'TWO').with(2, 'THREE')) },
    { action: 'create', file_path: '<b>.png', content: PNG, encoding: 'base64' },
    { action: 'create', file_path: 'none.png', content: 'AAAA', encoding: 'base64' },
  ]
  const commit = { branch: 'topic', start_branch: 'main', commit_message: 'Work', actions }
  await t.api('post', `${project.path}/repository/commits`, owner).send(commit).expect(201)
  await t.ctx.jobs.drain()
  const request = await aMergeRequest(t, { project, caller: author, source: 'topic', files: null })
  await t.ctx.jobs.drain()
  return { owner, author, project, request, at: `/${project.fullPath}/-/merge_requests/${request.iid}` }
}

/** Follows the button beside a line, or that of a file, which begins a comment. */
async function beginComment(browser: TestBrowser, at: string, path: string, query: Record<string, string>) {
  const $ = (await browser.open(`${at}/diffs`)).$
  const form = $('form[data-comment]').filter((_, each) => $(each).closest('.diff').find('summary').first().text().includes(path))
  const given = new URLSearchParams(form.serializeArray().map(({ name, value }) => [name, value]))
  for (const [name, value] of Object.entries(query)) given.set(name, value)
  return browser.open(`${form.attr('action')?.replace(/#.*/, '')}?${given}`)
}

describe('a comment on several lines', () => {
  it('is written by the number of its first line, stands under its last and says both (WB-261)', async () => {
    const { owner, author, at, request } = await aReview()
    const mine = await signedIn(owner)
    await beginComment(mine, at, 'a.txt', { line: '_3' })
    expect((await mine.submit('Add comment now', { 'note[note]': 'x', from: '7', how: 'now' })).status).toBe(422)
    expect(mine.page?.$('#comment [name=from]').val()).toBe('7')
    const made = await mine.submit('Add comment now', { 'note[note]': 'Both lines', from: '1', how: 'now' })
    expect(made.$('tr.under .thread .head').first().text()).toContain('Lines 1–3')
    const thread = (await t.api('get', `${request.path}/discussions`, owner).expect(200)).body.at(-1)
    expect(thread.notes[0].position.line_range.start).toMatchObject({ type: null, old_line: 1, new_line: 1 })
    const theirs = await signedIn(author)
    const overview = await theirs.open(at)
    expect(overview.$('.thread .head code').text()).toBe('a.txt:1–3')
    expect(
      overview
        .$('.excerpt .code')
        .toArray()
        .map((cell) => overview.$(cell).text()),
    ).toEqual(['one', 'two', 'three', 'TWO', 'THREE'])
  })

  it('suggests all of its lines, waits in a review, and is applied (WB-100, WB-261)', async () => {
    const { owner, author, at, project } = await aReview()
    const mine = await signedIn(owner)
    await beginComment(mine, at, 'a.txt', { line: '_3', from: '2' })
    await mine.submit('Suggest a change', { 'note[note]': '', show: 'suggestion' })
    expect(mine.page?.$('#comment textarea').val()).toBe('```suggestion:-1+0\nTWO\nTHREE\n```\n')
    const kept = await mine.submit('Add to review', { 'note[note]': '```suggestion:-1+0\n2 <i>\n3\n```', how: 'review' })
    expect(kept.$('.draft').text()).toContain('Lines 2–3')
    const inDraft = kept.$('.draft .suggestion :is(.removed, .added) .code').toArray()
    expect(inDraft.map((cell) => kept.$(cell).text())).toEqual(['TWO', 'THREE', '2 <i>', '3'])
    expect(kept.$('.draft .suggestion button').length).toBe(0)
    await mine.open(at)
    await mine.submit('Submit review')
    const theirs = await signedIn(author)
    const shown = await theirs.open(at)
    expect(
      shown
        .$('.suggestion .removed .code')
        .toArray()
        .map((cell) => shown.$(cell).text()),
    ).toEqual(['TWO', 'THREE'])
    await theirs.submit('Apply suggestion')
    const file = await t.api('get', `${project.path}/repository/files/a.txt/raw?ref=topic`, author).expect(200)
    expect(file.text).toBe(text(LINES.with(1, '2 <i>').with(2, '3')))
  })
})

describe('a comment on a picture', () => {
  it('is on the point that was clicked or typed, which has a mark (WB-262, DI-12)', async () => {
    const { owner, author, at, request } = await aReview()
    const mine = await signedIn(owner)
    const form = await beginComment(mine, at, '<b>.png', { line: 'file' })
    expect(form.$('#comment input[type=image]').attr('src')).toContain('%3Cb%3E.png')
    const clicked = await mine.submit('Add comment now', { 'note[note]': 'A point', 'point.x': '1', 'point.y': '0' })
    const thread = (await t.api('get', `${request.path}/discussions`, owner).expect(200)).body.at(-1)
    const position = { position_type: 'image', x: 1, y: 0, width: 1, height: 1, old_line: null, new_line: null, new_path: '<b>.png' }
    expect(thread.notes[0].position).toMatchObject(position)
    expect(clicked.$('svg.marked a').attr('href')).toBe(`#discussion_${thread.id}`)
    expect(clicked.$(`#discussion_${thread.id}`).length).toBe(1)
    await beginComment(mine, at, '<b>.png', { line: 'file' })
    const kept = await mine.submit(`${at}/discussions`, { 'note[note]': 'Another', 'position[x]': '0', 'position[y]': '1', how: 'review' })
    expect(
      kept
        .$('svg.marked text')
        .toArray()
        .map((each) => kept.$(each).text().trim()),
    ).toEqual(['1', '2'])
    const theirs = await signedIn(author)
    expect((await theirs.open(at)).$('.thread .head code').text()).toBe('<b>.png at 1, 0')
    expect((await theirs.open(`${at}/diffs`)).$('svg.marked text').length).toBe(1)
  })

  it('whose size is not known is about the file', async () => {
    const { owner, at } = await aReview()
    const mine = await signedIn(owner)
    expect((await beginComment(mine, at, 'none.png', { line: 'file' })).$('#comment fieldset').length).toBe(0)
    expect((await mine.submit('Add comment now', { 'note[note]': 'Odd', 'point.x': '1', 'point.y': '1', how: 'now' })).$('svg.marked').length).toBe(0)
    expect(mine.page?.text).toContain('Odd')
  })
})

describe('a comment where other changes are shown', () => {
  it('lands on the line of the version, and is not offered on lines that it does not have (WB-263)', async () => {
    const { owner, at, project, request } = await aReview()
    const commit = async (lines: string[]) => {
      const actions = [{ action: 'update', file_path: 'a.txt', content: text(lines) }]
      const { body } = await t
        .api('post', `${project.path}/repository/commits`, owner)
        .send({ branch: 'topic', commit_message: 'More', actions })
        .expect(201)
      await t.ctx.jobs.drain()
      return body.id as string
    }
    const browser = await signedIn(owner)
    const first = (await t.api('get', `${request.path}/commits`, owner).expect(200)).body[0].id
    // before line 3, and line 2 itself; the last line only in its white space
    await commit(['one', '2', 'new', 'THREE', 'four', 'five', 'six', 'seven', ' eight'])
    const versions = (await t.api('get', `${request.path}/versions`, owner).expect(200)).body
    const offered = async (query: string) => {
      const { $ } = await browser.open(`${at}/diffs?${query}`)
      return $('.diff:has(summary:contains("a.txt")) button.remark')
        .toArray()
        .map((each) => $(each).val())
    }
    // in the first commit, line 2 has been changed since, and old lines are not those of another change
    const ofCommit = await offered(`commit_id=${first}`)
    expect([ofCommit.includes('_2'), ofCommit.includes('_3'), ofCommit.includes('2_')]).toEqual([false, true, true])
    const comment = async (query: string, line: string) => {
      const $ = (await browser.open(`${at}/diffs?${query}`)).$
      const form = $('form[data-comment]').filter((_, each) => $(each).closest('.diff').find('summary').first().text().includes('a.txt'))
      const given = new URLSearchParams(form.serializeArray().map(({ name, value }) => [name, value]))
      given.set('line', line)
      await browser.open(`${form.attr('action')?.replace(/#.*/, '')}?${given}`)
      const made = await browser.submit(`${at}/discussions`, { 'note[note]': `On ${line}`, how: 'now' })
      expect([made.status, made.at.includes(query)]).toEqual([200, true])
      return (await t.api('get', `${request.path}/discussions`, owner).expect(200)).body.at(-1).notes[0].position
    }
    const { head_commit_sha: head_sha, base_commit_sha: base_sha } = versions[0]
    expect(await comment(`commit_id=${first}`, '_3')).toMatchObject({ head_sha, base_sha, old_line: null, new_line: 4 })
    const since = `start_sha=${versions[1].head_commit_sha}`
    const compared = await offered(since)
    expect([compared.includes('2_'), compared.includes('_3')]).toEqual([false, true])
    expect(await comment(since, '_3')).toMatchObject({ head_sha, base_sha, new_line: 3 })
    // unchanged here, but added in the version
    expect(await comment(since, '3_4')).toMatchObject({ head_sha, old_line: null, new_line: 4 })
    expect(await comment('w=1', '_3')).toMatchObject({ head_sha, base_sha, new_line: 3 })
    // without its white space the last line is unchanged; in the version it is an added one
    expect(await comment('w=1', '8_9')).toMatchObject({ old_line: null, new_line: 9 })
  })
})

describe('lists and boards', () => {
  it('of merge requests are filtered by approvals and source, and ordered by title and merge (WB-265)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: 'a\n' } })
    const made = []
    for (const title of ['b <i>', 'Draft: a', 'c']) made.push(await aMergeRequest(t, { project, title }))
    await t.ctx.jobs.drain()
    await t.api('post', `${made[2]?.path}/approve`, owner).expect(201)
    await t.api('put', `${made[2]?.path}/merge`, owner).expect(200)
    await t.api('put', `${made[0]?.path}/merge`, owner).expect(200)
    await t.ctx.jobs.drain()
    const browser = await signedIn(owner)
    const titles = async (query: string) => {
      const { $, status } = await browser.open(`/${project.fullPath}/-/merge_requests?state=all&${query}`)
      expect(status).toBe(200)
      return $('.rows > li .title')
        .toArray()
        .map((each) => $(each).text())
    }
    expect(await titles('sort=title_asc')).toEqual(['b <i>', 'c', 'Draft: a'])
    expect(await titles('sort=merged_at_desc&state=merged')).toEqual(['b <i>', 'c'])
    expect(await titles(`approved_by_usernames[]=${owner.username}`)).toEqual(['c'])
    expect(await titles('wip=yes')).toEqual(['Draft: a'])
    expect((await titles(`source_project_id=${project.id}`)).length).toBe(3)
    expect(await titles('source_project_id=999999')).toEqual([])
  })

  it('of issues show what the filters of the address leave, also after a move (WB-133, WB-265)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    await t.api('post', `${project.path}/labels`, owner).send({ name: 'doing', color: '#fff', priority: 1 }).expect(201)
    await t.api('post', `${project.path}/milestones`, owner).send({ title: 'v1' }).expect(201)
    const milestone_id = (await t.api('get', `${project.path}/milestones`, owner)).body[0].id
    const issue = (body: object) => t.api('post', `${project.path}/issues`, owner).send(body).expect(201)
    await issue({ title: 'one', labels: 'bug', milestone_id })
    await issue({ title: 'two', labels: 'doing', assignee_ids: [owner.id] })
    await issue({ title: 'three' })
    const browser = await signedIn(owner)
    const at = `/${project.fullPath}/-/boards`
    const cards = () =>
      browser.page
        ?.$('.card .title')
        .toArray()
        .map((each) => browser.page?.$(each).text())
    for (const [query, left] of [
      ['label_name[]=bug', ['one']],
      [`assignee_username=${owner.username}`, ['two']],
      ['milestone_title=v1', ['one']],
      ['search=thr', ['three']],
      ['search=&label_name=', ['three', 'one', 'two']],
    ] as const) {
      expect((await browser.open(`${at}?${query}`)).status).toBe(200)
      expect(cards()?.toSorted()).toEqual([...left].toSorted())
    }
    await browser.open(`${at}?label_name[]=bug`)
    await browser.open(String(browser.page?.$('.card a[href*="/boards/move"]').attr('href')))
    const moved = await browser.submit(`${at}/move`, { to: String(browser.page?.$('button[name=to]').first().attr('value')) })
    expect([decodeURIComponent(moved.at), cards()]).toEqual([`${at}?label_name[]=bug`, ['one']])
    expect((await t.api('get', `${project.path}/issues/1`, owner)).body.labels).toEqual(['bug', 'doing'])
  })
})
