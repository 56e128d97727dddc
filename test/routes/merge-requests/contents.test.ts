import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { buildApp } from '../../../src/app.js'
import { createContext } from '../../../src/cli/create-context.js'
import { mergeRequests, protectedBranches } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCommit, aProject, aUser, type TestProject } from '../../support/factories.js'
import { aMergeRequest, showRequest } from '../../support/merge-requests.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()

const headOf = (project: TestProject, branch: string) => bareOf(t, project).git('rev-parse', `refs/heads/${branch}`).trim()
const get = (path: string, caller: { token: string }) => t.api('get', path, caller)

describe('what a request would merge', () => {
  it('/commits are those of the newest version, newest first, in pages (MR-87)', async () => {
    const request = await aMergeRequest(t)
    const { creator } = request.project
    const second = await aCommit(t.ctx, request.project, { more: 'x' }, { branch: request.source, message: 'Second\n\nwith words' })
    const { body, headers } = await get(`${request.path}/commits`, creator).expect(200)
    expect(body).toMatchObject([
      {
        id: second,
        short_id: second.slice(0, 8),
        title: 'Second',
        message: 'Second\n\nwith words',
        author_name: creator.name,
        author_email: creator.email,
      },
      { title: `Work on ${request.source}` },
    ])
    expect(headers['x-total']).toBe('2')
    expect((await get(`${request.path}/commits?per_page=1&page=2`, creator).expect(200)).body).toMatchObject([body[1]])
  })

  it('/merge_ref is the commit that merging would give, made anew when a branch has moved (RX-12)', async () => {
    const request = await aMergeRequest(t)
    const { project } = request
    const { git } = bareOf(t, project)
    const ref = `refs/merge-requests/${request.iid}/merge`
    const shown = async () => (await get(`${request.path}/merge_ref`, project.creator).expect(200)).body.commit_id as string
    const first = await shown()
    expect(git('rev-parse', ref, `${ref}^1`, `${ref}^2`).trim().split('\n')).toEqual([
      first,
      headOf(project, 'main'),
      headOf(project, request.source),
    ])
    expect(await shown()).toBe(first)
    const before = headOf(project, 'main')
    await aCommit(t.ctx, project, { beside: 'x' }, { branch: request.source })
    expect(await shown()).not.toBe(first)
    expect(headOf(project, 'main')).toBe(before)
    await t.api('put', request.path, project.creator).send({ state_event: 'close' }).expect(200)
    await get(`${request.path}/merge_ref`, project.creator).expect(400, { message: 'Merge request is not mergeable' })
    await get(`${request.path}/merge_ref`, await aUser(t.ctx)).expect(404)
    await t.api('delete', request.path, project.creator).expect(204)
    expect(git('for-each-ref', ref)).toBe('')
  })

  it('/changes and /diffs show what the source changed since the merge base, for each file (MR-88, C-53, X-7)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'one\n', b: 'two\n' } })
    const request = await aMergeRequest(t, { project, files: { c: 'three\n' } })
    await aCommit(t.ctx, project, { 'only-in-main': 'x' })
    await t
      .api('post', `${project.path}/repository/commits`, project.creator)
      .send({
        branch: request.source,
        commit_message: 'x',
        actions: [
          { action: 'delete', file_path: 'a' },
          { action: 'move', previous_path: 'b', file_path: 'd' },
        ],
      })
      .expect(201)
    const { body } = await get(`${request.path}/changes`, project.creator).expect(200)
    expect(body).toMatchObject({ iid: request.iid, subscribed: true, changes_count: '3' })
    expect(body.changes).toMatchObject([
      { old_path: 'a', new_path: 'a', deleted_file: true, a_mode: '100644', b_mode: '0' },
      { old_path: 'b', new_path: 'd', renamed_file: true, diff: '' },
      { old_path: 'c', new_path: 'c', new_file: true, diff: '--- /dev/null\n+++ b/c\n@@ -0,0 +1 @@\n+three\n' },
    ])
    const { body: diffs, headers } = await get(`${request.path}/diffs?per_page=2`, project.creator).expect(200)
    expect(diffs).toEqual(body.changes.slice(0, 2))
    expect(headers['x-total']).toBe('3')
  })

  it('to MR-92: /versions, newest first, and each with its commits and diffs (MR-90)', async () => {
    const request = await aMergeRequest(t)
    const { project } = request
    const start = headOf(project, 'main')
    const first = headOf(project, request.source)
    const second = await aCommit(t.ctx, project, { more: 'x' }, { branch: request.source })
    const { body } = await get(`${request.path}/versions`, project.creator).expect(200)
    const shared = { start_commit_sha: start, base_commit_sha: start, merge_request_id: request.id, state: 'collected' }
    expect(body).toMatchObject([
      { ...shared, head_commit_sha: second, real_size: '2' },
      { ...shared, head_commit_sha: first, real_size: '1' },
    ])
    expect(Object.keys(body[0])).not.toContain('commits')
    const detail = await get(`${request.path}/versions/${body[1].id}`, project.creator).expect(200)
    expect(detail.body).toMatchObject({ ...body[1], commits: [{ id: first }], diffs: [{ new_path: `${request.source}.txt` }] })
    await get(`${request.path}/versions/x`, project.creator).expect(400, { error: 'version_id is invalid' })
    const other = await aMergeRequest(t, { project })
    for (const id of [body[1].id, 0, '9'.repeat(19)])
      await get(`${other.path}/versions/${id}`, project.creator).expect(404, { message: '404 Not found' })
  })

  it('without a common history all commits and files of the source are new (MR-93)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    bareOf(t, project).commits({ branch: 'alone', parents: [], files: { b: 'b' } }, { branch: 'alone', files: { c: 'c\n' } })
    const request = await aMergeRequest(t, { project, source: 'alone', files: null })
    expect(await showRequest(t, request)).toMatchObject({ changes_count: '2', merge_status: 'cannot_be_merged', diff_refs: { base_sha: null } })
    expect((await get(`${request.path}/versions`, project.creator).expect(200)).body).toMatchObject([
      { state: 'collected', real_size: '2', base_commit_sha: null, head_commit_sha: headOf(project, 'alone') },
    ])
    expect((await get(`${request.path}/commits`, project.creator).expect(200)).body).toHaveLength(2)
    const { body } = await get(`${request.path}/changes`, project.creator).expect(200)
    expect(body.changes).toMatchObject([
      { new_path: 'b', new_file: true },
      { new_path: 'c', new_file: true },
    ])
    const position = { base_sha: '0'.repeat(40), start_sha: headOf(project, 'main'), head_sha: headOf(project, 'alone'), position_type: 'text' }
    const thread = { body: 'Why?', position: { ...position, new_path: 'c', new_line: 1 } }
    await t.api('post', `${request.path}/discussions`, project.creator).send(thread).expect(201)
    await t.api('put', `${request.path}/merge`, project.creator).expect(405)
    await t.api('put', `${request.path}/rebase`, project.creator).expect(202)
    await t.ctx.jobs.drain()
    expect(await showRequest(t, request)).toMatchObject({ changes_count: '2', merge_status: 'can_be_merged', merge_error: null })
    await t.api('put', `${request.path}/merge`, project.creator).expect(200)
  })

  it('without own commits, or without a branch, there is nothing, and it is said (MR-37)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    bareOf(t, project).git('update-ref', 'refs/heads/same', headOf(project, 'main'))
    for (const [source, versions] of [
      ['same', [{ state: 'empty', real_size: '0', base_commit_sha: headOf(project, 'main') }]],
      ['missing', []],
    ] as const) {
      const request = await aMergeRequest(t, { project, source, files: null })
      expect(await showRequest(t, request)).toMatchObject({ changes_count: '0', merge_status: 'cannot_be_merged' })
      expect((await get(`${request.path}/versions`, project.creator).expect(200)).body).toMatchObject(versions)
      await get(`${request.path}/commits`, project.creator).expect(200, [])
      expect((await get(`${request.path}/changes`, project.creator).expect(200)).body.changes).toEqual([])
    }
  })

  it('stops at a thousand files, at fifty thousand lines, and at a file that is too large (MR-7, MR-91, C-62, SEC-146)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const root = headOf(project, 'main')
    const lines = (count: number) => 'x\n'.repeat(count)
    const many = (count: number, content: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${String(i).padStart(4, '0')}`, content]))
    bareOf(t, project).commits(
      { branch: 'full', parents: [root], files: many(1_000, 'x\n') },
      { branch: 'over', parents: [root], files: many(1_001, 'x\n') },
      { branch: 'long', parents: [root], files: many(3, lines(20_000)) },
      { branch: 'large', parents: [root], files: { big: 'x'.repeat(200_000) } },
    )
    const seen = async (source: string) => {
      const request = await aMergeRequest(t, { project, source, files: null })
      const [{ body: versions }, { body }] = await Promise.all([
        get(`${request.path}/versions`, project.creator).expect(200),
        get(`${request.path}/changes`, project.creator).expect(200),
      ])
      // C-62
      const lengths = await Promise.all(
        ['changes', 'diffs?per_page=1', `versions/${versions[0].id}`].map(
          async (path) => (await get(`${request.path}/${path}`, project.creator).expect(200)).headers['x-diff-overflow'],
        ),
      )
      return [versions[0].state, versions[0].real_size, body.changes_count, body.changes.length, body.overflow, ...lengths]
    }
    const none = [undefined, undefined, undefined, undefined]
    expect(await seen('full')).toEqual(['collected', '1000', '1000', 1_000, ...none])
    expect(await seen('over')).toEqual(['overflow', '1000+', '1000+', 1_000, true, 'true', 'true', 'true'])
    expect(await seen('long')).toEqual(['overflow', '2+', '2+', 2, true, 'true', 'true', 'true'])
    expect(await seen('large')).toEqual(['collected', '1', '1', 1, undefined, 'true', 'true', 'true'])
  })

  it('all versions show the same bytes after branches are deleted and unreachable objects are pruned (SEC-118, SEC-164)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a\n' } })
    await t.ctx.db.write.delete(protectedBranches).where(eq(protectedBranches.project_id, project.id))
    const request = await aMergeRequest(t, { project })
    const bare = bareOf(t, project)
    const start = headOf(project, 'main')
    await aCommit(t.ctx, project, { 'in-main': 'x' })
    await aCommit(t.ctx, project, { second: 'x' }, { branch: request.source })
    await t.ctx.jobs.drain()
    // forced elsewhere: the first version's head and the second one's start are on no branch any more
    const [forced] = bare.commits({ branch: 'elsewhere', parents: [start], files: { third: 'x' } })
    const move = (branch: string, to: string) =>
      t.api('post', `${project.path}/repository/commits`, project.creator).send({
        branch,
        start_sha: to,
        force: true,
        commit_message: 'anew',
        actions: [{ action: 'create', file_path: `new-${branch}`, content: '' }],
      })
    await move(request.source, forced as string).expect(201)
    await move('main', start).expect(201)
    await t.ctx.jobs.drain()
    const { body: versions } = await get(`${request.path}/versions`, project.creator).expect(200)
    expect(versions.length).toBeGreaterThanOrEqual(4)
    const parts = ['commits', 'diffs', ...versions.map(({ id }: { id: number }) => `versions/${id}`)]
    const seen = () => Promise.all(parts.map(async (part) => (await get(`${request.path}/${part}`, project.creator).expect(200)).text))
    const before = await seen()
    for (const branch of [request.source, 'elsewhere'])
      await t.api('delete', `${project.path}/repository/branches/${branch}`, project.creator).expect(204)
    await t.ctx.jobs.drain()
    bare.git('gc', '-q', '--prune=now')
    // by a service that remembers nothing
    const ctx = await createContext({ ...t.ctx.config, baseUrl: t.ctx.config.baseUrl ?? '' }, t.ctx.db, t.ctx.log)
    const app = await buildApp(ctx)
    const again = async (part: string) =>
      (await app.inject({ url: `/api/v4${request.path}/${part}`, headers: { 'private-token': project.creator.token } })).body
    expect(await Promise.all(parts.map(again))).toEqual(before)
    await app.close()
    await ctx.close()
    for (const { start_commit_sha, head_commit_sha } of versions)
      for (const oid of [start_commit_sha, head_commit_sha]) bare.git('cat-file', '-e', oid)
  })

  it('/pipelines are those of the source branch whose commits some version has, newest first (MR-89)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const request = await aMergeRequest(t, { project })
    const post = async (sha: string, ref: string) =>
      (await t.api('post', `${project.path}/statuses/${sha}`, project.creator).send({ state: 'success', ref }).expect(201)).body.pipeline_id
    const first = await post(headOf(project, request.source), request.source)
    await post(headOf(project, 'main'), request.source)
    await post(headOf(project, request.source), 'other')
    await aCommit(t.ctx, project, { more: 'x' }, { branch: request.source })
    const second = await post(headOf(project, request.source), request.source)
    const { body } = await get(`${request.path}/pipelines`, project.creator).expect(200)
    expect(body).toMatchObject([
      { id: second, sha: headOf(project, request.source), ref: request.source, status: 'success' },
      { id: first, ref: request.source },
    ])
    await t.api('put', project.path, project.creator).send({ builds_access_level: 'private', visibility: 'public' })
    const stranger = await aUser(t.ctx)
    const { status } = await t.api('get', `${project.path}/pipelines`, stranger)
    await get(`${request.path}/pipelines`, stranger).expect(status)
  })

  it('shows how far the target is ahead, if requested (X-6)', async () => {
    const request = await aMergeRequest(t)
    await aCommit(t.ctx, request.project, { x: 'x' })
    await aCommit(t.ctx, request.project, { y: 'x' })
    const asked = async (query: string) => (await get(`${request.path}?${query}`, request.project.creator).expect(200)).body
    expect(await asked('include_diverged_commits_count=true&include_rebase_in_progress=true')).toMatchObject({
      diverged_commits_count: 2,
      rebase_in_progress: false,
    })
    const plain = await asked('')
    expect([plain.diverged_commits_count, plain.rebase_in_progress]).toEqual([undefined, undefined])
  })

  it('the requests that brought a commit in, and those whose merge it is (RE-9)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const request = await aMergeRequest(t, { project })
    const head = headOf(project, request.source)
    await aCommit(t.ctx, project, { b: 'b' }, { branch: 'stable', start_branch: 'main' })
    const second = await aMergeRequest(t, { project, source: request.source, files: null, target: 'stable' })
    const of = async (sha: string) => (await get(`${project.path}/repository/commits/${sha}/merge_requests`, project.creator).expect(200)).body
    expect(await of(head)).toMatchObject([{ id: second.id }, { id: request.id }])
    expect(await of('main')).toEqual([])
    const { body } = await t.api('put', `${request.path}/merge`, project.creator).expect(200)
    expect(await of(body.merge_commit_sha)).toMatchObject([{ id: request.id, state: 'merged' }])
    await get(`${project.path}/repository/commits/nothing/merge_requests`, project.creator).expect(404, { message: '404 Commit Not Found' })
    await t.ctx.db.write.update(mergeRequests).set({ deleted_at: new Date() }).where(eq(mergeRequests.id, second.id))
    expect(await of(head)).toMatchObject([{ id: request.id }])
  })

  it('a list costs the same number of statements however long it is', async () => {
    const request = await aMergeRequest(t)
    const count = async (part: string) => (await t.queriesOf(() => get(`${request.path}/${part}`, request.project.creator).expect(200))).length
    const parts = ['versions', 'commits', 'pipelines']
    const before = await Promise.all([]).then(async () => {
      const counts: number[] = []
      for (const part of parts) counts.push(await count(part))
      return counts
    })
    for (let i = 0; i < 4; i++) await aCommit(t.ctx, request.project, { [`m${i}`]: 'x' }, { branch: request.source })
    await t.ctx.jobs.drain()
    for (const [i, part] of parts.entries()) expect(await count(part)).toBeLessThanOrEqual(before[i] as number)
  })
})
