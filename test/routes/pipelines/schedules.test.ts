import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { LEVELS } from '../../../src/access/can.js'
import { pipelineSchedules } from '../../../src/db/schema/index.js'
import { runDueSchedules } from '../../../src/services/ci/schedules/run.js'
import { testApp } from '../../support/app.js'
import { ciOf } from '../../support/ci.js'
import { anAdmin, aUser, type Credentialed, type TestProject } from '../../support/factories.js'

const t = testApp()
const { withCi, get, addMember } = ciOf(t)
const YAML = 'test: { script: x, only: [schedules] }\nother: { script: x, except: [schedules] }'
const GIVEN = { description: 'nightly', ref: 'main', cron: '0 1 * * *' }
const at = (project: TestProject, id?: number, more = '') => `${project.path}/pipeline_schedules${id === undefined ? '' : `/${id}`}${more}`
const make = async (project: TestProject, given: object = {}, who: Credentialed = project.creator) =>
  (
    await t
      .api('post', at(project), who)
      .send({ ...GIVEN, ...given })
      .expect(201)
  ).body
const made = (project: TestProject, id: number) => get(project, `/pipeline_schedules/${id}/pipelines`)

const attempt = { id: 1, number: 1, signal: new AbortController().signal }
/** Lets the time of a schedule come, as if nothing had run since, and runs what is due as often as given. */
async function due(id: number, times = 1): Promise<void> {
  await t.ctx.db.write
    .update(pipelineSchedules)
    .set({ next_run_at: new Date(t.ctx.now().getTime() - 86_400_000 * 3) })
    .where(eq(pipelineSchedules.id, id))
  await Promise.all(Array.from({ length: times }, () => runDueSchedules.run(t.ctx, {}, attempt)))
  await t.ctx.jobs.drain()
}

describe('schedules', () => {
  it('are made, listed, changed and deleted (CI-223, CI-224)', async () => {
    const { project } = await withCi(YAML)
    const one = await make(project)
    expect(one).toEqual({
      ...GIVEN,
      id: expect.any(Number),
      cron_timezone: 'UTC',
      active: true,
      next_run_at: expect.stringMatching(/T01:00:00.000Z$/),
      created_at: expect.any(String),
      updated_at: expect.any(String),
      owner: expect.objectContaining({ id: project.creator.id }),
      last_pipeline: null,
      variables: [],
    })
    const two = await make(project, { active: false, cron: '@daily', cron_timezone: 'Asia/Tokyo' })
    expect(two).toMatchObject({ active: false, next_run_at: expect.stringMatching(/T15:00:00.000Z$/) })
    const ids = async (query = '') => (await get(project, `/pipeline_schedules${query}`)).map(({ id }: { id: number }) => id)
    expect([await ids(), await ids('?scope=active'), await ids('?scope=inactive')]).toEqual([[one.id, two.id], [one.id], [two.id]])
    const changed = (await t.api('put', at(project, one.id), project.creator).send({ cron: '30 2 * * *', description: 'x' }).expect(200)).body
    expect(changed).toMatchObject({ description: 'x', ref: 'main', next_run_at: expect.stringMatching(/T02:30/) })
    await t.api('delete', at(project, one.id), project.creator).expect(204)
    await t.api('get', at(project, one.id), project.creator).expect(404, { message: '404 Pipeline Schedule Not Found' })
  })

  it('with faults are refused (CI-224)', async () => {
    const { project } = await withCi(YAML)
    const { id } = await make(project)
    for (const [given, field] of [
      [{ cron: '* * * * * *' }, 'cron'],
      [{ cron: 'x' }, 'cron'],
      [{ cron_timezone: 'Eastern Time' }, 'cron_timezone'],
      [{ description: ' ' }, 'description'],
      [{ ref: 'x'.repeat(256) }, 'ref'],
    ] as const) {
      const refused = await t
        .api('post', at(project), project.creator)
        .send({ ...GIVEN, ...given })
        .expect(400)
      expect(Object.keys(refused.body.message)).toEqual([field])
      await t.api('put', at(project, id), project.creator).send(given).expect(400)
    }
    await t.api('post', at(project), project.creator).send({ ref: 'main', cron: GIVEN.cron }).expect(400)
    for (let n = 1; n < 50; n++) await make(project)
    const { body } = await t.api('post', at(project), project.creator).send(GIVEN).expect(400)
    expect(body).toEqual({ message: { base: ['Maximum number of pipeline schedules (50) exceeded'] } })
  })

  it('have variables, for those who may change them (CI-223)', async () => {
    const { project } = await withCi(YAML)
    const { id } = await make(project)
    const variables = at(project, id, '/variables')
    const given = { key: 'A', value: '1', variable_type: 'file' }
    expect((await t.api('post', variables, project.creator).send(given).expect(201)).body).toEqual(given)
    await t
      .api('post', variables, project.creator)
      .send(given)
      .expect(400, { message: { key: ['has already been taken'] } })
    await t.api('post', variables, project.creator).send({ key: 'a b', value: '' }).expect(400)
    const put = await t.api('put', `${variables}/A`, project.creator).send({ value: '2', variable_type: 'env_var' }).expect(200)
    expect(put.body).toEqual({ key: 'A', value: '2', variable_type: 'env_var' })
    expect((await get(project, `/pipeline_schedules/${id}`)).variables).toEqual([put.body])
    expect((await t.api('get', `${variables}/A`, project.creator).expect(200)).body).toEqual(put.body)
    expect((await t.api('delete', `${variables}/A`, project.creator).expect(202)).body).toEqual(put.body)
    await t.api('delete', `${variables}/A`, project.creator).expect(404, { message: '404 Pipeline Schedule Variable Not Found' })
  })

  it('belong to who made them, until a maintainer takes them (CI-223)', async () => {
    const { project } = await withCi(YAML)
    const [developer, other, maintainer, reporter] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    for (const user of [developer, other]) await addMember(project, user, LEVELS.developer)
    await addMember(project, maintainer, LEVELS.maintainer)
    await addMember(project, reporter, LEVELS.reporter)
    await t.api('post', at(project), reporter).send(GIVEN).expect(403)
    const { id } = await make(project, {}, developer)
    await t
      .api('post', at(project, id, '/variables'), developer)
      .send({ key: 'SECRET', value: 'x' })
      .expect(201)
    const shown = (await t.api('get', at(project, id), other).expect(200)).body
    expect(shown).not.toHaveProperty('variables')
    for (const who of [other, maintainer]) await t.api('put', at(project, id), who).send({ active: false }).expect(403)
    for (const path of ['/take_ownership', '/variables'])
      await t
        .api('post', at(project, id, path), other)
        .send({ key: 'B', value: '' })
        .expect(403)
    await t.api('delete', at(project, id), other).expect(403)
    await t.api('get', at(project, id, '/variables/SECRET'), other).expect(403)
    const taken = (await t.api('post', at(project, id, '/take_ownership'), maintainer).expect(201)).body
    expect(taken).toMatchObject({ owner: { id: maintainer.id }, variables: [{ key: 'SECRET' }] })
    await t.api('put', at(project, id), developer).send({ active: false }).expect(403)
    await t.api('put', at(project, id), maintainer).send({ active: false }).expect(200)
    await t.api('delete', at(project, id), maintainer).expect(204)
  })
})

describe('a schedule whose time has come', () => {
  it('makes one pipeline, however often its time came and whichever process looks (CI-225)', async () => {
    const { project, runner } = await withCi(YAML)
    const { id } = await make(project)
    await t
      .api('post', at(project, id, '/variables'), project.creator)
      .send({ key: 'OWN', value: 'v' })
      .expect(201)
    await due(id, 3)
    const [pipeline, ...more] = await made(project, id)
    expect([pipeline, more]).toMatchObject([{ source: 'schedule', ref: 'main', status: 'pending' }, []])
    const { last_pipeline, next_run_at } = await get(project, `/pipeline_schedules/${id}`)
    expect([last_pipeline.id, Date.parse(next_run_at) > t.ctx.now().getTime()]).toEqual([pipeline.id, true])
    const job = await runner.takeNamed('other').then(() => runner.takeNamed('test'))
    const values = Object.fromEntries(job.variables.map(({ key, value }) => [key, value]))
    expect(values).toMatchObject({ OWN: 'v', CI_PIPELINE_SOURCE: 'schedule' })
    await runDueSchedules.run(t.ctx, {}, attempt)
    await t.ctx.jobs.drain()
    expect(await made(project, id)).toHaveLength(1)
    await t.api('delete', at(project, id), project.creator).expect(204)
    expect(await get(project, '/pipelines?source=schedule')).toHaveLength(1)
  })

  it('runs for a branch or tag that is written in full, and shows it as it was given (RX-30)', async () => {
    const { project } = await withCi(YAML)
    await t.api('post', `${project.path}/repository/tags`, project.creator).send({ tag_name: 'v1', ref: 'main' }).expect(201)
    const refs = ['refs/heads/main', 'refs/tags/v1', 'refs/heads/v1', 'main']
    const [branch, tag, none] = [await make(project, { ref: refs[0] }), await make(project, { ref: refs[1] }), await make(project, { ref: refs[2] })]
    await make(project)
    expect((await get(project, '/pipeline_schedules')).map(({ ref }: { ref: string }) => ref)).toEqual(refs)
    for (const { id } of [branch, tag, none]) await due(id)
    expect(await made(project, branch.id)).toMatchObject([{ ref: 'main', status: 'pending' }])
    const [{ id: ofTag }] = await made(project, tag.id)
    expect(await get(project, `/pipelines/${ofTag}`)).toMatchObject({ ref: 'v1', tag: true })
    expect(await made(project, none.id)).toEqual([])
  })

  it('of a full name is started by hand by those who may run pipelines of that branch alone (RX-30)', async () => {
    const { project } = await withCi(YAML)
    const developer = await aUser(t.ctx)
    await addMember(project, developer, LEVELS.developer)
    const { id } = await make(project, { ref: 'refs/heads/main' })
    await t.api('post', at(project, id, '/play'), developer).expect(403)
    const { body } = await t.api('post', `${project.path}/pipeline`, developer).send({ ref: 'refs/heads/main' }).expect(400)
    expect(body.message.base).toEqual(["You do not have sufficient permission to run a pipeline on 'main'."])
    const made = await t.api('post', `${project.path}/pipeline`, project.creator).send({ ref: 'refs/heads/main' }).expect(201)
    expect(made.body.ref).toBe('main')
  })

  it('and that is not active makes none; started by hand it does, as who starts it (CI-225)', async () => {
    const { project } = await withCi(YAML)
    const developer = await aUser(t.ctx)
    await addMember(project, developer, LEVELS.developer)
    const { id, next_run_at } = await make(project, { active: false })
    await due(id)
    expect(await made(project, id)).toEqual([])
    // the branch is protected
    await t.api('post', at(project, id, '/play'), developer).expect(403)
    await t.api('post', at(project, id, '/play'), project.creator).expect(201, { message: '201 Created' })
    await t.ctx.jobs.drain()
    const [{ id: pipeline }] = await made(project, id)
    expect((await get(project, `/pipelines/${pipeline}`)).user.id).toBe(project.creator.id)
    expect(next_run_at).toEqual(expect.any(String))
  })

  it('is switched off, with the reason, when its owner may not run it any more (CI-226)', async () => {
    const { project } = await withCi(YAML)
    const admin = await anAdmin(t.ctx)
    const member = async () => {
      const user = await aUser(t.ctx)
      await addMember(project, user, LEVELS.maintainer)
      return user
    }
    const [blocked, lowered, left] = [await member(), await member(), await member()]
    const ids = []
    for (const user of [blocked, lowered, left]) ids.push((await make(project, {}, user)).id)
    await t.api('post', `/users/${blocked.id}/block`, admin).expect(201)
    await t.api('put', `${project.path}/members/${lowered.id}`, project.creator).send({ access_level: LEVELS.developer }).expect(200)
    await t.api('delete', `${project.path}/members/${left.id}`, project.creator).expect(204)
    for (const id of ids) {
      await due(id)
      expect((await get(project, `/pipeline_schedules/${id}`)).active).toBe(false)
      expect(await made(project, id)).toEqual([])
    }
    const rows = await t.ctx.db.write.select().from(pipelineSchedules).where(eq(pipelineSchedules.project_id, project.id))
    expect(rows.every(({ last_fault }) => last_fault !== null)).toBe(true)
  })

  it('with a branch or configuration at fault keeps the reason and waits for its next time (CI-226)', async () => {
    const { project } = await withCi('test: { script: x, only: [pushes] }')
    const nowhere = await make(project, { ref: 'nowhere' })
    const empty = await make(project)
    for (const { id } of [nowhere, empty]) {
      await due(id)
      expect(await get(project, `/pipeline_schedules/${id}`)).toMatchObject({ active: true, last_pipeline: null })
    }
    const faults = await t.ctx.db.write
      .select({ fault: pipelineSchedules.last_fault })
      .from(pipelineSchedules)
      .where(eq(pipelineSchedules.project_id, project.id))
      .orderBy(pipelineSchedules.id)
    expect(faults.map(({ fault }) => fault)).toEqual(['Reference not found', 'No stages / jobs for this pipeline.'])
  })
})
