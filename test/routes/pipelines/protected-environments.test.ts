import { beforeAll, describe, expect, it } from 'vitest'
import { LEVELS } from '../../../src/access/can.js'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { ciOf } from '../../support/ci.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser, unique } from '../../support/factories.js'

const t = testApp()
const { withCi, addMember, get, jobNamed, push } = ciOf(t)
let admin: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})

const at = (project: TestProject, name?: string) =>
  `${project.path}/protected_environments${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
const protect = (project: TestProject, deploy_access_levels: object[], name = 'production') =>
  t.api('post', at(project), project.creator).send({ name, deploy_access_levels })
const level = (given: object) => ({
  id: expect.any(Number),
  access_level: null,
  user_id: null,
  group_id: null,
  group_inheritance_type: 0,
  access_level_description: expect.any(String),
  ...given,
})

describe('/projects/:id/protected_environments (PE-2)', () => {
  it('maintainers protect names, for a role, a user and a group, and change that', async () => {
    const project = await aProject(t.ctx)
    const [developer, group] = [await aUser(t.ctx, { name: 'Dev' }), await aGroup(t.ctx, { creator: project.creator })]
    await addMember(project, developer, LEVELS.developer)
    await t.api('post', `${project.path}/share`, project.creator).send({ group_id: group.id, group_access: 30 }).expect(201)
    const levels = [{ access_level: 40 }, { user_id: developer.id }, { group_id: group.id, group_inheritance_type: 1 }]
    const { body: made } = await protect(project, levels, 'review/a b').expect(201)
    expect(made).toEqual({
      name: 'review/a b',
      deploy_access_levels: [
        level({ access_level: 40, access_level_description: 'Maintainers' }),
        level({ user_id: developer.id, access_level_description: 'Dev' }),
        level({ group_id: group.id, group_inheritance_type: 1 }),
      ],
      required_approval_count: 0,
    })
    await protect(project, levels, 'review/a b').expect(409, { message: "Protected environment 'review/a b' already exists" })
    const { body: other } = await protect(project, [{ access_level: 30 }]).expect(201)
    expect((await t.api('get', at(project), project.creator).expect(200)).body).toEqual([made, other])
    await t.api('get', at(project, 'review/a b'), project.creator).expect(200, made)
    const [, second, third] = made.deploy_access_levels
    const change = { deploy_access_levels: [{ id: second.id, access_level: 60 }, { id: third.id, _destroy: true }, { access_level: 30 }] }
    const { body: changed } = await t.api('put', at(project, 'review/a b'), project.creator).send(change).expect(200)
    expect(changed.deploy_access_levels.map((each: { access_level: number }) => each.access_level)).toEqual([40, 60, 30])
    await t.api('delete', at(project, 'review/a b'), project.creator).expect(204)
    await t.api('get', at(project, 'review/a b'), project.creator).expect(404, { message: '404 Not found' })
    const { rows } = await t.ctx.db.write.execute<{ action: string }>(
      `select action from audit_events where target_type = 'project' and target_id = ${project.id} and action like 'protected_environment%' order by id`,
    )
    expect(rows.map(({ action }) => action.replace('protected_environment_', ''))).toEqual(['added', 'added', 'updated', 'removed'])
  })

  it('refuses what is no level, no name, no member, and approvals; nothing changes', async () => {
    const project = await aProject(t.ctx)
    const [stranger, group] = [await aUser(t.ctx), await aGroup(t.ctx)]
    await t.api('post', at(project), project.creator).send({ name: 'x' }).expect(400, { error: 'deploy_access_levels is missing' })
    for (const [levels, status] of [
      [[{}], 400],
      [[{ access_level: 40, user_id: project.creator.id }], 400],
      [[{ access_level: 20 }], 400],
      [[{ user_id: stranger.id }], 422],
      [[{ user_id: 999_999 }], 422],
      [[{ group_id: group.id }], 422],
      [Array.from({ length: 51 }, () => ({ access_level: 40 })), 422],
    ] as const)
      await protect(project, [...levels]).expect(status)
    await protect(project, [{ access_level: 40 }], 'a;b').expect(422)
    await protect(project, [{ access_level: 40 }], 'x'.repeat(256)).expect(422)
    for (const more of [{ required_approval_count: 1 }, { approval_rules: [{ access_level: 40 }] }]) {
      const given = { name: 'x', deploy_access_levels: [{ access_level: 40 }], ...more }
      const { body } = await t.api('post', at(project), project.creator).send(given).expect(400)
      expect(body.error).toContain(Object.keys(more)[0])
    }
    expect((await t.api('get', at(project), project.creator).expect(200)).body).toEqual([])
    const { body } = await t
      .api('post', at(project), project.creator)
      .send({ name: 'x', deploy_access_levels: [{ access_level: 40 }], required_approval_count: 0 })
      .expect(201)
    const only = body.deploy_access_levels[0].id
    const put = (deploy_access_levels: object[]) => t.api('put', at(project, 'x'), project.creator).send({ deploy_access_levels })
    await put([{ id: only, _destroy: true }]).expect(422, { message: ["Deploy access levels can't be blank"] })
    await put([{ id: only + 1_000, access_level: 30 }]).expect(404)
    expect((await t.api('get', at(project, 'x'), project.creator).expect(200)).body).toEqual(body)
  })

  it('of another project has no level of this one', async () => {
    const [one, two] = [await aProject(t.ctx), await aProject(t.ctx)]
    const { body } = await protect(one, [{ access_level: 40 }, { access_level: 30 }]).expect(201)
    await protect(two, [{ access_level: 40 }]).expect(201)
    const stolen = { deploy_access_levels: [{ id: body.deploy_access_levels[0].id, _destroy: true }] }
    await t.api('put', at(two, 'production'), two.creator).send(stolen).expect(404)
    expect((await t.api('get', at(one, 'production'), one.creator).expect(200)).body).toEqual(body)
  })
})

const YAML = `
build: { script: x }
deploy: { script: x, when: manual, environment: { name: production, on_stop: halt } }
halt: { script: x, when: manual, environment: { name: production, action: stop } }
`

describe('an environment that is protected from a user', () => {
  async function aDeployer() {
    const { project, runner } = await withCi(YAML)
    const developer = await aUser(t.ctx)
    await addMember(project, developer, LEVELS.developer)
    await t.api('delete', `${project.path}/protected_branches/main`, project.creator).expect(204)
    return { project, runner, developer }
  }

  it('has its jobs started, retried, canceled and erased by those who may deploy alone (PE-1, PE-3)', async () => {
    const { project, runner, developer } = await aDeployer()
    await protect(project, [{ access_level: 40 }]).expect(201)
    const act = (who: TestUser, id: number, action: string) => t.api('post', `${project.path}/jobs/${id}/${action}`, who)
    const { id } = await jobNamed(project, 'deploy')
    await act(developer, id, 'play').expect(403, { message: '403 Forbidden' })
    const browser = new TestBrowser(t.url)
    await browser.signIn(developer)
    const pipeline = (await get(project, '/pipelines'))[0].id
    const buttons = async (path: string) => (await browser.open(`/${project.fullPath}/-/${path}`)).$('main button').text()
    expect(await buttons(`pipelines/${pipeline}`)).not.toContain('Start')
    expect(await buttons(`jobs/${id}`)).not.toContain('Start')
    expect((await runner.take())?.job_info.name).toBe('build')
    await act(project.creator, id, 'play').expect(200)
    await act(developer, id, 'cancel').expect(403)
    await act(project.creator, id, 'cancel').expect(201)
    for (const action of ['retry', 'erase']) await act(developer, id, action).expect(403)
    const before = await get(project, '/jobs')
    await t.api('post', `${project.path}/pipelines/${pipeline}/retry`, developer).expect(201)
    expect((await get(project, '/jobs')).filter(({ name }: { name: string }) => name === 'deploy')).toHaveLength(
      before.filter(({ name }: { name: string }) => name === 'deploy').length,
    )
    // somebody else is let in
    await t
      .api('put', at(project, 'production'), project.creator)
      .send({ deploy_access_levels: [{ user_id: developer.id }] })
      .expect(200)
    await act(developer, id, 'retry').expect(201)
  })

  it('fails their jobs that begin by themselves, and what follows these is skipped (PE-4)', async () => {
    const { project } = await withCi('test: { script: x }')
    const developer = await aUser(t.ctx)
    await addMember(project, developer, LEVELS.developer)
    await t.api('delete', `${project.path}/protected_branches/main`, project.creator).expect(204)
    await protect(project, [{ access_level: 40 }]).expect(201)
    const yaml = `
deploy: { stage: build, script: x, environment: production }
elsewhere: { stage: build, script: x, environment: staging }
after: { stage: deploy, script: x }
`
    await push(project, { 'deploy.yml': yaml })
    const run = async (who: TestUser) => {
      await t
        .api('post', `${project.path}/repository/commits`, who)
        .send({
          branch: 'main',
          commit_message: 'c',
          actions: [{ action: 'update', file_path: '.gitlab-ci.yml', content: `# ${unique()}\n${yaml}` }],
        })
        .expect(201)
      await t.ctx.jobs.drain()
      const [newest] = await get(project, '/pipelines')
      const jobs = await get(project, `/pipelines/${newest.id}/jobs`)
      return jobs.map(({ name, status, failure_reason }: Record<string, string>) => [name, status, failure_reason ?? null])
    }
    expect(await run(developer)).toEqual(
      expect.arrayContaining([
        ['deploy', 'failed', 'protected_environment_failure'],
        ['elsewhere', 'pending', null],
        ['after', 'created', null],
      ]),
    )
    const deployments = await get(project, '/deployments?environment=production')
    expect(deployments.map(({ status }: { status: string }) => status)).toEqual(['failed'])
    expect(await run(project.creator)).toEqual(expect.arrayContaining([['deploy', 'pending', null]]))
    expect(await run(admin)).toEqual(expect.arrayContaining([['deploy', 'pending', null]]))
  })

  it('is neither reported, changed, stopped nor deleted by them (PE-3)', async () => {
    const { project, developer } = await aDeployer()
    const [commit] = await get(project, '/repository/commits')
    const report = (who: TestUser, environment: string) =>
      t.api('post', `${project.path}/deployments`, who).send({ environment, sha: commit.id, ref: 'main', tag: false, status: 'running' })
    const { body: made } = await report(developer, 'production').expect(201)
    await protect(project, [{ access_level: 40 }]).expect(201)
    await report(developer, 'production').expect(403)
    await report(developer, 'other').expect(201)
    await t.api('put', `${project.path}/deployments/${made.id}`, developer).send({ status: 'success' }).expect(403)
    const environment = `${project.path}/environments/${made.environment.id}`
    await t.api('put', environment, developer).send({ external_url: 'https://example.org' }).expect(403)
    await t.api('post', `${environment}/stop`, developer).expect(403)
    await t.api('post', `${environment}/stop`, project.creator).expect(200)
    await t.api('delete', environment, developer).expect(403)
    await t.api('delete', environment, project.creator).expect(204)
  })

  it('is open to the members of a group, and with group_inheritance_type 1 to those of the groups above (PE-1)', async () => {
    const { project, developer } = await aDeployer()
    const parent = await aGroup(t.ctx, { creator: project.creator })
    const child = await aGroup(t.ctx, { creator: project.creator, parent_id: parent.id })
    await t.api('post', `/groups/${parent.id}/members`, project.creator).send({ user_id: developer.id, access_level: 10 }).expect(201)
    await t.api('post', `${project.path}/share`, project.creator).send({ group_id: child.id, group_access: 10 }).expect(201)
    const { body } = await protect(project, [{ group_id: child.id }]).expect(201)
    const { id } = await jobNamed(project, 'deploy')
    await t.api('post', `${project.path}/jobs/${id}/play`, developer).expect(403)
    const wider = [{ id: body.deploy_access_levels[0].id, group_id: child.id, group_inheritance_type: 1 }]
    await t.api('put', at(project, 'production'), project.creator).send({ deploy_access_levels: wider }).expect(200)
    await t.api('post', `${project.path}/jobs/${id}/play`, developer).expect(200)
  })
})

it('maintainers protect them in the settings of the project (PE-5)', async () => {
  const project = await aProject(t.ctx)
  const developer = await aUser(t.ctx)
  await addMember(project, developer, LEVELS.developer)
  const browser = new TestBrowser(t.url)
  await browser.signIn(project.creator)
  await browser.open(`/${project.fullPath}/-/protected_environments`)
  const name = 'protected_environment[name]'
  const wrong = await browser.submit('Protect', { [name]: 'x', 'protected_environment[usernames]': 'unknown-name' })
  expect([wrong.status, wrong.$('.fault').text()]).toEqual([422, 'Usernames names no account: unknown-name.'])
  const lost = await browser.submit('Protect', { [name]: 'x', 'protected_environment[usernames]': '', 'protected_environment[group]': 'no/group' })
  expect([lost.status, lost.$('.fault').text()]).toEqual([422, 'Group is not there.'])
  expect((await browser.submit('Protect', { [name]: 'production', 'protected_environment[group]': '' })).text).toContain('production is protected.')
  const more = { [name]: 'production', 'protected_environment[access_level]': '0', 'protected_environment[usernames]': developer.username }
  await browser.submit('Protect', more)
  const entry = async () => (await t.api('get', at(project, 'production'), project.creator).expect(200)).body
  expect((await entry()).deploy_access_levels).toMatchObject([{ access_level: 40 }, { user_id: developer.id }])
  expect((await browser.submit('Remove')).text).toContain('production is changed.')
  expect((await entry()).deploy_access_levels).toMatchObject([{ user_id: developer.id }])
  expect((await browser.submit('Unprotect')).text).toContain('production is no longer protected.')
})
