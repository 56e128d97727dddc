import { and, eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { auditEvents, namespaces, projectShares } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { aGroup, aProject, aUser } from '../../support/factories.js'

const t = testApp()

describe('sharing a project (PR-23, PR-24)', () => {
  it('gives the group’s members access at once, up to the level, and removes it again (PR-23, AC-2, AC-15)', async () => {
    const [developer, guest] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const group = await aGroup(t.ctx, { creator: project.creator, developer, guest })
    await t.api('get', project.path, developer).expect(404)
    const { body } = await t.api('post', `${project.path}/share`, project.creator).send({ group_id: group.id, group_access: 30 }).expect(201)
    expect(body).toEqual({ id: expect.any(Number), project_id: project.id, group_id: group.id, group_access: 30, expires_at: null })
    const shown = (await t.api('get', project.path, developer).expect(200)).body
    expect(shown.shared_with_groups).toEqual([
      { group_id: group.id, group_name: expect.any(String), group_full_path: group.fullPath, group_access_level: 30, expires_at: null },
    ])
    const branch = (caller: typeof developer, name: string) =>
      t.api('post', `${project.path}/repository/branches`, caller).send({ branch: name, ref: 'main' })
    await branch(developer, 'one').expect(201)
    await branch(guest, 'two').expect(403)
    // the owner of the group has no more than the share gives
    const owner = await aUser(t.ctx)
    await t.api('post', `${group.path}/members`, project.creator).send({ user_id: owner.id, access_level: 50 }).expect(201)
    await branch(owner, 'three').expect(201)
    await t.api('put', project.path, owner).send({ description: 'x' }).expect(403)
    expect((await t.api('get', '/projects?membership=true', developer).expect(200)).body).toMatchObject([{ id: project.id }])

    await t.api('delete', `${project.path}/share/${group.id}`, project.creator).expect(204)
    await t.api('get', project.path, developer).expect(404)
    expect((await t.api('get', '/projects?membership=true', developer).expect(200)).body).toEqual([])
    await t.api('delete', `${project.path}/share/${group.id}`, project.creator).expect(404, { message: '404 Group Link Not Found' })
  })

  it('maintainers may (PR-23, PR-24)', async () => {
    const { project, as } = await aCast(t.ctx)
    const group = await aGroup(t.ctx, { visibility: 'public' })
    for (const [role, status] of statuses(403, { anonymous: 401, stranger: 404, maintainer: 201, owner: 201, admin: 201 })) {
      const call = t.api('post', `${project.path}/share`, as[role]).send({ group_id: group.id, group_access: 10 })
      expect([role, (await call).status]).toEqual([role, status])
      await t.ctx.db.write.delete(projectShares).where(eq(projectShares.project_id, project.id))
    }
    for (const [role, status] of statuses(403, { anonymous: 401, stranger: 404, maintainer: 204, owner: 204, admin: 204 })) {
      await t.ctx.db.write.insert(projectShares).values({ project_id: project.id, group_id: group.id, group_access: 10 }).onConflictDoNothing()
      expect([role, (await t.api('delete', `${project.path}/share/${group.id}`, as[role])).status]).toEqual([role, status])
    }
  })

  it('404 for groups that are hidden or not there, 400 for what cannot be (PR-23, SEC-32)', async () => {
    const project = await aProject(t.ctx)
    const share = (input: object) => t.api('post', `${project.path}/share`, project.creator).send(input)
    const [hidden, group] = [await aGroup(t.ctx), await aGroup(t.ctx, { visibility: 'public' })]
    for (const group_id of [hidden.id, 999_999, 0]) await share({ group_id, group_access: 10 }).expect(404, { message: '404 Group Not Found' })
    for (const group_access of [0, 5, 15, 50, -10])
      await share({ group_id: group.id, group_access }).expect(400, { error: 'group_access does not have a valid value' })
    await share({ group_id: group.id, group_access: 'x' }).expect(400, { error: 'group_access is invalid' })
    await share({}).expect(400, { error: 'group_id is missing, group_access is missing' })
    await share({ group_id: group.id, group_access: 10, expires_at: 'x' }).expect(400, { error: 'expires_at is invalid' })
    await share({ group_id: group.id, group_access: 10, expires_at: '2020-01-01' }).expect(400, {
      message: { expires_at: ['cannot be a date in the past'] },
    })
    expect(await t.ctx.db.write.select().from(projectShares).where(eq(projectShares.project_id, project.id))).toEqual([])
  })

  it('409 for a share that is there, for the own group and those above it (PR-23)', async () => {
    const creator = await aUser(t.ctx)
    const top = await aGroup(t.ctx, { creator })
    const below = await aGroup(t.ctx, { creator, parent_id: top.id })
    const beside = await aGroup(t.ctx, { creator, parent_id: top.id })
    const project = await aProject(t.ctx, { creator, namespace_id: below.id })
    const share = (group_id: number) => t.api('post', `${project.path}/share`, creator).send({ group_id, group_access: 20, expires_at: '2999-12-31' })
    for (const group of [top, below])
      await share(group.id).expect(409, { message: 'Project cannot be shared with the group it is in or one of its ancestors.' })
    const answers = await Promise.all([1, 2, 3].map(() => share(beside.id)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409])
    await share(beside.id).expect(409, { message: 'Project is already shared with this group' })
    // one whose day has come is none
    await t.ctx.db.write.update(projectShares).set({ expires_at: '2020-01-01' }).where(eq(projectShares.project_id, project.id))
    await t.api('delete', `${project.path}/share/${beside.id}`, creator).expect(404)
    expect((await share(beside.id).expect(201)).body).toMatchObject({ expires_at: '2999-12-31' })
  })

  it('400 where the group, or one above it, has locked sharing (PR-23)', async () => {
    const creator = await aUser(t.ctx)
    const top = await aGroup(t.ctx, { creator })
    const below = await aGroup(t.ctx, { creator, parent_id: top.id })
    const other = await aGroup(t.ctx, { creator })
    const project = await aProject(t.ctx, { creator, namespace_id: below.id })
    const share = () => t.api('post', `${project.path}/share`, creator).send({ group_id: other.id, group_access: 20 })
    const lock = (id: number, share_with_group_lock: boolean) =>
      t.ctx.db.write.update(namespaces).set({ share_with_group_lock }).where(eq(namespaces.id, id))
    for (const group of [below, top]) {
      await lock(group.id, true)
      await share().expect(400, { message: 'The project sharing with group is disabled' })
      await lock(group.id, false)
    }
    await share().expect(201)
  })

  it('is written down (SEC-168)', async () => {
    const project = await aProject(t.ctx)
    const group = await aGroup(t.ctx, { creator: project.creator })
    await t.api('post', `${project.path}/share`, project.creator).send({ group_id: group.id, group_access: 40 }).expect(201)
    await t.api('delete', `${project.path}/share/${group.id}`, project.creator).expect(204)
    const rows = await t.ctx.db.write
      .select()
      .from(auditEvents)
      .where(and(eq(auditEvents.target_type, 'project'), eq(auditEvents.target_id, project.id)))
      .orderBy(auditEvents.id)
    expect(rows.map(({ action, actor_id, changes }) => ({ action, actor_id, changes }))).toMatchObject([
      { action: 'project_created' },
      { action: 'project_shared', actor_id: project.creator.id, changes: { group_id: group.id, group_access: 40 } },
      { action: 'project_unshared', actor_id: project.creator.id, changes: { group_id: group.id } },
    ])
  })
})
