import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, aProject, aUser, type TestUser } from '../support/factories.js'

const t = testApp()
const EVIL = '<embed src=x onerror=alert(1)>"&'

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).status).toBe(200)
  return browser
}

describe('issues', () => {
  it('are opened from a template with all attributes, changed, ticked by a click, and get a merge request (WB-126, WB-127)', async () => {
    const [owner, member] = [await aUser(t.ctx), await aUser(t.ctx)]
    const files = { '.gitlab/issue_templates/Bug.md': 'What happened?\n', a: 'a' }
    const project = await aProject(t.ctx, { creator: owner, developer: member, visibility: 'public', files })
    await t.api('post', `${project.path}/labels`, owner).send({ name: EVIL, color: '#ff0000' }).expect(201)
    const { body: milestone } = await t.api('post', `${project.path}/milestones`, owner).send({ title: 'One' }).expect(201)
    const at = `/${project.fullPath}/-/issues`
    const browser = await signedIn(member)
    const opened = await browser.open(`${at}/new?issuable_template=Bug`)
    expect(opened.$('#issue_description').val()).toContain('What happened?')
    const page = await browser.submit('Create issue', {
      'issue[title]': EVIL,
      'issue[description]': '- [ ] first\n- [x] second\n\n```\n- [ ] code\n```',
      'issue[assignee_username]': member.username,
      'issue[labels][]': [EVIL],
      'issue[milestone_id]': String(milestone.id),
      'issue[due_date]': '2030-01-02',
    })
    expect([page.at, page.$('main embed').length, page.$('main script').length]).toEqual([`${at}/1`, 0, 0])
    const { body: made } = await t.api('get', `${project.path}/issues/1`, owner).expect(200)
    expect(made).toMatchObject({ title: EVIL, labels: [EVIL], milestone: { id: milestone.id }, due_date: '2030-01-02', assignee: { id: member.id } })
    expect(
      page
        .$('.task')
        .toArray()
        .map((one) => page.$(one).attr('aria-checked')),
    ).toEqual(['false', 'true'])
    const form = {
      authenticity_token: String(page.$('.tasks [name=authenticity_token]').val()),
      version: String(page.$('.tasks [name=version]').val()),
    }
    const ticked = await browser.post(`${at}/1/tasks`, { ...form, task: '0:1' })
    expect(ticked.text).toContain('2 of 2 tasks done')
    // the description is another one now
    expect((await browser.post(`${at}/1/tasks`, { ...form, task: '1:0' })).status).toBe(422)
    const change = (attribute: string, sent: Record<string, string | string[]>) =>
      browser.post(`${at}/1/attributes`, { authenticity_token: form.authenticity_token, attribute, ...sent })
    expect((await browser.open(`${at}/1`)).$('#side_assignee [name="usernames[]"]:checked').val()).toBe(member.username)
    expect((await change('assignee', { 'usernames[]': owner.username })).text).toContain('Issue updated.')
    expect((await change('labels', {})).$('#side_labels > p').text()).toBe('none')
    await change('milestone', { milestone_id: '0' })
    await change('access', { confidential: '1' })
    const { body: after } = await t.api('get', `${project.path}/issues/1`, owner).expect(200)
    expect(after).toMatchObject({ labels: [], milestone: null, confidential: true, assignee: { id: owner.id }, due_date: '2030-01-02' })
    expect((await change('assignee', { other_usernames: 'no.such.user' })).status).toBe(422)
    expect((await change('due_date', { due_date: '' })).$('#side_due_date > p').text()).toBe('none')
    expect((await change('due_date', { due_date: 'soon' })).status).toBe(422)
    await browser.open(`${at}/1`)
    expect((await browser.submit('Add spent time', { duration: '1h 30m', what: 'spent' })).text).toContain('1h 30m spent')
    expect((await browser.submit('Set estimate', { duration: 'soon', what: 'estimate' })).status).toBe(422)
    await browser.open(`${at}/1`)
    expect((await browser.post(`${at}/1/toggle_award_emoji`, { ...form, name: 'tada' })).$('.reactions [aria-pressed=true]').text()).toContain('1')
    expect(browser.page?.$('#branch_name').val()).toBe('1-confidential-issue')
    const branched = await browser.submit('Create branch and merge request')
    expect([branched.at, branched.text]).toEqual([`/${project.fullPath}/-/merge_requests/1`, expect.stringContaining('Draft: Resolve #1')])
    await browser.open(`${at}/1`)
    await browser.submit('Close issue')
    await t.api('post', `${project.path}/issues`, member).send({ title: 'other', description: 'like #1' }).expect(201)
    // references say what is closed (WB-132)
    expect((await browser.open(`${at}/2`)).$('.prose a').text()).toBe('#1 (closed)')
  })

  it('say that somebody else has saved, show both texts and lose nothing (WB-120)', async () => {
    const [owner, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, developer: other, visibility: 'public' })
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'T', description: 'first' }).expect(201)
    const at = `/${project.fullPath}/-/issues/1`
    const [mine, theirs] = [await signedIn(owner), await signedIn(other)]
    await mine.open(`${at}/edit`)
    await theirs.open(`${at}/edit`)
    expect((await theirs.submit('Save changes', { 'issue[description]': 'theirs' })).at).toBe(at)
    const refused = await mine.submit('Save changes', { 'issue[description]': 'mine' })
    expect([refused.status, refused.$('#issue_description').val(), refused.$('.stale textarea').last().val()]).toEqual([422, 'mine', 'theirs'])
    expect((await mine.submit('Save changes')).at).toBe(at)
    expect((await t.api('get', `${project.path}/issues/1`, owner)).body.description.trim()).toBe('mine')
  })

  it('show a preview and take a file before they are saved, and are made once (WB-90, WB-121, WB-122)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'private' })
    const at = `/${project.fullPath}/-/issues`
    const browser = await signedIn(who)
    await browser.open(`${at}/new`)
    const previewed = await browser.submit('Create issue', { 'issue[description]': `**bold** ${EVIL}`, preview: 'issue[description]' })
    expect([previewed.status, previewed.$('.preview strong').text(), previewed.$('.preview img').length]).toEqual([200, 'bold', 0])
    const file = new File(['hello'], 'notes.txt')
    const attached = await browser.submit('Create issue', { upload: file, attach: 'issue[description]' })
    expect(attached.$('#issue_description').val()).toMatch(/\*\*bold\*\*[\s\S]*\[notes\.txt\]\(\/uploads\/[0-9a-f]{32}\/notes\.txt\)$/)
    const large = await browser.submit('Create issue', { upload: new File(['x'.repeat(2_000_000)], 'large.txt'), attach: 'issue[description]' })
    expect(large.$('#issue_description').val()).toMatch(/\[large\.txt\]/)
    const fields = { 'issue[title]': 'Once' }
    const first = await browser.submit('Create issue', fields)
    expect(first.$('.prose a').attr('href')).toContain(`/${project.fullPath}/uploads/`)
    browser.page = large
    expect((await browser.submit('Create issue', fields)).at).toBe(first.at)
    expect((await t.api('get', `${project.path}/issues`, who)).body).toHaveLength(1)
    expect((await t.api('get', `${project.path}/issues`, who)).headers['x-total']).toBe('1')
  })

  it('are filtered by everything the API filters by, and changed together by those who may (WB-123, WB-124)', async () => {
    const [owner, guest] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, guest, visibility: 'public' })
    for (const [title, labels] of [
      ['one', 'a'],
      ['two', 'a,b'],
      ['three', ''],
    ])
      await t.api('post', `${project.path}/issues`, owner).send({ title, labels }).expect(201)
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'secret', confidential: true }).expect(201)
    const at = `/${project.fullPath}/-/issues`
    const titles = async (browser: TestBrowser, query: string) => {
      const page = await browser.open(`${at}?${query}`)
      return page
        .$('.rows .title')
        .toArray()
        .map((one) => page.$(one).text())
        .join()
    }
    const browser = await signedIn(owner)
    expect(await titles(browser, 'label_name[]=a&sort=created_asc')).toBe('one,two')
    expect(browser.page?.$('.chips a').attr('href')).toBe(`${at}?sort=created_asc`)
    expect(await titles(browser, 'labels=a&not[labels]=b')).toBe('one')
    expect(await titles(browser, 'labels=None&confidential=false')).toBe('three')
    expect(await titles(browser, `author_username=${guest.username}`)).toBe('')
    expect(await titles(browser, 'search=TW')).toBe('two')
    await browser.open(`${at}?label_name[]=a`)
    const counts = (page: TestBrowser['page']) => page?.$('.states').text().replace(/\s+/g, ' ').trim()
    expect(counts(browser.page)).toBe('Open 2Closed 0All 2')
    expect((await browser.submit('Change issues', { 'update[state_event]': 'close' })).status).toBe(422)
    const done = await browser.submit('Change issues', {
      'issue_iids[]': ['1', '2', '99'],
      'update[state_event]': 'close',
      'update[add_labels]': 'c',
    })
    expect([done.at, done.text.includes('2 issues are changed.'), counts(done)]).toEqual([`${at}?label_name[]=a`, true, 'Open 0Closed 2All 2'])
    const theirs = await signedIn(guest)
    await theirs.open(at)
    expect([theirs.page?.$('[name="issue_iids[]"]').length, counts(theirs.page)]).toEqual([0, 'Open 1Closed 2All 3'])
  })

  it('are moved, closed as duplicates and deleted by those who may', async () => {
    const [owner, guest] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, guest, visibility: 'public' })
    const target = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    for (const title of ['a', 'b', 'c']) await t.api('post', `${project.path}/issues`, owner).send({ title }).expect(201)
    const at = `/${project.fullPath}/-/issues`
    const theirs = await signedIn(guest)
    const seen = await theirs.open(`${at}/1`)
    for (const action of ['duplicate', 'move', 'attributes', 'time', 'create_merge_request'])
      expect(seen.$(`form[action$="/${action}"]`).length).toBe(0)
    expect((await theirs.open(`${at}/1/edit`)).status).toBe(403)
    const browser = await signedIn(owner)
    await browser.open(`${at}/1`)
    expect((await browser.submit('Close as duplicate', { duplicate_of: '#1' })).status).toBe(422)
    expect((await browser.submit('Close as duplicate', { duplicate_of: '#2' })).text).toContain('Closed')
    await browser.open(`${at}/2`)
    expect((await browser.submit('Move issue', { to_project: 'no/such' })).status).toBe(422)
    expect((await browser.submit('Move issue', { to_project: target.fullPath })).at).toBe(`/${target.fullPath}/-/issues/1`)
    await browser.open(`${at}/3`)
    expect((await browser.submit('Delete issue')).at).toBe(at)
    await t.api('get', `${project.path}/issues/3`, owner).expect(404)
  })
})

describe('the board', () => {
  const shown = (page: TestBrowser['page']) =>
    page
      ?.$('.list[data-list]')
      .toArray()
      .map((list) => [page.$(list).find('h2').text().trim(), page.$(list).find('.title').text()])
  const keysOf = (page: TestBrowser['page']) =>
    page
      ?.$('.list[data-list]')
      .toArray()
      .map((list) => String(page.$(list).attr('data-list'))) ?? []

  it('has the labels with a priority as lists until one is made, between which issues are moved by those who may (WB-133)', async () => {
    const [owner, guest] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, guest, visibility: 'public' })
    for (const [name, priority] of [
      ['doing', 2],
      [EVIL, 1],
    ])
      await t.api('post', `${project.path}/labels`, owner).send({ name, color: '#fff', priority }).expect(201)
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'one', labels: 'other' }).expect(201)
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'secret', labels: 'doing', confidential: true }).expect(201)
    const at = `/${project.fullPath}/-/boards`
    const browser = await signedIn(owner)
    await browser.open(at)
    expect(shown(browser.page)).toEqual([
      ['Open 1', 'one'],
      [`${EVIL} 0`, ''],
      ['doing 1', 'secret'],
      ['Closed 0', ''],
    ])
    const lists = keysOf(browser.page)
    // without scripts the card leads to a page
    await browser.open(browser.page?.$('[data-list=opened] a[data-move]').attr('href') as string)
    expect(browser.page?.$('button[name=to]').length).toBe(3)
    await browser.submit(`${at}/move`, { to: lists[2] as string })
    expect((await t.api('get', `${project.path}/issues/1`, owner)).body).toMatchObject({ labels: ['doing', 'other'], state: 'opened' })
    const move = (from: string, to: string) => browser.submit(`${at}/move`, { issue_iid: '1', from, to })
    await move(lists[2] as string, lists[1] as string)
    expect((await t.api('get', `${project.path}/issues/1`, owner)).body.labels).toEqual([EVIL, 'other'])
    await move(lists[1] as string, 'closed')
    expect(shown(browser.page)?.at(-1)).toEqual(['Closed 1', 'one'])
    expect((await move('closed', 'none')).status).toBe(422)
    const theirs = await signedIn(guest)
    await theirs.open(at)
    expect([theirs.page?.$('main form[method=post]').length, theirs.page?.$('a[data-move]').length, theirs.page?.text.includes('secret')]).toEqual([
      0,
      0,
      false,
    ])
    expect((await theirs.open(`${at}/new`)).status).toBe(403)
    expect((await theirs.open(`${at}/move?issue_iid=1&from=opened`)).status).toBe(403)
    expect((await theirs.open(`${at}/move?issue_iid=2&from=opened`)).status).toBe(404)
    await t.api('get', `${project.path}/boards`, owner).expect(200, [])
  })

  it('gets lists of labels, people and milestones, which are ordered and removed on it, and there are several (WB-133)', async () => {
    const [owner, dev] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, developer: dev })
    const at = `/${project.fullPath}/-/boards`
    await t.api('post', `${project.path}/labels`, owner).send({ name: 'doing', color: '#fff', priority: 1 }).expect(201)
    const { body: milestone } = await t.api('post', `${project.path}/milestones`, owner).send({ title: 'v1' }).expect(201)
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'one', labels: 'doing' }).expect(201)
    const browser = await signedIn(owner)
    await browser.open(at)
    expect((await browser.submit('Add list', { list: '' })).text).toContain('This needs something that the list is of')
    // what was shown is a board now
    await browser.submit('Add list', { list: `assignee-${dev.id}` })
    await browser.submit('Add list', { list: `milestone-${milestone.id}` })
    expect(shown(browser.page)?.map(([title]) => title)).toEqual(['Open 0', 'doing 1', `${dev.name} 0`, 'v1 0', 'Closed 0'])
    expect((await browser.submit('Add list', { list: `milestone-${milestone.id}` })).text).toContain('Milestone has already been taken')
    const [, label, person, version] = keysOf(browser.page) as string[]
    const move = (from: string, to: string) => browser.submit(`${at}/move`, { issue_iid: '1', from, to })
    const issue = async () => {
      const { labels, assignee, milestone, state } = (await t.api('get', `${project.path}/issues/1`, owner)).body
      return [labels, assignee?.id ?? null, milestone?.title ?? null, state]
    }
    await move(label as string, person as string)
    expect(await issue()).toEqual([['doing'], dev.id, null, 'opened'])
    await move(person as string, version as string)
    expect(await issue()).toEqual([['doing'], dev.id, 'v1', 'opened'])
    await move(version as string, 'closed')
    await move('closed', person as string)
    expect(await issue()).toEqual([['doing'], dev.id, 'v1', 'opened'])
    await move(person as string, 'opened')
    await move(version as string, 'opened')
    await move(label as string, 'opened')
    expect(await issue()).toEqual([[], null, null, 'opened'])
    await browser.submit('Move left', { list: version as string, by: '-1' })
    await browser.submit('Move left', { list: person as string, by: '1' })
    expect(keysOf(browser.page)).toEqual(['opened', label, version, person, 'closed'])
    await browser.submit('Remove list', { list: label as string })
    expect(keysOf(browser.page)).toEqual(['opened', version, person, 'closed'])
    expect((await browser.submit('Remove list', { list: label as string })).status).toBe(422)
    const { body } = await t.api('get', `${project.path}/boards`, owner).expect(200)
    expect(body).toMatchObject([{ name: 'Development', lists: [{ milestone: { title: 'v1' } }, { assignee: { id: dev.id } }] }])
    await browser.open(`${at}/new`)
    expect((await browser.submit('Create board', { name: ' ' })).status).toBe(422)
    const second = await browser.submit('Create board', { name: EVIL })
    expect(second.$('.items a[aria-current]').text()).toBe(EVIL)
    await browser.open(`${second.at}/edit`)
    await browser.submit('Save changes', { name: 'Next' })
    expect(browser.page?.$('h1').text()).toBe('Next')
    await browser.open(`${second.at}/edit`)
    expect((await browser.submit('Delete board')).$('h1').text()).toBe('Development')
  })

  it('of a group has the issues of its projects, which are moved by those who may there', async () => {
    const [owner, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { creator: owner })
    const [one, two] = [
      await aProject(t.ctx, { creator: owner, namespace_id: group.id }),
      await aProject(t.ctx, { creator: owner, namespace_id: group.id }),
    ]
    const elsewhere = await aProject(t.ctx, { creator: owner })
    await t.api('post', `${group.path}/labels`, owner).send({ name: 'doing', color: '#fff', priority: 1 }).expect(201)
    for (const project of [one, two, elsewhere])
      await t
        .api('post', `${project.path}/issues`, owner)
        .send({ title: `of ${project.id}` })
        .expect(201)
    const at = `/groups/${group.fullPath}/-/boards`
    const browser = await signedIn(owner)
    await browser.open(at)
    expect(shown(browser.page)?.map(([title]) => title)).toEqual(['Open 2', 'doing 0', 'Closed 0'])
    const [, label] = keysOf(browser.page) as string[]
    const move = (project: string) => browser.submit(`${at}/move`, { issue_iid: '1', project, from: 'opened', to: label as string })
    await move(two.fullPath)
    expect((await t.api('get', `${two.path}/issues/1`, owner)).body.labels).toEqual(['doing'])
    expect((await t.api('get', `${one.path}/issues/1`, owner)).body.labels).toEqual([])
    expect(shown(browser.page)?.map(([title]) => title)).toEqual(['Open 1', 'doing 1', 'Closed 0'])
    expect((await move(elsewhere.fullPath)).status).toBe(404)
    await browser.open(at)
    await browser.submit('Add list', { list: `assignee-${owner.id}` })
    expect((await t.api('get', `${group.path}/boards`, owner)).body).toMatchObject([
      { lists: [{ label: { name: 'doing' } }, { assignee: { id: owner.id } }] },
    ])
    expect((await (await signedIn(other)).open(at)).status).toBe(404)
  })

  it('costs as many statements however many issues it has', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner })
    await t.api('post', `${project.path}/labels`, owner).send({ name: 'doing', color: '#fff', priority: 1 }).expect(201)
    const browser = await signedIn(owner)
    const cost = async () => (await t.queriesOf(() => browser.open(`/${project.fullPath}/-/boards`))).length
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'x', labels: 'doing' }).expect(201)
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'x' }).expect(201)
    await browser.open(`/${project.fullPath}/-/boards`)
    const few = await cost()
    for (let n = 0; n < 5; n++) await t.api('post', `${project.path}/issues`, owner).send({ title: 'x', labels: 'doing' }).expect(201)
    expect(await cost()).toBeLessThanOrEqual(few + 1)
  })
})

describe('labels and milestones', () => {
  it('are made, changed, promoted and deleted (WB-130)', async () => {
    const [owner, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    const [one, two] = [
      await aProject(t.ctx, { creator: owner, namespace_id: group.id, visibility: 'public' }),
      await aProject(t.ctx, { creator: owner, namespace_id: group.id, visibility: 'public' }),
    ]
    for (const project of [one, two]) await t.api('post', `${project.path}/issues`, owner).send({ title: 'x', labels: 'bug' }).expect(201)
    const browser = await signedIn(owner)
    const at = `/${one.fullPath}/-/labels`
    await browser.open(`${at}/new`)
    expect((await browser.submit('Create label', { 'label[title]': 'a,b' })).status).toBe(422)
    const made = await browser.submit('Create label', { 'label[title]': EVIL, 'label[color]': '#123456', 'label[priority]': '1' })
    expect([made.at, made.$('.rows .label').first().text(), made.$('main embed').length]).toEqual([at, EVIL, 0])
    expect((await browser.submit('Subscribe')).text).toContain('You are subscribed.')
    const bug = made.$('a[aria-label="Edit bug"]').attr('href') as string
    await browser.open(bug)
    const boards = `${one.path}/boards`
    const { body: board } = await t.api('post', boards, owner).send({ name: 'b' }).expect(201)
    const { body: own } = await t.api('get', `${one.path}/labels/bug`, owner).expect(200)
    await t.api('post', `${boards}/${board.id}/lists`, owner).send({ label_id: own.id }).expect(201)
    const promoted = await browser.submit('Promote to a label of the group')
    const { body: label } = await t.api('get', `${group.path}/labels/bug`, owner).expect(200)
    expect((await t.api('get', `${boards}/${board.id}/lists`, owner)).body).toMatchObject([{ label: { id: label.id, name: 'bug' } }])
    expect([promoted.at, promoted.text]).toEqual([`/groups/${group.fullPath}/-/labels`, expect.stringContaining('2 open issues')])
    for (const project of [one, two]) {
      expect((await t.api('get', `${project.path}/issues/1`, owner)).body.labels).toEqual(['bug'])
      expect((await t.api('get', `${project.path}/labels`, owner)).body.filter(({ name }: { name: string }) => name === 'bug')).toHaveLength(1)
    }
    await browser.open(promoted.$('a[aria-label="Edit bug"]').attr('href') as string)
    await browser.submit('Save changes', { 'label[title]': 'defect' })
    expect((await t.api('get', `${two.path}/issues/1`, owner)).body.labels).toEqual(['defect'])
    await browser.open(browser.page?.$('a[aria-label="Edit defect"]').attr('href') as string)
    expect((await browser.submit('Delete label')).text).not.toContain('defect')
    const theirs = await signedIn(stranger)
    expect((await theirs.open(at)).$('main a[href$="/new"]').length).toBe(0)
    expect((await theirs.open(`${at}/new`)).status).toBe(403)
  })

  it('are shown with what is in them, for projects and groups', async () => {
    const [owner, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id, visibility: 'public' })
    const browser = await signedIn(owner)
    for (const at of [`/${project.fullPath}/-/milestones`, `/groups/${group.fullPath}/-/milestones`]) {
      await browser.open(`${at}/new`)
      const dates = { 'milestone[start_date]': '2030-02-01', 'milestone[due_date]': '2030-01-01' }
      expect((await browser.submit('Create milestone', { 'milestone[title]': at, ...dates })).status).toBe(422)
      expect((await browser.submit('Create milestone', { 'milestone[due_date]': '2030-03-01' })).at).toBe(`${at}/1`)
      const isGroup = at.startsWith('/groups')
      const path = isGroup ? `/groups/${group.id}` : project.path
      const { body } = await t.api('get', `${path}/milestones`, owner).expect(200)
      expect(new URL(body[0].web_url).pathname.replace('/-/', '/')).toBe(`${at}/1`.replace('/-/', '/'))
      const secret = { title: `secret of ${isGroup}`, confidential: true, milestone_id: body[0].id }
      await t.api('post', `${project.path}/issues`, owner).send(secret).expect(201)
      await t.api('post', `${project.path}/issues`, owner).send({ title: 'open', milestone_id: body[0].id }).expect(201)
      // the printed address leads there
      const shown = await browser.open(new URL(body[0].web_url).pathname)
      expect([shown.at, shown.text.includes(secret.title), shown.text.includes('0 of 2 done')]).toEqual([`${at}/1`, true, true])
      expect((await browser.submit('Close milestone')).text).toContain('Milestone closed.')
      const theirs = await (await signedIn(stranger)).open(`${at}/1`)
      expect([theirs.text.includes(secret.title), theirs.text.includes('0 of 1 done')]).toEqual([false, true])
      expect(theirs.$('main form').length).toBe(0)
    }
    expect((await browser.open(`/groups/${group.fullPath}/-/issues`)).$('.rows .title').length).toBe(4)
    expect((await browser.open(`/groups/${group.fullPath}/-/merge_requests`)).status).toBe(200)
  })
})

const tokenOf = ({ page }: TestBrowser) => ({ authenticity_token: String(page?.$('[name=authenticity_token]').first().val()) })

describe('what waits for me', () => {
  it('is counted in the header, done, undone and done at once (WB-129, WB-332)', async () => {
    const [owner, who] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, developer: who, visibility: 'private' })
    for (const title of [EVIL, 'two', 'three'])
      await t
        .api('post', `${project.path}/issues`, owner)
        .send({ title, assignee_ids: [who.id] })
        .expect(201)
    const browser = await signedIn(who)
    const page = await browser.open('/dashboard/todos')
    expect(page.$('.waits').text()).toBe('Reviews 0Issues 3To-dos 3')
    expect([page.$('.rows > li').length, page.$('main embed').length]).toEqual([3, 0])
    await browser.submit('Done')
    expect(browser.page?.$('.waits').text()).toContain('To-dos 2')
    expect((await browser.submit('Undo')).$('.waits').text()).toContain('To-dos 3')
    await browser.submit('Done')
    expect((await browser.submit('Mark all as done')).$('.waits').text()).toContain('To-dos 0')
    // brings back those of this click alone, not the one that was done before
    const other = await signedIn(owner)
    const undone = await browser.submit('Undo')
    expect([undone.$('.waits').text(), undone.text.includes('2 are in the list again.')]).toEqual(['Reviews 0Issues 3To-dos 2', true])
    const { at } = await browser.submit('Mark all as done')
    const moment = new URLSearchParams(at.split('?')[1]).get('all_done') ?? ''
    await other.open(at)
    expect((await other.submit('Undo', { moment })).text).toContain('0 are in the list again.')
    for (const wrong of ['x', '-1', '9e99'])
      expect((await browser.post('/dashboard/todos/bulk_restore', { ...tokenOf(browser), _method: 'patch', moment: wrong })).status).toBeLessThan(500)
    expect((await browser.open('/dashboard/todos')).$('.waits').text()).toContain('To-dos 0')
    expect((await browser.open('/dashboard/todos?state=done')).$('.rows > li').length).toBe(3)
    expect((await browser.open('/dashboard/issues')).$('.rows .title').length).toBe(3)
    expect((await browser.open(`/dashboard/issues?assignee_username=${owner.username}`)).$('.rows .title').length).toBe(0)
    for (const scope of ['', '?scope=assigned_to_me', '?scope=created_by_me'])
      expect((await browser.open(`/dashboard/merge_requests${scope}`)).status).toBe(200)
    // another person's todos are not theirs to finish
    const mine = await signedIn(owner)
    await mine.open('/dashboard/todos')
    const { body } = await t.api('get', '/todos?state=done', who).expect(200)
    const token = String(mine.page?.$('[name=authenticity_token]').val())
    expect((await mine.post(`/dashboard/todos/${body[0].id}/restore`, { authenticity_token: token, _method: 'patch' })).status).toBe(404)
  })
})

describe('completion (WB-128)', () => {
  it('offers what the caller may see', async () => {
    const [owner, guest] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, guest, visibility: 'private' })
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'open one', labels: 'a b' }).expect(201)
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'open secret', confidential: true }).expect(201)
    const offered = async (who: TestUser, type: string, term: string) => {
      const page = await (await signedIn(who)).open(`/${project.fullPath}/-/autocomplete_sources?${new URLSearchParams({ type, term })}`)
      return page.status === 200 ? (JSON.parse(page.$('body').text()) as { value: string }[]).map(({ value }) => value).sort() : page.status
    }
    expect(await offered(owner, '#', 'open')).toEqual(['#1', '#2'])
    expect(await offered(guest, '#', 'open')).toEqual(['#1'])
    expect(await offered(guest, '~', 'a')).toEqual(['~"a b"'])
    expect(await offered(owner, '@', guest.username)).toEqual([`@${guest.username}`])
    expect(await offered(owner, ':', 'tada')).toContain(':tada:')
    expect(await offered(owner, '?', '')).toBe(400)
    expect(await offered(await aUser(t.ctx), '#', 'open')).toBe(404)
    expect((await new TestBrowser(t.url).open(`/${project.fullPath}/-/autocomplete_sources?type=%23`)).at).toContain('/users/sign_in')
  })
})

describe('wikis', () => {
  it('are written, compared, moved and deleted, and tell two people of each other (WB-120, WB-131)', async () => {
    const [owner, member, stranger] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, developer: member, visibility: 'public' })
    const at = `/${project.fullPath}/-/wikis`
    const rest = 'a line that stays\n'.repeat(5)
    const [mine, theirs] = [await signedIn(owner), await signedIn(member)]
    await mine.open(at)
    const made = await mine.submit('Create page', { 'wiki[content]': `See [the guide](guide/first) ${EVIL}\n` })
    expect([made.at, made.$('.prose a').attr('href'), made.$('main embed').length]).toEqual([`${at}/home`, `${at}/guide/first`, 0])
    const missing = await mine.open(`${at}/guide/first`)
    expect(missing.status).toBe(404)
    expect((await mine.submit('Create page', { 'wiki[content]': `one\n${rest}` })).at).toBe(`${at}/guide/first`)
    await mine.open(`${at}/guide/first/edit`)
    await theirs.open(`${at}/guide/first/edit`)
    await theirs.submit('Save changes', { 'wiki[content]': `theirs\n${rest}` })
    const refused = await mine.submit('Save changes', { 'wiki[content]': `mine\n${rest}` })
    expect([refused.status, refused.$('#wiki_content').val(), refused.$('.stale textarea').val()]).toEqual([422, `mine\n${rest}`, `theirs\n${rest}`])
    await mine.submit('Save changes')
    await mine.open(`${at}/guide/first/edit`)
    await mine.submit('Save changes', { 'wiki[title]': 'guide/second', 'wiki[message]': 'Moved' })
    expect(mine.page?.at).toBe(`${at}/guide/second`)
    const history = await mine.open(`${at}/guide/second/history`)
    expect(history.$('.rows > li').length).toBe(4)
    const diff = await mine.open(history.$('.rows a:contains("Changes")').eq(2).attr('href') as string)
    expect([diff.$('.removed .code').text().trim(), diff.$('.added .code').text().trim()]).toEqual(['one', 'theirs'])
    const old = await mine.open(history.$('.rows a:contains("View")').first().attr('href') as string)
    expect(old.text).toContain('mine')
    // before it was moved
    expect((await mine.open(history.$('.rows a:contains("View")').last().attr('href') as string)).$('.prose').first().text()).toMatch(/^one\s/)
    await mine.open(`${at}/new`)
    await mine.submit('Create page', { 'wiki[title]': '_sidebar', 'wiki[content]': 'My **sidebar**' })
    expect((await mine.open(`${at}/home`)).$('aside strong').text()).toBe('sidebar')
    expect((await mine.open(`${at}/pages`)).$('.rows > li').length).toBe(3)
    expect((await mine.open(`${at}/git_access`)).text).toContain(`${project.fullPath}.wiki.git`)
    const visitor = new TestBrowser(t.url)
    expect((await visitor.open(`${at}/home`)).$('main form, a[href$="/edit"]').length).toBe(0)
    expect((await visitor.open(`${at}/home/edit`)).at).toContain('/users/sign_in')
    const foreign = await signedIn(stranger)
    expect([(await foreign.open(`${at}/home/edit`)).status, (await foreign.open(`${at}/none`)).status]).toEqual([403, 404])
    await theirs.open(`${at}/home/edit`)
    expect(theirs.page?.$('button:contains("Delete page")').length).toBe(0)
    await mine.open(`${at}/home/edit`)
    expect((await mine.submit('Delete page')).at).toBe(`${at}/pages`)
  })
})

describe('snippets', () => {
  it('of people are private until they say otherwise', async () => {
    const [who, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    const browser = await signedIn(who)
    await browser.open('/-/snippets/new')
    const fields = { 'snippet[title]': EVIL, 'snippet[file_name]': 'a.ts', 'snippet[content]': 'const a = "</td><script>"\n' }
    const form = browser.page
    const made = await browser.submit('Create snippet', fields)
    const { body } = await t.api('get', '/snippets', who).expect(200)
    expect([made.at, made.$('h1').text(), made.$('main script, main embed').length]).toEqual([
      `/-/snippets/${body[0].id}`,
      `${EVIL} $${body[0].id}`,
      0,
    ])
    expect(made.$('.code').text()).toBe('const a = "</td><script>"')
    if (form) browser.page = form
    await browser.submit('Create snippet', fields)
    expect((await t.api('get', '/snippets', who)).body).toHaveLength(1)
    // the printed address leads there
    expect((await browser.open(new URL(body[0].web_url).pathname)).at).toBe(made.at)
    const theirs = await signedIn(other)
    expect((await theirs.open(made.at)).status).toBe(404)
    await browser.open(`${made.at}/edit`)
    await browser.submit('Save changes', { 'snippet[visibility_level]': 'public' })
    const seen = await theirs.open(made.at)
    expect([seen.status, seen.$('a[href$="/edit"]').length]).toEqual([200, 0])
    expect((await theirs.open(`${made.at}/edit`)).status).toBe(403)
    expect((await theirs.open('/explore/snippets')).text).toContain(EVIL)
    await browser.open(made.at)
    expect((await browser.submit('Delete snippet')).at).toBe('/dashboard/snippets')
  })

  it('of projects are discussed, and refuse what was changed meanwhile (WB-120)', async () => {
    const [owner, member, guest] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, developer: member, guest, visibility: 'private' })
    const at = `/${project.fullPath}/-/snippets`
    const browser = await signedIn(member)
    await browser.open(`${at}/new`)
    expect((await browser.submit('Create snippet', { 'snippet[title]': 'T' })).status).toBe(422)
    const made = await browser.submit('Create snippet', { 'snippet[content]': 'one' })
    const id = made.at.split('/').at(-1)
    expect((await browser.submit('Comment', { 'note[note]': 'Good' })).$('.note .prose').text().trim()).toBe('Good')
    await browser.open(`${made.at}/edit`)
    await t.api('put', `${project.path}/snippets/${id}`, owner).send({ content: 'two' }).expect(200)
    const refused = await browser.submit('Save changes', { 'snippet[content]': 'three' })
    expect([refused.status, refused.$('.stale textarea').last().val()]).toEqual([422, 'two'])
    const theirs = await signedIn(guest)
    expect((await theirs.open(at)).$('main a[href$="/new"]').length).toBe(0)
    expect((await theirs.open(`${made.at}/edit`)).status).toBe(403)
    expect((await new TestBrowser(t.url).open(made.at)).at).toContain('/users/sign_in')
  })
})
