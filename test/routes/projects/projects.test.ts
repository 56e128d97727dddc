import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { projectShares, projects } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, setSettings, type TestUser } from '../../support/factories.js'

const t = testApp({}, { upkeep: true })
let admin: TestUser
let user: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
})

const post = (given: object, caller: TestUser | null = user) => t.api('post', '/projects', caller).send(given)
const ids = (body: unknown) => (body as { id: number }[]).map(({ id }) => id)

describe('POST /projects (PR-7, PR-14 to PR-17)', () => {
  it('to G-86, AC-13: an empty project in one’s own namespace (PR-15, PR-16, PR-17, G-82)', async () => {
    const { body } = await post({ name: 'Hello World', tag_list: 'b, a,b' }).expect(201)
    const full = `${user.username}/hello-world`
    expect(body).toMatchObject({
      name: 'Hello World',
      path: 'hello-world',
      path_with_namespace: full,
      name_with_namespace: `${user.username} / Hello World`,
      default_branch: null,
      empty_repo: true,
      visibility: 'private',
      tag_list: ['a', 'b'],
      topics: ['a', 'b'],
      web_url: `http://roost.test/${full}`,
      http_url_to_repo: `http://roost.test/${full}.git`,
      ssh_url_to_repo: `git@roost.test:${full}.git`,
      avatar_url: null,
      namespace: { kind: 'user', path: user.username, full_path: user.username, parent_id: null },
      permissions: { project_access: { access_level: 40 }, group_access: null },
      creator_id: user.id,
      owner: { id: user.id },
    })
    await t.api('get', `/projects/${encodeURIComponent(full)}`, user).expect(200)
  })

  it('a README on the branch asked for (PR-16)', async () => {
    const { body } = await post({ name: 'Read', initialize_with_readme: true, default_branch: 'trunk', description: 'About.' }).expect(201)
    expect(body).toMatchObject({ default_branch: 'trunk', empty_repo: false })
    expect(
      (await t.api('get', `/projects/${(body as { id: number }).id}/repository/files/README.md/raw?ref=trunk`, user).expect(200)).text,
    ).toContain('# Read')
  })

  it.each([
    [{ path: '-a' }, 'path', "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'"],
    [{ path: 'a.git' }, 'path', "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'"],
    [{ path: '..' }, 'path', "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'"],
    [{ path: 'Tree' }, 'path', 'Tree is a reserved name'],
    [{ path: 'info' }, 'path', 'info is a reserved name'],
    [{ path: 'x'.repeat(256) }, 'path', 'is too long (maximum is 255 characters)'],
    [
      { name: '-a', path: 'a' },
      'name',
      "can contain only letters, digits, emojis, '_', '.', dash, space. It must start with letter, digit, emoji or '_'.",
    ],
    [
      { name: 'a\nb', path: 'a' },
      'name',
      "can contain only letters, digits, emojis, '_', '.', dash, space. It must start with letter, digit, emoji or '_'.",
    ],
    [{ name: 'x'.repeat(256), path: 'a' }, 'name', 'is too long (maximum is 255 characters)'],
    [{ name: 'ok', description: 'x'.repeat(2_001) }, 'description', 'is too long (maximum is 2000 characters)'],
  ])('to AC-19, SEC-62, SEC-63, SEC-65: refuses %o (AC-17)', async (given, field, text) => {
    const { message } = (await post({ ...(!('name' in given) && { name: 'ok' }), ...given }).expect(400)).body as {
      message: Record<string, string[]>
    }
    expect(message[field]).toContain(text)
  })

  it('accepts valid names and paths (AC-17, AC-19)', async () => {
    for (const given of [
      { name: '🎉 Party_1.0 - è', path: 'party' },
      { path: 'ends.' },
      { path: '_x' },
      { name: 'Dot', path: '.dot' },
      { name: 'x'.repeat(255), path: 'long' },
      { name: 'users' },
    ])
      await post(given).expect(201)
  })

  it('name and path are each taken once, whatever the case; x and x.wiki exclude each other (AC-19)', async () => {
    await post({ name: 'Once', path: 'once' }).expect(201)
    await post({ name: 'ONCE', path: 'other' }).expect(400, { message: { name: ['has already been taken'] } })
    await post({ name: 'other', path: 'ONCE' }).expect(400, { message: { path: ['has already been taken'] } })
    await post({ name: 'wiki', path: 'once.wiki' }).expect(400, { message: { path: ['has already been taken'] } })
    const answers = await Promise.all([1, 2, 3].map(() => post({ name: 'race' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400, 400])
  })

  it('the limit of personal projects holds, also when several are made at once (PR-14, AC-8, SEC-131)', async () => {
    const limited = await aUser(t.ctx, { projects_limit: 1 })
    const answers = await Promise.all([1, 2, 3, 4].map((n) => post({ name: `p${n}` }, limited)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 403, 403, 403])
    expect(answers.find(({ status }) => status === 403)?.body).toEqual({ error: [expect.stringContaining('1')] })
    const external = await aUser(t.ctx, { external: true })
    expect((await post({ name: 'x' }, external).expect(403)).body).toEqual({ error: [expect.stringContaining('limit is 0')] })
    const group = await aGroup(t.ctx, { maintainer: limited, owner: external })
    await post({ name: 'in the group', namespace_id: group.id }, limited).expect(201)
    await post({ name: 'not for external', namespace_id: group.id }, external).expect(403)
  })

  it('only where one may (PR-7)', async () => {
    const invalid = { message: { namespace: ['is not valid'] } }
    const other = await aUser(t.ctx)
    const [developer, maintainer] = [await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { developer, maintainer })
    const theirs = ((await t.api('get', '/user', other)).body as { namespace_id: number }).namespace_id
    for (const namespace_id of [999_999, theirs, group.id]) await post({ name: 'x', namespace_id }).expect(400, invalid)
    await post({ name: 'x', namespace_id: group.id }, developer).expect(400, invalid)
    await post({ name: 'x', namespace_id: group.id }, maintainer).expect(201)
    await post({}).expect(400, { error: 'name, path are missing, at least one parameter must be provided' })
    await post({ name: 'x' }, null).expect(401)
  })

  it('visibility is bounded by the group and by the administrators (AC-5, PR-15, SEC-40)', async () => {
    const group = await aGroup(t.ctx, { creator: user, visibility: 'internal' })
    expect((await post({ name: 'v', namespace_id: group.id, visibility: 'public' }).expect(400)).body).toMatchObject({
      message: { visibility_level: [expect.any(String)] },
    })
    await setSettings(t.ctx, { default_project_visibility: 'public' })
    expect((await post({ name: 'lowered', namespace_id: group.id }).expect(201)).body).toMatchObject({ visibility: 'internal' })
    await setSettings(t.ctx, { restricted_visibility_levels: ['public'] })
    await post({ name: 'r', visibility: 'public' }).expect(400, {
      message: { visibility_level: ['public has been restricted by your administrator'] },
    })
    await post({ name: 'r', visibility: 'public' }, admin).expect(201)
    await setSettings(t.ctx, {})
  })

  it('an administrator makes one for and as another (PR-8)', async () => {
    const { body } = await t.api('post', `/projects/user/${user.id}`, admin).send({ name: 'For you' }).expect(201)
    expect(body).toMatchObject({ creator_id: user.id, namespace: { path: user.username } })
    await t.api('post', '/projects/user/999999', admin).send({ name: 'x' }).expect(404, { message: '404 User Not Found' })
    await t.api('post', `/projects/user/${user.id}`, user).send({ name: 'x' }).expect(403)
  })
})

describe('reading (PR-1 to PR-3, section 5.3)', () => {
  it('filters (PR-1, PR-2)', async () => {
    const person = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { owner: person })
    const own = await aProject(t.ctx, { creator: person, name: 'own one', description: 'needle here', visibility: 'public' })
    const grouped = await aProject(t.ctx, { creator: person, namespace_id: group.id, issues_enabled: false })
    const guest = await aProject(t.ctx, { guest: person })
    await t.api('post', `${own.path}/archive`, person).expect(201)
    await t.api('post', `${guest.path}/star`, person).expect(201)
    const list = async (query: string, caller: TestUser | null = person, path = '/projects') =>
      ids((await t.api('get', `${path}?order_by=id&sort=asc&per_page=100&${query}`, caller).expect(200)).body)
    expect(await list('membership=true')).toEqual([own.id, grouped.id, guest.id])
    expect(await list('owned=true')).toEqual([own.id, grouped.id])
    expect(await list('starred=true')).toEqual([guest.id])
    expect(await list('membership=true&archived=true')).toEqual([own.id])
    expect(await list('membership=true&archived=false')).toEqual([grouped.id, guest.id])
    expect(await list('membership=true&visibility=public')).toEqual([own.id])
    expect(await list('search=NEEDLE')).toEqual([own.id])
    expect(await list('membership=true&with_issues_enabled=true')).toEqual([own.id, guest.id])
    expect(await list('membership=true&min_access_level=30')).toEqual([own.id, grouped.id])
    expect(await list(`membership=true&id_after=${own.id}&id_before=${guest.id}`)).toEqual([grouped.id])
    expect(await list('', null, `/users/${person.id}/projects`)).toEqual([own.id])
    expect(await list('', person, `/users/${person.username.toUpperCase()}/projects`)).toEqual([own.id])
    await t.api('get', '/users/no-such-user/projects', person).expect(404, { message: '404 User Not Found' })
    expect(await list(`membership=true&search=${group.fullPath}`)).toEqual([])
    expect(await list(`membership=true&search=${group.fullPath.toUpperCase()}&search_namespaces=true`)).toEqual([grouped.id])
    expect(await list(`search=${encodeURIComponent(grouped.fullPath)}&search_namespaces=true`)).toEqual([grouped.id])
    expect(await list(`search=${group.fullPath}&search_namespaces=false`)).toEqual([])
    expect(await list(`search=${group.fullPath}&search_namespaces=true`, null)).toEqual([])
    expect(await list(`search=needle&search_namespaces=true`)).toEqual([own.id])
    await t
      .api('put', group.path, person)
      .send({ path: `${group.fullPath}-moved` })
      .expect(200)
    expect(await list(`search=${group.fullPath}-moved&search_namespaces=true`)).toEqual([grouped.id])
    expect(await list(`search=${group.fullPath}/&search_namespaces=true`)).toEqual([])
    for (const query of ['owned=true', 'membership=true', 'min_access_level=10']) expect(await list(query, null)).toEqual([])
  })

  it('by language, where the caller may read the code (PR-50)', async () => {
    const [creator, guest, reporter] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const files = { 'a.ts': 'const a = 1\n', 'b.C': 'int b;\n' }
    const open = await aProject(t.ctx, { creator, visibility: 'public', files })
    const closed = await aProject(t.ctx, { creator, guest, reporter, files })
    await aProject(t.ctx, { creator, files: { 'a.rb': 'puts 1' } })
    await t.ctx.jobs.drain()
    const list = async (language: string, caller: TestUser | null) =>
      ids((await t.api('get', `/projects?order_by=id&sort=asc&with_programming_language=${language}`, caller).expect(200)).body)
    expect(await list('TypeScript', creator)).toEqual([open.id, closed.id])
    expect(await list('typescript', reporter)).toEqual([open.id, closed.id])
    expect(await list('TypeScript', guest)).toEqual([open.id])
    expect(await list('TypeScript', null)).toEqual([open.id])
    expect([await list('Type', creator), await list('Go', creator)]).toEqual([[], []])
    expect(await list('', creator)).toEqual(expect.arrayContaining([open.id, closed.id]))
    await aCommit(t.ctx, open, { 'c.go': 'package c\n' })
    await t.ctx.jobs.drain()
    expect(await list('go', creator)).toEqual([open.id])
    const fork = await t.api('post', `${open.path}/fork`, reporter).expect(201)
    expect(await list('go', reporter)).toEqual([open.id, fork.body.id])
    await t.ctx.db.write.update(projects).set({ repository_access_level: 0 }).where(eq(projects.id, open.id))
    expect(await list('go', null)).toEqual([fork.body.id])
  })

  it('in the order of stars, and for administrators of sizes (PR-51)', async () => {
    const creator = await aUser(t.ctx)
    const [a, b, c] = [await aProject(t.ctx, { creator }), await aProject(t.ctx, { creator }), await aProject(t.ctx, { creator })]
    const set = (id: number, sizes: Partial<typeof projects.$inferInsert>) => t.ctx.db.write.update(projects).set(sizes).where(eq(projects.id, id))
    await set(a.id, { repository_size: 30, lfs_objects_size: 0 })
    await set(b.id, { repository_size: 10, lfs_objects_size: 50 })
    await set(c.id, { repository_size: 20, lfs_objects_size: 20 })
    const list = async (query: string, caller = creator) =>
      ids((await t.api('get', `/users/${creator.id}/projects?${query}`, caller).expect(200)).body)
    expect(await list('order_by=star_count')).toEqual([c.id, b.id, a.id])
    await t.api('post', `${b.path}/star`, creator).expect(201)
    expect(await list('order_by=star_count')).toEqual([b.id, c.id, a.id])
    expect(await list('order_by=star_count&sort=asc')).toEqual([a.id, c.id, b.id])
    const admin = await anAdmin(t.ctx)
    expect(await list('order_by=repository_size', admin)).toEqual([a.id, c.id, b.id])
    expect(await list('order_by=storage_size', admin)).toEqual([b.id, c.id, a.id])
    expect(await list('order_by=storage_size&sort=asc', admin)).toEqual([a.id, c.id, b.id])
    for (const order of ['storage_size', 'repository_size', 'wiki_size', 'similarity'])
      for (const caller of [creator, null])
        await t.api('get', `/projects?order_by=${order}`, caller).expect(400, { error: 'order_by does not have a valid value' })
  })

  it('section 6: anonymous callers and simple get the basic view; statistics are for reporters', async () => {
    const [guest, reporter] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { visibility: 'public', guest, reporter })
    for (const answer of [await t.api('get', project.path).expect(200)]) expect(answer.body).not.toHaveProperty('permissions')
    expect((await t.api('get', '/projects?simple=true', guest).expect(200)).body).not.toContainEqual(
      expect.objectContaining({ permissions: expect.anything() as object }),
    )
    expect((await t.api('get', `${project.path}?statistics=true`, guest).expect(200)).body).not.toHaveProperty('statistics')
    expect((await t.api('get', `${project.path}?statistics=true`, reporter).expect(200)).body).toMatchObject({
      statistics: { commit_count: 0 },
      permissions: { project_access: { access_level: 20 }, group_access: null },
    })
    expect((await t.api('get', project.path, await aUser(t.ctx)).expect(200)).body).toMatchObject({
      permissions: { project_access: null, group_access: null },
    })
  })
})

describe('changing (PR-10 to PR-12, PR-18, PR-22)', () => {
  it('maintainers change settings, owners path and visibility; only given fields change (PR-10)', async () => {
    const [developer, maintainer] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { developer, maintainer, description: 'kept' })
    const put = (given: object, caller: TestUser) => t.api('put', project.path, caller).send(given)
    await put({ description: 'x' }, developer).expect(403)
    expect((await put({ issues_access_level: 'private', wiki_enabled: false }, maintainer).expect(200)).body).toMatchObject({
      description: 'kept',
      issues_access_level: 'private',
      wiki_access_level: 'disabled',
      wiki_enabled: false,
    })
    for (const given of [{ name: 'New' }, { visibility: 'public' }]) await put(given, maintainer).expect(403)
    expect((await put({ name: 'New', visibility: 'internal', path: 'moved-here' }, project.creator).expect(200)).body).toMatchObject({
      name: 'New',
      visibility: 'internal',
      path: 'moved-here',
    })
    await t.api('get', `/projects/${encodeURIComponent(project.fullPath)}`, project.creator).expect(404)
    expect((await put({ default_branch: 'none' }, maintainer).expect(400)).body).toMatchObject({
      message: { base: [expect.stringContaining('none')] },
    })
    expect((await put({ unknown: 1 }, maintainer).expect(400)).body).toMatchObject({
      error: expect.stringContaining('at least one parameter must be provided') as string,
    })
  })

  it('deletion is accepted, at once, and the path is free again (PR-11, W-14, SEC-134)', async () => {
    const maintainer = await aUser(t.ctx)
    const project = await aProject(t.ctx, { maintainer, files: { a: 'a' } })
    await t.api('delete', project.path, maintainer).expect(403)
    await t.api('delete', project.path, project.creator).expect(202, { message: '202 Accepted' })
    for (const path of ['', '/repository/tree']) await t.api('get', project.path + path, maintainer).expect(404)
    await t.api('get', `/projects/${encodeURIComponent(project.fullPath)}`, project.creator).expect(404)
    const again = await post({ name: project.fullPath.split('/')[1] }, project.creator).expect(201)
    expect(again.body).toMatchObject({ path_with_namespace: project.fullPath, empty_repo: true })
  })

  it('an archived project is read and not written (PR-12, AC-11, G-69)', async () => {
    const project = await aProject(t.ctx, { files: { 'a.txt': 'a' } })
    for (let i = 0; i < 2; i++)
      expect((await t.api('post', `${project.path}/archive`, project.creator).expect(201)).body).toMatchObject({ archived: true })
    for (const path of ['', '/repository/tree', '/repository/branches', '/members'])
      await t.api('get', project.path + path, project.creator).expect(200)
    await t.api('post', `${project.path}/repository/branches`, project.creator).send({ branch: 'b', ref: 'main' }).expect(403)
    await t
      .api('post', `${project.path}/repository/commits`, project.creator)
      .send({ branch: 'main', commit_message: 'x', actions: [{ action: 'create', file_path: 'b', content: 'b' }] })
      .expect(403)
    await t.api('put', project.path, project.creator).send({ description: 'still' }).expect(200)
    expect((await t.api('post', `${project.path}/unarchive`, project.creator).expect(201)).body).toMatchObject({ archived: false })
    await t.api('post', `${project.path}/repository/branches`, project.creator).send({ branch: 'b', ref: 'main' }).expect(201)
  })

  it('a star counts once (PR-22, W-15)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const answers = await Promise.all([1, 2, 3].map(() => t.api('post', `${project.path}/star`, user)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 304, 304])
    expect((await t.api('get', project.path, user)).body).toMatchObject({ star_count: 1 })
    expect((await t.api('post', `${project.path}/unstar`, user).expect(201)).body).toMatchObject({ star_count: 0 })
    await t.api('post', `${project.path}/unstar`, user).expect(304)
  })

  it('with the repository switched off code is closed to all (AC-10, G-68)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    await t.api('get', `${project.path}/repository/tree`, user).expect(200)
    await t.api('put', project.path, project.creator).send({ repository_access_level: 'private' }).expect(200)
    await t.api('get', `${project.path}/repository/tree`, user).expect(403)
    await t.api('get', `${project.path}/repository/tree`, project.creator).expect(200)
    await t.api('put', project.path, project.creator).send({ repository_access_level: 'disabled' }).expect(200)
    for (const caller of [project.creator, admin]) await t.api('get', `${project.path}/repository/tree`, caller).expect(403)
    expect((await t.api('get', project.path, project.creator)).body).toMatchObject({ merge_requests_enabled: false, jobs_enabled: false })
  })

  it('a share gives the lower of two levels until it ends (AC-2, AC-15, G-62, G-63)', async () => {
    const member = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { developer: member })
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await t.api('get', project.path, member).expect(404)
    await t.ctx.db.write.insert(projectShares).values({ project_id: project.id, group_id: group.id, group_access: 20 })
    expect((await t.api('get', project.path, member).expect(200)).body).toMatchObject({
      shared_with_groups: [{ group_id: group.id, group_access_level: 20, expires_at: null }],
    })
    await t.api('get', `${project.path}/repository/tree`, member).expect(200)
    await t.api('post', `${project.path}/repository/branches`, member).send({ branch: 'b', ref: 'main' }).expect(403)
    await t.ctx.db.write.update(projectShares).set({ expires_at: '2001-01-01' }).where(eq(projectShares.project_id, project.id))
    await t.api('get', project.path, member).expect(404)
    expect(await t.ctx.db.read.select().from(projects).where(eq(projects.id, project.id))).toHaveLength(1)
  })
})

it('housekeeping packs the repository in the background, for maintainers, unless it is switched off (PT-37)', async () => {
  const [developer, maintainer] = [await aUser(t.ctx), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { developer, maintainer, files: { a: 'a' } })
  const path = `${project.path}/housekeeping`
  await t.api('post', path, developer).expect(403)
  await t.api('post', path, maintainer).expect(201)
  await setSettings(t.ctx, { housekeeping_enabled: false })
  await t.api('post', path, maintainer).expect(400)
  await setSettings(t.ctx, { housekeeping_enabled: true })
})
