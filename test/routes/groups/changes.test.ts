import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { and, eq, inArray, isNull } from 'drizzle-orm'
import supertest from 'supertest'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  auditEvents,
  members,
  namespaces,
  pendingAvatarDeletions,
  pendingRepositoryDeletions,
  projectShares,
  projects,
  routes,
} from '../../../src/db/schema/index.js'
import { recover } from '../../../src/services/operations/recovery.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aToken, aUser, setSettings, type TestUser, unique } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let owner: TestUser

beforeAll(async () => {
  ;[admin, owner] = [await anAdmin(t.ctx), await aUser(t.ctx)]
})

const put = (group: { id: number }, given: object, caller: TestUser | null = owner) => t.api('put', `/groups/${group.id}`, caller).send(given)
const auditOf = (id: number) =>
  t.ctx.db.read
    .select({ action: auditEvents.action, actor: auditEvents.actor, changes: auditEvents.changes })
    .from(auditEvents)
    .where(and(eq(auditEvents.target_type, 'group'), eq(auditEvents.target_id, id)))
    .orderBy(auditEvents.id)

const png = (width = 1) => {
  const bytes = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')
  bytes.writeUInt32BE(width, 16)
  return bytes
}

describe('PUT /groups/:id (GR-35 to GR-39)', () => {
  it('permissions, by id and by path (GR-35, G-74, X-20)', async () => {
    const [maintainer, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const parent = await aGroup(t.ctx, { creator: owner, maintainer })
    const group = await aGroup(t.ctx, { creator: admin, parent_id: parent.id })
    await put(group, { description: 'x' }, null).expect(401, { message: '401 Unauthorized' })
    await put(group, { description: 'x' }, stranger).expect(404, { message: '404 Group Not Found' })
    await put({ id: 999_999 }, { description: 'x' }, stranger).expect(404, { message: '404 Group Not Found' })
    await put(group, { description: 'x' }, maintainer).expect(403, { message: '403 Forbidden' })
    expect((await put(group, { description: 'by inheritance' }).expect(200)).body).toMatchObject({ description: 'by inheritance' })
    const named = encodeURIComponent(`${parent.fullPath}/${group.fullPath}`.toUpperCase())
    await t.api('put', `/groups/${named}`, admin).send({ description: 'by path' }).expect(200)
    // G-10: parameters before the group
    await put(group, { visibility: 'secret' }, stranger).expect(400, { error: 'visibility does not have a valid value' })
  })

  it('keeps fields that are not sent; an empty request changes nothing (GR-36, GR-2)', async () => {
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'internal', description: 'before', lfs_enabled: false })
    const other = await aGroup(t.ctx, { creator: owner })
    const updated = async () => (await t.ctx.db.read.select().from(namespaces).where(eq(namespaces.id, group.id)))[0]?.updated_at
    const [before, at] = [(await t.api('get', group.path, owner).expect(200)).body, await updated()]
    expect((await put(group, {}).expect(200)).body).toEqual(before)
    const misplaced = { parent_id: other.id, id: 1, created_at: '2001-01-01' }
    expect((await put(group, { ...misplaced, description: 'before' }).expect(200)).body).toEqual(before)
    expect((await put(group, misplaced).expect(400)).body.error).toMatch(/^no such attribute: parent_id, created_at; /)
    expect(await updated()).toEqual(at)
    const { body } = await put(group, { request_access_enabled: true, lfs_enabled: true }).expect(200)
    expect(body).toMatchObject({
      visibility: 'internal',
      description: 'before',
      request_access_enabled: true,
      lfs_enabled: true,
      projects: [],
      shared_with_groups: [],
      shared_projects: [],
    })
    expect((await put(group, { description: null }).expect(200)).body).toMatchObject({ description: '' })
    const [listed] = (await t.api('get', `/groups?search=${group.fullPath}`, owner).expect(200)).body as { lfs_enabled: boolean }[]
    expect(listed?.lfs_enabled).toBe(true)
  })

  it('faults are an object here (GR-37, GR-38)', async () => {
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    const sibling = await aGroup(t.ctx, { creator: owner })
    await put(group, { path: sibling.fullPath.toUpperCase() }).expect(400, { message: { path: ['has already been taken'] } })
    await put(group, { path: owner.username }).expect(400, { message: { path: ['has already been taken'] } })
    await put(group, { path: 'api', name: '' }).expect(400, { message: { name: ["can't be blank"], path: ['api is a reserved name'] } })
    await put(group, { description: 'x'.repeat(256) }).expect(400, { message: { description: ['is too long (maximum is 255 characters)'] } })
    const child = await aGroup(t.ctx, { creator: owner, parent_id: group.id, name: 'First', visibility: 'internal' })
    const second = await aGroup(t.ctx, { creator: owner, parent_id: group.id, name: 'Second' })
    await put(second, { name: 'FIRST' }).expect(400, { message: { name: ['has already been taken'] } })
    await put(second, { path: 'tree' }).expect(400, { message: { path: ['tree is a reserved name'] } })
    // its own name in another case is not taken
    await put(child, { name: 'FIRST', path: child.fullPath.toUpperCase() }).expect(200)
  })

  it('between the parent and its subgroups and projects (GR-37, AC-5, SEC-40)', async () => {
    const parent = await aGroup(t.ctx, { creator: owner, visibility: 'internal' })
    const group = await aGroup(t.ctx, { creator: owner, parent_id: parent.id, visibility: 'internal' })
    const refused = (...visibility_level: string[]) => ({ message: { visibility_level } })
    await put(group, { visibility: 'public' }).expect(400, refused('public is not allowed since the parent group has a internal visibility.'))
    const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id, visibility: 'internal' })
    await put(group, { visibility: 'private' }).expect(
      400,
      refused('private is not allowed since this group contains projects with higher visibility.'),
    )
    await put(parent, { visibility: 'private' }).expect(400, refused('private is not allowed since there are sub-groups with higher visibility.'))
    await t.api('put', project.path, owner).send({ visibility: 'private' }).expect(200)
    expect((await put(group, { visibility: 'private' }).expect(200)).body).toMatchObject({ visibility: 'private' })
    await put(parent, { visibility: 'private' }).expect(200)
    // GR-31 counts for what changes
    await setSettings(t.ctx, { restricted_visibility_levels: ['public', 'private'] })
    await put(parent, { visibility: 'private', description: 'still' }).expect(200)
    await put(parent, { visibility: 'public' }).expect(400, refused('public has been restricted by your administrator'))
    await put(parent, { visibility: 'public' }, admin).expect(200)
    await setSettings(t.ctx, {})
  })

  it('a project that becomes public and a group that becomes private at once do not conflict (SEC-40)', async () => {
    for (let i = 0; i < 5; i++) {
      const group = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
      const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id })
      await Promise.all([
        put(group, { visibility: 'private' }),
        t.api('put', project.path, owner).send({ visibility: 'public' }),
        t.api('post', '/projects', owner).send({ name: `Opened ${i}`, namespace_id: group.id, visibility: 'public' }),
        t.api('post', '/groups', owner).send({ name: `Opened ${i}`, path: `opened${i}`, parent_id: group.id, visibility: 'public' }),
      ])
      const [{ visibility = 0 } = {}] = await t.ctx.db.read.select().from(namespaces).where(eq(namespaces.id, group.id))
      const inside = await t.ctx.db.read.select().from(projects).where(eq(projects.namespace_id, group.id))
      const below = await t.ctx.db.read.select().from(namespaces).where(eq(namespaces.parent_id, group.id))
      for (const thing of [...inside, ...below]) expect(thing.visibility).toBeLessThanOrEqual(visibility)
    }
  })

  it('paths and names below follow; the old ones lead Git only (GR-39, AC-12)', async () => {
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'public', name: 'Old' })
    const child = await aGroup(t.ctx, { creator: owner, parent_id: group.id, name: 'Child', visibility: 'public' })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: child.id, name: 'deep', visibility: 'public', files: { 'a.txt': 'a' } })
    const fresh = `fresh${unique()}`
    const { body } = await put(group, { path: fresh, name: 'New' }).expect(200)
    expect(body).toMatchObject({ full_path: fresh, full_name: 'New', web_url: `http://roost.test/groups/${fresh}` })
    const full = `${fresh}/${child.fullPath}/deep`
    expect((await t.api('get', `/projects/${encodeURIComponent(full)}`, owner).expect(200)).body).toMatchObject({
      id: project.id,
      path_with_namespace: full,
      name_with_namespace: 'New / Child / deep',
    })
    await t.api('get', `/groups/${encodeURIComponent(`${fresh}/${child.fullPath}`)}`, owner).expect(200)
    for (const old of [group.fullPath, `${group.fullPath}/${child.fullPath}`])
      await t.api('get', `/groups/${encodeURIComponent(old)}`, owner).expect(404)
    await t.api('get', `/projects/${encodeURIComponent(project.fullPath)}`, owner).expect(404)
    const moved = await supertest(t.url).get(`/${project.fullPath}.git/info/refs?service=git-upload-pack`)
    expect([200, 301, 302, 307, 308]).toContain(moved.status)
    await supertest(t.url).get(`/${full}.git/info/refs?service=git-upload-pack`).expect(200)
  })

  it('an image, and the lock of shares (X-19, UP-4)', async () => {
    const group = await aGroup(t.ctx, { creator: owner })
    const send = (data: Buffer) => t.api('put', group.path, owner).attach('avatar', data, 'me.png')
    const shown = async () => ((await t.api('get', group.path, owner).expect(200)).body as { avatar_url: string | null }).avatar_url
    await send(Buffer.from('<svg/>')).expect(400, { message: { avatar: ['only images allowed'] } })
    await send(png()).expect(200)
    const first = await shown()
    expect(first).toMatch(new RegExp(`^http://roost.test/uploads/-/system/group/avatar/${group.id}/[0-9a-f]{16}\\.png$`))
    const get = (url: string | null, caller?: TestUser) => {
      const call = supertest(t.url).get(new URL(url ?? '').pathname)
      return caller ? call.set('PRIVATE-TOKEN', caller.token) : call
    }
    await get(first, owner).expect(200).expect('content-type', 'image/png')
    // for callers who see the group (UP-3)
    await get(first).expect(404)
    await send(png(2)).expect(200)
    expect(await shown()).not.toBe(first)
    await get(first, owner).expect(404)
    await put(group, { share_with_group_lock: true }).expect(200)
    expect((await t.ctx.db.read.select().from(namespaces).where(eq(namespaces.id, group.id)))[0]?.share_with_group_lock).toBe(true)
    await put(group, { avatar: '' }).expect(200)
    expect(await shown()).toBeNull()
    expect(existsSync(join(t.dataDir, 'uploads/group', String(group.id)))).toBe(false)
    const n = unique()
    const made = await t
      .api('post', '/groups', owner)
      .field({ name: 'Pictured', path: `pictured${n}`, share_with_group_lock: 'true' })
      .attach('avatar', png(3), 'me.png')
      .expect(201)
    expect((made.body as { avatar_url: string }).avatar_url).toContain('/uploads/-/system/group/avatar/')
    await t
      .api('post', '/groups', owner)
      .field({ name: 'Pictured', path: `pictured2${n}` })
      .attach('avatar', Buffer.from('x'), 'me.png')
      .expect(400, { message: 'Failed to save group {:avatar=>["only images allowed"]}' })
  })

  it('rows of the audit for creation, change and visibility (SEC-168)', async () => {
    const { body } = await t
      .api('post', '/groups', owner)
      .send({ name: 'Changed', path: `changed${unique()}` })
      .expect(201)
    const { id } = body as { id: number }
    await put({ id }, { name: 'Changed again', description: 'd', visibility: 'public' }).expect(200)
    await put({ id }, {}).expect(200)
    expect(await auditOf(id)).toEqual([
      { action: 'group_created', actor: owner.username, changes: {} },
      { action: 'group_updated', actor: owner.username, changes: { name: ['Changed', 'Changed again'], description: ['', 'd'] } },
      { action: 'visibility_changed', actor: owner.username, changes: { visibility: ['private', 'public'] } },
    ])
  })

  it('refuses one of two concurrent requests for one path', async () => {
    const [one, two] = [await aGroup(t.ctx, { creator: owner }), await aGroup(t.ctx, { creator: owner })]
    const path = `wanted${unique()}`
    const answers = await Promise.all([put(one, { path }), put(two, { path })])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
  })
})

describe('DELETE /groups/:id (GR-40)', () => {
  const remove = (group: { path: string }, caller: TestUser | null = owner) => t.api('delete', group.path, caller)

  it('permissions (GR-40, G-74)', async () => {
    const [maintainer, stranger, inherited] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const parent = await aGroup(t.ctx, { creator: owner, owner: inherited })
    const group = await aGroup(t.ctx, { creator: owner, parent_id: parent.id, maintainer })
    await remove(group, null).expect(401)
    await remove(group, stranger).expect(404, { message: '404 Group Not Found' })
    await remove(group, maintainer).expect(403, { message: '403 Forbidden' })
    const answer = await remove(group, inherited).expect(204)
    expect(answer.text).toBe('')
    await remove(group, maintainer).expect(404, { message: '404 Group Not Found' })
    await t.api('get', parent.path, owner).expect(200)
    await remove(parent, admin).expect(204)
    expect((await auditOf(group.id)).at(-1)).toMatchObject({ action: 'group_deletion_scheduled', actor: inherited.username })
  })

  it('removes all below before the answer; storage later, and paths are free at once (GR-40, SEC-134)', async () => {
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    const child = await aGroup(t.ctx, { creator: owner, parent_id: group.id, visibility: 'public' })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: child.id, name: 'inside', visibility: 'public', files: { 'a.txt': 'old' } })
    const shared = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    await t.ctx.db.write.insert(projectShares).values({ project_id: shared.id, group_id: child.id, group_access: 20 })
    await t.api('put', child.path, owner).attach('avatar', png(), 'me.png').expect(200)
    const images = join(t.dataDir, 'uploads/group', String(child.id))
    expect(existsSync(images)).toBe(true)
    await remove({ path: `${group.path}?permanently_remove=true` }).expect(204)
    for (const path of [group.path, child.path, `${child.path}/projects`, `${child.path}/members`])
      await t.api('get', path, admin).expect(404, { message: '404 Group Not Found' })
    for (const path of [project.path, `${project.path}/repository/commits`, `/projects/${encodeURIComponent(project.fullPath)}`])
      await t.api('get', path, admin).expect(404, { message: '404 Project Not Found' })
    await supertest(t.url).get(`/${project.fullPath}.git/info/refs?service=git-upload-pack`).expect(401)
    expect((await t.api('get', shared.path, owner).expect(200)).body).toMatchObject({ shared_with_groups: [] })
    expect(await t.ctx.db.read.$count(members, inArray(members.namespace_id, [group.id, child.id]))).toBe(0)
    expect(await t.ctx.db.read.$count(routes, inArray(routes.namespace_id, [group.id, child.id]))).toBe(0)
    // the same paths again, empty
    const anew = await t.api('post', '/groups', owner).send({ name: 'Again', path: group.fullPath }).expect(201)
    const below = await t
      .api('post', '/groups', owner)
      .send({ name: 'Again', path: child.fullPath, parent_id: (anew.body as { id: number }).id })
      .expect(201)
    const again = await t
      .api('post', '/projects', owner)
      .send({ name: 'inside', namespace_id: (below.body as { id: number }).id })
      .expect(201)
    expect(again.body).toMatchObject({ empty_repo: true })
    expect((again.body as { id: number }).id).toBeGreaterThan(project.id)
    await t.ctx.jobs.drain()
    expect(existsSync(images)).toBe(false)
    expect(await t.ctx.db.read.$count(pendingRepositoryDeletions)).toBe(0)
    expect(await t.ctx.db.read.$count(pendingAvatarDeletions)).toBe(0)
    expect(
      await t.ctx.git
        .open({ storage: 'default', id: project.id, kind: 'project' })
        .ref('refs/heads/main')
        .catch(() => null),
    ).toBeNull()
  })

  it('removes what a kill left in the storage at the next start (SEC-134)', async () => {
    const project = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a' } })
    await t.ctx.db.write.insert(pendingRepositoryDeletions).values({ project_id: project.id, storage: 'default' })
    await t.ctx.db.write.insert(pendingAvatarDeletions).values({ kind: 'group', id: 1 })
    await t.ctx.db.write.delete(projects).where(eq(projects.id, project.id))
    await recover(t.ctx)
    await t.ctx.jobs.drain()
    expect(await t.ctx.db.read.$count(pendingRepositoryDeletions)).toBe(0)
    expect(await t.ctx.db.read.$count(pendingAvatarDeletions)).toBe(0)
  })

  it('keeps forks of removed projects, and counts one fork less for sources', async () => {
    const group = await aGroup(t.ctx, { creator: owner })
    const [source, fork] = [await aProject(t.ctx, { creator: owner }), await aProject(t.ctx, { creator: owner, namespace_id: group.id })]
    await t.ctx.db.write.update(projects).set({ forked_from_id: source.id }).where(eq(projects.id, fork.id))
    await t.ctx.db.write.update(projects).set({ forks_count: 1 }).where(eq(projects.id, source.id))
    await remove(group).expect(204)
    expect((await t.api('get', source.path, owner).expect(200)).body).toMatchObject({ forks_count: 0 })
  })

  it('not when it changed since (G-89)', async () => {
    const group = await aGroup(t.ctx, { creator: owner })
    const ask = (since: string) => remove(group).set('If-Unmodified-Since', since)
    await ask('Mon, 01 Jan 2001 00:00:00 GMT').expect(412, { message: '412 Precondition Failed' })
    await t.api('get', group.path, owner).expect(200)
    await ask(new Date(Date.now() + 60_000).toUTCString()).expect(204)
    const other = await aGroup(t.ctx, { creator: owner })
    await remove(other).set('If-Unmodified-Since', 'yesterday').expect(204)
  })

  it('nothing is created inside a group that is being removed, and nothing of it is left (SEC-132)', async () => {
    for (let i = 0; i < 6; i++) {
      // removed at once in one half, hidden in the other (GR-44)
      const atOnce = i % 2 === 0
      const group = await aGroup(t.ctx, { creator: owner })
      const child = await aGroup(t.ctx, { creator: owner, parent_id: group.id })
      const person = await aUser(t.ctx)
      const answers = await Promise.all([
        t.api('post', '/projects', owner).send({ name: 'born', namespace_id: child.id }),
        t.api('post', '/groups', owner).send({ name: 'born', path: 'born', parent_id: child.id }),
        t.api('post', `${child.path}/members`, owner).send({ user_id: person.id, access_level: 10 }),
        put(child, { path: `renamed${i}` }),
        remove({ path: `${group.path}?permanently_remove=${atOnce}` }),
        t.api('post', '/projects', owner).send({ name: 'late', namespace_id: child.id }),
        t.api('post', '/groups', owner).send({ name: 'late', path: 'late', parent_id: child.id }),
      ])
      expect(answers.map(({ status }) => status).filter((status) => ![200, 201, 204, 400, 404, ...(atOnce ? [] : [403])].includes(status))).toEqual(
        [],
      )
      expect(answers[4]?.status).toBe(204)
      const shown = (table: typeof namespaces | typeof projects) => (atOnce ? undefined : isNull(table.marked_for_deletion_at))
      const { read } = t.ctx.db
      expect(await read.$count(namespaces, and(inArray(namespaces.id, [group.id, child.id]), shown(namespaces)))).toBe(0)
      expect(await read.$count(namespaces, and(eq(namespaces.parent_id, child.id), shown(namespaces)))).toBe(0)
      expect(await read.$count(projects, and(eq(projects.namespace_id, child.id), shown(projects)))).toBe(0)
    }
  })

  it('in the same number of statements, however much is inside', async () => {
    const statements = async (size: number) => {
      const group = await aGroup(t.ctx, { creator: owner })
      for (let i = 0; i < size; i++) {
        const child = await aGroup(t.ctx, { creator: owner, parent_id: group.id })
        await aProject(t.ctx, { creator: owner, namespace_id: child.id })
      }
      return (await t.queriesOf(() => remove(group).expect(204))).length
    }
    expect(await statements(5)).toBe(await statements(1))
  })

  it('a token of scope read_user deletes nothing (G-21)', async () => {
    const group = await aGroup(t.ctx, { creator: owner })
    await t.api('delete', group.path, { token: await aToken(t.ctx, owner, ['read_user']) }).expect(403)
    await t.api('get', group.path, owner).expect(200)
  })
})
