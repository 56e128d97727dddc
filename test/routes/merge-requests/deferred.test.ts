import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { mergeRequests, pipelines, protectedBranches, todos } from '../../../src/db/schema/index.js'
import { enqueue } from '../../../src/jobs/enqueue.js'
import { deferredMerges } from '../../../src/services/issuables/merge-requests/merging/resume.js'
import { testApp } from '../../support/app.js'
import { aCast } from '../../support/cast.js'
import { aCommit, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest, rowOfRequest, showRequest, soon, type TestRequest } from '../../support/merge-requests.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()

const headOf = (project: TestProject, branch: string) => bareOf(t, project).git('rev-parse', `refs/heads/${branch}`).trim()
const status = ({ project, source }: TestRequest, state: string, name = 'default') =>
  t
    .api('post', `${project.path}/statuses/${headOf(project, source)}`, project.creator)
    .send({ state, ref: source, name })
    .expect(201)
const accept = (request: TestRequest, sent: object = {}, caller: TestUser = request.project.creator) =>
  t.api('put', `${request.path}/merge`, caller).send({ merge_when_pipeline_succeeds: true, ...sent })
const cancel = (request: TestRequest, caller: TestUser = request.project.creator, method: 'put' | 'post' = 'put') =>
  t.api(method, `${request.path}/cancel_merge_when_pipeline_succeeds`, caller)

/** A request whose pipeline runs. */
async function running(given: Parameters<typeof aMergeRequest>[1] = {}) {
  const request = await aMergeRequest(t, given)
  await status(request, 'running')
  return request
}
const merges = (project: TestProject) => bareOf(t, project).git('rev-list', '--count', '--merges', 'main').trim()

describe('a deferred merge', () => {
  it('is remembered with its words while the pipeline runs, the last words counting (MR-65)', async () => {
    const request = await running()
    await accept(request, { should_remove_source_branch: true, merge_commit_message: 'first' }).expect(200)
    const { body } = await accept(request, { merge_commit_message: 'second' }).expect(200)
    expect(body).toMatchObject({ state: 'opened', merge_when_pipeline_succeeds: true, should_remove_source_branch: null, merge_commit_sha: null })
    expect(await rowOfRequest(t, request)).toMatchObject({ merge_commit_message: 'second', merge_user_id: request.project.creator.id })
    expect(merges(request.project)).toBe('0')
  })

  it('is a merge where no pipeline runs (MR-65)', async () => {
    const request = await aMergeRequest(t)
    expect((await accept(request).expect(200)).body).toMatchObject({ state: 'merged', merge_when_pipeline_succeeds: false })
    const done = await running()
    await status(done, 'failed')
    expect((await accept(done).expect(200)).body.state).toBe('merged')
  })

  it('is refused as a merge is (MR-62, MR-63)', async () => {
    const request = await running()
    await accept(request, { sha: 'f'.repeat(40) }).expect(409, { message: 'SHA does not match HEAD of source branch' })
    await t
      .api('post', `${request.project.path}/repository/commits`, request.project.creator)
      .send({
        branch: 'main',
        commit_message: 'x',
        actions: [{ action: 'create', file_path: `${request.source}.txt`, content: 'ours' }],
      })
      .expect(201)
    await accept(request).expect(405, { message: 'Branch cannot be merged' })
    expect(await rowOfRequest(t, request)).toMatchObject({ merge_when_pipeline_succeeds: false })
  })

  it('is done in the name of who asked when the pipeline succeeds, once, however many statuses come together (MR-66, PL-7, ST-22)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const asker = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: asker.id, access_level: 40 }).expect(201)
    const request = await aMergeRequest(t, { project })
    for (let i = 0; i < 10; i++) await status(request, 'running', `job ${i}`)
    await accept(request, { merge_commit_message: 'When it is done', should_remove_source_branch: true }, asker).expect(200)
    await Promise.all(Array.from({ length: 10 }, (_, i) => status(request, 'success', `job ${i}`)))
    await soon(async () => (await showRequest(t, request)).state === 'merged')
    await t.ctx.jobs.drain()
    const body = await showRequest(t, request)
    expect(body).toMatchObject({
      merged_by: { id: asker.id },
      should_remove_source_branch: true,
      merge_when_pipeline_succeeds: false,
      merge_error: null,
    })
    const bare = bareOf(t, project)
    expect(bare.git('log', '-1', '--format=%s %an', body.merge_commit_sha).trim()).toBe(`When it is done ${asker.name}`)
    expect(merges(project)).toBe('1')
    expect(bare.git('for-each-ref', `refs/heads/${request.source}`)).toBe('')
  })

  it('stays open and makes a todo for the caller, if it cannot be merged then (MR-66)', async () => {
    const request = await running()
    await accept(request).expect(200)
    await t.ctx.db.write.update(mergeRequests).set({ title: 'WIP: no' }).where(eq(mergeRequests.id, request.id))
    await status(request, 'success')
    await t.ctx.jobs.drain()
    expect(await showRequest(t, request)).toMatchObject({ state: 'opened', merge_when_pipeline_succeeds: false, merge_error: 'Method Not Allowed' })
    expect(await t.ctx.db.write.select().from(todos).where(eq(todos.target_id, request.id))).toMatchObject([
      { action: 'unmergeable', user_id: request.project.creator.id, state: 'pending' },
    ])
  })

  it('is called off by a push, whose pipeline merges nothing (PL-7)', async () => {
    const request = await running()
    await accept(request).expect(200)
    await aCommit(t.ctx, request.project, { more: 'x' }, { branch: request.source })
    expect(await showRequest(t, request)).toMatchObject({ merge_when_pipeline_succeeds: false })
    await status(request, 'success')
    await t.ctx.jobs.drain()
    expect(await showRequest(t, request)).toMatchObject({ state: 'opened' })
  })

  it('is not forgotten when the process ends between the pipeline and the merge (SEC-158)', async () => {
    const request = await running()
    await accept(request).expect(200)
    await t.ctx.db.write.update(pipelines).set({ status: 'success' }).where(eq(pipelines.project_id, request.project.id))
    for (let i = 0; i < 3; i++) await enqueue(t.ctx.db, deferredMerges, {})
    await t.ctx.jobs.drain()
    expect(await showRequest(t, request)).toMatchObject({ state: 'merged' })
    expect(merges(request.project)).toBe('1')
  })

  it('is given up when who asked may no longer merge', async () => {
    const cast = await aCast(t.ctx, { visibility: 'public', files: { a: 'a' } })
    await t.ctx.db.write.update(protectedBranches).set({ merge_level: 30 }).where(eq(protectedBranches.project_id, cast.project.id))
    const request = await running({ project: cast.project })
    await accept(request, {}, cast.as.developer).expect(200)
    await t.ctx.db.write.update(protectedBranches).set({ merge_level: 40, push_level: 40 }).where(eq(protectedBranches.project_id, cast.project.id))
    await status(request, 'success')
    await t.ctx.jobs.drain()
    expect(await showRequest(t, request)).toMatchObject({ state: 'opened', merge_when_pipeline_succeeds: false })
  })
})

describe('cancelling it', () => {
  it('by those who may merge, or the author; PUT is 200 and POST 201 (MR-77, MR-80)', async () => {
    const cast = await aCast(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const author = cast.as.developer
    const request = await running({ project: cast.project, caller: author })
    await accept(request, { merge_commit_message: 'x', should_remove_source_branch: true }, cast.as.owner).expect(200)
    for (const role of ['reporter', 'guest'] as const) await cancel(request, cast.as[role]).expect(401, { message: '401 Unauthorized' })
    const { body } = await cancel(request, author).expect(200)
    expect(body).toMatchObject({ state: 'opened', merge_when_pipeline_succeeds: false, should_remove_source_branch: null, subscribed: true })
    expect(await rowOfRequest(t, request)).toMatchObject({ merge_commit_message: null, merge_user_id: null })
    await accept(request, {}, cast.as.owner).expect(200)
    await cancel(request, cast.as.owner, 'post').expect(201, { status: 'success' })
    await status(request, 'success')
    await t.ctx.jobs.drain()
    expect(await showRequest(t, request)).toMatchObject({ state: 'opened' })
  })

  it('is 405 once it is merged or closed, 406 where nothing is deferred (MR-78, MR-79)', async () => {
    const request = await aMergeRequest(t)
    await cancel(request).expect(406, { message: "Can't cancel the automatic merge" })
    await t.api('put', `${request.path}/merge`, request.project.creator).expect(200)
    await cancel(request).expect(405, { message: 'Method Not Allowed' })
  })
})
