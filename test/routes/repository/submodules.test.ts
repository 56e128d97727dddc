import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import type { TestRepository } from '../../support/git.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()
const [BEFORE, AFTER] = ['a'.repeat(40), 'b'.repeat(40)]
let developer: TestUser
let reporter: TestUser
let project: TestProject
let bare: TestRepository

beforeAll(async () => {
  developer = await aUser(t.ctx)
  reporter = await aUser(t.ctx)
  project = await aProject(t.ctx, { visibility: 'public', developer, reporter, files: { 'seed.txt': 'seed\n' } })
  bare = bareOf(t, project)
  const seed = bare.git('rev-parse', 'main').trim()
  const module = { mode: '160000', content: BEFORE } as const
  bare.commits({ parents: [seed], branch: 'topic', files: { 'libs/a b': module, other: module, file: 'x' } })
})

const put = (path: string, body: object, caller: TestUser | null = developer) =>
  t.api('put', `${project.path}/repository/submodules/${encodeURIComponent(path)}`, caller).send(body)
const entry = (path: string) => bare.git('ls-tree', 'topic', '--', path).split('\t')[0]

describe('PUT /projects/:id/repository/submodules/:submodule (RE-12)', () => {
  it('makes a commit in which the submodule points elsewhere, and all else stays', async () => {
    const head = bare.git('rev-parse', 'topic').trim()
    const { body } = await put('libs/a b', { branch: 'topic', commit_sha: AFTER, commit_message: 'newer' }).expect(200)
    expect(body).toMatchObject({ message: 'newer', parent_ids: [head], project_id: project.id, author_name: developer.name })
    expect(bare.git('rev-parse', 'topic').trim()).toBe(body.id)
    expect([entry('libs/a b'), entry('other')]).toEqual([`160000 commit ${AFTER}`, `160000 commit ${BEFORE}`])
    expect(bare.git('diff-tree', '-r', '--name-only', head, body.id).trim()).toBe('libs/a b')
    const { body: more } = await put('other', { branch: 'topic', commit_sha: AFTER }).expect(200)
    expect(more.message).toBe(`Update submodule other with oid ${AFTER}`)
  })

  it('refuses a path that is no submodule, invalid ids, missing branches, and no change', async () => {
    const head = bare.git('rev-parse', 'topic').trim()
    const text = async (path: string, body: object) => (await put(path, body).expect(400)).body.message
    for (const path of ['file', 'libs', 'none', 'libs/a b/c', '../x', '.git/x'])
      expect([path, await text(path, { branch: 'topic', commit_sha: AFTER })]).toEqual([path, 'Invalid submodule path'])
    expect(await text('other', { branch: 'topic', commit_sha: AFTER })).toBe(`The submodule other is already at ${AFTER}`)
    for (const commit_sha of ['main', 'b'.repeat(39), '0'.repeat(40), 'B'.repeat(40)])
      expect(await text('other', { branch: 'topic', commit_sha })).toBe('commit_sha is no full commit id')
    expect(await text('other', { branch: 'none', commit_sha: BEFORE })).toBe('You can only create or edit files when you are on a branch')
    await put('other', { branch: 'topic' }).expect(400)
    await put('other', { commit_sha: BEFORE }).expect(400)
    expect(bare.git('rev-parse', 'topic').trim()).toBe(head)
  })

  it('is for those who may push to the branch', async () => {
    const body = { branch: 'topic', commit_sha: 'c'.repeat(40) }
    await put('other', body, null).expect(401)
    await put('other', body, reporter).expect(403)
    await t.api('post', `${project.path}/protected_branches`, project.creator).send({ name: 'topic', push_access_level: 40 }).expect(201)
    await put('other', body).expect(400)
    await put('other', body, project.creator).expect(200)
  })
})

describe('submodules in commits of the API', () => {
  const actions = (...list: object[]) =>
    t.api('post', `${project.path}/repository/commits`, project.creator).send({ branch: 'moves', commit_message: 'x', actions: list })
  const ls = () => bare.git('ls-tree', '-r', '--format=%(objectmode) %(objectname) %(path)', 'moves').trim().split('\n')

  beforeAll(() => {
    const module = { mode: '160000', content: BEFORE } as const
    bare.commits({ parents: [bare.git('rev-parse', 'main').trim()], branch: 'moves', files: { 'libs/one': module, two: module, three: module } })
  })

  it('are moved and deleted like files; content is refused (C-40, C-41)', async () => {
    const { body } = await actions(
      { action: 'move', previous_path: 'libs/one', file_path: 'deps/one' },
      { action: 'delete', file_path: 'two' },
    ).expect(201)
    expect(body.stats).toEqual({ additions: 0, deletions: 1, total: 1 })
    const after = [`160000 ${BEFORE} deps/one`, expect.stringContaining(' seed.txt'), `160000 ${BEFORE} three`]
    expect(ls()).toEqual(after)
    for (const action of [
      { action: 'update', file_path: 'three', content: 'x' },
      { action: 'move', previous_path: 'three', file_path: 'four', content: 'x' },
      { action: 'delete', file_path: 'deps' },
    ]) {
      const { body: refusal } = await actions(action).expect(400)
      expect([action, refusal]).toEqual([action, { message: "A file with this name doesn't exist" }])
    }
    expect(ls()).toEqual(after)
  })

  it('is deleted by the files API (RF-7)', async () => {
    await t.api('delete', `${project.path}/repository/files/three`, project.creator).send({ branch: 'moves', commit_message: 'x' }).expect(204)
    expect(ls()).toHaveLength(2)
  })
})
