import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { commitIn, gitClient, gitOut, gitRun } from '../support/clients/git-client.js'
import { lfsClient } from '../support/clients/lfs-client.js'
import { aCommit, aProject, aUser, type TestProject, type TestUser, unique } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'

const t = testApp()
const client = gitClient(t)
const lfs = lfsClient(t)
let owner: TestUser
let artist: TestUser

beforeAll(async () => {
  owner = await aUser(t.ctx)
  artist = await aUser(t.ctx, { name: 'Ada Lock' })
})

const FILE = 'art/a.psd'
const REASON = `The file "${FILE}" is locked by Ada Lock.`
const REFUSED = { message: REASON }

/** A project with a file that `artist` has locked. */
async function locked() {
  const project = await aProject(t.ctx, { creator: owner, maintainer: artist, files: { [FILE]: 'one\n', 'b.txt': 'b\n' } })
  const { status } = await lfs.post(project.fullPath, 'locks', artist, { path: FILE })
  expect(status).toBe(201)
  return project
}
const cloned = (project: TestProject, caller = owner) => client.cloned(client.url(project.fullPath, caller))
const push = async (work: string, ...args: string[]) => {
  const { code, err } = await gitRun(work, 'push', '-q', ...args)
  return code === 0 ? 'pushed' : err.includes(REASON) ? 'locked' : err
}

/** A new branch with a change of the file. */
async function edited({ path, creator }: TestProject): Promise<string> {
  const branch = `edited${unique()}`
  const actions = [{ action: 'update', file_path: FILE, content: branch }]
  await t.api('post', `${path}/repository/commits`, creator).send({ branch, start_branch: 'main', commit_message: 'm', actions }).expect(201)
  return branch
}

describe('a file that another user has locked (LF-16)', () => {
  it('is changed by no push: in a commit, a later undone one, a rename, a deletion, on any branch or tag', async () => {
    const project = await locked()
    const work = await cloned(project)
    await commitIn(work, 'c.txt', 'c')
    expect(await push(work, 'origin', 'HEAD')).toBe('pushed')
    const clean = await gitOut(work, 'rev-parse', 'HEAD')
    await commitIn(work, FILE, 'two')
    for (const to of ['main', 'other', 'refs/tags/t'])
      expect(await push(work, 'origin', `HEAD:${to.startsWith('refs/') ? to : `refs/heads/${to}`}`), to).toBe('locked')
    await commitIn(work, FILE, 'one\n')
    expect(await push(work, 'origin', 'HEAD')).toBe('locked')
    for (const command of [
      ['mv', FILE, 'moved.psd'],
      ['rm', '-q', FILE],
    ]) {
      await gitOut(work, 'reset', '-q', '--hard', clean)
      await gitOut(work, ...command)
      await gitOut(work, 'commit', '-qm', 'gone')
      expect(await push(work, 'origin', 'HEAD'), command[0]).toBe('locked')
    }
    await gitOut(work, 'reset', '-q', '--hard', clean)
    // the file in place of a folder
    await rm(join(work, 'art'), { recursive: true })
    await commitIn(work, 'art', 'now a file')
    expect(await push(work, 'origin', 'HEAD')).toBe('locked')
  })

  it('is changed by its owner, and by others once it is unlocked or LFS is off', async () => {
    const project = await locked()
    const work = await cloned(project, artist)
    await commitIn(work, FILE, 'two')
    expect(await push(work, 'origin', 'HEAD')).toBe('pushed')
    const other = await cloned(project)
    await commitIn(other, FILE, 'three')
    expect(await push(other, 'origin', 'HEAD')).toBe('locked')
    await t.api('put', project.path, owner).send({ lfs_enabled: false }).expect(200)
    expect(await push(other, 'origin', 'HEAD')).toBe('pushed')
    await t.api('put', project.path, owner).send({ lfs_enabled: true }).expect(200)
    await commitIn(other, FILE, 'four')
    expect(await push(other, 'origin', 'HEAD')).toBe('locked')
    const { body } = await lfs.call(project.fullPath, 'locks', owner)
    expect((await lfs.post(project.fullPath, `locks/${body.locks[0].id}/unlock`, owner, { force: true })).status).toBe(200)
    expect(await push(other, 'origin', 'HEAD')).toBe('pushed')
  })

  it('may reach a branch by a merge of what its owner did, but not the default branch by a merge of old commits', async () => {
    const project = await locked()
    await aCommit(t.ctx, project, { 'topic.txt': 't' }, { branch: 'topic', start_branch: 'main' })
    const own = await cloned(project, artist)
    await commitIn(own, FILE, 'two')
    expect(await push(own, 'origin', 'HEAD')).toBe('pushed')
    const work = await cloned(project)
    await gitOut(work, 'checkout', '-q', 'topic')
    await gitOut(work, 'merge', '-q', '--no-edit', 'origin/main')
    expect(await push(work, 'origin', 'HEAD')).toBe('pushed')
    // committed before the lock
    const path = 'late.psd'
    await gitOut(work, 'checkout', '-qb', 'early')
    await commitIn(work, path, 'early')
    expect(await push(work, 'origin', 'HEAD')).toBe('pushed')
    await lfs.post(project.fullPath, 'locks', artist, { path })
    const { err } = await gitRun(work, 'push', '-q', 'origin', 'HEAD:main')
    expect(err).toContain(`The file "${path}" is locked by Ada Lock.`)
    expect((await gitRun(work, 'push', '-q', 'origin', ':early')).code).toBe(0)
  })

  it('is changed by no commit, pick, revert, branch or rebase of the API', async () => {
    const project = await locked()
    const file = `${project.path}/repository/files/${encodeURIComponent(FILE)}`
    const change = { branch: 'main', commit_message: 'm' }
    const own = await t
      .api('put', file, artist)
      .send({ ...change, content: 'two' })
      .expect(200)
    expect(own.body.branch).toBe('main')
    const { body: branch } = await t.api('get', `${project.path}/repository/branches/main`, owner).expect(200)
    expect(
      (
        await t
          .api('put', file, owner)
          .send({ ...change, content: 'x' })
          .expect(400)
      ).body,
    ).toEqual(REFUSED)
    expect((await t.api('delete', file, owner).send(change).expect(400)).body).toEqual(REFUSED)
    const commits = `${project.path}/repository/commits`
    const move = { action: 'move', previous_path: FILE, file_path: 'moved.psd' }
    for (const start of [{}, { start_branch: 'main', branch: `new${unique()}` }])
      expect(
        (
          await t
            .api('post', commits, owner)
            .send({ ...change, actions: [move], ...start })
            .expect(400)
        ).body,
      ).toEqual(REFUSED)
    expect((await t.api('post', `${commits}/${branch.commit.id}/revert`, owner).send({ branch: 'main' }).expect(400)).body).toEqual(REFUSED)
    await t.api('post', `${project.path}/repository/branches`, owner).send({ branch: 'before', ref: branch.commit.parent_ids[0] }).expect(201)
    expect((await t.api('post', `${commits}/${branch.commit.id}/cherry_pick`, owner).send({ branch: 'before' }).expect(400)).body).toEqual(REFUSED)
    await t
      .api('post', commits, owner)
      .send({ ...change, actions: [{ action: 'create', file_path: 'free.txt', content: '1' }] })
      .expect(201)
  })

  it('is merged by its owner alone, also from a fork whose commits a merge request brought here', async () => {
    const project = await aProject(t.ctx, { creator: owner, maintainer: artist, visibility: 'public', files: { [FILE]: 'one\n' } })
    const request = await aMergeRequest(t, { project, source: await edited(project), files: null })
    await lfs.post(project.fullPath, 'locks', artist, { path: FILE })
    expect((await t.api('put', `${request.path}/merge`, owner).expect(400)).body).toEqual(REFUSED)
    const shown = (await t.api('get', request.path, owner).expect(200)).body
    expect(shown.state).toBe('opened')
    const stranger = await aUser(t.ctx)
    const { body } = await t.api('post', `${project.path}/fork`, stranger).send({}).expect(201)
    const fork = { id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace, creator: stranger } as TestProject
    await t.ctx.jobs.drain()
    const forked = await aMergeRequest(t, { project, from: fork, source: await edited(fork), files: null })
    await t.ctx.jobs.drain()
    const { sha } = (await t.api('get', forked.path, owner).expect(200)).body
    const branch = { branch: 'taken', ref: sha }
    expect((await t.api('post', `${project.path}/repository/branches`, owner).send(branch).expect(400)).body).toEqual(REFUSED)
    await t.api('put', `${request.path}/merge`, artist).expect(200)
  })
})
