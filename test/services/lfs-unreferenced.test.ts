import { and, eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Context } from '../../src/context.js'
import { lfsObjectProjects } from '../../src/db/schema/index.js'
import { dropExpiredObjects, dropUnreferenced } from '../../src/services/repository/lfs/unreferenced.js'
import { repositoryById } from '../../src/services/repository/repositories.js'
import { testApp } from '../support/app.js'
import { commitIn, directoryOf, gitClient, gitOut, gitRun } from '../support/clients/git-client.js'
import { anObject, lfsClient, type TestObject } from '../support/clients/lfs-client.js'
import { aCommit, aProject, aUser, setSettings, type TestProject, type TestUser, unique } from '../support/factories.js'

const t = testApp({}, { upkeep: true })
const client = gitClient(t)
const lfs = lfsClient(t)
let owner: TestUser

beforeAll(async () => {
  owner = await aUser(t.ctx)
})

const fresh = () => anObject(`object ${unique()} `.repeat(20))
/** The service some days from now. */
const later = (days: number): Context => Object.assign(Object.create(t.ctx), { now: () => new Date(Date.now() + days * 86_400_000) })
const gitOf = async ({ id }: TestProject) => {
  const repository = await repositoryById(t.ctx, id)
  if (!repository) throw new Error('no repository')
  return repository.git
}
const look = async (project: TestProject, days: number) => dropUnreferenced(later(days), project.id, await gitOf(project))
const has = async (project: TestProject, { oid, size }: TestObject) =>
  (await lfs.batch(project.fullPath, owner, 'download', [{ oid, size }])).body.objects[0].error === undefined
const marked = async ({ id }: TestProject, { oid }: TestObject) => {
  const [row] = await t.ctx.db.write
    .select({ since: lfsObjectProjects.unreferenced_since })
    .from(lfsObjectProjects)
    .where(and(eq(lfsObjectProjects.project_id, id), eq(lfsObjectProjects.oid, oid)))
  return row && row.since !== null
}
const uploaded = async (project: TestProject) => {
  const object = fresh()
  await lfs.upload(project.fullPath, owner, object)
  return object
}

describe('objects that no commit points to any more (LF-14)', () => {
  it('stay for two weeks after that was seen, and then go with their bytes and from the sums', async () => {
    const project = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a' } })
    const [used, unused] = [await uploaded(project), await uploaded(project)]
    await aCommit(t.ctx, project, { 'large.bin': used.pointer })
    for (const days of [0, 1, 13.9]) await look(project, days)
    expect([await has(project, used), await has(project, unused)]).toEqual([true, true])
    await look(project, 14.1)
    expect([await has(project, used), await has(project, unused)]).toEqual([true, false])
    expect([await t.ctx.lfs.size(used.oid), await t.ctx.lfs.size(unused.oid)]).toEqual([used.size, null])
    const { body } = await t.api('get', `${project.path}?statistics=true`, owner).expect(200)
    expect(body.statistics.lfs_objects_size).toBe(used.size)
    // and can be sent again
    expect(await lfs.upload(project.fullPath, owner, unused)).toEqual([200, 200])
  })

  it('are not those that a former commit, a tag, a merge request or a kept commit points to', async () => {
    const project = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a' } })
    const [former, tagged, requested, kept] = [await uploaded(project), await uploaded(project), await uploaded(project), await uploaded(project)]
    await aCommit(t.ctx, project, { 'large.bin': former.pointer })
    await t.api('delete', `${project.path}/repository/files/large.bin?branch=main&commit_message=gone`, owner).expect(204)
    const directory = directoryOf(t, project.id)
    for (const [ref, object] of [
      ['refs/tags/v1', tagged],
      ['refs/merge-requests/1/head', requested],
      ['refs/keep-around/x', kept],
    ] as const) {
      const work = await client.cloned(client.url(project.fullPath, owner))
      await commitIn(work, `${unique()}.bin`, object.pointer)
      expect((await gitRun(work, 'push', 'origin', 'HEAD:refs/heads/side')).code).toBe(0)
      await gitOut(directory, 'update-ref', ref, 'refs/heads/side')
      expect((await gitRun(work, 'push', 'origin', ':refs/heads/side')).code).toBe(0)
    }
    for (const days of [0, 15, 30]) await look(project, days)
    for (const object of [former, tagged, requested, kept]) expect([await has(project, object), await marked(project, object)]).toEqual([true, false])
  })

  it('are kept for another period once a client has named them: for an upload, in a push, or in a merge request', async () => {
    const project = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a' } })
    const [announced, pushed] = [await uploaded(project), await uploaded(project)]
    await look(project, 0)
    expect([await marked(project, announced), await marked(project, pushed)]).toEqual([true, true])
    expect(await lfs.upload(project.fullPath, owner, announced)).toBeNull()
    expect(await marked(project, announced)).toBe(false)
    // its commits arrive after the refs were read, before anything is removed
    const repository = await gitOf(project)
    const work = await client.cloned(client.url(project.fullPath, owner))
    await commitIn(work, 'large.bin', pushed.pointer)
    await dropUnreferenced(later(15), project.id, {
      async forEachLfsPointer(take) {
        await repository.forEachLfsPointer(take)
        expect((await gitRun(work, 'push', 'origin', 'HEAD')).code).toBe(0)
      },
    })
    expect([await has(project, announced), await has(project, pushed)]).toEqual([true, true])
    await look(project, 16)
    expect(await marked(project, pushed)).toBe(false)
  })

  it('stay with a fork that points to them', async () => {
    const source = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a.txt': 'a' } })
    const object = await uploaded(source)
    const { body } = await t
      .api('post', `${source.path}/fork`, owner)
      .send({ path: `fork${unique()}`, name: 'fork' })
      .expect(201)
    await t.ctx.jobs.drain()
    const fork: TestProject = { ...source, id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace }
    const work = await client.cloned(client.url(fork.fullPath, owner))
    await commitIn(work, 'large.bin', object.pointer)
    expect((await gitRun(work, 'push', 'origin', 'HEAD')).code).toBe(0)
    for (const days of [0, 15]) for (const place of [source, fork]) await look(place, days)
    expect([await has(source, object), await has(fork, object)]).toEqual([false, true])
    expect((await lfs.download(fork.fullPath, owner, object)).bytes.equals(object.bytes)).toBe(true)
  })

  it('are found by the collection after pushes, and are removed in time also without further pushes', async () => {
    await setSettings(t.ctx, { housekeeping_incremental_repack_period: 1, housekeeping_full_repack_period: 1, housekeeping_gc_period: 1 })
    const project = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a' } })
    const [used, unused] = [await uploaded(project), await uploaded(project)]
    await aCommit(t.ctx, project, { 'large.bin': used.pointer })
    await t.ctx.jobs.drain()
    expect([await marked(project, used), await marked(project, unused)]).toEqual([false, true])
    await dropExpiredObjects(later(13))
    expect(await has(project, unused)).toBe(true)
    await dropExpiredObjects(later(15))
    expect([await has(project, used), await has(project, unused)]).toEqual([true, false])
  })
})
