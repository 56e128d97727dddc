import { and, eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { auditEvents, members, users } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, drawnOf, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})

const SOURCES = {
  project: async (given: object = {}) => aProject(t.ctx, { visibility: 'public', request_access_enabled: true, ...given }),
  group: async (given: object = {}) => aGroup(t.ctx, { visibility: 'public', request_access_enabled: true, ...given }),
}
type Source = Awaited<ReturnType<(typeof SOURCES)['project']>> | Awaited<ReturnType<(typeof SOURCES)['group']>>

const ask = (source: Source, caller: TestUser | null) => t.api('post', `${source.path}/access_requests`, caller)
const list = async (source: Source, caller: TestUser) =>
  (await t.api('get', `${source.path}/access_requests`, caller).expect(200)).body as { id: number }[]
const approve = (source: Source, id: number, caller: TestUser | null, given: object = {}) =>
  t.api('put', `${source.path}/access_requests/${id}/approve`, caller).send(given)
const refuse = (source: Source, id: number, caller: TestUser | null) => t.api('delete', `${source.path}/access_requests/${id}`, caller)

describe.each(['project', 'group'] as const)('access requests of a %s (AR-1 to AR-4)', (kind) => {
  const make = SOURCES[kind]
  const name = kind === 'project' ? 'Project' : 'Group'

  it('a request is stored once and gives no access (AR-2, G-63)', async () => {
    const [source, person] = [await make(), await aUser(t.ctx)]
    const { body } = await ask(source, person).expect(201)
    expect(body).toEqual({
      id: person.id,
      name: person.name,
      username: person.username,
      state: 'active',
      avatar_url: drawnOf(person),
      web_url: `http://roost.test/${person.username}`,
      requested_at: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    await ask(source, person).expect(400, { message: { user_id: ['already exists in source'] } })
    expect((await t.api('get', `${source.path}/members/all`, person).expect(200)).body).not.toContainEqual(expect.objectContaining({ id: person.id }))
    await t.api('get', `${source.path}/members/${person.id}`, person).expect(404)
  })

  it('are refused where they are disabled, to members, and where the source is hidden (AR-2)', async () => {
    const [guest, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const source = await make({ guest })
    await ask(source, null).expect(401, { message: '401 Unauthorized' })
    for (const caller of [guest, source.creator, admin]) await ask(source, caller).expect(403, { message: '403 Forbidden' })
    await ask(await make({ request_access_enabled: false }), stranger).expect(403, { message: '403 Forbidden' })
    await ask(await make({ visibility: 'private' }), stranger).expect(404, { message: `404 ${name} Not Found` })
    await ask(await make({ visibility: 'internal' }), await aUser(t.ctx, { external: true })).expect(404)
    await ask(await make({ visibility: 'internal' }), stranger).expect(201)
  })

  it('an expired membership allows a request (AR-2)', async () => {
    const [source, person] = [await make(), await aUser(t.ctx)]
    const place = kind === 'project' ? { project_id: source.id } : { namespace_id: source.id }
    await t.ctx.db.write.insert(members).values({ ...place, user_id: person.id, access_level: 40, expires_at: '2001-01-01' })
    await ask(source, person).expect(201)
    expect(await t.ctx.db.read.$count(members, eq(members.user_id, person.id))).toBe(1)
    await approve(source, person.id, source.creator).expect(201)
  })

  it('refuses one of two concurrent requests', async () => {
    const [source, person] = [await make(), await aUser(t.ctx)]
    const answers = await Promise.all([1, 2, 3].map(() => ask(source, person)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400, 400])
  })

  it('are listed for members who decide, oldest first, in pages (AR-1)', async () => {
    const [maintainer, developer] = [await aUser(t.ctx), await aUser(t.ctx)]
    const source = await make({ maintainer, developer })
    const people: TestUser[] = []
    for (let i = 0; i < 3; i++) {
      const person = await aUser(t.ctx)
      people.push(person)
      await ask(source, person).expect(201)
    }
    expect((await list(source, source.creator)).map(({ id }) => id)).toEqual(people.map(({ id }) => id))
    const page = await t.api('get', `${source.path}/access_requests?per_page=2&page=2`, admin).expect(200)
    expect(page.body).toHaveLength(1)
    expect(page.headers['x-total']).toBe('3')
    await t.api('get', `${source.path}/access_requests`, maintainer).expect(kind === 'project' ? 200 : 403)
    await t.api('get', `${source.path}/access_requests`, developer).expect(403, { message: '403 Forbidden' })
    await t.api('get', `${source.path}/access_requests`).expect(401)
    // who is blocked asks for nothing
    await t.ctx.db.write
      .update(users)
      .set({ state: 'blocked' })
      .where(eq(users.id, people[0]?.id ?? 0))
    expect(await list(source, source.creator)).toHaveLength(2)
  })

  it('let in as a developer unless said otherwise, never above the own level (AR-3, ME-8)', async () => {
    const source = await make()
    const [one, two, stranger] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    await ask(source, one).expect(201)
    await ask(source, two).expect(201)
    await approve(source, one.id, null).expect(401)
    await approve(source, one.id, stranger).expect(403)
    await approve(source, one.id, one).expect(403)
    expect((await approve(source, one.id, source.creator).expect(201)).body).toMatchObject({ id: one.id, access_level: 30, expires_at: null })
    await approve(source, one.id, source.creator).expect(404, { message: '404 Not found' })
    await approve(source, stranger.id, source.creator).expect(404)
    await approve(source, two.id, source.creator, { access_level: 15 }).expect(400, { message: { access_level: ['is not included in the list'] } })
    await approve(source, two.id, source.creator, { access_level: 'much' }).expect(400, { error: 'access_level is invalid' })
    if (kind === 'project') {
      const maintainer = await aUser(t.ctx)
      await t.api('post', `${source.path}/members`, source.creator).send({ user_id: maintainer.id, access_level: 40 }).expect(201)
      await approve(source, two.id, maintainer, { access_level: 50 }).expect(400)
    }
    expect((await approve(source, two.id, source.creator, { access_level: 20 }).expect(201)).body).toMatchObject({ access_level: 20 })
    expect((await t.api('get', `${source.path}/members/${two.id}`, two).expect(200)).body).toMatchObject({ access_level: 20 })
    // SEC-168
    const recorded = await t.ctx.db.read
      .select({ actor: auditEvents.actor, changes: auditEvents.changes })
      .from(auditEvents)
      .where(and(eq(auditEvents.action, 'member_added'), eq(auditEvents.target_id, source.id), eq(auditEvents.target_type, kind)))
    expect(recorded).toContainEqual({ actor: source.creator.username, changes: { user_id: two.id, access_level: 20, expires_at: null } })
  })

  it('refused by members who decide, withdrawn by the requester (AR-4)', async () => {
    const source = await make()
    const [one, two, stranger] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    for (const person of [one, two]) await ask(source, person).expect(201)
    await refuse(source, one.id, null).expect(401)
    await refuse(source, one.id, stranger).expect(403)
    await refuse(source, one.id, one).expect(204)
    await refuse(source, one.id, one).expect(404, { message: '404 Not found' })
    await refuse(source, two.id, source.creator).expect(204)
    expect(await list(source, source.creator)).toEqual([])
    await ask(source, one).expect(201)
    // a membership is no wish
    await approve(source, one.id, source.creator).expect(201)
    await refuse(source, one.id, source.creator).expect(404)
    await t.api('get', `${source.path}/members/${one.id}`, one).expect(200)
  })
})

describe('where the page is open but the group is not', () => {
  it('a group that is visible only by a project in it takes no requests (AR-2)', async () => {
    const person = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { request_access_enabled: true })
    await aProject(t.ctx, { creator: group.creator, namespace_id: group.id, guest: person })
    await t.api('get', group.path, person).expect(200)
    await ask(group, person).expect(403, { message: '403 Forbidden' })
  })
})

describe('several members at once (ME-5)', () => {
  it('a comma list adds all or none (ME-5)', async () => {
    const group = await aGroup(t.ctx)
    const people = await Promise.all([aUser(t.ctx), aUser(t.ctx), aUser(t.ctx)])
    const add = (user_id: string) => t.api('post', `${group.path}/members`, group.creator).send({ user_id, access_level: 20 })
    const ids = people.map(({ id }) => id)
    expect((await add(ids.slice(0, 2).join(',')).expect(201)).body).toEqual({ status: 'success' })
    await add(ids.join(', ')).expect(409, { message: 'Member already exists' })
    await add(`${ids[2]},999999`).expect(404, { message: '404 User Not Found' })
    await t.api('get', `${group.path}/members/${ids[2]}`, group.creator).expect(404)
    await add('1,x').expect(400, { error: 'user_id is invalid' })
    await add(',').expect(400)
    expect((await add(String(ids[2])).expect(201)).body).toMatchObject({ id: ids[2], access_level: 20 })
    for (const id of ids) await t.api('get', `${group.path}/members/${id}`, group.creator).expect(200)
  })
})
