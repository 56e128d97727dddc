import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, type TestProject, type TestUser } from '../../support/factories.js'
import { receiver } from '../../support/servers/receiver.js'

/**
 * Operations that are declared together with others of the same shape, and that no other test calls. Every success is
 * parsed with the declared shape, and the examples of the reference are made of these answers.
 */
const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const r = receiver()
let admin: TestUser
let group: Awaited<ReturnType<typeof aGroup>>
let project: TestProject

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  group = await aGroup(t.ctx, { creator: admin })
  project = await aProject(t.ctx, { creator: admin, namespace_id: group.id, files: { 'README.md': 'hello\n' } })
})

describe('what groups have as projects do', () => {
  it('labels by name and by id (LB-1)', async () => {
    const { body } = await t.api('post', `${group.path}/labels`, admin).send({ name: 'bug', color: '#ff0000' }).expect(201)
    const renamed = await t.api('put', `${group.path}/labels`, admin).send({ name: 'bug', new_name: 'defect' }).expect(200)
    expect(renamed.body).toMatchObject({ id: body.id, name: 'defect' })
    await t.api('delete', `${group.path}/labels/${body.id}`, admin).expect(204)
  })

  it('a milestone (MI-1)', async () => {
    const { body } = await t.api('post', `${group.path}/milestones`, admin).send({ title: 'v1', due_date: '2030-01-31' }).expect(201)
    expect((await t.api('get', `${group.path}/milestones/${body.id}`, admin).expect(200)).body).toMatchObject({ title: 'v1' })
  })

  it('a deploy token', async () => {
    const { body } = await t
      .api('post', `${group.path}/deploy_tokens`, admin)
      .send({ name: 'ci', scopes: ['read_repository'] })
      .expect(201)
    expect((await t.api('get', `${group.path}/deploy_tokens/${body.id}`, admin).expect(200)).body).toMatchObject({ name: 'ci' })
  })
})

describe('hooks of groups and of the system', () => {
  it('a hook of a group, its sample, and its deliveries (HK-1)', async () => {
    const hooks = `${group.path}/hooks`
    const { body } = await t
      .api('post', hooks, admin)
      .send({ url: `${r.url}/group` })
      .expect(201)
    expect((await t.api('get', `${hooks}/${body.id}`, admin).expect(200)).body).toMatchObject({ url: `${r.url}/group` })
    expect(project.id).toBeGreaterThan(0)
    await t.api('post', `${hooks}/${body.id}/test/push_events`, admin).expect(201)
    const events = (await t.api('get', `${hooks}/${body.id}/events`, admin).expect(200)).body
    expect(events).toHaveLength(1)
    await t.api('post', `${hooks}/${body.id}/events/${events[0].id}/resend`, admin).expect(201, { response_status: 200 })
  })

  it('a hook of the system, its sample, and its deliveries (HK-1)', async () => {
    const { body } = await t
      .api('post', '/hooks', admin)
      .send({ url: `${r.url}/system` })
      .expect(201)
    expect((await t.api('get', `/hooks/${body.id}`, admin).expect(200)).body).toMatchObject({ url: `${r.url}/system` })
    await t.api('post', `/hooks/${body.id}`, admin).expect(201)
    const events = (await t.api('get', `/hooks/${body.id}/events`, admin).expect(200)).body
    expect(events).toHaveLength(1)
    await t.api('post', `/hooks/${body.id}/events/${events[0].id}/resend`, admin).expect(201)
  })
})
