import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { stopDueEnvironments } from '../../src/services/ci/environments/stop.js'
import { testApp } from '../support/app.js'
import { ciOf } from '../support/ci.js'
import { aUser } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'

const t = testApp()
const { withCi, push, get, states, jobNamed, act } = ciOf(t)

const REVIEW = `
stages: [deploy, end]
review:
  stage: deploy
  script: x
  variables: { HOST: apps.example.com }
  environment: { name: review/$CI_COMMIT_REF_SLUG, url: "https://$CI_ENVIRONMENT_SLUG.$HOST/$PAGE", on_stop: stop, auto_stop_in: 1 day }
  artifacts: { reports: { dotenv: a.env } }
stop:
  stage: end
  script: y
  when: manual
  environment: { name: review/$CI_COMMIT_REF_SLUG, action: stop }
`

describe('a job with an environment', () => {
  it('makes the environment and a deployment, which has the state of the job (CI-280, CI-282, CI-283)', async () => {
    const { project, runner } = await withCi(REVIEW)
    const [made, ...more] = await get(project, '/environments')
    expect(more).toEqual([])
    expect(made).toMatchObject({ name: 'review/main', slug: 'review-main-yi2y9f', state: 'available', tier: 'development', external_url: null })
    const deployment = async () => (await get(project, '/deployments'))[0]
    expect(await deployment()).toMatchObject({
      iid: 1,
      status: 'created',
      ref: 'main',
      environment: { name: 'review/main' },
      deployable: { name: 'review' },
    })
    const job = await runner.takeNamed('review')
    expect(await deployment()).toMatchObject({ status: 'running' })
    const values = Object.fromEntries(job.variables.map(({ key, value }) => [key, value]))
    expect(values).toMatchObject({
      CI_ENVIRONMENT_NAME: 'review/main',
      CI_ENVIRONMENT_SLUG: made.slug,
      CI_ENVIRONMENT_TIER: 'development',
      CI_ENVIRONMENT_ACTION: 'start',
      CI_ENVIRONMENT_URL: `https://${made.slug}.apps.example.com/$PAGE`,
    })
    await runner.upload(job, gzipSync('PAGE=start\n'), '?artifact_format=gzip&artifact_type=dotenv')
    await runner.end(job, 'success')
    expect(await deployment()).toMatchObject({ status: 'success' })
    const after = await get(project, `/environments/${made.id}`)
    expect(after).toMatchObject({ external_url: `https://${made.slug}.apps.example.com/start`, last_deployment: { iid: 1, status: 'success' } })
    expect(Math.round((Date.parse(after.auto_stop_at) - Date.now()) / 3_600_000)).toBe(24)
  })

  it('that fails, is canceled or tried again has a deployment for each attempt (CI-283)', async () => {
    const { project, runner } = await withCi('job: { script: x, environment: production }')
    const list = async () => (await get(project, '/deployments')).map(({ iid, status }: Record<string, unknown>) => `${iid} ${status}`)
    await runner.end(await runner.takeNamed('job'), 'failed', { failure_reason: 'script_failure' })
    await act(project, (await jobNamed(project, 'job')).id, 'retry').expect(201)
    await act(project, (await jobNamed(project, 'job')).id, 'cancel').expect(201)
    expect(await list()).toEqual(['1 failed', '2 canceled'])
    expect((await get(project, '/environments'))[0]).toMatchObject({ name: 'production', slug: 'production', tier: 'production' })
  })

  it('of a name that no environment may have is a fault (CI-280)', async () => {
    const { project } = await withCi('job: { script: x, variables: { N: "a:b" }, environment: review/$N }')
    const [{ id }] = await get(project, '/pipelines')
    expect((await get(project, `/pipelines/${id}`)).yaml_errors).toMatch(/^jobs:job:environment name can contain only/)
  })
})

describe('stopping an environment', () => {
  async function deployed() {
    const ci = await withCi(REVIEW)
    await ci.runner.end(await ci.runner.takeNamed('review'), 'success')
    const [{ id }] = await get(ci.project, '/environments')
    const state = async () => (await get(ci.project, `/environments/${id}`)).state
    const stop = () => t.api('post', `${ci.project.path}/environments/${id}/stop`, ci.project.creator)
    return { ...ci, id, state, stop }
  }

  it('runs its job, and ends with it (CI-286)', async () => {
    const { project, runner, state, stop } = await deployed()
    expect((await stop().expect(200)).body.state).toBe('stopping')
    expect(await states(project)).toContain('stop pending')
    await runner.end(await runner.takeNamed('stop'), 'failed', { failure_reason: 'script_failure' })
    expect(await state()).toBe('available')
    await stop().expect(200)
    await runner.end(await runner.takeNamed('stop'), 'success')
    expect(await state()).toBe('stopped')
    await act(project, (await jobNamed(project, 'review')).id, 'retry').expect(201)
    await runner.end(await runner.takeNamed('review'), 'success')
    expect(await state()).toBe('available')
  })

  it('happens when its job is started by hand, and without a job at once (CI-286)', async () => {
    const { project, runner, state } = await deployed()
    await act(project, (await jobNamed(project, 'stop')).id, 'play').expect(200)
    await runner.end(await runner.takeNamed('stop'), 'success')
    expect(await state()).toBe('stopped')
    const { body } = await t.api('post', `${project.path}/environments`, project.creator).send({ name: 'plain' }).expect(201)
    const stopped = await t.api('post', `${project.path}/environments/${body.id}/stop`, project.creator).expect(200)
    expect(stopped.body).toMatchObject({ name: 'plain', state: 'stopped' })
  })

  it('happens by itself when its time is over (CI-287)', async () => {
    const { project, state } = await deployed()
    const later = new Date(Date.now() + 2 * 86_400_000)
    const due = Object.assign(Object.create(t.ctx) as typeof t.ctx, { now: () => later })
    await stopDueEnvironments.run(due, {}, { id: 0, number: 1, signal: AbortSignal.timeout(60_000) })
    expect(await state()).toBe('stopping')
    expect(await states(project)).toContain('stop pending')
  })

  it('follows the deletion of its branch (CI-288)', async () => {
    const { project, runner, state } = await deployed()
    await push(project, { 'b.txt': 'b\n' }, 'b', 'topic')
    await runner.end(await runner.takeNamed('review'), 'success')
    const topic = (await get(project, '/environments?name=review%2Ftopic'))[0]
    await t.api('delete', `${project.path}/repository/branches/topic`, project.creator).expect(204)
    await t.ctx.jobs.drain()
    expect((await get(project, `/environments/${topic.id}`)).state).toBe('stopping')
    expect(await state()).toBe('available')
    await runner.end(await runner.takeNamed('stop'), 'success')
    expect((await get(project, `/environments/${topic.id}`)).state).toBe('stopped')
  })
})

describe('environments and deployments in the API', () => {
  it('are made, changed and deleted by developers (CI-284)', async () => {
    const { project } = await withCi('job: { script: x }')
    const developer = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: developer.id, access_level: 30 }).expect(201)
    const call = (method: 'post' | 'put' | 'delete' | 'get', path: string) => t.api(method, `${project.path}/environments${path}`, developer)
    const { body } = await call('post', '').send({ name: 'My app', external_url: 'https://app.example.com' }).expect(201)
    expect(body).toMatchObject({
      name: 'My app',
      slug: expect.stringMatching(/^my-app-[0-9a-z]{6}$/),
      tier: 'other',
      external_url: 'https://app.example.com',
    })
    await call('post', '')
      .send({ name: 'My app' })
      .expect(400, { message: { name: ['has already been taken'] } })
    await call('post', '').send({ name: '/x' }).expect(400)
    await call('post', '').send({ name: 'x', external_url: 'javascript:alert(1)' }).expect(400)
    const changed = await call('put', `/${body.id}`).send({ external_url: 'https://new.example.com', tier: 'staging' }).expect(200)
    expect(changed.body).toMatchObject({ external_url: 'https://new.example.com', tier: 'staging', slug: body.slug })
    expect((await call('get', '?search=APP&states=available').expect(200)).body).toHaveLength(1)
    await call('delete', `/${body.id}`).expect(403)
    await call('post', `/${body.id}/stop`).expect(200)
    await call('delete', `/${body.id}`).expect(204)
    await call('get', `/${body.id}`).expect(404)
    const admin = await aUser(t.ctx, { admin: true })
    const { body: events } = await t.api('get', `/audit_events?entity_type=Project&entity_id=${project.id}`, admin).expect(200)
    expect(JSON.stringify(events)).toMatch(/environment_deleted/)
  })

  it('are reported by other programs (CI-285)', async () => {
    const { project } = await withCi('job: { script: x }')
    const sha = (await get(project, '/repository/branches/main')).commit.id
    const report = (body: object) =>
      t.api('post', `${project.path}/deployments`, project.creator).send({ environment: 'live', sha, ref: 'main', ...body })
    const { body } = await report({ status: 'running' }).expect(201)
    expect(body).toMatchObject({
      iid: 1,
      status: 'running',
      environment: { name: 'live', tier: 'production' },
      deployable: null,
      user: { id: project.creator.id },
    })
    await report({ status: 'running', sha: 'f'.repeat(40) }).expect(400)
    await report({ status: 'other' }).expect(400)
    await t.api('delete', `${project.path}/deployments/${body.id}`, project.creator).expect(400)
    const ended = await t.api('put', `${project.path}/deployments/${body.id}`, project.creator).send({ status: 'success' }).expect(200)
    expect(ended.body.status).toBe('success')
    expect(await get(project, '/deployments?status=success&environment=live&order_by=iid&sort=desc')).toHaveLength(1)
    await t
      .api('delete', `${project.path}/deployments/${body.id}`, project.creator)
      .expect(400, { message: 'Deployment currently deployed to environment' })
    await report({ status: 'success' }).expect(201)
    await t.api('delete', `${project.path}/deployments/${body.id}`, project.creator).expect(204)
  })

  it('of a job have its state alone (CI-285)', async () => {
    const { project } = await withCi('job: { script: x, environment: live }')
    const [{ id }] = await get(project, '/deployments')
    await t.api('put', `${project.path}/deployments/${id}`, project.creator).send({ status: 'success' }).expect(403)
  })
})

describe('the end of a merge request', () => {
  it('stops the environments of its pipeline by their jobs (CI-267)', async () => {
    const rules = 'rules: [{ if: $CI_MERGE_REQUEST_IID'
    const environment = (more: string) => `environment: { name: review/$CI_COMMIT_REF_SLUG, ${more} }`
    const { project, runner } = await withCi(`
review: { script: x, ${environment('on_stop: stop')}, ${rules} }] }
plain: { script: x, environment: plain/$CI_COMMIT_REF_SLUG, ${rules} }] }
stop: { script: y, ${environment('action: stop')}, ${rules}, when: manual, allow_failure: true }] }
`)
    for (const end of [
      (path: string) => t.api('put', path, project.creator).send({ state_event: 'close' }),
      (path: string) => t.api('put', `${path}/merge`, project.creator),
    ]) {
      const request = await aMergeRequest(t, { project })
      await t.ctx.jobs.drain()
      for (const name of ['review', 'plain']) await runner.end(await runner.takeNamed(name), 'success')
      const states = async () => {
        const all: { name: string; state: string }[] = await get(project, '/environments')
        return ['review', 'plain'].map((kind) => all.find(({ name }) => name === `${kind}/${request.source}`)?.state)
      }
      expect(await states()).toEqual(['available', 'available'])
      await end(request.path).expect(200)
      await t.ctx.jobs.drain()
      expect(await states()).toEqual(['stopping', 'available'])
      await runner.end(await runner.takeNamed('stop'), 'success')
      expect(await states()).toEqual(['stopped', 'available'])
    }
  })
})

describe('the merge requests of a deployment', () => {
  it('are those that were merged since the deployment before it (CI-265)', async () => {
    const { project } = await withCi('job: { script: x }')
    const deploy = async (status = 'success') => {
      const sha = (await get(project, '/repository/branches/main')).commit.id
      const given = { environment: 'live', sha, ref: 'main', status }
      return (await t.api('post', `${project.path}/deployments`, project.creator).send(given).expect(201)).body.id as number
    }
    const iids = async (id: number, query = '') =>
      (await get(project, `/deployments/${id}/merge_requests?sort=asc${query}`)).map(({ iid }: { iid: number }) => iid)
    const merged = async (attributes = {}) => {
      const request = await aMergeRequest(t, { project })
      await t.api('put', `${request.path}/merge`, project.creator).send(attributes).expect(200)
    }
    await merged()
    const first = await deploy()
    await merged({ squash: true })
    await aMergeRequest(t, { project })
    await t.api('put', project.path, project.creator).send({ merge_method: 'ff' }).expect(200)
    await merged()
    const failed = await deploy('failed')
    const second = await deploy()
    expect([await iids(first), await iids(failed), await iids(second), await iids(second, '&source_branch=none')]).toEqual([[1], [], [2, 4], []])
    expect(await iids(await deploy())).toEqual([])
    await t.api('get', `${project.path}/deployments/999999/merge_requests`, project.creator).expect(404)
  })
})

describe('stopped environments of reviews', () => {
  it('are deleted by age, once it is no dry run (CI-266)', async () => {
    const { project } = await withCi('job: { script: x }')
    const made = async (name: string, stopped = true) => {
      const { body } = await t.api('post', `${project.path}/environments`, project.creator).send({ name }).expect(201)
      if (stopped) await t.api('post', `${project.path}/environments/${body.id}/stop`, project.creator).expect(200)
    }
    for (const name of ['review/a', 'review/b', 'reviews']) await made(name)
    await made('review/open', false)
    const later = encodeURIComponent(new Date(Date.now() + 86_400_000).toISOString())
    const at = `${project.path}/environments/review_apps`
    const scheduled = async (query = '') => {
      const { body } = await t.api('delete', `${at}${query}`, project.creator).expect(200)
      expect(body.unprocessable_entries).toEqual([])
      return body.scheduled_entries.map(({ name }: { name: string }) => name)
    }
    expect(await scheduled('?dry_run=false')).toEqual([])
    expect(await scheduled(`?before=${later}`)).toEqual(['review/a', 'review/b'])
    expect(await scheduled(`?before=${later}&limit=1&dry_run=false`)).toEqual(['review/a'])
    expect((await get(project, '/environments')).map(({ name }: { name: string }) => name).sort()).toEqual(['review/b', 'review/open', 'reviews'])
    for (const limit of [0, 1_001]) await t.api('delete', `${at}?limit=${limit}`, project.creator).expect(400)
    const reporter = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: reporter.id, access_level: 20 }).expect(201)
    await t.api('delete', at, reporter).expect(403)
  })
})
