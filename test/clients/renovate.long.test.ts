// @module-tag long
import type { Response } from 'supertest'
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { commitIn, gitClient, gitOut } from '../support/clients/git-client.js'
import { aGroup, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
const git = gitClient(t)

type Method = 'get' | 'post' | 'put' | 'delete'

/** As Renovate calls: JSON, with the token as a bearer's. */
const callsOf =
  (user: TestUser) =>
  async (method: Method, path: string, status: number, body?: object): Promise<Pick<Response, 'body' | 'headers'>> =>
    t
      .api(method, path)
      .set('Authorization', `Bearer ${user.token}`)
      .set('Accept', 'application/json')
      .send(...(body ? [body] : []))
      .expect(status)

const idOf = ({ fullPath }: TestProject) => encodeURIComponent(fullPath)

describe('Renovate, call by call', () => {
  it('finds its projects and reads all it decides by (CL-4)', async () => {
    const bot = await aUser(t.ctx, { name: 'Renovate Bot' })
    const call = callsOf(bot)
    const mine = await aProject(t.ctx, { developer: bot, files: { 'renovate.json': '{"extends":["config:base"]}' } })
    const archived = await aProject(t.ctx, { creator: bot })
    await t.api('post', `${archived.path}/archive`, bot).expect(201)
    await aProject(t.ctx, { guest: bot })
    const closed = await aProject(t.ctx, { creator: bot })
    await t.api('put', closed.path, bot).send({ merge_requests_access_level: 'disabled' }).expect(200)

    expect((await call('get', '/user', 200)).body).toMatchObject({
      id: bot.id,
      username: bot.username,
      name: 'Renovate Bot',
      email: bot.email,
      commit_email: bot.email,
    })
    expect((await call('get', '/version', 200)).body).toMatchObject({ version: expect.stringMatching(/^13\.12\./), revision: expect.any(String) })
    const found = await call('get', '/projects?membership=true&per_page=100&with_merge_requests_enabled=true&min_access_level=30&archived=false', 200)
    expect(found.body.map(({ path_with_namespace }: { path_with_namespace: string }) => path_with_namespace)).toEqual([mine.fullPath])
    expect(found.headers['x-total']).toBe('1')

    expect((await call('get', `/projects/${idOf(mine)}`, 200)).body).toMatchObject({
      archived: false,
      mirror: false,
      default_branch: 'main',
      empty_repo: false,
      http_url_to_repo: expect.stringMatching(new RegExp(`/${mine.fullPath}\\.git$`)),
      merge_method: 'merge',
      merge_requests_access_level: 'enabled',
      issues_access_level: 'enabled',
      repository_access_level: 'enabled',
    })
    expect((await call('get', `/projects/${idOf(closed)}`, 200)).body).toMatchObject({
      merge_requests_access_level: 'disabled',
      empty_repo: true,
      default_branch: null,
    })
    expect((await call('get', `/projects/${idOf(archived)}`, 200)).body).toMatchObject({ archived: true })
    const { body: fork } = await t.api('post', `${mine.path}/fork`, bot).send({}).expect(201)
    expect((await call('get', `/projects/${fork.id}`, 200)).body.forked_from_project).toMatchObject({ id: mine.id })

    const { body: file } = await call('get', `/projects/${idOf(mine)}/repository/files/renovate.json?ref=HEAD`, 200)
    expect(JSON.parse(Buffer.from(file.content, 'base64').toString())).toEqual({ extends: ['config:base'] })
    await call('get', `/projects/${idOf(mine)}/repository/files/${encodeURIComponent('.github/renovate.json')}?ref=HEAD`, 404)
    expect((await call('get', `/users?username=${bot.username}`, 200)).body).toMatchObject([{ id: bot.id, username: bot.username }])
    const group = await aGroup(t.ctx, { creator: bot })
    expect((await call('get', `/groups/${group.fullPath}/members`, 200)).body).toMatchObject([{ id: bot.id, username: bot.username }])
  })

  it('pushes a branch, posts statuses, opens a merge request, changes it and merges it (CL-4, PL-3, X-2, X-4)', async () => {
    const [bot, reviewer] = [await aUser(t.ctx), await aUser(t.ctx)]
    const call = callsOf(bot)
    const project = await aProject(t.ctx, { maintainer: bot, developer: reviewer, files: { 'package.json': '{}' } })
    const at = `/projects/${idOf(project)}`
    const work = await git.cloned(git.url(project.fullPath, bot, 'oauth2'))
    const main = await gitOut(work, 'rev-parse', 'HEAD')
    await gitOut(work, 'checkout', '-q', '-b', 'renovate/lodash-4.x')
    const sha = await commitIn(work, 'package-lock.json')
    await gitOut(work, 'push', '-q', '--force', 'origin', 'renovate/lodash-4.x:renovate/lodash-4.x')
    expect((await call('get', `${at}/repository/branches/${encodeURIComponent('renovate/lodash-4.x')}`, 200)).body.commit.id).toBe(sha)

    // it asks for the pipeline until there is one, and then names it
    expect((await call('get', `${at}/repository/commits/${sha}`, 200)).body).toMatchObject({ id: sha, last_pipeline: null })
    expect((await call('get', `${at}/repository/commits/${sha}/statuses`, 200)).body).toEqual([])
    const status = { state: 'pending', description: 'Updates have not met minimum release age', context: 'renovate/stability-days' }
    const posted = (await call('post', `${at}/statuses/${sha}`, 201, status)).body
    expect(posted).toMatchObject({ status: 'pending', name: 'renovate/stability-days', sha })
    const { last_pipeline } = (await call('get', `${at}/repository/commits/${sha}`, 200)).body
    expect(last_pipeline).toMatchObject({ id: expect.any(Number), status: 'pending', sha })
    const again = await call('post', `${at}/statuses/${sha}`, 400, { ...status, pipeline_id: last_pipeline.id })
    expect(again.body.message).toMatch(/^Cannot transition status via :enqueue from :pending/)
    await call('post', `${at}/statuses/${sha}`, 201, { ...status, state: 'success', pipeline_id: last_pipeline.id })
    // asked without `ref`, for a commit that only its branch has (ST-5)
    expect((await call('get', `${at}/repository/commits/${sha}/statuses`, 200)).body).toMatchObject([
      { name: 'renovate/stability-days', status: 'success', ref: 'renovate/lodash-4.x', allow_failure: false },
    ])

    const list = `${at}/merge_requests?per_page=100&scope=created_by_me`
    expect((await call('get', list, 200)).body).toEqual([])
    const opened = (
      await call('post', `${at}/merge_requests`, 201, {
        source_branch: 'renovate/lodash-4.x',
        target_branch: 'main',
        remove_source_branch: true,
        title: 'Update lodash',
        description: 'This updates lodash.',
        labels: 'renovate,dependencies',
        squash: false,
      })
    ).body
    expect(opened).toMatchObject({ state: 'opened', labels: ['dependencies', 'renovate'], squash: false, force_remove_source_branch: true })
    const one = `${at}/merge_requests/${opened.iid}`
    await call('post', `${at}/merge_requests`, 409, { source_branch: 'renovate/lodash-4.x', target_branch: 'main', title: 'Update lodash' })
    expect((await call('get', list, 200)).body).toMatchObject([
      { iid: opened.iid, source_branch: 'renovate/lodash-4.x', title: 'Update lodash', state: 'opened', sha },
    ])

    expect(
      (await call('put', one, 200, { title: 'Update lodash to v4', description: 'More.', add_labels: 'major', remove_labels: 'renovate' })).body,
    ).toMatchObject({
      title: 'Update lodash to v4',
      labels: ['dependencies', 'major'],
    })
    expect((await call('put', `${one}?assignee_ids[]=${reviewer.id}`, 200)).body.assignees).toMatchObject([{ id: reviewer.id }])
    expect((await call('put', one, 200, { reviewer_ids: [reviewer.id], target_branch: 'main' })).body.iid).toBe(opened.iid)
    const seen = (await call('get', `${one}?include_diverged_commits_count=1`, 200)).body
    expect(seen).toMatchObject({
      merge_status: 'can_be_merged',
      sha,
      diverged_commits_count: 0,
      pipeline: { id: last_pipeline.id, status: 'success' },
      head_pipeline: { id: last_pipeline.id, status: 'success' },
      diff_refs: { base_sha: main, head_sha: sha },
    })

    const { body: note } = await call('post', `${one}/notes`, 201, { body: '### Ensured comment\n\nFirst' })
    expect((await call('get', `${one}/notes`, 200)).body).toContainEqual(
      expect.objectContaining({ id: note.id, body: '### Ensured comment\n\nFirst' }),
    )
    expect((await call('put', `${one}/notes/${note.id}`, 200, { body: '### Ensured comment\n\nSecond' })).body.id).toBe(note.id)
    await call('delete', `${one}/notes/${note.id}`, 204)

    const merged = (await call('put', `${one}/merge`, 200, { should_remove_source_branch: true })).body
    expect(merged).toMatchObject({ state: 'merged', iid: opened.iid })
    await call('get', `${at}/repository/branches/${encodeURIComponent('renovate/lodash-4.x')}`, 404)
    await gitOut(work, 'fetch', '-q', '--prune')
    expect(await gitOut(work, 'merge-base', '--is-ancestor', sha, 'origin/main')).toBe('')
    expect((await call('get', `${list}&state=opened`, 200)).body).toEqual([])
  })

  it('keeps its issue and closes what it gives up (CL-4, IS-3)', async () => {
    const bot = await aUser(t.ctx)
    const call = callsOf(bot)
    const project = await aProject(t.ctx, { developer: bot, files: { 'package.json': '{}' } })
    const at = `/projects/${idOf(project)}`
    const issues = `${at}/issues?per_page=100&scope=created_by_me&state=opened`
    await t.api('post', `${project.path}/issues`, project.creator).send({ title: 'Of somebody else' }).expect(201)
    expect((await call('get', issues, 200)).body).toEqual([])
    const sent = { title: 'Dependency Dashboard', description: '- [ ] lodash', labels: 'renovate,dashboard', confidential: false }
    const { body: issue } = await call('post', `${at}/issues`, 201, sent)
    expect(issue).toMatchObject({ iid: 2, labels: ['dashboard', 'renovate'] })
    expect((await call('get', issues, 200)).body).toMatchObject([{ iid: issue.iid, title: 'Dependency Dashboard' }])
    expect((await call('get', `${at}/issues/${issue.iid}`, 200)).body.description).toBe('- [ ] lodash')
    const changed = { title: 'Dependency Dashboard', description: '- [x] lodash', labels: 'renovate', confidential: true }
    expect((await call('put', `${at}/issues/${issue.iid}`, 200, changed)).body).toMatchObject({ labels: ['renovate'], confidential: true })
    expect((await call('put', `${at}/issues/${issue.iid}`, 200, { state_event: 'close' })).body.state).toBe('closed')

    const work = await git.cloned(git.url(project.fullPath, bot, 'oauth2'))
    await gitOut(work, 'checkout', '-q', '-b', 'renovate/configure')
    await commitIn(work, 'renovate.json', '{}')
    await gitOut(work, 'push', '-q', 'origin', 'renovate/configure')
    const { body: request } = await call('post', `${at}/merge_requests`, 201, {
      source_branch: 'renovate/configure',
      target_branch: 'main',
      title: 'Configure Renovate',
    })
    const closed = await call('put', `${at}/merge_requests/${request.iid}`, 200, { title: 'Configure Renovate - autoclosed', state_event: 'close' })
    expect(closed.body).toMatchObject({ state: 'closed', title: 'Configure Renovate - autoclosed' })
    await gitOut(work, 'push', '-q', 'origin', '--delete', 'renovate/configure')
    expect((await call('put', `${at}/merge_requests/${request.iid}`, 200, { title: 'Configure Renovate' })).body.state).toBe('closed')
    // who may merge into the branch is asked first (MR-59)
    await call('put', `${at}/merge_requests/${request.iid}/merge`, 401, { should_remove_source_branch: true })
  })
})
