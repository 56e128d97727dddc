import { gzipSync } from 'node:zlib'
import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { artifacts, commitStatuses, projects, traceChunks } from '../../src/db/schema/index.js'
import { removeArtifacts } from '../../src/services/ci/artifacts/store.js'
import { archiveLogs } from '../../src/services/ci/builds/archive-logs.js'
import { streamTrace } from '../../src/services/ci/builds/chunks.js'
import { testApp } from '../support/app.js'
import { aProject } from '../support/factories.js'
import { ScriptedRunner } from '../support/runner.js'

const t = testApp()

async function withCi(yaml: string) {
  const project = await aProject(t.ctx, { files: { '.gitlab-ci.yml': yaml } })
  await t.ctx.jobs.drain()
  const runner = await ScriptedRunner.make(t.ctx, t.url, { kind: 'project_type', project_id: project.id })
  const get = async (path: string) => (await t.api('get', `${project.path}${path}`, project.creator).expect(200)).body
  const pipeline = async () => (await get('/pipelines'))[0]
  return { project, runner, get, pipeline }
}

const junit = (body: string) => gzipSync(`<?xml version="1.0" encoding="UTF-8"?>\n<testsuites><testsuite name="s">${body}</testsuite></testsuites>`)
const AS_JUNIT = '?artifact_format=gzip&artifact_type=junit'
const JUNIT = 'job: { script: x, artifacts: { reports: { junit: j.xml } } }'

describe('a JUnit report', () => {
  it('is read with all its files, and counted (CI-251)', async () => {
    const { runner, get, pipeline, project } = await withCi(`${JUNIT}\nother: { script: x }`)
    const job = await runner.takeNamed('job')
    const report = Buffer.concat([
      junit(`<testcase name="one" classname="A" time="1.5" file="a.rb"/>
        <testcase name="two" classname="A" time="0,500"><failure message="was 1">trace &amp; <![CDATA[<?xml x?>]]></failure></testcase>`),
      junit('<testcase name="three" classname="B"><skipped/></testcase><testcase name="four" classname="B"><error>boom</error></testcase>'),
    ])
    expect((await runner.upload(job, report, AS_JUNIT)).status).toBe(201)
    await runner.end(job, 'success')
    const { id } = await pipeline()
    const counts = { total_count: 4, success_count: 1, failed_count: 1, skipped_count: 1, error_count: 1 }
    const body = await get(`/pipelines/${id}/test_report`)
    expect(body).toMatchObject({ ...counts, test_suites: [{ name: 'job', ...counts, suite_error: null }] })
    expect(body.test_suites[0].test_cases).toEqual([
      { status: 'success', name: 'one', classname: 'A', file: 'a.rb', execution_time: 1.5, system_output: null, stack_trace: null },
      {
        status: 'failed',
        name: 'two',
        classname: 'A',
        file: null,
        execution_time: 500,
        system_output: 'was 1\ntrace & \n<?xml x?>',
        stack_trace: null,
      },
      { status: 'skipped', name: 'three', classname: 'B', file: null, execution_time: 0, system_output: null, stack_trace: null },
      { status: 'error', name: 'four', classname: 'B', file: null, execution_time: 0, system_output: 'boom', stack_trace: null },
    ])
    expect(await get(`/pipelines/${id}/test_report_summary`)).toMatchObject({
      total: { count: 4, success: 1, failed: 1, skipped: 1, error: 1, suite_error: null },
      test_suites: [{ name: 'job', ...counts, build_ids: [job.id] }],
    })
    await t.api('get', `${project.path}/pipelines/999999/test_report`, project.creator).expect(404)
    await t.api('get', `${project.path}/pipelines/${id}/test_report`).expect(401)
  })

  it.each([
    ['that is no XML', gzipSync('<testsuites><testcase>'), /unclosed tag/],
    ['that is no gzip', Buffer.from('plain text, and more of it'), /not gzip/],
    ['that grows', gzipSync(Buffer.alloc(20_000_000, 0x20)), /larger than|buffer/i],
    [
      'with entities that grow',
      gzipSync('<!DOCTYPE a [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'),
      /entity/,
    ],
    ['nested without end', gzipSync('<a>'.repeat(100_000)), /too many elements/],
  ])('%s is named with its fault, and costs nothing (CI-250)', async (_, bytes, fault) => {
    const { runner, get, pipeline } = await withCi(JUNIT)
    const job = await runner.takeNamed('job')
    expect((await runner.upload(job, bytes, AS_JUNIT)).status).toBe(201)
    const { total_count, test_suites } = await get(`/pipelines/${(await pipeline()).id}/test_report`)
    expect([total_count, test_suites.length]).toEqual([0, 1])
    expect(test_suites[0].suite_error).toMatch(fault)
  })
})

describe('a dotenv report', () => {
  const YAML = `
stages: [a, b]
make: { stage: a, script: x, artifacts: { reports: { dotenv: .env } } }
use: { stage: b, script: x, variables: { A: own, URL: "at $A" } }
not: { stage: b, script: x, needs: [{ job: make, artifacts: false }] }
`
  const AS_DOTENV = '?artifact_format=gzip&artifact_type=dotenv'

  it('gives its variables to the jobs that get the files of its job (CI-252)', async () => {
    const { runner, project } = await withCi(YAML)
    await t.api('post', `${project.path}/variables`, project.creator).send({ key: 'FROM_PROJECT', value: 'project' }).expect(201)
    const make = await runner.takeNamed('make')
    expect((await runner.upload(make, gzipSync('A=left behind\nB = "b"\nFROM_PROJECT=job\n'), AS_DOTENV)).status).toBe(201)
    await runner.end(make, 'success')
    const jobs = [await runner.take(), await runner.take()]
    const values = (name: string) =>
      Object.fromEntries((jobs.find((job) => job?.job_info.name === name)?.variables ?? []).map(({ key, value }) => [key, value]))
    expect(values('use')).toMatchObject({ A: 'left behind', B: '"b"', URL: 'at left behind', FROM_PROJECT: 'project' })
    expect(values('not')).not.toHaveProperty('B')
  })

  it.each([
    ['no pair', 'Invalid Format'],
    ['A=1\n\nB=2', 'Invalid Format'],
    ['A-B=1', "Validation failed: Key can contain only letters, digits and '_'."],
    [Array.from({ length: 51 }, (_, at) => `K${at}=1`).join('\n'), 'Dotenv files cannot have more than 50 variables'],
    [`A=${'x'.repeat(5_119)}`, 'Dotenv Artifact Too Big. Maximum Allowable Size: 5120'],
    [`A=${'x'.repeat(1_000_000)}`, 'Dotenv Artifact Too Big. Maximum Allowable Size: 5120'],
  ])('is refused with %j (CI-252)', async (text, message) => {
    const { runner } = await withCi(YAML)
    const make = await runner.takeNamed('make')
    const answer = await runner.upload(make, gzipSync(text), AS_DOTENV)
    expect([answer.status, await answer.json()]).toEqual([400, { message }])
  })
})

describe('reports that are not done', () => {
  it.each(['sast', 'metrics', 'terraform', 'accessibility'])('are refused by name: %s (CI-250)', async (type) => {
    const { get, pipeline } = await withCi(`job: { script: x, artifacts: { reports: { ${type}: x.json } } }`)
    expect((await get(`/pipelines/${(await pipeline()).id}`)).yaml_errors).toBe(
      `jobs:job:artifacts:reports \`${type}\` is not supported by this server`,
    )
  })
})

describe('files of jobs', () => {
  it('are counted in the size of their project until they are removed (CI-258)', async () => {
    const { runner, project } = await withCi('job: { script: x, artifacts: { paths: [a] } }')
    const size = async () => {
      const { statistics } = (await t.api('get', `${project.path}?statistics=true`, project.creator).expect(200)).body
      return [statistics.job_artifacts_size, statistics.storage_size - statistics.repository_size]
    }
    const job = await runner.takeNamed('job')
    expect(await size()).toEqual([0, 0])
    await runner.upload(job, Buffer.alloc(1_000))
    await runner.upload(job, gzipSync('<a/>'), AS_JUNIT)
    const more = gzipSync('<a/>').length
    expect(await size()).toEqual([1_000 + more, 1_000 + more])
    await runner.upload(job, Buffer.alloc(300))
    expect(await size()).toEqual([300 + more, 300 + more])
    await runner.end(job, 'failed')
    await t.ctx.db.write
      .update(artifacts)
      .set({ expires_at: new Date(0) })
      .where(eq(artifacts.job_id, job.id))
    await removeArtifacts.run(t.ctx, {}, { id: 0 } as never)
    expect(await size()).toEqual([0, 0])
    await t.ctx.db.write.update(projects).set({ job_artifacts_size: 0 }).where(eq(projects.id, project.id))
  })
})

describe('the log of a job', () => {
  it('is sent in ranges, and as a stream (CI-259)', async () => {
    const { runner, project } = await withCi('job: { script: x }')
    const job = await runner.takeNamed('job')
    const text = Array.from({ length: 60_000 }, (_, at) => `line ${at} ${'x'.repeat(40)}\n`).join('')
    for (let at = 0; at < text.length; at += 1_048_576) await runner.trace(job, at, text.slice(at, at + 1_048_576))
    const log = (range?: string) => {
      const call = t.api('get', `${project.path}/jobs/${job.id}/trace`, project.creator)
      return range ? call.set('range', range) : call
    }
    const whole = await log().expect(200)
    expect([whole.headers['accept-ranges'], Number(whole.headers['content-length']), whole.text === text]).toEqual(['bytes', text.length, true])
    const part = await log('bytes=1048570-1048585').expect(206)
    expect([part.text, part.headers['content-range']]).toEqual([text.slice(1_048_570, 1_048_586), `bytes 1048570-1048585/${text.length}`])
    expect((await log('bytes=-5').expect(206)).text).toBe(text.slice(-5))
    await log(`bytes=${text.length}-`).expect(416)
  })
})

describe('the log of a job that has ended', () => {
  const runArchiving = () => archiveLogs.run(t.ctx, {}, { id: 0 } as never)
  const endLongAgo = (job: number) =>
    t.ctx.db.write
      .update(commitStatuses)
      .set({ finished_at: new Date(0) })
      .where(eq(commitStatuses.id, job))
  const chunksOf = async (job: number) =>
    (await t.ctx.db.write.select({ first: traceChunks.first }).from(traceChunks).where(eq(traceChunks.job_id, job))).length

  async function withLog(text: string) {
    const { runner, project, get } = await withCi('job: { script: x, artifacts: { paths: [a] } }')
    const job = await runner.takeNamed('job')
    for (let at = 0; at < text.length; at += 1_048_576) await runner.trace(job, at, text.slice(at, at + 1_048_576))
    await runner.upload(job, Buffer.from('zip'))
    await runArchiving()
    expect(await chunksOf(job.id)).toBeGreaterThan(0)
    await runner.end(job, 'success')
    await runArchiving()
    expect(await chunksOf(job.id)).toBeGreaterThan(0)
    await endLongAgo(job.id)
    const log = (range?: string) => {
      const call = t.api('get', `${project.path}/jobs/${job.id}/trace`, project.creator)
      return range ? call.set('range', range) : call
    }
    return { job, project, log, get }
  }

  it('moves to the store, and is read from there as before (CI-260)', async () => {
    const text = Array.from({ length: 40_000 }, (_, at) => `line ${at} ${'x'.repeat(40)}\n`).join('')
    const { job, project, log, get } = await withLog(text)
    const before = await get(`/jobs/${job.id}`)
    await runArchiving()
    expect(await chunksOf(job.id)).toBe(0)
    expect((await log().expect(200)).text === text).toBe(true)
    expect((await log('bytes=1048570-1048585').expect(206)).text).toBe(text.slice(1_048_570, 1_048_586))
    const file = { file_type: 'trace', file_format: 'raw', filename: 'job.log', size: text.length }
    expect(await get(`/jobs/${job.id}`)).toEqual(before)
    expect(before.artifacts[1]).toEqual(file)
    expect((await get('?statistics=true')).statistics.job_artifacts_size).toBe(text.length + 3)
    // the files of the job go without it
    await t.api('delete', `${project.path}/jobs/${job.id}/artifacts`, project.creator).expect(204)
    expect((await log().expect(200)).text.length).toBe(text.length)
    await t.api('post', `${project.path}/jobs/${job.id}/artifacts/keep`, project.creator).expect(404)
    await runArchiving()
    expect((await get(`/jobs/${job.id}`)).artifacts).toEqual([file])
  })

  it('is read to its end when it moves meanwhile (CI-260)', async () => {
    // no beginning of a token, which would be kept back
    const text = '.'.repeat(3_000_000)
    const { job } = await withLog(text)
    const pieces: Buffer[] = []
    for await (const piece of streamTrace(t.ctx, job.id, 0, text.length)) {
      if (pieces.length === 0) await runArchiving()
      pieces.push(piece)
    }
    expect(Buffer.concat(pieces).equals(Buffer.from(text))).toBe(true)
  })

  it('goes with the files when it is erased (CI-123)', async () => {
    const { job, project, log, get } = await withLog('some text\n')
    await runArchiving()
    await t.api('post', `${project.path}/jobs/${job.id}/erase`, project.creator).expect(201)
    expect((await log().expect(200)).text).toBe('')
    expect((await get(`/jobs/${job.id}`)).artifacts).toEqual([])
    await t.api('get', `${project.path}/jobs/${job.id}/artifacts`, project.creator).expect(404)
    expect((await get('?statistics=true')).statistics.job_artifacts_size).toBe(0)
  })
})
