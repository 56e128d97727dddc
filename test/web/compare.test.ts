import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aCommit, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  await browser.signIn(who)
  return browser
}

/** A fork of a project by another user, when it is ready. */
async function aFork(project: TestProject, by: TestUser): Promise<TestProject> {
  const { id, path_with_namespace: fullPath } = (await t.api('post', `${project.path}/fork`, by).expect(201)).body
  await expect.poll(async () => (await t.api('get', `/projects/${id}`, by)).body.import_status).toMatch(/finished|none/)
  return { id, path: `/projects/${id}`, fullPath, creator: by }
}

const LONG = Array.from({ length: 60 }, (_, i) => `line ${i + 1}`).join('\n')

describe('comparing', () => {
  it('takes a revision of another project of the fork network, without copying anything (WB-235)', async () => {
    const [owner, forker, stranger] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a.txt': `${LONG}\n` } })
    const fork = await aFork(project, forker)
    await t.api('put', fork.path, forker).send({ visibility: 'private' }).expect(200)
    await t
      .api('post', `${fork.path}/repository/commits`, forker)
      .send({
        branch: 'main',
        commit_message: 'Fork <b>',
        actions: [{ action: 'update', file_path: 'a.txt', content: `${LONG.replace('line 30', 'line thirty')}\n` }],
      })
      .expect(201)
    const upstream = await aCommit(t.ctx, project, { 'b.txt': 'b' }, { message: 'Upstream' })
    const browser = await signedIn(forker)
    const at = `/${fork.fullPath}/-/compare/main...main?from_project_id=${project.id}`
    const page = await browser.open(at)
    expect([page.status, page.$('.rows .title').text(), page.$('.diff').length, page.$('main b').length]).toEqual([200, 'Fork <b>', 1, 0])
    expect(page.text).toContain(`${project.fullPath}:main → main`)
    // two dots: what differs between both, so the file of the other side is gone here
    const straight = await browser.open(at.replace('...', '..'))
    expect(straight.$('.diff .badge.danger').text()).toBe('deleted')
    for (const link of straight
      .$('.diff a')
      .toArray()
      .map((each) => straight.$(each).attr('href') ?? ''))
      if (!link.startsWith('#')) expect([link, (await browser.open(link)).status]).toEqual([link, 200])
    // the commit of the other project did not come here
    await t.api('get', `${fork.path}/repository/commits/${upstream}`, forker).expect(404)
    // the other way round is for those who may read the fork alone
    const back = `/${project.fullPath}/-/compare/main...main?from_project_id=${fork.id}`
    expect((await browser.open(back)).$('.rows .title').text()).toBe('Upstream')
    expect((await (await signedIn(stranger)).open(back)).status).toBe(404)
    expect((await new TestBrowser(t.url).open(back)).at).toContain('/users/sign_in')
    const other = await aProject(t.ctx, { creator: forker, visibility: 'public', files: { a: 'a' } })
    expect((await browser.open(`/${fork.fullPath}/-/compare/main...main?from_project_id=${other.id}`)).status).toBe(404)
    // the API compares by the same rule (WB-372)
    const ask = (of: TestProject, from: TestProject, by?: TestUser) =>
      t.api('get', `${of.path}/repository/compare?from=main&to=main&from_project_id=${from.id}`, by)
    const { body } = await ask(fork, project, forker).expect(200)
    expect([body.commits.map(({ title }: { title: string }) => title), body.diffs.length]).toEqual([['Fork <b>'], 1])
    expect(body.web_url).toBe(`http://roost.test/${fork.fullPath}/compare/main...main?from_project_id=${project.id}`)
    expect((await ask(project, fork, forker).expect(200)).body.commit.title).toBe('Upstream')
    for (const by of [stranger, undefined]) expect((await ask(project, fork, by).expect(404)).body.message).toBe('404 Project Not Found')
    await ask(fork, other, forker).expect(404)
    await ask(project, project).expect(200)
    // view and project stay in the links; all lines of the file open
    const parallel = await browser.open(page.$('a:contains("Side-by-side")').attr('href') ?? '')
    expect([parallel.$('table.parallel').length, parallel.at.includes(`from_project_id=${project.id}`)]).toEqual([1, true])
    expect(page.$('.diff tr').length).toBeLessThan(20)
    const whole = await browser.open(page.$('a:contains("All lines")').attr('href') ?? '')
    expect([whole.$('.diff tr').length, whole.text.includes('line 60')]).toEqual([62, true])
  })

  it('begins with a form, which offers the network, and leads to a merge request across it (WB-235)', async () => {
    const [owner, forker] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a.txt': 'a' } })
    const fork = await aFork(project, forker)
    await t
      .api('post', `${fork.path}/repository/commits`, forker)
      .send({ branch: 'fix', start_branch: 'main', commit_message: 'Mend', actions: [{ action: 'create', file_path: 'c', content: 'c' }] })
      .expect(201)
    const browser = await signedIn(forker)
    const form = await browser.open(`/${fork.fullPath}/-/compare?to=fix&from_project_id=${project.id}`)
    expect(
      form
        .$('select[name="from_project_id"] option')
        .toArray()
        .map((each) => form.$(each).text())
        .sort(),
    ).toEqual([fork.fullPath, project.fullPath].sort())
    const compared = await browser.open(`/${fork.fullPath}/-/compare?from=main&to=fix&from_project_id=${project.id}`)
    expect(compared.at).toBe(`/${fork.fullPath}/-/compare/main...fix?from_project_id=${project.id}`)
    const request = await browser.open(compared.$('main a:contains("New merge request")').attr('href') ?? '')
    expect([request.text.includes('1 commit'), request.text.includes(`${project.fullPath}:main`), request.$('.diff').length]).toEqual([true, true, 1])
    const made = await browser.submit('Create merge request')
    expect([made.status, made.at]).toEqual([200, `/${project.fullPath}/-/merge_requests/1`])
    expect((await browser.open(`/${fork.fullPath}/-/compare/nothing...fix`)).status).toBe(404)
    expect((await browser.open(`/${fork.fullPath}/-/compare/main`)).status).toBe(404)
  })

  it('says how much of a renamed file is as it was, on commits, comparisons and merge requests (WB-234)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, {
      creator: owner,
      visibility: 'public',
      files: { 'old <b>.txt': `${LONG}\n`, 'same.txt': `${LONG}${LONG}\n` },
    })
    const actions = [
      { action: 'move', previous_path: 'old <b>.txt', file_path: 'new.txt', content: `${LONG.replace('line 30\n', 'line thirty\n')}\n` },
      { action: 'move', previous_path: 'same.txt', file_path: 'moved.txt' },
    ]
    const { id: sha } = (
      await t
        .api('post', `${project.path}/repository/commits`, owner)
        .send({ branch: 'fix', start_branch: 'main', commit_message: 'Move', actions })
        .expect(201)
    ).body
    await t.api('post', `${project.path}/merge_requests`, owner).send({ source_branch: 'fix', target_branch: 'main', title: 'Move' }).expect(201)
    const browser = await signedIn(owner)
    for (const at of [`commit/${sha}`, 'compare/main...fix', 'merge_requests/1/diffs']) {
      const { $ } = await browser.open(`/${project.fullPath}/-/${at}`)
      const badges = $('.diff .badge')
        .toArray()
        .map((each) => $(each).text())
      expect([at, badges]).toEqual([at, [expect.stringMatching(/^renamed, 9\d % the same$/), 'renamed, 100 % the same']])
      const opened = await browser.open($('a:contains("All lines")').attr('href') ?? '')
      expect([at, opened.text.includes('line 60'), opened.$('a:contains("Changes")').length > 0]).toEqual([at, true, true])
    }
    // comments are offered on the lines of the diff, and a comment keeps the file open
    const opened = await browser.open(browser.page?.at ?? '')
    expect([opened.$('.diff button.remark[value="31_31"]').length, opened.$('.diff button.remark[value="60_60"]').length]).toEqual([1, 0])
    const form = opened.$('.diff button.remark[value="31_31"]').attr('form') ?? ''
    const fields = opened
      .$(`form#${form} input`)
      .toArray()
      .map((each) => [opened.$(each).attr('name') ?? '', String(opened.$(each).attr('value'))])
    await browser.open(`/${project.fullPath}/-/merge_requests/1/diffs?${new URLSearchParams([...fields, ['line', '31_31']])}`)
    const commented = await browser.submit('Add comment now', { 'note[note]': 'In the middle' })
    expect([commented.status, commented.text.includes('In the middle'), commented.text.includes('line 60')]).toEqual([200, true, true])
  })
})
