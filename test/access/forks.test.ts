import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { members } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { gitClient, gitRun } from '../support/clients/git-client.js'
import { aCommit, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { aMergeRequest, type TestRequest } from '../support/merge-requests.js'

const t = testApp()
const git = gitClient(t)
let target: TestProject
let fork: TestProject
let proposer: TestUser
let request: TestRequest

beforeAll(async () => {
  target = await aProject(t.ctx, { visibility: 'public', files: { 'a.txt': 'a' } })
  proposer = await aUser(t.ctx)
  const { body } = await t.api('post', `${target.path}/fork`, proposer).send({}).expect(201)
  fork = { id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace, creator: proposer }
  request = await aMergeRequest(t, { project: target, from: fork, caller: proposer })
})

const hasBranch = async (project: TestProject, branch: string) =>
  (await t.api('get', `${project.path}/repository/branches/${encodeURIComponent(branch)}`, project.creator)).status === 200

describe('a merge request between two projects', () => {
  it('gives who writes here no write there, and the other way round (SEC-108)', async () => {
    const owner = target.creator
    const commit = { branch: 'main', commit_message: 'x', actions: [{ action: 'create', file_path: 'x', content: 'x' }] }
    const doors = (project: TestProject, caller: TestUser) => [
      t.api('post', `${project.path}/repository/commits`, caller).send(commit),
      t.api('post', `${project.path}/repository/branches`, caller).send({ branch: 'new', ref: 'main' }),
      t.api('post', `${project.path}/repository/tags`, caller).send({ tag_name: 'new', ref: 'main' }),
      t.api('post', `${project.path}/statuses/main`, caller).send({ state: 'success' }),
      t.api('put', project.path, caller).send({ description: 'x' }),
    ]
    for (const [project, caller] of [
      [fork, owner],
      [target, proposer],
    ] as const) {
      for (const call of doors(project, caller)) expect((await call).status).toBe(403)
      const work = await git.cloned(git.url(project.fullPath, caller))
      expect((await gitRun(work, 'push', 'origin', 'HEAD:refs/heads/pushed')).code).not.toBe(0)
      expect(await hasBranch(project, 'pushed')).toBe(false)
    }
    // the request itself: its author may change it, not merge it; a merge does not remove a branch of the other project
    await t.api('put', request.path, proposer).send({ description: 'More' }).expect(200)
    await t.api('put', `${request.path}/merge`, proposer).expect(401)
    await t.api('put', `${request.path}/rebase`, owner).expect(403)
    const merged = await aMergeRequest(t, { project: target, from: fork, caller: proposer })
    await t.api('put', `${merged.path}/merge`, owner).send({ should_remove_source_branch: true }).expect(200)
    expect(await hasBranch(fork, merged.source)).toBe(true)
  })

  it('never removes a default branch, and merges all the same (SEC-106)', async () => {
    const project = await aProject(t.ctx, { files: { 'a.txt': 'a' } })
    await t.api('post', `${project.path}/repository/branches`, project.creator).send({ branch: 'stable', ref: 'main' }).expect(201)
    await aCommit(t.ctx, project, { 'b.txt': 'b' })
    await t.api('delete', `${project.path}/protected_branches/main`, project.creator).expect(204)
    const back = await aMergeRequest(t, { project, source: 'main', target: 'stable', files: null })
    const sent = { should_remove_source_branch: true }
    expect((await t.api('put', `${back.path}/merge`, project.creator).send(sent).expect(200)).body.state).toBe('merged')
    expect(await hasBranch(project, 'main')).toBe(true)
  })

  it('stays readable for members of the target who no longer see the source, of which they see nothing new (SEC-42)', async () => {
    const owner = target.creator
    const sha = (await t.api('get', request.path, owner).expect(200)).body.sha
    const reads = ['', '/changes', '/commits', '/versions', '/diffs', '/participants', '/notes', '/discussions']
    const before = await Promise.all(reads.map(async (path) => (await t.api('get', `${request.path}${path}`, owner).expect(200)).body))
    await t.api('put', fork.path, proposer).send({ visibility: 'private' }).expect(200)
    await t.api('get', fork.path, owner).expect(404)
    await t.api('post', `${fork.path}/statuses/${sha}`, proposer).send({ state: 'failed', name: 'secret-build', ref: request.source }).expect(201)
    for (const [i, path] of reads.entries()) {
      const { body, text } = await t.api('get', `${request.path}${path}`, owner).expect(200)
      expect(body).toEqual(before[i])
      expect(text).not.toContain('secret-build')
    }
    expect((await t.api('get', `${request.path}/pipelines`, owner).expect(200)).body).toEqual([])
    expect((await t.api('get', `${request.path}/pipelines`, proposer).expect(200)).body).toHaveLength(1)
    for (const path of ['', '/repository/branches', `/repository/commits/${sha}`, `/pipelines`])
      await t.api('get', `${fork.path}${path}`, owner).expect(404)
    const work = await git.cloned(git.url(target.fullPath, owner))
    expect((await gitRun(work, 'ls-remote', git.url(fork.fullPath, owner))).code).not.toBe(0)
    // nor does a right of the past help who lost it
    const helper = await aUser(t.ctx)
    await t.ctx.db.write.insert(members).values({ project_id: fork.id, user_id: helper.id, access_level: 30 })
    await t.api('get', fork.path, helper).expect(200)
    await t.ctx.db.write.delete(members).where(eq(members.user_id, helper.id))
    await t.api('get', fork.path, helper).expect(404)
    expect((await t.api('get', request.path, helper).expect(200)).body.sha).toBe(sha)
  })
})
