import { randomBytes } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { projects } from '../../../src/db/schema/index.js'
import { templateJob } from '../../../src/services/projects/template.js'
import { repositoryOf } from '../../../src/services/repository/repositories.js'
import { testApp } from '../../support/app.js'
import { directoryOf, gitOut } from '../../support/clients/git-client.js'
import { anObject, lfsClient } from '../../support/clients/lfs-client.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, setSettings, type TestProject, type TestUser, unique } from '../../support/factories.js'

const t = testApp({}, { upkeep: true })
const lfs = lfsClient(t)
let owner: TestUser
let template: TestProject

const create = (caller: TestUser, given: object) => t.api('post', '/projects', caller).send({ name: `made ${unique()}`, ...given })
const from = (id: number, more: object = {}) => ({ use_custom_template: true, template_project_id: id, ...more })
async function made(caller: TestUser, given: object) {
  const { body } = await create(caller, given).expect(201)
  await t.ctx.jobs.drain()
  return (await t.api('get', `/projects/${body.id}`, caller).expect(200)).body
}
const historyOf = async (id: number, branch: string) =>
  (await gitOut(directoryOf(t, id), 'log', '--format=%an <%ae> %cn %s', `refs/heads/${branch}`)).trim().split('\n')
const treeOf = (id: number, branch: string) => gitOut(directoryOf(t, id), 'rev-parse', `refs/heads/${branch}^{tree}`)

beforeAll(async () => {
  owner = await aUser(t.ctx)
  template = await aProject(t.ctx, {
    creator: owner,
    description: 'A start',
    default_branch: 'trunk',
    visibility: 'public',
  })
  await aCommit(t.ctx, template, { 'README.md': '# Start', 'src/old.rb': 'puts 1' }, { branch: 'trunk' })
  await aCommit(t.ctx, template, { 'src/naïve café.rb': 'puts 2' }, { branch: 'trunk', message: 'Second' })
  await aCommit(t.ctx, template, { 'other.txt': 'x' }, { branch: 'topic', start_branch: 'trunk' })
  await t.api('post', `${template.path}/repository/tags`, owner).send({ tag_name: 'v1', ref: 'trunk' }).expect(201)
  await t.api('post', `${template.path}/issues`, owner).send({ title: 'stays' }).expect(201)
})

describe('a project from a template (WB-391)', () => {
  it('has the files of the default branch as one commit of its creator, and nothing else', async () => {
    const user = await aUser(t.ctx, { name: 'Vera Vogel' })
    const group = await aGroup(t.ctx, { creator: user })
    const project = await made(user, from(template.id, { namespace_id: group.id }))
    expect(project).toMatchObject({
      import_status: 'finished',
      import_error: null,
      empty_repo: false,
      default_branch: 'trunk',
      description: null,
      visibility: 'private',
      open_issues_count: 0,
    })
    expect(project.forked_from_project).toBeUndefined()
    expect(await historyOf(project.id, 'trunk')).toEqual([`Vera Vogel <${user.email}> Vera Vogel Initial commit`])
    expect(await treeOf(project.id, 'trunk')).toBe(await treeOf(template.id, 'trunk'))
    expect(await gitOut(directoryOf(t, project.id), 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/trunk')
    await gitOut(directoryOf(t, project.id), 'fsck', '--full', '--strict', '--no-dangling')
    // as after a first push
    expect((await t.api('get', `/projects/${project.id}/repository/branches/trunk`, user).expect(200)).body.protected).toBe(true)
    expect((await t.api('get', `/projects/${project.id}/languages`, user).expect(200)).body).toEqual({ Ruby: 100 })
    // it is whole without its template, and under another name of the branch
    const second = await made(user, from(template.id, { default_branch: 'main' }))
    expect([second.default_branch, (await historyOf(second.id, 'main')).length]).toEqual(['main', 1])
    expect((await t.api('post', `/projects/user/${user.id}`, await anAdmin(t.ctx)).send({ name: 'for you', ...from(template.id) })).status).toBe(201)
  })

  it('has the Git LFS objects that its files point to, and no others', async () => {
    const source = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    const [used, former] = [anObject(`used ${unique()}`), anObject(`former ${unique()}`)]
    for (const object of [used, former]) await lfs.upload(source.fullPath, owner, object)
    await aCommit(t.ctx, source, { 'a.bin': former.pointer })
    await t
      .api('post', `${source.path}/repository/commits`, owner)
      .send({ branch: 'main', commit_message: 'x', actions: [{ action: 'update', file_path: 'a.bin', content: used.pointer }] })
      .expect(201)
    const user = await aUser(t.ctx)
    const { path_with_namespace } = await made(user, from(source.id))
    expect((await lfs.download(path_with_namespace, user, used)).bytes.equals(used.bytes)).toBe(true)
    expect((await lfs.batch(path_with_namespace, user, 'download', [former])).body.objects[0].error.code).toBe(404)
  })

  it('needs the right to read the code, when it is asked for and when it is made', async () => {
    const [user, guest] = [await aUser(t.ctx), await aUser(t.ctx)]
    const hidden = await aProject(t.ctx, { creator: owner, guest: guest, files: { 'a.txt': 'secret' } })
    const closed = await aProject(t.ctx, { creator: owner, visibility: 'public', repository_access_level: 'private', files: { 'a.txt': 'a' } })
    const fault = { message: { template_project_id: ['is not a project whose code you may read'] } }
    for (const [who, id] of [
      [user, hidden.id],
      [guest, hidden.id],
      [user, closed.id],
      [user, 2_000_000_000],
    ] as const)
      expect((await create(who, from(id)).expect(400)).body).toEqual(fault)
    // as the person that it is for, not as the administrator who asks
    const asked = await t.api('post', `/projects/user/${user.id}`, await anAdmin(t.ctx)).send({ name: `x ${unique()}`, ...from(hidden.id) })
    expect([asked.status, asked.body]).toEqual([400, fault])
    const late = await aProject(t.ctx, { creator: user })
    await t.ctx.db.write.update(projects).set({ import_status: 'started' }).where(eq(projects.id, late.id))
    await runFor(late.id, hidden.id, user)
    expect((await t.api('get', `/projects/${late.id}/import`, user).expect(200)).body).toMatchObject({
      import_status: 'failed',
      import_error: 'The template cannot be read any more',
    })
    expect(await gitOut(directoryOf(t, late.id), 'count-objects')).toMatch(/^0 objects/)
  })

  it('is refused without files, with other contents, half asked for, and by what is not there', async () => {
    const empty = await aProject(t.ctx, { creator: owner })
    const fault = (text: string) => ({ message: { template_project_id: [text] } })
    const refusals: [object, object][] = [
      [from(empty.id), fault('has no files')],
      [from(template.id, { initialize_with_readme: true }), fault("can't be given together with other contents")],
      [{ template_project_id: template.id }, { error: 'use_custom_template is missing' }],
      [{ use_custom_template: true }, { error: 'template_project_id is missing' }],
      [{ template_name: 'rails' }, { error: 'template_name is not supported' }],
      [from(template.id, { group_with_project_templates_id: 1 }), { error: 'group_with_project_templates_id is not supported' }],
    ]
    for (const [given, body] of refusals) {
      const answer = await create(owner, given)
      expect([answer.status, answer.body]).toEqual([400, body])
    }
    expect((await create(owner, { use_custom_template: false }).expect(201)).body.import_status).toBe('none')
  })

  it('beyond the limit of repositories stays empty and says so (SEC-177)', async () => {
    const large = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    await t
      .api('post', `${large.path}/repository/commits`, owner)
      .send({
        branch: 'main',
        commit_message: 'x',
        actions: [{ action: 'create', file_path: 'x', content: randomBytes(1_500_000).toString('base64') }],
      })
      .expect(201)
    await setSettings(t.ctx, { repository_size_limit: 1 })
    const project = await made(owner, from(large.id))
    await setSettings(t.ctx, { repository_size_limit: 0 })
    expect(project).toMatchObject({ import_status: 'failed', import_error: 'The repository is too large', empty_repo: true })
    expect(await gitOut(directoryOf(t, project.id), 'count-objects', '-v')).toContain('in-pack: 0')
  })

  it('whose job was tried in vain says so (EX-7)', async () => {
    const { body } = await create(owner, from(template.id)).expect(201)
    await t.ctx.db.write.execute(sql`update jobs set attempts = 40 where kind = 'project from a template'`)
    await t.ctx.jobs.drain()
    const { import_status, import_error } = (await t.api('get', `/projects/${body.id}/import`, owner).expect(200)).body
    expect([import_status, import_error]).toEqual(['failed', expect.stringMatching(/^The server could not do it/)])
  })

  it('a job that ended half-way begins again, and makes one commit (SEC-158)', async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: user, default_branch: 'trunk' })
    const reset = () => t.ctx.db.write.update(projects).set({ import_status: 'started' }).where(eq(projects.id, project.id))
    const [row] = await t.ctx.db.write.select().from(projects).where(eq(projects.id, template.id))
    const source = repositoryOf(t.ctx, row as typeof projects.$inferSelect)
    // after the objects
    await reset()
    await t.ctx.git.open({ ...source.key, id: project.id }).copyObjects(source.key, [(await treeOf(template.id, 'trunk')).trim()], [])
    await runFor(project.id, template.id, user)
    expect(await historyOf(project.id, 'trunk')).toHaveLength(1)
    const head = await gitOut(directoryOf(t, project.id), 'rev-parse', 'trunk')
    // after the branch
    await reset()
    await runFor(project.id, template.id, user)
    expect(await gitOut(directoryOf(t, project.id), 'rev-parse', 'trunk')).toBe(head)
    expect((await t.api('get', `/projects/${project.id}/import`, user).expect(200)).body.import_status).toBe('finished')
  })
})

const runFor = (project: number, of: number, { id: user }: TestUser) =>
  templateJob.run(t.ctx, { project, template: of, user }, { id: 1, number: 1, signal: new AbortController().signal })
