import { describe, expect, it } from 'vitest'
import { members } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()
const paths = async (caller: TestUser, query = '') =>
  ((await t.api('get', `/namespaces?per_page=100${query}`, caller).expect(200)).body as { full_path: string }[]).map(({ full_path }) => full_path)

describe('GET /namespaces (NS-1, G-85)', () => {
  it('one’s own and every group with a level on it; administrators see all', async () => {
    const [user, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { guest: user })
    const below = await aGroup(t.ctx, { creator: group.creator, parent_id: group.id })
    const open = await aGroup(t.ctx, { visibility: 'public' })
    await aProject(t.ctx, { creator: open.creator, namespace_id: open.id, guest: user })
    expect(await paths(user)).toEqual([user.username, group.fullPath, `${group.fullPath}/${below.fullPath}`])
    expect(await paths(await anAdmin(t.ctx))).toEqual(expect.arrayContaining([other.username, open.fullPath, group.fullPath]))
    expect(await paths(user, `&search=${group.fullPath.toUpperCase()}`)).toContain(group.fullPath)
    expect(await paths(user, '&search=nothing-like-it')).toEqual([])
    await t.api('get', '/namespaces').expect(401, { message: '401 Unauthorized' })
  })

  it('counts members below for owners and administrators only (G-63)', async () => {
    const [guest, both] = [await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { guest: [guest, both] })
    await aGroup(t.ctx, { creator: group.creator, parent_id: group.id, developer: both })
    // neither a wish nor what is over counts
    for (const more of [{ requested_at: new Date() }, { expires_at: '2001-01-01' }])
      await t.ctx.db.write.insert(members).values({ namespace_id: group.id, user_id: (await aUser(t.ctx)).id, access_level: 10, ...more })
    for (const caller of [group.creator, await anAdmin(t.ctx)])
      expect((await t.api('get', `/namespaces/${group.id}`, caller).expect(200)).body).toMatchObject({
        kind: 'group',
        members_count_with_descendants: 3,
        parent_id: null,
        web_url: `http://roost.test/groups/${group.fullPath}`,
      })
    const { body } = await t.api('get', `/namespaces/${group.id}`, guest).expect(200)
    expect(body).not.toHaveProperty('members_count_with_descendants')
    expect((await t.api('get', `/namespaces/${group.creator.username}`, group.creator).expect(200)).body).not.toHaveProperty(
      'members_count_with_descendants',
    )
  })
})

describe('GET /namespaces/:id (NS-2)', () => {
  it('by id or path, one’s own or with a level on it, else 404', async () => {
    const [user, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { creator: user, visibility: 'public' })
    const below = await aGroup(t.ctx, { creator: user, parent_id: group.id })
    for (const name of [below.id, encodeURIComponent(`${group.fullPath}/${below.fullPath}`.toUpperCase())])
      expect((await t.api('get', `/namespaces/${name}`, user).expect(200)).body).toMatchObject({ id: below.id })
    for (const name of [group.id, group.fullPath, user.username, 'no-such-user', '999999', '99999999999'])
      await t.api('get', `/namespaces/${name}`, stranger).expect(404, { message: '404 Namespace Not Found' })
    await t.api('get', `/namespaces/${group.id}`).expect(401)
    await t.api('get', `/namespaces/${user.username}`, await anAdmin(t.ctx)).expect(200)
  })
})

describe('GET /namespaces/:id/exists (NS-3)', () => {
  it('answers whether a path is taken, and suggests a free one', async () => {
    const user = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: user })
    await aGroup(t.ctx, { creator: user, parent_id: group.id, path: 'taken' })
    const exists = async (path: string, query = '') => (await t.api('get', `/namespaces/${path}/exists${query}`, user).expect(200)).body as unknown
    expect(await exists(user.username.toUpperCase())).toEqual({ exists: true, suggests: [expect.stringMatching(/\d$/)] })
    expect(await exists('free-as-air')).toEqual({ exists: false, suggests: [] })
    expect(await exists('taken')).toEqual({ exists: false, suggests: [] })
    expect(await exists('taken', `?parent_id=${group.id}`)).toEqual({ exists: true, suggests: ['taken1'] })
    await t.api('get', '/namespaces/x/exists').expect(401)
  })
})
