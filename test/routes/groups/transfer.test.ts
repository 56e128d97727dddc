import { and, eq } from 'drizzle-orm'
import supertest from 'supertest'
import { beforeAll, describe, expect, it } from 'vitest'
import { auditEvents, members, projectShares, projects } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let owner: TestUser

beforeAll(async () => {
  ;[admin, owner] = [await anAdmin(t.ctx), await aUser(t.ctx)]
})

const move = (group: { id: number | string }, project: { id: number | string }, caller: TestUser | null = admin) =>
  t.api('post', `/groups/${group.id}/projects/${project.id}`, caller)
const refused = (text: string) => ({ message: `Failed to transfer project {:new_namespace=>["${text}"]}` })

describe('POST /groups/:id/projects/:project_id (GR-41 to GR-43)', () => {
  it('administrators; then the group, then the project (GR-41, G-74)', async () => {
    const [group, project] = [await aGroup(t.ctx, { creator: owner }), await aProject(t.ctx, { creator: owner })]
    await move(group, project, null).expect(401, { message: '401 Unauthorized' })
    await move(group, project, owner).expect(403, { message: '403 Forbidden' })
    await move({ id: 999_999 }, { id: 999_999 }, owner).expect(403)
    await move({ id: 999_999 }, { id: 999_999 }).expect(404, { message: '404 Group Not Found' })
    await move(group, { id: 999_999 }).expect(404, { message: '404 Project Not Found' })
    const { body } = await move({ id: encodeURIComponent(group.fullPath) }, { id: encodeURIComponent(project.fullPath) }).expect(201)
    expect(body).toMatchObject({ id: group.id, projects: [{ id: project.id }], shared_projects: [] })
    expect(body).toHaveProperty('lfs_enabled', true)
  })

  it('refused as a whole (GR-42, SEC-133)', async () => {
    const group = await aGroup(t.ctx, { creator: owner })
    const project = await aProject(t.ctx, { creator: owner, name: 'Mine', path: 'mine' })
    const twin = await aProject(t.ctx, { creator: owner, namespace_id: group.id, name: 'Other', path: 'MINE' })
    const rows = () => t.ctx.db.read.select().from(projects).where(eq(projects.id, project.id))
    const before = await rows()
    await move(group, project).expect(400, refused('Project with same path in target namespace already exists'))
    await t.api('delete', twin.path, owner).expect(202)
    const below = await aGroup(t.ctx, { creator: owner, parent_id: group.id, path: 'Mine' })
    await move(group, project).expect(400, refused('Project with same path in target namespace already exists'))
    await t.api('delete', below.path, owner).expect(204)
    const namesake = await aProject(t.ctx, { creator: owner, namespace_id: group.id, name: 'MINE', path: 'other' })
    await move(group, project).expect(400, refused('Project with same name in target namespace already exists'))
    await t.api('delete', namesake.path, owner).expect(202)
    expect(await rows()).toEqual(before)
    await move(group, project).expect(201)
    await move(group, project).expect(400, refused('Transfer failed, please contact an admin.'))
  })

  it('the path changes and Git finds it by the old one (GR-43, PR-18)', async () => {
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'public', name: 'Place' })
    const project = await aProject(t.ctx, { creator: owner, name: 'moving', visibility: 'public', files: { 'a.txt': 'a' } })
    await move(group, project).expect(201)
    const full = `${group.fullPath}/moving`
    expect((await t.api('get', project.path, owner).expect(200)).body).toMatchObject({
      id: project.id,
      path_with_namespace: full,
      name_with_namespace: 'Place / moving',
      visibility: 'public',
      namespace: { id: group.id, kind: 'group' },
    })
    await t.api('get', `/projects/${encodeURIComponent(project.fullPath)}`, owner).expect(404)
    await t.api('get', `/projects/${encodeURIComponent(full)}`, owner).expect(200)
    const moved = await supertest(t.url).get(`/${project.fullPath}.git/info/refs?service=git-upload-pack`)
    expect([200, 301, 302, 307, 308]).toContain(moved.status)
    expect((await t.api('get', `${project.path}/repository/commits`, owner).expect(200)).body).toHaveLength(1)
    // somebody else may take the old path, and then Git finds the new project
    await aProject(t.ctx, { creator: owner, name: 'moving' })
    await supertest(t.url).get(`/${project.fullPath}.git/info/refs?service=git-upload-pack`).expect(401)
  })

  it('not more visible than the group (GR-43, SEC-40)', async () => {
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'internal' })
    const [open, closed] = [await aProject(t.ctx, { creator: owner, visibility: 'public' }), await aProject(t.ctx, { creator: owner })]
    await move(group, open).expect(201)
    await move(group, closed).expect(201)
    expect((await t.api('get', open.path, owner).expect(200)).body).toMatchObject({ visibility: 'internal' })
    expect((await t.api('get', closed.path, owner).expect(200)).body).toMatchObject({ visibility: 'private' })
    await t.api('get', open.path).expect(404)
    const [row] = await t.ctx.db.read
      .select({ actor: auditEvents.actor, changes: auditEvents.changes })
      .from(auditEvents)
      .where(and(eq(auditEvents.action, 'project_transferred'), eq(auditEvents.target_id, open.id)))
    expect(row).toEqual({
      actor: admin.username,
      changes: { namespace: [owner.username, group.fullPath], visibility: ['public', 'internal'] },
    })
  })

  it('its forks are lowered with it (AC-5, SEC-133)', async () => {
    const group = await aGroup(t.ctx, { creator: owner })
    const [source, fork] = [await aProject(t.ctx, { creator: owner, visibility: 'public' }), await aProject(t.ctx, { visibility: 'internal' })]
    await t.ctx.db.write.update(projects).set({ forked_from_id: source.id }).where(eq(projects.id, fork.id))
    await move(group, source).expect(201)
    expect((await t.api('get', fork.path, fork.creator).expect(200)).body.visibility).toBe('private')
  })

  it('rights of the old group end, those of the new one apply, direct members stay (GR-43, SEC-133)', async () => {
    const [old, direct, fresh] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const from = await aGroup(t.ctx, { creator: owner, developer: old })
    const parent = await aGroup(t.ctx, { creator: admin, reporter: fresh })
    const to = await aGroup(t.ctx, { creator: admin, parent_id: parent.id })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: from.id, guest: direct })
    await t.ctx.db.write.insert(projectShares).values([
      { project_id: project.id, group_id: parent.id, group_access: 40 },
      { project_id: project.id, group_id: from.id, group_access: 10 },
    ])
    await t.api('get', project.path, old).expect(200)
    await move(to, project).expect(201)
    const level = async (person: TestUser) => {
      const { status, body } = await t.api('get', `${project.path}/members/all/${person.id}`, admin)
      return status === 200 ? (body as { access_level: number }).access_level : status
    }
    // the share with the group above is none any more; the one with the old group is one now
    expect([await level(direct), await level(fresh), await level(old), await level(owner)]).toEqual([10, 20, 10, 10])
    await t.ctx.db.write.delete(projectShares).where(eq(projectShares.project_id, project.id))
    await t.api('get', project.path, old).expect(404)
    await t.api('get', project.path, owner).expect(404)
    await t.api('get', project.path, direct).expect(200)
  })

  it('the owner of a personal project stays with the level they are shown with (GR-43, AC-13)', async () => {
    const group = await aGroup(t.ctx, { creator: admin })
    const project = await aProject(t.ctx, { creator: owner })
    await move(group, project).expect(201)
    const rows = await t.ctx.db.read.select().from(members).where(eq(members.project_id, project.id))
    expect(rows).toMatchObject([{ user_id: owner.id, access_level: 40 }])
    await t.api('delete', project.path, owner).expect(403)
  })

  it('refuses one of two concurrent moves', async () => {
    const [one, two] = [await aGroup(t.ctx, { creator: owner }), await aGroup(t.ctx, { creator: owner })]
    const [a, b] = [await aProject(t.ctx, { creator: owner, namespace_id: one.id }), await aProject(t.ctx, { creator: owner, namespace_id: two.id })]
    const answers = await Promise.all([move(two, a), move(one, b), move(two, a)])
    expect(answers.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(2)
    expect(answers.every(({ status }) => status === 201 || status === 400 || status === 404)).toBe(true)
  })
})
