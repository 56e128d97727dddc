import { and, eq, inArray, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { auditEvents, namespaces, projects } from '../../../src/db/schema/index.js'
import { enqueue } from '../../../src/jobs/enqueue.js'
import { dueDeletions } from '../../../src/services/operations/due-deletions.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser, unique } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let owner: TestUser
beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  owner = await aUser(t.ctx)
})

type Place = { path: string }
const remove = (place: Place, query = '', caller: TestUser | null = owner) => t.api('delete', place.path + query, caller)
const restore = (place: Place, caller: TestUser | null = owner) => t.api('post', `${place.path}/restore`, caller)
const pathOf = async (place: Place, caller = owner) => {
  const { body } = await t.api('get', place.path, caller).expect(200)
  return (body.full_path ?? body.path_with_namespace) as string
}

/** A group with a subgroup, and a project in each. */
async function aTree() {
  const group = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
  const child = await aGroup(t.ctx, { creator: owner, parent_id: group.id, visibility: 'public' })
  const top = await aProject(t.ctx, { creator: owner, namespace_id: group.id, visibility: 'public', name: `top${unique()}` })
  const inner = await aProject(t.ctx, { creator: owner, namespace_id: child.id, visibility: 'public', name: `inner${unique()}` })
  return { group, child, top, inner }
}

async function due({ id }: { id: number }) {
  await t.ctx.db.write.update(namespaces).set({ deletion_due_at: sql`now() - interval '1 minute'` }).where(eq(namespaces.id, id))
  await t.ctx.db.transaction((tx) => enqueue(tx, dueDeletions, {}))
  await t.ctx.jobs.drain()
}

describe('DELETE /groups/:id (GR-40, GR-44)', () => {
  it('hides the tree from everybody, but owners and administrators who ask for it, and frees its paths at once', async () => {
    const { group, child, top, inner } = await aTree()
    const developer = await aUser(t.ctx)
    await t.api('post', `${group.path}/members`, owner).send({ user_id: developer.id, access_level: 30 }).expect(201)
    await remove(group).expect(204)
    for (const place of [group, child, top, inner])
      for (const caller of [null, developer, await aUser(t.ctx), owner, admin]) await t.api('get', place.path, caller).expect(404)
    const scheduled = `${group.fullPath}-deletion_scheduled-${group.id}`
    const today = new Date().toISOString().slice(0, 10)
    for (const caller of [owner, admin]) {
      expect((await t.api('get', `${group.path}?include_pending_delete=true`, caller).expect(200)).body).toMatchObject({
        full_path: scheduled,
        marked_for_deletion_at: today,
        marked_for_deletion_on: today,
        projects: [],
      })
      const { body } = await t.api('get', `${inner.path}?include_pending_delete=true`, caller).expect(200)
      expect(body).toMatchObject({ marked_for_deletion_on: today })
    }
    for (const path of ['/groups', '/groups?owned=true', '/groups?all_available=true', '/namespaces', '/projects'])
      for (const caller of [owner, admin, developer]) {
        const { text } = await t.api('get', `${path}${path.includes('?') ? '&' : '?'}per_page=100`, caller).expect(200)
        expect([path, text.includes(scheduled)]).toEqual([path, false])
      }
    for (const [caller, found] of [
      [owner, true],
      [admin, true],
      [developer, false],
    ] as const)
      expect((await t.api('get', `/groups?include_pending_delete=true&search=${group.fullPath}`, caller).expect(200)).text.includes(scheduled)).toBe(
        found,
      )
    await t.api('post', '/projects', owner).send({ name: 'x', namespace_id: group.id }).expect(400)
    await t.api('post', '/groups', owner).send({ name: 'x', path: 'x', parent_id: child.id }).expect(404)
    const again = await t.api('post', '/groups', owner).send({ name: 'Again', path: group.fullPath }).expect(201)
    await remove({ path: `/groups/${again.body.id}` }, '?permanently_remove=true').expect(204)
  })

  it('removes at once with permanently_remove, and later when it is due, with everything in it', async () => {
    const [one, two] = [await aTree(), await aTree()]
    await remove(one.group, `?permanently_remove=true&full_path=${two.group.fullPath}`).expect(400)
    await remove(one.group, `?permanently_remove=true&full_path=${one.group.fullPath}`).expect(204)
    await remove(two.group).expect(204)
    await remove(two.group).expect(404, { message: '404 Group Not Found' })
    await due(two.group)
    for (const { group, child, top, inner } of [one, two]) {
      expect(await t.ctx.db.read.$count(namespaces, inArray(namespaces.id, [group.id, child.id]))).toBe(0)
      expect(await t.ctx.db.read.$count(projects, inArray(projects.id, [top.id, inner.id]))).toBe(0)
      const lines = await t.ctx.db.read
        .select()
        .from(auditEvents)
        .where(and(eq(auditEvents.action, 'project_deleted'), inArray(auditEvents.target_id, [top.id, inner.id])))
      expect(lines).toHaveLength(2)
    }
  })

  it('takes its members the access that they have by shares, until it is restored (GR-46)', async () => {
    const { child, group } = await aTree()
    const member = await aUser(t.ctx)
    await t.api('post', `${child.path}/members`, owner).send({ user_id: member.id, access_level: 30 }).expect(201)
    const shared = await aProject(t.ctx, { creator: owner })
    await t.api('post', `${shared.path}/share`, owner).send({ group_id: child.id, group_access: 30 }).expect(201)
    const stands = async () => [
      (await t.api('get', shared.path, member)).status,
      (await t.api('get', '/projects?per_page=100', member)).text.includes(shared.fullPath),
      (await t.api('get', shared.path, owner)).body.shared_with_groups.length,
    ]
    expect(await stands()).toEqual([200, true, 1])
    await remove(group).expect(204)
    expect(await stands()).toEqual([404, false, 0])
    await restore(group).expect(201)
    expect(await stands()).toEqual([200, true, 1])
  })

  it('does not prevent the removal of its only owner; with hard_delete it is removed too (U-36, GR-46)', async () => {
    for (const hard of [false, true]) {
      const person = await aUser(t.ctx)
      const group = await aGroup(t.ctx, { creator: person })
      await t.api('delete', `/users/${person.id}`, admin).expect(409)
      await remove(group, '', person).expect(204)
      await t.api('delete', `/users/${person.id}?hard_delete=${hard}`, admin).expect(204)
      expect((await restore(group, admin)).status).toBe(hard ? 404 : 201)
    }
  })
})

describe('POST /groups/:id/restore (GR-45)', () => {
  it('restores the tree under its former paths; projects deleted in it before still wait', async () => {
    const { group, child, top, inner } = await aTree()
    const places = [group, child, top, inner]
    const before = await Promise.all(places.map((place) => pathOf(place)))
    const earlier = await aProject(t.ctx, { creator: owner, namespace_id: group.id, name: `earlier${unique()}` })
    const below = await aGroup(t.ctx, { creator: owner, parent_id: group.id })
    const deep = await aProject(t.ctx, { creator: owner, namespace_id: below.id, name: `deep${unique()}` })
    await remove(earlier).expect(202)
    await remove(below).expect(204)
    await remove(group).expect(204)
    for (const place of [child, below])
      await restore(place).expect(400, { message: 'A group above it has been marked for deletion: restore that group' })
    for (const place of [top, earlier, deep])
      await restore(place).expect(400, { message: 'The group of the project has been marked for deletion: restore the group' })
    await restore(group, await aUser(t.ctx)).expect(404)
    expect((await restore(group).expect(201)).body).toMatchObject({ full_path: group.fullPath, marked_for_deletion_at: null })
    expect(await Promise.all(places.map((place) => pathOf(place)))).toEqual(before)
    const stranger = await aUser(t.ctx)
    for (const place of places) await t.api('get', place.path, stranger).expect(200)
    for (const place of [earlier, below, deep])
      expect((await t.api('get', `${place.path}?include_pending_delete=true`, owner).expect(200)).body).toMatchObject({
        marked_for_deletion_on: expect.any(String),
      })
    for (const place of [earlier, below]) await restore(place).expect(201)
    expect((await t.api('get', deep.path, owner).expect(200)).body).toMatchObject({ marked_for_deletion_on: null })
    await restore(group).expect(400, { message: 'Group has not been marked for deletion' })
    const lines = await t.ctx.db.read
      .select()
      .from(auditEvents)
      .where(and(eq(auditEvents.target_type, 'group'), eq(auditEvents.target_id, group.id)))
      .orderBy(auditEvents.id)
    expect(lines.map(({ action, actor }) => [action, actor])).toEqual([
      ['group_created', null],
      ['group_deletion_scheduled', owner.username],
      ['group_restored', owner.username],
    ])
  })

  it('is refused with the reason when the path or name is taken', async () => {
    const { group, child } = await aTree()
    const { name } = (await t.api('get', child.path, owner).expect(200)).body as { name: string }
    await remove(child).expect(204)
    const other = await aGroup(t.ctx, { creator: owner, parent_id: group.id, name, path: child.fullPath })
    await restore(child).expect(400, { message: { name: ['has already been taken'], path: ['has already been taken'] } })
    await remove(other, '?permanently_remove=true').expect(204)
    await restore(child).expect(201)
  })

  it('makes nothing more visible than the groups above it are now (AC-5)', async () => {
    const { group, child, inner } = await aTree()
    const forker = await aUser(t.ctx)
    const { body: fork } = await t.api('post', `${inner.path}/fork`, forker).expect(201)
    await remove(child).expect(204)
    await t.api('put', `/groups/${group.id}`, owner).send({ visibility: 'private' }).expect(400)
    for (const { id } of (await t.api('get', `${group.path}/projects`, owner)).body)
      await t.api('put', `/projects/${id}`, owner).send({ visibility: 'private' }).expect(200)
    await t.api('put', `/groups/${group.id}`, owner).send({ visibility: 'private' }).expect(200)
    expect((await restore(child).expect(201)).body).toMatchObject({ visibility: 'private' })
    expect((await t.api('get', inner.path, owner)).body).toMatchObject({ visibility: 'private' })
    expect((await t.api('get', `/projects/${fork.id}`, forker)).body).toMatchObject({ visibility: 'private' })
  })

  it('keeps forks and merge requests within the tree as they were', async () => {
    const { group, inner, child } = await aTree()
    await t
      .api('post', `${inner.path}/repository/commits`, owner)
      .send({ branch: 'main', commit_message: 'x', actions: [{ action: 'create', file_path: 'a', content: 'a' }] })
      .expect(201)
    const { body: fork } = await t
      .api('post', `${inner.path}/fork`, owner)
      .send({ namespace_id: group.id, path: `fork${unique()}`, name: `fork${unique()}` })
      .expect(201)
    await t.api('post', `/projects/${fork.id}/repository/branches`, owner).send({ branch: 'feature', ref: 'main' }).expect(201)
    const { body: request } = await t
      .api('post', `/projects/${fork.id}/merge_requests`, owner)
      .send({ title: 'x', source_branch: 'feature', target_branch: 'main', target_project_id: inner.id })
      .expect(201)
    await remove(group).expect(204)
    await restore(group).expect(201)
    expect((await t.api('get', `${inner.path}/merge_requests/${request.iid}`, owner).expect(200)).body).toMatchObject({ state: 'opened' })
    expect((await t.api('get', inner.path, owner).expect(200)).body).toMatchObject({ forks_count: 1 })
    expect(child.id).toBeGreaterThan(group.id)
  })
})
