import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { ciOf } from '../support/ci.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { aMergeRequest, showRequest, type TestRequest } from '../support/merge-requests.js'
import { type GivenJob, ScriptedRunner } from '../support/runner.js'

const t = testApp()
const { withCi, push: add, get, jobNamed } = ciOf(t)
const drain = () => t.ctx.jobs.drain()
const git = promisify(execFile)

const MR = "$CI_PIPELINE_SOURCE == 'merge_request_event'"
/** One job for each kind of pipeline. */
const BOTH = `
of_branch: { script: x, rules: [{ if: "$CI_COMMIT_BRANCH" }] }
of_request: { script: x, rules: [{ if: "${MR}" }] }
`

let file = 0
const push = (request: TestRequest, message = 'a push') =>
  t
    .api('post', `${request.project.path}/repository/commits`, request.project.creator)
    .send({ branch: request.source, commit_message: message, actions: [{ action: 'create', file_path: `${file++}.txt`, content: 'x' }] })
    .expect(201)
    .then(async ({ body }) => {
      await drain()
      return body.id as string
    })
/** An open merge request whose jobs have run. */
async function opened(project: TestProject, given: Parameters<typeof aMergeRequest>[1] = {}): Promise<TestRequest> {
  const request = await aMergeRequest(t, { project, ...given })
  await drain()
  return request
}
const run = (request: TestRequest, who: TestUser = request.project.creator) => t.api('post', `${request.path}/pipelines`, who)
/** Those of the merge request before those of the branch, each the newest first: which of both is made first is open. */
const list = async (request: TestRequest, who: TestUser = request.project.creator) => {
  const { body } = await t.api('get', `${request.path}/pipelines`, who).expect(200)
  return body.sort((a: { source: string }, b: { source: string }) => (a.source < b.source ? -1 : a.source > b.source ? 1 : 0))
}
const sources = async (request: TestRequest) => (await list(request)).map(({ source, status }: Record<string, string>) => `${source} ${status}`)
const jobsOf = async (project: TestProject, pipeline: number) =>
  (await get(project, `/pipelines/${pipeline}/jobs`)).map(({ name }: { name: string }) => name)
const valuesOf = (job: GivenJob) => Object.fromEntries(job.variables.map(({ key, value }) => [key, value]))
/** The next job with this name; those before it succeed. */
async function takeUntil(runner: ScriptedRunner, name: string): Promise<GivenJob> {
  for (;;) {
    const job = (await runner.take()) ?? expect.fail(`no job ${name}`)
    if (job.job_info.name === name) return job
    await runner.end(job, 'success')
  }
}

/** A fork of a project, by a user who is a member of the fork alone. */
async function forkOf(project: TestProject, owner?: TestUser): Promise<TestProject> {
  const creator = owner ?? (await aUser(t.ctx))
  const { body } = await t.api('post', `${project.path}/fork`, creator).send({}).expect(201)
  await drain()
  return { id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace, creator }
}

describe('a merge request that is opened', () => {
  it('gets a pipeline beside that of its branch, which is its head pipeline (CI-205, CI-206, MR-610)', async () => {
    const { project } = await withCi(BOTH)
    const request = await opened(project)
    const [own, branch] = await list(request)
    expect(own).toMatchObject({
      source: 'merge_request_event',
      ref: `refs/merge-requests/${request.iid}/head`,
      status: 'pending',
      project_id: project.id,
    })
    expect(branch).toMatchObject({ source: 'push', ref: request.source, sha: own.sha })
    expect(await jobsOf(project, own.id)).toEqual(['of_request'])
    expect(await jobsOf(project, branch.id)).toEqual(['of_branch'])
    const shown = await showRequest(t, request)
    expect(shown).toMatchObject({ sha: own.sha, pipeline: { id: own.id }, head_pipeline: { id: own.id, detailed_status: { text: 'pending' } } })
    expect(await get(project, '/pipelines?source=merge_request_event')).toEqual([own])
    expect(await get(project, `/pipelines?ref=${encodeURIComponent(own.ref)}`)).toEqual([own])
    expect((await get(project, `/pipelines/latest?ref=${request.source}`)).id).toBe(branch.id)
    expect((await get(project, `/repository/commits/${own.sha}/statuses`)).map(({ ref }: { ref: string }) => ref).sort()).toEqual(
      [own.ref, branch.ref].sort(),
    )
  })

  it('gets none without a job for it, and nothing is recorded (CI-206)', async () => {
    const { project } = await withCi('build: { script: x }')
    const request = await opened(project)
    expect(await sources(request)).toEqual(['push pending'])
    await run(request).expect(400, { message: { base: ['No stages / jobs for this pipeline.'] } })
    const [{ iid }] = await get(project, '/pipelines')
    expect(iid).toBe((await get(project, '/pipelines')).length)
  })

  it('has jobs by `only` and `except`, which names of branches do not match (CI-25)', async () => {
    const { project } = await withCi(`
a: { script: x, only: [merge_requests] }
b: { script: x, except: [merge_requests] }
c: { script: x, only: [/^topic/] }
d: { script: x, only: [branches, tags] }
e: { script: x }
f: { script: x, only: { refs: [merge_requests], variables: ["$CI_MERGE_REQUEST_TARGET_BRANCH_NAME == 'main'"] } }
`)
    const request = await opened(project)
    const [own, branch] = await list(request)
    expect(await jobsOf(project, own.id)).toEqual(['a', 'f'])
    expect(await jobsOf(project, branch.id)).toEqual(['b', 'c', 'd', 'e'])
  })

  it('has no pipeline of the branch where `workflow` says so once there is a merge request (CI-22, CI-208)', async () => {
    const { project } = await withCi(`
workflow:
  rules:
    - if: ${MR}
    - if: $CI_COMMIT_BRANCH && $CI_OPEN_MERGE_REQUESTS
      when: never
    - if: $CI_COMMIT_BRANCH
all: { script: x }
`)
    await add(project, { 'topic.txt': 'x' }, 'a push', 'topic')
    const request = await opened(project, { source: 'topic', files: null })
    expect(await sources(request)).toEqual(['merge_request_event pending', 'push pending'])
    await push(request)
    expect(await sources(request)).toEqual(['merge_request_event pending', 'merge_request_event canceled', 'push pending'])
  })

  it('compares `changes` with the merge base of its target (CI-209)', async () => {
    const { project } = await withCi(`
of_docs: { script: x, rules: [{ if: "${MR}", changes: [docs/*] }] }
of_code: { script: x, rules: [{ if: "${MR}", changes: ['*.c'] }] }
of_main: { script: x, rules: [{ if: "${MR}", changes: [main.txt] }] }
`)
    const request = await opened(project, { files: { 'docs/a': 'a' } })
    await add(project, { 'main.txt': 'x' })
    await push(request)
    // the push alone has changed no docs
    expect(await jobsOf(project, (await list(request))[0].id)).toEqual(['of_docs'])
  })
})

describe('a push to the source branch', () => {
  it('makes one pipeline of each open merge request, at most once, and cancels the one before (CI-200, CI-206)', async () => {
    const { project } = await withCi(BOTH)
    await t.api('post', `${project.path}/repository/branches?branch=other&ref=main`, project.creator).expect(201)
    const first = await opened(project)
    const second = await opened(project, { source: first.source, files: null, target: 'other' })
    const closed = await opened(project)
    await t.api('put', closed.path, project.creator).send({ state_event: 'close' }).expect(200)
    const sha = await push(first)
    for (const request of [first, second]) {
      const pipelines = await list(request)
      expect(pipelines.filter(({ source }: { source: string }) => source !== 'push')).toMatchObject([
        { sha, status: 'pending', ref: `refs/merge-requests/${request.iid}/head` },
        { status: 'canceled' },
      ])
      expect((await showRequest(t, request)).head_pipeline).toMatchObject({
        source: 'merge_request_event',
        ref: `refs/merge-requests/${request.iid}/head`,
        sha,
      })
    }
    await push(closed)
    expect(await sources(closed)).toEqual(['merge_request_event pending', 'push canceled'])
  })

  it('makes a skipped one with [ci skip], and none with the push option (CI-103, CI-206)', async () => {
    const { project } = await withCi(BOTH)
    const request = await opened(project)
    await push(request, 'words [ci skip]')
    expect(await sources(request)).toEqual(['merge_request_event skipped', 'merge_request_event canceled', 'push skipped', 'push canceled'])
  })

  it('makes none while jobs are off, and reopening makes one where there is none of the head (CI-206)', async () => {
    const { project } = await withCi(BOTH)
    const request = await opened(project)
    const change = (state_event: string) => t.api('put', request.path, project.creator).send({ state_event }).expect(200)
    await change('close')
    await change('reopen')
    await drain()
    expect(await sources(request)).toEqual(['merge_request_event pending', 'push pending'])
    await change('close')
    await push(request)
    await change('reopen')
    await drain()
    expect((await sources(request)).filter((each: string) => each.endsWith('pending'))).toEqual(['merge_request_event pending', 'push pending'])
    await t.api('put', project.path, project.creator).send({ builds_access_level: 'disabled' }).expect(200)
    await push(request)
    expect(await get({ ...project }, '').then(({ jobs_enabled }: { jobs_enabled: boolean }) => jobs_enabled)).toBe(false)
    await run(request).expect(400, { message: { base: ['Pipelines are disabled!'] } })
  })
})

describe('a job of a merge request', () => {
  it('knows the merge request, and of which branch it is (CI-207, CI-208)', async () => {
    const { project, runner } = await withCi(BOTH)
    const { creator } = project
    await t.api('post', `${project.path}/milestones`, creator).send({ title: 'v1' }).expect(201)
    const request = await opened(project, {
      title: 'Mend it',
      sent: { labels: 'b,a', milestone_id: (await get(project, '/milestones'))[0].id, assignee_id: creator.id },
    })
    const [version] = await get(project, `/merge_requests/${request.iid}/versions`)
    const job = await takeUntil(runner, 'of_request')
    const at = `http://roost.test/${project.fullPath}`
    const values = valuesOf(job)
    expect(values).toMatchObject({
      CI_PIPELINE_SOURCE: 'merge_request_event',
      CI_COMMIT_REF_NAME: request.source,
      CI_COMMIT_REF_SLUG: request.source,
      CI_COMMIT_REF_PROTECTED: 'false',
      CI_COMMIT_BEFORE_SHA: '0'.repeat(40),
      CI_OPEN_MERGE_REQUESTS: `${project.fullPath}!${request.iid}`,
      CI_MERGE_REQUEST_ID: String(request.id),
      CI_MERGE_REQUEST_IID: String(request.iid),
      CI_MERGE_REQUEST_PROJECT_ID: String(project.id),
      CI_MERGE_REQUEST_PROJECT_PATH: project.fullPath,
      CI_MERGE_REQUEST_PROJECT_URL: at,
      CI_MERGE_REQUEST_REF_PATH: `refs/merge-requests/${request.iid}/head`,
      CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: request.source,
      CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: '',
      CI_MERGE_REQUEST_SOURCE_PROJECT_ID: String(project.id),
      CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: project.fullPath,
      CI_MERGE_REQUEST_SOURCE_PROJECT_URL: at,
      CI_MERGE_REQUEST_TARGET_BRANCH_NAME: 'main',
      CI_MERGE_REQUEST_TARGET_BRANCH_SHA: '',
      CI_MERGE_REQUEST_TITLE: 'Mend it',
      CI_MERGE_REQUEST_ASSIGNEES: creator.username,
      CI_MERGE_REQUEST_MILESTONE: 'v1',
      CI_MERGE_REQUEST_LABELS: 'a,b',
      CI_MERGE_REQUEST_EVENT_TYPE: 'detached',
      CI_MERGE_REQUEST_DIFF_ID: String(version.id),
      CI_MERGE_REQUEST_DIFF_BASE_SHA: version.base_commit_sha,
    })
    expect(values).not.toHaveProperty('CI_COMMIT_BRANCH')
    await push(request)
    const branch = valuesOf(await takeUntil(runner, 'of_branch'))
    expect(branch).toMatchObject({ CI_COMMIT_BRANCH: request.source, CI_OPEN_MERGE_REQUESTS: `${project.fullPath}!${request.iid}` })
    expect(Object.keys(branch).filter((key) => key.startsWith('CI_MERGE_REQUEST'))).toEqual([])
  })

  it('gets its commit by Git with the token of the job, by the ref of the merge request too (CI-116)', async () => {
    const { project, runner } = await withCi(BOTH)
    const request = await opened(project)
    const { git_info: info } = await takeUntil(runner, 'of_request')
    const { id } = (await list(request))[0]
    expect(info).toMatchObject({ ref: `refs/merge-requests/${request.iid}/head`, refspecs: [`+${info.sha}:refs/pipelines/${id}`] })
    const dir = `/tmp/mrpipes-${process.pid}-${id}`
    const url = info.repo_url
      .replace('http://gitlab-ci-token', t.url.replace(/^http:\/\/.*/, 'http://gitlab-ci-token'))
      .replace('roost.test', new URL(t.url).host)
    try {
      await git('git', ['init', '-q', dir])
      await git('git', ['-C', dir, 'fetch', '-q', '--depth', '20', url, ...info.refspecs, `+refs/merge-requests/${request.iid}/head:refs/x`])
      const { stdout } = await git('git', ['-C', dir, 'rev-parse', `refs/pipelines/${id}`, 'refs/x'])
      expect(stdout.trim().split('\n')).toEqual([info.sha, info.sha])
    } finally {
      await git('rm', ['-rf', dir])
    }
  })

  it('gets no protected variables, though its branch is protected, and a protected runner does not take it (CI-210)', async () => {
    const { project, runner } = await withCi(BOTH)
    for (const [key, isProtected] of [
      ['OPEN', false],
      ['SECRET', true],
    ] as const)
      await t.api('post', `${project.path}/variables`, project.creator).send({ key, value: 'v', protected: isProtected }).expect(201)
    await t.api('post', `${project.path}/protected_branches`, project.creator).send({ name: '*' }).expect(201)
    await opened(project)
    const own = valuesOf(await takeUntil(runner, 'of_request'))
    expect([own['OPEN'], own['SECRET']]).toEqual(['v', undefined])
    const request = await opened(project)
    const branch = valuesOf(await takeUntil(runner, 'of_branch'))
    expect([branch['OPEN'], branch['SECRET']]).toEqual(['v', 'v'])
    const careful = await ScriptedRunner.make(t.ctx, t.url, { kind: 'project_type', project_id: project.id }, { protected: true })
    await t.api('put', `/runners/${runner.id}`, project.creator).send({ paused: true }).expect(200)
    await push(request)
    await careful.takeNamed('of_branch')
    expect(await careful.take()).toBeNull()
  })

  it('may trigger a child pipeline, which is of the merge request too, and no other (CI-211)', async () => {
    const { project, runner } = await withCi(`go: { rules: [{ if: "${MR}" }], trigger: { include: child.yml, strategy: depend } }`, {
      'child.yml': `a: { script: x, only: [/^topic/] }\nb: { script: x, rules: [{ if: $CI_MERGE_REQUEST_IID }] }\nc: { script: x, only: [branches] }`,
    })
    const request = await opened(project)
    expect(await sources(request)).toEqual(['merge_request_event running'])
    const [{ downstream_pipeline: child }] = await get(project, `/pipelines/${(await list(request))[0].id}/bridges`)
    expect(child).toMatchObject({ source: 'parent_pipeline', ref: `refs/merge-requests/${request.iid}/head` })
    expect(await jobsOf(project, child.id)).toEqual(['b'])
    const job = await runner.takeNamed('b')
    expect(valuesOf(job)).toMatchObject({ CI_MERGE_REQUEST_IID: String(request.iid), CI_COMMIT_REF_NAME: request.source })
    await runner.end(job, 'success')
    await drain()
    expect(await sources(request)).toEqual(['merge_request_event success'])
  })
})

describe('the head pipeline', () => {
  const finish = async (runner: ScriptedRunner, name: string, state: string) => {
    await runner.end(await takeUntil(runner, name), state, { failure_reason: 'script_failure' })
    await drain()
  }

  it('decides about the merge, and not that of the branch (MR-610, MR-61)', async () => {
    const { project, runner } = await withCi(BOTH)
    await t.api('put', project.path, project.creator).send({ only_allow_merge_if_pipeline_succeeds: true }).expect(200)
    const request = await opened(project)
    const merge = () => t.api('put', `${request.path}/merge`, project.creator)
    await runner.end(await runner.takeNamed('of_branch'), 'success')
    await runner.end(await runner.takeNamed('of_branch'), 'success')
    await merge().expect(405)
    await finish(runner, 'of_request', 'failed')
    await merge().expect(405)
    const failed = await jobNamed(project, 'of_request')
    await t.api('post', `${project.path}/jobs/${failed.id}/retry`, project.creator).expect(201)
    await merge().send({ merge_when_pipeline_succeeds: true }).expect(200)
    await finish(runner, 'of_request', 'success')
    expect((await showRequest(t, request)).state).toBe('merged')
  })

  it('is that of the branch again while there is none of the merge request for the head (MR-610)', async () => {
    const { project } = await withCi(BOTH)
    const request = await opened(project)
    const [own, branch] = await list(request)
    await t.api('delete', `${project.path}/pipelines/${own.id}`, project.creator).expect(204)
    await run(request).expect(200)
    expect((await showRequest(t, request)).head_pipeline.source).toBe('merge_request_event')
    const { body } = await t.api('post', `${project.path}/pipeline`, project.creator).send({ ref: request.source }).expect(201)
    expect(body.id).toBeGreaterThan(branch.id)
    expect((await showRequest(t, request)).head_pipeline.source).toBe('merge_request_event')
    await push(request, 'no jobs [ci skip]')
    expect((await showRequest(t, request)).head_pipeline).toMatchObject({ source: 'merge_request_event', status: 'skipped' })
  })

  it('that fails makes a to-do for the author, and that of another merge request of the commit none (ST-22)', async () => {
    const { project, runner } = await withCi(`of_request: { script: x, rules: [{ if: "$CI_MERGE_REQUEST_TARGET_BRANCH_NAME == 'other'" }] }`)
    await t.api('post', `${project.path}/repository/branches?branch=other&ref=main`, project.creator).expect(201)
    const first = await opened(project)
    const second = await opened(project, { source: first.source, files: null, target: 'other' })
    await finish(runner, 'of_request', 'failed')
    const { body } = await t.api('get', '/todos?action=build_failed', project.creator).expect(200)
    expect(body.map(({ target }: { target: { iid: number } }) => target.iid)).toEqual([second.iid])
  })
})

describe('a pipeline of a merge request on demand', () => {
  it('is answered by POST, as often as it is asked for (CI-212)', async () => {
    const { project } = await withCi(BOTH)
    const request = await opened(project)
    const { body } = await run(request).expect(200)
    expect(body).toMatchObject({
      source: 'merge_request_event',
      status: 'pending',
      ref: `refs/merge-requests/${request.iid}/head`,
      user: { id: project.creator.id },
    })
    expect((await list(request))[0].id).toBe(body.id)
    expect((await list(request)).filter(({ source }: { source: string }) => source === 'merge_request_event')).toHaveLength(2)
  })

  it('is failed with faults of the configuration, as one of a push (CI-100, CI-212)', async () => {
    const { project } = await withCi('a: { script: x }')
    const request = await opened(project, { files: { 'x.txt': 'x' } })
    const { body: commit } = await t
      .api('post', `${project.path}/repository/commits`, project.creator)
      .send({
        branch: request.source,
        commit_message: 'x',
        actions: [{ action: 'update', file_path: '.gitlab-ci.yml', content: 'a: { unknown: x }' }],
      })
      .expect(201)
    await drain()
    const { body } = await run(request).expect(200)
    expect(body).toMatchObject({ sha: commit.id, status: 'failed' })
    expect(body.yaml_errors).toContain('a')
  })

  it('is for who may run pipelines and push to the branch, and needs commits (CI-212)', async () => {
    const { project } = await withCi(BOTH)
    const member = async (access_level: number) => {
      const user = await aUser(t.ctx)
      await t.api('post', `${project.path}/members`, project.creator).send({ user_id: user.id, access_level }).expect(201)
      return user
    }
    const [reporter, developer, stranger] = [await member(20), await member(30), await aUser(t.ctx)]
    const request = await opened(project)
    await run(request, stranger).expect(404)
    await run(request, reporter).expect(400, { message: { base: ['Insufficient permissions to create a new pipeline'] } })
    await run(request, developer).expect(200)
    await t.api('post', `${project.path}/protected_branches`, project.creator).send({ name: request.source }).expect(201)
    await run(request, developer).expect(400, {
      message: { base: [`You do not have sufficient permission to run a pipeline on '${request.source}'.`] },
    })
    await t.api('post', `${project.path}/repository/branches?branch=same&ref=main`, project.creator).expect(201)
    const empty = await opened(project, { source: 'same', files: null })
    expect(await sources(empty)).not.toContain('merge_request_event pending')
    await run(empty).expect(405, { message: '405 Method Not Allowed' })
    await t.api('post', `${project.path}/merge_requests/999/pipelines`, project.creator).expect(404)
  })
})

describe('a merge request from a fork', () => {
  it('has its pipeline in the fork, with the runners, variables and rights of the fork (CI-213)', async () => {
    const parent = await withCi(BOTH)
    await t.api('put', parent.project.path, parent.project.creator).send({ visibility: 'public' }).expect(200)
    await t.api('post', `${parent.project.path}/variables`, parent.project.creator).send({ key: 'SECRET', value: 'parent' }).expect(201)
    const fork = await forkOf(parent.project)
    await t.api('post', `${fork.path}/variables`, fork.creator).send({ key: 'OWN', value: 'fork', protected: true }).expect(201)
    const runner = await ScriptedRunner.make(t.ctx, t.url, { kind: 'project_type', project_id: fork.id })
    while (await parent.runner.take());
    const request = await opened(parent.project, { from: fork, caller: fork.creator })
    const [own, branch] = await list(request, fork.creator)
    expect(own).toMatchObject({ project_id: fork.id, ref: request.source, source: 'merge_request_event' })
    expect(branch).toMatchObject({ project_id: fork.id, ref: request.source, source: 'push' })
    expect(await get(parent.project, '/pipelines?source=merge_request_event')).toEqual([])
    expect(await parent.runner.take()).toBeNull()
    // the newest of the branch is not that of the merge request, though both have its name
    expect((await get(fork, `/pipelines/latest?ref=${request.source}`)).id).toBe(branch.id)
    expect(await get(fork, `/pipelines?ref=${request.source}`)).toHaveLength(2)
    const job = await takeUntil(runner, 'of_request')
    expect(job.git_info).toMatchObject({ ref: request.source, refspecs: [`+${own.sha}:refs/pipelines/${own.id}`] })
    const values = valuesOf(job)
    expect(values).toMatchObject({
      CI_PROJECT_ID: String(fork.id),
      CI_MERGE_REQUEST_PROJECT_ID: String(parent.project.id),
      CI_MERGE_REQUEST_PROJECT_PATH: parent.project.fullPath,
      CI_MERGE_REQUEST_SOURCE_PROJECT_ID: String(fork.id),
      CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: fork.fullPath,
      CI_OPEN_MERGE_REQUESTS: `${parent.project.fullPath}!${request.iid}`,
      GITLAB_USER_LOGIN: fork.creator.username,
    })
    expect(values).not.toHaveProperty('SECRET')
    expect(values).not.toHaveProperty('OWN')
    await runner.end(job, 'success')
    await drain()
    expect((await showRequest(t, request, fork.creator)).head_pipeline).toMatchObject({ id: own.id, status: 'success' })
  })

  it('has one for each push to the fork, for members of the fork alone (CI-213)', async () => {
    const parent = await withCi(BOTH)
    await t.api('put', parent.project.path, parent.project.creator).send({ visibility: 'public' }).expect(200)
    const fork = await forkOf(parent.project)
    const request = await opened(parent.project, { from: fork, caller: fork.creator })
    await push({ ...request, project: fork })
    expect(
      (await list(request, fork.creator)).map(({ source, status, project_id }: Record<string, unknown>) => [source, status, project_id === fork.id]),
    ).toEqual([
      ['merge_request_event', 'pending', true],
      ['merge_request_event', 'canceled', true],
      ['push', 'pending', true],
      ['push', 'canceled', true],
    ])
    await run(request, fork.creator).expect(200)
    // who owns the parent alone has no rights in the fork
    await run(request).expect(400, { message: { base: ['Insufficient permissions to create a new pipeline'] } })
    await t.api('post', `${fork.path}/protected_branches`, fork.creator).send({ name: request.source }).expect(201)
    const { body } = await run(request, fork.creator).expect(200)
    expect(body.project_id).toBe(fork.id)
  })

  it('whose parent the pusher does not see gets none (CI-213)', async () => {
    const owner = await aUser(t.ctx)
    const parent = await withCi(BOTH)
    await t.api('post', `${parent.project.path}/members`, parent.project.creator).send({ user_id: owner.id, access_level: 20 }).expect(201)
    const fork = await forkOf(parent.project, owner)
    const helper = await aUser(t.ctx)
    await t.api('post', `${fork.path}/members`, owner).send({ user_id: helper.id, access_level: 40 }).expect(201)
    const request = await opened(parent.project, { from: fork, caller: owner })
    await push({ ...request, project: { ...fork, creator: helper } })
    expect((await list(request, owner)).map(({ source }: { source: string }) => source)).toEqual(['merge_request_event', 'push', 'push'])
    expect((await showRequest(t, request, owner)).head_pipeline).toMatchObject({ source: 'push' })
  })
})

describe('what follows a pipeline of a merge request', () => {
  it('deploys its source branch, so that the merge request leads there, and the branch stops it (CI-216)', async () => {
    const { project, runner } = await withCi(
      `go: { script: x, environment: { name: review/$CI_COMMIT_REF_SLUG, on_stop: end }, rules: [{ if: $CI_MERGE_REQUEST_IID }] }
end: { script: x, environment: { name: review/$CI_COMMIT_REF_SLUG, action: stop }, rules: [{ if: $CI_MERGE_REQUEST_IID, when: manual }] }`,
    )
    const request = await opened(project)
    await runner.end(await runner.takeNamed('go'), 'success')
    await drain()
    const [deployment] = await get(project, '/deployments')
    expect(deployment).toMatchObject({ ref: request.source, environment: { name: `review/${request.source}` }, status: 'success' })
    await t.api('delete', `${project.path}/repository/branches/${request.source}`, project.creator).expect(204)
    await drain()
    expect((await get(project, '/environments'))[0].state).toBe('stopping')
  })

  it('keeps the artifacts and badges of the branch as they are (CI-132, CI-205)', async () => {
    const parent = await withCi(BOTH)
    await t.api('put', parent.project.path, parent.project.creator).send({ visibility: 'public' }).expect(200)
    const fork = await forkOf(parent.project)
    const request = await opened(parent.project, { from: fork, caller: fork.creator })
    const runner = await ScriptedRunner.make(t.ctx, t.url, { kind: 'project_type', project_id: fork.id })
    await runner.end(await takeUntil(runner, 'of_request'), 'failed', { failure_reason: 'script_failure' })
    await drain()
    const badge = await fetch(`${t.url}/${fork.fullPath}/badges/${request.source}/pipeline.svg`, { headers: { 'private-token': fork.creator.token } })
    expect(await badge.text()).not.toContain('failed')
  })
})

describe('a project without CI', () => {
  it('has no pipelines of merge requests', async () => {
    const project = await aProject(t.ctx, { files: { 'a.txt': 'a' } })
    const request = await opened(project)
    expect(await list(request)).toEqual([])
    await run(request).expect(400, { message: { base: ['Missing CI config file'] } })
  })
})

describe('a rebase with skip_ci', () => {
  it('makes a skipped pipeline, and none of the merge request (CI-263)', async () => {
    const { project } = await withCi(BOTH)
    const request = await opened(project)
    await add(project, { 'other.txt': 'x' })
    await t.api('put', `${request.path}/rebase`, project.creator).send({ skip_ci: true }).expect(202)
    await drain()
    const { sha } = await showRequest(t, request)
    const made = (await get(project, `/pipelines?sha=${sha}`)).map(({ source, status }: Record<string, string>) => `${source} ${status}`)
    expect(made).toEqual(['push skipped'])
    await add(project, { 'more.txt': 'x' })
    await t.api('put', `${request.path}/rebase`, project.creator).expect(202)
    await drain()
    const next = (await showRequest(t, request)).sha
    expect((await get(project, `/pipelines?sha=${next}`)).map(({ source }: { source: string }) => source).sort()).toEqual([
      'merge_request_event',
      'push',
    ])
  })
})
