import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, aProject, aUser, setSettings, type TestProject, type TestUser } from '../../support/factories.js'
import { type GivenJob, ScriptedRunner } from '../../support/runner.js'

const t = testApp()

async function withJob(creator: TestUser, more: object = {}) {
  const project = await aProject(t.ctx, { creator, visibility: 'private', files: { '.gitlab-ci.yml': 'job: { script: x }' }, ...more })
  await t.ctx.jobs.drain()
  const runner = await ScriptedRunner.make(t.ctx, t.url, { kind: 'project_type', project_id: project.id })
  return { project, runner, job: await runner.takeNamed('job') }
}

const withToken = (method: 'get' | 'post' | 'delete', path: string, { token }: Pick<GivenJob, 'token'>) => t.api(method, path).set('JOB-TOKEN', token)
const clone = ({ fullPath }: TestProject, { token }: GivenJob) =>
  fetch(`${t.url}/${fullPath}.git/info/refs?service=git-upload-pack`, {
    headers: { authorization: `Basic ${Buffer.from(`gitlab-ci-token:${token}`).toString('base64')}` },
  }).then(({ status }) => status)

describe('the token of a job', () => {
  it('names the job while it runs (CI-242)', async () => {
    const owner = await aUser(t.ctx)
    const { project, runner, job } = await withJob(owner)
    expect((await withToken('get', '/job', job).expect(200)).body).toMatchObject({
      id: job.id,
      name: 'job',
      status: 'running',
      user: { id: owner.id },
    })
    await t.api('get', `/job?job_token=${job.token}`).expect(200)
    await t.api('get', '/job', owner).expect(404, { message: '404 Job Not Found' })
    await t.api('get', '/job').expect(401)
    await withToken('get', '/job', { token: 'wrong' }).expect(401)
    await withToken('get', project.path, job).expect(401)
    await withToken('get', `${project.path}/variables`, job).expect(401)
    await runner.end(job, 'success')
    await withToken('get', '/job', job).expect(401)
  })

  it('reads artifacts and writes releases as its user may (CI-243)', async () => {
    const owner = await aUser(t.ctx)
    const { project, job } = await withJob(owner)
    const release = { tag_name: 'v1', ref: 'main', name: 'one' }
    expect((await withToken('post', `${project.path}/releases`, job).send(release).expect(201)).body).toMatchObject({ author: { id: owner.id } })
    await withToken('get', `${project.path}/releases/v1`, job).expect(200)
    await withToken('get', `${project.path}/jobs/${job.id}/artifacts`, job).expect(404)
    await withToken('delete', `${project.path}/releases/v1`, job).expect(200)
  })

  it('is demanded of all projects by a setting (RX-32)', async () => {
    const owner = await aUser(t.ctx)
    const { job } = await withJob(owner)
    const { project: other } = await withJob(owner)
    const scope = `${other.path}/job_token_scope`
    await t.api('patch', scope, owner).send({ enabled: false }).expect(204)
    const packages = `${other.path}/packages`
    const reads = async () => [
      (await withToken('get', `${other.path}/releases`, job)).status,
      await clone(other, job),
      (await withToken('get', packages, job)).status,
    ]
    expect(await reads()).toEqual([200, 200, 200])
    await setSettings(t.ctx, { enforce_ci_inbound_job_token_scope_enabled: true })
    expect(await reads()).toEqual([404, 404, 404])
    expect((await t.api('get', scope, owner).expect(200)).body.inbound_enabled).toBe(true)
    await t.api('patch', scope, owner).send({ enabled: false }).expect(400)
    await setSettings(t.ctx, { enforce_ci_inbound_job_token_scope_enabled: false })
    expect(await reads()).toEqual([200, 200, 200])
  })

  it('uses other projects only where these allow its own (CI-244, CI-245)', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner })
    const { job, project: own } = await withJob(owner, { namespace_id: group.id })
    const { project: other } = await withJob(owner)
    const scope = `${other.path}/job_token_scope`
    const reads = async () => [(await withToken('get', `${other.path}/releases`, job)).status, await clone(other, job)]
    expect((await t.api('get', scope, owner).expect(200)).body).toEqual({ inbound_enabled: true, outbound_enabled: false })
    expect(await reads()).toEqual([404, 404])
    expect([(await withToken('get', `${own.path}/releases`, job)).status, await clone(own, job)]).toEqual([200, 200])

    const allow = (body: object) => t.api('post', `${scope}/${'target_group_id' in body ? 'groups_' : ''}allowlist`, owner).send(body)
    const ids = { source_project_id: other.id, target_project_id: own.id }
    expect((await allow({ target_project_id: own.id }).expect(201)).body).toEqual(ids)
    await allow({ target_project_id: own.id }).expect(400, { message: 'This project is already in the job token allowlist' })
    await allow({ target_project_id: other.id }).expect(400)
    await allow({ target_project_id: 999_999 }).expect(404)
    expect(await reads()).toEqual([200, 200])
    expect((await t.api('get', `${scope}/allowlist`, owner).expect(200)).body).toMatchObject([{ id: other.id }, { id: own.id }])
    const second = await t.api('get', `${scope}/allowlist?per_page=1&page=2`, owner).expect(200)
    expect([second.body.length, second.headers['x-total']]).toEqual([1, '2'])
    await t.api('delete', `${scope}/allowlist/${own.id}`, owner).expect(204)
    await t.api('delete', `${scope}/allowlist/${own.id}`, owner).expect(404)
    // the project itself stays (RX-7)
    await t.api('delete', `${scope}/allowlist/${other.id}`, owner).expect(404)
    expect((await t.api('get', `${scope}/allowlist`, owner).expect(200)).body).toMatchObject([{ id: other.id }])
    expect(await reads()).toEqual([404, 404])

    await allow({ target_group_id: group.id }).expect(201, { source_project_id: other.id, target_group_id: group.id })
    expect(await reads()).toEqual([200, 200])
    expect((await t.api('get', `${scope}/groups_allowlist`, owner).expect(200)).body).toMatchObject([{ id: group.id }])
    await t.api('delete', `${scope}/groups_allowlist/${group.id}`, owner).expect(204)
    expect(await reads()).toEqual([404, 404])

    await t.api('patch', scope, owner).send({ enabled: false }).expect(204)
    expect(await reads()).toEqual([200, 200])
    expect((await t.api('get', scope, owner)).body.inbound_enabled).toBe(false)
    await t.api('patch', scope, owner).send({}).expect(400, { error: 'enabled is missing' })
  })

  it('of another project reads what everybody may, and changes nothing there (CI-244)', async () => {
    const owner = await aUser(t.ctx)
    const { job } = await withJob(owner)
    const open = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: 'a' } })
    await withToken('get', `${open.path}/releases`, job).expect(200)
    expect(await clone(open, job)).toBe(200)
    await withToken('post', `${open.path}/releases`, job).send({ tag_name: 'v1', ref: 'main' }).expect(403)
  })

  it('is managed by maintainers', async () => {
    const [owner, developer] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, developer })
    for (const path of ['', '/allowlist', '/groups_allowlist']) await t.api('get', `${project.path}/job_token_scope${path}`, developer).expect(403)
  })
})
