import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { members, projects, snippets } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser, drawnOf, setSettings, type TestProject, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let author: TestUser
let other: TestUser
let external: TestUser

interface Shown {
  id: number
  title: string
}

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  author = await aUser(t.ctx)
  other = await aUser(t.ctx)
  external = await aUser(t.ctx, { external: true })
})

const given = (more: object = {}) => ({ title: 'A title', file_name: 'a.rb', content: 'puts 1\n', ...more })
const create = async (more: object = {}, caller = author) => (await t.api('post', '/snippets', caller).send(given(more)).expect(201)).body as Shown
const titles = async (path: string, caller: TestUser) => ((await t.api('get', path, caller).expect(200)).body as Shown[]).map(({ title }) => title)
const NOT_FOUND = { message: '404 Snippet Not Found' }

describe('personal snippets (SN-1 to SN-7, SN-11)', () => {
  it('are created with all that is shown of them (SN-4)', async () => {
    const made = await create({ description: 'about', visibility: 'public' })
    const web_url = `http://roost.test/snippets/${made.id}`
    expect(made).toEqual({
      id: made.id,
      title: 'A title',
      file_name: 'a.rb',
      description: 'about',
      visibility: 'public',
      author: {
        id: author.id,
        name: author.name,
        username: author.username,
        state: 'active',
        avatar_url: drawnOf(author),
        web_url: `http://roost.test/${author.username}`,
      },
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
      project_id: null,
      web_url,
      raw_url: `${web_url}/raw`,
      files: [{ path: 'a.rb', raw_url: `${web_url}/raw` }],
    })
    const raw = await t.api('get', `/snippets/${made.id}/raw`).expect(200)
    expect(raw.text).toBe('puts 1\n')
    expect(raw.headers).toMatchObject({ 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' })
  })

  it('without a visibility they get that of the setting (SN-4)', async () => {
    expect(await create()).toMatchObject({ visibility: 'private', description: null })
    await setSettings(t.ctx, { default_snippet_visibility: 'internal' })
    expect(await create()).toMatchObject({ visibility: 'internal' })
    await setSettings(t.ctx, { restricted_visibility_levels: ['public'] })
    const restricted = { message: { visibility_level: ['public has been restricted by your administrator'] } }
    await t
      .api('post', '/snippets', author)
      .send(given({ visibility: 'public' }))
      .expect(400, restricted)
    await create({ visibility: 'public' }, admin)
    await setSettings(t.ctx, {})
  })

  it('one file as files[] (SN-4)', async () => {
    const made = await t
      .api('post', '/snippets', author)
      .send({ title: 'x', files: [{ file_path: 'b.py', content: 'print(1)' }] })
      .expect(201)
    expect(made.body).toMatchObject({ file_name: 'b.py' })
    const { id } = made.body as Shown
    expect((await t.api('get', `/snippets/${id}/raw`, author).expect(200)).text).toBe('print(1)')
    const put = (file: object) => t.api('put', `/snippets/${id}`, author).send({ files: [file] })
    await put({ action: 'update', file_path: 'b.py', content: 'print(2)' }).expect(200)
    expect((await put({ action: 'move', file_path: 'c.py', previous_path: 'b.py' }).expect(200)).body).toMatchObject({ file_name: 'c.py' })
    expect((await t.api('get', `/snippets/${id}/raw`, author).expect(200)).text).toBe('print(2)')
    await put({ action: 'delete', file_path: 'c.py' }).expect(400, { error: 'files[action] does not have a valid value' })
    await put({ action: 'update', file_path: 'other.py', content: 'x' }).expect(400, { error: 'files[file_path] is invalid' })
  })

  it.each([
    [{ title: undefined }, { error: 'title is missing' }],
    [{ file_name: undefined }, { error: 'file_name is missing' }],
    [{ content: undefined }, { error: 'content is missing' }],
    [{ file_name: undefined, content: undefined }, { error: 'file_name is missing, content is missing' }],
    [{ title: ' ' }, { message: { title: ["can't be blank"] } }],
    [{ title: 'x'.repeat(256) }, { message: { title: ['is too long (maximum is 255 characters)'] } }],
    [{ file_name: 'x'.repeat(256) }, { message: { file_name: ['is too long (maximum is 255 characters)'] } }],
    [{ content: '' }, { message: { content: ["can't be blank"] } }],
    [{ visibility: 'secret' }, { error: 'visibility does not have a valid value' }],
    [{ files: [] }, { error: 'files must hold exactly one file' }],
    [{ files: [{ content: 'x' }] }, { error: 'files[file_path] is missing' }],
    [
      {
        files: [
          { file_path: 'a', content: 'x' },
          { file_path: 'b', content: 'x' },
        ],
      },
      { error: 'files must hold exactly one file' },
    ],
  ])('refuses %o (SN-4)', async (more, body) => {
    const before = await t.ctx.db.read.$count(snippets)
    await t.api('post', '/snippets', author).send(given(more)).expect(400, body)
    expect(await t.ctx.db.read.$count(snippets)).toBe(before)
  })

  it('its file need not have a name (SN-4)', async () => {
    const { id } = await create({ file_name: '' })
    expect((await t.api('get', `/snippets/${id}`, author).expect(200)).body).toMatchObject({ file_name: '', files: [{ path: '' }] })
    await t.api('get', `/snippets/${id}/raw`, author).expect(200)
  })

  it('own ones and public ones, newest first, in pages (SN-1, SN-2)', async () => {
    await t.ctx.db.write.delete(snippets)
    for (const visibility of ['private', 'internal', 'public']) await create({ title: `mine ${visibility}`, visibility })
    for (const visibility of ['private', 'public']) await create({ title: `theirs ${visibility}`, visibility }, other)
    expect(await titles('/snippets', author)).toEqual(['mine public', 'mine internal', 'mine private'])
    expect(await titles('/snippets/public', author)).toEqual(['theirs public', 'mine public'])
    const page = await t.api('get', '/snippets?per_page=1&page=2', author).expect(200)
    expect(page.headers['x-total']).toBe('3')
    expect(page.body).toMatchObject([{ title: 'mine internal' }])
    for (const path of ['/snippets', '/snippets/public']) await t.api('get', path).expect(401, { message: '401 Unauthorized' })
  })

  it.each([
    ['private', { author: 200, admin: 200, other: 404, external: 404, anonymous: 404 }],
    ['internal', { author: 200, admin: 200, other: 200, external: 404, anonymous: 404 }],
    ['public', { author: 200, admin: 200, other: 200, external: 200, anonymous: 200 }],
  ] as const)('who sees a %s one (SN-3, SN-7, SN-11, SEC-36)', async (visibility, expected) => {
    const { id } = await create({ visibility })
    for (const [who, status] of Object.entries(expected)) {
      const caller = { author, admin, other, external, anonymous: null }[who] ?? null
      for (const path of [`/snippets/${id}`, `/snippets/${id}/raw`]) {
        const answer = await t.api('get', path, caller)
        expect([who, path, answer.status]).toEqual([who, path, status])
        if (status === 404) expect(answer.body).toEqual(NOT_FOUND)
      }
    }
  })

  it('the author and administrators change and delete (SN-5, SN-6)', async () => {
    const { id } = await create({ visibility: 'public' })
    const path = `/snippets/${id}`
    await t.api('put', path).send({ title: 'x' }).expect(401)
    await t.api('put', path, other).send({ title: 'x' }).expect(403, { message: '403 Forbidden' })
    await t.api('delete', path, other).expect(403, { message: '403 Forbidden' })
    await t.api('put', path, author).send({}).expect(400)
    const { body } = await t.api('put', path, author).send({ title: 'New', content: 'new', visibility: 'private', description: 'd' }).expect(200)
    expect(body).toMatchObject({ title: 'New', visibility: 'private', description: 'd', file_name: 'a.rb' })
    await t.api('put', path, other).send({ title: 'x' }).expect(404, NOT_FOUND)
    await t.api('delete', path, other).expect(404, NOT_FOUND)
    expect((await t.api('put', path, admin).send({ description: null }).expect(200)).body).toMatchObject({ description: null })
    await t.api('delete', path, admin).expect(204)
    await t.api('delete', path, author).expect(404, NOT_FOUND)
    await t.api('get', '/snippets/abc', author).expect(400, { error: 'id is invalid' })
  })

  it('external people make none (AC-8)', async () => {
    await t.api('post', '/snippets', external).send(given()).expect(403, { message: '403 Forbidden' })
    await t.api('post', '/snippets').send(given()).expect(401)
  })

  it('they go with their author (U-34)', async () => {
    const gone = await aUser(t.ctx)
    const { id } = await create({ visibility: 'public' }, gone)
    await t.api('delete', `/users/${gone.id}`, admin).expect(204)
    await t.api('get', `/snippets/${id}`, author).expect(404, NOT_FOUND)
  })
})

describe('snippets of a project (SN-8 to SN-10, SN-12)', () => {
  let project: TestProject
  let path: string
  let guest: TestUser
  let reporter: TestUser
  let maintainer: TestUser
  beforeAll(async () => {
    guest = await aUser(t.ctx)
    reporter = await aUser(t.ctx)
    maintainer = await aUser(t.ctx)
    project = await aProject(t.ctx, { visibility: 'public', guest, reporter, maintainer })
    path = `${project.path}/snippets`
  })
  const make = async (visibility: string, caller = reporter, more: object = {}) =>
    (
      await t
        .api('post', path, caller)
        .send(given({ visibility, ...more }))
        .expect(201)
    ).body as Shown

  it('reporters make them, with a visibility (SN-9)', async () => {
    const made = await make('private', reporter, { content: undefined, code: 'as code' })
    expect(made).toMatchObject({
      project_id: project.id,
      web_url: `http://roost.test/${project.fullPath}/snippets/${made.id}`,
      visibility: 'private',
    })
    expect((await t.api('get', `${path}/${made.id}/raw`, guest).expect(200)).text).toBe('as code')
    await t.api('post', path, reporter).send(given()).expect(400, { error: 'visibility is missing, visibility does not have a valid value' })
    await t
      .api('post', path, guest)
      .send(given({ visibility: 'public' }))
      .expect(403)
    await t
      .api('post', path, other)
      .send(given({ visibility: 'public' }))
      .expect(403)
    await t
      .api('post', path)
      .send(given({ visibility: 'public' }))
      .expect(401)
    // a project's snippet is no personal one, and of no other project (SEC-31)
    await t.api('get', `/snippets/${made.id}`, reporter).expect(404, NOT_FOUND)
    const elsewhere = await aProject(t.ctx, { reporter })
    await t.api('get', `${elsewhere.path}/snippets/${made.id}`, reporter).expect(404, NOT_FOUND)
  })

  it('private ones are for members, internal ones not for external people (SN-8, SN-12)', async () => {
    await t.ctx.db.write.delete(snippets)
    const made = { private: await make('private'), internal: await make('internal'), public: await make('public') }
    const seen = async (caller: TestUser) => ((await t.api('get', path, caller).expect(200)).body as Shown[]).map(({ id }) => id)
    const all = Object.values(made).map(({ id }) => id)
    for (const caller of [guest, reporter, admin]) expect(await seen(caller)).toEqual(all)
    expect(await seen(other)).toEqual([made.internal.id, made.public.id])
    expect(await seen(external)).toEqual([made.public.id])
    await t.api('get', path).expect(401)
    // single ones alike
    for (const caller of [guest, reporter, admin, other, external]) {
      const listed = await seen(caller)
      for (const id of all) {
        const status = listed.includes(id) ? 200 : 404
        for (const single of [`${path}/${id}`, `${path}/${id}/raw`]) expect((await t.api('get', single, caller)).status).toBe(status)
      }
    }
    // the author, although no member any more
    await t.ctx.db.write.delete(members).where(eq(members.user_id, reporter.id))
    expect(await seen(reporter)).toEqual(all)
    await t.ctx.db.write.insert(members).values({ project_id: project.id, user_id: reporter.id, access_level: 20 })
  })

  it('5.1 row 14: the author, maintainers but for internal ones, administrators (SN-10)', async () => {
    const open = await make('public')
    const internal = await make('internal')
    const put = (id: number, caller: TestUser | null) => t.api('put', `${path}/${id}`, caller).send({ title: 'x' })
    await put(open.id, null).expect(401)
    for (const caller of [guest, other]) await put(open.id, caller).expect(403, { message: '403 Forbidden' })
    for (const caller of [reporter, maintainer, admin]) await put(open.id, caller).expect(200)
    await put(internal.id, maintainer).expect(403)
    await t.api('delete', `${path}/${internal.id}`, maintainer).expect(403)
    for (const caller of [reporter, admin]) await put(internal.id, caller).expect(200)
    await put(999_999, admin).expect(404, NOT_FOUND)
    await t.api('delete', `${path}/${open.id}`, maintainer).expect(204)
    await t.api('delete', `${path}/${internal.id}`, reporter).expect(204)
  })

  it('switched off and archived (AC-10, AC-11)', async () => {
    const { id } = await make('public')
    const set = (values: Partial<typeof projects.$inferInsert>) => t.ctx.db.write.update(projects).set(values).where(eq(projects.id, project.id))
    await set({ snippets_access_level: 10 })
    await t.api('get', path, other).expect(403)
    await t.api('get', path, guest).expect(200)
    await set({ snippets_access_level: 20, archived: true })
    await t.api('get', `${path}/${id}`, other).expect(200)
    await t
      .api('post', path, reporter)
      .send(given({ visibility: 'public' }))
      .expect(403)
    for (const caller of [reporter, maintainer, admin]) await t.api('put', `${path}/${id}`, caller).send({ title: 'x' }).expect(403)
    await set({ archived: false })
  })

  it('asks the same number of questions for one and for many', async () => {
    const ask = (perPage: number) => t.queriesOf(() => t.api('get', `${path}?per_page=${perPage}`, guest).expect(200))
    for (let i = 0; i < 5; i++) await make('public')
    expect((await ask(1)).length).toBe((await ask(100)).length)
  })

  it('administrators list them with those of all people, also by time (RX-9)', async () => {
    const mine = await create({ visibility: 'private' })
    const ofProject = await make('private')
    const list = async (query: string) => ((await t.api('get', `/snippets/all${query}`, admin).expect(200)).body as Shown[]).map(({ id }) => id)
    expect(await list('?per_page=2')).toEqual([ofProject.id, mine.id])
    expect(await list(`?created_before=2020-01-01`)).toEqual([])
    expect(await list(`?created_after=2020-01-01&per_page=1`)).toEqual([ofProject.id])
    await t.api('get', '/snippets/all', author).expect(403)
  })
})
