import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { ciOf } from '../../support/ci.js'
import { aGroup, anAdmin, aProject, aToken, aUser, type Credentialed, setSettings, unique } from '../../support/factories.js'

const t = testApp()
const send = (method: 'post' | 'delete', path: string, body: object) => t.api(method, path).send(body)

describe('registration', () => {
  it('by a token of the instance, a group or a project decides whom the runner serves (CI-110)', async () => {
    const admin = await anAdmin(t.ctx)
    const group = await aGroup(t.ctx, { creator: admin })
    const project = await aProject(t.ctx, { creator: admin })
    for (const [at, kind] of [
      ['/runners', 'instance_type'],
      [`${group.path}/runners`, 'group_type'],
      [`${project.path}/runners`, 'project_type'],
    ]) {
      const { token } = (await t.api('post', `${at}/reset_registration_token`, admin).expect(201)).body
      const given = {
        token,
        description: 'one',
        tag_list: 'a, b,a',
        run_untagged: 'false',
        active: 'true',
        info: { version: '15.3.0', features: {} },
      }
      const { body } = await send('post', '/runners', given).expect(201)
      expect(body).toEqual({ id: expect.any(Number), token: expect.any(String), token_expires_at: null })
      const shown = (await t.api('get', `/runners/${body.id}`, admin).expect(200)).body
      expect(shown).toMatchObject({ runner_type: kind, tag_list: ['a', 'b'], run_untagged: false, version: '15.3.0', status: 'never_contacted' })
      // another one ends the first, also when several ask at once
      await Promise.all([1, 2, 3].map(() => t.api('post', `${at}/reset_registration_token`, admin).expect(201)))
      await send('post', '/runners', { token }).expect(403)
    }
  })

  it('by the `runners_token` that those read who register runners there, with scope api alone (CI-332)', async () => {
    const [owner, maintainer, developer] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { creator: owner })
    const made = (
      await t
        .api('post', '/projects', owner)
        .send({ name: `made ${unique()}`, namespace_id: group.id })
        .expect(201)
    ).body
    const project = `/projects/${made.id}`
    for (const [user, access_level] of [
      [maintainer, 40],
      [developer, 30],
    ] as const)
      await t.api('post', `${project}/members`, owner).send({ user_id: user.id, access_level }).expect(201)
    const read = async (path: string, who: Credentialed) => (await t.api('get', path, who).expect(200)).body
    for (const [path, kind, who] of [
      [project, 'project_type', maintainer],
      [group.path, 'group_type', owner],
    ] as const) {
      const { runners_token: token } = await read(path, who)
      expect(token).toMatch(/^.{20,}$/)
      expect((await read(path, who)).runners_token).toBe(token)
      const { body } = await send('post', '/runners', { token }).expect(201)
      expect(await read(`/runners/${body.id}`, await anAdmin(t.ctx))).toMatchObject({ runner_type: kind })
      const { token: next } = (await t.api('post', `${path}/runners/reset_registration_token`, who).expect(201)).body
      expect((await t.api('put', path, owner).send({ description: 'x' }).expect(200)).body.runners_token).toBe(next)
      const reader = { token: await aToken(t.ctx, owner, ['read_api']) }
      expect(await read(path, reader)).not.toHaveProperty('runners_token')
    }
    expect(made.runners_token).toMatch(/^.{20,}$/)
    expect(await read(project, developer)).not.toHaveProperty('runners_token')
    await t.api('post', `${group.path}/members`, owner).send({ user_id: maintainer.id, access_level: 40 }).expect(201)
    expect(await read(group.path, maintainer)).not.toHaveProperty('runners_token')
    for (const list of [`/projects?membership=true`, '/groups', `${group.path}/projects`])
      for (const each of await read(list, owner)) expect(each).not.toHaveProperty('runners_token')
    for (const each of (await read(group.path, owner)).projects) expect(each).not.toHaveProperty('runners_token')
    // nothing is written while the service is read-only
    const fresh = await aProject(t.ctx, { creator: owner })
    await setSettings(t.ctx, { maintenance_mode: true })
    expect(await read(fresh.path, owner)).not.toHaveProperty('runners_token')
    expect((await read(project, maintainer)).runners_token).toBeDefined()
    await setSettings(t.ctx, {})
    expect(await read(fresh.path, owner)).toHaveProperty('runners_token')
  })

  it('refuses what no runner may be (CI-110)', async () => {
    const admin = await anAdmin(t.ctx)
    const { token } = (await t.api('post', '/runners/reset_registration_token', admin).expect(201)).body
    for (const [given, fault] of [
      [{ run_untagged: false }, { tags_list: ['can not be empty when runner is not allowed to pick untagged jobs'] }],
      [{ maximum_timeout: 60 }, { maximum_timeout: ['needs to be at least 10 minutes'] }],
    ] as const)
      expect((await send('post', '/runners', { token, ...given }).expect(400)).body.message).toEqual(fault)
  })

  it('is verified, given another token, and removed with its token (CI-111)', async () => {
    const admin = await anAdmin(t.ctx)
    const { body: made } = await t.api('post', '/user/runners', admin).send({ runner_type: 'instance_type', description: 'mine' }).expect(201)
    expect(made.token).toMatch(/^glrt-/)
    const { token } = made
    expect((await send('post', '/runners/verify', { token }).expect(200)).body).toEqual({ id: made.id, token, token_expires_at: null })
    expect((await t.api('get', `/runners/${made.id}`, admin).expect(200)).body).toMatchObject({ online: true, status: 'online' })
    const other = (await send('post', '/runners/reset_authentication_token', { token }).expect(201)).body.token
    await send('post', '/runners/verify', { token }).expect(403)
    await send('delete', '/runners', { token: other }).expect(204)
    await send('post', '/runners/verify', { token: other }).expect(403)
  })
})

describe('runners', () => {
  it('are made by those who may, and seen and changed by them (CI-110, CI-118)', async () => {
    const [admin, owner, stranger] = [await anAdmin(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { creator: owner })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id, visibility: 'private' })
    const make = (who: typeof owner, body: object) => t.api('post', '/user/runners', who).send(body)
    await make(owner, { runner_type: 'instance_type' }).expect(403)
    await make(stranger, { runner_type: 'project_type', project_id: project.id }).expect(404)
    await make(owner, { runner_type: 'group_type' }).expect(400)
    const ofGroup = (await make(owner, { runner_type: 'group_type', group_id: group.id }).expect(201)).body
    const ofProject = (await make(owner, { runner_type: 'project_type', project_id: project.id, tag_list: 'x,y' }).expect(201)).body
    const shared = (await make(admin, { runner_type: 'instance_type' }).expect(201)).body
    const ids = async (path: string, who = owner) => (await t.api('get', path, who).expect(200)).body.map(({ id }: { id: number }) => id)
    expect(await ids('/runners')).toEqual([ofProject.id, ofGroup.id])
    expect(await ids('/runners', stranger)).toEqual([])
    expect(await ids('/runners?type=group_type')).toEqual([ofGroup.id])
    expect(await ids('/runners?tag_list=x,y')).toEqual([ofProject.id])
    expect(await ids(`${project.path}/runners`)).toEqual(expect.arrayContaining([shared.id, ofProject.id, ofGroup.id]))
    expect(await ids(`${group.path}/runners`)).toEqual([ofGroup.id])
    expect(await ids('/runners/all?per_page=100', admin)).toEqual(expect.arrayContaining([shared.id, ofProject.id, ofGroup.id]))
    await t.api('get', `/runners/${ofProject.id}`, stranger).expect(403)
    const changed = await t
      .api('put', `/runners/${ofProject.id}`, owner)
      .send({ paused: true, tag_list: 'z', access_level: 'ref_protected' })
      .expect(200)
    expect(changed.body).toMatchObject({ active: false, tag_list: ['z'], access_level: 'ref_protected', projects: [{ id: project.id }] })
    expect(await ids('/runners?status=paused')).toEqual([ofProject.id])
    await t.api('put', `/runners/${ofProject.id}`, stranger).send({ paused: false }).expect(403)
    expect((await t.api('post', `/runners/${ofProject.id}/reset_authentication_token`, owner).expect(201)).body.token).not.toBe(ofProject.token)
    await t.api('delete', `/runners/${ofGroup.id}`, owner).expect(204)
    await t.api('get', `/runners/${ofGroup.id}`, owner).expect(404)
  })

  it('of a project serve others until they are locked, and one at the least (CI-118)', async () => {
    const owner = await aUser(t.ctx)
    const [one, two] = [await aProject(t.ctx, { creator: owner }), await aProject(t.ctx, { creator: owner })]
    const { id } = (await t.api('post', '/user/runners', owner).send({ runner_type: 'project_type', project_id: one.id }).expect(201)).body
    const enable = () => t.api('post', `${two.path}/runners`, owner).send({ runner_id: id })
    await enable().expect(201)
    await enable().expect(400)
    await t.api('delete', `${one.path}/runners/${id}`, owner).expect(204)
    await t.api('delete', `${two.path}/runners/${id}`, owner).expect(403)
    await t.api('delete', `${one.path}/runners/${id}`, owner).expect(404)
    await t.api('put', `/runners/${id}`, owner).send({ locked: true }).expect(200)
    await t.api('post', `${one.path}/runners`, owner).send({ runner_id: id }).expect(403)
  })

  it('take the jobs whose tags they have, and only those of protected branches if they are protected (CI-112)', async () => {
    const owner = await aUser(t.ctx)
    const yaml = 'plain: { script: x }\ntagged: { script: x, tags: [a] }'
    const project = await aProject(t.ctx, { creator: owner, files: { '.gitlab-ci.yml': yaml } })
    await t.ctx.jobs.drain()
    await t.api('post', `${project.path}/repository/branches`, owner).send({ branch: 'side', ref: 'main' }).expect(201)
    await t.ctx.jobs.drain()
    for (const { id, ref } of (await t.api('get', `${project.path}/pipelines`, owner).expect(200)).body)
      if (ref === 'side') await t.api('delete', `${project.path}/pipelines/${id}`, owner).expect(204)
    const { body: pipeline } = await t
      .api('post', `${project.path}/pipeline`, owner)
      .send({ ref: 'side', variables: [{ key: 'A', value: 'b' }] })
      .expect(201)
    expect(pipeline).toMatchObject({ ref: 'side', source: 'api', status: 'pending' })
    const next = async (attributes: object) => {
      const body = { runner_type: 'project_type', project_id: project.id, ...attributes }
      const { token } = (await t.api('post', '/user/runners', owner).send(body).expect(201)).body
      const answer = await send('post', '/jobs/request', { token, info: {} })
      return answer.status === 204 ? null : `${answer.body.job_info.name} of ${answer.body.git_info.ref}`
    }
    expect(await next({ paused: true })).toBeNull()
    expect(await next({ tag_list: 'b', run_untagged: false })).toBeNull()
    expect(await next({ tag_list: 'a', run_untagged: false, access_level: 'ref_protected' })).toBe('tagged of main')
    expect(await next({ tag_list: 'a', run_untagged: false })).toBe('tagged of side')
    expect(await next({ access_level: 'ref_protected' })).toBe('plain of main')
    expect(await next({})).toBe('plain of side')
    expect(await next({})).toBeNull()
    await t.api('post', `${project.path}/pipelines/${pipeline.id}/cancel`, owner).expect(200)
    const retried = await t.api('post', `${project.path}/pipelines/${pipeline.id}/retry`, owner).expect(201)
    expect(retried.body.status).toBe('pending')
    await t.api('delete', `${project.path}/pipelines/${pipeline.id}`, owner).expect(204)
    await t
      .api('post', `${project.path}/pipeline`, owner)
      .send({ ref: 'none' })
      .expect(400, { message: { base: ['Reference not found'] } })
  })
})

describe('GET /runners/:id/jobs', () => {
  it('has the jobs of the projects in which the caller is a reporter, and of all for administrators (CI-119)', async () => {
    const ci = ciOf(t)
    const admin = await anAdmin(t.ctx)
    const { project, runner } = await ci.withCi('one: { script: x }\ntwo: { script: x, when: manual }\n')
    const other = await aProject(t.ctx, { files: { '.gitlab-ci.yml': 'three: { script: x }\n' }, visibility: 'private' })
    await t.ctx.jobs.drain()
    await t.api('post', `${other.path}/runners`, admin).send({ runner_id: runner.id }).expect(201)
    for (const name of ['one', 'three']) {
      const job = await runner.takeNamed(name)
      if (name === 'one') await runner.end(job, 'success')
    }
    const list = async (who: Credentialed, query = '') => (await t.api('get', `/runners/${runner.id}/jobs${query}`, who).expect(200)).body
    const names = async (who: Credentialed, query?: string) => (await list(who, query)).map((job: { name: string }) => job.name)
    expect(await names(admin)).toEqual(['three', 'one'])
    expect(await names(admin, '?order_by=id&sort=asc')).toEqual(['one', 'three'])
    expect(await names(admin, '?status=running')).toEqual(['three'])
    expect(await names(project.creator)).toEqual(['one'])
    const [job] = await list(project.creator)
    expect(job).toMatchObject({ status: 'success', pipeline: { source: 'push' }, project: { id: project.id, path_with_namespace: project.fullPath } })
    await t.api('get', `/runners/${runner.id}/jobs?status=odd`, admin).expect(400)
    await t.api('get', `/runners/${runner.id}/jobs`, await aUser(t.ctx)).expect(403)
  })
})
