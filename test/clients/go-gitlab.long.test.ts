// @module-tag long
import type { Response } from 'supertest'
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { commitIn, gitClient, gitOut } from '../support/clients/git-client.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { soon } from '../support/merge-requests.js'

const t = testApp()
const git = gitClient(t)

/** As the Go client calls: JSON with a charset, the token in its own header. */
const callsOf =
  (user: TestUser) =>
  async (method: 'get' | 'post' | 'put' | 'delete', path: string, status: number, body?: object): Promise<Pick<Response, 'body' | 'headers'>> => {
    const call = t.api(method, path, user).set('Accept', 'application/json').set('User-Agent', 'go-gitlab')
    return (body ? call.set('Content-Type', 'application/json; charset=utf-8').send(JSON.stringify(body)) : call).expect(status)
  }

const idOf = ({ fullPath }: Pick<TestProject, 'fullPath'>) => encodeURIComponent(fullPath).replaceAll('.', '%2E')

describe('go-gitlab and glab, call by call', () => {
  it('finds out about the service and itself (CL-3, VE-5)', async () => {
    const user = await aUser(t.ctx)
    const call = callsOf(user)
    for (const path of ['', '/']) {
      const answer = await fetch(`${t.url}/api/v4${path}`)
      expect([answer.status < 500, answer.headers.get('content-type')]).toEqual([true, 'application/json'])
    }
    expect((await call('get', '/user', 200)).body).toMatchObject({ id: user.id, username: user.username, state: 'active' })
    const project = await aProject(t.ctx, { creator: user, name: 'a.dotted.name' })
    expect((await call('get', `/projects/${idOf(project)}`, 200)).body).toMatchObject({
      id: project.id,
      path_with_namespace: project.fullPath,
      ssh_url_to_repo: expect.any(String),
      http_url_to_repo: expect.any(String),
      permissions: { project_access: { access_level: 40 } },
    })
  })

  it('forks, pushes, opens a merge request, finds it by its branch, fetches and rebases it (CL-3, X-3, X-4, X-8)', async () => {
    const [user, owner] = [await aUser(t.ctx), await aUser(t.ctx)]
    const call = callsOf(user)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', developer: user, files: { 'a.txt': 'a' } })
    const { body: fork } = await call('post', `/projects/${idOf(project)}/fork`, 201, {})
    expect(fork).toMatchObject({ forked_from_project: { id: project.id }, namespace: { path: user.username } })
    await soon(async () => (await call('get', `/projects/${fork.id}`, 200)).body.import_status !== 'started')

    const work = await git.cloned(git.url(fork.path_with_namespace, user))
    await gitOut(work, 'checkout', '-q', '-b', 'topic')
    const sha = await commitIn(work, 'b.txt')
    await gitOut(work, 'push', '-q', '-u', 'origin', 'topic')
    const sent = {
      title: 'A change',
      description: '',
      source_branch: 'topic',
      target_branch: 'main',
      target_project_id: project.id,
      labels: 'bug,wanted',
      assignee_ids: [user.id],
      reviewer_ids: [],
      remove_source_branch: false,
      allow_collaboration: true,
      squash: false,
    }
    const { body: request } = await call('post', `/projects/${fork.id}/merge_requests`, 201, sent)
    expect(request).toMatchObject({
      project_id: project.id,
      source_project_id: fork.id,
      target_project_id: project.id,
      assignees: [{ id: user.id }],
      labels: ['bug', 'wanted'],
      allow_collaboration: true,
      web_url: expect.any(String),
    })
    const at = `/projects/${idOf(project)}/merge_requests`
    const found = await call('get', `${at}?page=1&per_page=30&source_branch=topic&state=opened&order_by=created_at`, 200)
    expect(found.body).toMatchObject([{ iid: request.iid, sha }])
    expect(found.headers).toMatchObject({
      'x-page': '1',
      'x-per-page': '30',
      'x-total': '1',
      'x-total-pages': '1',
      'x-next-page': '',
      'x-prev-page': '',
    })
    expect((await call('get', `${at}?source_branch=other`, 200)).body).toEqual([])

    const checkout = await git.cloned(git.url(project.fullPath, user))
    await gitOut(checkout, 'fetch', '-q', 'origin', `refs/merge-requests/${request.iid}/head`)
    expect(await gitOut(checkout, 'rev-parse', 'FETCH_HEAD')).toBe(sha)

    await t
      .api('post', `${project.path}/repository/commits`, owner)
      .send({ branch: 'main', commit_message: 'On', actions: [{ action: 'create', file_path: 'c.txt', content: 'c' }] })
      .expect(201)
    expect((await call('put', `${at}/${request.iid}/rebase`, 202, { skip_ci: false })).body).toEqual({ rebase_in_progress: true })
    await soon(async () => (await call('get', `${at}/${request.iid}?include_rebase_in_progress=true`, 200)).body.rebase_in_progress === false)
    const rebased = (await call('get', `${at}/${request.iid}?include_diverged_commits_count=true&include_rebase_in_progress=true`, 200)).body
    expect(rebased).toMatchObject({ merge_error: null, diverged_commits_count: 0 })
    expect(rebased.sha).not.toBe(sha)
  })

  it('issues, labels, milestones, releases and pipelines (CL-3, RL-1, RL-5, PL-8, PL-9, PL-10)', async () => {
    const user = await aUser(t.ctx)
    const call = callsOf(user)
    const project = await aProject(t.ctx, { creator: user, files: { 'a.txt': 'a' } })
    const at = `/projects/${idOf(project)}`
    const { body: milestone } = await call('post', `${at}/milestones`, 201, { title: 'v1', due_date: '2030-01-02' })
    await call('post', `${at}/labels`, 201, { name: 'bug', color: '#ff0000' })
    const sent = {
      title: 'It breaks',
      description: 'Why',
      labels: 'bug,new one',
      assignee_ids: [user.id],
      milestone_id: milestone.id,
      confidential: false,
    }
    expect((await call('post', `${at}/issues`, 201, sent)).body).toMatchObject({
      labels: ['bug', 'new one'],
      assignees: [{ id: user.id }],
      milestone: { id: milestone.id, due_date: '2030-01-02' },
      web_url: expect.any(String),
    })
    expect((await call('get', `${at}/labels?page=1&per_page=100`, 200)).body).toMatchObject([{ name: 'bug', color: '#ff0000' }, { name: 'new one' }])
    expect((await call('get', `${at}/milestones?page=1&per_page=30&state=active&title=v1`, 200)).body).toMatchObject([
      { id: milestone.id, due_date: '2030-01-02' },
    ])

    const release = {
      name: 'First',
      tag_name: 'v1.0',
      description: 'Notes',
      ref: 'main',
      milestones: ['v1'],
      assets: { links: [{ name: 'a', url: 'https://example.com/a' }] },
    }
    expect((await call('post', `${at}/releases`, 201, release)).body).toMatchObject({
      tag_name: 'v1.0',
      milestones: [{ title: 'v1' }],
      assets: { links: [{ name: 'a' }] },
    })
    expect((await call('get', `${at}/releases?page=1&per_page=20`, 200)).body).toMatchObject([{ tag_name: 'v1.0', name: 'First' }])
    expect((await call('put', `${at}/releases/v1%2E0`, 200, { name: 'One', description: 'More' })).body).toMatchObject({
      name: 'One',
      description: 'More',
    })
    expect((await call('get', `${at}/releases/v1%2E0`, 200)).body).toMatchObject({ name: 'One', commit: { title: 'Add files' } })
    expect((await call('delete', `${at}/releases/v1%2E0`, 200)).body.name).toBe('One')
    await call('get', `${at}/releases/v1%2E0`, 404)

    const { body: branch } = await call('get', `${at}/repository/branches/main`, 200)
    const status = { state: 'success', ref: 'main', name: 'build', target_url: 'https://ci.example.com/1', description: 'Built' }
    await call('post', `${at}/statuses/${branch.commit.id}`, 201, status)
    const { body: pipelines } = await call('get', `${at}/pipelines?page=1&per_page=30&ref=main&order_by=id&sort=desc`, 200)
    expect(pipelines).toMatchObject([{ status: 'success', ref: 'main', sha: branch.commit.id }])
    expect((await call('get', `${at}/pipelines/${pipelines[0].id}`, 200)).body).toMatchObject({ id: pipelines[0].id, user: { id: user.id } })
    expect((await call('get', `${at}/pipelines/latest?ref=main`, 200)).body.id).toBe(pipelines[0].id)
    expect((await call('get', `${at}/pipelines/${pipelines[0].id}/jobs?scope[]=success&scope[]=failed`, 200)).body).toMatchObject([
      { name: 'build', status: 'success' },
    ])
    expect((await call('get', `${at}/pipelines/${pipelines[0].id}/jobs?scope[]=failed`, 200)).body).toEqual([])
  })

  it('of 2019 and before, sends `null` with each POST and PUT that has no parameters (CL-3, G-5)', async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: user })
    const post = (path: string) =>
      t
        .api('post', `/projects/${idOf(project)}${path}`, user)
        .set('Content-Type', 'application/json')
        .set('Accept', 'application/json')
        .send('null')
    expect((await post('/archive').expect(201)).body).toMatchObject({ archived: true })
    expect((await post('/unarchive').expect(201)).body).toMatchObject({ archived: false })
    expect((await post('/star').expect(201)).body).toMatchObject({ star_count: 1 })
    await post('/issues').expect(400, { error: 'title is missing' })
  })
})
