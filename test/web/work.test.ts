import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser, type TestUser } from '../support/factories.js'

const t = testApp()

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}

describe('issues', () => {
  it('are opened, discussed, closed and found in a browser', async () => {
    const [owner, who] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, developer: who, visibility: 'public', files: { a: 'a' } })
    const at = `/${project.fullPath}/-/issues`
    const browser = await signedIn(who)
    await browser.open(at)
    await browser.open(`${at}/new?issue[title]=From+a+link`)
    expect(browser.page?.$('#issue_title').val()).toBe('From a link')
    expect((await browser.submit('Create issue', { 'issue[title]': ' ' })).status).toBe(422)
    const made = await browser.submit('Create issue', {
      'issue[title]': '<b>Broken</b>',
      'issue[description]': `See **this** and @${owner.username}`,
    })
    expect([made.at, made.$('h1').text(), made.$('h1 b').length]).toEqual([`${at}/1`, '<b>Broken</b> #1', 0])
    expect([made.$('.prose strong').text(), made.$('.prose a').text()]).toEqual(['this', `@${owner.username}`])
    const noted = await browser.submit('Comment', { 'note[note]': 'A <script>comment</script>\r\n\r\n- [ ] do' })
    expect([noted.$('.note .prose').text(), noted.$('main script').length]).toEqual([expect.stringContaining('A '), 0])
    expect((await browser.submit('Comment', { 'note[note]': ' ' })).status).toBe(422)
    expect((await browser.submit('Comment', { 'note[note]': '/assign me' })).text).toContain(`Assigned @${who.username}.`)
    expect((await browser.submit('Close issue')).text).toContain('Issue closed.')
    expect(browser.page?.$('.system').text()).toContain('closed')
    expect((await browser.open(at)).text).toContain('There are no such issues.')
    const closed = await browser.open(`${at}?state=closed&search=broken`)
    expect(closed.$('.rows .title').text()).toBe('<b>Broken</b>')
    const { body } = await t.api('get', `${project.path}/issues/1`, who).expect(200)
    expect(body).toMatchObject({ title: '<b>Broken</b>', state: 'closed', assignee: { id: who.id } })
  })

  it('that are confidential are not found by others, and visitors read the description alone', async () => {
    const [owner, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    for (const confidential of [false, true])
      await t
        .api('post', `${project.path}/issues`, owner)
        .send({ title: `secret ${confidential}`, description: 'the description', confidential })
        .expect(201)
    await t.api('post', `${project.path}/issues/1/notes`, owner).send({ body: 'the comment' }).expect(201)
    const at = `/${project.fullPath}/-/issues`
    const browser = await signedIn(stranger)
    expect((await browser.open(at)).text).not.toContain('secret true')
    expect((await browser.open(`${at}/2`)).status).toBe(404)
    expect((await browser.open(`${at}/1`)).text).toContain('the comment')
    const visitor = await new TestBrowser(t.url).open(`${at}/1`)
    expect([visitor.status, visitor.text.includes('the description'), visitor.text.includes('the comment'), visitor.$('main form').length]).toEqual([
      200,
      true,
      false,
      0,
    ])
  })
})

describe('merge requests', () => {
  it('are opened from the link of a push, reviewed, approved and merged in a browser', async () => {
    const [owner, author] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, developer: author, visibility: 'public', files: { a: 'one\n' } })
    const actions = [{ action: 'update', file_path: 'a', content: 'two\n' }]
    await t
      .api('post', `${project.path}/repository/commits`, author)
      .send({ branch: 'feature/x', start_branch: 'main', commit_message: 'Two', actions })
      .expect(201)
    const at = `/${project.fullPath}/-/merge_requests`
    const theirs = await signedIn(author)
    await theirs.open(`${at}/new?merge_request%5Bsource_branch%5D=feature%2Fx`)
    expect((await theirs.submit('Create merge request', { 'merge_request[source_branch]': 'gone' })).status).toBe(422)
    const made = await theirs.submit('Create merge request', { 'merge_request[source_branch]': 'feature/x', 'merge_request[title]': 'Two, not one' })
    expect([made.at, made.text]).toEqual([`${at}/1`, expect.stringContaining('Merge request created.')])
    // developers may not merge into the protected branch
    expect(made.$('button:contains("Merge")').length).toBe(0)
    await t.ctx.jobs.drain()
    const { body } = await t.api('post', `${project.path}/merge_requests/1/discussions`, owner).send({ body: 'Why?' }).expect(201)
    const mine = await signedIn(owner)
    expect((await mine.open(at)).$('.rows .title').text()).toBe('Two, not one')
    expect((await mine.open(`${at}/1/commits`)).$('.rows .title').text()).toBe('Two')
    const changes = await mine.open(`${at}/1/diffs`)
    expect([changes.$('.removed .code').text(), changes.$('.added .code').text()]).toEqual(['one', 'two'])
    await mine.open(`${at}/1`)
    await mine.follow('Reply')
    await mine.submit(`${at}/1/discussions/${body.id}/notes`, { 'note[note]': 'Because.' })
    expect(mine.page?.$('article.note').length).toBe(2)
    await mine.submit('Resolve thread')
    expect(mine.page?.text).toContain('resolved')
    expect((await mine.submit('Approve')).text).toContain('Merge request approved.')
    const merged = await mine.submit('Merge', { commit_message: 'Merge it', should_remove_source_branch: '1' })
    expect(merged.text).toContain('Merged.')
    const { body: after } = await t.api('get', `${project.path}/merge_requests/1`, owner).expect(200)
    expect(after).toMatchObject({ state: 'merged', merged_by: { id: owner.id } })
    const { body: head } = await t.api('get', `${project.path}/repository/commits/main`, owner).expect(200)
    expect(head.message).toContain('Merge it')
    await t.api('get', `${project.path}/repository/branches/feature%2Fx`, owner).expect(404)
  })

  it('whose source has moved since the page was opened are not merged, and a conflict says what to do', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'one\n' } })
    const commit = (branch: string, content: string, more = {}) =>
      t
        .api('post', `${project.path}/repository/commits`, who)
        .send({ branch, commit_message: 'x', actions: [{ action: 'update', file_path: 'a', content }], ...more })
        .expect(201)
    await commit('topic', 'two\n', { start_branch: 'main' })
    await t.api('post', `${project.path}/merge_requests`, who).send({ title: 'T', source_branch: 'topic', target_branch: 'main' }).expect(201)
    await t.ctx.jobs.drain()
    const browser = await signedIn(who)
    await browser.open(`/${project.fullPath}/-/merge_requests/1`)
    await commit('topic', 'three\n')
    expect((await browser.submit('Merge')).status).toBe(422)
    await commit('main', 'four\n')
    await t.ctx.jobs.drain()
    await t.api('get', `${project.path}/merge_requests/1`, who).expect(200)
    await t.ctx.jobs.drain()
    expect((await browser.open(`/${project.fullPath}/-/merge_requests/1`)).text).toContain('There are conflicts with main.')
  })
})

describe('pipelines', () => {
  it('show each status with its text and its link, and jobs lead to them', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'a' } })
    const { body: head } = await t.api('get', `${project.path}/repository/commits/main`, who).expect(200)
    const post = (body: object) =>
      t
        .api('post', `${project.path}/statuses/${head.id}`, who)
        .send({ ref: 'main', ...body })
        .expect(201)
    await post({ state: 'success', name: 'build', target_url: 'https://ci.example/1' })
    const { body: failed } = await post({ state: 'failed', name: '<b>test</b>', description: '3 of 5 failed', target_url: 'https://ci.example/2' })
    const browser = await signedIn(who)
    const list = await browser.open(`/${project.fullPath}/-/pipelines`)
    const page = await browser.open(list.$('.rows a').first().attr('href') as string)
    expect(
      page
        .$('.rows > li')
        .toArray()
        .map((row) => page.$(row).find('.badge').text()),
    ).toEqual(['passed', 'failed'])
    for (const text of ['<b>test</b>', '3 of 5 failed']) expect(page.text).toContain(text)
    expect([page.$('a[href="https://ci.example/2"]').text(), page.$('main b').length]).toEqual(['<b>test</b>', 0])
    expect((await browser.open(`/${project.fullPath}/-/jobs/${failed.id}`)).at).toBe(page.at)
    expect((await browser.open(`/${project.fullPath}`)).$('.files, .box').text()).toContain('failed')
  })
})
