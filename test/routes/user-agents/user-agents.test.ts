import { beforeAll, describe, expect, it } from 'vitest'
import { userAgentDetails } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let user: TestUser
let project: TestProject

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: user })
})

const NONE = { message: '404 UserAgentDetail Not Found' }
const snippet = { title: 's', file_name: 'a', content: 'x', visibility: 'private' }

/** Creates an item and returns the path of its detail. */
const making: [string, () => [string, object, (made: Record<string, number>) => string]][] = [
  ['an issue', () => [`${project.path}/issues`, { title: 'x' }, ({ iid }) => `${project.path}/issues/${iid}`]],
  ['a snippet of a project', () => [`${project.path}/snippets`, snippet, ({ id }) => `${project.path}/snippets/${id}`]],
  ['a personal snippet', () => ['/snippets', snippet, ({ id }) => `/snippets/${id}`]],
]

describe('from where something was created (UA-1)', () => {
  it.each(making)('%s: administrators read it', async (_, place) => {
    const [path, given, at] = place()
    const make = async (agent: string) =>
      `${at((await t.api('post', path, user).set('User-Agent', agent).send(given).expect(201)).body)}/user_agent_detail`
    const detail = await make('curl/8')
    await t.api('get', detail, admin).expect(200, { user_agent: 'curl/8', ip_address: '127.0.0.1', spamfilter_submitted: false })
    await t.api('get', detail, user).expect(403, { message: '403 Forbidden' })
    await t.api('get', detail).expect(401)
    const long = await make('x'.repeat(1_000))
    expect((await t.api('get', long, admin).expect(200)).body).toMatchObject({ user_agent: 'x'.repeat(255) })
  })

  it('is 404 where nothing was recorded, and without the item', async () => {
    const { iid } = (await t.api('post', `${project.path}/issues`, user).send({ title: 'x' }).expect(201)).body as { iid: number }
    await t.ctx.db.write.delete(userAgentDetails)
    await t.api('get', `${project.path}/issues/${iid}/user_agent_detail`, admin).expect(404, NONE)
    await t.api('get', `${project.path}/issues/999/user_agent_detail`, admin).expect(404, { message: '404 Not found' })
    await t.api('get', '/projects/999999/issues/1/user_agent_detail', admin).expect(404, { message: '404 Project Not Found' })
    for (const path of [`${project.path}/snippets/99999`, '/snippets/99999'])
      await t.api('get', `${path}/user_agent_detail`, admin).expect(404, { message: '404 Snippet Not Found' })
    await t.api('get', `${project.path}/issues/x/user_agent_detail`, admin).expect(400, { error: 'issue_iid is invalid' })
  })

  it('is deleted with the user, whose issues stay', async () => {
    const [gone, kept] = [await aUser(t.ctx), await aProject(t.ctx, { visibility: 'public' })]
    const { iid } = (await t.api('post', `${kept.path}/issues`, gone).send({ title: 'x' }).expect(201)).body as { iid: number }
    await t.api('delete', `/users/${gone.id}`, admin).expect(204)
    await t.api('get', `${kept.path}/issues/${iid}`, admin).expect(200)
    await t.api('get', `${kept.path}/issues/${iid}/user_agent_detail`, admin).expect(404, NONE)
  })
})
