// @module-tag long
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { type Roost, startRoost } from '../../testing/index.mjs'
import { startEnvironment } from '../support/servers/started-roost.js'

const config = `
stages: [first, second]
one: { stage: first, tags: [gpu], script: [make], retry: 1 }
two: { stage: second, script: [make], needs: [one] }
hand: { stage: second, script: [make], when: manual }
`
let roost: Roost
beforeAll(async () => {
  await build()
  roost = await startRoost({ env: startEnvironment(), seed: { projects: [{ path: 'root/api', files: { '.gitlab-ci.yml': config } }] } })
})
beforeEach(() => roost.reset())
afterAll(() => roost.stop())

const project = 'root/api'
const get = async (path: string) => {
  const answer = await fetch(`${roost.url}/api/v4/projects/1${path}`, { headers: { 'private-token': roost.token } })
  expect(answer.status, path).toBe(200)
  return answer.json()
}

it('takes the job of a name whatever its tags, waits for its turn, and keeps the runner over a reset', async () => {
  const waiting = roost.runJob({ project, job: 'two' })
  const first = await roost.runJob({ project: 1, job: 'one' })
  expect(first).toMatchObject({ status: 'success', variables: { CI_JOB_NAME: 'one', CI_PROJECT_PATH: project } })
  expect(await waiting).toMatchObject({ status: 'success', variables: { CI_JOB_NAME: 'two' } })
  expect(await get('/pipelines/1')).toMatchObject({ status: 'success' })
  await roost.reset()
  expect((await roost.runJob({ project, job: 'one' })).id).toBe(first.id)
})

it('tries a job again as its configuration says, with the next call', async () => {
  const first = await roost.runJob({ project, job: 'one', state: 'failed', failure_reason: 'runner_system_failure' })
  const second = await roost.runJob({ project, job: 'one', state: 'failed', exit_code: 2 })
  expect(second.id).toBeGreaterThan(first.id)
  expect(await get(`/jobs/${first.id}`)).toMatchObject({ status: 'failed', failure_reason: 'runner_system_failure' })
  expect(await get('/pipelines/1')).toMatchObject({ status: 'failed' })
})

it('goes on with a job after a snapshot, and reads its reports', async () => {
  const { id } = await roost.runJob({ project, job: 'one', state: 'running', log: 'a\n' })
  await roost.snapshot('running')
  await roost.runJob({ project, job: id, state: 'failed' })
  await roost.restore('running')
  const junit = '<testsuite><testcase name="adds" classname="sums"/></testsuite>'
  expect(await roost.runJob({ project, job: id, log: 'b\n', reports: { junit } })).toEqual({ id, status: 'success', variables: null })
  expect(await get('/pipelines/1/test_report')).toMatchObject({ total_count: 1, success_count: 1 })
})

it('refuses what cannot be done, and says why', async () => {
  const refusal = (run: object) => roost.runJob({ project, job: 'hand', wait: 0, ...run }).catch(({ message }: Error) => message)
  await roost.runJob({ project, job: 'one' })
  expect(await refusal({})).toBe('roost: job: hand of root/api is manual')
  expect(await refusal({ job: 'none' })).toBe('roost: job: root/api has no job none')
  expect(await refusal({ project: 'root/none' })).toContain('project: GET /projects/root%2Fnone/jobs')
  expect(await refusal({ exit_code: 1 })).toContain('exit_code and failure_reason are for a state of failed')
  expect(await refusal({ artifacts: { '../a': '' } })).toContain('artifacts')
  expect(await refusal({ colour: 'red' })).toContain('colour')
})
