import { describe, expect, it } from 'vitest'
import { LEVELS } from '../../../src/access/can.js'
import { sealedValues } from '../../../src/services/operations/sealed-values.js'
import { testApp } from '../../support/app.js'
import { ciOf } from '../../support/ci.js'
import { anAdmin, aProject, aUser, type Credentialed, type TestProject } from '../../support/factories.js'

const t = testApp({ ROOST_FAILED_CREDENTIALS: '5' })
const { withCi, get, addMember } = ciOf(t)
const YAML = 'test: { script: x, rules: [{ if: "$CI_PIPELINE_SOURCE != \'push\'" }] }'
const make = async (project: TestProject, who: Credentialed = project.creator, description = 'nightly') =>
  (await t.api('post', `${project.path}/triggers`, who).send({ description }).expect(201)).body
const run = (project: TestProject, body: object) => t.api('post', `${project.path}/trigger/pipeline`).send(body)
const NOT_FOUND = { message: '404 Not found' }

describe('triggers', () => {
  it('are made, listed, changed and revoked by maintainers; the token is whole for its owner alone (CI-220)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const [other, developer] = [await aUser(t.ctx), await aUser(t.ctx)]
    await addMember(project, other, LEVELS.maintainer)
    await addMember(project, developer, LEVELS.developer)
    const made = await make(project)
    expect(made).toEqual({
      id: expect.any(Number),
      token: expect.stringMatching(/^.{20}$/),
      description: 'nightly',
      created_at: expect.any(String),
      updated_at: expect.any(String),
      last_used: null,
      expires_at: null,
      owner: expect.objectContaining({ id: project.creator.id }),
    })
    const at = `${project.path}/triggers/${made.id}`
    expect(await get(project, '/triggers')).toEqual([made])
    expect((await t.api('get', at, other).expect(200)).body.token).toBe(made.token.slice(0, 4))
    for (const [method, path] of [
      ['get', '/triggers'],
      ['get', `/triggers/${made.id}`],
      ['post', '/triggers'],
      ['delete', `/triggers/${made.id}`],
    ] as const)
      await t
        .api(method, project.path + path, developer)
        .send({ description: 'x' })
        .expect(403)
    await t.api('put', at, other).send({ description: 'mine' }).expect(403)
    expect((await t.api('put', at, project.creator).send({ description: 'mine' }).expect(200)).body.description).toBe('mine')
    await t.api('post', `${project.path}/triggers`, project.creator).send({}).expect(400)
    await t
      .api('post', `${project.path}/triggers`, project.creator)
      .send({ description: 'x'.repeat(256) })
      .expect(400)
    await t.api('delete', at, other).expect(204)
    await t.api('get', at, project.creator).expect(404, { message: '404 Trigger Not Found' })
    await run(project, { token: made.token, ref: 'main' }).expect(404, NOT_FOUND)
    const { body } = await t.api('get', `/audit_events?entity_type=Project&entity_id=${project.id}`, await anAdmin(t.ctx)).expect(200)
    const actions = body.map(({ details }: { details: { custom_message?: string } }) => JSON.stringify(details)).join()
    for (const action of ['trigger_created', 'trigger_updated', 'trigger_revoked']) expect(actions).toContain(action)
    expect(actions).not.toContain(made.token)
  })

  it('are encrypted with the key of the service, as registration tokens are (SEC-258)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const { id, token } = await make(project)
    const registration = (await t.api('post', `${project.path}/runners/reset_registration_token`, project.creator).expect(201)).body.token
    const found = new Map<string, string>()
    for await (const { of, sealed, purpose } of sealedValues(t.ctx.db.write)) found.set(of, t.ctx.encryption.open(sealed, purpose))
    expect(found.get(`trigger token ${id}`)).toBe(token)
    expect(found.get(`registration token of project ${project.id}`)).toBe(registration)
  })
})

describe('a triggered pipeline', () => {
  it('is not made by the webhook of a pipeline (CI-264)', async () => {
    const { project } = await withCi(YAML)
    const { token } = await make(project)
    for (const path of ['/trigger/pipeline', '/ref/main/trigger/pipeline']) {
      const at = `${project.path}${path}?token=${token}&ref=main`
      await t.api('post', at).set('X-Gitlab-Event', 'Pipeline Hook').expect(403, { message: '403 Forbidden' })
      await t.api('post', at).set('X-Gitlab-Event', 'Push Hook').expect(201)
    }
  })

  it('is made as the owner, with the variables and all that was sent (CI-221)', async () => {
    const { project, runner } = await withCi(YAML)
    const { id, token } = await make(project)
    const { body } = await run(project, { token, ref: 'main', variables: { DEPLOY: 'yes' }, more: [1] }).expect(201)
    expect(body).toMatchObject({ source: 'trigger', ref: 'main', status: 'pending', user: { id: project.creator.id } })
    const job = await runner.takeNamed('test')
    const values = Object.fromEntries(job.variables.map(({ key, value }) => [key, value]))
    expect(values).toMatchObject({ CI_PIPELINE_SOURCE: 'trigger', CI_PIPELINE_TRIGGERED: 'true', DEPLOY: 'yes' })
    expect(JSON.parse(values['TRIGGER_PAYLOAD'] ?? '')).toEqual({ id: String(project.id), ref: 'main', variables: { DEPLOY: 'yes' }, more: [1] })
    expect(job.variables.find(({ key }) => key === 'TRIGGER_PAYLOAD')).toMatchObject({ file: true })
    expect((await get(project, `/triggers/${id}`)).last_used).not.toBeNull()
    // the ref of the address counts, and a form does
    await t
      .api('post', `${project.path}/ref/main/trigger/pipeline?token=${token}`)
      .type('form')
      .send({ ref: 'other', 'variables[A]': 'b' })
      .expect(201)
  })

  it('is refused for what makes none (CI-221)', async () => {
    const { project } = await withCi(YAML)
    const { project: other } = await withCi(YAML)
    const { token } = await make(project)
    await run(project, { token, ref: 'nowhere' }).expect(400, { message: { base: ['Reference not found'] } })
    await run(project, { token }).expect(400)
    await run(project, { ref: 'main' }).expect(400)
    await run(project, { token, ref: 'main', variables: 'x' }).expect(400, { error: 'variables is invalid' })
    await run(project, { token, ref: 'main', variables: { A: ['b'] } }).expect(400)
    await run(project, { token, ref: 'main', variables: { 'no key': 'b' } }).expect(400)
    await run(project, { token, ref: 'main', variables: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`V${i}`, 'x'])) }).expect(400)
    // a token of another project, and a project that is not there
    await run(other, { token, ref: 'main' }).expect(404)
    await t.api('post', '/projects/999999/trigger/pipeline').send({ token, ref: 'main' }).expect(404)
    expect(await get(project, '/pipelines?source=trigger')).toEqual([])
  })

  it('needs the rights that the owner has now (CI-221)', async () => {
    const { project } = await withCi(YAML)
    const member = await aUser(t.ctx)
    await addMember(project, member, LEVELS.maintainer)
    const { token } = await make(project, member)
    await run(project, { token, ref: 'main' }).expect(201)
    const admin = await anAdmin(t.ctx)
    await t.api('post', `/users/${member.id}/block`, admin).expect(201)
    await run(project, { token, ref: 'main' }).expect(400, { message: { base: ['Insufficient permissions to create a new pipeline'] } })
    await t.api('post', `/users/${member.id}/unblock`, admin).expect(201)
    await t.api('put', `${project.path}/members/${member.id}`, project.creator).send({ access_level: LEVELS.reporter }).expect(200)
    await run(project, { token, ref: 'main' }).expect(400)
    await t.api('delete', `${project.path}/members/${member.id}`, project.creator).expect(204)
    expect((await run(project, { token, ref: 'main' })).status).toBeGreaterThanOrEqual(400)
  })

  it('is made by a job that runs, as its user, where its token is allowed (CI-222)', async () => {
    const { project, runner } = await withCi('test: { script: x }')
    const { project: target } = await withCi(YAML)
    await addMember(target, project.creator, LEVELS.developer)
    const { token } = await runner.takeNamed('test')
    await run(target, { token, ref: 'main' }).expect(404)
    await t.api('post', `${target.path}/job_token_scope/allowlist`, target.creator).send({ target_project_id: project.id }).expect(404)
    await t.api('patch', `${target.path}/job_token_scope`, target.creator).send({ enabled: false }).expect(204)
    // its default branch is protected, and a developer may not push to it
    await t.api('delete', `${target.path}/protected_branches/main`, target.creator)
    const { body } = await run(target, { token, ref: 'main' }).expect(201)
    expect(body).toMatchObject({ source: 'pipeline', user: { id: project.creator.id } })
  })
})

it('tokens that do not exist are not found, and guesses are throttled, as those of runners are (CI-221, SEC-26)', async () => {
  const { project } = await withCi(YAML)
  const { token } = await make(project)
  const guesses: number[] = []
  for (let n = 0; n < 40; n++) guesses.push((await run(project, { token: `guess ${n}`, ref: 'main' })).status)
  expect([...new Set(guesses)]).toEqual([404, 429])
  await t.api('post', '/runners').send({ token: 'guess' }).expect(429)
  // a known one is never kept out
  await run(project, { token, ref: 'main' }).expect(201)
})

it('what was given with a pipeline is read by maintainers and who made it (CI-227)', async () => {
  const { project } = await withCi(YAML)
  const [developer, other] = [await aUser(t.ctx), await aUser(t.ctx)]
  for (const user of [developer, other]) await addMember(project, user, LEVELS.developer)
  await t.api('delete', `${project.path}/protected_branches/main`, project.creator).expect(204)
  const variables = [{ key: 'A', value: 'b', variable_type: 'file' }]
  const { body } = await t.api('post', `${project.path}/pipeline`, developer).send({ ref: 'main', variables }).expect(201)
  const at = `${project.path}/pipelines/${body.id}/variables`
  for (const who of [developer, project.creator]) expect((await t.api('get', at, who).expect(200)).body).toEqual(variables)
  await t.api('get', at, other).expect(403)
})

it('pipelines are listed by the name of their user, and by faults (PL-8)', async () => {
  const { project } = await withCi('test: { script: x, needs: [nothing] }')
  const ids = async (query: string) => (await get(project, `/pipelines?${query}`)).length
  expect([await ids('yaml_errors=true'), await ids('yaml_errors=false')]).toEqual([1, 0])
  const { name } = (await t.api('get', `/users/${project.creator.id}`, project.creator).expect(200)).body
  expect([await ids(`name=${encodeURIComponent(name)}`), await ids('name=stranger')]).toEqual([1, 0])
})
