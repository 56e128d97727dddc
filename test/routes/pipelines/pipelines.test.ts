import { and, eq } from 'drizzle-orm'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { commitStatuses, pipelines, projects } from '../../../src/db/schema/index.js'
import { compositeStatus } from '../../../src/rules/ci/states.js'
import { PIPELINE_STATES, type PipelineState } from '../../../src/rules/pipeline-states.js'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, type Role, statuses } from '../../support/cast.js'
import { aProject, aUser, type Credentialed, type TestProject } from '../../support/factories.js'
import { bareOf } from '../../support/repositories.js'
import { rounds } from '../../support/rounds.js'

const t = testApp()
let cast: Cast
let shared: number

const MISSING = { message: '404 Not found' }
const FORBIDDEN = { message: '403 Forbidden' }
const get = (project: TestProject, path: string, caller: Credentialed | null = project.creator) => t.api('get', `${project.path}${path}`, caller)
const say = (project: TestProject, body: object, caller: Credentialed = project.creator, sha = 'main') =>
  t.api('post', `${project.path}/statuses/${sha}`, caller).send({ state: 'success', ...body })

const aBuilt = () => aProject(t.ctx, { files: { 'a.txt': 'a\n' } })
const set = (project: TestProject, columns: object) => t.ctx.db.write.update(projects).set(columns).where(eq(projects.id, project.id))

beforeAll(async () => {
  cast = await aCast(t.ctx, { visibility: 'public', files: { 'a.txt': 'a\n' } })
  shared = (await say(cast.project, {}, cast.as.developer).expect(201)).body.pipeline_id
})

describe('permissions', () => {
  const paths = () => ['/pipelines', `/pipelines/${shared}`, '/pipelines/latest', `/pipelines/${shared}/jobs`, '/jobs']
  it.each(statuses(200, { anonymous: 401 }))(
    'to PL-11, 5.1 row 6: read pipelines and jobs of a public project: %s %i (PL-8)',
    async (role, status) => {
      for (const path of paths()) await get(cast.project, path, cast.as[role]).expect(status)
    },
  )

  it.each(statuses(403, { anonymous: 401, developer: 200, maintainer: 200, owner: 200, admin: 200 }))(
    '5.1 row 35: cancel: %s %i (PL-12)',
    async (role, status) => {
      await t.api('post', `${cast.project.path}/pipelines/${shared}/cancel`, cast.as[role]).expect(status)
    },
  )

  it('5.1 note 3: a guest of a private project reads them only while its jobs are public; a stranger finds nothing', async () => {
    const closed = await aCast(t.ctx, { files: { 'a.txt': 'a\n' } })
    const { pipeline_id, id } = (await say(closed.project, {}, closed.as.developer).expect(201)).body
    const seen = async (role: Role) => {
      const all = []
      for (const path of ['/pipelines', `/pipelines/${pipeline_id}`, '/pipelines/latest', `/pipelines/${pipeline_id}/jobs`, '/jobs', `/jobs/${id}`])
        all.push((await get(closed.project, path, closed.as[role])).status)
      return [...new Set(all)]
    }
    expect([await seen('anonymous'), await seen('stranger'), await seen('guest'), await seen('reporter')]).toEqual([[401], [404], [200], [200]])
    await set(closed.project, { public_jobs: false })
    expect([await seen('guest'), await seen('reporter'), await seen('admin')]).toEqual([[403], [200], [200]])
  })

  it('403 if jobs or the repository are disabled for the caller (AC-10, G-68)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const { pipeline_id } = (await say(project, { state: 'running' }).expect(201)).body
    const stranger = await aUser(t.ctx)
    const seen = async (caller: Credentialed) => [
      (await get(project, '/pipelines', caller)).status,
      (await get(project, '/jobs', caller)).status,
      (await t.api('post', `${project.path}/pipelines/${pipeline_id}/cancel`, caller)).status,
    ]
    await set(project, { builds_access_level: 10 })
    expect([await seen(stranger), await seen(project.creator)]).toEqual([
      [403, 403, 403],
      [200, 200, 200],
    ])
    for (const columns of [{ builds_access_level: 0 }, { builds_access_level: 20, repository_access_level: 0 }]) {
      await set(project, columns)
      expect(await seen(project.creator)).toEqual([403, 403, 403])
    }
  })

  it('an archived project is read, and nothing is cancelled in it (AC-11)', async () => {
    const project = await aBuilt()
    const { pipeline_id } = (await say(project, { state: 'running' }).expect(201)).body
    await set(project, { archived: true })
    await t.api('post', `${project.path}/pipelines/${pipeline_id}/cancel`, project.creator).expect(403, FORBIDDEN)
    expect((await get(project, `/pipelines/${pipeline_id}`).expect(200)).body.status).toBe('running')
  })

  it('a pipeline and a job of another project are not found here (SEC-31)', async () => {
    const project = await aBuilt()
    const { id } = (await say(cast.project, {}, cast.as.developer).expect(201)).body
    for (const path of [`/pipelines/${shared}`, `/pipelines/${shared}/jobs`, `/jobs/${id}`]) await get(project, path).expect(404, MISSING)
    await t.api('post', `${project.path}/pipelines/${shared}/cancel`, project.creator).expect(404, MISSING)
  })

  it.each(['0', '999999', '9'.repeat(40)])('%s is no pipeline and no job (SEC-51)', async (id) => {
    for (const path of [`/pipelines/${id}`, `/pipelines/${id}/jobs`, `/jobs/${id}`]) await get(cast.project, path, cast.as.guest).expect(404, MISSING)
    await t.api('post', `${cast.project.path}/pipelines/${id}/cancel`, cast.as.developer).expect(404, MISSING)
  })

  it('an id that is no number is a fault of the parameter (G-3)', async () => {
    await get(cast.project, '/pipelines/x', cast.as.guest).expect(400, { error: 'pipeline_id is invalid' })
    await get(cast.project, '/jobs/1.5', cast.as.guest).expect(400, { error: 'job_id is invalid' })
  })

  it('statuses have no log, and are neither retried, played nor erased (CI-121 to CI-123)', async () => {
    const [{ id }] = (await get(cast.project, '/jobs', cast.as.owner).expect(200)).body
    expect((await get(cast.project, `/jobs/${id}/trace`, cast.as.owner).expect(200)).text).toBe('')
    for (const [action, status] of [
      ['retry', 403],
      ['play', 400],
      ['erase', 403],
    ] as const)
      await t.api('post', `${cast.project.path}/jobs/${id}/${action}`, cast.as.owner).expect(status)
  })
})

describe('GET /projects/:id/pipelines', () => {
  it('the fields of PipelineBasic, newest first (PL-8)', async () => {
    const project = await aBuilt()
    const sha = bareOf(t, project).git('rev-parse', 'main').trim()
    await say(project, { ref: 'main' }).expect(201)
    await say(project, { ref: 'other', state: 'running' }).expect(201)
    const { body } = await get(project, '/pipelines').expect(200)
    expect(body[0]).toEqual({
      id: expect.any(Number),
      iid: 2,
      project_id: project.id,
      sha,
      ref: 'other',
      status: 'running',
      source: 'external',
      created_at: expect.any(String),
      updated_at: expect.any(String),
      web_url: `http://roost.test/${project.fullPath}/pipelines/${body[0].id}`,
    })
    expect(body.map(({ ref }: { ref: string }) => ref)).toEqual(['other', 'main'])
  })

  describe('filters and orders', () => {
    let project: TestProject
    let second: string
    let other: Awaited<ReturnType<typeof aUser>>
    const refs = async (query: string) => (await get(project, `/pipelines?${query}`).expect(200)).body.map(({ ref }: { ref: string }) => ref)
    beforeAll(async () => {
      project = await aBuilt()
      other = await aUser(t.ctx)
      await t.api('post', `${project.path}/members`, project.creator).send({ user_id: other.id, access_level: 30 }).expect(201)
      const bare = bareOf(t, project)
      const first = bare.git('rev-parse', 'main').trim()
      ;[second] = bare.commits({ files: { b: 'b' } }) as [string]
      bare.git('tag', 'v1', first)
      const made: [string, string, string, Credentialed][] = [
        ['main', 'success', first, project.creator],
        ['v1', 'failed', first, other],
        ['topic', 'running', first, project.creator],
        ['other', 'pending', second, other],
        ['last', 'canceled', second, project.creator],
      ]
      for (const [ref, state, sha, caller] of made) await say(project, { ref, state }, caller, sha).expect(201)
      const days = ['main', 'v1', 'topic', 'other', 'last']
      for (const [i, ref] of days.entries())
        await t.ctx.db.write
          .update(pipelines)
          .set({ updated_at: new Date(Date.UTC(2020, 0, 10 - i)) })
          .where(eq(pipelines.ref, ref))
    })

    it('scope (PL-8)', async () => {
      expect(await refs('scope=running')).toEqual(['topic'])
      expect(await refs('scope=pending')).toEqual(['other'])
      expect(await refs('scope=finished')).toEqual(['last', 'v1', 'main'])
      expect(await refs('scope=branches')).toEqual(['last', 'other', 'topic', 'main'])
      expect(await refs('scope=tags')).toEqual(['v1'])
    })

    it('status, ref, sha, username, source, updated_after, updated_before; together (PL-8)', async () => {
      expect(await refs('status=failed')).toEqual(['v1'])
      expect(await refs('status=skipped')).toEqual([])
      expect(await refs('ref=topic')).toEqual(['topic'])
      expect(await refs(`sha=${second}`)).toEqual(['last', 'other'])
      expect(await refs(`sha=${second.slice(0, 8)}`)).toEqual([])
      expect(await refs(`username=${other.username.toUpperCase()}`)).toEqual(['other', 'v1'])
      expect(await refs('username=no-such-user')).toEqual([])
      expect([await refs('source=external&ref=main'), await refs('source=push')]).toEqual([['main'], []])
      expect(await refs('updated_after=2020-01-09')).toEqual(['v1', 'main'])
      expect(await refs('updated_before=2020-01-07')).toEqual(['last', 'other'])
      expect(await refs(`updated_before=2020-01-09&username=${other.username}&scope=finished`)).toEqual(['v1'])
      expect(await refs('ref=&sha=&username=&source=')).toHaveLength(5)
    })

    it('order_by and sort, ties by id in the same direction (PL-8, W-41)', async () => {
      expect(await refs('sort=asc')).toEqual(['main', 'v1', 'topic', 'other', 'last'])
      expect(await refs('order_by=updated_at')).toEqual(['main', 'v1', 'topic', 'other', 'last'])
      expect(await refs('order_by=ref&sort=asc')).toEqual(['last', 'main', 'other', 'topic', 'v1'])
      expect(await refs('order_by=status&sort=asc')).toEqual(['last', 'v1', 'other', 'topic', 'main'])
      expect(await refs('order_by=user_id&sort=asc')).toEqual(['main', 'topic', 'last', 'v1', 'other'])
      expect(await refs('order_by=user_id&sort=desc')).toEqual(['other', 'v1', 'last', 'topic', 'main'])
    })

    it('is paginated (W-38, W-39)', async () => {
      const { body, headers } = await get(project, '/pipelines?per_page=2&page=2').expect(200)
      expect([body.map(({ ref }: { ref: string }) => ref), headers['x-total'], headers['x-next-page']]).toEqual([['topic', 'v1'], '5', '3'])
    })

    it.each([
      ['scope=all', 'scope does not have a valid value'],
      ['status=good', 'status does not have a valid value'],
      ['order_by=name', 'order_by does not have a valid value'],
      ['sort=up', 'sort does not have a valid value'],
      ['updated_after=yesterday', 'updated_after is invalid'],
    ])('refuses %s (PL-8, SEC-55)', async (query, error) => {
      await get(project, `/pipelines?${query}`).expect(400, { error })
    })
  })

  it('costs the same queries with one pipeline and with many, and opens no repository', async () => {
    const project = await aBuilt()
    await say(project, {}).expect(201)
    await t.ctx.jobs.drain()
    const queries = () => t.queriesOf(() => get(project, '/pipelines').expect(200))
    await queries()
    const few = (await queries()).length
    for (let i = 0; i < 12; i++) await say(project, { ref: `ref ${i}` }).expect(201)
    expect(await queries()).toHaveLength(few)
  })
})

describe('GET /projects/:id/pipelines/:pipeline_id', () => {
  it('all fields; start, end, duration and coverage come from the latest statuses (PL-9, CI-334)', async () => {
    const project = await aBuilt()
    const { pipeline_id: id } = (await say(project, { state: 'running', name: 'a', coverage: 50 }).expect(201)).body
    const { body: running } = await get(project, `/pipelines/${id}`).expect(200)
    expect(running).toEqual({
      ...(await get(project, '/pipelines').expect(200)).body[0],
      before_sha: '0'.repeat(40),
      tag: false,
      yaml_errors: null,
      user: expect.objectContaining({ id: project.creator.id, username: project.creator.username }),
      started_at: expect.any(String),
      finished_at: null,
      committed_at: null,
      duration: null,
      coverage: '50.00',
      detailed_status: { icon: 'status_running', text: 'running', label: 'running', group: 'running', has_details: true },
    })
    await say(project, { state: 'success', name: 'a' }).expect(201)
    const { id: other } = (await say(project, { state: 'success', name: 'b', coverage: 75.5 }).expect(201)).body
    await t.ctx.db.write
      .update(commitStatuses)
      .set({ started_at: new Date(Date.parse(running.started_at) + 5_000), finished_at: new Date(Date.parse(running.started_at) + 12_600) })
      .where(eq(commitStatuses.id, other))
    await t.ctx.db.write
      .update(commitStatuses)
      .set({ finished_at: new Date(Date.parse(running.started_at) + 2_000) })
      .where(and(eq(commitStatuses.pipeline_id, id), eq(commitStatuses.name, 'a')))
    const { body } = await get(project, `/pipelines/${id}`).expect(200)
    expect(body).toMatchObject({ status: 'success', started_at: running.started_at, duration: 10, coverage: '62.75' })
    expect(body.detailed_status).toEqual({ icon: 'status_success', text: 'passed', label: 'passed', group: 'success', has_details: true })
    expect(Date.parse(body.finished_at)).toBe(Date.parse(running.started_at) + 12_600)
  })

  it('latest is the newest pipeline of the ref, by default of the default branch (PL-9)', async () => {
    const project = await aBuilt()
    await get(project, '/pipelines/latest').expect(404, MISSING)
    await say(project, {}).expect(201)
    const [next] = bareOf(t, project).commits({ files: { b: 'b' } }) as [string]
    const { pipeline_id: newest } = (await say(project, { ref: 'main' }, project.creator, next).expect(201)).body
    const { pipeline_id: side } = (await say(project, { ref: 'side' }).expect(201)).body
    expect((await get(project, '/pipelines/latest').expect(200)).body).toMatchObject({ id: newest, sha: next, ref: 'main' })
    expect((await get(project, '/pipelines/latest?ref=side').expect(200)).body.id).toBe(side)
    await get(project, '/pipelines/latest?ref=none').expect(404, MISSING)
  })
})

describe('POST /projects/:id/pipelines/:pipeline_id/cancel', () => {
  it('unfinished statuses become canceled, replaced ones too; finished ones stay; answers 200 with the pipeline (PL-12)', async () => {
    const project = await aBuilt()
    const other = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: other.id, access_level: 30 }).expect(201)
    const ids: Record<string, number> = {}
    for (const [key, body, caller] of [
      ['replaced', { name: 'x', state: 'running' }, project.creator],
      ['latest', { name: 'x', state: 'pending' }, other],
      ['done', { name: 'y', state: 'success' }, project.creator],
      ['elsewhere', { name: 'x', state: 'running', ref: 'other' }, project.creator],
    ] as const)
      ids[key] = (await say(project, body, caller).expect(201)).body.id
    const { id } = (await get(project, '/pipelines/latest').expect(200)).body
    const { body } = await t.api('post', `${project.path}/pipelines/${id}/cancel`, project.creator).expect(200)
    expect(body).toMatchObject({ id, status: 'canceled', finished_at: expect.any(String) })
    const state = async (key: string) => {
      const { body: job } = await get(project, `/jobs/${ids[key]}`).expect(200)
      return [job.status, job.finished_at !== null]
    }
    expect([await state('replaced'), await state('latest'), await state('done'), await state('elsewhere')]).toEqual([
      ['canceled', true],
      ['canceled', true],
      ['success', true],
      ['running', false],
    ])
    // the poster starts again after that
    expect((await say(project, { name: 'x', state: 'running' }).expect(201)).body.id).toBeGreaterThan(ids['elsewhere'] as number)
  })

  it('a pipeline at its end is answered as it is (PL-12)', async () => {
    const project = await aBuilt()
    const { pipeline_id: id } = (await say(project, { state: 'failed' }).expect(201)).body
    const before = (await get(project, `/pipelines/${id}`).expect(200)).body
    await t.api('post', `${project.path}/pipelines/${id}/cancel`, project.creator).expect(200, before)
  })

  it('beside posts at once: no status is left unfinished that was there before, and the status is right (PL-12)', async () => {
    const project = await aBuilt()
    const { pipeline_id: id } = (await say(project, { state: 'running', name: 'first' }).expect(201)).body
    const answers = await Promise.all([
      ...Array.from({ length: 12 }, (_, n) => say(project, { state: 'running', name: `job ${n}` })),
      t.api('post', `${project.path}/pipelines/${id}/cancel`, project.creator),
    ])
    expect(answers.map(({ status }) => status)).toEqual([...Array(12).fill(201), 200])
    const rows = await t.ctx.db.write.select().from(commitStatuses).where(eq(commitStatuses.pipeline_id, id))
    expect(rows.find(({ name }) => name === 'first')?.status).toBe('canceled')
    expect((await get(project, `/pipelines/${id}`).expect(200)).body.status).toBe(
      compositeStatus(rows.map(({ status, allow_failure }) => ({ state: status, allow_failure }))),
    )
  })
})

describe('the status of a pipeline', () => {
  it.each<[PipelineState[], PipelineState]>([
    [['success', 'success'], 'success'],
    [['success', 'canceled'], 'canceled'],
    [['canceled'], 'canceled'],
    [['pending', 'pending'], 'pending'],
    [['pending', 'success'], 'running'],
    [['running', 'failed'], 'running'],
    [['pending', 'failed'], 'running'],
    [['success', 'failed'], 'failed'],
    [['failed', 'canceled'], 'failed'],
  ])('%j make %s (ST-20)', async (states, expected) => {
    const project = await aBuilt()
    for (const [i, state] of states.entries()) await say(project, { state, name: `job ${i}` }).expect(201)
    expect((await get(project, '/pipelines/latest').expect(200)).body.status).toBe(expected)
    expect((await get(project, '/repository/commits/main').expect(200)).body.status).toBe(expected)
  })

  it('of any latest statuses it is what the rule says, whatever was replaced (PL-5, ST-16, ST-20)', { tags: ['long'] }, async () => {
    const project = await aBuilt()
    const sha = bareOf(t, project).git('rev-parse', 'main').trim()
    let made = 0
    const job = fc.record({ status: fc.constantFrom(...PIPELINE_STATES), allow_failure: fc.boolean() })
    const posted = fc.constantFrom<PipelineState[]>('pending', 'running', 'success', 'failed', 'canceled')
    await fc.assert(
      fc.asyncProperty(fc.array(job, { maxLength: 5 }), fc.array(job, { maxLength: 3 }), posted, async (latest, replaced, last) => {
        const iid = ++made
        const { write } = t.ctx.db
        const [pipeline] = await write
          .insert(pipelines)
          .values({ project_id: project.id, iid, sha, ref: `set ${iid}`, tag: false })
          .returning({ id: pipelines.id })
        const row = { project_id: project.id, pipeline_id: pipeline?.id as number, user_id: cast.as.admin.id }
        const rows = [
          ...latest.map((each, i) => ({ ...row, ...each, name: `job ${i}` })),
          ...replaced.map((each, i) => ({ ...row, ...each, name: `old ${i}`, latest: false })),
        ]
        if (rows.length > 0) await write.insert(commitStatuses).values(rows)
        await say(project, { state: last, name: 'last', pipeline_id: row.pipeline_id }).expect(201)
        const { body } = await get(project, `/pipelines/${row.pipeline_id}`).expect(200)
        const states = [...latest, { status: last, allow_failure: false }].map(({ status, allow_failure }) => ({ state: status, allow_failure }))
        expect(body.status).toBe(compositeStatus(states))
      }),
      { numRuns: rounds(10, 50) },
    )
  })

  it('updated_at changes with the status of the pipeline', async () => {
    const project = await aBuilt()
    const { pipeline_id: id } = (await say(project, { state: 'running', name: 'a' }).expect(201)).body
    await t.ctx.db.write
      .update(pipelines)
      .set({ updated_at: new Date(0) })
      .where(eq(pipelines.id, id))
    await say(project, { state: 'running', name: 'b' }).expect(201)
    expect((await get(project, `/pipelines/${id}`).expect(200)).body.updated_at).toBe('1970-01-01T00:00:00.000Z')
    await say(project, { state: 'failed', name: 'a' }).expect(201)
    await say(project, { state: 'success', name: 'b' }).expect(201)
    const { body } = await get(project, `/pipelines/${id}`).expect(200)
    expect([body.status, body.updated_at > '2020']).toEqual(['failed', true])
  })
})
