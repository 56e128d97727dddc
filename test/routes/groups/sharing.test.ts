import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { auditEvents, groupShares } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()

type TestGroup = Pick<Awaited<ReturnType<typeof aGroup>>, 'id' | 'path'>

const share = (group: TestGroup, other: TestGroup, caller: TestUser, given: object = {}) =>
  t.api('post', `${group.path}/share`, caller).send({ group_id: other.id, group_access: 30, ...given })

/** An owner with a group, a group and a project below it, and another group with members. */
async function aPlace() {
  const [owner, developer, guest, above] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
  const group = await aGroup(t.ctx, { creator: owner })
  const below = await aGroup(t.ctx, { creator: owner, parent_id: group.id })
  const project = await aProject(t.ctx, { creator: owner, namespace_id: below.id, files: { 'a.txt': 'needle\n' } })
  const parent = await aGroup(t.ctx, { creator: owner, maintainer: above })
  const other = await aGroup(t.ctx, { creator: owner, parent_id: parent.id, developer, guest })
  return { owner, developer, guest, above, group, below, project, parent, other }
}

describe('sharing a group with a group (WB-351)', () => {
  it('gives direct members of the other access to all below, up to the level, until it ends', async () => {
    const { owner, developer, guest, above, group, below, project, parent, other } = await aPlace()
    const git = async (who: TestUser) =>
      (
        await fetch(`${t.url}/${project.fullPath}.git/info/refs?service=git-receive-pack`, {
          headers: { authorization: `Basic ${Buffer.from(`x:${who.token}`).toString('base64')}` },
        })
      ).status
    for (const path of [group.path, below.path, project.path]) await t.api('get', path, developer).expect(404)
    expect(await git(developer)).toBe(404)
    const { body } = await share(group, other, owner, { expires_at: '2999-01-01' }).expect(201)
    const shown = {
      group_id: other.id,
      group_name: expect.any(String),
      group_full_path: `${parent.fullPath}/${other.fullPath}`,
      group_access_level: 30,
      expires_at: '2999-01-01',
    }
    expect(body).toMatchObject({ id: group.id, shared_with_groups: [shown] })
    for (const path of [group.path, below.path, project.path]) {
      await t.api('get', path, developer).expect(200)
      // members of groups above the other have nothing by it
      await t.api('get', path, above).expect(404)
    }
    expect([await git(developer), await git(guest), await git(above)]).toEqual([200, 403, 404])
    const branch = (who: TestUser, name: string) => t.api('post', `${project.path}/repository/branches`, who).send({ branch: name, ref: 'main' })
    await branch(developer, 'one').expect(201)
    await branch(guest, 'two').expect(403)
    await t.api('put', group.path, developer).send({ description: 'x' }).expect(403)

    // everywhere
    const ids = async (path: string, who: TestUser) => ((await t.api('get', path, who).expect(200)).body as { id: number }[]).map(({ id }) => id)
    expect(await ids('/projects?membership=true', developer)).toEqual([project.id])
    expect(await ids('/projects?min_access_level=30', developer)).toEqual([project.id])
    expect(await ids('/projects?min_access_level=40', developer)).toEqual([])
    expect(await ids('/projects?min_access_level=20', guest)).toEqual([])
    expect((await ids('/groups', developer)).sort((a, b) => a - b)).toEqual(expect.arrayContaining([group.id, below.id, other.id]))
    expect(await ids(`/groups?min_access_level=30&search=${group.fullPath}`, developer)).toEqual([group.id])
    expect(await ids(`/groups/${group.id}/members`, owner)).toEqual([owner.id])
    const levels = async (path: string) =>
      ((await t.api('get', `${path}/members/all`, owner).expect(200)).body as { id: number; access_level: number; expires_at: string | null }[]).map(
        ({ id, access_level, expires_at }) => [id, access_level, expires_at],
      )
    const effective = [
      [owner.id, 50, null],
      [developer.id, 30, '2999-01-01'],
      [guest.id, 10, '2999-01-01'],
    ]
    for (const path of [group.path, below.path, project.path]) expect(await levels(path)).toEqual(effective)
    expect((await t.api('get', `/search?scope=projects&search=${project.fullPath.split('/').at(-1)}`, developer).expect(200)).body).toHaveLength(1)
    expect((await t.api('get', project.path, developer).expect(200)).body.permissions).toMatchObject({
      project_access: null,
      group_access: { access_level: 30 },
    })
    await t
      .api('post', `${project.path}/issues`, owner)
      .send({ title: 'One', assignee_ids: [developer.id] })
      .expect(201)
    expect((await t.api('get', '/todos', developer).expect(200)).body).toHaveLength(1)
    expect((await t.api('get', '/events?scope=all', developer).expect(200)).body.length).toBeGreaterThan(0)

    await t.api('delete', `${group.path}/share/${other.id}`, owner).expect(204)
    for (const path of [group.path, below.path, project.path]) await t.api('get', path, developer).expect(404)
    expect(await git(developer)).toBe(404)
    expect(await ids('/projects?membership=true', developer)).toEqual([])
    await t.api('delete', `${group.path}/share/${other.id}`, owner).expect(404, { message: '404 Group Link Not Found' })
    const actions = await t.ctx.db.read.select().from(auditEvents).where(eq(auditEvents.target_id, group.id)).orderBy(auditEvents.id)
    expect(
      actions
        .filter(({ target_type }) => target_type === 'group')
        .map(({ action }) => action)
        .slice(-2),
    ).toEqual(['group_shared', 'group_unshared'])
  })

  it('ends with its last day, and with the membership; the higher of two roles counts', async () => {
    const { owner, developer, guest, group, project, other } = await aPlace()
    await share(group, other, owner, { expires_at: '2001-01-01' }).expect(400)
    await share(group, other, owner, { group_access: 50 }).expect(201)
    const [row] = await t.ctx.db.read.select().from(groupShares).where(eq(groupShares.group_id, group.id))
    const set = (values: Partial<typeof groupShares.$inferInsert>) =>
      t.ctx.db.write
        .update(groupShares)
        .set(values)
        .where(eq(groupShares.id, row?.id ?? 0))
    await set({ expires_at: t.ctx.now().toISOString().slice(0, 10) })
    await t.api('get', project.path, developer).expect(404)
    expect((await t.api('get', group.path, owner)).body.shared_with_groups).toEqual([])
    await t.api('delete', `${group.path}/share/${other.id}`, owner).expect(404)
    // what has ended can be shared again
    await share(group, other, owner, { group_access: 50 }).expect(201)
    await share(group, other, owner).expect(409, { message: 'Group is already shared with this group' })
    await t.api('post', `${project.path}/members`, owner).send({ user_id: guest.id, access_level: 30 }).expect(201)
    const level = async (who: TestUser) => (await t.api('get', `${project.path}/members/all/${who.id}`, owner).expect(200)).body.access_level
    expect([await level(developer), await level(guest)]).toEqual([30, 30])
    await t.api('delete', `${other.path}/members/${developer.id}`, owner).expect(204)
    await t.api('get', project.path, developer).expect(404)
  })

  it('is not passed on: neither by a share of a project with the group nor by one of another group', async () => {
    const { owner, developer, group, other } = await aPlace()
    const project = await aProject(t.ctx, { creator: owner })
    const third = await aGroup(t.ctx, { creator: owner })
    await t.api('post', `${project.path}/share`, owner).send({ group_id: group.id, group_access: 20 }).expect(201)
    await share(group, other, owner).expect(201)
    await share(third, group, owner).expect(201)
    await t.api('get', group.path, developer).expect(200)
    for (const path of [project.path, third.path]) await t.api('get', path, developer).expect(404)
    expect((await t.api('get', '/projects?membership=true', developer).expect(200)).text).not.toContain(`"id":${project.id},`)
  })

  it('is for owners, with a group that they see, which is neither the group nor above it', async () => {
    const { owner, group, below, other, developer } = await aPlace()
    const [maintainer, admin, stranger] = [await aUser(t.ctx), await anAdmin(t.ctx), await aUser(t.ctx)]
    await t.api('post', `${group.path}/members`, owner).send({ user_id: maintainer.id, access_level: 40 }).expect(201)
    await t.api('post', `${group.path}/share`).send({ group_id: other.id, group_access: 10 }).expect(401)
    await share(group, other, stranger).expect(404)
    await share(group, other, maintainer).expect(403)
    await share(group, await aGroup(t.ctx), owner).expect(404, { message: '404 Group Not Found' })
    for (const [one, another] of [
      [group, group],
      [below, group],
    ] as const)
      await share(one, another, owner).expect(409, { message: 'Group cannot be shared with itself or one of its ancestors.' })
    for (const group_access of [0, 15, 60])
      await share(group, other, owner, { group_access }).expect(400, { error: 'group_access does not have a valid value' })
    await t.api('post', `${group.path}/share`, owner).send({ group_access: 10 }).expect(400, { error: 'group_id is missing' })
    await t.api('put', group.path, owner).send({ share_with_group_lock: true }).expect(200)
    for (const one of [group, below]) await share(one, other, owner).expect(400)
    await t.api('put', group.path, owner).send({ share_with_group_lock: false }).expect(200)
    await share(group, other, admin).expect(201)
    // the other group is hidden from those who may not see it
    expect((await t.api('get', group.path, maintainer).expect(200)).body.shared_with_groups).toEqual([])
    expect((await t.api('get', group.path, developer).expect(200)).body.shared_with_groups).toHaveLength(1)
    await t.api('delete', `${group.path}/share/${other.id}`, maintainer).expect(403)
    await t.api('delete', `${group.path}/share/${other.id}`, stranger).expect(404)
    await t.api('delete', `${group.path}/share/${other.id}`, admin).expect(204)
  })

  it('moves with the group, and ends where it would be with one above it', async () => {
    const { owner, developer, group, project, other, parent } = await aPlace()
    const place = await aGroup(t.ctx, { creator: owner })
    await share(group, other, owner).expect(201)
    await t.api('post', `${group.path}/transfer`, owner).send({ group_id: place.id }).expect(201)
    await t.api('get', project.path, developer).expect(200)
    await t.api('get', place.path, developer).expect(404)
    await share(group, parent, owner).expect(201)
    await t.api('post', `${group.path}/transfer`, owner).send({ group_id: parent.id }).expect(201)
    expect((await t.api('get', group.path, owner)).body.shared_with_groups).toMatchObject([{ group_id: other.id }])
  })

  it('gives nothing while the other group waits for its removal, and is gone with either', async () => {
    const { owner, developer, group, project, other } = await aPlace()
    const admin = await anAdmin(t.ctx)
    await share(group, other, owner).expect(201)
    await t.api('delete', other.path, owner).expect(204)
    await t.api('get', project.path, developer).expect(404)
    await t.api('post', `${other.path}/restore`, owner).expect(201)
    await t.api('get', project.path, developer).expect(200)
    const remove = async ({ id }: TestGroup) => {
      await t.api('delete', `/groups/${id}`, admin).expect(204)
      const { body } = await t.api('get', `/groups/${id}?include_pending_delete=true`, admin).expect(200)
      await t.api('delete', `/groups/${id}?permanently_remove=true&full_path=${encodeURIComponent(body.full_path)}`, admin).expect(204)
    }
    await remove(other)
    await t.api('get', project.path, developer).expect(404)
    expect(await t.ctx.db.read.$count(groupShares, eq(groupShares.group_id, group.id))).toBe(0)
    const another = await aGroup(t.ctx, { creator: owner, developer })
    await share(group, another, owner).expect(201)
    await t.api('get', project.path, developer).expect(200)
    await remove(group)
    expect(await t.ctx.db.read.$count(groupShares, eq(groupShares.shared_with_group_id, another.id))).toBe(0)
  })
})
