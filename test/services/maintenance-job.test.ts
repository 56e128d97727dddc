import { readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { projects } from '../../src/db/schema/index.js'
import type { Settings } from '../../src/services/core/settings.js'
import { enqueueMaintenance, maintenance, requestHousekeeping } from '../../src/services/repository/push/maintenance-job.js'
import { testApp } from '../support/app.js'
import { directoryOf, gitClient, gitOut, gitRun } from '../support/clients/git-client.js'
import { aCommit, aProject, setSettings, type TestProject, unique } from '../support/factories.js'
import { soon } from '../support/merge-requests.js'

const t = testApp({}, { upkeep: true })
const client = gitClient(t)

const PERIODS: Partial<Settings> = {
  housekeeping_incremental_repack_period: 2,
  housekeeping_full_repack_period: 4,
  housekeeping_gc_period: 6,
}

const push = async (project: TestProject) => {
  const oid = await aCommit(t.ctx, project, { [`f${unique()}`]: 'x' })
  await t.ctx.jobs.drain()
  return oid
}
const files = async (project: TestProject, end: string) =>
  (await readdir(join(directoryOf(t, project.id), 'objects/pack'))).filter((name) => name.endsWith(end)).length
const counted = async (project: TestProject) => {
  const [row] = await t.ctx.db.write.select().from(projects).where(eq(projects.id, project.id))
  return [row?.pushes_since_gc, row?.pushes_housekept]
}
const loose = async (project: TestProject) => Number.parseInt(await gitOut(directoryOf(t, project.id), 'count-objects'), 10)
const looseAfter = async (project: TestProject, pushes: number) => {
  const seen: number[] = []
  for (let i = 0; i < pushes; i++) {
    await push(project)
    seen.push(await loose(project))
  }
  return seen
}
/** Makes all that is in the repository look three weeks old. */
async function age(project: TestProject) {
  const old = Date.now() / 1000 - 3 * 7 * 86_400
  const objects = join(directoryOf(t, project.id), 'objects')
  for (const entry of await readdir(objects, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) await utimes(join(entry.parentPath, entry.name), old, old)
}

describe('housekeeping (AS-41)', () => {
  it('counts pushes: repacks when the periods of the settings are over, and counts from 0 after a collection', async () => {
    await setSettings(t.ctx, PERIODS)
    const project = await aProject(t.ctx)
    await gitOut(directoryOf(t, project.id), 'config', 'gc.auto', '0')
    // a push writes three objects, of which one is there already while it is loose; every second packs them
    expect(await looseAfter(project, 6)).toEqual([3, 0, 3, 0, 3, 0])
    expect(await files(project, '.pack')).toBe(1)
    expect(await counted(project)).toEqual([0, 0])
    await push(project)
    expect(await counted(project)).toEqual([1, 0])
    // several pushes between two looks: what was due at any of them is due
    for (let i = 0; i < 3; i++) await aCommit(t.ctx, project, { [`g${unique()}`]: 'y' })
    await t.ctx.jobs.drain()
    expect([await files(project, '.pack'), await loose(project), await counted(project)]).toEqual([1, 0, [4, 4]])
    await gitOut(directoryOf(t, project.id), 'fsck', '--strict', '--full')
  })

  it('is due when an owner asks for it, unless it is switched off (WB-152)', async () => {
    await setSettings(t.ctx, {})
    const project = await aProject(t.ctx)
    expect(await looseAfter(project, 3)).toEqual([3, 5, 7])
    await requestHousekeeping(t.ctx, project.id)
    await t.ctx.jobs.drain()
    expect([await files(project, '.pack'), await loose(project), await counted(project)]).toEqual([1, 0, [0, 0]])
    await setSettings(t.ctx, { housekeeping_enabled: false })
    await expect(requestHousekeeping(t.ctx, project.id)).rejects.toThrow('switched off')
  })

  it('a push with Git counts as one', async () => {
    await setSettings(t.ctx, {})
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const work = await client.cloned(client.url(project.fullPath, project.creator))
    for (const branch of ['one', 'two']) await gitOut(work, 'push', '-q', 'origin', `HEAD:refs/heads/${branch}`)
    expect((await counted(project))[0]).toBe(3)
  })

  it('packs nothing while it is switched off, and catches up when it is on again', async () => {
    await setSettings(t.ctx, { ...PERIODS, housekeeping_enabled: false })
    const project = await aProject(t.ctx)
    expect(await looseAfter(project, 5)).toEqual([3, 5, 7, 9, 11])
    expect(await readdir(join(directoryOf(t, project.id), 'objects/info'))).toContain('commit-graphs')
    await setSettings(t.ctx, PERIODS)
    expect(await looseAfter(project, 1)).toEqual([0])
    expect(await files(project, '.pack')).toBe(1)
  })

  it('makes bitmaps unless they are switched off', async () => {
    for (const housekeeping_bitmaps_enabled of [true, false]) {
      await setSettings(t.ctx, { ...PERIODS, housekeeping_bitmaps_enabled })
      const project = await aProject(t.ctx)
      await looseAfter(project, 4)
      expect(await files(project, '.bitmap')).toBe(housekeeping_bitmaps_enabled ? 1 : 0)
    }
  })

  it('a collection drops what nothing refers to after two weeks, and nothing that rows refer to (SEC-158, SEC-164)', async () => {
    await setSettings(t.ctx, {})
    const project = await aProject(t.ctx)
    await push(project)
    const { creator } = project
    const lost = async (name: string, spokenOf: (oid: string) => Promise<unknown> = async () => {}) => {
      const oid = await aCommit(t.ctx, project, { [`${name}.txt`]: name }, { branch: name, start_branch: 'main' })
      await spokenOf(oid)
      await gitOut(directoryOf(t, project.id), 'update-ref', '-d', `refs/heads/${name}`)
      return oid
    }
    const say = (path: string, body: object) => t.api('post', `${project.path}${path}`, creator).send(body).expect(201)
    const forgotten = await lost('forgotten')
    const discussed = await lost('discussed', (oid) => say(`/repository/commits/${oid}/comments`, { note: 'why?' }))
    const built = await lost('built', (oid) => say(`/statuses/${oid}`, { state: 'success' }))
    await t.ctx.jobs.drain()
    await t.ctx.db.write.update(projects).set({ pushes_since_gc: 2, pushes_housekept: 2 }).where(eq(projects.id, project.id))
    await age(project)
    const period = 4
    await setSettings(t.ctx, {
      housekeeping_incremental_repack_period: period,
      housekeeping_full_repack_period: period,
      housekeeping_gc_period: period,
    })
    const recent = await lost('recent')
    await t.ctx.jobs.drain()
    const there = async (oid: string) => (await gitRun(directoryOf(t, project.id), 'cat-file', '-e', oid)).code === 0
    expect(await Promise.all([forgotten, discussed, built, recent].map(there))).toEqual([true, true, true, true])
    await push(project)
    expect(await counted(project)).toEqual([0, 0])
    expect(await Promise.all([forgotten, discussed, built, recent].map(there))).toEqual([false, true, true, true])
    expect((await t.api('get', `${project.path}/repository/commits/${discussed}/comments`, creator).expect(200)).body).toHaveLength(1)
    await t.api('get', `${project.path}/repository/commits/${built}`, creator).expect(200)
    await gitOut(directoryOf(t, project.id), 'fsck', '--strict', '--full')
    // what holds them is never shown
    const refs = await gitOut(directoryOf(t, project.id), 'ls-remote', client.url(project.fullPath, creator))
    expect(refs).not.toContain('keep-around')
  })

  it('beside a maintenance that runs elsewhere nothing is counted as done', async () => {
    await setSettings(t.ctx, PERIODS)
    const project = await aProject(t.ctx)
    await push(project)
    const lock = join(directoryOf(t, project.id), 'roost-maintenance.lock')
    await writeFile(lock, '')
    await push(project)
    expect([await loose(project), await counted(project)]).toEqual([5, [2, 0]])
    await rm(lock)
    await enqueueMaintenance(t.ctx.db, project.id)
    await t.ctx.jobs.drain()
    expect([await loose(project), await counted(project)]).toEqual([0, [2, 2]])
  })

  it('that a repository is missing is logged, unless its project has been removed (SEC-156)', async () => {
    const [gone, missing] = [await aProject(t.ctx, { files: { a: 'a' } }), await aProject(t.ctx, { files: { a: 'a' } })]
    await t.ctx.jobs.drain()
    await t.ctx.db.write.delete(projects).where(eq(projects.id, gone.id))
    const before = t.logged.length
    for (const { id } of [gone, missing]) {
      await rm(directoryOf(t, id), { recursive: true })
      await expect(t.ctx.git.open({ storage: 'default', id, kind: 'project' }).ref('refs/heads/main')).rejects.toThrow('the repository is missing')
    }
    const logged = () => t.logged.slice(before).filter((line) => line.includes('a repository is missing'))
    await expect.poll(logged).toEqual([expect.stringContaining(`"id":${missing.id},`)])
  })

  it('of a project that is removed meanwhile is no fault', async () => {
    const project = await aProject(t.ctx, { files: { 'a.ts': 'const a = 1\n' } })
    const { work } = await t.ctx.db.transaction(async (tx) => {
      await tx.delete(projects).where(eq(projects.id, project.id))
      const work = maintenance.run(t.ctx, { project: project.id }, { id: 0, number: 1, signal: new AbortController().signal })
      const waiting = sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      await soon(async () => (await t.ctx.db.write.execute(waiting)).rows.length > 0)
      return { work }
    })
    await rm(directoryOf(t, project.id), { recursive: true })
    await work
  })
})
