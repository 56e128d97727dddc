// @module-tag long
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { afterAll, describe, expect, it } from 'vitest'
import { formerRepositories, projects, repositoryMoves } from '../../../src/db/schema/index.js'
import { repositoryDirectory } from '../../../src/git/storage/create.js'
import { closeGate } from '../../../src/git/storage/gates.js'
import { backUp } from '../../../src/services/operations/backup.js'
import { faults } from '../../../src/services/operations/doctor/index.js'
import { moveProject, removeFormerRepositories, requestMove } from '../../../src/services/projects/storage-moves.js'
import { testApp } from '../../support/app.js'
import { commitIn, gitClient, gitOut, gitRun } from '../../support/clients/git-client.js'
import { anObject, lfsClient } from '../../support/clients/lfs-client.js'
import { aCommit, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'

const folder = mkdtempSync(join(tmpdir(), 'roost-storages-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const places = { default: join(folder, 'first'), second: join(folder, 'second') }
const t = testApp({ STORAGES: `default=${places.default},second=${places.second}` })
const client = gitClient(t)
const lfs = lfsClient(t)

type Storage = keyof typeof places
const at = (storage: Storage, id: number, kind: 'project' | 'wiki' = 'project') => repositoryDirectory(places[storage], { storage, id, kind })
const never = new AbortController().signal

async function storageOf({ id }: TestProject): Promise<string | undefined> {
  const [row] = await t.ctx.db.write.select({ storage: projects.storage }).from(projects).where(eq(projects.id, id))
  return row?.storage
}

const ask = async ({ id }: TestProject, storage: Storage) => t.ctx.db.transaction((tx) => requestMove(t.ctx, tx, { id, storage: '' }, storage))

/** Moves it as the job does; tried again as the queue would while something is in the way. */
async function moved(project: TestProject, storage: Storage): Promise<void> {
  await ask(project, storage)
  await expect.poll(() => storageOf(project), { timeout: 20_000, interval: 25 }).toBe(storage)
}

/** What is beside the repositories of a storage: gates, copies, signs of pushes. */
const besides = (storage: Storage, id: number) =>
  readdirSync(join(at(storage, id), '..')).filter((name) => name.startsWith('.') && name.includes(`-${id}`))

/** Ends the time for which former copies are kept; a second ago, for the column rounds to milliseconds. */
async function graceOver(): Promise<void> {
  await t.ctx.db.write.update(formerRepositories).set({ due_at: sql`now() - interval '1 second'`, left_at: sql`now() - interval '1 hour'` })
}

async function clearFormer(): Promise<void> {
  await graceOver()
  await removeFormerRepositories.run(t.ctx, {}, { id: 0, number: 1, signal: never })
}

const commit = (project: TestProject, caller: TestUser, name: string, branch = 'main') =>
  t.api('post', `${project.path}/repository/commits`, caller).send({
    branch,
    commit_message: name,
    actions: [{ action: 'create', file_path: name, content: name }],
  })

describe('moving a repository to another storage (SEC-187)', () => {
  it('takes the repository, all its refs and its wiki along, and every call finds them in the new place', async () => {
    const project = await aProject(t.ctx, { files: { a: '1' } })
    const { creator } = project
    await aCommit(t.ctx, project, { b: '2' }, { branch: 'topic', start_branch: 'main' })
    await t.api('post', `${project.path}/merge_requests`, creator).send({ title: 'x', source_branch: 'topic', target_branch: 'main' }).expect(201)
    await t.api('post', `${project.path}/wikis`, creator).send({ title: 'home', content: 'hello' }).expect(201)
    await t.ctx.jobs.drain()
    const refs = await gitOut(at('default', project.id), 'for-each-ref')
    expect(refs).toContain('refs/merge-requests/1/head')

    await moved(project, 'second')

    expect(await gitOut(at('second', project.id), 'for-each-ref')).toBe(refs)
    expect(await gitRun(at('second', project.id), 'fsck', '--strict', '--no-dangling')).toMatchObject({ code: 0, out: '' })
    await t.api('get', `${project.path}/repository/files/a/raw?ref=main`, creator).expect(200, '1')
    await t.api('get', `${project.path}/wikis/home`, creator).expect(200)
    await commit(project, creator, 'after').expect(201)
    expect(await gitOut(at('second', project.id), 'show', 'main:after')).toBe('after')
    expect((await t.api('put', `${project.path}/merge_requests/1/merge`, creator).expect(200)).body.state).toBe('merged')
    await t.api('put', `${project.path}/wikis/home`, creator).send({ content: 'changed' }).expect(200)
    const { code } = await client.clone(client.url(project.fullPath, creator))
    expect(code).toBe(0)
  })

  it('the former copy serves its readers, accepts no ref update, and is removed when its time is over', async () => {
    const project = await aProject(t.ctx, { files: { a: '1' } })
    const former = t.ctx.git.open({ storage: 'default', id: project.id, kind: 'project' })
    await moved(project, 'second')

    expect((await former.refs('refs/heads/')).map(({ name }) => name)).toEqual(['refs/heads/main'])
    const head = (await former.ref('refs/heads/main')) as string
    const late = { ref: 'refs/heads/late', old: '0'.repeat(40), new: head }
    await expect(former.updateRefs([late])).rejects.toMatchObject({ name: 'Unavailable', message: 'The repository is being moved, try again' })
    expect(await former.ref('refs/heads/late')).toBeNull()
    expect((await faultsNow()).filter(({ of }) => of.includes(String(project.id)))).toEqual([])

    await removeFormerRepositories.run(t.ctx, {}, { id: 0, number: 1, signal: never })
    expect(existsSync(at('default', project.id))).toBe(true)
    await clearFormer()
    expect(existsSync(at('default', project.id))).toBe(false)
    expect(besides('default', project.id)).toEqual([])
    await commit(project, project.creator, 'b').expect(201)
  })

  it('loses no commit and no push that are made meanwhile, and refuses none', async () => {
    const project = await aProject(t.ctx, { files: { a: '1' } })
    const { creator } = project
    const clones = await Promise.all([1, 2].map(() => client.clone(client.url(project.fullPath, creator))))
    let over = false
    const made: string[] = []
    const byApi = async () => {
      for (let n = 0; !over; n++) {
        const answer = await commit(project, creator, `api${n}`)
        expect(answer.status, answer.text).toBe(201)
        made.push(answer.body.id)
      }
    }
    const byPush = clones.map(async ({ work }, i) => {
      for (let n = 0; !over; n++) {
        made.push(await commitIn(work, `push${i}-${n}`))
        expect(await gitRun(work, 'push', '-q', 'origin', `HEAD:refs/heads/pushed${i}`)).toMatchObject({ code: 0 })
      }
    })
    const reading = async () => {
      while (!over) await t.api('get', `${project.path}/repository/commits`, creator).expect(200)
    }
    const work = Promise.all([byApi(), ...byPush, reading()])
    await moved(project, 'second').finally(() => {
      over = true
    })
    await work
    const history = (await gitOut(at('second', project.id), 'rev-list', '--branches')).split('\n')
    for (const oid of made) expect(history).toContain(oid)
    expect(made.length).toBeGreaterThan(0)
    await t.ctx.jobs.drain()
    expect((await faultsNow()).filter(({ of }) => of.includes(String(project.id)))).toEqual([])
  })

  it('forks of a moved project stay whole, and new ones are made where it is', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: '1' } })
    const forker = await aUser(t.ctx)
    const before = await t.api('post', `${project.path}/fork`, forker).expect(201)
    await moved(project, 'second')
    await clearFormer()
    expect(await gitRun(at('default', before.body.id), 'fsck', '--strict')).toMatchObject({ code: 0 })
    const after = await t.api('post', `${project.path}/fork`, await aUser(t.ctx)).expect(201)
    expect(existsSync(at('second', after.body.id))).toBe(true)

    // a merge request between two storages
    const fork = { path: `/projects/${before.body.id}`, id: before.body.id } as TestProject
    await commit(fork, forker, 'new', 'main').expect(201)
    const request = await t
      .api('post', `${fork.path}/merge_requests`, forker)
      .send({ title: 'x', source_branch: 'main', target_branch: 'main', target_project_id: project.id })
      .expect(201)
    await t.api('put', `${project.path}/merge_requests/${request.body.iid}/merge`, project.creator).expect(200)
    expect(await gitOut(at('second', project.id), 'show', 'main:new')).toBe('new')
  })

  it('objects of Git LFS lie elsewhere, and are there before and after', async () => {
    const object = anObject('large')
    const project = await aProject(t.ctx, { files: { a: '1' } })
    await lfs.upload(project.fullPath, project.creator, object)
    await aCommit(t.ctx, project, { large: object.pointer })
    await moved(project, 'second')
    await clearFormer()
    expect((await lfs.download(project.fullPath, project.creator, object)).bytes.equals(object.bytes)).toBe(true)
  })

  it('goes back to where it was once the former copy has no readers', async () => {
    const project = await aProject(t.ctx, { files: { a: '1' } })
    await moved(project, 'second')
    await commit(project, project.creator, 'b').expect(201)
    await ask(project, 'default')
    await expect(moveProject(t.ctx, project.id, never)).rejects.toMatchObject({ message: 'its former copy in that storage is still being read' })
    await graceOver()
    await t.ctx.jobs.drain()
    expect(await storageOf(project)).toBe('default')
    expect(await gitOut(at('default', project.id), 'show', 'main:b')).toBe('b')
    await commit(project, project.creator, 'c').expect(201)
    await t.ctx.jobs.drain()
  })

  it('a run that was cut short is taken back by the next one, and one that was taken over cannot end', async () => {
    const project = await aProject(t.ctx, { files: { a: '1' } })
    // as a kill leaves it just before the commit: gates closed, a copy in place, which is older than the repository
    await t.ctx.git.fork({ storage: 'default', id: project.id, kind: 'project' }, { storage: 'second', id: project.id, kind: 'project' }, 'main')
    await t.ctx.db.write.insert(repositoryMoves).values({ project_id: project.id, from_storage: 'default', to_storage: 'second', run: 'killed' })
    for (const gate of ['leaving', 'left'] as const) await closeGate(at('default', project.id), gate, 'killed')
    const waits = commit(project, project.creator, 'b').expect(201)
    const [done] = await Promise.all([waits, moved(project, 'second')])
    expect(await gitOut(at('second', project.id), 'rev-parse', 'main')).toBe(done.body.id)

    const other = await aProject(t.ctx, { files: { a: '1' } })
    await t.ctx.db.write.insert(repositoryMoves).values({ project_id: other.id, from_storage: 'default', to_storage: 'second' })
    const key = { from: 'default', to: 'second' }
    const stale = t.ctx.git.relocate(other.id, key, {
      run: 'stale',
      signal: never,
      hasPendingWrites: async () => false,
      commit: async () => {
        await moveProject(t.ctx, other.id, never)
        throw new Error('taken over')
      },
    })
    await expect(stale).rejects.toThrow('taken over')
    expect(await storageOf(other)).toBe('second')
    await commit(other, other.creator, 'b').expect(201)
  })

  it('a project that is deleted meanwhile leaves nothing behind', async () => {
    const project = await aProject(t.ctx, { files: { a: '1' } })
    await ask(project, 'second')
    await t.ctx.db.write.update(projects).set({ import_status: 'started' }).where(eq(projects.id, project.id))
    await expect(moveProject(t.ctx, project.id, never)).rejects.toMatchObject({ message: 'the project is being imported' })
    await t.api('delete', `${project.path}?permanently_remove=true`, project.creator).expect(202)
    await moveProject(t.ctx, project.id, never)
    await t.ctx.jobs.drain()
    for (const storage of ['default', 'second'] as const) {
      expect(existsSync(at(storage, project.id))).toBe(false)
      if (existsSync(join(at(storage, project.id), '..'))) expect(besides(storage, project.id)).toEqual([])
    }
    expect(await t.ctx.db.write.select().from(repositoryMoves)).toEqual([])
  })

  it('a backup that began before the move has the repository as it was', async () => {
    const project = await aProject(t.ctx, { files: { a: '1' } })
    const save = t.ctx.git.saveRepository.bind(t.ctx.git)
    let first = true
    t.ctx.git.saveRepository = async (key, refs, target) => {
      if (first) {
        first = false
        await moved(project, 'second')
        await clearFormer()
      }
      return save(key, refs, target)
    }
    const root = join(folder, 'backup')
    const { gone } = await backUp(t.ctx, t.databaseUrl, root).finally(() => {
      t.ctx.git.saveRepository = save
    })
    expect(gone).toEqual([])
    expect(await gitOut(join(root, 'repositories', 'default', `${project.id}.git`), 'show', 'main:a')).toBe('1')
  })
})

describe('repository_storage of a project (PR-27)', () => {
  it('is for administrators, names a storage there is, and moves the project', async () => {
    const project = await aProject(t.ctx, { files: { a: '1' } })
    const admin = await anAdmin(t.ctx)
    const put = (caller: TestUser, repository_storage: string) => t.api('put', project.path, caller).send({ repository_storage })
    await put(project.creator, 'second').expect(403)
    await put(admin, 'third').expect(400, { message: { repository_storage: ['is not included in the list'] } })
    expect(await storageOf(project)).toBe('default')
    await put(admin, 'second').expect(200)
    await expect.poll(() => storageOf(project), { timeout: 10_000 }).toBe('second')
    await put(admin, 'second').expect(200)
    await t.ctx.jobs.drain()
    expect(await t.ctx.db.write.select().from(repositoryMoves)).toEqual([])
  })
})

async function faultsNow() {
  const found = []
  for await (const fault of faults(t.ctx, { full: false })) found.push(fault)
  return found
}
