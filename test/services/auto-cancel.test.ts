import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { ciOf } from '../support/ci.js'
import type { TestProject } from '../support/factories.js'

const t = testApp()
const { withCi, push: add, get } = ciOf(t)

let file = 0
const push = (project: TestProject) => add(project, { [`${file++}.txt`]: 'x' })
/** States of pipelines, the newest first. */
const states = async (project: TestProject) => (await get(project, '/pipelines')).map(({ status }: { status: string }) => status)
const oldest = async (project: TestProject) => {
  const { id } = (await get(project, '/pipelines')).at(-1)
  return (await get(project, `/pipelines/${id}/jobs`)).map(({ name, status }: Record<string, string>) => `${name} ${status}`)
}

/** The first of these jobs has begun, so that its pipeline stays. */
const CHILD = `
stay: { script: x }
go: { when: manual, trigger: { include: child.yml } }
`

const JOBS = `
stages: [build, test]
quick: { stage: build, script: x, interruptible: true }
deploy: { stage: test, script: x }
`

describe('a redundant pipeline', () => {
  it('is none of the head, when a pipeline of an earlier commit is made later (CI-200)', async () => {
    const { project, runner } = await withCi(CHILD, { 'child.yml': 'other: { script: x }' })
    await runner.takeNamed('stay')
    await push(project)
    expect(await states(project)).toEqual(['pending', 'running'])
    const { id } = (await get(project, '/pipelines')).at(-1)
    const [bridge] = await get(project, `/pipelines/${id}/bridges`)
    await t.api('post', `${project.path}/jobs/${bridge.id}/play`, project.creator).expect(200)
    await t.ctx.jobs.drain()
    expect((await get(project, `/pipelines/${id}/bridges`))[0]).toMatchObject({ status: 'success' })
    expect(await states(project)).toEqual(['pending', 'running'])
  })

  it('is canceled by the next push to its branch (CI-200)', async () => {
    const { project, runner } = await withCi(JOBS)
    const quick = await runner.takeNamed('quick')
    await push(project)
    expect(await states(project)).toEqual(['pending', 'canceled'])
    expect(await oldest(project)).toEqual(['quick canceled', 'deploy canceled'])
    expect((await runner.trace(quick, 0, 'late')).headers.get('job-status')).toBe('canceled')
  })

  it('goes on once a job has started that must not be interrupted (CI-200)', async () => {
    const { project, runner } = await withCi(JOBS)
    await runner.end(await runner.takeNamed('quick'), 'success')
    await runner.takeNamed('deploy')
    await push(project)
    expect(await states(project)).toEqual(['pending', 'running'])
  })

  it('loses its interruptible jobs alone, or none, where it says so (CI-200)', async () => {
    const both = 'deploy: { script: x }\nquick: { script: x, interruptible: true }\n'
    const { project, runner } = await withCi(`workflow: { auto_cancel: { on_new_commit: interruptible } }\n${both}`)
    await runner.takeNamed('deploy')
    await push(project)
    expect(await oldest(project)).toEqual(['deploy running', 'quick canceled'])
    const other = await withCi(`workflow: { auto_cancel: { on_new_commit: none } }\n${both}`)
    await push(other.project)
    expect(await states(other.project)).toEqual(['pending', 'pending'])
  })

  it('goes on where the project has switched it off, and other refs and the same commit do not count (CI-200)', async () => {
    const { project } = await withCi(JOBS)
    const run = (ref: string) => t.api('post', `${project.path}/pipeline`, project.creator).send({ ref }).expect(201)
    await run('main')
    await t.api('post', `${project.path}/repository/branches?branch=side&ref=main`, project.creator).expect(201)
    await t.ctx.jobs.drain()
    expect(new Set(await states(project))).toEqual(new Set(['pending']))
    const set = (auto_cancel_pending_pipelines: string) => t.api('put', project.path, project.creator).send({ auto_cancel_pending_pipelines })
    expect((await set('disabled').expect(200)).body.auto_cancel_pending_pipelines).toBe('disabled')
    await set('sometimes').expect(400)
    await push(project)
    expect(new Set(await states(project))).toEqual(new Set(['pending']))
    expect((await set('enabled').expect(200)).body.auto_cancel_pending_pipelines).toBe('enabled')
  })

  it('is canceled by its own job that fails, where it says so (CI-201)', async () => {
    const { project, runner } = await withCi(
      'workflow: { auto_cancel: { on_job_failure: all } }\na: { script: x, allow_failure: true }\nb: { script: x }\nc: { script: x }',
    )
    await runner.end(await runner.takeNamed('a'), 'failed', { failure_reason: 'script_failure' })
    expect(await oldest(project)).toEqual(['a failed', 'b pending', 'c pending'])
    await runner.end(await runner.takeNamed('b'), 'failed', { failure_reason: 'script_failure' })
    expect(await oldest(project)).toEqual(['a failed', 'b failed', 'c canceled'])
  })
})
