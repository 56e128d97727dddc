import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { resourceGroups } from '../../src/db/schema/index.js'
import { assignFreeResources } from '../../src/services/ci/resource-groups/assign.js'
import { testApp } from '../support/app.js'
import { ciOf } from '../support/ci.js'
import type { TestProject } from '../support/factories.js'
import type { ScriptedRunner } from '../support/runner.js'

const t = testApp()
const { withCi, push, get, act } = ciOf(t)
const YAML =
  'workflow: { auto_cancel: { on_new_commit: none } }\nstages: [a, b]\nfirst: { stage: a, script: x }\ndeploy: { stage: b, script: x, resource_group: live }'

const jobs = async (project: TestProject) =>
  (await get(project, '/jobs'))
    .filter(({ name }: { name: string }) => name === 'deploy')
    .map(({ pipeline, status }: { pipeline: { iid: number }; status: string }) => `${pipeline.iid} ${status}`)

/** Three pipelines; the first jobs of those that are named have ended, in this order. */
async function three(ended: number[]) {
  const { project, runner } = await withCi(YAML)
  await push(project, { b: 'b' })
  await push(project, { c: 'c' })
  const first = [await runner.takeNamed('first'), await runner.takeNamed('first'), await runner.takeNamed('first')]
  const next = async (i: number) => {
    await runner.end(first[i - 1] ?? expect.fail('no job'), 'success')
    await t.ctx.jobs.drain()
  }
  for (const i of ended) await next(i)
  return { project, runner, next }
}

const endNext = async (runner: ScriptedRunner, state = 'success') => {
  await runner.end(await runner.takeNamed('deploy'), state)
  await t.ctx.jobs.drain()
}
const mode = (project: TestProject, process_mode: string) =>
  t.api('put', `${project.path}/resource_groups/live`, project.creator).send({ process_mode })

describe('a resource group', () => {
  it('has one job that runs at a time, and the others wait (CI-290, CI-291)', async () => {
    const { project, runner } = await three([2, 1, 3])
    expect(await jobs(project)).toEqual(['3 waiting_for_resource', '2 pending', '1 waiting_for_resource'])
    const [{ id }] = await get(project, '/pipelines')
    expect(await get(project, `/pipelines/${id}`)).toMatchObject({ status: 'waiting_for_resource' })
    const job = await runner.takeNamed('deploy')
    expect(await runner.take()).toBeNull()
    await runner.end(job, 'failed', { failure_reason: 'script_failure' })
    await t.ctx.jobs.drain()
    expect(await jobs(project)).toEqual(['3 waiting_for_resource', '2 failed', '1 pending'])
    await endNext(runner)
    expect(await jobs(project)).toEqual(['3 pending', '2 failed', '1 success'])
  })

  it('is free again when its job is canceled, or its pipeline deleted (CI-291)', async () => {
    const { project, runner } = await three([1, 2, 3])
    const all = await get(project, '/jobs')
    const idOf = (iid: number) =>
      all.find(({ name, pipeline }: { name: string; pipeline: { iid: number } }) => name === 'deploy' && pipeline.iid === iid)
    await act(project, idOf(1).id, 'cancel').expect(201)
    await t.ctx.jobs.drain()
    expect(await jobs(project)).toEqual(['3 waiting_for_resource', '2 pending', '1 canceled'])
    await t.api('delete', `${project.path}/pipelines/${idOf(2).pipeline.id}`, project.creator).expect(204)
    await t.ctx.jobs.drain()
    await endNext(runner)
    expect(await jobs(project)).toEqual(['3 success', '1 canceled'])
  })

  it('is given by the sweep where its end was not followed (CI-291)', async () => {
    const { project } = await three([1, 2])
    await t.ctx.db.write.update(resourceGroups).set({ job_id: null }).where(sql`${resourceGroups.project_id} = ${project.id}`)
    await t.ctx.db.write.execute(
      sql`update commit_statuses set status = 'success' where project_id = ${project.id} and status = 'pending' and name = 'deploy'`,
    )
    await assignFreeResources.run(t.ctx, {}, { id: 0, number: 1, signal: AbortSignal.timeout(60_000) })
    await t.ctx.jobs.drain()
    expect(await jobs(project)).toEqual(['3 created', '2 pending', '1 success'])
  })

  it('takes the jobs of the oldest pipeline, or of the newest, first (CI-292)', async () => {
    const { project, runner, next } = await three([2])
    const upcoming = async () =>
      (await get(project, '/resource_groups/live/upcoming_jobs')).map(({ pipeline }: { pipeline: { iid: number } }) => pipeline.iid)
    await mode(project, 'oldest_first').expect(200)
    await next(3)
    expect(await upcoming()).toEqual([1, 3])
    await endNext(runner)
    expect(await jobs(project)).toEqual(['3 waiting_for_resource', '2 success', '1 created'])
    await next(1)
    expect(await jobs(project)).toEqual(['3 waiting_for_resource', '2 success', '1 pending'])
    await mode(project, 'newest_first').expect(200)
    expect(await upcoming()).toEqual([3])
    await endNext(runner)
    expect(await jobs(project)).toEqual(['3 pending', '2 success', '1 success'])
  })

  it('is listed, and its mode changed (CI-293)', async () => {
    const { project } = await withCi(YAML)
    expect(await get(project, '/resource_groups')).toMatchObject([{ key: 'live', process_mode: 'unordered' }])
    await mode(project, 'random').expect(400)
    expect((await mode(project, 'newest_first').expect(200)).body).toMatchObject({ key: 'live', process_mode: 'newest_first' })
    await t.api('get', `${project.path}/resource_groups/none`, project.creator).expect(404)
  })
})
