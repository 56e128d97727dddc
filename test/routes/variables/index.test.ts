import { eq, sql } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { auditEvents, projects, variables } from '../../../src/db/schema/index.js'
import { variablePurpose } from '../../../src/services/projects/variables.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'

const t = testApp()
let people: Record<'guest' | 'reporter' | 'developer' | 'maintainer' | 'stranger' | 'admin', TestUser>
let project: TestProject
let group: { id: number; path: string }

beforeAll(async () => {
  const [guest, reporter, developer, maintainer, stranger] = (await Promise.all(Array.from({ length: 5 }, () => aUser(t.ctx)))) as [
    TestUser,
    TestUser,
    TestUser,
    TestUser,
    TestUser,
  ]
  people = { guest, reporter, developer, maintainer, stranger, admin: await anAdmin(t.ctx) }
  project = await aProject(t.ctx, { guest, reporter, developer, maintainer })
  group = await aGroup(t.ctx, { guest, reporter, developer, maintainer })
})
beforeEach(() => t.ctx.db.write.delete(variables))

const DEFAULTS = { variable_type: 'env_var', protected: false, masked: false, raw: false, environment_scope: '*', description: null, hidden: false }
const SOURCES = ['project', 'group'] as const
const NAMES = { project: { what: 'Project', missing: '404 Variable Not Found' }, group: { what: 'Group', missing: '404 GroupVariable Not Found' } }

describe.each(SOURCES)('variables of a %s (V-1 to V-10, OT-1)', (kind) => {
  const path = () => `${(kind === 'project' ? project : group).path}/variables`
  const create = (given: object, caller = people.maintainer) => t.api('post', path(), caller).send(given)
  const missing = { message: NAMES[kind].missing }
  const written = (key: string, value: string, more: object = {}) => ({ key, value, ...DEFAULTS, ...more })
  /** What lists and single views show: those of a project are without `protected` (V-2). */
  const shown = (key: string, value: string, isProtected = false, more: object = {}) => {
    const { protected: hidden, ...rest } = written(key, value, { protected: isProtected, ...more })
    return kind === 'group' ? { ...rest, protected: hidden } : rest
  }

  it('are written, listed, read, changed and deleted (V-2, V-4, V-8, V-9)', async () => {
    expect((await create({ key: 'B', value: 'two' }).expect(201)).body).toEqual(written('B', 'two'))
    expect((await create({ key: 'A', value: '', protected: 'yes' }).expect(201)).body).toEqual(written('A', '', { protected: true }))
    const listed = await t.api('get', `${path()}?per_page=1`, people.maintainer).expect(200)
    expect(listed.body).toEqual([shown('B', 'two')])
    expect(listed.headers['x-total']).toBe('2')
    expect((await t.api('get', `${path()}/A`, people.maintainer).expect(200)).body).toEqual(shown('A', '', true))
    expect((await t.api('put', `${path()}/A`, people.maintainer).send({ value: 'new', key: 'Z' }).expect(200)).body).toEqual(
      written('A', 'new', { protected: true }),
    )
    expect((await t.api('put', `${path()}/A`, people.maintainer).send({ value: 'new', protected: false }).expect(200)).body).toMatchObject({
      protected: false,
    })
    await t.api('delete', `${path()}/A`, people.maintainer).set('If-Unmodified-Since', 'Mon, 01 Jan 2018 00:00:00 GMT').expect(204)
    await t.api('delete', `${path()}/A`, people.maintainer).expect(404, missing)
  })

  it('an unknown key, and one of another case, are missing (V-3)', async () => {
    await create({ key: 'Key', value: 'x' }).expect(201)
    for (const key of ['nope', 'KEY', '%20Key']) {
      await t.api('get', `${path()}/${key}`, people.maintainer).expect(404, missing)
      await t.api('put', `${path()}/${key}`, people.maintainer).send({ value: 'x' }).expect(404, missing)
      await t.api('delete', `${path()}/${key}`, people.maintainer).expect(404, missing)
    }
    // V-8: the value is asked for first
    await t.api('put', `${path()}/nope`, people.maintainer).send({}).expect(400, { error: 'value is missing' })
    expect((await create({ key: 'KEY', value: 'another' }).expect(201)).body).toMatchObject({ key: 'KEY' })
  })

  it('have a type, a mask and a raw value, which stay when they are not given (V-60, V-61, V-62)', async () => {
    const given = { variable_type: 'file', masked: true, raw: true, protected: true }
    expect((await create({ key: 'TYPED', value: 'eight888', ...given }).expect(201)).body).toEqual(written('TYPED', 'eight888', given))
    const put = (body: object) => t.api('put', `${path()}/TYPED`, people.maintainer).send(body)
    expect((await put({ value: 'nine99999' }).expect(200)).body).toEqual(written('TYPED', 'nine99999', given))
    expect((await t.api('get', `${path()}/TYPED`, people.maintainer).expect(200)).body).toEqual(shown('TYPED', 'nine99999', true, given))
    await put({ value: 'short' }).expect(400, { message: { value: ['is invalid'] } })
    const plain = { variable_type: 'env_var', masked: false, raw: false, protected: false }
    expect((await put({ value: 'short', ...plain }).expect(200)).body).toEqual(written('TYPED', 'short'))
    await put({ value: 'short', masked: true }).expect(400, { message: { value: ['is invalid'] } })
    await put({ masked: false }).expect(400, { error: 'value is missing' })
    await put({ value: 'x', variable_type: 'other' }).expect(400, { error: 'variable_type does not have a valid value' })
  })

  it.each([
    ['seven77', 400],
    ['eight888', 201],
    ['two\nlines', 400],
    ['with space', 400],
    ['dollar$sign', 400],
    ['A1_+=/@:.~-', 201],
    [`${'x'.repeat(10_000)}`, 201],
    [`${'x'.repeat(10_001)}`, 400],
  ])('a masked value is of 8 characters or more that a log shows as they are: %j (V-61)', async (value, status) => {
    await create({ key: 'MASKED', value, masked: true }).expect(status)
    await create({ key: 'MASKED_RAW', value, masked: true, raw: true }).expect(value === 'dollar$sign' ? 201 : status)
  })

  it('one key has a value for each scope of environments, which its filter names (V-63, V-64)', async () => {
    const scopes = ['*', 'review/*', 'production'] as const
    for (const environment_scope of scopes)
      expect((await create({ key: 'URL', value: environment_scope, environment_scope }).expect(201)).body).toEqual(
        written('URL', environment_scope, { environment_scope }),
      )
    await create({ key: 'URL', value: 'x', environment_scope: 'production' }).expect(400, { message: { key: ['(URL) has already been taken'] } })
    for (const [environment_scope, fault] of [
      ['', "can't be blank"],
      ['a,b', "can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', '*' and spaces"],
      ['x'.repeat(256), 'is too long (maximum is 255 characters)'],
    ])
      await create({ key: 'URL', value: 'x', environment_scope }).expect(400, { message: { environment_scope: [fault] } })
    const several = { message: "There are multiple variables with provided parameters. Please use 'filter[environment_scope]'" }
    const at = `${path()}/URL`
    await t.api('get', at, people.maintainer).expect(409, several)
    await t.api('put', at, people.maintainer).send({ value: 'x' }).expect(409, several)
    await t.api('delete', at, people.maintainer).expect(409, several)
    const one = `${at}?filter[environment_scope]=review/*`
    expect((await t.api('get', one, people.maintainer).expect(200)).body).toMatchObject({ value: 'review/*' })
    await t.api('get', `${at}?filter[environment_scope]=staging`, people.maintainer).expect(404, missing)
    await t.api('put', one, people.maintainer).send({ value: 'x', environment_scope: 'production' }).expect(400)
    const changed = { value: 'two', environment_scope: 'staging', filter: { environment_scope: 'review/*' } }
    expect((await t.api('put', at, people.maintainer).send(changed).expect(200)).body).toEqual(
      written('URL', 'two', { environment_scope: 'staging' }),
    )
    await t.api('delete', one, people.maintainer).expect(404, missing)
    await t.api('delete', `${at}?filter[environment_scope]=staging`, people.maintainer).expect(204)
    const events = await t.ctx.db.read.select().from(auditEvents).where(eq(auditEvents.action, 'variable_removed')).orderBy(auditEvents.id)
    expect(events.at(-1)).toMatchObject({ changes: { key: 'URL', environment_scope: 'staging' } })
  })

  const FORMAT = "can contain only letters, digits and '_'."
  it.each([
    [{}, { error: 'key is missing, value is missing' }],
    [{ key: 'K' }, { error: 'value is missing' }],
    [{ value: 'v' }, { error: 'key is missing' }],
    [{ key: 'K', value: 'v', protected: 'perhaps' }, { error: 'protected is invalid' }],
    [{ key: ' ', value: 'v' }, { message: { key: ["can't be blank", FORMAT] } }],
    [{ key: 'a-b', value: 'v' }, { message: { key: [FORMAT] } }],
    [{ key: 'a\nb', value: 'v' }, { message: { key: [FORMAT] } }],
    [{ key: 'ключ', value: 'v' }, { message: { key: [FORMAT] } }],
    [{ key: 'x'.repeat(256), value: 'v' }, { message: { key: ['is too long (maximum is 255 characters)'] } }],
  ])('refuses %o (V-4, V-5, V-7, SEC-62)', async (given, body) => {
    await create(given).expect(400, body)
    expect(await t.ctx.db.read.$count(variables)).toBe(0)
  })

  it('a key is trimmed, 255 characters are taken, and it is there once (V-5)', async () => {
    expect((await create({ key: '  KEY\n', value: 'v' }).expect(201)).body).toMatchObject({ key: 'KEY' })
    await create({ key: 'x'.repeat(255), value: 'v' }).expect(201)
    await create({ key: 'KEY', value: 'w' }).expect(400, { message: { key: ['(KEY) has already been taken'] } })
    const answers = await Promise.all(Array.from({ length: 10 }, () => create({ key: 'RACE', value: 'v' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(400)])
  })

  it.each(['__proto__', 'constructor', 'hasOwnProperty', '0'])('%s is a key like any other (SEC-73)', async (key) => {
    await create({ key, value: key }).expect(201)
    expect((await t.api('get', `${path()}/${key}`, people.maintainer).expect(200)).body).toEqual(shown(key, key))
    await t.api('delete', `${path()}/${key}`, people.maintainer).expect(204)
  })

  it('any text comes back as it was, and is readable nowhere (V-6, V-10, SEC-135)', async () => {
    const value = `secret "quotes" \r\n\t émoji 🎉 ${'x'.repeat(500_000)}`
    await create({ key: 'BIG', value }).expect(201)
    expect((await t.api('get', `${path()}/BIG`, people.maintainer).expect(200)).body).toEqual(shown('BIG', value))
    await t.api('put', `${path()}/BIG`, people.maintainer).send({ value: 'another secret' }).expect(200)
    const kept = JSON.stringify([await t.ctx.db.read.select().from(variables), await t.ctx.db.read.select().from(auditEvents), t.logged])
    expect(kept).not.toMatch(/secret "?|another secret/)
    const events = await t.ctx.db.read.select().from(auditEvents).where(eq(auditEvents.action, 'variable_updated')).orderBy(auditEvents.id)
    expect(events.at(-1)).toMatchObject({ target_type: kind, changes: { key: 'BIG' } })
  })

  it('maintainers and above; before the parameters, for every method (V-1, SEC-135)', async () => {
    await create({ key: 'K', value: 'v' }).expect(201)
    for (const [method, more] of [
      ['get', ''],
      ['post', ''],
      ['get', '/K'],
      ['put', '/K'],
      ['delete', '/K'],
    ] as const) {
      await t.api(method, `${path()}${more}`).expect(401, { message: '401 Unauthorized' })
      await t
        .api(method, `${path()}${more}`, people.stranger)
        .send({ key: 'x', value: 'x' })
        .expect(404, { message: `404 ${NAMES[kind].what} Not Found` })
      for (const role of ['guest', 'reporter', 'developer'] as const) {
        const body = kind === 'project' ? {} : { key: 'x', value: 'x' }
        await t.api(method, `${path()}${more}`, people[role]).send(body).expect(403, { message: '403 Forbidden' })
      }
    }
    await create({ key: 'L', value: 'v' }, people.admin).expect(201)
    await t.api('get', `${path()}/K`, people.admin).expect(200)
  })
})

describe('variables and switches', () => {
  it('for no one if the jobs or the repository are disabled (V-1)', async () => {
    const own = await aProject(t.ctx, { maintainer: people.maintainer })
    const path = `${own.path}/variables`
    const set = (values: Partial<typeof projects.$inferInsert>) => t.ctx.db.write.update(projects).set(values).where(eq(projects.id, own.id))
    await t.api('post', path, people.maintainer).send({ key: 'K', value: 'v' }).expect(201)
    for (const off of [{ builds_access_level: 0 }, { builds_access_level: 20, repository_access_level: 0 }]) {
      await set(off)
      for (const caller of [people.maintainer, own.creator, people.admin]) await t.api('get', path, caller).expect(403)
    }
    await set({ builds_access_level: 10, repository_access_level: 20 })
    await t.api('get', path, people.maintainer).expect(200)
  })

  it('a key of another project is missing (SEC-31)', async () => {
    const other = await aProject(t.ctx, { maintainer: people.maintainer })
    await t.api('post', `${other.path}/variables`, people.maintainer).send({ key: 'THERE', value: 'v' }).expect(201)
    await t.api('get', `${project.path}/variables/THERE`, people.maintainer).expect(404)
  })
})

describe('hidden variables and descriptions (RX-8)', () => {
  it.each(['project', 'group'] as const)('of a %s show no value after they were made, and keep it', async (kind) => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner })
    const at = `${kind === 'group' ? `/groups/${group.id}` : (await aProject(t.ctx, { creator: owner })).path}/variables`
    const given = { key: 'KEY', value: 'secret_value', description: 'of the cloud' }
    await t
      .api('post', at, owner)
      .send({ key: 'BAD', value: 'short', masked_and_hidden: true })
      .expect(400, { message: { value: ['is invalid'] } })
    await t
      .api('post', at, owner)
      .send({ ...given, description: 'x'.repeat(256) })
      .expect(400, { message: { description: ['is too long (maximum is 255 characters)'] } })
    const { body: made } = await t
      .api('post', at, owner)
      .send({ ...given, masked_and_hidden: true })
      .expect(201)
    expect(made).toMatchObject({ key: 'KEY', value: null, description: 'of the cloud', masked: true, hidden: true })
    expect((await t.api('get', at, owner).expect(200)).body).toMatchObject([{ value: null, hidden: true }])
    // a client gives back what it has read
    for (const value of [null, undefined, ''])
      expect((await t.api('put', `${at}/KEY`, owner).send({ value, description: 'other' }).expect(200)).body.description).toBe('other')
    await t
      .api('put', `${at}/KEY`, owner)
      .send({ value: 'another_value', masked: false })
      .expect(400, { message: { base: ['The visibility setting cannot be changed for masked and hidden variables.'] } })
    const { rows } = await t.ctx.db.write.execute<{ sealed: string; id: string }>(
      sql`select sealed, coalesce(project_id, group_id) as id from variables where key = 'KEY' and hidden order by id desc limit 1`,
    )
    const purpose = variablePurpose({ kind, id: Number(rows[0]?.id) }, 'KEY')
    expect(t.ctx.encryption.open(rows[0]?.sealed ?? '', purpose)).toBe('secret_value')
    await t.api('post', at, owner).send({ key: 'OPEN', value: 'x' }).expect(201)
    await t.api('put', `${at}/OPEN`, owner).send({ description: 'y' }).expect(400, { error: 'value is missing' })
    expect((await t.api('put', `${at}/OPEN`, owner).send({ value: '', description: '' }).expect(200)).body).toMatchObject({
      value: '',
      hidden: false,
    })
  })
})

describe('variables of the instance (V-65)', () => {
  const at = '/admin/ci/variables'

  it('are for administrators, and have no scope', async () => {
    const { admin, maintainer } = people
    const made = { variable_type: 'env_var', key: 'ALL', value: 'one', protected: false, masked: false, raw: false, description: null }
    await t.api('get', at).expect(401)
    await t.api('post', at, maintainer).send({}).expect(403)
    expect((await t.api('post', at, admin).send({ key: 'ALL', value: 'one' }).expect(201)).body).toEqual(made)
    await t
      .api('post', at, admin)
      .send({ key: 'ALL', value: 'two' })
      .expect(400, { message: { key: ['(ALL) has already been taken'] } })
    expect((await t.api('get', at, admin).expect(200)).body).toEqual([made])
    await t.api('get', `${at}/ALL`, maintainer).expect(403)
    const changed = { ...made, variable_type: 'file', masked: true, value: 'eight888' }
    await t
      .api('put', `${at}/ALL`, admin)
      .send({ masked: true })
      .expect(400, { message: { value: ['is invalid'] } })
    expect((await t.api('put', `${at}/ALL`, admin).send({ masked: true, variable_type: 'file', value: 'eight888' }).expect(200)).body).toEqual(
      changed,
    )
    expect((await t.api('get', `${at}/ALL`, admin).expect(200)).body).toEqual(changed)
    const [event] = await t.ctx.db.read.select().from(auditEvents).where(eq(auditEvents.target, 'CI variables')).orderBy(auditEvents.id)
    expect(event).toMatchObject({ action: 'variable_added', target_type: 'settings', changes: { key: 'ALL' } })
    await t.api('delete', `${at}/ALL`, admin).expect(204)
    await t.api('get', `${at}/ALL`, admin).expect(404, { message: '404 InstanceVariable Not Found' })
  })
})
