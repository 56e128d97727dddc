import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, setSettings, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let user: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
})

const post = (given: object, caller: TestUser | null = user) => t.api('post', '/groups', caller).send(given)
const failed = (fault: string) => ({ message: `Failed to save group {${fault}}` })
const PATH = "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'."

describe('POST /groups (GR-21 to GR-34, G-74)', () => {
  it('the creator owns it (GR-23, AC-13, G-82, G-84, G-90, W-13)', async () => {
    const { body } = await post({ name: 'Über Gruppe', path: 'uber', description: null }).expect(201)
    expect(body).toMatchObject({
      name: 'Über Gruppe',
      path: 'uber',
      full_path: 'uber',
      full_name: 'Über Gruppe',
      description: '',
      visibility: 'private',
      lfs_enabled: true,
      web_url: 'http://roost.test/groups/uber',
      avatar_url: null,
      parent_id: null,
      request_access_enabled: false,
      projects: [],
      shared_with_groups: [],
      shared_projects: [],
    })
    const { id } = body as { id: number }
    expect((await t.api('get', `/groups/${id}/members`, user).expect(200)).body).toMatchObject([{ id: user.id, access_level: 50 }])
    const below = await post({ name: 'Below', path: 'below', parent_id: id }).expect(201)
    expect(below.body).toMatchObject({
      full_path: 'uber/below',
      full_name: 'Über Gruppe / Below',
      parent_id: id,
      web_url: 'http://roost.test/groups/uber/below',
    })
  })

  it('permissions (GR-21, AC-8, G-66, G-74)', async () => {
    await post({ name: 'a', path: 'a-group' }, null).expect(401)
    await post({ name: 'a', path: 'a-group' }, await aUser(t.ctx, { can_create_group: false })).expect(403, { message: '403 Forbidden' })
    const external = await aUser(t.ctx, { external: true })
    await post({ name: 'a', path: 'a-group' }, external).expect(403)
    const [maintainer, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const parent = await aGroup(t.ctx, { maintainer, owner: external })
    await post({ name: 'a', path: 'a-group', parent_id: parent.id }, maintainer).expect(403)
    await post({ name: 'a', path: 'a-group', parent_id: parent.id }, stranger).expect(404, { message: '404 Group Not Found' })
    await post({ name: 'a', path: 'a-group', parent_id: 999_999 }).expect(404, { message: '404 Group Not Found' })
    await post({ name: 'a', path: 'a-group', parent_id: parent.id }, external).expect(201)
    await post({ name: 'b', path: 'b-group', parent_id: parent.id }, admin).expect(201)
  })

  it('parameters (GR-22, GR-33)', async () => {
    await post({}).expect(400, { error: 'name is missing, path is missing' })
    await post({ name: 'a', path: 'aa', visibility: 'secret' }).expect(400, { error: 'visibility does not have a valid value' })
    expect((await post({ name: 'a', path: 'top-level', parent_id: '' }).expect(201)).body).toMatchObject({ parent_id: null })
    await setSettings(t.ctx, { default_group_visibility: 'internal' })
    expect((await post({ name: 'a', path: 'by-default' }).expect(201)).body).toMatchObject({ visibility: 'internal' })
    await setSettings(t.ctx, {})
  })

  it.each([
    ['-a', PATH],
    ['a.', PATH],
    ['a.git', PATH],
    ['a.ATOM', PATH],
    ['a b', PATH],
    ['a/b', PATH],
    ['ä', PATH],
    ['a\nb', PATH],
    ['..', PATH],
    ['', "can't be blank"],
    ['x'.repeat(256), 'is too long (maximum is 255 characters)'],
    ['Api', 'Api is a reserved name'],
    ['.well-known', '.well-known is a reserved name'],
  ])('refuses the path %j (AC-17, AC-18, GR-24, GR-25, G-43, SEC-62, SEC-65)', async (path, text) => {
    const { message } = (await post({ name: 'a', path }).expect(400)).body as { message: string }
    expect(message).toContain(text)
    expect(message.startsWith('Failed to save group {:path=>["')).toBe(true)
  })

  it('below a parent other names are reserved (AC-18)', async () => {
    const parent = await aGroup(t.ctx, { creator: user })
    await post({ name: 'a', path: 'tree', parent_id: parent.id }).expect(400, failed(':path=>["tree is a reserved name"]'))
    await post({ name: 'a', path: 'users', parent_id: parent.id }).expect(201)
    await post({ name: 'a', path: 'tree' }).expect(201)
  })

  it('one name space, whatever the case; names differ among siblings only (AC-12, GR-26, GR-28)', async () => {
    const parent = await aGroup(t.ctx, { creator: user })
    await aProject(t.ctx, { creator: user, namespace_id: parent.id, name: 'proj' })
    for (const path of [user.username.toUpperCase(), parent.fullPath])
      await post({ name: 'a', path }).expect(400, failed(':path=>["has already been taken"]'))
    await post({ name: 'b', path: 'PROJ', parent_id: parent.id }).expect(400, failed(':path=>["has already been taken"]'))
    await post({ name: 'Same', path: 'one', parent_id: parent.id }).expect(201)
    await post({ name: 'same', path: 'two', parent_id: parent.id }).expect(400, failed(':name=>["has already been taken"]'))
  })

  it('not more visible than the parent, nor than administrators allow (AC-5, GR-30, GR-31, SEC-40)', async () => {
    const parent = await aGroup(t.ctx, { creator: user, visibility: 'internal' })
    await post({ name: 'p', path: 'p', parent_id: parent.id, visibility: 'public' }).expect(
      400,
      failed(':visibility_level=>["public is not allowed since the parent group has a internal visibility."]'),
    )
    await setSettings(t.ctx, { restricted_visibility_levels: ['public', 'private'] })
    await post({ name: 'r', path: 'restricted', visibility: 'public' }).expect(
      400,
      failed(':visibility_level=>["public has been restricted by your administrator"]'),
    )
    await post({ name: 'r', path: 'restricted' }).expect(400, failed(':visibility_level=>["private has been restricted by your administrator"]'))
    await post({ name: 'r', path: 'restricted', visibility: 'public' }, admin).expect(201)
    await setSettings(t.ctx, {})
  })

  it('names, descriptions and depth (GR-27, GR-29, GR-32)', async () => {
    await post({ name: 'a<b', path: 'odd' }).expect(400, failed(`:name=>["can contain only letters, digits, '_', '.', dash and space."]`))
    await post({ name: 'x'.repeat(256), path: 'odd' }).expect(400, failed(':name=>["is too long (maximum is 255 characters)"]'))
    await post({ name: 'a', path: 'odd', description: 'x'.repeat(256) }).expect(
      400,
      failed(':description=>["is too long (maximum is 255 characters)"]'),
    )
    await post({ name: 'x'.repeat(255), path: 'even', description: 'x'.repeat(255) }).expect(201)
    let parent_id = (await aGroup(t.ctx, { creator: user })).id
    for (let depth = 1; depth <= 20; depth++) parent_id = ((await post({ name: 'd', path: 'd', parent_id }).expect(201)).body as { id: number }).id
    await post({ name: 'd', path: 'd', parent_id }).expect(400, failed(':parent_id=>["has too deep level of nesting"]'))
  })

  it('refuses one of two concurrent requests', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => post({ name: 'race', path: 'race' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400, 400])
  })
})

describe('GET /groups and /groups/:id (GR-1 to GR-20, G-60, G-61)', () => {
  it('groups shown to each caller (GR-5, GR-6, GR-7, GR-8, GR-9)', async () => {
    const person = await aUser(t.ctx)
    const external = await aUser(t.ctx, { external: true })
    const tag = `scope${person.id}`
    const group = async (name: string, given: object) => aGroup(t.ctx, { name: `${tag} ${name}`, creator: admin, ...given })
    const open = await group('open', { visibility: 'public' })
    await group('inside', { visibility: 'internal' })
    await group('closed', {})
    const parent = await group('parent', {})
    const mine = await group('mine', { parent_id: parent.id, guest: person, owner: external })
    await group('child', { parent_id: mine.id })
    const holder = await group('holder', {})
    await aProject(t.ctx, { creator: admin, namespace_id: holder.id, guest: person })
    const shown = async (caller: TestUser | null, query = '') =>
      ((await t.api('get', `/groups?search=${tag}&per_page=100${query}`, caller).expect(200)).body as { name: string }[]).map(
        ({ name }) => name.split(' ')[1],
      )
    expect(await shown(null, '&all_available=true')).toEqual(['open'])
    expect(await shown(null, '&owned=true')).toEqual([])
    expect(await shown(person)).toEqual(['child', 'holder', 'mine', 'parent'])
    expect(await shown(person, '&all_available=true')).toEqual(['child', 'holder', 'inside', 'mine', 'open', 'parent'])
    expect(await shown(external, '&all_available=true')).toEqual(['child', 'mine', 'open', 'parent'])
    expect(await shown(external, '&owned=true')).toEqual(['mine'])
    expect(await shown(admin)).toEqual(['child', 'closed', 'holder', 'inside', 'mine', 'open', 'parent'])
    expect(await shown(admin, '&sort=desc&top_level_only=true')).toEqual(['parent', 'open', 'inside', 'holder', 'closed'])
    expect(await shown(admin, `&skip_groups[]=${open.id}&skip_groups[]=${mine.id}`)).not.toContain('open')
    expect(((await t.api('get', `${parent.path}/subgroups`, admin).expect(200)).body as { id: number }[]).map(({ id }) => id)).toEqual([mine.id])
    await t.api('get', parent.path, person).expect(404, { message: '404 Group Not Found' })
  })

  it('search is fuzzy on name or path (GR-10, G-77, G-78, G-80)', async () => {
    const group = await aGroup(t.ctx, { creator: user, name: 'Quick Brown Fox', path: 'jumps-over' })
    const found = async (text: string) =>
      ((await t.api('get', `/groups?search=${encodeURIComponent(text)}`, user).expect(200)).body as { id: number }[]).map(({ id }) => id)
    for (const text of ['brown', 'FOX quick', '"brown fox"', 'JUMPS-over', 'brown fo', 'fo', 'x q'])
      expect([text, await found(text)]).toEqual([text, [group.id]])
    for (const text of ['"fox brown"', 'brown jumps', 'brown zz']) expect([text, await found(text)]).toEqual([text, []])
  })

  it('the projects of a group are whole, newest first, archived ones too, as far as the caller sees them (G-61, GR-3)', async () => {
    const group = await aGroup(t.ctx, { creator: user, visibility: 'public' })
    const ids: number[] = []
    for (let i = 0; i < 22; i++)
      ids.unshift((await aProject(t.ctx, { creator: user, namespace_id: group.id, visibility: i === 0 ? 'public' : 'private' })).id)
    await t.api('post', `/projects/${ids[3]}/archive`, user).expect(201)
    const { body } = await t.api('get', group.path, user).expect(200)
    expect((body as { projects: { id: number }[] }).projects.map(({ id }) => id)).toEqual(ids)
    const open = (await t.api('get', group.path).expect(200)).body as { projects: { id: number }[] }
    expect(open.projects.map(({ id }) => id)).toEqual([ids.at(-1)])
    expect((await t.api('get', `${group.path}?with_projects=false`, user).expect(200)).body).not.toHaveProperty('projects')
  })
})
