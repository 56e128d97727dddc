import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, type Role, statuses } from '../../support/cast.js'
import { aCommit, aProject, aToken, aUser, type TestUser } from '../../support/factories.js'
import { aBareRepository } from '../../support/git.js'
import { bareOf, pushAs, stateOf } from '../../support/repositories.js'

const t = testApp()
let cast: Cast
let tags: string
let main: string

beforeAll(async () => {
  cast = await aCast(t.ctx, { visibility: 'public', files: { 'a.txt': 'a\n' } })
  tags = `${cast.project.path}/repository/tags`
  main = bareOf(t, cast.project).git('rev-parse', 'main').trim()
})

const NOT_ALLOWED = { message: '403 Forbidden' }

describe('GET /projects/:id/repository/tags', () => {
  it('lists tags by commit date, newest first, or by name, either way round; search works as for branches (TG-1)', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    const dates = { 'v1.0': 3_000, 'v1.1': 1_000, beta: 2_000, v1: 4_000 }
    for (const [name, date] of Object.entries(dates)) {
      const [oid] = bare.commits({ branch: name, parents: [], date, files: { a: name } })
      bare.git('tag', name, oid as string)
    }
    const names = async (query: string) =>
      (await t.api('get', `${project.path}/repository/tags${query}`, project.creator).expect(200)).body.map(({ name }: { name: string }) => name)
    expect(await names('')).toEqual(['v1', 'v1.0', 'beta', 'v1.1'])
    expect(await names('?order_by=updated&sort=asc')).toEqual(['v1.1', 'beta', 'v1.0', 'v1'])
    expect(await names('?order_by=name')).toEqual(['v1.1', 'v1.0', 'v1', 'beta'])
    expect(await names('?order_by=name&sort=asc')).toEqual(['beta', 'v1', 'v1.0', 'v1.1'])
    expect(await names('?search=V1&sort=asc')).toEqual(['v1.1', 'v1.0', 'v1'])
    expect(await names('?search=v1&sort=asc')).toEqual(['v1', 'v1.1', 'v1.0'])
    expect(await names('?search=^v1.&order_by=name')).toEqual(['v1.1', 'v1.0'])
    expect(await names('?search=.1$')).toEqual(['v1.1'])
    expect(await names('?search=nothing')).toEqual([])
  })

  it.each([
    ['order_by=size', 'order_by does not have a valid value'],
    ['sort=up', 'sort does not have a valid value'],
  ])('refuses %s (TG-1)', async (query, error) => {
    await t.api('get', `${tags}?${query}`, null).expect(400, { error })
  })

  it('is paginated (TG-1)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const bare = bareOf(t, project)
    for (const name of ['a', 'b', 'c']) bare.git('tag', name, 'main')
    const { body, headers } = await t
      .api('get', `${project.path}/repository/tags?order_by=name&sort=asc&per_page=2&page=2`, project.creator)
      .expect(200)
    expect(body.map(({ name }: { name: string }) => name)).toEqual(['c'])
    expect(headers).toMatchObject({ 'x-total': '3', 'x-total-pages': '2', 'x-page': '2', 'x-per-page': '2', 'x-prev-page': '1', 'x-next-page': '' })
    const link = (page: number, rel: string) =>
      `<${t.url}/api/v4${project.path}/repository/tags?order_by=name&page=${page}&per_page=2&sort=asc>; rel="${rel}"`
    expect(headers['link']).toBe([link(1, 'prev'), link(1, 'first'), link(2, 'last')].join(', '))
  })

  it('an empty repository has none (TG-1)', async () => {
    const project = await aProject(t.ctx)
    const { headers } = await t.api('get', `${project.path}/repository/tags`, project.creator).expect(200, [])
    expect(headers['x-total']).toBe('0')
  })
})

describe('GET /projects/:id/repository/tags/:tag_name', () => {
  it('a lightweight tag has no message and targets the commit (TG-2)', async () => {
    bareOf(t, cast.project).git('tag', 'light/one', main)
    const { body } = await t.api('get', `${tags}/light%2Fone`, null).expect(200)
    expect(body).toMatchObject({
      name: 'light/one',
      message: null,
      target: main,
      release: null,
      protected: false,
      commit: { id: main, title: 'Add files' },
    })
  })

  it('an annotated tag, and a tag of a tag, show the commit in the end (TG-2)', async () => {
    const bare = bareOf(t, cast.project)
    bare.git('tag', '-a', '-m', 'First line\n\nmore', 'full', main)
    bare.git('tag', '-a', '-m', 'outer', 'of-a-tag', 'full')
    const target = bare.git('rev-parse', 'refs/tags/full').trim()
    const { body } = await t.api('get', `${tags}/full`, null).expect(200)
    expect(body).toMatchObject({ name: 'full', message: 'First line\n\nmore', target, commit: { id: main } })
    const outer = await t.api('get', `${tags}/of-a-tag`, null).expect(200)
    expect(outer.body).toMatchObject({ message: 'outer', target: bare.git('rev-parse', 'refs/tags/of-a-tag').trim(), commit: { id: main } })
  })

  // SEC-79, SEC-81, SEC-155: none of these is a tag, and none is anything else
  it.each(['none', '--output=x', '-h', '--', 'main', '..%2Fheads%2Fmain', 'HEAD', 'full~1', '__proto__', 'a%2F'])(
    '404 for %s (TG-2)',
    async (name) => {
      await t.api('get', `${tags}/${name}`, null).expect(404, { message: '404 Tag Not Found' })
    },
  )

  it('shows and lists tags of trees and blobs without a commit, older than all others (TG-1, TG-2, SEC-154)', async () => {
    const project = await aProject(t.ctx, { files: { 'a.txt': 'a' } })
    const { creator } = project
    const bare = bareOf(t, project)
    bare.git('tag', 'tree', 'main^{tree}')
    bare.git('tag', '-a', '-m', 'x', 'blob', 'main:a.txt')
    bare.git('tag', 'good', 'main')
    const names = async (query: string) => {
      const { body, headers } = await t.api('get', `${project.path}/repository/tags${query}`, creator).expect(200)
      expect(headers['x-total']).toBe('3')
      return body.map(({ name }: { name: string }) => name)
    }
    expect(await names('')).toEqual(['good', 'tree', 'blob'])
    expect(await names('?sort=asc')).toEqual(['blob', 'tree', 'good'])
    expect(await names('?order_by=name&sort=asc')).toEqual(['blob', 'good', 'tree'])
    const { body: tree } = await t.api('get', `${project.path}/repository/tags/tree`, creator).expect(200)
    expect(tree).toMatchObject({ target: bare.git('rev-parse', 'main^{tree}').trim(), commit: null, message: null, release: null })
    const { body: blob } = await t.api('get', `${project.path}/repository/tags/blob`, creator).expect(200)
    expect(blob).toMatchObject({ target: bare.git('rev-parse', 'blob').trim(), commit: null, message: 'x' })
    await t.api('post', `${project.path}/repository/tags/blob/release`, creator).send({ description: 'the key' }).expect(201)
    await t.api('get', `${project.path}/releases/blob`, creator).expect(200)
    expect((await t.api('get', `${project.path}/repository/tags/blob`, creator).expect(200)).body.release.description).toBe('the key')
    await t.api('delete', `${project.path}/repository/tags/blob`, creator).expect(204)
    await t.api('get', `${project.path}/repository/tags/blob`, creator).expect(404)
  })
})

describe('POST /projects/:id/repository/tags', () => {
  it('without a message a lightweight tag of a branch, tag or commit (TG-3)', async () => {
    for (const [i, ref] of ['main', main, main.slice(0, 8), 'HEAD'].entries()) {
      const { body } = await t
        .api('post', tags, cast.as.developer)
        .send({ tag_name: `made-${i}`, ref })
        .expect(201)
      expect(body).toMatchObject({ name: `made-${i}`, message: null, target: main, commit: { id: main }, release: null, protected: false })
    }
    await t.api('post', tags, cast.as.developer).send({ tag_name: 'from-a-tag', ref: 'made-0' }).expect(201)
    expect(bareOf(t, cast.project).git('rev-parse', 'refs/tags/from-a-tag').trim()).toBe(main)
  })

  it('with a message an annotated tag, the caller as tagger (TG-3)', async () => {
    const { developer } = cast.as
    const { body } = await t.api('post', tags, developer).send({ tag_name: 'noted', ref: 'main', message: 'What is new\n\nmuch' }).expect(201)
    const bare = bareOf(t, cast.project)
    const text = bare.git('cat-file', 'tag', 'noted')
    expect(body).toMatchObject({
      name: 'noted',
      message: 'What is new\n\nmuch',
      target: bare.git('rev-parse', 'refs/tags/noted').trim(),
      commit: { id: main },
    })
    expect(text).toContain(`object ${main}\ntype commit\ntag noted\ntagger ${developer.name} <${developer.email}> `)
    expect(text.split('\n\n').slice(1).join('\n\n')).toBe('What is new\n\nmuch\n')
    bare.git('fsck', '--strict')
  })

  it.each([
    ['an invalid name', { tag_name: 'a..b', ref: 'main' }, { message: 'Tag name invalid' }],
    ['an empty name', { tag_name: '', ref: 'main' }, { message: 'Tag name invalid' }],
    ['a name like an option', { tag_name: '--force', ref: 'main' }, { message: 'Tag name invalid' }],
    ['a full ref name', { tag_name: 'refs/tags/x', ref: 'main' }, { message: 'Tag name invalid' }],
    ['a name that is taken', { tag_name: 'taken', ref: 'main' }, { message: 'Tag taken already exists' }],
    ['a name below another', { tag_name: 'taken/x', ref: 'main' }, { message: 'Tag name conflicts with the name of another tag' }],
    ['an unknown ref', { tag_name: 'new', ref: 'none' }, { message: 'Target none is invalid' }],
    ['an empty ref', { tag_name: 'new', ref: '' }, { message: 'Target  is invalid' }],
    ['a ref in Git’s own syntax', { tag_name: 'new', ref: 'main~0' }, { message: 'Target main~0 is invalid' }],
    ['no name', { ref: 'main' }, { error: 'tag_name is missing' }],
    ['nothing', {}, { error: 'tag_name is missing, ref is missing' }],
  ])('refuses %s and changes nothing (TG-3, SEC-2)', async (_, given, answer) => {
    const bare = bareOf(t, cast.project)
    bare.git('update-ref', 'refs/tags/taken', main)
    const before = await stateOf(t, cast.project)
    await t.api('post', tags, cast.as.developer).send(given).expect(400, answer)
    expect(await stateOf(t, cast.project)).toEqual(before)
  })

  it('creates a protected tag for callers of its level (TG-3)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    const path = `${project.path}/repository/tags`
    await t.api('post', `${project.path}/protected_tags`, as.maintainer).send({ name: 'v*', create_access_level: 40 }).expect(201)
    await t.api('post', `${project.path}/protected_tags`, as.maintainer).send({ name: 'none', create_access_level: 0 }).expect(201)
    const message = 'You are not allowed to create this tag as it is protected.'
    await t.api('post', path, as.developer).send({ tag_name: 'v1', ref: 'main' }).expect(400, { message })
    await t.api('post', path, as.admin).send({ tag_name: 'none', ref: 'main' }).expect(400, { message })
    await t.api('post', path, as.developer).send({ tag_name: 'other', ref: 'main' }).expect(201)
    const { body } = await t.api('post', path, as.maintainer).send({ tag_name: 'v1', ref: 'main' }).expect(201)
    expect(body.protected).toBe(true)
  })

  it('an empty repository has nothing to tag (TG-3)', async () => {
    const project = await aProject(t.ctx)
    await t
      .api('post', `${project.path}/repository/tags`, project.creator)
      .send({ tag_name: 'a', ref: 'main' })
      .expect(400, { message: 'Target main is invalid' })
  })
})

describe('DELETE /projects/:id/repository/tags/:tag_name', () => {
  it('a maintainer deletes a tag; what it named stays (TG-4)', async () => {
    const bare = bareOf(t, cast.project)
    bare.git('tag', '-f', 'doomed/one', main)
    await t.api('delete', `${tags}/doomed%2Fone`, cast.as.maintainer).expect(204, {})
    expect(bare.git('tag', '--list', 'doomed/*')).toBe('')
    await t.api('get', `${cast.project.path}/repository/commits/${main}`, null).expect(200)
    await t.api('delete', `${tags}/doomed%2Fone`, cast.as.maintainer).expect(404, { message: '404 Tag Not Found' })
  })

  it('400 for a developer, and for a protected tag for everybody (TG-4)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    const path = `${project.path}/repository/tags`
    for (const tag_name of ['v1', 'w1']) await t.api('post', path, as.developer).send({ tag_name, ref: 'main' }).expect(201)
    await t.api('post', `${project.path}/protected_tags`, as.maintainer).send({ name: 'v*' }).expect(201)
    const before = await stateOf(t, project)
    await t.api('delete', `${path}/w1`, as.developer).expect(400, { message: 'You are not allowed to change existing tags on this project.' })
    await t.api('delete', `${path}/v1`, as.admin).expect(400, { message: 'Protected tags cannot be deleted.' })
    expect(await stateOf(t, project)).toEqual(before)
  })
})

describe('tags by push (SEC-104, PU-9, companions 5.1 rows 16, 21, 22)', () => {
  it('a developer makes them; from maintainer up they are moved and deleted; protection binds all', async () => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    const bare = bareOf(t, project)
    const source = aBareRepository()
    try {
      const [one, two] = source.commits({ message: 'One' }, { message: 'Two' }) as [string, string]
      const push = async (user: TestUser, refspec: string) => (await pushAs(t, user, project, source, refspec)).code === 0
      const value = (name: string) => bare.git('for-each-ref', '--format=%(objectname)', `refs/tags/${name}`).trim()
      expect([await push(as.reporter, `${one}:refs/tags/t`), value('t')]).toEqual([false, ''])
      expect([await push(as.developer, `${one}:refs/tags/t`), value('t')]).toEqual([true, one])
      expect([await push(as.developer, `+${two}:refs/tags/t`), value('t')]).toEqual([false, one])
      expect([await push(as.developer, ':refs/tags/t'), value('t')]).toEqual([false, one])
      expect([await push(as.maintainer, `+${two}:refs/tags/t`), value('t')]).toEqual([true, two])
      await t.api('post', `${project.path}/protected_tags`, as.maintainer).send({ name: 't*' }).expect(201)
      expect([await push(as.maintainer, `+${one}:refs/tags/t`), value('t')]).toEqual([false, two])
      expect([await push(as.admin, ':refs/tags/t'), value('t')]).toEqual([false, two])
      expect([await push(as.developer, `${one}:refs/tags/t2`), value('t2')]).toEqual([false, ''])
      expect([await push(as.maintainer, `${one}:refs/tags/t2`), value('t2')]).toEqual([true, one])
      await t.api('delete', `${project.path}/protected_tags/t*`, as.maintainer).expect(204)
      expect([await push(as.maintainer, ':refs/tags/t'), value('t')]).toEqual([true, ''])
    } finally {
      source.remove()
    }
  })
})

describe('permissions', () => {
  it.each(statuses(200))('companions 5.3: %s reads the tags of a public project', async (role, status) => {
    await t.api('get', tags, cast.as[role]).expect(status)
  })

  it.each(statuses(201, { anonymous: 401, stranger: 403, guest: 403, reporter: 403 }))(
    'companions 5.1 row 16: %s creates: %i',
    async (role, status) => {
      await t
        .api('post', tags, cast.as[role])
        .send({ tag_name: `by-${role}`, ref: 'main' })
        .expect(status)
    },
  )

  it.each(statuses(204, { anonymous: 401, stranger: 403, guest: 403, reporter: 403, developer: 400 }))(
    'companions 5.1 row 21: %s deletes: %i',
    async (role, status) => {
      bareOf(t, cast.project).git('tag', '-f', `del-${role}`, main)
      await t.api('delete', `${tags}/del-${role}`, cast.as[role]).expect(status)
    },
  )

  it.each<[Role, number]>([
    ['anonymous', 404],
    ['stranger', 404],
    ['guest', 403],
    ['reporter', 200],
    ['developer', 200],
    ['admin', 200],
  ])('companions 5.1 row 3: %s before a private project: %i (G-40)', async (role, status) => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    bareOf(t, project).git('tag', 'v1', 'main')
    for (const path of ['/repository/tags', '/repository/tags/v1']) {
      const { body } = await t.api('get', project.path + path, as[role]).expect(status)
      if (status === 404) expect(body).toEqual({ message: '404 Project Not Found' })
      if (status === 403) expect(body).toEqual(NOT_ALLOWED)
    }
  })

  it('an archived project is read, not written (AC-11)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    bareOf(t, project).git('tag', 'v1', 'main')
    await t.api('post', `${project.path}/archive`, as.owner).expect(201)
    const before = await stateOf(t, project)
    await t.api('post', `${project.path}/repository/tags`, as.owner).send({ tag_name: 'x', ref: 'main' }).expect(403, NOT_ALLOWED)
    await t.api('delete', `${project.path}/repository/tags/v1`, as.admin).expect(403, NOT_ALLOWED)
    await t.api('get', `${project.path}/repository/tags/v1`, as.reporter).expect(200)
    expect(await stateOf(t, project)).toEqual(before)
  })

  it('a repository switched off refuses reads and writes, administrators included; one for members refuses others (AC-10)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public', files: { a: 'a' } })
    await t.api('put', project.path, as.owner).send({ repository_access_level: 'private' }).expect(200)
    await t.api('get', `${project.path}/repository/tags`, as.stranger).expect(403, NOT_ALLOWED)
    await t.api('get', `${project.path}/repository/tags`, as.guest).expect(200)
    await t.api('put', project.path, as.owner).send({ repository_access_level: 'disabled' }).expect(200)
    for (const caller of [null, as.owner, as.admin]) await t.api('get', `${project.path}/repository/tags`, caller).expect(403, NOT_ALLOWED)
    await t.api('post', `${project.path}/repository/tags`, as.owner).send({ tag_name: 'x', ref: 'main' }).expect(403, NOT_ALLOWED)
  })

  it('companions 3.3: read_api reads; read_repository alone does not open tags; neither writes', async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { developer: user })
    await aCommit(t.ctx, project, { a: 'a' })
    const path = `${project.path}/repository/tags`
    await t.api('get', path, { token: await aToken(t.ctx, user, ['read_api']) }).expect(200)
    await t.api('get', path, { token: await aToken(t.ctx, user, ['read_repository']) }).expect(403)
    const { body } = await t
      .api('post', path, { token: await aToken(t.ctx, user, ['read_api', 'write_repository']) })
      .send({ tag_name: 'x', ref: 'main' })
      .expect(403)
    expect(body).toMatchObject({ error: 'insufficient_scope', scope: 'api' })
  })
})
