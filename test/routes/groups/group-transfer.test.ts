import { and, eq, sql } from 'drizzle-orm'
import supertest from 'supertest'
import { beforeAll, describe, expect, it } from 'vitest'
import { auditEvents, members, namespaces, projectShares, projects } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let owner: TestUser

beforeAll(async () => {
  ;[admin, owner] = [await anAdmin(t.ctx), await aUser(t.ctx)]
})

const transfer = (group: { id: number }, group_id?: number | string, caller: TestUser | null = owner) =>
  t.api('post', `/groups/${group.id}/transfer`, caller).send({ group_id })
const refused = (text: string) => ({ message: `Transfer failed: ${text}` })
const pathOf = async ({ id }: { id: number }) => (await t.api('get', `/groups/${id}`, admin).expect(200)).body.full_path as string

describe('POST /groups/:id/transfer (GR-61 to GR-63)', () => {
  it('owners, into groups in which they may create subgroups, and to the top who may create groups (GR-61)', async () => {
    const [maintainer, limited] = [await aUser(t.ctx), await aUser(t.ctx, { can_create_group: false })]
    const group = await aGroup(t.ctx, { creator: owner, maintainer })
    const mine = await aGroup(t.ctx, { creator: owner })
    const open = await aGroup(t.ctx, { visibility: 'public', maintainer: owner })
    const hidden = await aGroup(t.ctx)
    await transfer(group, mine.id, null).expect(401)
    await transfer(group, mine.id, maintainer).expect(403)
    await transfer(await aGroup(t.ctx, { visibility: 'public' }), mine.id).expect(403)
    await transfer({ id: 999_999 }, mine.id).expect(404, { message: '404 Group Not Found' })
    await transfer(group, hidden.id).expect(404, { message: '404 Group Not Found' })
    await transfer(group, 'text').expect(400, { error: 'group_id is invalid' })
    await transfer(group, open.id).expect(400, refused("You don't have enough permissions."))
    expect(await pathOf(group)).toBe(group.fullPath)
    await t.api('put', `/groups/${open.id}`, admin).send({ subgroup_creation_level: 'maintainer' }).expect(200)
    const { body } = await transfer(group, open.id).expect(201)
    expect(body).toMatchObject({ id: group.id, parent_id: open.id, full_path: `${open.fullPath}/${group.fullPath}`, visibility: 'private' })
    await t.ctx.db.write.insert(members).values({ user_id: limited.id, namespace_id: group.id, access_level: 50 })
    await transfer(group, undefined, limited).expect(400, refused("You don't have enough permissions."))
    expect((await transfer(group, undefined, admin).expect(201)).body).toMatchObject({ parent_id: null, full_path: group.fullPath })
  })

  it('moves what is below: paths, names, ancestors, and redirects of Git (GR-62, GH-4)', async () => {
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'public', name: 'Moved' })
    const below = await aGroup(t.ctx, { creator: owner, visibility: 'public', parent_id: group.id, name: 'Below', path: 'below' })
    const project = await aProject(t.ctx, {
      creator: owner,
      namespace_id: below.id,
      visibility: 'public',
      path: 'Code',
      name: 'Code',
      files: { a: 'a' },
    })
    const top = await aGroup(t.ctx, { creator: owner, visibility: 'public', name: 'Top' })
    const parent = await aGroup(t.ctx, { creator: owner, visibility: 'public', parent_id: top.id, name: 'Parent', path: 'Parent' })
    await transfer(group, parent.id).expect(201)
    const full = `${top.fullPath}/Parent/${group.fullPath}/below`
    expect((await t.api('get', project.path, owner).expect(200)).body).toMatchObject({
      path_with_namespace: `${full}/Code`,
      name_with_namespace: 'Top / Parent / Moved / Below / Code',
    })
    expect((await t.api('get', `/groups/${encodeURIComponent(full)}`, owner).expect(200)).body).toMatchObject({ id: below.id, full_path: full })
    await t.api('get', `/groups/${encodeURIComponent(`${group.fullPath}/below`)}`, owner).expect(404)
    await t.api('get', `/projects/${encodeURIComponent(`${full}/code`)}`, owner).expect(200)
    const former = `/${group.fullPath}/below/code.git/info/refs?service=git-upload-pack`
    expect((await supertest(t.url).get(former)).status).toBeLessThan(400)
    const { body: listed } = await t.api('get', `/groups/${top.id}/projects?include_subgroups=true`).expect(200)
    expect(listed.map(({ id }: { id: number }) => id)).toEqual([project.id])
    // and back: the levels between are gone, and so are what they gave
    await transfer(group).expect(201)
    expect((await t.api('get', `/groups/${top.id}/projects?include_subgroups=true`).expect(200)).body).toEqual([])
    expect((await t.api('get', project.path).expect(200)).body.path_with_namespace).toBe(`${group.fullPath}/below/Code`)
    expect((await supertest(t.url).get(`/${full}/code.git/info/refs?service=git-upload-pack`)).status).toBeLessThan(400)
  })

  it('refuses what is there, itself, what is below, taken and reserved names, and what is too deep or too much (GR-63, SEC-132)', async () => {
    const group = await aGroup(t.ctx, { creator: owner, name: 'Mine' })
    const below = await aGroup(t.ctx, { creator: owner, parent_id: group.id, path: 'admin' })
    const parent = await aGroup(t.ctx, { creator: owner })
    await transfer(group).expect(400, refused('Group is already a root group.'))
    await transfer(below, group.id).expect(400, refused('Group is already associated to the parent group.'))
    for (const id of [group.id, below.id]) await transfer(group, id).expect(400, refused('Cannot transfer group to one of its subgroup.'))
    await transfer(below).expect(400, refused('The path of the group is a reserved name there.'))
    const twin = await aProject(t.ctx, { creator: owner, namespace_id: parent.id, name: 'twin', path: group.fullPath.toUpperCase() })
    await transfer(group, parent.id).expect(400, refused('The parent group already has a subgroup or a project with the same path.'))
    await t.api('delete', twin.path, owner).expect(202)
    const namesake = await aGroup(t.ctx, { creator: owner, parent_id: parent.id, name: 'MINE' })
    await transfer(group, parent.id).expect(400, refused('The parent group already has a subgroup with the same name.'))
    await t.api('delete', namesake.path, owner).expect(204)
    let deepest = parent
    for (let depth = 1; depth < 20; depth++) deepest = await aGroup(t.ctx, { creator: owner, parent_id: deepest.id })
    await transfer(group, deepest.id).expect(400, refused('The group would have too deep level of nesting.'))
    await aProject(t.ctx, { creator: owner, namespace_id: below.id, path: 'p0' })
    await t.ctx.db.write.execute(sql`insert into projects (namespace_id, creator_id, name, path, visibility, storage, default_branch)
      select namespace_id, creator_id, 'p' || i, 'p' || i, visibility, storage, 'main' from projects, generate_series(1, 1998) i where namespace_id = ${below.id}`)
    await transfer(group, parent.id).expect(400, refused('The group has more than 2000 subgroups and projects.'))
    expect([await pathOf(group), await pathOf(below)]).toEqual([group.fullPath, `${group.fullPath}/admin`])
    await t.ctx.db.write.delete(projects).where(and(eq(projects.namespace_id, below.id), eq(projects.path, 'p1')))
    await t.api('delete', `/groups/${deepest.id}`, owner).expect(204)
    await transfer(group, parent.id).expect(201)
  })

  it('nothing is more visible than the new parent, forks included (GR-62, SEC-40, AC-5)', async () => {
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    const below = await aGroup(t.ctx, { creator: owner, visibility: 'public', parent_id: group.id })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: below.id, visibility: 'public' })
    const closed = await aProject(t.ctx, { creator: owner, namespace_id: group.id, visibility: 'private' })
    const fork = await aProject(t.ctx, { visibility: 'public' })
    await t.ctx.db.write.update(projects).set({ forked_from_id: project.id }).where(eq(projects.id, fork.id))
    const parent = await aGroup(t.ctx, { creator: owner, visibility: 'internal' })
    expect((await transfer(group, parent.id).expect(201)).body.visibility).toBe('internal')
    const visibility = async (path: string) => (await t.api('get', path, admin).expect(200)).body.visibility
    expect([await visibility(below.path), await visibility(project.path), await visibility(closed.path), await visibility(fork.path)]).toEqual([
      'internal',
      'internal',
      'private',
      'internal',
    ])
    await t.api('get', project.path).expect(404)
    const [row] = await t.ctx.db.read
      .select({ actor: auditEvents.actor, target: auditEvents.target, changes: auditEvents.changes })
      .from(auditEvents)
      .where(and(eq(auditEvents.action, 'group_transferred'), eq(auditEvents.target_id, group.id)))
    expect(row).toEqual({
      actor: owner.username,
      target: group.fullPath,
      changes: { parent: [null, parent.fullPath], groups: 2, visibility: ['public', 'internal'] },
    })
  })

  it('rights of the former groups end, those of the new ones apply, labels stay (GR-62, SEC-31)', async () => {
    const [old, fresh, direct] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const from = await aGroup(t.ctx, { creator: owner, developer: old })
    const to = await aGroup(t.ctx, { creator: owner, reporter: fresh })
    const group = await aGroup(t.ctx, { creator: owner, parent_id: from.id, guest: direct })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id })
    await t.ctx.db.write.insert(projectShares).values({ project_id: project.id, group_id: to.id, group_access: 10 })
    await t.api('post', `/groups/${from.id}/labels`, owner).send({ name: 'of the former', color: '#ff0000' }).expect(201)
    await t.api('post', `/groups/${group.id}/labels`, owner).send({ name: 'own', color: '#ff0000' }).expect(201)
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'one', labels: 'of the former,own' }).expect(201)
    await t.api('get', project.path, fresh).expect(200)
    expect((await t.api('get', '/projects?membership=true', old).expect(200)).body).toHaveLength(1)
    await transfer(group, to.id).expect(201)
    const level = async (person: TestUser) => {
      const { status, body } = await t.api('get', `${project.path}/members/all/${person.id}`, admin)
      return status === 200 ? (body as { access_level: number }).access_level : status
    }
    expect([await level(old), await level(fresh), await level(direct), await level(owner)]).toEqual([404, 20, 10, 50])
    await t.api('get', project.path, old).expect(404)
    expect((await t.api('get', '/projects?membership=true', old).expect(200)).body).toEqual([])
    expect(await t.ctx.db.read.select().from(projectShares).where(eq(projectShares.project_id, project.id))).toEqual([])
    expect((await t.api('get', `${project.path}/issues/1`, fresh).expect(200)).body.labels).toEqual(['of the former', 'own'])
    const { body: labels } = await t.api('get', `${project.path}/labels?include_ancestor_groups=true`, fresh).expect(200)
    expect(labels).toMatchObject([
      { name: 'of the former', is_project_label: true },
      { name: 'own', is_project_label: false },
    ])
  })

  it('who moves a group that has no direct owner to the top owns it (GR-61)', async () => {
    const parent = await aGroup(t.ctx, { creator: owner })
    const group = await aGroup(t.ctx, { creator: owner, parent_id: parent.id })
    await t.ctx.db.write.delete(members).where(eq(members.namespace_id, group.id))
    await transfer(group).expect(201)
    const rows = await t.ctx.db.read.select().from(members).where(eq(members.namespace_id, group.id))
    expect(rows).toMatchObject([{ user_id: owner.id, access_level: 50 }])
  })

  it('no two transfers together make a cycle (SEC-132)', async () => {
    const [one, two] = [await aGroup(t.ctx, { creator: owner }), await aGroup(t.ctx, { creator: owner })]
    const answers = await Promise.all([transfer(one, two.id), transfer(two, one.id)])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400])
    const rows = await t.ctx.db.read.select({ parent: namespaces.parent_id }).from(namespaces).where(eq(namespaces.id, one.id))
    const [other] = await t.ctx.db.read.select({ parent: namespaces.parent_id }).from(namespaces).where(eq(namespaces.id, two.id))
    expect([rows[0]?.parent, other?.parent].filter((parent) => parent !== null)).toHaveLength(1)
  })
})

describe('the page of a group that is transferred (WB-300)', () => {
  it('offers other groups and the top, and says why not beside the field', async () => {
    const who = await aUser(t.ctx)
    const [parent, group] = [await aGroup(t.ctx, { creator: who }), await aGroup(t.ctx, { creator: who })]
    const below = await aGroup(t.ctx, { creator: who, parent_id: group.id })
    const browser = new TestBrowser(t.url)
    await browser.signIn(who)
    const page = await browser.open(`/groups/${group.fullPath}/-/settings/advanced`)
    const offered = page.$('#parents option').toArray()
    expect(offered.map((one) => page.$(one).attr('value'))).toEqual([parent.fullPath])
    expect(page.text).not.toContain('to the top level')
    for (const parent of ['no such group', `${await pathOf(below)}`]) {
      const answer = await browser.submit('Transfer group', { 'group[parent]': parent })
      expect([answer.status, answer.$('#group_parent').val()]).toEqual([422, parent])
      expect(answer.$('#group_parent_fault').text()).toMatch(/is no group that you may create subgroups in|Cannot transfer group/)
    }
    const moved = await browser.submit('Transfer group', { 'group[parent]': parent.fullPath })
    expect([moved.status, moved.at]).toEqual([200, `/groups/${parent.fullPath}/${group.fullPath}/-/settings/advanced`])
    expect(moved.text).toContain('Group transferred.')
    expect(moved.text).toContain('Empty: to the top level.')
    const back = await browser.submit('Transfer group', { 'group[parent]': ' ' })
    expect(back.at).toBe(`/groups/${group.fullPath}/-/settings/advanced`)
  })
})
