import { describe, expect, it } from 'vitest'
import { initialsOf } from '../../src/web/components/people/avatar.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser } from '../support/factories.js'

const t = testApp({}, { upkeep: true })

const boxes = ({ $ }: Awaited<ReturnType<TestBrowser['open']>>) =>
  Object.fromEntries(
    $('main .box')
      .toArray()
      .map((box) => [
        $(box).find('h2').first().text().trim(),
        $(box)
          .find('.rows > li')
          .toArray()
          .map((row) => $(row).text()),
      ]),
  )

describe('the home', () => {
  it('shows what waits for its viewer, with the CI of merge requests they may see it of, and their projects (WB-524)', async () => {
    const [owner, colleague] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, developer: colleague, files: { 'a.rb': 'puts 1\n' } })
    const actions = [{ action: 'create', file_path: 'more', content: 'more' }]
    const { body: commit } = await t
      .api('post', `${project.path}/repository/commits`, owner)
      .send({ branch: 'topic', start_branch: 'main', commit_message: 'More', actions })
      .expect(201)
    const request = { title: 'Reads <b>more</b>', source_branch: 'topic', target_branch: 'main', reviewer_ids: [colleague.id] }
    await t.api('post', `${project.path}/merge_requests`, owner).send(request).expect(201)
    await t.api('post', `${project.path}/statuses/${commit.id}`, owner).send({ state: 'failed', ref: 'topic' }).expect(201)
    await t
      .api('post', `${project.path}/issues`, owner)
      .send({ title: 'Late', assignee_ids: [colleague.id], due_date: '2020-01-01' })
      .expect(201)
    await t.ctx.jobs.drain()
    const browser = new TestBrowser(t.url)
    await browser.signIn(colleague)
    const page = await browser.open('/dashboard')
    const shown = boxes(page)
    expect(shown['Waiting for your review 1']?.[0]).toMatch(/Reads <b>more<\/b>.*CI failed/s)
    expect(shown['Your issues 1']?.[0]).toMatch(/Late.*due 2020-01-01/s)
    expect(Object.keys(shown)).toEqual(expect.arrayContaining(['To-dos 2', 'Your projects']))
    expect(shown['Your merge requests 1']).toBeUndefined()
    expect(page.$('main b').length).toBe(0)
    const statements = async () => (await t.queriesOf(() => browser.open('/dashboard'))).length
    const before = await statements()
    for (let i = 0; i < 3; i++)
      await t
        .api('post', `${project.path}/issues`, owner)
        .send({ title: 'More', assignee_ids: [colleague.id] })
        .expect(201)
    await aProject(t.ctx, { creator: colleague, files: { 'a.rb': 'puts 1\n' } })
    expect(await statements()).toBeLessThanOrEqual(before)
    const own = new TestBrowser(t.url)
    await own.signIn(owner)
    const mine = async () => boxes(await own.open('/dashboard'))['Your merge requests 1']?.[0]
    const unreviewed = await mine()
    expect(unreviewed).toContain('CI failed')
    expect(unreviewed).not.toContain('changes requested')
    await t.api('post', `${project.path}/merge_requests/1/notes`, colleague).send({ body: '/request_changes' }).expect(202)
    expect(await mine()).toContain('changes requested')
    expect((await browser.open('/dashboard?name=x&page=2')).at).toBe('/dashboard/projects?name=x&page=2')
  })

  it('says what an administrator does first, until it is done or dismissed (WB-526)', async () => {
    const admin = await aUser(t.ctx, { admin: true })
    const browser = new TestBrowser(t.url)
    await browser.signIn(admin)
    // there are others and projects by now
    expect((await browser.open('/dashboard')).text).not.toContain('what to do first')
  })
})

describe('lists of projects', () => {
  it('have the language for those who read the code, and the CI state of the default branch for those who read pipelines (WB-525)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, {
      creator: owner,
      name: 'Listed here',
      visibility: 'public',
      files: { 'a.rb': 'puts 1\n', 'b.c': 'int a;\n'.repeat(9) },
    })
    const [{ id: head }] = (await t.api('get', `${project.path}/repository/commits`, owner).expect(200)).body
    await t.api('post', `${project.path}/statuses/${head}`, owner).send({ state: 'success', ref: 'main' }).expect(201)
    await t.api('post', `${project.path}/statuses/${head}`, owner).send({ state: 'failed', ref: 'other' }).expect(201)
    await t
      .api('put', project.path, owner)
      .send({ topics: ['tools'] })
      .expect(200)
    await t.ctx.jobs.drain()
    const [visitor, stranger, member] = [new TestBrowser(t.url), new TestBrowser(t.url), new TestBrowser(t.url)]
    await stranger.signIn(await aUser(t.ctx))
    await member.signIn(owner)
    const row = async (browser: TestBrowser) => (await browser.open('/explore?name=Listed+here')).$('.rows > li').text()
    expect(await row(stranger)).toMatch(/C\d.*tools.*CI passed/s)
    // only who is signed in reads pipelines
    expect(await row(visitor)).toMatch(/C\d.*tools\s*$/s)
    await t.api('put', project.path, owner).send({ builds_access_level: 'private' }).expect(200)
    expect(await row(stranger)).not.toContain('CI')
    expect(await row(member)).toContain('CI passed')
    await t.api('put', project.path, owner).send({ repository_access_level: 'private', merge_requests_access_level: 'private' }).expect(200)
    expect((await stranger.open('/explore?name=Listed+here')).$('.meta').text()).not.toMatch(/C\d/)
  })
})

describe('the band', () => {
  it('has the path and nine pages of a project, with the numbers of what is open (WB-520, WB-521)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: 'a' } })
    for (const confidential of [true, false]) await t.api('post', `${project.path}/issues`, owner).send({ title: 'One', confidential }).expect(201)
    const [visitor, member] = [new TestBrowser(t.url), new TestBrowser(t.url)]
    await member.signIn(owner)
    const tabs = async (browser: TestBrowser, path = '') => {
      const { $ } = await browser.open(`/${project.fullPath}${path}`)
      return $('header .tabs a')
        .toArray()
        .map((each) => $(each).text() + ($(each).attr('aria-current') ? '*' : ''))
    }
    expect(await tabs(member)).toEqual(['Code*', 'Issues 2', 'Merge requests', 'CI', 'Packages', 'Wiki', 'Releases', 'Activity', 'Settings'])
    expect(await tabs(member, '/-/branches')).toEqual([
      'Code*',
      'Issues 2',
      'Merge requests',
      'CI',
      'Packages',
      'Wiki',
      'Releases',
      'Activity',
      'Settings',
    ])
    expect(await tabs(visitor)).toEqual(['Code*', 'Issues 1', 'Packages', 'Wiki', 'Releases', 'Activity'])
    expect(visitor.page?.$('header .path a').last().attr('href')).toBe(`/${project.fullPath}`)
  })

  it('has initials for people without a picture, and makes no request for them (WB-523)', async () => {
    expect(['Mira van den Okafor', 'root', '', '  ', '(x) Élan', '李 小龙'].map(initialsOf)).toEqual(['MO', 'R', '?', '?', 'XÉ', '李小'])
    const user = await aUser(t.ctx, { name: 'Mira Okafor' })
    const browser = new TestBrowser(t.url)
    await browser.signIn(user)
    const { $ } = await browser.open('/dashboard')
    expect([$('header .avatar').attr('data-initials'), $('header img').length]).toEqual(['MO', 0])
  })
})

describe('colours', () => {
  it('are those of the system until others are chosen, from the first byte of each page (WB-522)', async () => {
    const user = await aUser(t.ctx)
    const browser = new TestBrowser(t.url)
    await browser.signIn(user)
    const look = ({ $ }: Awaited<ReturnType<TestBrowser['open']>>) => [$('html').attr('data-theme'), $('meta[name=color-scheme]').attr('content')]
    expect(look(await browser.open('/explore?sort=name_asc'))).toEqual([undefined, 'light dark'])
    const dark = await browser.submit('/-/theme', { theme: 'dark' })
    expect([dark.at, ...look(dark), dark.$('button[aria-pressed=true]').attr('value')]).toEqual(['/explore?sort=name_asc', 'dark', 'dark', 'dark'])
    expect(look(await browser.submit('/-/theme', { theme: 'nonsense' }))).toEqual(['dark', 'dark'])
    expect(look(await browser.submit('/-/theme', { theme: '', return_to: '//elsewhere.example/' }))).toEqual([undefined, 'light dark'])
    browser.cookies.set('roost_theme', '"><b>')
    expect((await browser.open('/explore')).$('html').attr('data-theme')).toBeUndefined()
  })

  it('are chosen by visitors on a separate page, as the others set no cookie for them (WB-522)', async () => {
    const browser = new TestBrowser(t.url)
    await browser.open('/explore')
    expect([...browser.cookies.keys()]).toEqual([])
    await browser.follow('Colours')
    const after = await browser.submit('/-/theme', { theme: 'light' })
    expect([after.at, after.$('html').attr('data-theme')]).toEqual(['/explore', 'light'])
  })
})
