import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { members, projectShares, users } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})

interface Shown {
  id: number
  access_level: number
  expires_at: string | null
}
const levels = (body: unknown) => (body as Shown[]).map(({ id, access_level }) => [id, access_level])
const day = (offset: number) => new Date(t.ctx.now().getTime() + offset * 86_400_000).toISOString().slice(0, 10)

/** Both kinds of source, each with somebody who manages its members. */
const SOURCES = {
  project: async (roles: object = {}) => aProject(t.ctx, roles),
  group: async (roles: object = {}) => aGroup(t.ctx, roles),
}

describe.each(['project', 'group'] as const)('members of a %s', (kind) => {
  const make = SOURCES[kind]
  const most = kind === 'project' ? 40 : 50

  it('lists direct members, without requests and expired ones (ME-1)', async () => {
    const [guest, wish, late] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const source = await make({ guest })
    const place = kind === 'project' ? { project_id: source.id } : { namespace_id: source.id }
    await t.ctx.db.write.insert(members).values([
      { ...place, user_id: wish.id, access_level: 30, requested_at: new Date() },
      { ...place, user_id: late.id, access_level: 30, expires_at: day(0) },
    ])
    const { body } = await t.api('get', `${source.path}/members`, source.creator).expect(200)
    expect(levels(body)).toEqual(
      [
        [guest.id, 10],
        [source.creator.id, most],
      ].sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0)),
    )
    expect((body as object[])[0]).not.toHaveProperty('email')
    const find = async (query: string) =>
      levels((await t.api('get', `${source.path}/members?${query}`, source.creator).expect(200)).body).map(([id]) => id)
    expect(await find(`query=${guest.username}`)).toEqual([guest.id])
    expect(await find(`query=${guest.email.toUpperCase()}`)).toEqual([guest.id])
    expect(await find('query=@example.com')).toEqual([])
    expect(await find(`user_ids[]=${guest.id}&user_ids[]=999999`)).toEqual([guest.id])
    expect(await find(`user_ids=${guest.id},${source.creator.id}`)).toHaveLength(2)
  })

  it('is for people who see the source (ME-1)', async () => {
    const source = await make()
    const stranger = await aUser(t.ctx)
    const name = kind === 'project' ? 'Project' : 'Group'
    await t.api('get', `${source.path}/members`).expect(401)
    await t.api('get', `${source.path}/members`, stranger).expect(404, { message: `404 ${name} Not Found` })
    await t.api('get', `${source.path}/members/all`, admin).expect(200)
  })

  it('one direct member; an administrator is none (ME-3, AC-4)', async () => {
    const guest = await aUser(t.ctx)
    const source = await make({ guest })
    expect((await t.api('get', `${source.path}/members/${guest.id}`, guest).expect(200)).body).toMatchObject({
      id: guest.id,
      username: guest.username,
      access_level: 10,
      expires_at: null,
    })
    for (const id of [admin.id, 999_999, '99999999999'])
      await t.api('get', `${source.path}/members/${id}`, guest).expect(404, { message: '404 Not found' })
  })

  it('adds by id or username; conflicts, unknown people and levels are refused (ME-5)', async () => {
    const source = await make()
    const [one, two] = [await aUser(t.ctx), await aUser(t.ctx)]
    const add = (given: object, caller: TestUser | null = source.creator) => t.api('post', `${source.path}/members`, caller).send(given)
    expect((await add({ user_id: one.id, access_level: 30, expires_at: '2099-1-2' }).expect(201)).body).toMatchObject({
      id: one.id,
      access_level: 30,
      expires_at: '2099-01-02',
    })
    expect((await add({ username: two.username.toUpperCase(), access_level: 10 }).expect(201)).body).toMatchObject({ id: two.id })
    // W-3: several, however they are sent; all or none
    const [three, four, five] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    await add({ username: [three.username, 'no-such-user'], access_level: 10 }).expect(404, { message: '404 User Not Found' })
    await add({ username: [three.username], access_level: 10 }).expect(201)
    await add({ username: `${four.username}, ${five.username}`, access_level: 10 }).expect(201, { status: 'success' })
    for (const { id } of [three, four, five]) await t.api('get', `${source.path}/members/${id}`, source.creator).expect(200)
    await add({ user_id: one.id, access_level: 10 }).expect(409, { message: 'Member already exists' })
    await add({ user_id: 999_999, access_level: 10 }).expect(404, { message: '404 User Not Found' })
    await add({ username: 'no-such-user', access_level: 10 }).expect(404, { message: '404 User Not Found' })
    await add({}).expect(400, { error: 'user_id, username are missing, at least one parameter must be provided, access_level is missing' })
    for (const access_level of [0, 5, 15, 60, -1, ...(kind === 'project' ? [50] : [])])
      await add({ user_id: admin.id, access_level }).expect(400, { message: { access_level: ['is not included in the list'] } })
    await add({ user_id: admin.id, access_level: 'high' }).expect(400, { error: 'access_level is invalid' })
    await add({ user_id: admin.id, access_level: 10 }, one).expect(403, { message: '403 Forbidden' })
    await add({ user_id: admin.id, access_level: 10 }, null).expect(401)
    await add({ user_id: admin.id, access_level: 10 }, await aUser(t.ctx)).expect(404)
  })

  it('refuses one of two concurrent additions of a user', async () => {
    const source = await make()
    const person = await aUser(t.ctx)
    const answers = await Promise.all(
      [10, 20, 30].map((access_level) => t.api('post', `${source.path}/members`, source.creator).send({ user_id: person.id, access_level })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  })

  it('changes level and end; an empty end clears it (ME-6)', async () => {
    const person = await aUser(t.ctx)
    const source = await make({ guest: person })
    const put = (given: object, caller = source.creator) => t.api('put', `${source.path}/members/${person.id}`, caller).send(given)
    expect((await put({ access_level: 20, expires_at: day(2) }).expect(200)).body).toMatchObject({ access_level: 20, expires_at: day(2) })
    expect((await put({ access_level: 30 }).expect(200)).body).toMatchObject({ access_level: 30, expires_at: day(2) })
    expect((await put({ access_level: 30, expires_at: '' }).expect(200)).body).toMatchObject({ expires_at: null })
    await put({}).expect(400, { error: 'access_level is missing' })
    await put({ access_level: 11 }).expect(400, { message: { access_level: ['is not included in the list'] } })
    await put({ access_level: 10 }, person).expect(403)
    await t.api('put', `${source.path}/members/${admin.id}`, source.creator).send({ access_level: 10 }).expect(404, { message: '404 Not found' })
  })

  it('who leaves is unassigned from what they no longer see, and only from that (ME-12)', async () => {
    const leaver = await aUser(t.ctx)
    const source = await make({ developer: leaver })
    const hidden = kind === 'project' ? source : await aProject(t.ctx, { creator: source.creator, namespace_id: source.id })
    const elsewhere = await aProject(t.ctx, { creator: source.creator, developer: leaver })
    const assign = async (project: { path: string }, title: string) => {
      const given = { title, assignee_id: leaver.id }
      const { body } = await t.api('post', `${project.path}/issues`, source.creator).send(given).expect(201)
      return body.iid as number
    }
    const [lost, kept] = [await assign(hidden, 'lost'), await assign(elsewhere, 'kept')]
    const assignee = async (project: { path: string }, iid: number) =>
      (await t.api('get', `${project.path}/issues/${iid}`, source.creator).expect(200)).body.assignee?.id ?? null
    const pending = async () => (await t.api('get', '/todos', leaver).expect(200)).body.map(({ body }: { body: string }) => body).sort()
    const assigned = async () => (await t.api('get', `${hidden.path}/issues?assignee_id=${leaver.id}`, source.creator).expect(200)).headers['x-total']
    expect([await pending(), await assigned()]).toEqual([['kept', 'lost'], '1'])
    await t.api('delete', `${source.path}/members/${leaver.id}`, source.creator).expect(204)
    expect(await assignee(hidden, lost)).toBeNull()
    expect(await assignee(elsewhere, kept)).toBe(leaver.id)
    expect(await assigned()).toBe('0')
    // a returning member finds the assignments removed, not hidden
    await t.api('post', `${source.path}/members`, source.creator).send({ user_id: leaver.id, access_level: 30 }).expect(201)
    expect(await pending()).toEqual(['kept'])
  })

  it('what they still see stays theirs (ME-12)', async () => {
    const leaver = await aUser(t.ctx)
    const source = await make({ developer: leaver, visibility: 'public' })
    const project = kind === 'project' ? source : await aProject(t.ctx, { creator: source.creator, namespace_id: source.id, visibility: 'public' })
    const given = { title: 'open to all', assignee_id: leaver.id }
    const { body } = await t.api('post', `${project.path}/issues`, source.creator).send(given).expect(201)
    await t.api('delete', `${source.path}/members/${leaver.id}`, source.creator).expect(204)
    const shown = (await t.api('get', `${project.path}/issues/${body.iid}`, source.creator).expect(200)).body
    expect(shown.assignee.id).toBe(leaver.id)
    expect((await t.api('get', '/todos', leaver).expect(200)).body).toMatchObject([{ body: 'open to all' }])
  })

  it('removes members; those below the managers remove only themselves (ME-7)', async () => {
    const [guest, developer] = [await aUser(t.ctx), await aUser(t.ctx)]
    const source = await make({ guest, developer })
    const remove = (id: number, caller: TestUser) => t.api('delete', `${source.path}/members/${id}`, caller)
    await remove(guest.id, developer).expect(403)
    await remove(developer.id, developer).expect(204)
    await remove(guest.id, source.creator).expect(204)
    await remove(guest.id, source.creator).expect(404, { message: '404 Not found' })
    await t.api('get', source.path, guest).expect(404)
  })

  it('an end that has come is refused, and counts from its first minute (ME-10)', async () => {
    const person = await aUser(t.ctx)
    const source = await make()
    const add = (expires_at: string) =>
      t.api('post', `${source.path}/members`, source.creator).send({ user_id: person.id, access_level: 10, expires_at })
    for (const past of [day(0), day(-1), '2001-01-01'])
      expect((await add(past).expect(400)).body).toMatchObject({ message: { expires_at: [expect.any(String)] } })
    await add(day(1)).expect(201)
    await t.api('get', source.path, person).expect(200)
    await t.ctx.db.write
      .update(members)
      .set({ expires_at: day(0) })
      .where(eq(members.user_id, person.id))
    await t.api('get', source.path, person).expect(404)
    await t.api('get', `${source.path}/members/${person.id}`, source.creator).expect(404)
    await add(day(1)).expect(201)
  })

  it('a request becomes the membership (ME-11)', async () => {
    const person = await aUser(t.ctx)
    const source = await make()
    await t.ctx.db.write.insert(members).values({
      ...(kind === 'project' ? { project_id: source.id } : { namespace_id: source.id }),
      user_id: person.id,
      access_level: 30,
      requested_at: new Date(),
    })
    await t.api('get', source.path, person).expect(404)
    expect(
      (await t.api('post', `${source.path}/members`, source.creator).send({ user_id: person.id, access_level: 10 }).expect(201)).body,
    ).toMatchObject({ access_level: 10 })
    await t.api('get', source.path, person).expect(200)
    const rows = await t.ctx.db.read.select().from(members).where(eq(members.user_id, person.id))
    expect(rows).toHaveLength(1)
  })
})

describe('inherited members', () => {
  it('each person once with the highest level, from ancestors and shares, capped by the share (ME-2, ME-4, AC-2, AC-3)', async () => {
    const [top, below, invited] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const parent = await aGroup(t.ctx, { reporter: top })
    const child = await aGroup(t.ctx, { creator: parent.creator, parent_id: parent.id, developer: top, guest: below })
    const project = await aProject(t.ctx, { creator: parent.creator, namespace_id: child.id, maintainer: below })
    const other = await aGroup(t.ctx, { creator: admin, maintainer: invited })
    await t.ctx.db.write.insert(projectShares).values({ project_id: project.id, group_id: other.id, group_access: 20 })
    const level = async (path: string, person: TestUser) =>
      ((await t.api('get', `${path}/members/all/${person.id}`, parent.creator)).body as Shown).access_level
    expect([await level(parent.path, top), await level(child.path, top), await level(project.path, top)]).toEqual([20, 30, 30])
    expect([await level(child.path, below), await level(project.path, below), await level(project.path, invited)]).toEqual([10, 40, 20])
    const all = levels((await t.api('get', `${project.path}/members/all`, parent.creator).expect(200)).body)
    expect(all).toEqual(
      expect.arrayContaining([
        [parent.creator.id, 50],
        [top.id, 30],
        [below.id, 40],
        [invited.id, 20],
      ]),
    )
    expect(new Set(all.map(([id]) => id)).size).toBe(all.length)
    await t.api('get', `${project.path}/members/${top.id}`, parent.creator).expect(404)
    await t.api('get', project.path, invited).expect(200)
    await t.ctx.db.write.update(projectShares).set({ expires_at: '2001-01-01' }).where(eq(projectShares.project_id, project.id))
    await t.api('get', project.path, invited).expect(404)
    await t.api('get', `${project.path}/members/all/${invited.id}`, parent.creator).expect(404)
  })
})

describe('permissions to grant levels (ME-8, ME-9)', () => {
  it("refuses levels above the caller's own (ME-8)", async () => {
    const [maintainer, owner, person] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { owner })
    const project = await aProject(t.ctx, { creator: group.creator, namespace_id: group.id, maintainer })
    await t.api('post', `${project.path}/members`, maintainer).send({ user_id: person.id, access_level: 40 }).expect(201)
    await t.ctx.db.write.update(members).set({ access_level: 50 }).where(eq(members.user_id, person.id))
    for (const call of [
      t.api('put', `${project.path}/members/${person.id}`, maintainer).send({ access_level: 10 }),
      t.api('delete', `${project.path}/members/${person.id}`, maintainer),
    ])
      await call.expect(403)
  })

  it('the last owner stays, also when two leave at once; an expired one does not count (ME-9)', async () => {
    const second = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { owner: second })
    const answers = await Promise.all([group.creator, second].map((owner) => t.api('delete', `${group.path}/members/${owner.id}`, owner)))
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 403])
    const left = answers[0]?.status === 403 ? group.creator : second
    await t.api('delete', `${group.path}/members/${left.id}`, admin).expect(403, { message: '403 Forbidden' })
    await t.api('put', `${group.path}/members/${left.id}`, left).send({ access_level: 40 }).expect(403)
    const brief = await aUser(t.ctx)
    await t.ctx.db.write.insert(members).values({ namespace_id: group.id, user_id: brief.id, access_level: 50, expires_at: '2001-01-01' })
    await t.api('delete', `${group.path}/members/${left.id}`, left).expect(403)
    await t
      .api('put', `${group.path}/members/${left.id}`, left)
      .send({ access_level: 50, expires_at: day(1) })
      .expect(403)
  })

  it('the owner of a personal project is a member of level 40 that cannot be changed (ME-9, AC-13)', async () => {
    const project = await aProject(t.ctx)
    expect((await t.api('get', `${project.path}/members/${project.creator.id}`, project.creator).expect(200)).body).toMatchObject({
      access_level: 40,
    })
    for (const caller of [project.creator, admin]) {
      await t.api('put', `${project.path}/members/${project.creator.id}`, caller).send({ access_level: 10 }).expect(403)
      await t.api('delete', `${project.path}/members/${project.creator.id}`, caller).expect(403)
    }
  })

  it('the ghost joins nothing (G-70)', async () => {
    const [group, ghost] = [await aGroup(t.ctx), await aUser(t.ctx)]
    await t.ctx.db.write.update(users).set({ kind: 'ghost' }).where(eq(users.id, ghost.id))
    await t.api('post', `${group.path}/members`, group.creator).send({ user_id: ghost.id, access_level: 10 }).expect(404)
  })
})
