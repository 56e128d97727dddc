import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { projectShares, projects } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser, unique } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let owner: TestUser
let member: TestUser
let stranger: TestUser
let external: TestUser
let group: { id: number; path: string; fullPath: string }
let child: { id: number }
const made: Record<string, TestProject> = {}

const share = async (project: TestProject, to: { id: number }, level = 20) => {
  await t.ctx.db.write.insert(projectShares).values({ project_id: project.id, group_id: to.id, group_access: level })
}

beforeAll(async () => {
  ;[admin, owner, member, stranger, external] = [
    await anAdmin(t.ctx),
    await aUser(t.ctx),
    await aUser(t.ctx),
    await aUser(t.ctx),
    await aUser(t.ctx, { external: true }),
  ]
  group = await aGroup(t.ctx, { creator: owner, visibility: 'public', guest: member })
  child = await aGroup(t.ctx, { creator: owner, parent_id: group.id, visibility: 'public' })
  const add = async (name: string, given: object) => {
    made[name] = await aProject(t.ctx, { creator: owner, name, ...given })
  }
  await add('open', { namespace_id: group.id, visibility: 'public', description: 'Quick brown fox' })
  await add('inside', { namespace_id: group.id, visibility: 'internal' })
  await add('closed', { namespace_id: group.id })
  await add('old', { namespace_id: group.id, visibility: 'public' })
  await add('below', { namespace_id: child.id, visibility: 'public' })
  await add('invited', { visibility: 'public' })
  await add('hidden', {})
  await t.api('post', made['old']?.path ?? '', owner)
  await t.api('post', `${made['old']?.path}/archive`, owner).expect(201)
  await share(made['invited'] as TestProject, group)
  await share(made['hidden'] as TestProject, group)
})

const names = async (query = '', caller: TestUser | null = owner) =>
  (
    (await t.api('get', `${group.path}/projects?per_page=100&archived=false&order_by=name&sort=asc${query}`, caller).expect(200)).body as {
      name: string
    }[]
  ).map(({ name }) => name)

describe('GET /groups/:id/projects (GR-15 to GR-19)', () => {
  it('those in it and those shared with it, as far as the caller sees them (GR-15, SEC-39, SEC-48)', async () => {
    expect(await names()).toEqual(['closed', 'hidden', 'inside', 'invited', 'open'])
    expect(await names('', member)).toEqual(['closed', 'hidden', 'inside', 'invited', 'open'])
    expect(await names('', stranger)).toEqual(['inside', 'invited', 'open'])
    expect(await names('', external)).toEqual(['invited', 'open'])
    expect(await names('', null)).toEqual(['invited', 'open'])
    expect(await names('', admin)).toEqual(['closed', 'hidden', 'inside', 'invited', 'open'])
    const secret = await aGroup(t.ctx)
    for (const path of [`${secret.path}/projects`, '/groups/999999/projects'])
      await t.api('get', path, stranger).expect(404, { message: '404 Group Not Found' })
    await t.api('get', `/groups/${encodeURIComponent(group.fullPath)}/projects`).expect(200)
  })

  it('archived ones beside the others, apart or not at all (GR-16)', async () => {
    expect(await names('&archived=')).toEqual(['closed', 'hidden', 'inside', 'invited', 'old', 'open'])
    expect(await names('&archived=true')).toEqual(['old'])
    expect(await names('&archived=false')).not.toContain('old')
    const archived = async (query: string) =>
      ((await t.api('get', `/projects?search=old&${query}`, owner).expect(200)).body as { name: string }[]).map(({ name }) => name)
    expect([await archived(''), await archived('archived=true'), await archived('archived=false')]).toEqual([['old'], ['old'], []])
  })

  it('visibility, fuzzy search, stars, owned (GR-17)', async () => {
    expect(await names('&visibility=internal')).toEqual(['inside'])
    await t.api('get', `${group.path}/projects?visibility=secret`, owner).expect(400, { error: 'visibility does not have a valid value' })
    for (const text of ['fox brown', 'QUICK', 'OPE', '"brown fox"'])
      expect([text, await names(`&search=${encodeURIComponent(text)}`)]).toEqual([text, ['open']])
    expect(await names('&search=fox%20open')).toEqual([])
    expect(await names('&search=')).toHaveLength(5)
    await t.api('post', `${made['open']?.path}/star`, member).expect(201)
    expect(await names('&starred=true', member)).toEqual(['open'])
    await t.api('post', `${made['open']?.path}/unstar`, member).expect(201)
    expect(await names('&starred=true', member)).toEqual([])
    expect(await names('&starred=true', null)).toEqual(['invited', 'open'])
    expect(await names('&owned=true', null)).toEqual([])
    expect(await names('&owned=true', member)).toEqual([])
    expect(await names('&owned=true')).toEqual(['closed', 'hidden', 'inside', 'invited', 'open'])
  })

  it('newest first (GR-18)', async () => {
    const { body } = await t.api('get', `${group.path}/projects`, owner).expect(200)
    expect((body as { name: string }[]).map(({ name }) => name)).toEqual(['hidden', 'invited', 'old', 'closed', 'inside', 'open'])
    await t.api('get', `${group.path}/projects?order_by=size`, owner).expect(400, { error: 'order_by does not have a valid value' })
  })

  it('simple is exactly these fields (GR-19)', async () => {
    const { body } = await t.api('get', `${group.path}/projects?simple=true&search=quick`).expect(200)
    const { id, fullPath } = made['open'] as TestProject
    expect(body).toEqual([{ id, name: 'open', path: 'open', web_url: `http://roost.test/${fullPath}` }])
  })

  it('whole projects for everybody, anonymous callers included (GR-4)', async () => {
    for (const caller of [null, owner]) {
      const [project] = (await t.api('get', `${group.path}/projects?search=quick`, caller).expect(200)).body as object[]
      expect(project).toMatchObject({
        archived: false,
        visibility: 'public',
        container_registry_enabled: true,
        public_jobs: true,
        open_issues_count: 0,
      })
      expect('permissions' in (project as object)).toBe(caller !== null)
      const { projects: embedded } = (await t.api('get', group.path, caller).expect(200)).body as { projects: { name: string }[] }
      expect(embedded.find(({ name }) => name === 'open')).toEqual(project)
    }
    await t
      .api('put', made['open']?.path ?? '', owner)
      .send({ issues_access_level: 'private' })
      .expect(200)
    await t.ctx.db.write
      .update(projects)
      .set({ open_issues_count: 3 })
      .where(eq(projects.id, made['open']?.id ?? 0))
    const count = async (caller: TestUser | null) =>
      ((await t.api('get', `${group.path}/projects?search=quick`, caller).expect(200)).body as { open_issues_count: number }[])[0]?.open_issues_count
    expect([await count(null), await count(stranger), await count(member)]).toEqual([0, 0, 3])
  })

  it('includes subgroups if requested, leaves out shared ones if requested, has the filters of PR-1 (X-18)', async () => {
    expect(await names('&include_subgroups=true', stranger)).toEqual(['below', 'inside', 'invited', 'open'])
    expect(await names('&with_shared=false', stranger)).toEqual(['inside', 'open'])
    expect(await names('&include_subgroups=true&with_shared=false', null)).toEqual(['below', 'open'])
    expect(await names('&min_access_level=20', member)).toEqual([])
    expect(await names('&min_access_level=10', member)).toEqual(['closed', 'hidden', 'inside', 'invited', 'open'])
    expect(await names(`&id_after=${made['closed']?.id}`)).toEqual(['hidden', 'invited'])
    const { headers } = await t.api('get', `${group.path}/projects?per_page=2&page=2`, stranger).expect(200)
    expect(headers).toMatchObject({ 'x-total': '4', 'x-total-pages': '2', 'x-page': '2', 'x-next-page': '', 'x-prev-page': '1' })
    expect((await t.api('get', `${group.path}/projects?page=9`, stranger).expect(200)).body).toEqual([])
  })

  it('those that are shared with it alone, with the same filters (X-21)', async () => {
    const shared = async (caller: TestUser | null, query = '') =>
      (await t.api('get', `${group.path}/projects/shared?order_by=name&sort=asc${query}`, caller).expect(200)).body as { name: string }[]
    const namesOf = async (...given: Parameters<typeof shared>) => (await shared(...given)).map(({ name }) => name)
    expect(await namesOf(owner)).toEqual(['hidden', 'invited'])
    expect(await namesOf(member)).toEqual(['hidden', 'invited'])
    expect(await namesOf(null)).toEqual(['invited'])
    expect(await namesOf(owner, '&visibility=private')).toEqual(['hidden'])
    expect(await namesOf(owner, '&search=vited')).toEqual(['invited'])
    const [simple] = await shared(null, '&simple=true')
    expect(Object.keys(simple as object).sort()).toEqual(['id', 'name', 'path', 'web_url'])
    await t.api('get', '/groups/999999/projects/shared', owner).expect(404)
  })

  it('shows only the groups that the caller may read among those a project is shared with (SEC-39, G-67)', async () => {
    const secret = await aGroup(t.ctx, { creator: admin, name: 'Unspeakable' })
    await share(made['invited'] as TestProject, secret)
    const shown = async (caller: TestUser | null) => {
      const { body } = await t.api('get', `${group.path}/projects?search=invited`, caller).expect(200)
      return (body as { shared_with_groups: { group_id: number }[] }[])[0]?.shared_with_groups.map(({ group_id }) => group_id)
    }
    // the project itself opens the group to everybody who sees it (G-67): a private one shows which is hidden
    expect(await shown(admin)).toEqual([group.id, secret.id])
    const closed = await aProject(t.ctx, { creator: owner, guest: stranger })
    await share(closed, secret)
    await share(closed, group)
    await t.ctx.db.write.delete(projectShares).where(eq(projectShares.project_id, made['invited']?.id ?? 0))
    const { body } = await t.api('get', closed.path, stranger).expect(200)
    expect((body as { shared_with_groups: { group_id: number }[] }).shared_with_groups.map(({ group_id }) => group_id)).toEqual([secret.id, group.id])
    expect((await t.api('get', secret.path, stranger).expect(200)).body).toMatchObject({ id: secret.id })
  })
})

describe('GET /groups/:id and lists, the rest', () => {
  it('shared projects stand apart (GR-3)', async () => {
    const place = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    const [own, guest, secret] = [
      await aProject(t.ctx, { creator: owner, namespace_id: place.id, visibility: 'public' }),
      await aProject(t.ctx, { creator: admin, visibility: 'public' }),
      await aProject(t.ctx, { creator: admin }),
    ]
    await aProject(t.ctx, { creator: owner, namespace_id: (await aGroup(t.ctx, { creator: owner, parent_id: place.id, visibility: 'public' })).id })
    await share(guest, place)
    await share(secret, place)
    const shown = async (caller: TestUser | null) => {
      const { body } = await t.api('get', place.path, caller).expect(200)
      const ids = (list: { id: number }[]) => list.map(({ id }) => id)
      const { projects: direct, shared_projects } = body as { projects: { id: number }[]; shared_projects: { id: number }[] }
      return [ids(direct), ids(shared_projects)]
    }
    expect(await shown(null)).toEqual([[own.id], [guest.id]])
    expect(await shown(owner)).toEqual([[own.id], [secret.id, guest.id]])
    await t.ctx.db.write.update(projectShares).set({ expires_at: '2001-01-01' }).where(eq(projectShares.project_id, secret.id))
    expect(await shown(owner)).toEqual([[own.id], [guest.id]])
  })

  it('statistics are for administrators who ask, in both lists and nowhere else (GR-1, GR-12, SEC-39)', async () => {
    const parent = await aGroup(t.ctx, { creator: owner })
    const one = await aGroup(t.ctx, { creator: owner, parent_id: parent.id, name: 'One' })
    await aGroup(t.ctx, { creator: owner, parent_id: parent.id, name: 'Two' })
    for (const [repository_size, lfs_objects_size] of [
      [100, 7],
      [23, 0],
    ]) {
      const { id } = await aProject(t.ctx, { creator: owner, namespace_id: one.id })
      await t.ctx.db.write.update(projects).set({ repository_size, lfs_objects_size }).where(eq(projects.id, id))
    }
    const list = async (caller: TestUser, query: string) =>
      (await t.api('get', `${parent.path}/subgroups?${query}`, caller).expect(200)).body as { statistics?: object }[]
    expect((await list(admin, 'statistics=true')).map(({ statistics }) => statistics)).toEqual([
      { storage_size: 130, repository_size: 123, lfs_objects_size: 7, job_artifacts_size: 0, packages_size: 0 },
      { storage_size: 0, repository_size: 0, lfs_objects_size: 0, job_artifacts_size: 0, packages_size: 0 },
    ])
    for (const [caller, query] of [
      [admin, ''],
      [owner, 'statistics=true'],
    ] as const)
      for (const shown of await list(caller, query))
        expect(Object.keys(shown).sort()).toEqual(
          `auto_devops_enabled avatar_url created_at default_branch default_branch_protection description emails_disabled emails_enabled
            full_name full_path id lfs_enabled marked_for_deletion_at marked_for_deletion_on
            mentions_disabled name parent_id path project_creation_level request_access_enabled
            require_two_factor_authentication share_with_group_lock subgroup_creation_level
            two_factor_grace_period visibility web_url`.split(/\s+/),
        )
    const [found] = (await t.api('get', `/groups?statistics=true&search=${parent.fullPath}`, admin).expect(200)).body as { statistics?: object }[]
    expect(found?.statistics).toMatchObject({ storage_size: 0 })
    expect((await t.api('get', `${one.path}?statistics=true`, admin).expect(200)).body).not.toHaveProperty('statistics')
  })

  it('order and ties (GR-11)', async () => {
    const parent = await aGroup(t.ctx, { creator: owner })
    const add = async (name: string, path: string) => (await aGroup(t.ctx, { creator: owner, parent_id: parent.id, name, path })).id
    const [b, a, c] = [await add('b', 'x'), await add('A', 'z'), await add('c', 'Y')]
    const order = async (query: string) =>
      ((await t.api('get', `${parent.path}/subgroups?${query}`, owner).expect(200)).body as { id: number }[]).map(({ id }) => id)
    expect(await order('')).toEqual([a, b, c])
    expect(await order('sort=desc')).toEqual([c, b, a])
    expect(await order('order_by=path')).toEqual([b, c, a])
    expect([await order('order_by=id'), await order('order_by=id&sort=desc')]).toEqual([
      [b, a, c],
      [c, a, b],
    ])
    expect(await order(`skip_groups=${a},${c}`)).toEqual([b])
    await t.api('get', '/groups?order_by=size', owner).expect(400, { error: 'order_by does not have a valid value' })
    await t.api('get', '/groups?sort=up', owner).expect(400, { error: 'sort does not have a valid value' })
  })

  it('custom attributes filter for everybody (GR-13)', async () => {
    const parent = await aGroup(t.ctx, { creator: owner })
    const one = await aGroup(t.ctx, { creator: owner, parent_id: parent.id })
    await aGroup(t.ctx, { creator: owner, parent_id: parent.id })
    await t.api('put', `/groups/${one.id}/custom_attributes/colour`, admin).send({ value: 'red' }).expect(200)
    const found = async (caller: TestUser) =>
      ((await t.api('get', `${parent.path}/subgroups?order_by=path&custom_attributes[colour]=red`, caller).expect(200)).body as { id: number }[]).map(
        ({ id }) => id,
      )
    expect(await found(admin)).toEqual([one.id])
    expect(await found(owner)).toEqual([one.id])
  })

  it('subgroups of a parent that is hidden, open, or one’s own (GR-14)', async () => {
    const parent = await aGroup(t.ctx, { creator: owner, visibility: 'public', guest: member })
    const open = await aGroup(t.ctx, { creator: owner, parent_id: parent.id, visibility: 'public', name: 'Open' })
    const closed = await aGroup(t.ctx, { creator: owner, parent_id: parent.id, name: 'Closed' })
    const inside = await aGroup(t.ctx, { creator: owner, parent_id: parent.id, name: 'Inside', visibility: 'internal' })
    await aGroup(t.ctx, { creator: owner, parent_id: open.id, visibility: 'public' })
    const shown = async (caller: TestUser | null, query = '') =>
      ((await t.api('get', `${parent.path}/subgroups?${query}`, caller).expect(200)).body as { id: number }[]).map(({ id }) => id)
    expect(await shown(null)).toEqual([open.id])
    for (const query of ['', 'all_available=false', 'all_available=true']) {
      expect(await shown(stranger, query)).toEqual([inside.id, open.id])
      expect(await shown(external, query)).toEqual([open.id])
    }
    expect(await shown(stranger, 'owned=true')).toEqual([])
    expect(await shown(member)).toEqual([closed.id, inside.id, open.id])
    await t.api('get', `${closed.path}/subgroups`, stranger).expect(404, { message: '404 Group Not Found' })
  })

  it('permissions to read (GR-20, AC-16, G-67)', async () => {
    const [open, inside, closed] = await Promise.all(
      (['public', 'internal', 'private'] as const).map((visibility) => aGroup(t.ctx, { creator: owner, visibility })),
    )
    const status = async (of: { path: string } | undefined, caller: TestUser | null) => (await t.api('get', of?.path ?? '', caller)).status
    for (const [caller, ...expected] of [
      [null, 200, 404, 404],
      [external, 200, 404, 404],
      [stranger, 200, 200, 404],
      [owner, 200, 200, 200],
      [admin, 200, 200, 200],
    ] as const)
      expect([await status(open, caller), await status(inside, caller), await status(closed, caller)]).toEqual(expected)
    await t.api('get', '/groups/999999').expect(404, { message: '404 Group Not Found' })
    // one project in it, or shared with it, opens the page
    await aProject(t.ctx, { creator: owner, namespace_id: closed?.id ?? 0, guest: external })
    expect(await status(closed, external)).toBe(200)
    await share(await aProject(t.ctx, { creator: owner, visibility: 'public' }), inside as { id: number })
    expect(await status(inside, null)).toBe(200)
  })

  it('rights flow down, never up (SEC-38)', async () => {
    const parent = await aGroup(t.ctx, { creator: owner })
    const below = await aGroup(t.ctx, { creator: owner, parent_id: parent.id, owner: stranger })
    await t.api('get', parent.path, stranger).expect(404)
    await t.api('get', `${parent.path}/members`, stranger).expect(404)
    expect((await t.api('get', below.path, stranger).expect(200)).body).toMatchObject({ parent_id: parent.id })
    await t.api('put', parent.path, stranger).send({ name: 'mine' }).expect(404)
    // GR-6: the list names it all the same
    const listed = (await t.api('get', `/groups?search=${parent.fullPath}`, stranger).expect(200)).body as { id: number }[]
    expect(listed.map(({ id }) => id)).toEqual([parent.id])
  })

  it('the number of statements does not grow with the list', async () => {
    const place = await aGroup(t.ctx, { creator: owner })
    const count = async () => {
      // known, and out of date: the dearest case
      await t.api('get', `${place.path}/projects?per_page=100`, owner).expect(200)
      await t.ctx.db.write
        .update(projects)
        .set({ description: `${unique()}` })
        .where(eq(projects.id, (made.hidden as TestProject).id))
      return (await t.queriesOf(() => t.api('get', `${place.path}/projects?per_page=100`, owner).expect(200))).length
    }
    await aProject(t.ctx, { creator: owner, namespace_id: place.id })
    const one = await count()
    for (let i = 0; i < 6; i++) await aProject(t.ctx, { creator: owner, namespace_id: place.id })
    expect(await count()).toBe(one)
  })
})
