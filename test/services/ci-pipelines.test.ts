import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { leftovers } from '../../src/services/operations/recovery.js'
import { testApp } from '../support/app.js'
import { ciOf } from '../support/ci.js'
import { aProject, aUser, type TestProject } from '../support/factories.js'

const t = testApp()
const { withCi, push, get, states, jobNamed, act } = ciOf(t)
const pipelines = (project: TestProject) => get(project, '/pipelines')

const STAGES = `
stages: [build, test]
compile: { stage: build, script: make }
one: { stage: test, script: [a, b] }
two: { stage: test, script: c, allow_failure: true }
`

describe('a pipeline of a push', () => {
  it('is made of the configuration of its commit, once, and begins with the first stage (CI-101, CI-103)', async () => {
    const { project } = await withCi(STAGES)
    const [newest, ...others] = await pipelines(project)
    expect(others).toEqual([])
    expect(newest).toMatchObject({ status: 'pending', source: 'push', ref: 'main', iid: 1 })
    expect(await states(project)).toEqual(['pending', 'compile pending', 'one created', 'two created'])
    expect(await jobNamed(project, 'compile')).toMatchObject({ stage: 'build', allow_failure: false, runner: null, artifacts: [], tag_list: [] })
    expect(await get(project, `/pipelines/${newest.id}`)).toMatchObject({ yaml_errors: null })
    await push(project, { 'b.txt': 'b\n' })
    expect(await pipelines(project)).toMatchObject([{ iid: 2 }, { iid: 1 }])
    const { id } = (await pipelines(project))[0]
    expect((await get(project, `/pipelines/${id}`)).before_sha).toBe(newest.sha)
  })

  it('goes on as its jobs end, and ends with the last (CI-101, CI-102)', async () => {
    const { project, runner } = await withCi(STAGES)
    const compile = await runner.takeNamed('compile')
    expect(await states(project)).toEqual(['running', 'compile running', 'one created', 'two created'])
    expect((await runner.end(compile, 'success')).status).toBe(200)
    expect(await states(project)).toEqual(['running', 'compile success', 'one pending', 'two pending'])
    await runner.end(await runner.takeNamed('one'), 'success')
    await runner.end(await runner.takeNamed('two'), 'failed', { failure_reason: 'script_failure', exit_code: 2 })
    expect(await states(project)).toEqual(['success', 'compile success', 'one success', 'two failed'])
    expect(await jobNamed(project, 'two')).toMatchObject({ failure_reason: 'script_failure', allow_failure: true })
  })

  it('fails with a job, and skips what comes after it (CI-102)', async () => {
    const { project, runner } = await withCi(STAGES)
    await runner.end(await runner.takeNamed('compile'), 'failed', { failure_reason: 'script_failure' })
    expect(await states(project)).toEqual(['failed', 'compile failed', 'one skipped', 'two skipped'])
    expect(await runner.take()).toBeNull()
  })

  it('fails with the faults of the configuration, and has no jobs (CI-100)', async () => {
    const { project } = await withCi('job: { script: a, unknown: 1 }')
    const [{ id, status }] = await pipelines(project)
    expect(status).toBe('failed')
    expect((await get(project, `/pipelines/${id}`)).yaml_errors).toBe('jobs:job config contains unknown keys: unknown')
    expect(await states(project)).toEqual(['failed'])
  })

  it('is skipped where the message says so, and not made without a configuration or with jobs off (CI-103)', async () => {
    const { project } = await withCi(STAGES)
    await push(project, { 'b.txt': 'b\n' }, 'b [ci skip]')
    expect(await states(project)).toEqual(['skipped'])
    await t.api('put', project.path, project.creator).send({ builds_access_level: 'disabled' }).expect(200)
    await push(project, { 'c.txt': 'c\n' })
    await t.api('put', project.path, project.creator).send({ builds_access_level: 'enabled' }).expect(200)
    expect(await pipelines(project)).toHaveLength(2)
    const plain = await aProject(t.ctx, { files: { 'a.txt': 'a\n' } })
    await push(plain, { 'b.txt': 'b\n' })
    expect(await pipelines(plain)).toEqual([])
  })

  it('waits for jobs by name with needs (CI-101)', async () => {
    const { project, runner } = await withCi(`
stages: [a, b]
slow: { stage: a, script: x }
quick: { stage: a, script: x }
after quick: { stage: b, script: x, needs: [quick] }
at once: { stage: b, script: x, needs: [] }
`)
    expect(await states(project)).toEqual(['pending', 'slow pending', 'quick pending', 'after quick created', 'at once pending'])
    const taken = [await runner.takeNamed('slow'), await runner.takeNamed('quick'), await runner.takeNamed('at once')]
    await runner.end(taken[1] as (typeof taken)[0], 'success')
    expect(await states(project)).toEqual(['running', 'slow running', 'quick success', 'after quick pending', 'at once running'])
  })

  it('waits for a person, and for time, where the file says so (CI-122, CI-126)', async () => {
    const { project, runner } = await withCi(`
stages: [a, b, c]
ask: { stage: a, script: x, when: manual, allow_failure: false }
later: { stage: b, script: x, when: delayed, start_in: 5 minutes }
end: { stage: c, script: x }
`)
    expect(await states(project)).toEqual(['manual', 'ask manual', 'later created', 'end created'])
    const ask = await jobNamed(project, 'ask')
    await act(project, ask.id, 'play').expect(200)
    await act(project, ask.id, 'play').expect(400, { message: 'Unplayable Job' })
    await runner.end(await runner.takeNamed('ask'), 'success')
    expect(await states(project)).toEqual(['scheduled', 'ask success', 'later scheduled', 'end created'])
    await act(project, (await jobNamed(project, 'later')).id, 'play').expect(200)
    await runner.end(await runner.takeNamed('later'), 'success')
    expect(await states(project)).toEqual(['running', 'ask success', 'later success', 'end pending'])
  })
})

describe('a job', () => {
  it('has its scripts, variables and credentials for the runner (CI-116)', async () => {
    const { project, runner } = await withCi(
      'variables: { A: one }\nbefore_script: [before]\njob: { script: [x, y], after_script: [z], variables: { B: "$A two" } }',
    )
    await t.api('post', `${project.path}/variables`, project.creator).send({ key: 'SECRET', value: 'hidden' }).expect(201)
    const job = await runner.takeNamed('job')
    const values = Object.fromEntries(job.variables.map(({ key, value }) => [key, value]))
    expect(values).toMatchObject({ A: 'one', B: 'one two', SECRET: 'hidden', CI_JOB_NAME: 'job', CI_COMMIT_BRANCH: 'main', CI_JOB_TOKEN: job.token })
    expect(job.variables.find(({ key }) => key === 'SECRET')).toMatchObject({ public: false })
    expect(job.steps).toMatchObject([
      { name: 'script', script: ['before', 'x', 'y'] },
      { name: 'after_script', script: ['z'] },
    ])
    const { repo_url, sha, refspecs } = job.git_info
    const { pathname, username, password } = new URL(repo_url)
    const headers = { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
    const clone = (service: string) => fetch(`${t.url}${pathname}/info/refs?service=${service}`, { headers })
    expect(await (await clone('git-upload-pack')).text()).toContain(sha)
    expect((await clone('git-receive-pack')).status).toBe(403)
    expect(refspecs).toContain('+refs/heads/main:refs/remotes/origin/main')
    await runner.end(job, 'success')
    expect((await clone('git-upload-pack')).status).toBe(401)
  })

  it('has a log, of which each piece counts once (CI-114)', async () => {
    const { project, runner } = await withCi("job: { script: x, coverage: '/done (\\d+)%/' }")
    const job = await runner.takeNamed('job')
    const piece = await runner.trace(job, 0, 'one\n')
    expect([piece.status, piece.headers.get('range'), piece.headers.get('job-status')]).toEqual([202, '0-4', 'running'])
    expect((await runner.trace(job, 0, 'one\n')).headers.get('range')).toBe('0-4')
    const early = await runner.trace(job, 9, 'lost')
    expect([early.status, early.headers.get('range')]).toEqual([416, '0-4'])
    expect((await runner.trace(job, 2, 'e\ndone 42%\n')).headers.get('range')).toBe('0-13')
    const { text } = await t.api('get', `${project.path}/jobs/${job.id}/trace`, project.creator).expect(200)
    expect(text).toBe('one\ndone 42%\n')
    await runner.end(job, 'success')
    expect(await jobNamed(project, 'job')).toMatchObject({ status: 'success', coverage: 42 })
    expect((await runner.trace(job, 13, 'late')).status).toBe(403)
  })

  it('learns that it was canceled, and stays so (CI-113, CI-120)', async () => {
    const { project, runner } = await withCi('job: { script: x }')
    const job = await runner.takeNamed('job')
    await act(project, job.id, 'cancel').expect(201)
    const answer = await runner.trace(job, 0, 'more')
    expect([answer.status, answer.headers.get('job-status')]).toEqual([403, 'canceled'])
    expect((await runner.end(job, 'failed', { failure_reason: 'job_canceled' })).status).toBe(403)
    expect(await states(project)).toEqual(['canceled', 'job canceled'])
  })

  it('is tried again by itself as often as it says, and by hand (CI-121)', async () => {
    const { project, runner } = await withCi('job: { script: x, retry: { max: 1, when: script_failure } }\nafter: { stage: deploy, script: y }')
    await runner.end(await runner.takeNamed('job'), 'failed', { failure_reason: 'script_failure' })
    expect(await states(project)).toEqual(['pending', 'after created', 'job pending'])
    await runner.end(await runner.takeNamed('job'), 'failed', { failure_reason: 'script_failure' })
    expect(await states(project)).toEqual(['failed', 'after skipped', 'job failed'])
    const { id } = await jobNamed(project, 'job')
    const { body } = await act(project, id, 'retry').expect(201)
    expect(body).toMatchObject({ name: 'job', status: 'pending' })
    expect(body.id).toBeGreaterThan(id)
    await act(project, id, 'retry').expect(403)
    await runner.end(await runner.takeNamed('job'), 'success')
    expect(await states(project)).toEqual(['running', 'after pending', 'job success'])
    expect(await states(project, '?include_retried=true')).toHaveLength(5)
  })

  it('of a finished report is answered again, and of another state refused (CI-113)', async () => {
    const { runner } = await withCi('job: { script: x }')
    const job = await runner.takeNamed('job')
    for (let i = 0; i < 2; i++) expect((await runner.end(job, 'success')).status).toBe(200)
    expect((await runner.end(job, 'failed')).status).toBe(403)
    expect((await runner.end({ id: job.id, token: 'wrong' }, 'success')).status).toBe(403)
  })

  it('loses its log when it is erased (CI-123)', async () => {
    const { project, runner } = await withCi('job: { script: x }')
    const job = await runner.takeNamed('job')
    await runner.trace(job, 0, 'secret')
    await act(project, job.id, 'erase').expect(403)
    await runner.end(job, 'success')
    await act(project, job.id, 'erase').expect(201)
    expect((await t.api('get', `${project.path}/jobs/${job.id}/trace`, project.creator).expect(200)).text).toBe('')
  })
})

describe('artifacts', () => {
  /** A zip archive with the file `out/a.txt`, stored as it is. */
  const ZIP = Buffer.from(
    'UEsDBBQAAAAAAAAAIQAgMDo2BgAAAAYAAAAJAAAAb3V0L2EudHh0aGVsbG8KUEsBAhQDFAAAAAAAAAAhACAwOjYGAAAABgAAAAkAAAAAAAAAAAAAAIABAAAAAG91dC9hLnR4dFBLBQYAAAAAAQABADcAAAAtAAAAAAA=',
    'base64',
  )
  const YAML = 'stages: [a, b]\nmake: { stage: a, script: x, artifacts: { paths: [out], expire_in: 1 week } }\nuse: { stage: b, script: x }'

  it('are stored, given to later jobs, and downloaded whole or one file at a time (CI-130 to CI-133)', async () => {
    const { project, runner } = await withCi(YAML)
    const make = await runner.takeNamed('make')
    expect((await runner.upload(make, ZIP, '?artifact_format=zip&artifact_type=archive&expire_in=1+week')).status).toBe(201)
    await runner.end(make, 'success')
    const use = await runner.takeNamed('use')
    expect(use.dependencies).toMatchObject([{ id: make.id, name: 'make' }])
    const fetched = await runner.download(make.id, use.dependencies[0]?.token ?? '')
    expect(Buffer.from(await fetched.arrayBuffer())).toEqual(ZIP)
    await runner.end(use, 'success')
    expect((await runner.download(make.id, use.token)).status).toBe(403)
    expect(await jobNamed(project, 'make')).toMatchObject({
      artifacts_file: { filename: 'artifacts.zip', size: ZIP.length },
      artifacts_expire_at: expect.any(String),
    })
    const raw = (path: string) => t.api('get', `${project.path}/jobs/${path}`, project.creator)
    await raw(`${make.id}/artifacts`).expect(200).expect('content-length', String(ZIP.length))
    for (const path of [`${make.id}/artifacts/out%2Fa.txt`, 'artifacts/main/raw/out%2Fa.txt?job=make'])
      expect((await raw(path).expect(200)).body.toString()).toBe('hello\n')
    await raw('artifacts/main/download?job=make').expect(200)
    await raw(`${make.id}/artifacts/out%2Fb.txt`).expect(404)
    await t.api('post', `${project.path}/jobs/${make.id}/artifacts/keep`, project.creator).expect(200)
    expect((await jobNamed(project, 'make')).artifacts_expire_at).toBeNull()
    await t.api('delete', `${project.path}/jobs/${make.id}/artifacts`, project.creator).expect(204)
    await raw(`${make.id}/artifacts`).expect(404)
  })

  it('are found by paths and refs with their slashes as they are (CI-333)', async () => {
    const { project, runner } = await withCi(YAML)
    const branch = { branch: 'feature/x', ref: 'main' }
    await t.api('post', `${project.path}/repository/branches`, project.creator).send(branch).expect(201)
    await t.ctx.jobs.drain()
    for (let job = await runner.take(); job; job = await runner.take()) {
      if (job.job_info.name === 'make') await runner.upload(job, ZIP)
      await runner.end(job, 'success')
    }
    const make = await jobNamed(project, 'make')
    const raw = (path: string) => t.api('get', `${project.path}/jobs/${path}`, project.creator)
    const ofBranch = 'artifacts/feature/x'
    for (const path of [`${make.id}/artifacts/out/a.txt`, 'artifacts/main/raw/out/a.txt?job=make', `${ofBranch}/raw/out/a.txt?job=make`])
      expect((await raw(path).expect(200)).body.toString()).toBe('hello\n')
    for (const ref of ['main', 'feature/x', 'feature%2Fx']) await raw(`artifacts/${ref}/download?job=make`).expect(200)
    for (const path of [`${make.id}/artifacts/out/b.txt`, `${make.id}/artifacts/..%2Fa.txt`, 'artifacts/main/raw/out/b.txt?job=make'])
      await raw(path).expect(404)
    await t.api('put', `${project.path}/jobs/${make.id}/artifacts/out/a.txt`, project.creator).expect(405)
  })

  it('are kept for the time of the instance where the job names none (CI-131)', async () => {
    const { project, runner } = await withCi(YAML)
    const admin = await aUser(t.ctx, { admin: true })
    const expiry = async (period: string) => {
      await t.api('put', '/application/settings', admin).send({ default_artifacts_expire_in: period }).expect(200)
      await runner.upload(make, ZIP)
      const { artifacts_expire_at: at } = await jobNamed(project, 'make')
      return at && Math.round((Date.parse(at) - Date.now()) / 3_600_000)
    }
    const make = await runner.takeNamed('make')
    expect([await expiry('2 hours'), await expiry('0')]).toEqual([2, null])
    await t.api('put', '/application/settings', admin).send({ default_artifacts_expire_in: '30 days' }).expect(200)
  })

  it('that are too large are refused, and the job goes on (CI-130)', async () => {
    const { project, runner } = await withCi(YAML)
    const admin = await aUser(t.ctx, { admin: true })
    await t.api('put', '/application/settings', admin).send({ max_artifacts_size: 1 }).expect(200)
    const make = await runner.takeNamed('make')
    expect((await runner.upload(make, Buffer.alloc(1_048_577))).status).toBe(413)
    expect((await jobNamed(project, 'make')).artifacts).toEqual([])
    await t.api('put', '/application/settings', admin).send({ max_artifacts_size: 100 }).expect(200)
  })
})

it('a pipeline of a protected branch or tag is made by those who may write there (CI-105)', async () => {
  const { project } = await withCi(STAGES)
  const developer = await aUser(t.ctx)
  await t.api('post', `${project.path}/members`, project.creator).send({ user_id: developer.id, access_level: 30 }).expect(201)
  await t.api('post', `${project.path}/repository/branches`, project.creator).send({ branch: 'free', ref: 'main' }).expect(201)
  await t.api('post', `${project.path}/repository/tags`, project.creator).send({ tag_name: 'v1', ref: 'main' }).expect(201)
  await t.api('post', `${project.path}/protected_tags`, project.creator).send({ name: 'v*' }).expect(201)
  const run = (ref: string, who = developer) => t.api('post', `${project.path}/pipeline`, who).send({ ref })
  for (const ref of ['main', 'v1'])
    expect((await run(ref).expect(400)).body).toEqual({ message: { base: [`You do not have sufficient permission to run a pipeline on '${ref}'.`] } })
  await run('free').expect(201)
  for (const ref of ['main', 'v1']) await run(ref, project.creator).expect(201)
})

it.each(['lfs', 'artifacts', 'packages'] as const)('what a killed upload left in the store of %s is removed (PK-9)', async (of) => {
  const folder = join(t.dataDir, of, 'incoming')
  await mkdir(folder, { recursive: true })
  const [old, young] = ['a', 'b'].map((name) => join(folder, name.repeat(32))) as [string, string]
  for (const path of [old, young]) await writeFile(path, 'half')
  const hourAgo = Date.now() / 1_000 - 3_600
  await utimes(old, hourAgo, hourAgo)
  await leftovers.run(t.ctx, {}, { id: 0, number: 1, signal: new AbortController().signal })
  expect(await readdir(folder)).toEqual(['b'.repeat(32)])
})
