import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { artifacts } from '../../../src/db/schema/index.js'
import { removeArtifacts } from '../../../src/services/ci/artifacts/store.js'
import { testApp } from '../../support/app.js'
import { ciOf } from '../../support/ci.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'

const t = testApp()
const { withCi, push, get, jobNamed } = ciOf(t)

const put = ({ path, creator }: TestProject, sent: object) => t.api('put', path, creator).send(sent)
const set = (project: TestProject, sent: object) => put(project, sent).expect(200)
const addMember = ({ path, creator }: TestProject, { id }: TestUser, access_level: number) =>
  t.api('post', `${path}/members`, creator).send({ user_id: id, access_level }).expect(201)
const anEndedJob = async (log: string) => {
  const { project, runner } = await withCi('job: { script: x }')
  const job = await runner.takeNamed('job')
  await runner.trace(job, 0, log)
  return { project, runner, job }
}

const STANDARD = {
  operations_access_level: 'enabled',
  analytics_access_level: 'enabled',
  build_timeout: 3_600,
  build_git_strategy: 'fetch',
  ci_default_git_depth: 20,
  build_coverage_regex: null,
  restrict_user_defined_variables: false,
  keep_latest_artifact: true,
  ci_forward_deployment_enabled: true,
  can_create_merge_request_in: true,
  auto_devops_enabled: false,
  auto_devops_deploy_strategy: 'continuous',
  service_desk_enabled: false,
  service_desk_address: null,
}
const CHANGED = {
  operations_access_level: 'private',
  analytics_access_level: 'disabled',
  build_timeout: 7_200,
  build_git_strategy: 'clone',
  ci_default_git_depth: 0,
  build_coverage_regex: '(\\d+)% covered',
  restrict_user_defined_variables: true,
  keep_latest_artifact: false,
  ci_forward_deployment_enabled: false,
}

describe('fields of projects', () => {
  it('are shown as created and as updated, and copied to forks (FD-1 to FD-18)', async () => {
    const creator = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator, files: { a: 'a' } })
    expect(await get(project, '')).toMatchObject(STANDARD)
    expect((await set(project, CHANGED)).body).toMatchObject(CHANGED)
    const made = await t
      .api('post', '/projects', creator)
      .send({ name: 'made', ...CHANGED })
      .expect(201)
    expect(made.body).toMatchObject(CHANGED)
    const fork = await t.api('post', `${project.path}/fork`, creator).send({ path: 'fork', name: 'fork' }).expect(201)
    expect(fork.body).toMatchObject(CHANGED)
    expect((await set(project, { build_coverage_regex: '' })).body.build_coverage_regex).toBeNull()
  })

  it('are refused beyond their bounds (FD-10, FD-12, FD-13)', async () => {
    const project = await aProject(t.ctx)
    const refused = async (sent: Record<string, unknown>, text: string) =>
      expect((await put(project, sent).expect(400)).body).toEqual({ message: { [Object.keys(sent)[0] as string]: [text] } })
    for (const build_timeout of [0, 599, 2_592_000]) await refused({ build_timeout }, 'needs to be between 10 minutes and 1 month')
    await refused({ ci_default_git_depth: -1 }, 'must be greater than or equal to 0')
    await refused({ ci_default_git_depth: 1_001 }, 'must be less than or equal to 1000')
    await refused({ build_coverage_regex: '(' }, 'must be a valid regular expression')
    await refused({ build_coverage_regex: 'x'.repeat(256) }, 'is too long (maximum is 255 characters)')
  })

  it('refuse what there is not, by name, and take what says so (FD-18, FD-19)', async () => {
    const project = await aProject(t.ctx)
    for (const [name, value] of Object.entries({
      auto_devops_enabled: true,
      service_desk_enabled: true,
    }))
      await put(project, { description: 'x', [name]: value }).expect(400, { error: `${name} is not supported` })
    await set(project, { description: 'x', auto_devops_enabled: false, service_desk_enabled: false, auto_devops_deploy_strategy: 'continuous' })
  })

  it('say who may open merge requests, and to administrators where the repository is (FD-17)', async () => {
    const [stranger, admin] = [await aUser(t.ctx), await anAdmin(t.ctx)]
    const project = await aProject(t.ctx, { visibility: 'public' })
    const seen = async (who: TestUser) => (await t.api('get', project.path, who).expect(200)).body
    expect(await seen(stranger)).toMatchObject({ can_create_merge_request_in: true })
    expect(await seen(stranger)).not.toHaveProperty('repository_storage')
    expect(await seen(admin)).toMatchObject({ repository_storage: 'default' })
    await set(project, { merge_requests_access_level: 'private' })
    expect(await seen(stranger)).toMatchObject({ can_create_merge_request_in: false })
  })

  it('operations_access_level decides who sees environments (FD-1)', async () => {
    const { project, runner } = await withCi('job: { script: x, environment: production }')
    const [member, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    await addMember(project, member, 30)
    await set(project, { visibility: 'public' })
    const reads = async (who: TestUser) => [
      (await t.api('get', `${project.path}/environments`, who)).status,
      (await t.api('get', `${project.path}/deployments`, who)).status,
      (await t.api('post', `${project.path}/environments`, who).send({ name: `of ${who.id}` })).status,
    ]
    await set(project, { operations_access_level: 'private' })
    expect([await reads(member), await reads(stranger)]).toEqual([
      [200, 200, 201],
      [403, 403, 403],
    ])
    await set(project, { operations_access_level: 'disabled' })
    expect(await reads(member)).toEqual([403, 403, 403])
    expect((await t.api('get', `${project.path}/jobs`, member)).status).toBe(200)
    await runner.end(await runner.takeNamed('job'), 'success')
    await set(project, { operations_access_level: 'enabled' })
    expect(await get(project, '/deployments')).toMatchObject([{ status: 'success' }])
  })

  it('analytics_access_level decides who sees the page of contributors (FD-2)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const page = `/${(await get(project, '')).path_with_namespace}/-/graphs/main`
    const status = async () => (await fetch(`${t.url}${page}`)).status
    expect(await status()).toBe(200)
    await set(project, { analytics_access_level: 'private' })
    expect(await status()).not.toBe(200)
    await t.api('get', `${project.path}/repository/contributors`).expect(200)
  })

  it('tell runners how long a job may run and how it gets the code (FD-10, FD-11, FD-12)', async () => {
    const { project, runner } = await withCi('a: { script: x }\nb: { script: x, timeout: 30 minutes, variables: { GIT_DEPTH: "3" } }')
    await set(project, { build_timeout: 7_200, build_git_strategy: 'clone', ci_default_git_depth: 7 })
    expect(await runner.takeNamed('a')).toMatchObject({ runner_info: { timeout: 7_200 }, allow_git_fetch: false, git_info: { depth: 7 } })
    expect(await runner.takeNamed('b')).toMatchObject({ runner_info: { timeout: 1_800 }, git_info: { depth: 3 } })
  })

  it('build_coverage_regex finds the coverage of jobs without a pattern (FD-13)', async () => {
    const { project, runner, job } = await anEndedJob('87.5% covered\n')
    await set(project, { build_coverage_regex: '(\\d+\\.\\d+)% covered' })
    await runner.end(job, 'success')
    expect(await jobNamed(project, 'job')).toMatchObject({ coverage: 87.5 })
  })

  it('restrict_user_defined_variables leaves variables of pipelines to maintainers (FD-14)', async () => {
    const { project } = await withCi('job: { script: x }\nlater: { script: x, when: manual }')
    const [developer, maintainer] = [await aUser(t.ctx), await aUser(t.ctx)]
    await addMember(project, developer, 30)
    await addMember(project, maintainer, 40)
    await t.api('post', `${project.path}/repository/branches`, project.creator).send({ branch: 'b', ref: 'main' }).expect(201)
    const run = (who: TestUser, variables?: object[]) => t.api('post', `${project.path}/pipeline`, who).send({ ref: 'b', variables })
    const refusal = { message: { base: ['Insufficient permissions to set pipeline variables'] } }
    await run(developer, [{ key: 'A', value: '1' }]).expect(201)
    await set(project, { restrict_user_defined_variables: true })
    await run(developer, [{ key: 'A', value: '1' }]).expect(400, refusal)
    await run(developer).expect(201)
    await run(maintainer, [{ key: 'A', value: '1' }]).expect(201)
    const { id } = await jobNamed(project, 'later')
    const play = (who: TestUser, sent: object) => t.api('post', `${project.path}/jobs/${id}/play`, who).send(sent)
    await play(developer, { job_variables_attributes: [{ key: 'A', value: '1' }] }).expect(400, refusal)
    await play(developer, {}).expect(200)
  })

  it('keep_latest_artifact keeps the files of the newest pipeline, or not (FD-15)', async () => {
    const { project, runner } = await withCi('job: { script: x, artifacts: { paths: [a], expire_in: 1 hour } }')
    const job = await runner.takeNamed('job')
    await runner.upload(job, Buffer.from('x'), '?artifact_type=archive&artifact_format=zip')
    await runner.end(job, 'success')
    await t.ctx.db.write
      .update(artifacts)
      .set({ expires_at: new Date(0) })
      .where(sql`${artifacts.project_id} = ${project.id}`)
    const left = async () => {
      await removeArtifacts.run(t.ctx, {}, { id: 1 } as never)
      return (await t.ctx.db.write.select().from(artifacts).where(sql`${artifacts.project_id} = ${project.id}`)).length
    }
    expect(await left()).toBe(1)
    await set(project, { keep_latest_artifact: false })
    expect(await left()).toBe(0)
  })

  it('ci_forward_deployment_enabled: what is older than what is deployed fails, another attempt of it does not (FD-16)', async () => {
    const { project, runner } = await withCi('job: { script: x, environment: production }')
    const old = await jobNamed(project, 'job')
    await set(project, { auto_cancel_pending_pipelines: 'disabled' })
    await push(project, { b: 'b' })
    const held = await runner.takeNamed('job')
    expect(held.id).toBe(old.id)
    await runner.end(held, 'failed')
    await runner.end(await runner.takeNamed('job'), 'success')
    // the former attempt of the older pipeline, which waits again
    await t.api('post', `${project.path}/jobs/${old.id}/retry`, project.creator).expect(201)
    const again = await runner.takeNamed('job')
    expect(again.git_info.sha).toBe(held.git_info.sha)
    await runner.end(again, 'success')
  })

  it('ci_forward_deployment_enabled: a job that waits is not given to a runner once a later one has deployed (FD-16)', async () => {
    const yaml = 'stages: [one, two]\nfirst: { stage: one, script: x }\ndeploy: { stage: two, script: x, environment: production }'
    const { project, runner } = await withCi(yaml)
    await set(project, { auto_cancel_pending_pipelines: 'disabled' })
    const early = await runner.takeNamed('first')
    await push(project, { b: 'b' })
    await runner.end(await runner.takeNamed('first'), 'success')
    await runner.end(await runner.takeNamed('deploy'), 'success')
    await runner.end(early, 'success')
    expect(await runner.take()).toBeNull()
    const failed = (await get(project, '/jobs')).filter(({ status }: { status: string }) => status === 'failed')
    expect(failed).toMatchObject([{ name: 'deploy', failure_reason: 'forward_deployment_failure' }])
  })

  it('container_registry_access_level is the switch of the registry, emails_enabled that of mails (PR-81)', async () => {
    const project = await aProject(t.ctx)
    const shown = async (given: object) => (await set(project, given)).body
    const off = { container_registry_access_level: 'disabled', container_registry_enabled: false }
    expect(await shown({ container_registry_access_level: 'disabled', container_registry_enabled: true })).toMatchObject(off)
    expect(await shown({ container_registry_access_level: 'enabled' })).toMatchObject({ container_registry_enabled: true })
    await put(project, { container_registry_access_level: 'private' }).expect(400)
    expect(await shown({ emails_enabled: false })).toMatchObject({ emails_disabled: true, emails_enabled: false })
    expect(await shown({ emails_enabled: true })).toMatchObject({ emails_disabled: false, emails_enabled: true })
  })
})
