import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { mergeRequests } from '../../../src/db/schema/index.js'
import { enqueue } from '../../../src/jobs/enqueue.js'
import { rebase as rebaseJob } from '../../../src/services/issuables/merge-requests/merging/rebase.js'
import { testApp } from '../../support/app.js'
import { aCast } from '../../support/cast.js'
import { aCommit, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest, showRequest, soon, type TestRequest } from '../../support/merge-requests.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()

const headOf = (project: TestProject, branch: string) => bareOf(t, project).git('rev-parse', `refs/heads/${branch}`).trim()
const rebase = (request: TestRequest, caller: TestUser = request.project.creator) => t.api('put', `${request.path}/rebase`, caller)
const over = (request: TestRequest) =>
  soon(async () => {
    const { body } = await t.api('get', `${request.path}?include_rebase_in_progress=true`, request.project.creator).expect(200)
    return body.rebase_in_progress === false
  })

describe('PUT …/rebase (X-8)', () => {
  it('puts the commits upon the target, as git does, with their authors (X-8)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a\n' } })
    const author = await aUser(t.ctx)
    const request = await aMergeRequest(t, { project })
    await aCommit(t.ctx, project, { second: 'x' }, { branch: request.source, message: 'Second' })
    await aCommit(t.ctx, project, { 'in-main': 'x' })
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: author.id, access_level: 30 }).expect(201)
    await rebase(request, author).expect(202, { rebase_in_progress: true })
    await over(request)
    const bare = bareOf(t, project)
    expect(bare.git('log', '--format=%s %an %cn', `main..${request.source}`).trim().split('\n')).toEqual([
      `Second ${project.creator.name} ${author.name}`,
      `Work on ${request.source} ${project.creator.name} ${author.name}`,
    ])
    expect(bare.git('merge-base', 'main', request.source).trim()).toBe(headOf(project, 'main'))
    expect(await showRequest(t, request)).toMatchObject({ sha: headOf(project, request.source), merge_error: null, changes_count: '2' })
  })

  it('keeps commits that were empty, and drops those that become empty, as git does (X-8)', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    bare.commits(
      { branch: 'main', files: { a: 'a\n' } },
      { branch: 'main', parents: [0], files: { picked: 'x\n' }, message: 'Picked before' },
      { branch: 'topic', parents: [0], files: {}, message: 'Empty' },
      { branch: 'topic', parents: [2], files: { picked: 'x\n' }, message: 'Becomes empty' },
      { branch: 'topic', parents: [3], files: { b: 'b\n' }, message: 'Stays' },
    )
    const request = await aMergeRequest(t, { project, source: 'topic', files: null })
    await rebase(request).expect(202)
    await over(request)
    expect(bare.git('log', '--format=%s', 'main..topic').trim().split('\n')).toEqual(['Stays', 'Empty'])
    expect((await showRequest(t, request)).merge_error).toBeNull()
  })

  it('does not move a branch that would keep no commit, and says so in merge_error (X-8)', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    bare.commits(
      { branch: 'main', files: { a: 'a\n' } },
      { branch: 'main', parents: [0], files: { b: 'b\n' } },
      { branch: 'topic', parents: [0], files: { b: 'b\n' }, message: 'The same' },
    )
    const request = await aMergeRequest(t, { project, source: 'topic', files: null })
    const before = headOf(project, 'topic')
    await rebase(request).expect(202)
    await over(request)
    expect((await showRequest(t, request)).merge_error).toBe('Rebase failed: the target branch has all changes already')
    expect(headOf(project, 'topic')).toBe(before)
  })

  it('gives the reason of a failure in merge_error, and changes nothing (X-8)', async () => {
    const request = await aMergeRequest(t)
    await aCommit(t.ctx, request.project, { [`${request.source}.txt`]: 'ours' })
    const before = headOf(request.project, request.source)
    await rebase(request).expect(202)
    await soon(async () => (await showRequest(t, request)).merge_error !== null)
    expect((await showRequest(t, request)).merge_error).toMatch(/conflicts with the target branch/)
    expect(headOf(request.project, request.source)).toBe(before)
  })

  it('is 409 while one runs, 403 without the right to push there (X-8)', async () => {
    const cast = await aCast(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const request = await aMergeRequest(t, { project: cast.project })
    for (const role of ['reporter', 'guest'] as const) await rebase(request, cast.as[role]).expect(403)
    await t.ctx.db.write.update(mergeRequests).set({ rebase_user_id: cast.as.owner.id }).where(eq(mergeRequests.id, request.id))
    await rebase(request).expect(409, { message: 'A rebase is already in progress' })
    await aCommit(t.ctx, cast.project, { 'in-main': 'x' })
    // what a killed process began is done by another
    await enqueue(t.ctx.db, rebaseJob, { merge_request: request.id })
    await over(request)
    expect(bareOf(t, cast.project).git('merge-base', 'main', request.source).trim()).toBe(headOf(cast.project, 'main'))
  })

  it('in a fork, upon commits that the fork does not have (X-8)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const other = await aUser(t.ctx)
    const { body } = await t.api('post', `${project.path}/fork`, other).send({}).expect(201)
    await t.ctx.jobs.drain()
    const fork: TestProject = { id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace, creator: other }
    const request = await aMergeRequest(t, { project, from: fork })
    await aCommit(t.ctx, project, { 'in-main': 'x' })
    await rebase(request).expect(403)
    await rebase(request, other).expect(202)
    await over(request)
    expect(bareOf(t, fork).git('rev-parse', `${request.source}^`).trim()).toBe(headOf(project, 'main'))
    expect(await showRequest(t, request)).toMatchObject({ sha: headOf(fork, request.source) })
    for (const each of [project, fork]) expect(bareOf(t, each).git('fsck', '--connectivity-only')).not.toContain('missing')
  })
})
