import { inArray } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { customAttributes } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let owner: TestUser
const ids: Record<string, number> = {}

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  owner = await aUser(t.ctx)
  ids['users'] = owner.id
  ids['groups'] = (await aGroup(t.ctx, { creator: owner })).id
  ids['projects'] = (await aProject(t.ctx, { creator: owner })).id
})

const SOURCES = ['users', 'groups', 'projects'] as const
const NAMES = { users: 'User', groups: 'Group', projects: 'Project' }

describe.each(SOURCES)('custom attributes of %s', (source) => {
  const path = (key?: string, id = ids[source]) => `/${source}/${id}/custom_attributes${key === undefined ? '' : `/${encodeURIComponent(key)}`}`
  const set = (key: string, value: unknown) => t.api('put', path(key), admin).send({ value })

  it('are set, read, replaced and removed (CA-1, CA-2, CA-3, CA-4)', async () => {
    expect((await t.api('get', path(), admin).expect(200)).body).toEqual([])
    expect((await set('room', 'one').expect(200)).body).toEqual({ key: 'room', value: 'one' })
    expect((await set('room', 'two').expect(200)).body).toEqual({ key: 'room', value: 'two' })
    await set('a/b c', 7).expect(200)
    expect((await t.api('get', path('room'), admin).expect(200)).body).toEqual({ key: 'room', value: 'two' })
    const { body, headers } = await t.api('get', path(), admin).expect(200)
    expect(body).toEqual([
      { key: 'a/b c', value: '7' },
      { key: 'room', value: 'two' },
    ])
    expect(headers['x-total']).toBe('2')
    await t.api('delete', path('room'), admin).expect(204)
    await t.api('delete', path('room'), admin).expect(404, { message: '404 Not found' })
    await t.api('get', path('room'), admin).expect(404, { message: '404 Not found' })
    await t.api('delete', path('a/b c'), admin).expect(204)
  })

  it.each(['__proto__', 'constructor', 'hasOwnProperty', 'null', '0'])('%s is a key like any other (SEC-73, SEC-155)', async (key) => {
    await set(key, 'value').expect(200)
    expect((await t.api('get', path(key), admin).expect(200)).body).toEqual({ key, value: 'value' })
    expect((await t.api('get', path(), admin).expect(200)).body).toEqual([{ key, value: 'value' }])
    await t.api('delete', path(key), admin).expect(204)
  })

  it('are for administrators: 401, 403, 404, 400', async () => {
    for (const [method, key] of [
      ['get', undefined],
      ['get', 'x'],
      ['put', 'x'],
      ['delete', 'x'],
    ] as const) {
      await t.api(method, path(key)).send({ value: 'x' }).expect(401, { message: '401 Unauthorized' })
      await t.api(method, path(key), owner).send({ value: 'x' }).expect(403, { message: '403 Forbidden' })
      // hidden and missing are alike for callers without the right (SEC-30)
      await t.api(method, path(key, 999_999), owner).send({ value: 'x' }).expect(403, { message: '403 Forbidden' })
      await t
        .api(method, path(key, 999_999), admin)
        .send({ value: 'x' })
        .expect(404, { message: `404 ${NAMES[source]} Not Found` })
    }
    await set('x', undefined).expect(400, { error: 'value is missing' })
    await set('x', '').expect(400, { message: { value: ["can't be blank"] } })
    await set('k'.repeat(256), 'x').expect(400, { message: { key: ['is too long (maximum is 255 characters)'] } })
    expect(await t.ctx.db.read.$count(customAttributes, inArray(customAttributes.key, ['x', 'k'.repeat(256)]))).toBe(0)
  })

  it('filter for everybody (CA-5, U-15, GR-13, SEC-46)', async () => {
    await set('team', 'blue').expect(200)
    await set('floor', '3').expect(200)
    const found = async (query: string, caller: TestUser) => {
      const all = source === 'groups' ? '&all_available=true' : ''
      const { body } = await t.api('get', `/${source}?${query}${all}&per_page=100`, caller).expect(200)
      return (body as { id: number }[]).map(({ id }) => id)
    }
    expect(await found('custom_attributes[team]=blue', admin)).toEqual([ids[source]])
    expect(await found('custom_attributes[team]=blue&custom_attributes[floor]=3', admin)).toEqual([ids[source]])
    expect(await found('custom_attributes[team]=blue&custom_attributes[floor]=4', admin)).toEqual([])
    expect(await found('custom_attributes[team]=BLUE', admin)).toEqual([])
    expect(await found('custom_attributes[team]=blue', owner)).toEqual([ids[source]])
    expect(await found('custom_attributes[team]=red', owner)).toEqual([])
    await t.api('get', `/${source}?custom_attributes=x`, admin).expect(400, { error: 'custom_attributes is invalid' })
  })

  it('are shown to administrators who ask (W-11)', async () => {
    await set('team', 'blue').expect(200)
    await set('floor', '3').expect(200)
    const expected = [
      { key: 'floor', value: '3' },
      { key: 'team', value: 'blue' },
    ]
    const one = `/${source}/${ids[source]}`
    expect((await t.api('get', `${one}?with_custom_attributes=true`, admin).expect(200)).body).toMatchObject({ custom_attributes: expected })
    expect((await t.api('get', one, admin).expect(200)).body).not.toHaveProperty('custom_attributes')
    expect((await t.api('get', `${one}?with_custom_attributes=true`, owner).expect(200)).body).not.toHaveProperty('custom_attributes')
    const list = (caller: TestUser) => t.api('get', `/${source}?with_custom_attributes=true&per_page=100`, caller).expect(200)
    const shown = ((await list(admin)).body as { id: number; custom_attributes: object[] }[]).map(({ id, custom_attributes }) => [
      id,
      custom_attributes,
    ])
    expect(shown.find(([id]) => id === ids[source])).toEqual([ids[source], expected])
    expect(shown.filter(([id]) => id !== ids[source]).every(([, attributes]) => JSON.stringify(attributes) === '[]')).toBe(true)
    for (const element of (await list(owner)).body as object[]) expect(element).not.toHaveProperty('custom_attributes')
  })

  it('a list asks the same number of questions for one and for many (N+1)', async () => {
    const ask = async (perPage: number) =>
      (await t.queriesOf(() => t.api('get', `/${source}?with_custom_attributes=true&per_page=${perPage}`, admin).expect(200))).length
    await ask(1)
    expect(await ask(1)).toBe(await ask(100))
  })
})
