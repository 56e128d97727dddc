import { and, eq } from 'drizzle-orm'
import supertest from 'supertest'
import { describe, expect, it } from 'vitest'
import { auditEvents, projectShares } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { commitIn, gitClient, gitOut } from '../../support/clients/git-client.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'

const t = testApp()
const client = gitClient(t)

const transfer = (project: { path: string }, namespace: unknown, caller: TestUser | null) =>
  t.api('put', `${project.path}/transfer`, caller).send({ namespace })
const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')

async function inGroup(given: Parameters<typeof aProject>[1] = {}) {
  const owner = await aUser(t.ctx)
  const group = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
  const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id, files: { a: 'a' }, ...given })
  return { owner, group, project }
}

describe('PUT /projects/:id/transfer (PR-13, PR-18)', () => {
  it('moves all there is under its new path; the old one leads Git, and only Git (PR-13, PR-18, GH-4, W-8)', async () => {
    const { owner, project } = await inGroup({ visibility: 'public' })
    const target = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    const { avatar_url } = (await t.api('put', project.path, owner).attach('avatar', png, 'a.png').expect(200)).body
    const work = await client.cloned(client.url(project.fullPath, owner))
    const { body } = await transfer(project, target.fullPath, owner).expect(200)
    const name = project.fullPath.split('/')[1]
    expect(body).toMatchObject({ id: project.id, path_with_namespace: `${target.fullPath}/${name}`, visibility: 'public', avatar_url })
    await supertest(t.url).get(new URL(avatar_url).pathname).expect(200)
    await t.api('get', `/projects/${encodeURIComponent(project.fullPath)}`, owner).expect(404, { message: '404 Project Not Found' })
    await t.api('get', `/projects/${encodeURIComponent(body.path_with_namespace)}`, owner).expect(200)
    await commitIn(work, 'b')
    await gitOut(work, 'push', '-q', 'origin', 'HEAD')
    await gitOut(work, 'fetch', '-q', 'origin')
    // until somebody takes the path
    const [former] = project.fullPath.split('/')
    const other = await aProject(t.ctx, { creator: owner, namespace_id: (await t.api('get', `/groups/${former}`, owner)).body.id, path: name })
    expect(await gitOut(work, 'ls-remote', client.url(other.fullPath, owner))).toBe('')
    // and back again
    await transfer(project, owner.username, owner).expect(200)
    await gitOut(work, 'ls-remote', client.url(body.path_with_namespace, owner))
  })

  it('owners may, where they may create a project (PR-13)', async () => {
    const { project, as } = await aCast(t.ctx)
    const everybody = [as.guest, as.reporter, as.developer, as.stranger]
    const target = await aGroup(t.ctx, { creator: as.owner, maintainer: [...everybody, as.maintainer] })
    for (const [role, status] of statuses(403, { anonymous: 401, stranger: 404, owner: 200, admin: 200 })) {
      expect([role, (await transfer(project, target.id, as[role])).status]).toEqual([role, status])
      if (status === 200) await transfer(project, as.owner.username, await anAdmin(t.ctx)).expect(200)
    }
    const developed = await aGroup(t.ctx, { developer: as.owner })
    await transfer(project, developed.id, as.owner).expect(403)
    await transfer(project, (await aGroup(t.ctx, { visibility: 'public' })).id, as.owner).expect(403)
    for (const hidden of [(await aGroup(t.ctx)).id, 999_999, 'no/such', as.guest.username, project.fullPath])
      await transfer(project, hidden, as.owner).expect(404, { message: '404 Namespace Not Found' })
    await t.api('put', `${project.path}/transfer`, as.owner).send({}).expect(400, { error: 'namespace is missing' })
    await transfer(project, (await aGroup(t.ctx, { maintainer: as.owner })).id, as.owner).expect(200)
  })

  it('rights of the old group end and those of the new one begin; direct members stay (GR-43, SEC-133, AC-15)', async () => {
    const { owner, group, project } = await inGroup()
    const [old, fresh, direct] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const add = (path: string, user: TestUser) => t.api('post', `${path}/members`, owner).send({ user_id: user.id, access_level: 30 }).expect(201)
    const target = await aGroup(t.ctx, { creator: owner })
    await add(group.path, old)
    await add(target.path, fresh)
    await add(project.path, direct)
    const seen = async () => Promise.all([old, fresh, direct].map(async (user) => (await t.api('get', project.path, user)).status))
    expect(await seen()).toEqual([200, 404, 200])
    await transfer(project, target.id, owner).expect(200)
    expect(await seen()).toEqual([404, 200, 200])
  })

  it("labels and milestones of the old group stay with the issues that have them, as the project's own (GR-43)", async () => {
    const { owner, group, project } = await inGroup()
    const target = await aGroup(t.ctx, { creator: owner })
    const send = (method: 'post' | 'put', path: string, body: object, status: number) => t.api(method, path, owner).send(body).expect(status)
    for (const name of ['used', 'shared', 'idle'])
      await send('post', `${group.path}/labels`, { name, color: '#112233', description: `the ${name} one` }, 201)
    await send('post', `${project.path}/labels`, { name: 'own', color: '#445566' }, 201)
    const there = (await send('post', `${target.path}/labels`, { name: 'shared', color: '#778899' }, 201)).body
    const milestone = async (place: { path: string }, title: string) =>
      (await send('post', `${place.path}/milestones`, { title, due_date: '2030-01-02' }, 201)).body.id as number
    const [gone, twin] = [await milestone(group, 'gone'), await milestone(group, 'twin')]
    const same = await milestone(target, 'twin')
    const issue = async (given: object) => (await send('post', `${project.path}/issues`, { title: 'it', ...given }, 201)).body.iid as number
    const first = await issue({ labels: 'used,own,shared', milestone_id: gone })
    const second = await issue({ labels: 'used', milestone_id: twin })
    await send('post', `${project.path}/releases`, { tag_name: 'v1', ref: 'main', name: 'one', description: 'x', milestones: ['gone', 'twin'] }, 201)
    await transfer(project, target.id, owner).expect(200)
    const released = (await t.api('get', `${project.path}/releases/v1`, owner).expect(200)).body.milestones as { id: number; title: string }[]
    expect(released.map(({ title }) => title).sort()).toEqual(['gone', 'twin'])
    expect(released.find(({ title }) => title === 'twin')?.id).toBe(same)

    const shown = async (iid: number) => (await t.api('get', `${project.path}/issues/${iid}`, owner).expect(200)).body
    expect(await shown(first)).toMatchObject({
      labels: ['own', 'shared', 'used'],
      milestone: { title: 'gone', due_date: '2030-01-02', project_id: project.id, iid: 1 },
    })
    expect(await shown(second)).toMatchObject({ labels: ['used'], milestone: { id: same, title: 'twin' } })
    const labels = (await t.api('get', `${project.path}/labels`, owner).expect(200)).body as { name: string; id: number; is_project_label: boolean }[]
    expect(labels.map(({ name, is_project_label }) => [name, is_project_label]).sort()).toEqual([
      ['own', true],
      ['shared', false],
      ['used', true],
    ])
    expect(labels.find(({ name }) => name === 'shared')?.id).toBe(there.id)
    expect(labels.find(({ name }) => name === 'used')).toMatchObject({ color: '#112233', description: 'the used one', open_issues_count: 2 })
    const used = await t.api('get', `${project.path}/issues?labels=used`, owner).expect(200)
    expect(used.body).toHaveLength(2)
    expect((await t.api('get', `${project.path}/issues?labels=idle`, owner).expect(200)).body).toEqual([])
  })

  it('is no more visible than its new group, and its forks no more than it (GR-43, SEC-40, AC-5)', async () => {
    const { owner, project } = await inGroup({ visibility: 'public' })
    const user = await aUser(t.ctx)
    const fork = (await t.api('post', `${project.path}/fork`, user).expect(201)).body
    const target = await aGroup(t.ctx, { creator: owner, visibility: 'internal' })
    expect((await transfer(project, target.id, owner).expect(200)).body).toMatchObject({ visibility: 'internal', forks_count: 1 })
    await t.api('get', project.path).expect(404)
    const after = (await t.api('get', `/projects/${fork.id}`, user).expect(200)).body
    expect(after).toMatchObject({ visibility: 'internal', forked_from_project: { id: project.id } })
    const open = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    expect((await transfer(project, open.id, owner).expect(200)).body.visibility).toBe('internal')
  })

  it('400 where the name or the path is taken, and for where it is already; nothing changes (PR-13)', async () => {
    const { owner, group, project } = await inGroup({ name: 'Same', path: 'same' })
    const [byPath, byName, byGroup] = await Promise.all([1, 2, 3].map(() => aGroup(t.ctx, { creator: owner })))
    await aProject(t.ctx, { creator: owner, namespace_id: byPath?.id, name: 'Other', path: 'SAME' })
    await aProject(t.ctx, { creator: owner, namespace_id: byName?.id, name: 'same', path: 'other' })
    await aGroup(t.ctx, { creator: owner, parent_id: byGroup?.id, path: 'same' })
    for (const [target, what] of [
      [byPath, 'path'],
      [byName, 'name'],
      [byGroup, 'path'],
    ] as const)
      await transfer(project, target?.id, owner).expect(400, { message: `Project with same ${what} in target namespace already exists` })
    await transfer(project, group.id, owner).expect(400, { message: 'Project is already in this namespace' })
    expect((await t.api('get', project.path, owner).expect(200)).body.path_with_namespace).toBe(project.fullPath)
  })

  it('two at once into one place: one moves', async () => {
    const owner = await aUser(t.ctx)
    const target = await aGroup(t.ctx, { creator: owner })
    const rivals: TestProject[] = []
    for (let i = 0; i < 4; i++) {
      const group = await aGroup(t.ctx, { creator: owner })
      rivals.push(await aProject(t.ctx, { creator: owner, namespace_id: group.id, name: 'rival', path: 'rival' }))
    }
    const answers = await Promise.all(rivals.map((project) => transfer(project, target.id, owner)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
  })

  it('eight at once into two groups: each moves it or hears why not (PR-13, GR-42)', async () => {
    const owner = await aUser(t.ctx)
    const admin = await anAdmin(t.ctx)
    const targets = [await aGroup(t.ctx, { creator: owner }), await aGroup(t.ctx, { creator: owner })]
    for (const byAdmin of [false, true]) {
      const project = await aProject(t.ctx, { creator: owner })
      const move = (group: { id: number; path: string }) =>
        byAdmin ? t.api('post', `${group.path}/projects/${project.id}`, admin) : transfer(project, group.id, owner)
      const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => move(targets[i % 2] as (typeof targets)[0])))
      // what comes after the first transfer may move it once more
      const statuses = new Set(answers.map(({ status }) => status))
      expect(statuses).toEqual(new Set([byAdmin ? 201 : 200, 400]))
      for (const { status, text } of answers)
        if (status === 400) expect(text).toMatch(/already in this namespace|contact an admin|transferred to another namespace meanwhile/)
    }
  })

  it('the owner of the personal namespace gets a membership, within their limit (AC-8, AC-13, PR-14)', async () => {
    const { owner, project } = await inGroup()
    const user = await aUser(t.ctx, { projects_limit: 1 })
    const admin = await anAdmin(t.ctx)
    expect((await transfer(project, user.username, admin).expect(200)).body.owner).toMatchObject({ id: user.id })
    expect((await t.api('get', project.path, user).expect(200)).body.permissions.project_access).toMatchObject({ access_level: 40 })
    await t.api('get', project.path, owner).expect(404)
    const group = await aGroup(t.ctx, { creator: user })
    const second = await aProject(t.ctx, { creator: user, namespace_id: group.id })
    const { body } = await transfer(second, user.username, user).expect(403)
    expect(body).toEqual({ error: [expect.stringContaining('limit is 1')] })
    const external = await aUser(t.ctx, { external: true })
    await t.api('post', `${group.path}/members`, user).send({ user_id: external.id, access_level: 50 }).expect(201)
    const other = await aGroup(t.ctx, { maintainer: external })
    await transfer(second, other.id, external).expect(403)
  })

  it('a share with its new group, or one above, ends (PR-23)', async () => {
    const { owner, project } = await inGroup()
    const top = await aGroup(t.ctx, { creator: owner })
    const target = await aGroup(t.ctx, { creator: owner, parent_id: top.id })
    const beside = await aGroup(t.ctx, { creator: owner })
    for (const { id } of [top, target, beside])
      await t.api('post', `${project.path}/share`, owner).send({ group_id: id, group_access: 30 }).expect(201)
    await transfer(project, target.id, owner).expect(200)
    const left = await t.ctx.db.write.select().from(projectShares).where(eq(projectShares.project_id, project.id))
    expect(left.map(({ group_id }) => group_id)).toEqual([beside.id])
  })

  it('is written down (SEC-168)', async () => {
    const { owner, group, project } = await inGroup({ visibility: 'public' })
    const target = await aGroup(t.ctx, { creator: owner })
    await transfer(project, target.id, owner).expect(200)
    const rows = await t.ctx.db.write
      .select()
      .from(auditEvents)
      .where(and(eq(auditEvents.target_type, 'project'), eq(auditEvents.target_id, project.id)))
      .orderBy(auditEvents.id)
    expect(rows.map(({ action, actor_id, changes }) => ({ action, actor_id, changes }))).toMatchObject([
      { action: 'project_created' },
      {
        action: 'project_transferred',
        actor_id: owner.id,
        changes: { namespace: [group.fullPath, target.fullPath], visibility: ['public', 'private'] },
      },
    ])
  })
})
