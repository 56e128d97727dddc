import { and, eq, sql } from 'drizzle-orm'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { commitStatuses, mergeRequests, notes, protectedBranches, todos } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { gitClient, gitOut, gitRun } from '../../support/clients/git-client.js'
import { aCommit, aProject, aUser, type TestProject } from '../../support/factories.js'
import { aMergeRequest, rowOfRequest, showRequest, soon, type TestRequest } from '../../support/merge-requests.js'
import { bareOf } from '../../support/repositories.js'
import { rounds } from '../../support/rounds.js'

const t = testApp()
const client = gitClient(t)

const headOf = (project: TestProject, branch: string) => bareOf(t, project).git('rev-parse', `refs/heads/${branch}`).trim()
const versionsOf = async (request: TestRequest) =>
  (await t.api('get', `${request.path}/versions`, request.project.creator).expect(200)).body as { id: number; head_commit_sha: string }[]
const settled = (request: TestRequest, status: string) => soon(async () => (await showRequest(t, request)).merge_status === status)
const edit = (project: TestProject, branch: string, file_path: string, content: string, more: object = {}) =>
  t
    .api('post', `${project.path}/repository/commits`, project.creator)
    .send({ branch, commit_message: 'edit', actions: [{ action: 'update', file_path, content }], ...more })
    .expect(201)
const unprotected = (project: TestProject) => t.ctx.db.write.delete(protectedBranches).where(eq(protectedBranches.project_id, project.id))
const open = async (given: Parameters<typeof aMergeRequest>[1] = {}) => aMergeRequest(t, given)

describe('a push to the source', () => {
  it('makes a new version at once, and checks soon whether it can be merged, without a request for that (MR-70, PU-2, SEC-116)', async () => {
    const request = await open()
    const first = await showRequest(t, request)
    const head = await aCommit(t.ctx, request.project, { more: 'x' }, { branch: request.source })
    expect(await showRequest(t, request)).toMatchObject({ sha: head, changes_count: '2', diff_refs: { head_sha: head } })
    expect((await versionsOf(request)).map(({ head_commit_sha }) => head_commit_sha)).toEqual([head, first.sha])
    await soon(async () => (await rowOfRequest(t, request)).merge_status === 'can_be_merged')
    await edit(request.project, 'main', 'readme.md', 'ours\n')
    await edit(request.project, request.source, 'readme.md', 'theirs\n')
    await soon(async () => (await rowOfRequest(t, request)).merge_status === 'cannot_be_merged')
  })

  it('a version that is written after the source has moved once more, by another machine, is made again (SEC-196)', async () => {
    const request = await open()
    const other = new pg.Client(t.databaseUrl)
    await other.connect()
    try {
      await other.query('begin')
      await other.query('select from merge_requests where id = $1 for update', [request.id])
      const push = edit(request.project, request.source, 'readme.md', 'older\n').then()
      const waits = sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      await expect.poll(async () => (await t.ctx.db.write.execute(waits)).rowCount, { timeout: 5_000, interval: 5 }).toBeGreaterThan(0)
      // the older version is about to be written
      const { git } = bareOf(t, request.project)
      const ref = `refs/heads/${request.source}`
      const newer = git('commit-tree', '-m', 'newer', '-p', ref, `${ref}^{tree}`).trim()
      git('update-ref', ref, newer)
      await other.query('commit')
      await push
      expect(await showRequest(t, request)).toMatchObject({ sha: newer })
      expect((await versionsOf(request))[0]?.head_commit_sha).toBe(newer)
    } finally {
      await other.end()
    }
  })

  it('over Git and from a fork, as through the API (MR-70)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const other = await aUser(t.ctx)
    const { body } = await t.api('post', `${project.path}/fork`, other).send({}).expect(201)
    await t.ctx.jobs.drain()
    const fork: TestProject = { id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace, creator: other }
    const request = await open({ project, from: fork })
    const work = await client.cloned(client.url(fork.fullPath, other), '-b', request.source)
    await gitOut(work, 'commit', '--allow-empty', '-qm', 'one more')
    await gitOut(work, 'push', '-q', 'origin', request.source)
    const head = headOf(fork, request.source)
    expect(await showRequest(t, request)).toMatchObject({ sha: head })
    // GH-8: and so does everybody who fetches
    const mirror = await client.cloned(client.url(project.fullPath, project.creator))
    await gitOut(mirror, 'fetch', '-q', 'origin', `refs/merge-requests/${request.iid}/head:mr`)
    expect(await gitOut(mirror, 'rev-parse', 'mr')).toBe(head)
    const advertised = await gitOut(mirror, 'ls-remote', 'origin')
    expect(advertised).toContain(`refs/merge-requests/${request.iid}/head`)
    expect(advertised).not.toContain('keep-around')
    // and nothing is written there
    expect((await gitRun(mirror, 'push', '-q', 'origin', `HEAD:refs/merge-requests/${request.iid}/head`)).code).not.toBe(0)
  })

  it('over Git is answered with the URLs of the open requests of the branch, unless the project has that off (GH-23)', async () => {
    const request = await open()
    const work = await client.cloned(client.url(request.project.fullPath, request.project.creator), '-b', request.source)
    const push = async () => {
      await gitOut(work, 'commit', '--allow-empty', '-qm', 'one more')
      return (await gitRun(work, 'push', 'origin', request.source)).err
    }
    const said = await push()
    expect(said).toContain(`View merge request for ${request.source}:`)
    expect(said).toContain(`http://roost.test/${request.project.fullPath}/merge_requests/${request.iid}`)
    await t.api('put', request.project.path, request.project.creator).send({ printing_merge_request_link_enabled: false }).expect(200)
    expect(await push()).not.toContain('merge_requests')
  })

  it('calls off the automatic merge and ends the todos of who pushes (MR-71, PL-7)', async () => {
    const request = await open()
    await t.ctx.db.write
      .update(mergeRequests)
      .set({ merge_when_pipeline_succeeds: true, merge_user_id: request.project.creator.id, should_remove_source_branch: true })
      .where(eq(mergeRequests.id, request.id))
    await t.ctx.db.write.insert(todos).values({
      user_id: request.project.creator.id,
      author_id: request.project.creator.id,
      project_id: request.project.id,
      target_type: 'MergeRequest',
      target_id: request.id,
      action: 'marked',
      created_at: new Date(),
      updated_at: new Date(),
    })
    await aCommit(t.ctx, request.project, { more: 'x' }, { branch: request.source })
    expect(await rowOfRequest(t, request)).toMatchObject({
      merge_when_pipeline_succeeds: false,
      merge_user_id: null,
      should_remove_source_branch: null,
    })
    expect(await t.ctx.db.write.select({ state: todos.state }).from(todos).where(eq(todos.target_id, request.id))).toEqual([{ state: 'done' }])
  })

  it('with an unfinished commit makes it work in progress, once (MR-76)', async () => {
    const titles = ['WIP', '[WIP] x', 'WIP: x', 'WIP x', 'a fixup! b', 'squash! b']
    for (const [i, message] of titles.entries()) {
      const request = await open()
      await aCommit(t.ctx, request.project, { [`f${i}`]: 'x' }, { branch: request.source, message })
      await aCommit(t.ctx, request.project, { [`g${i}`]: 'x' }, { branch: request.source, message })
      expect(await showRequest(t, request)).toMatchObject({ title: `WIP: Change ${request.source}`, work_in_progress: true })
    }
    for (const message of ['WIPE x', 'wip: x', 'no WIP: x', 'fixup x']) {
      const request = await open()
      await aCommit(t.ctx, request.project, { more: 'x' }, { branch: request.source, message })
      expect((await showRequest(t, request)).title).toBe(`Change ${request.source}`)
    }
  })

  it('that makes the branch, where there was none (MR-36, MR-70)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const request = await open({ project, files: null })
    expect(await showRequest(t, request)).toMatchObject({ sha: null, changes_count: '0', merge_status: 'cannot_be_merged', diff_refs: null })
    const head = await aCommit(t.ctx, project, { b: 'b' }, { branch: request.source, start_branch: 'main' })
    expect(await showRequest(t, request)).toMatchObject({ sha: head, changes_count: '1' })
    await settled(request, 'can_be_merged')
  })

  it('that deletes the branch closes its open requests, by the pusher (MR-74, PU-4)', async () => {
    const request = await open()
    await t.api('delete', `${request.project.path}/repository/branches/${request.source}`, request.project.creator).expect(204)
    expect(await showRequest(t, request)).toMatchObject({ state: 'closed', closed_by: { id: request.project.creator.id } })
    expect(
      await t.ctx.db.write
        .select()
        .from(notes)
        .where(and(eq(notes.noteable_id, request.id), eq(notes.noteable_type, 'MergeRequest'))),
    ).toMatchObject([{ system: true }])
  })

  it('leaves closed and merged ones alone (MR-75, MR-5)', async () => {
    const request = await open()
    const before = (await showRequest(t, request)).sha
    await t.ctx.db.write.update(mergeRequests).set({ state: 'closed' }).where(eq(mergeRequests.id, request.id))
    const row = await rowOfRequest(t, request)
    await aCommit(t.ctx, request.project, { more: 'x' }, { branch: request.source })
    await t.api('delete', `${request.project.path}/repository/branches/${request.source}`, request.project.creator).expect(204)
    expect(await rowOfRequest(t, request)).toEqual(row)
    expect(row.sha).toBe(before)
  })

  it('however many requests there are costs no more statements', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    for (const branch of ['t1', 't2', 't3', 't4', 't5', 't6']) await aCommit(t.ctx, project, { [branch]: 'x' }, { branch, start_branch: 'main' })
    const request = await open({ project, target: 't1' })
    await t.ctx.jobs.drain()
    let n = 0
    const push = async () => {
      const texts = await t.queriesOf(() => aCommit(t.ctx, project, { [`n${n++}`]: 'x' }, { branch: request.source }))
      await t.ctx.jobs.drain()
      return texts.length
    }
    // background work may begin while a push is counted, so the least of several counts
    const fewest = async () => Math.min(await push(), await push(), await push())
    const one = await fewest()
    for (const target of ['t2', 't3', 't4', 't5', 't6']) await open({ project, source: request.source, files: null, target })
    await t.ctx.jobs.drain()
    expect(await fewest()).toBeLessThanOrEqual(one + 2)
  })
})

describe('a push to the target', () => {
  it('checks again, without a new version (MR-72, PU-2)', async () => {
    const request = await open({ files: null, source: 'topic', project: await aProject(t.ctx, { files: { a: 'a\n' } }) })
    await t.api('post', `${request.project.path}/repository/branches`, request.project.creator).send({ branch: 'topic', ref: 'main' }).expect(201)
    await edit(request.project, 'topic', 'a', 'theirs\n')
    await settled(request, 'can_be_merged')
    const before = await versionsOf(request)
    await edit(request.project, 'main', 'a', 'ours\n')
    await settled(request, 'cannot_be_merged')
    await edit(request.project, 'main', 'a', 'a\n')
    await settled(request, 'can_be_merged')
    expect(await versionsOf(request)).toEqual(before)
  })

  it('makes a new version when it has some of the commits, or is forced (MR-72)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await unprotected(project)
    const request = await open({ project })
    const first = headOf(project, request.source)
    await aCommit(t.ctx, project, { second: 'x' }, { branch: request.source })
    await t.ctx.jobs.drain()
    const work = await client.cloned(client.url(project.fullPath, project.creator))
    const main = headOf(project, 'main')
    await gitOut(work, 'push', '-q', 'origin', `${first}:main`)
    await soon(async () => (await versionsOf(request)).length === 3)
    expect(await showRequest(t, request)).toMatchObject({ state: 'opened', changes_count: '1', diff_refs: { start_sha: first } })
    await gitOut(work, 'push', '-qf', 'origin', `${main}:main`)
    await soon(async () => (await versionsOf(request)).length === 4)
    expect(await showRequest(t, request)).toMatchObject({ changes_count: '2', diff_refs: { start_sha: main } })
  })

  it('that contains the head marks it merged, by the pusher, without a merge commit (MR-73, MR-6, PU-3)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const { body: issue } = await t.api('post', `${project.path}/issues`, project.creator).send({ title: 'x' }).expect(201)
    const request = await open({ project, sent: { description: `Closes #${issue.iid}` } })
    const work = await client.cloned(client.url(project.fullPath, project.creator))
    await gitOut(work, 'merge', '-q', '--no-ff', '-m', 'by hand', `origin/${request.source}`)
    await gitOut(work, 'push', '-q', 'origin', 'HEAD:main', `:${request.source}`)
    expect(await showRequest(t, request)).toMatchObject({ state: 'merged', merge_commit_sha: null, merged_by: { id: project.creator.id } })
    const { body } = await t.api('get', `${project.path}/issues/${issue.iid}`, project.creator).expect(200)
    expect(body.state).toBe('closed')
  })

  it('an empty version is never merged so (MR-73)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await t.api('post', `${project.path}/repository/branches`, project.creator).send({ branch: 'same', ref: 'main' }).expect(201)
    const request = await open({ project, source: 'same', files: null })
    await edit(project, 'main', 'a', 'b')
    await t.ctx.jobs.drain()
    expect(await showRequest(t, request)).toMatchObject({ state: 'opened', merge_status: 'cannot_be_merged', changes_count: '0' })
  })

  it('many moves of a branch with many requests delay no other call, and the last one counts (SEC-116)', { tags: ['long'] }, async () => {
    const project = await aProject(t.ctx, { files: { a: 'a\n' } })
    const root = headOf(project, 'main')
    const bare = bareOf(t, project)
    const branches = Array.from({ length: rounds(40, 60) }, (_, i) => `many${i}`)
    bare.commits(...branches.map((branch, i) => ({ branch, parents: [root], files: i % 2 === 0 ? { [branch]: 'x' } : { a: `${i}\n` } })))
    const requests: TestRequest[] = []
    for (const source of branches) requests.push(await open({ project, source, files: null }))
    for (let i = 0; i < rounds(8, 12); i++) await edit(project, 'main', 'a', `${1000 + i}\n`)
    await t.ctx.jobs.drain()
    const rows = await t.ctx.db.write.select().from(mergeRequests).where(eq(mergeRequests.project_id, project.id)).orderBy(mergeRequests.id)
    expect(rows.map(({ merge_status }) => merge_status)).toEqual(requests.map((_, i) => (i % 2 === 0 ? 'can_be_merged' : 'cannot_be_merged')))
  })
})

describe('beside them', () => {
  it('the clean-up of merged branches spares those of open requests (BR-6)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    for (const branch of ['source', 'target', 'free'])
      await t.api('post', `${project.path}/repository/branches`, project.creator).send({ branch, ref: 'main' }).expect(201)
    await open({ project, source: 'source', files: null, target: 'target' })
    // a branch at the head of the default branch is not merged, it has only begun (BR-21)
    await aCommit(t.ctx, project, { b: 'b' })
    await t.api('delete', `${project.path}/repository/merged_branches`, project.creator).expect(202)
    expect(bareOf(t, project).git('for-each-ref', '--format=%(refname:short)', 'refs/heads').trim().split('\n')).toEqual(['main', 'source', 'target'])
  })

  it('removing a fork closes its requests, which still show all they had (PR-26, SEC-117, SEC-118)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const other = await aUser(t.ctx)
    const { body } = await t.api('post', `${project.path}/fork`, other).send({}).expect(201)
    await t.ctx.jobs.drain()
    const fork: TestProject = { id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace, creator: other }
    const request = await open({ project, from: fork })
    const seen = async () =>
      Promise.all(
        ['commits', 'versions', 'diffs'].map(async (part) => (await t.api('get', `${request.path}/${part}`, project.creator).expect(200)).text),
      )
    const before = await seen()
    const { changes } = (await t.api('get', `${request.path}/changes`, project.creator).expect(200)).body
    await t.api('delete', fork.path, other).expect(202)
    await t.ctx.jobs.drain()
    bareOf(t, project).git('-c', 'gc.reflogExpire=now', 'gc', '-q', '--prune=now')
    expect(await showRequest(t, request)).toMatchObject({ state: 'closed' })
    expect(await seen()).toEqual(before)
    expect((await t.api('get', `${request.path}/changes`, project.creator).expect(200)).body.changes).toEqual(changes)
    await t.api('get', `${request.path}/pipelines`, project.creator).expect(200, [])
    await t.api('get', `${request.path}?include_diverged_commits_count=true`, project.creator).expect(200)
  })

  it('the newest pipeline of branch and head is the head pipeline (MR-39, ST-21, PL-6)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const request = await open({ project })
    const post = (sha: string, ref: string) =>
      t.api('post', `${project.path}/statuses/${sha}`, project.creator).send({ state: 'running', ref }).expect(201)
    const head = headOf(project, request.source)
    await post(head, 'elsewhere')
    expect(await showRequest(t, request)).toMatchObject({ head_pipeline: null })
    const { body } = await post(head, request.source)
    expect(await showRequest(t, request)).toMatchObject({ head_pipeline: { id: body.pipeline_id }, pipeline: { id: body.pipeline_id } })
    // found when the version is drawn, too
    const next = await open({ project, source: request.source, files: null, target: 'other' })
    expect((await showRequest(t, next)).sha).toBeNull()
    await t.api('post', `${project.path}/repository/branches`, project.creator).send({ branch: 'third', ref: 'main' }).expect(201)
    const third = await open({ project, source: request.source, files: null, target: 'third' })
    expect(await showRequest(t, third)).toMatchObject({ head_pipeline: { id: body.pipeline_id } })
    await aCommit(t.ctx, project, { more: 'x' }, { branch: request.source })
    expect(await showRequest(t, third)).toMatchObject({ head_pipeline: null })
  })

  it('a failed status of the head is a todo for the author, once (ST-22)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const request = await open({ project })
    const head = headOf(project, request.source)
    const failed = (name: string) =>
      t.api('post', `${project.path}/statuses/${head}`, project.creator).send({ state: 'failed', ref: request.source, name }).expect(201)
    await failed('a')
    await failed('b')
    expect(await t.ctx.db.write.select().from(todos).where(eq(todos.target_id, request.id))).toMatchObject([
      { user_id: project.creator.id, action: 'build_failed', target_type: 'MergeRequest', state: 'pending' },
    ])
    expect(await t.ctx.db.write.select().from(commitStatuses)).not.toEqual([])
  })
})
