import { eq, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { jobs, mirrors } from '../../../src/db/schema/index.js'
import { pullDueMirrors } from '../../../src/services/projects/mirrors/pull.js'
import { testApp } from '../../support/app.js'
import { directoryOf, gitOut } from '../../support/clients/git-client.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser, unique } from '../../support/factories.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })

const commit = (project: { path: string; creator: TestUser }, branch: string, more: object = {}) =>
  t
    .api('post', `${project.path}/repository/commits`, project.creator)
    .send({ branch, commit_message: 'x', actions: [{ action: 'create', file_path: `f${unique()}`, content: 'x' }], ...more })
    .expect(201)
const refsOf = async (id: number) =>
  (await gitOut(directoryOf(t, id), 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads', 'refs/tags')).split('\n')
const shown = async (project: { path: string; creator: TestUser }) => (await t.api('get', project.path, project.creator).expect(200)).body
const state = async (project: { path: string; creator: TestUser }) =>
  (await t.api('get', `${project.path}/mirror/pull`, project.creator).expect(200)).body

/** Lets a pull that has been asked for run to its end, whenever its time comes. */
async function pull(project: { path: string; creator: TestUser }) {
  await t.api('post', `${project.path}/mirror/pull`, project.creator).expect(200)
  await t.ctx.db.write.update(jobs).set({ run_at: sql`now()` }).where(eq(jobs.kind, 'pull from a mirror'))
  await t.ctx.jobs.drain()
  return state(project)
}

describe('pull mirrors', () => {
  let source: TestProject
  let url: string
  beforeAll(async () => {
    source = await aProject(t.ctx, { default_branch: 'main' })
    await commit(source, 'main')
    await commit(source, 'topic', { start_branch: 'main' })
    url = `${t.url}/${source.fullPath}.git`.replace('://', `://mirror:${source.creator.token}@`)
  })

  /** A project that was imported from the source and follows it. */
  async function follower(more: object = {}) {
    const creator = await aUser(t.ctx)
    const { body } = await t
      .api('post', '/projects', creator)
      .send({ name: `m${unique()}`, import_url: url, mirror: true, ...more })
      .expect(201)
    await t.ctx.jobs.drain()
    return { id: body.id as number, path: `/projects/${body.id}`, creator, body }
  }

  it('are made with the project, and show no password (PM-20, SEC-139)', async () => {
    const project = await follower({ mirror_trigger_builds: true })
    expect(project.body).toMatchObject({
      mirror: true,
      mirror_user_id: project.creator.id,
      mirror_trigger_builds: true,
      only_mirror_protected_branches: false,
      mirror_overwrites_diverged_branches: false,
      import_url: `${t.url}/${source.fullPath}.git`,
    })
    expect(await state(project)).toMatchObject({ url: `${t.url}/${source.fullPath}.git`.replace('://', '://*****:*****@'), enabled: true })
    const { items } = { items: (await t.api('get', '/projects?membership=true', project.creator).expect(200)).body }
    expect(items).toMatchObject([{ id: project.id, mirror: true, mirror_trigger_builds: true }])
    expect(JSON.stringify([await t.ctx.db.write.select().from(mirrors), project.body])).not.toContain(source.creator.token)
  })

  it('bring branches and tags by themselves and when that is asked for, as a push of their user (PM-22, PM-23, PM-24)', async () => {
    const project = await follower()
    await t.ctx.db.write.update(mirrors).set({ next_update_at: new Date(Date.now() - 1) })
    await commit(source, 'main')
    await t.api('post', `${source.path}/repository/tags`, source.creator).send({ tag_name: 'v1', ref: 'main' }).expect(201)
    await pullDueMirrors.run(t.ctx, {}, { id: 0, number: 1, signal: new AbortController().signal })
    await t.ctx.jobs.drain()
    expect(await state(project)).toMatchObject({ update_status: 'finished', last_error: null, last_successful_update_at: expect.any(String) })
    expect(await refsOf(project.id)).toEqual(await refsOf(source.id))
    const [{ next }] = (await t.ctx.db.write.select({ next: mirrors.next_update_at }).from(mirrors).where(eq(mirrors.project_id, project.id))) as [
      { next: Date },
    ]
    expect((next.getTime() - Date.now()) / 60_000).toBeGreaterThan(29)
    const { body: events } = await t.api('get', `${project.path}/events?action=pushed`, project.creator).expect(200)
    expect(events).toMatchObject([{ author: { id: project.creator.id } }, { author: { id: project.creator.id } }])
    // those who fetch do not see where they come from
    expect(
      await gitOut('/', 'ls-remote', `${t.url}/${project.body.path_with_namespace}.git`.replace('://', `://x:${project.creator.token}@`)),
    ).not.toContain('upstream')
    // nothing is deleted here because it is deleted there
    await t.api('delete', `${source.path}/repository/branches/topic`, source.creator).expect(204)
    await pull(project)
    expect((await refsOf(project.id)).map((line) => line.split(' ')[0])).toContain('refs/heads/topic')
    await t.api('post', `${source.path}/repository/branches`, source.creator).send({ branch: 'topic', ref: 'main' }).expect(201)
  })

  it('keep branches that have diverged, or overwrite them where that is wanted; the default branch is no silent one (PM-22)', async () => {
    const project = await follower({ name: `n${unique()}` })
    await commit(project, 'topic')
    await commit(source, 'topic')
    await commit(project, 'main')
    expect(await pull(project)).toMatchObject({ update_status: 'finished' })
    await commit(source, 'main')
    expect(await pull(project)).toMatchObject({
      update_status: 'failed',
      last_error: expect.stringMatching(/^The default branch \(main\) has diverged/),
    })
    expect(await refsOf(project.id)).not.toEqual(await refsOf(source.id))
    await t.api('put', project.path, project.creator).send({ mirror_overwrites_diverged_branches: true }).expect(200)
    // the protection of the default branch stands above that
    expect(await pull(project)).toMatchObject({ update_status: 'failed', last_error: expect.stringContaining('not allowed to force push') })
    await t.api('delete', `${project.path}/protected_branches/main`, project.creator).expect(204)
    expect(await pull(project)).toMatchObject({ update_status: 'finished' })
    expect(await refsOf(project.id)).toEqual(await refsOf(source.id))
  })

  it('bring protected branches alone where that is wanted (PM-22)', async () => {
    const project = await follower({ name: `p${unique()}`, only_mirror_protected_branches: true })
    const before = await refsOf(project.id)
    await commit(source, 'topic')
    await pull(project)
    expect(await refsOf(project.id)).toEqual(before)
  })

  it('make pipelines only where that is wanted (PM-24)', async () => {
    const [quiet, loud] = [await follower(), await follower({ mirror_trigger_builds: true })]
    const actions = [{ action: 'create', file_path: '.gitlab-ci.yml', content: 'a: {script: x}' }]
    await commit(source, 'main', { actions })
    for (const project of [quiet, loud]) await pull(project)
    const pipelines = async ({ path, creator }: typeof quiet) => (await t.api('get', `${path}/pipelines`, creator).expect(200)).body
    expect(await pipelines(quiet)).toEqual([])
    expect(await pipelines(loud)).toMatchObject([{ ref: 'main', source: 'push' }])
  })

  it('stop where their user may not push any more, and when they are switched off (PM-20, PM-21)', async () => {
    const project = await follower()
    const admin = await anAdmin(t.ctx)
    const other = await aUser(t.ctx)
    await t.api('put', project.path, project.creator).send({ mirror_user_id: other.id }).expect(403)
    await t.api('put', project.path, admin).send({ mirror_user_id: other.id }).expect(200)
    expect(await pull(project)).toMatchObject({
      update_status: 'failed',
      last_error: `${other.username} may not push to all branches of this project.`,
    })
    await t.api('put', project.path, project.creator).send({ mirror: false }).expect(200)
    await t.ctx.jobs.drain()
    expect(await shown(project)).not.toHaveProperty('mirror_user_id')
    await t.api('get', `${project.path}/mirror/pull`, project.creator).expect(400, { message: 'The project is not mirrored' })
    await t.api('post', `${project.path}/mirror/pull`, project.creator).expect(400)
    expect(await gitOut(directoryOf(t, project.id), 'for-each-ref', 'refs/roost')).toBe('')
    // again, from where it was
    expect((await t.api('put', project.path, project.creator).send({ mirror: true }).expect(200)).body).toMatchObject({
      mirror: true,
      mirror_user_id: project.creator.id,
    })
    expect(await pull(project)).toMatchObject({ update_status: 'finished', last_error: null })
  })

  it('are refused without an address, and settings of one without one (PM-20)', async () => {
    const plain = await aProject(t.ctx)
    const put = (given: object) => t.api('put', plain.path, plain.creator).send(given)
    await put({ mirror: true }).expect(400, { message: { import_url: ["can't be blank"] } })
    await put({ mirror_trigger_builds: true }).expect(400, { message: { mirror_trigger_builds: ['needs a mirror'] } })
    await put({ import_url: url }).expect(400, { message: { import_url: ['can only be changed for a mirror'] } })
    await put({ mirror: false, mirror_trigger_builds: false }).expect(200)
    await put({ mirror: true, import_url: 'ssh://git@host.test/a.git' }).expect(400)
    expect((await put({ mirror: true, import_url: url }).expect(200)).body).toMatchObject({ mirror: true })
    await t.ctx.db.write.delete(jobs).where(eq(jobs.kind, 'pull from a mirror'))
    expect(await pull(plain)).toMatchObject({ update_status: 'finished' })
    expect(await shown(plain)).toMatchObject({ empty_repo: false, default_branch: 'main' })
  })
})
