import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { endStaleBuilds, returnLostBuilds, startDelayed } from '../../../src/services/ci/builds/sweeps.js'
import { testApp } from '../../support/app.js'
import { ciOf } from '../../support/ci.js'
import type { TestProject } from '../../support/factories.js'

const t = testApp()
const { withCi, get } = ciOf(t)
const FIRST = { id: 0, number: 1, signal: new AbortController().signal }

/** The newest job of a project. */
const newest = async (project: TestProject) => (await get(project, '/jobs'))[0]

/** As if all that is known of the jobs of a project had been minutes earlier. */
async function minutesPass(project: TestProject, minutes: number) {
  const by = sql`interval '1 minute' * ${minutes}::integer`
  const mine = sql`(select id from commit_statuses where project_id = ${project.id})`
  await t.ctx.db.write.execute(sql`update builds set seen_at = seen_at - ${by}, scheduled_at = scheduled_at - ${by} where job_id in ${mine}`)
  await t.ctx.db.write.execute(
    sql`update commit_statuses set started_at = started_at - ${by}, queued_at = queued_at - ${by} where project_id = ${project.id}`,
  )
}

describe('a job that was given away and of which nothing was heard', () => {
  it('waits again after five minutes, with another token (CI-127)', async () => {
    const { project, runner } = await withCi('job: { script: x }')
    const lost = await runner.takeNamed('job')
    await minutesPass(project, 4)
    await returnLostBuilds.run(t.ctx, {}, FIRST)
    expect(await newest(project)).toMatchObject({ status: 'running' })
    await minutesPass(project, 2)
    await returnLostBuilds.run(t.ctx, {}, FIRST)
    expect(await newest(project)).toMatchObject({ id: lost.id, status: 'pending', runner: null, started_at: null })
    const again = await runner.takeNamed('job')
    expect(again.id).toBe(lost.id)
    expect(again.token).not.toBe(lost.token)
    expect((await runner.trace(lost, 0, 'late')).status).toBe(403)
    expect((await runner.end(lost, 'failed')).status).toBe(403)
    expect((await runner.end(again, 'success')).status).toBe(200)
    expect(await newest(project)).toMatchObject({ status: 'success' })
  })

  it('is not one whose runner wrote to its log, or only said that it lives (CI-127)', async () => {
    const { project, runner } = await withCi('one: { script: x }\ntwo: { script: x }')
    const [one, two] = [await runner.takeNamed('one'), await runner.takeNamed('two')]
    await minutesPass(project, 1)
    await runner.trace(one, 0, 'begun')
    await runner.end(two, 'running')
    await minutesPass(project, 30)
    await returnLostBuilds.run(t.ctx, {}, FIRST)
    await endStaleBuilds.run(t.ctx, {}, FIRST)
    expect((await runner.end(one, 'success')).status).toBe(200)
    expect((await runner.end(two, 'success')).status).toBe(200)
  })
})

describe('a job fails as stuck', () => {
  const STUCK = { status: 'failed', failure_reason: 'stuck_or_timeout_failure' }

  it('after an hour without a sign of its runner, which learns of it (CI-125)', async () => {
    const { project, runner } = await withCi('job: { script: x, timeout: 3h }')
    const job = await runner.takeNamed('job')
    await runner.trace(job, 0, 'begun')
    await minutesPass(project, 59)
    await endStaleBuilds.run(t.ctx, {}, FIRST)
    expect(await newest(project)).toMatchObject({ status: 'running' })
    await minutesPass(project, 2)
    await endStaleBuilds.run(t.ctx, {}, FIRST)
    expect(await newest(project)).toMatchObject(STUCK)
    const late = await runner.trace(job, 5, 'late')
    expect([late.status, late.headers.get('job-status')]).toEqual([403, 'failed'])
  })

  it('ten minutes after its own time, although its runner writes (CI-125)', async () => {
    const { project, runner } = await withCi('job: { script: x, timeout: 10m }')
    const job = await runner.takeNamed('job')
    await minutesPass(project, 19)
    await runner.trace(job, 0, 'still here')
    await endStaleBuilds.run(t.ctx, {}, FIRST)
    expect(await newest(project)).toMatchObject({ status: 'running' })
    await minutesPass(project, 2)
    await runner.trace(job, 10, 'still here')
    await endStaleBuilds.run(t.ctx, {}, FIRST)
    expect(await newest(project)).toMatchObject(STUCK)
  })

  it('when no runner took it for a day (CI-125)', async () => {
    const { project, runner } = await withCi('job: { script: x, tags: [other] }')
    await minutesPass(project, 23 * 60)
    await endStaleBuilds.run(t.ctx, {}, FIRST)
    expect(await newest(project)).toMatchObject({ status: 'pending' })
    await minutesPass(project, 61)
    await endStaleBuilds.run(t.ctx, {}, FIRST)
    expect(await newest(project)).toMatchObject(STUCK)
    expect(await runner.take()).toBeNull()
  })
})

it('a delayed job begins when its time has come, not before (CI-126)', async () => {
  const { project, runner } = await withCi('job: { script: x, when: delayed, start_in: 30 minutes }')
  await minutesPass(project, 29)
  await startDelayed.run(t.ctx, {}, FIRST)
  expect(await newest(project)).toMatchObject({ status: 'scheduled' })
  await minutesPass(project, 2)
  await startDelayed.run(t.ctx, {}, FIRST)
  await runner.end(await runner.takeNamed('job'), 'success')
  expect(await newest(project)).toMatchObject({ status: 'success' })
})
