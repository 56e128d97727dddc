import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, statuses } from '../../support/cast.js'
import { aProject } from '../../support/factories.js'
import { stateOf } from '../../support/repositories.js'

const t = testApp()
let cast: Cast
let path: string

beforeAll(async () => {
  cast = await aCast(t.ctx, { visibility: 'public' })
  path = `${cast.project.path}/protected_branches`
})

const level = (access_level: number) => [
  {
    id: expect.any(Number),
    access_level,
    access_level_description: { 0: 'No one', 30: 'Developers + Maintainers', 40: 'Maintainers' }[access_level],
    user_id: null,
    group_id: null,
  },
]

describe('POST /projects/:id/protected_branches', () => {
  it('protects a name or a pattern; levels are 40 and force pushes refused unless said otherwise (BR-11)', async () => {
    const { body } = await t.api('post', path, cast.as.maintainer).send({ name: 'main' }).expect(201)
    expect(body).toEqual({
      id: expect.any(Number),
      name: 'main',
      push_access_levels: level(40),
      merge_access_levels: level(40),
      allow_force_push: false,
    })
    const wild = await t
      .api('post', path, cast.as.maintainer)
      .send({ name: 'rel/*', push_access_level: 0, merge_access_level: 30, allow_force_push: true })
      .expect(201)
    expect(wild.body).toMatchObject({ name: 'rel/*', push_access_levels: level(0), merge_access_levels: level(30), allow_force_push: true })
    expect(wild.body.id).not.toBe(body.id)
    // G-47: null and blank take the default
    const blank = await t.api('post', path, cast.as.maintainer).send({ name: 'blank', push_access_level: '', merge_access_level: null }).expect(201)
    expect(blank.body).toMatchObject({ push_access_levels: level(40), merge_access_levels: level(40) })
  })

  it.each([
    ['no name', {}, 400, { error: 'name is missing' }],
    ['a level between', { name: 'x', push_access_level: 20 }, 400, { error: 'push_access_level does not have a valid value' }],
    ['an owner’s level', { name: 'x', merge_access_level: 50 }, 400, { error: 'merge_access_level does not have a valid value' }],
    ['no number', { name: 'x', merge_access_level: 'all' }, 400, { error: 'merge_access_level is invalid' }],
    ['a blank name', { name: ' ' }, 422, { message: ["Name can't be blank"] }],
    ['a long name', { name: 'x'.repeat(256) }, 422, { message: ['Name is too long (maximum is 255 characters)'] }],
    ['a name that is protected', { name: 'twice' }, 409, { message: "Protected branch 'twice' already exists" }],
  ])('refuses %s and changes nothing (BR-11, SEC-2)', async (_, given, status, answer) => {
    await t.api('post', path, cast.as.maintainer).send({ name: 'twice' })
    const before = await stateOf(t, cast.project)
    await t.api('post', path, cast.as.maintainer).send(given).expect(status, answer)
    expect(await stateOf(t, cast.project)).toEqual(before)
  })

  it('odd names are only names (SEC-155)', async () => {
    const project = await aProject(t.ctx)
    const names = ['__proto__', 'constructor', 'null', 'undefined', 'NaN', 'true', '0', '-1', '1e3', '%', "'; --", '**']
    for (const name of names) {
      await t.api('post', `${project.path}/protected_branches`, project.creator).send({ name }).expect(201)
      const { body } = await t.api('get', `${project.path}/protected_branches/${encodeURIComponent(name)}`, project.creator).expect(200)
      expect(body.name).toBe(name)
    }
    const { body } = await t.api('get', `${project.path}/protected_branches`, project.creator).expect(200)
    expect(body.map(({ name }: { name: string }) => name)).toEqual(names)
  })
})

describe('GET /projects/:id/protected_branches', () => {
  it('lists by id, searches, paginates (BR-9)', async () => {
    const project = await aProject(t.ctx)
    const list = `${project.path}/protected_branches`
    for (const name of ['zeta', 'alpha', 'Alphabet', 'a*']) await t.api('post', list, project.creator).send({ name }).expect(201)
    const names = async (query: string) =>
      (await t.api('get', list + query, project.creator).expect(200)).body.map(({ name }: { name: string }) => name)
    expect(await names('')).toEqual(['zeta', 'alpha', 'Alphabet', 'a*'])
    expect(await names('?search=ALPHA')).toEqual(['alpha', 'Alphabet'])
    expect(await names('?search=*')).toEqual(['a*'])
    const { headers, body } = await t.api('get', `${list}?per_page=3&page=2`, project.creator).expect(200)
    expect([body.length, headers['x-total'], headers['x-total-pages']]).toEqual([1, '4', '2'])
    expect(headers['link']).toContain('rel="prev"')
  })
})

describe('GET, PATCH and DELETE /projects/:id/protected_branches/:name', () => {
  it('finds by the exact name or pattern, not by what a pattern matches, and only in its own project (BR-10)', async () => {
    const project = await aProject(t.ctx)
    const list = `${project.path}/protected_branches`
    await t.api('post', list, project.creator).send({ name: 'rel/*' }).expect(201)
    expect((await t.api('get', `${list}/rel%2F*`, project.creator).expect(200)).body.name).toBe('rel/*')
    for (const name of ['rel%2F1', 'rel', 'REL%2F*']) await t.api('get', `${list}/${name}`, project.creator).expect(404, { message: '404 Not found' })
    const other = await aProject(t.ctx, { creator: project.creator })
    for (const method of ['get', 'patch', 'delete'] as const)
      await t.api(method, `${other.path}/protected_branches/rel%2F*`, project.creator).expect(404, { message: '404 Not found' })
    expect((await stateOf(t, project)).branches).toHaveLength(1)
  })

  it('changes the given fields (BR-12)', async () => {
    const project = await aProject(t.ctx)
    const list = `${project.path}/protected_branches`
    await t.api('post', list, project.creator).send({ name: 'x' }).expect(201)
    const change = async (given: object) => (await t.api('patch', `${list}/x`, project.creator).send(given).expect(200)).body
    expect(await change({})).toMatchObject({ push_access_levels: level(40), allow_force_push: false })
    expect(await change({ allow_force_push: true })).toMatchObject({
      push_access_levels: level(40),
      merge_access_levels: level(40),
      allow_force_push: true,
    })
    expect(await change({ allowed_to_push: [{ access_level: 30 }] })).toMatchObject({
      push_access_levels: level(30),
      merge_access_levels: level(40),
      allow_force_push: true,
    })
    expect(await change({ allowed_to_merge: [{ access_level: 0 }] })).toMatchObject({ push_access_levels: level(30), merge_access_levels: level(0) })
    await t
      .api('patch', `${list}/x`, project.creator)
      .send({ allowed_to_push: [{ access_level: 10 }] })
      .expect(400)
  })

  it('takes the protection away (BR-13)', async () => {
    const project = await aProject(t.ctx)
    const list = `${project.path}/protected_branches`
    await t.api('post', list, project.creator).send({ name: 'x/*' }).expect(201)
    await t.api('delete', `${list}/x%2F*`, project.creator).expect(204, {})
    await t.api('delete', `${list}/x%2F*`, project.creator).expect(404, { message: '404 Not found' })
    await t.api('get', list, project.creator).expect(200, [])
  })
})

describe('/projects/:id/protected_tags', () => {
  it('protects, lists, shows and frees (BR-14)', async () => {
    const project = await aProject(t.ctx)
    const list = `${project.path}/protected_tags`
    const { body } = await t.api('post', list, project.creator).send({ name: 'v*' }).expect(201)
    expect(body).toEqual({ name: 'v*', create_access_levels: level(40) })
    await t
      .api('post', list, project.creator)
      .send({ name: 'v*' })
      .expect(422, { message: ['Name has already been taken'] })
    await t
      .api('post', list, project.creator)
      .send({ name: '' })
      .expect(422, { message: ["Name can't be blank"] })
    await t
      .api('post', list, project.creator)
      .send({ name: 'w', create_access_level: 7 })
      .expect(400, { error: 'create_access_level does not have a valid value' })
    expect((await t.api('get', `${list}/v*`, project.creator).expect(200)).body).toEqual(body)
    const all = await t.api('get', list, project.creator).expect(200)
    expect([all.body, all.headers['x-total']]).toEqual([[body], '1'])
    await t.api('delete', `${list}/v*`, project.creator).expect(204)
    await t.api('delete', `${list}/v*`, project.creator).expect(404, { message: '404 Not found' })
    await t.api('get', `${list}/v*`, project.creator).expect(404, { message: '404 Not found' })
  })
})

describe('permissions (companions 5.1 row 38)', () => {
  it.each(statuses(200, { anonymous: 401, stranger: 403, guest: 403, reporter: 403, developer: 403 }))(
    '%s reads and changes protections: %i',
    async (role, status) => {
      const { maintainer } = cast.as
      const caller = cast.as[role]
      const made = status === 200 ? 201 : status
      const gone = status === 200 ? 204 : status
      for (const kind of ['protected_branches', 'protected_tags']) {
        const list = `${cast.project.path}/${kind}`
        await t
          .api('post', list, maintainer)
          .send({ name: `for-${role}` })
          .expect(201)
        const before = await stateOf(t, cast.project)
        await t.api('get', list, caller).expect(status)
        await t.api('get', `${list}/for-${role}`, caller).expect(status)
        await t
          .api('post', list, caller)
          .send({ name: `by-${role}` })
          .expect(made)
        if (kind === 'protected_branches') await t.api('patch', `${list}/for-${role}`, caller).send({ allow_force_push: true }).expect(status)
        await t.api('delete', `${list}/for-${role}`, caller).expect(gone)
        if (status !== 200) expect(await stateOf(t, cast.project)).toEqual(before)
      }
    },
  )

  it('a private project is not there for a stranger (G-40)', async () => {
    const project = await aProject(t.ctx)
    for (const kind of ['protected_branches', 'protected_tags'])
      await t.api('get', `${project.path}/${kind}`, cast.as.stranger).expect(404, { message: '404 Project Not Found' })
  })
})
