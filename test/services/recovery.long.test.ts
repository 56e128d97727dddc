// @module-tag long
import { closeSync, cpSync, existsSync, mkdirSync, openSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { jobs, pendingRepositoryDeletions, processes, projects, protectedBranches, refIntents } from '../../src/db/schema/index.js'
import { ZERO } from '../../src/git/types.js'
import { recover } from '../../src/services/operations/recovery.js'
import { finishDeletions } from '../../src/services/projects/remove.js'
import { resolveAbandonedIntents } from '../../src/services/repository/push/recovery.js'
import { testApp } from '../support/app.js'
import { commitIn, directoryOf, gitClient, gitOut, gitRun } from '../support/clients/git-client.js'
import { aCommit, aProject, setSettings, type TestProject } from '../support/factories.js'

const t = testApp({}, { upkeep: true })
const client = gitClient(t)
const LONG_AGO = new Date('2020-01-01T00:00:00Z')

/** What a process writes before it moves refs, and all that is left of it when it is killed. */
const leaveIntent = (project: TestProject, updates: { ref: string; old: string; new: string }[], origin: 'api' | 'git' = 'git') =>
  t.ctx.db.write.insert(refIntents).values({ project_id: project.id, actor_id: project.creator.id, origin, updates })
const intents = () => t.ctx.db.write.select().from(refIntents)
const rowOf = async (project: TestProject) => {
  const [row] = await t.ctx.db.write.select().from(projects).where(eq(projects.id, project.id))
  return row as typeof projects.$inferSelect
}
const protectedIn = async (project: TestProject) =>
  (await t.ctx.db.write.select().from(protectedBranches).where(eq(protectedBranches.project_id, project.id))).map(({ name }) => name)
const age = (project: TestProject) => t.ctx.db.write.update(projects).set({ last_activity_at: LONG_AGO }).where(eq(projects.id, project.id))

/** An empty project whose repository has the objects of a commit, and no ref. */
async function withObjects() {
  const project = await aProject(t.ctx)
  const source = client.folder()
  await gitOut(source, 'init', '-q', '-b', 'main')
  const first = await commitIn(source, 'a')
  const second = await commitIn(source, 'b')
  const directory = directoryOf(t, project.id)
  await gitOut(source, 'push', '-q', directory, 'HEAD:refs/heads/carrier')
  await gitOut(directory, 'update-ref', '-d', 'refs/heads/carrier')
  await age(project)
  return { project, directory, first, second }
}

describe('intents left by a kill (SEC-158)', () => {
  it.each(['api', 'git'] as const)('killed before the ref moved (%s): dropped, nothing has changed', async (origin) => {
    const { project, first } = await withObjects()
    await leaveIntent(project, [{ ref: 'refs/heads/trunk', old: ZERO, new: first }], origin)
    const { empty_repo, default_branch, last_activity_at } = await rowOf(project)
    await recover(t.ctx)
    expect(await intents()).toEqual([])
    expect(await rowOf(project)).toMatchObject({ empty_repo, default_branch, last_activity_at })
    expect(empty_repo).toBe(true)
    expect(await protectedIn(project)).toEqual([])
    await t.ctx.jobs.drain()
  })

  it.each(['api', 'git'] as const)('killed after the ref moved (%s): finished', async (origin) => {
    const { project, directory, second } = await withObjects()
    await leaveIntent(project, [{ ref: 'refs/heads/trunk', old: ZERO, new: second }], origin)
    await gitOut(directory, 'update-ref', 'refs/heads/trunk', second)
    await recover(t.ctx)
    expect(await intents()).toEqual([])
    const row = await rowOf(project)
    expect(row).toMatchObject({ empty_repo: false, default_branch: 'trunk' })
    expect(row.last_activity_at.getTime()).toBeGreaterThan(LONG_AGO.getTime())
    expect(await gitOut(directory, 'symbolic-ref', 'HEAD')).toBe('refs/heads/trunk')
    expect(await protectedIn(project)).toEqual(['trunk'])
    await t.ctx.jobs.drain()
    expect((await rowOf(project)).commit_count).toBe(2)
  })

  it('killed before the ref moved, and its push repeated since: the push is recorded once', async () => {
    const { project, directory, first, second } = await withObjects()
    await gitOut(directory, 'update-ref', 'refs/heads/trunk', first)
    const move = { ref: 'refs/heads/trunk', old: first, new: second }
    await leaveIntent(project, [move])
    await leaveIntent(project, [move])
    await gitOut(directory, 'update-ref', 'refs/heads/trunk', second)
    // the first waits for the second, which is the one that moved the ref
    await recover(t.ctx)
    await recover(t.ctx)
    expect(await intents()).toEqual([])
    const { body } = await t.api('get', `${project.path}/events?action=pushed`, project.creator).expect(200)
    expect(body.filter((event: { push_data?: { ref: string } }) => event.push_data?.ref === 'trunk')).toHaveLength(1)
    await t.ctx.jobs.drain()
  })

  it('killed between the refs of one push: what moved is finished', async () => {
    const { project, directory, first, second } = await withObjects()
    await leaveIntent(project, [
      { ref: 'refs/heads/one', old: ZERO, new: first },
      { ref: 'refs/heads/two', old: ZERO, new: second },
    ])
    await gitOut(directory, 'update-ref', 'refs/heads/two', second)
    await recover(t.ctx)
    expect(await intents()).toEqual([])
    expect(await rowOf(project)).toMatchObject({ empty_repo: false, default_branch: 'two' })
    expect(await protectedIn(project)).toEqual(['two'])
    await t.ctx.jobs.drain()
  })

  it('the ref has gone on since: the first branch is still followed', async () => {
    const { project, directory, first, second } = await withObjects()
    await leaveIntent(project, [{ ref: 'refs/heads/main', old: ZERO, new: first }])
    await leaveIntent(project, [{ ref: 'refs/heads/main', old: first, new: second }])
    await gitOut(directory, 'update-ref', 'refs/heads/main', second)
    await recover(t.ctx)
    expect(await intents()).toEqual([])
    expect(await rowOf(project)).toMatchObject({ empty_repo: false, default_branch: 'main' })
    expect(await protectedIn(project)).toEqual(['main'])
    await t.ctx.jobs.drain()
  })

  it('killed after the end of the last branch: empty again', async () => {
    await setSettings(t.ctx, { default_branch_protection: 0 })
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const head = await gitOut(directoryOf(t, project.id), 'rev-parse', 'main')
    await leaveIntent(project, [{ ref: 'refs/heads/main', old: head, new: ZERO }])
    await gitOut(directoryOf(t, project.id), 'update-ref', '-d', 'refs/heads/main')
    await recover(t.ctx)
    expect(await intents()).toEqual([])
    expect((await rowOf(project)).empty_repo).toBe(true)
    await setSettings(t.ctx, {})
    await t.ctx.jobs.drain()
  })

  it('killed between the protection and the end: finished once more does no harm (SEC-166)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const head = await gitOut(directoryOf(t, project.id), 'rev-parse', 'main')
    const before = await rowOf(project)
    await leaveIntent(project, [{ ref: 'refs/heads/main', old: ZERO, new: head }], 'api')
    await recover(t.ctx)
    expect(await intents()).toEqual([])
    const { last_activity_at, repository_size, commit_count, pushes_since_gc, ...row } = await rowOf(project)
    expect(before).toMatchObject(row)
    expect(await protectedIn(project)).toEqual(['main'])
    await t.ctx.jobs.drain()
    expect((await rowOf(project)).commit_count).toBe(1)
  })

  it('of another process are left alone while it lives, and finished without a start when it is silent (SEC-185)', async () => {
    const { project, directory, second } = await withObjects()
    await leaveIntent(project, [{ ref: 'refs/heads/trunk', old: ZERO, new: second }])
    await t.ctx.db.write.update(refIntents).set({ owner: 'another', created_at: LONG_AGO })
    await gitOut(directory, 'update-ref', 'refs/heads/trunk', second)
    await t.ctx.db.write.insert(processes).values({ id: 'another', alive_until: new Date(Date.now() + 60_000) })
    await resolveAbandonedIntents(t.ctx)
    expect(await intents()).toHaveLength(1)
    await t.ctx.db.write.update(processes).set({ alive_until: LONG_AGO }).where(eq(processes.id, 'another'))
    await resolveAbandonedIntents(t.ctx)
    expect(await intents()).toEqual([])
    expect(await rowOf(project)).toMatchObject({ empty_repo: false, default_branch: 'trunk' })
    await t.ctx.jobs.drain()
  })

  it('of this process are resolved when the answer to their insertion was lost', async () => {
    const { project, first } = await withObjects()
    await leaveIntent(project, [{ ref: 'refs/heads/trunk', old: ZERO, new: first }])
    const ctx: typeof t.ctx = Object.create(t.ctx, { jobs: { value: Object.create(t.ctx.jobs, { id: { value: 'this' } }) } })
    await t.ctx.db.write.insert(processes).values({ id: 'this', alive_until: new Date(Date.now() + 60_000) })
    await t.ctx.db.write.update(refIntents).set({ owner: 'this' })
    await resolveAbandonedIntents(ctx)
    expect(await intents()).toHaveLength(1)
    await t.ctx.db.write.update(refIntents).set({ created_at: LONG_AGO })
    await resolveAbandonedIntents(ctx)
    expect(await intents()).toEqual([])
    await t.ctx.jobs.drain()
  })

  it('of a deleted repository are dropped, and the start continues', async () => {
    const { project, first } = await withObjects()
    await leaveIntent(project, [{ ref: 'refs/heads/main', old: ZERO, new: first }])
    await t.ctx.git.remove({ storage: 'default', id: project.id, kind: 'project' })
    await recover(t.ctx)
    expect(await intents()).toEqual([])
    await t.ctx.jobs.drain()
  })

  it('has its upkeep done by any worker, by a job that is written with the end of the push (SEC-185)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await t.ctx.jobs.drain()
    await aCommit(t.ctx, project, { b: 'b' })
    const [job] = await t.ctx.db.write
      .select()
      .from(jobs)
      .where(eq(jobs.key, String(project.id)))
    expect(job).toMatchObject({ kind: 'repository upkeep', payload: { project: project.id } })
    await t.ctx.jobs.drain()
    expect((await rowOf(project)).commit_count).toBe(2)
  })
})

describe('what a kill leaves on disk (SEC-159)', () => {
  it('removes stale locks, temporary packs and quarantines, and not those in use or recent; the next push succeeds', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const held = await aProject(t.ctx, { files: { a: 'a' } })
    await t.ctx.jobs.drain()
    const directory = directoryOf(t, project.id)
    const work = await client.cloned(client.url(project.fullPath, project.creator))
    const leave = (at: string, ...names: string[]) =>
      names.map((name) => {
        const path = join(at, name)
        if (name.includes('incoming')) mkdirSync(path, { recursive: true })
        else writeFileSync(path, '')
        utimesSync(path, LONG_AGO, LONG_AGO)
        return path
      })
    const stale = leave(
      directory,
      'refs/heads/main.lock',
      'packed-refs.lock',
      'HEAD.lock',
      'objects/pack/tmp_pack_x1',
      'objects/tmp_obj_x1',
      'objects/incoming-x1',
    )
    const [open] = leave(directoryOf(t, held.id), 'objects/pack/tmp_pack_live') as [string]
    const descriptor = openSync(open, 'r')
    const kept = ['HEAD', 'config', 'refs/heads/main']
    await recover(t.ctx)
    await t.ctx.jobs.drain()
    for (const name of kept) expect(existsSync(join(directory, name)), name).toBe(true)
    expect(existsSync(open)).toBe(true)
    closeSync(descriptor)
    expect(stale.filter((path) => existsSync(path))).toEqual([])
    await commitIn(work, 'next')
    expect(await gitRun(work, 'push', '-q', 'origin', 'HEAD:main')).toMatchObject({ code: 0 })
    expect((await gitRun(directory, 'fsck', '--strict')).code).toBe(0)
  })

  it('the repositories of a project whose deletion was interrupted go', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await t.ctx.jobs.drain()
    await t.ctx.db.write.insert(pendingRepositoryDeletions).values({ project_id: project.id, storage: 'default' })
    await t.ctx.db.write.delete(projects).where(eq(projects.id, project.id))
    expect(existsSync(directoryOf(t, project.id))).toBe(true)
    await recover(t.ctx)
    await t.ctx.jobs.drain()
    expect(existsSync(directoryOf(t, project.id))).toBe(false)
    expect(await t.ctx.db.write.select().from(pendingRepositoryDeletions)).toEqual([])
  })

  it('removes a repository without a row after a kill at the next start, and within a minute while the service runs (SEC-158)', async () => {
    const left = async (due_at: Date) => {
      const { rows } = await t.ctx.db.write.execute<{ id: string }>(sql`select nextval(pg_get_serial_sequence('projects', 'id')) as id`)
      const id = Number(rows[0]?.id)
      await t.ctx.db.write.insert(pendingRepositoryDeletions).values({ project_id: id, storage: 'default', due_at })
      await t.ctx.git.create({ storage: 'default', id, kind: 'project' }, 'main')
      return directoryOf(t, id)
    }
    const old = await left(new Date(Date.now() - 1_000))
    const young = await left(new Date(Date.now() + 60_000))
    await finishDeletions(t.ctx)
    expect([existsSync(old), existsSync(young)]).toEqual([false, true])
    // as a start does that has its database to itself
    await finishDeletions(t.ctx, { alone: true })
    expect(existsSync(young)).toBe(false)
    expect(await t.ctx.db.write.select().from(pendingRepositoryDeletions)).toEqual([])
  })

  it('repositories that no project has are moved aside after a day and removed after thirty, unless most are such (SEC-176)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await t.ctx.jobs.drain()
    const directory = directoryOf(t, project.id)
    const stray = (n: number, aged: Date) => {
      const path = directory.replace(`/${project.id}.git`, `/${project.id + 256 * (1_000 + n)}.git`)
      cpSync(directory, path, { recursive: true })
      utimesSync(path, aged, aged)
      return path
    }
    utimesSync(directory, LONG_AGO, LONG_AGO)
    const [old, young] = [stray(1, LONG_AGO), stray(2, new Date(Date.now() - 3_600_000))]
    const place = join(t.ctx.config.storages['default'] as string, 'lost+found')
    mkdirSync(join(place, `7-${Date.now() - 31 * 86_400_000}.git`), { recursive: true })
    mkdirSync(join(place, `8-${Date.now() - 29 * 86_400_000}.git`))
    await recover(t.ctx)
    await t.ctx.jobs.drain()
    expect([existsSync(directory), existsSync(old), existsSync(young)]).toEqual([true, false, true])
    expect(
      readdirSync(place)
        .map((name) => name.replace(/-.*/, ''))
        .sort(),
    ).toEqual(['8', String(project.id + 256 * 1_001)].sort())
    // another database over these storages: nothing is touched
    const many = Array.from({ length: 60 }, (_, i) => stray(10 + i, LONG_AGO))
    await recover(t.ctx)
    await t.ctx.jobs.drain()
    expect(many.filter((path) => !existsSync(path))).toEqual([])
    for (const path of [...many, young]) rmSync(path, { recursive: true })
  })
})
