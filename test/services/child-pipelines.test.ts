import { describe, expect, it } from 'vitest'
import { sweepBridges } from '../../src/services/ci/bridges/mirror.js'
import { testApp } from '../support/app.js'
import { ciOf } from '../support/ci.js'
import { aProject, type TestProject } from '../support/factories.js'
import { ScriptedRunner } from '../support/runner.js'

const t = testApp()
const { withCi, get, states, act } = ciOf(t)

const PARENT = `
stages: [a, b]
variables: { GLOBAL: g }
go:
  stage: a
  variables: { OWN: "own $GLOBAL" }
  trigger: { include: child.yml, strategy: depend }
after: { stage: b, script: x }
`
const CHILD = 'sub: { script: "y", rules: [{ if: "$CI_PIPELINE_SOURCE == \'parent_pipeline\'" }] }'

const bridges = async (project: TestProject, pipeline?: number) => {
  const id = pipeline ?? (await get(project, '/pipelines'))[0].id
  return get(project, `/pipelines/${id}/bridges`)
}
const bridge = async (project: TestProject) => (await bridges(project))[0]
const drain = () => t.ctx.jobs.drain()
const end = async (runner: ScriptedRunner, name: string, state = 'success') => {
  await runner.end(await runner.takeNamed(name), state, state === 'failed' ? { failure_reason: 'script_failure' } : {})
  await drain()
}

describe('a child pipeline', () => {
  it('is made by a job that no runner takes, of the same commit, and the job waits for it (CI-300, CI-302, CI-305)', async () => {
    const { project, runner } = await withCi(PARENT, { 'child.yml': CHILD })
    expect(await states(project)).toEqual(['running', 'after created'])
    const job = await bridge(project)
    expect(job).toMatchObject({ name: 'go', status: 'running', downstream_pipeline: { source: 'parent_pipeline', status: 'pending', ref: 'main' } })
    expect(job.downstream_pipeline.sha).toBe((await get(project, '/pipelines'))[0].sha)
    const sub = await runner.takeNamed('sub')
    const values = Object.fromEntries(sub.variables.map(({ key, value }) => [key, value]))
    expect(values).toMatchObject({ OWN: 'own g', GLOBAL: 'g', CI_PIPELINE_SOURCE: 'parent_pipeline' })
    await runner.end(sub, 'success')
    await drain()
    expect((await bridge(project)).status).toBe('success')
    expect(await states(project)).toEqual(['running', 'after pending'])
  })

  it('is not among the pipelines of the project, nor the latest of the branch, unless asked for (CI-307)', async () => {
    const { project } = await withCi(PARENT, { 'child.yml': CHILD })
    const all = await get(project, '/pipelines')
    expect(all).toMatchObject([{ source: 'push' }])
    expect(await get(project, '/pipelines?source=parent_pipeline')).toHaveLength(1)
    expect((await get(project, '/pipelines/latest')).id).toBe(all[0].id)
    expect((await get(project, `/repository/commits/${all[0].sha}`)).last_pipeline.id).toBe(all[0].id)
  })

  it('is deleted with its parent (CI-307)', async () => {
    const { project } = await withCi(PARENT, { 'child.yml': CHILD })
    const [{ id }] = await get(project, '/pipelines')
    await t.api('delete', `${project.path}/pipelines/${id}`, project.creator).expect(204)
    expect(await get(project, '/pipelines?source=parent_pipeline')).toEqual([])
  })

  it('that fails fails its job, and retried lets it wait again (CI-305)', async () => {
    const { project, runner } = await withCi(PARENT, { 'child.yml': CHILD })
    await end(runner, 'sub', 'failed')
    const failed = await bridge(project)
    expect(failed).toMatchObject({ status: 'failed', failure_reason: 'downstream_pipeline_failed' })
    expect(await states(project)).toEqual(['failed', 'after skipped'])
    await t.api('post', `${project.path}/pipelines/${failed.downstream_pipeline.id}/retry`, project.creator).expect(201)
    await drain()
    expect(await states(project)).toEqual(['running', 'after created'])
    await end(runner, 'sub')
    expect(await states(project)).toEqual(['running', 'after pending'])
  })

  it('is made anew when its job is retried (CI-306)', async () => {
    const { project, runner } = await withCi(PARENT, { 'child.yml': CHILD })
    await end(runner, 'sub', 'failed')
    const [{ id }] = await get(project, '/pipelines')
    await t.api('post', `${project.path}/pipelines/${id}/retry`, project.creator).expect(201)
    await drain()
    expect(await get(project, '/pipelines?source=parent_pipeline')).toMatchObject([{ status: 'pending' }, { status: 'failed' }])
    await end(runner, 'sub')
    expect(await states(project)).toEqual(['running', 'after pending'])
  })

  it('is canceled with its parent, also where the job did not wait (CI-306)', async () => {
    const { project } = await withCi(PARENT.replace(', strategy: depend', ''), { 'child.yml': CHILD })
    expect(await bridge(project)).toMatchObject({ status: 'success', downstream_pipeline: { status: 'pending' } })
    const [{ id }] = await get(project, '/pipelines')
    await t.api('post', `${project.path}/pipelines/${id}/cancel`, project.creator).expect(200)
    await drain()
    expect((await bridge(project)).downstream_pipeline.status).toBe('canceled')
  })

  it('is canceled with its job, and cancels it (CI-305, CI-306)', async () => {
    const { project } = await withCi(PARENT, { 'child.yml': CHILD })
    const { id } = await bridge(project)
    await act(project, id, 'cancel').expect(201)
    await drain()
    expect(await bridge(project)).toMatchObject({ status: 'canceled', downstream_pipeline: { status: 'canceled' } })
    const other = await withCi(PARENT, { 'child.yml': CHILD })
    const child = (await bridge(other.project)).downstream_pipeline.id
    await t.api('post', `${other.project.path}/pipelines/${child}/cancel`, other.project.creator).expect(200)
    await drain()
    expect((await bridge(other.project)).status).toBe('canceled')
  })

  it('may have child pipelines, and these none (CI-304)', async () => {
    const nested = (file: string) => `go: { trigger: { include: ${file}, strategy: depend } }`
    const { project } = await withCi(nested('one.yml'), { 'one.yml': nested('two.yml'), 'two.yml': nested('three.yml'), 'three.yml': CHILD })
    const one = (await bridge(project)).downstream_pipeline
    const [two] = await bridges(project, one.id)
    const [three] = await bridges(project, two.downstream_pipeline.id)
    expect(three).toMatchObject({ status: 'failed', failure_reason: 'reached_max_descendant_pipelines_depth', downstream_pipeline: null })
    expect(await bridge(project)).toMatchObject({ status: 'failed' })
  })

  it('whose configuration has faults is not made, and its job fails with them (CI-301)', async () => {
    const { project } = await withCi(PARENT, { 'child.yml': 'sub: { script: y, odd: 1 }' })
    expect(await bridge(project)).toMatchObject({
      status: 'failed',
      failure_reason: 'downstream_pipeline_creation_failed',
      downstream_pipeline: null,
    })
    expect(await get(project, '/pipelines?source=parent_pipeline')).toEqual([])
  })

  it('is followed by the sweep, and the end of one that was deleted is a failure (CI-305)', async () => {
    const { project } = await withCi(PARENT, { 'child.yml': CHILD })
    const { id } = (await bridge(project)).downstream_pipeline
    await t.api('delete', `${project.path}/pipelines/${id}`, project.creator).expect(204)
    await sweepBridges.run(t.ctx, {}, { id: 0, number: 1, signal: AbortSignal.timeout(60_000) })
    expect(await bridge(project)).toMatchObject({ status: 'failed', failure_reason: 'downstream_pipeline_creation_failed' })
  })

  it('is made of a file in the artifacts of an earlier job (CI-302)', async () => {
    const ZIP = Buffer.from(
      'UEsDBBQAAAAAAAAAIQDJNmsMEwAAABMAAAAFAAAAYy55bWxzdWI6IHsgc2NyaXB0OiB5IH0KUEsBAhQDFAAAAAAAAAAhAMk2awwTAAAAEwAAAAUAAAAAAAAAAAAAAIABAAAAAGMueW1sUEsFBgAAAAABAAEAMwAAADYAAAAAAA==',
      'base64',
    )
    const { project, runner } = await withCi(`
stages: [a, b]
make: { stage: a, script: x, artifacts: { paths: [c.yml] } }
go: { stage: b, trigger: { include: [{ artifact: c.yml, job: make }] } }
`)
    const make = await runner.takeNamed('make')
    await runner.upload(make, ZIP)
    await runner.end(make, 'success')
    await drain()
    expect(await bridge(project)).toMatchObject({ status: 'success', downstream_pipeline: { source: 'parent_pipeline' } })
    await runner.takeNamed('sub')
  })
})

describe('a pipeline of another project', () => {
  const yaml = (path: string, more = '') => `go: { variables: { FROM: "$CI_PROJECT_NAME" }, trigger: { project: ${path}, strategy: depend${more} } }`

  async function two(role: 'developer' | 'reporter' = 'developer') {
    const { project, runner } = await withCi('job: { script: x }')
    const other = await aProject(t.ctx, { [role]: project.creator, files: { '.gitlab-ci.yml': 'work: { script: y }' } })
    await drain()
    const theirs = await ScriptedRunner.make(t.ctx, t.url, { kind: 'project_type', project_id: other.id })
    const write = async (content: string) => {
      const body = { branch: 'main', commit_message: 'trigger', actions: [{ action: 'update', file_path: '.gitlab-ci.yml', content }] }
      await t.api('post', `${project.path}/repository/commits`, project.creator).send(body).expect(201)
      await drain()
    }
    return { project, runner, other, theirs, write }
  }

  it('is made at the head of its branch, with the rights of the user (CI-301, CI-303)', async () => {
    const { project, other, theirs, write } = await two()
    await t.api('delete', `${other.path}/protected_branches/main`, other.creator).expect(204)
    await write(yaml(other.fullPath))
    expect(await bridge(project)).toMatchObject({
      status: 'running',
      downstream_pipeline: { project_id: other.id, source: 'pipeline', web_url: expect.stringContaining(`/${other.fullPath}/`) },
    })
    await end(theirs, 'work')
    const work = await theirs.takeNamed('work')
    expect(Object.fromEntries(work.variables.map(({ key, value }) => [key, value]))).toMatchObject({
      CI_PIPELINE_SOURCE: 'pipeline',
      FROM: expect.any(String),
    })
    await runnerEnd(theirs, work)
    expect((await bridge(project)).status).toBe('success')
  })

  const runnerEnd = async (runner: ScriptedRunner, job: { id: number; token: string }) => {
    await runner.end(job, 'success')
    await drain()
  }

  it('is refused to those who may not run it, or on a protected branch, or do not see it (CI-301)', async () => {
    const developer = await two()
    await developer.write(yaml(developer.other.fullPath))
    expect(await bridge(developer.project)).toMatchObject({ status: 'failed', failure_reason: 'insufficient_bridge_permissions' })
    const reporter = await two('reporter')
    await reporter.write(yaml(reporter.other.fullPath))
    expect(await bridge(reporter.project)).toMatchObject({ status: 'failed', failure_reason: 'insufficient_bridge_permissions' })
    await reporter.write(yaml('none/none'))
    expect(await bridge(reporter.project)).toMatchObject({ status: 'failed', failure_reason: 'downstream_bridge_project_not_found' })
  })

  it('that leads back in a circle ends (CI-304)', async () => {
    const { project, write } = await two()
    await write(yaml(project.fullPath))
    const all = await get(project, '/pipelines?source=pipeline')
    expect(all.length).toBeLessThan(4)
    const [last] = await bridges(project, all[0].id)
    expect(last).toMatchObject({ status: 'failed', failure_reason: 'pipeline_loop_detected' })
  })
})
