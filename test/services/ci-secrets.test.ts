import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { builds, traceChunks } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, type TestProject } from '../support/factories.js'
import { type GivenJob, ScriptedRunner } from '../support/runner.js'

const t = testApp()

/** A project in a group, and a runner for it alone. */
async function withCi(yaml: string) {
  const admin = await anAdmin(t.ctx)
  const group = await aGroup(t.ctx, { creator: admin })
  const project = await aProject(t.ctx, { creator: admin, namespace_id: group.id, files: { '.gitlab-ci.yml': yaml } })
  const runner = await ScriptedRunner.make(t.ctx, t.url, { kind: 'project_type', project_id: project.id })
  const set = (path: string, body: object) => t.api('post', `${path}/variables`, admin).send(body).expect(201)
  return { project, group, runner, set }
}

const logOf = async (project: TestProject, job: GivenJob) =>
  (await t.api('get', `${project.path}/jobs/${job.id}/trace`, project.creator).expect(200)).text
const stored = async (job: GivenJob) =>
  Buffer.concat(
    (await t.ctx.db.read.select().from(traceChunks).where(eq(traceChunks.job_id, job.id)).orderBy(traceChunks.first)).map(({ bytes }) => bytes),
  ).toString()

it('a value in the middle of a large piece is masked, wherever the piece is cut (CI-240, CI-241)', async () => {
  const { project, runner, set } = await withCi('job: { script: x }')
  await set(project.path, { key: 'TOKEN', value: 'eight888', masked: true })
  await t.ctx.jobs.drain()
  const job = await runner.takeNamed('job')
  const line = `${'x'.repeat(262_140)}eight888${'y'.repeat(300_000)}\n`
  expect((await runner.trace(job, 0, line)).status).toBe(202)
  const log = await logOf(project, job)
  expect([log.length, log.slice(262_130, 262_160)]).toEqual([line.length, `${'x'.repeat(10)}[MASKED]${'y'.repeat(12)}`])
  expect(log.replace('[MASKED]', 'eight888') === line).toBe(true)
})

describe('variables of a job', () => {
  it('are those of the instance, of groups and of the project, with types and masks (V-60, V-65, CI-34, CI-116)', async () => {
    const { project, group, runner, set } = await withCi(
      'job: { script: x, variables: { FROM: file }, rules: [{ if: $BELOW == "project" && $FROM == "project" && $MINE == "instance" }] }',
    )
    for (const [path, from] of [
      ['/admin/ci', 'instance'],
      [group.path, 'group'],
      [project.path, 'project'],
    ] as const) {
      await set(path, { key: 'FROM', value: from })
      if (from !== 'instance') await set(path, { key: 'BELOW', value: from })
    }
    await set('/admin/ci', { key: 'MINE', value: 'instance' })
    await set(project.path, { key: 'CONFIG', value: '$FROM', variable_type: 'file' })
    await set(project.path, { key: 'TOKEN', value: 'eight888', masked: true })
    await set(project.path, { key: 'RAW', value: '$FROM', raw: true })
    await t.ctx.jobs.drain()
    await t.api('post', `${project.path}/pipeline`, project.creator).send({ ref: 'main' }).expect(201)
    const job = await runner.takeNamed('job')
    const named = (key: string) => job.variables.find((each) => each.key === key)
    const plain = { public: false, masked: false, file: false, raw: false }
    expect(named('FROM')).toEqual({ ...plain, key: 'FROM', value: 'project' })
    expect(named('MINE')).toEqual({ ...plain, key: 'MINE', value: 'instance' })
    expect(named('CONFIG')).toEqual({ ...plain, key: 'CONFIG', value: '$FROM', file: true })
    expect(named('TOKEN')).toEqual({ ...plain, key: 'TOKEN', value: 'eight888', masked: true })
    expect(named('RAW')).toEqual({ ...plain, key: 'RAW', value: '$FROM', raw: true })
    for (const key of ['FROM', 'MINE']) await t.api('delete', `/admin/ci/variables/${key}`, project.creator).expect(204)
  })

  it('of other environments are left out (V-63)', async () => {
    const { project, runner, set } = await withCi('job: { script: x }')
    await set(project.path, { key: 'URL', value: 'all' })
    await set(project.path, { key: 'URL', value: 'live', environment_scope: 'production' })
    await set(project.path, { key: 'LIVE', value: 'live', environment_scope: 'production' })
    await t.ctx.jobs.drain()
    const job = await runner.takeNamed('job')
    expect(job.variables.filter(({ key }) => key === 'URL' || key === 'LIVE').map(({ value }) => value)).toEqual(['all'])
  })
})

describe('the log of a job', () => {
  it('has no value of a masked variable and no token, however it is cut, and keeps its length (CI-240)', async () => {
    const { project, runner, set } = await withCi("job: { script: x, coverage: '/done (\\d+)%/' }")
    await set(project.path, { key: 'SECRET', value: 's3cret-value', masked: true })
    await set(project.path, { key: 'OTHER', value: 'not-masked' })
    await t.ctx.jobs.drain()
    const job = await runner.takeNamed('job')
    const [kept] = await t.ctx.db.read.select({ masks: builds.masks }).from(builds).where(eq(builds.job_id, job.id))
    expect(kept?.masks).not.toContain('s3cret-value')
    const text = `a s3cret-value b not-masked\n${job.token}\nhttp://gitlab-ci-token:${job.token}@host\ns3cret-valu s3cret-value\ndone 7%\n`
    let at = 0
    for (const piece of [7, 11, 60, 75, 76, 90, text.length]) {
      const answer = await runner.trace(job, at, text.slice(at, piece))
      expect([answer.status, answer.headers.get('range')]).toEqual([202, `0-${piece}`])
      for (const shown of [await logOf(project, job), await stored(job)]) {
        expect(shown).not.toContain('s3cret-value')
        expect(shown).not.toContain('a s3cret-v')
        expect(shown).not.toContain(job.token.slice(0, 8))
      }
      at = piece
    }
    // again, as a runner does that has lost the answer
    expect((await runner.trace(job, 2, text.slice(2))).headers.get('range')).toBe(`0-${text.length}`)
    expect((await runner.end(job, 'success')).status).toBe(200)
    const shown = await logOf(project, job)
    expect([shown.length, shown.slice(0, 28)]).toEqual([text.length, 'a [MASKED]**** b not-masked\n'])
    expect(shown.replaceAll(/\[MASKED\]\*+/g, '*')).toBe('a * b not-masked\n*\nhttp://gitlab-ci-token:*@host\ns3cret-valu *\ndone 7%\n')
    const [ended] = await t.ctx.db.read.select({ masks: builds.masks }).from(builds).where(eq(builds.job_id, job.id))
    expect(ended?.masks).toBeNull()
    expect(JSON.stringify(t.logged)).not.toContain(job.token)
    expect(JSON.stringify(t.logged)).not.toContain('s3cret-value')
  })

  it.each([
    ['ended by its runner', 'all of it: s3cret-val', 'all of it: [MASKED]**'],
    ['ended by its runner', 'all of it: s3c', 'all of it: s3c'],
    ['ended by its runner', 'all of it: s3cr', 'all of it: [MAS'],
    ['canceled', 'all of it: s3cret-val', 'all of it: [MASKED]**'],
    ['canceled', 'it was for us', 'it was for us'],
  ])('of a job that was %s after %j is %j: a beginning of a value is masked, three bytes of it are none (CI-240)', async (how, log, shown) => {
    const { project, runner, set } = await withCi('job: { script: x }')
    await set(project.path, { key: 'SECRET', value: 's3cret-value', masked: true })
    await t.ctx.jobs.drain()
    const job = await runner.takeNamed('job')
    await runner.trace(job, 0, log)
    if (how === 'canceled') await t.api('post', `${project.path}/jobs/${job.id}/cancel`, project.creator).expect(201)
    else await runner.end(job, 'failed')
    expect(await logOf(project, job)).toBe(shown)
    expect(await stored(job)).toBe(shown)
  })

  it('has at most so many values to look for; a job with more is not given (CI-241)', async () => {
    const { project, runner, set } = await withCi('job: { script: x }')
    for (let at = 0; at < 7; at++) await set(project.path, { key: `S${at}`, value: `${at}${'x'.repeat(9_999)}`, masked: true })
    await t.ctx.jobs.drain()
    expect(await runner.take()).toBeNull()
    const [job] = (await t.api('get', `${project.path}/jobs`, project.creator).expect(200)).body
    expect(job).toMatchObject({ status: 'failed', failure_reason: 'data_integrity_failure' })
  })
})
