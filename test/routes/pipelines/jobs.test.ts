import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()
let project: TestProject
let sha: string
let main: number
let side: number

const get = (path: string) => t.api('get', `${project.path}${path}`, project.creator)
const say = async (body: object) =>
  (
    await t
      .api('post', `${project.path}/statuses/main`, project.creator)
      .send({ state: 'success', ...body })
      .expect(201)
  ).body
const names = async (path: string) => (await get(path).expect(200)).body.map(({ name, status }: Record<string, string>) => `${name} ${status}`)

beforeAll(async () => {
  project = await aProject(t.ctx, { files: { 'a.txt': 'a\n' } })
  sha = bareOf(t, project).git('rev-parse', 'main').trim()
  main = (await say({ name: 'a', state: 'failed' })).pipeline_id
  side = (await say({ name: 'a', state: 'running', ref: 'side' })).pipeline_id
  await say({ name: 'b', state: 'pending' })
  await say({ name: 'a', state: 'success' })
})

describe('jobs', () => {
  it('the latest statuses of a pipeline, oldest first (PL-10, PL-2)', async () => {
    expect(await names(`/pipelines/${main}/jobs`)).toEqual(['b pending', 'a success'])
    expect(await names(`/pipelines/${side}/jobs`)).toEqual(['a running'])
  })

  it('those of the project, the newest first (PL-11)', async () => {
    expect(await names('/jobs')).toEqual(['a success', 'b pending', 'a running'])
  })

  it('scope takes one state or several (PL-10, PL-11)', async () => {
    expect(await names('/jobs?scope=success')).toEqual(['a success'])
    expect(await names('/jobs?scope[]=success&scope[]=running')).toEqual(['a success', 'a running'])
    expect(await names(`/pipelines/${main}/jobs?scope[]=pending&scope[]=failed`)).toEqual(['b pending'])
    expect(await names('/jobs?scope[]=manual')).toEqual([])
    await get('/jobs?scope[]=success&scope[]=good').expect(400, { error: 'scope does not have a valid value' })
    await get('/jobs?scope=').expect(400, { error: 'scope does not have a valid value' })
  })

  it('a job has all fields, those of its commit and pipeline among them (PL-11)', async () => {
    const posted = await say({ name: 'whole', state: 'running', coverage: 12.5, target_url: 'https://ci.example.com/7' })
    await say({ name: 'whole', state: 'success' })
    const { body } = await get(`/jobs/${posted.id}`).expect(200)
    expect(body).toEqual({
      id: posted.id,
      status: 'success',
      stage: 'external',
      name: 'whole',
      ref: 'main',
      tag: false,
      coverage: 12.5,
      allow_failure: false,
      created_at: posted.created_at,
      started_at: posted.started_at,
      finished_at: expect.any(String),
      duration: (Date.parse(body.finished_at) - Date.parse(body.started_at)) / 1000,
      user: posted.author,
      commit: (({ stats, status, last_pipeline, project_id, ...commit }) => commit)((await get(`/repository/commits/${sha}`).expect(200)).body),
      pipeline: (await get('/pipelines?ref=main').expect(200)).body[0],
      web_url: 'https://ci.example.com/7',
      artifacts: [],
      artifacts_expire_at: null,
      queued_duration: null,
      runner: null,
      tag_list: [],
    })
    const plain = await say({ name: 'plain', state: 'pending' })
    expect((await get(`/jobs/${plain.id}`).expect(200)).body).toMatchObject({
      web_url: `http://roost.test/${project.fullPath}/-/jobs/${plain.id}`,
      started_at: null,
      duration: null,
    })
  })

  it('a job that was replaced is still there by its id (PL-11)', async () => {
    const { body } = await get(`/repository/commits/${sha}/statuses?all=true&name=a`).expect(200)
    expect((await get(`/jobs/${body[0].id}`).expect(200)).body).toMatchObject({ name: 'a', status: 'failed' })
  })

  it('is paginated (W-38, W-39)', async () => {
    const { body, headers } = await get('/jobs?per_page=1&page=4').expect(200)
    expect([body.map(({ name }: { name: string }) => name), headers['x-page'], headers['x-next-page']]).toEqual([['b'], '4', '5'])
    expect((await get('/jobs?page=50').expect(200, [])).headers['x-total']).toBe(headers['x-total'])
  })

  it('costs the same queries with few jobs and with many', async () => {
    await t.ctx.jobs.drain()
    const queries = (path: string) => t.queriesOf(() => get(path).expect(200))
    const paths = ['/jobs', `/pipelines/${main}/jobs`]
    for (const path of paths) await queries(path)
    const few = [(await queries('/jobs')).length, (await queries(`/pipelines/${main}/jobs`)).length]
    for (let i = 0; i < 12; i++) await say({ name: `job ${i}`, ref: i % 2 ? 'main' : `ref ${i}` })
    expect([(await queries('/jobs')).length, (await queries(`/pipelines/${main}/jobs`)).length]).toEqual(few)
  })

  it('5.1 row 3: callers who may read pipelines but not the code see jobs without their commit (PL-10, PL-11)', async () => {
    const guest = await aUser(t.ctx)
    const own = await aProject(t.ctx, { files: { a: 'a' }, guest })
    const { body: posted } = await t.api('post', `${own.path}/statuses/main`, own.creator).send({ state: 'success', name: 'x' }).expect(201)
    for (const path of ['/jobs', `/pipelines/${posted.pipeline_id}/jobs`, `/jobs/${posted.id}`]) {
      const shown = async (caller: TestUser) => [(await t.api('get', `${own.path}${path}`, caller).expect(200)).body].flat()
      expect(await shown(guest)).toMatchObject([{ id: posted.id, commit: null }])
      expect(await shown(own.creator)).toMatchObject([{ id: posted.id, commit: { title: 'Add files' } }])
    }
  })
})
