import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { commitStatuses, members, namespaces, notes, projects, sshKeys, tokens, users } from '../../../src/db/schema/index.js'
import { repositoryDirectory } from '../../../src/git/storage/create.js'
import { enqueue } from '../../../src/jobs/enqueue.js'
import { resumeRemoval } from '../../../src/services/operations/user-removal.js'
import { testApp } from '../../support/app.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let owner: TestUser
/** A project of somebody else, in which the deleted leave things. */
let project: TestProject
let sha: string

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  owner = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: owner, visibility: 'public' })
  sha = await aCommit(t.ctx, project, { 'a.txt': 'a\n' })
})

const remove = (user: { id: number }, query = '', caller: TestUser | null = admin) => t.api('delete', `/users/${user.id}${query}`, caller)
const isThere = async (user: { id: number }) => (await t.ctx.db.read.$count(users, eq(users.id, user.id))) === 1
const comments = async () =>
  (await t.api('get', `${project.path}/repository/commits/${sha}/comments?per_page=100`, owner).expect(200)).body as Comment[]
interface Comment {
  note: string
  author: { username: string; name: string }
}

describe('DELETE /users/:id (U-33 to U-36)', () => {
  it('of eight at once removes the user for one, and is 404 for the others (U-33)', async () => {
    const user = await aUser(t.ctx)
    const answers = await Promise.all(Array.from({ length: 8 }, () => t.api('delete', `/users/${user.id}`, admin)))
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array(7).fill(404)])
  })

  it('refuses callers without the right: 401, 403, 404', async () => {
    const user = await aUser(t.ctx)
    await remove(user, '', null).expect(401, { message: '401 Unauthorized' })
    await remove(user, '', user).expect(403, { message: '403 Forbidden' })
    await remove({ id: 999_999 }).expect(404, { message: '404 User Not Found' })
    await t.api('delete', '/users/abc', admin).expect(404, { error: '404 Not Found' })
    await remove(user, '?hard_delete=perhaps').expect(400, { error: 'hard_delete is invalid' })
    expect(await isThere(user)).toBe(true)
  })

  it("removes what is the user's own: personal projects, memberships, keys, addresses, tokens, avatar (U-34)", async () => {
    const user = await aUser(t.ctx)
    const own = await aProject(t.ctx, { creator: user, files: { a: 'a' } })
    const group = await aGroup(t.ctx, { developer: user })
    await t.api('post', '/user/emails', user).send({ email: 'gone@example.com' }).expect(201)
    const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')
    await t.api('put', `/users/${user.id}`, admin).attach('avatar', png, 'a.png').expect(200)
    await t.api('post', `${project.path}/star`, user).expect(201)
    const answer = await remove(user).expect(204)
    expect(answer.text).toBe('')
    expect(answer.headers).not.toHaveProperty('content-type')
    await t.api('get', `/users/${user.id}`, admin).expect(404)
    await t.api('get', '/user', user).expect(401, { message: '401 Unauthorized' })
    await t.api('get', `/projects/${own.id}`, admin).expect(404)
    for (const [table, column] of [
      [members, members.user_id],
      [tokens, tokens.user_id],
      [sshKeys, sshKeys.user_id],
      [namespaces, namespaces.owner_id],
    ] as const)
      expect(await t.ctx.db.read.$count(table, eq(column, user.id))).toBe(0)
    expect((await t.api('get', `${group.path}/members`, group.creator).expect(200)).body).toHaveLength(1)
    await t.ctx.jobs.drain()
    const root = t.ctx.config.storages['default'] as string
    expect(existsSync(repositoryDirectory(root, { storage: 'default', id: own.id, kind: 'project' }))).toBe(false)
    expect(existsSync(join(t.dataDir, 'uploads/user', String(user.id)))).toBe(false)
    // SEC-134: the name and address are free, and nothing of the user is left there
    const heir = await aUser(t.ctx, { username: user.username, email: user.email })
    expect((await t.api('get', `/users/${heir.id}/projects`, heir).expect(200)).body).toEqual([])
    expect((await t.api('get', '/user/emails', heir).expect(200)).body).toEqual([])
  })

  it('what the user made for others belongs to the ghost user (G-70, U-34, SEC-127)', async () => {
    const user = await aUser(t.ctx)
    await t.ctx.db.write.insert(members).values({ project_id: project.id, user_id: user.id, access_level: 30 })
    await t.api('post', `${project.path}/repository/commits/${sha}/comments`, user).send({ note: 'of the deleted' }).expect(201)
    await t.api('post', `${project.path}/statuses/${sha}`, user).send({ state: 'pending', name: 'build' }).expect(201)
    const group = await aGroup(t.ctx, { maintainer: user })
    const made = await aProject(t.ctx, { creator: user, namespace_id: group.id })
    await remove(user).expect(204)
    const [ghost] = await t.ctx.db.read.select().from(users).where(eq(users.kind, 'ghost'))
    expect(ghost).toMatchObject({ username: 'ghost', name: 'Ghost User' })
    expect((await comments()).find(({ note }) => note === 'of the deleted')?.author).toMatchObject({ username: 'ghost', name: 'Ghost User' })
    const { body: statuses } = await t.api('get', `${project.path}/repository/commits/${sha}/statuses`, owner).expect(200)
    expect(statuses).toMatchObject([{ name: 'build', status: 'pending', author: { username: 'ghost' } }])
    expect((await t.api('get', made.path, group.creator).expect(200)).body).toMatchObject({ creator_id: ghost?.id })
    const { body: events } = await t.api('get', `${project.path}/events?action=commented`, owner).expect(200)
    expect(events).toMatchObject([{ author_username: 'ghost' }])
  })

  it('several who left the same open status behind', async () => {
    const people = await Promise.all([aUser(t.ctx), aUser(t.ctx), aUser(t.ctx)])
    for (const user of people) {
      await t.ctx.db.write.insert(members).values({ project_id: project.id, user_id: user.id, access_level: 30 })
      await t.api('post', `${project.path}/statuses/${sha}`, user).send({ state: 'running', name: 'same' }).expect(201)
    }
    for (const user of people) await remove(user).expect(204)
    expect(await t.ctx.db.read.$count(commitStatuses, sql`${commitStatuses.name} = 'same' and ${commitStatuses.orphaned}`)).toBe(3)
    await t.api('post', `${project.path}/statuses/${sha}`, owner).send({ state: 'success', name: 'same' }).expect(201)
  })

  it('the ghost stays (SEC-125)', async () => {
    const [ghost] = await t.ctx.db.read.select().from(users).where(eq(users.kind, 'ghost'))
    await remove({ id: ghost?.id as number }).expect(403, { message: '403 Forbidden' })
    await t.api('get', `/users/${ghost?.id}`, owner).expect(200)
    expect((await t.api('get', '/users?username=ghost&active=true', admin).expect(200)).body).toEqual([])
    await t
      .api('post', `/users/${ghost?.id}/impersonation_tokens`, admin)
      .send({ name: 'x', scopes: ['api'] })
      .expect(404)
    await t
      .api('post', `/users/${ghost?.id}/personal_access_tokens`, admin)
      .send({ name: 'x', scopes: ['api'] })
      .expect(404)
  })

  it('with hard_delete what the user wrote is deleted, what a pipeline needs stays (U-36)', async () => {
    const user = await aUser(t.ctx)
    await t.ctx.db.write.insert(members).values({ project_id: project.id, user_id: user.id, access_level: 30 })
    await t.api('post', `${project.path}/repository/commits/${sha}/comments`, user).send({ note: 'gone for good' }).expect(201)
    await t.api('post', `${project.path}/statuses/${sha}`, user).send({ state: 'success', name: 'kept' }).expect(201)
    await remove(user, '?hard_delete=true').expect(204)
    expect((await comments()).map(({ note }) => note)).not.toContain('gone for good')
    const { body } = await t.api('get', `${project.path}/repository/commits/${sha}/statuses?name=kept`, owner).expect(200)
    expect(body).toMatchObject([{ author: { username: 'ghost' } }])
  })

  it('the only owner of a group stays (U-35, SEC-124)', async () => {
    const user = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: user })
    await remove(user).expect(409, { message: 'User cannot be removed while is the sole-owner of a group' })
    expect(await isThere(user)).toBe(true)
    await t.api('get', '/user', user).expect(200)
    // a second owner, even an inherited right of an administrator does not count as one
    const second = await aUser(t.ctx)
    await t.api('post', `${group.path}/members`, user).send({ user_id: second.id, access_level: 50 }).expect(201)
    await remove(user).expect(204)
    await remove(second).expect(409)
  })

  it('with hard_delete groups without another owner are deleted with their projects, others stay (U-36)', async () => {
    const user = await aUser(t.ctx)
    const alone = await aGroup(t.ctx, { creator: user, developer: owner })
    const shared = await aGroup(t.ctx, { creator: user, owner })
    const inside = await aProject(t.ctx, { creator: user, namespace_id: alone.id, files: { a: 'a' } })
    await remove(user, '?hard_delete=true').expect(204)
    await t.api('get', alone.path, admin).expect(404, { message: '404 Group Not Found' })
    await t.api('get', inside.path, admin).expect(404, { message: '404 Project Not Found' })
    await t.api('get', shared.path, owner).expect(200)
    await t.ctx.jobs.drain()
    const root = t.ctx.config.storages['default'] as string
    expect(existsSync(repositoryDirectory(root, { storage: 'default', id: inside.id, kind: 'project' }))).toBe(false)
  })

  it('of two owners who are deleted at once one stays (SEC-124)', async () => {
    const first = await aUser(t.ctx)
    const second = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: first, owner: second })
    const answers = await Promise.all([remove(first), remove(second)])
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409])
    expect(await t.ctx.db.read.$count(members, eq(members.namespace_id, group.id))).toBe(1)
  })

  it('the last administrator stays (SEC-123)', async () => {
    const others = await t.ctx.db.read.select().from(users).where(sql`${users.admin} and ${users.id} <> ${admin.id}`)
    expect(others).toEqual([])
    await remove(admin).expect(403, { message: '403 Forbidden' })
    const second = await anAdmin(t.ctx)
    // administrators may delete themselves
    await remove(second, '', second).expect(204)
    await t.api('get', '/user', admin).expect(200)
  })

  it('If-Unmodified-Since (G-89, W-32)', async () => {
    const user = await aUser(t.ctx)
    await remove(user).set('If-Unmodified-Since', 'Mon, 01 Jan 2018 00:00:00 GMT').expect(412, { message: '412 Precondition Failed' })
    expect(await isThere(user)).toBe(true)
    await t.api('get', '/user', user).expect(200)
    await remove(user).set('If-Unmodified-Since', 'Thu, 01 Jan 2099 00:00:00 GMT').expect(204)
  })

  it('twice at once: one 204, the other 404', async () => {
    const user = await aUser(t.ctx)
    const statuses = (await Promise.all([remove(user), remove(user), remove(user)])).map(({ status }) => status)
    expect(statuses.every((status) => status === 204 || status === 404)).toBe(true)
    expect(statuses).toContain(204)
    expect(await isThere(user)).toBe(false)
  })

  it('2,000 comments and statuses and two projects, while others read: lists stay whole, no 5xx', async () => {
    const user = await aUser(t.ctx)
    await aProject(t.ctx, { creator: user, files: { a: 'a' } })
    await aProject(t.ctx, { creator: user, files: { a: 'a' } })
    const now = t.ctx.now()
    const note = {
      project_id: project.id,
      noteable_type: 'Commit' as const,
      commit_id: sha,
      author_id: user.id,
      note: 'one of many',
      created_at: now,
    }
    for (let i = 0; i < 2; i++) await t.ctx.db.write.insert(notes).values(Array.from({ length: 1_000 }, () => note))
    const [{ pipeline_id }] = (await t.ctx.db.read.select().from(commitStatuses).limit(1)) as [typeof commitStatuses.$inferSelect]
    const status = { project_id: project.id, pipeline_id, user_id: user.id, name: 'many', status: 'success' as const, latest: false }
    await t.ctx.db.write.insert(commitStatuses).values(Array.from({ length: 2_000 }, () => ({ ...status, created_at: now, updated_at: now })))
    const before = await t.ctx.db.read.$count(notes, eq(notes.project_id, project.id))
    let reading = true
    const seen: string[] = []
    const read = async () => {
      while (reading) {
        const { status: code, headers } = await t.api('get', `${project.path}/repository/commits/${sha}/comments`, owner)
        seen.push(`${code} ${headers['x-total']}`)
      }
    }
    const readers = [read(), read()]
    await remove(user).expect(204)
    reading = false
    await Promise.all(readers)
    expect(new Set(seen)).toEqual(new Set([`200 ${before}`]))
    const { body } = await t.api('get', `${project.path}/repository/commits/${sha}/comments?per_page=100&page=15`, owner).expect(200)
    for (const { author } of body as Comment[]) expect(author.username).toBe('ghost')
    expect(await t.ctx.db.read.$count(commitStatuses, eq(commitStatuses.user_id, user.id))).toBe(0)
  })

  it('a removal that was killed half way is finished by its job (SEC-158)', async () => {
    const user = await aUser(t.ctx)
    await aProject(t.ctx, { creator: user, files: { a: 'a' } })
    await t.api('post', `${project.path}/repository/commits/${sha}/comments`, user).send({ note: 'half way' }).expect(201)
    await t.ctx.db.write.update(users).set({ removal: 'soft', state: 'blocked' }).where(eq(users.id, user.id))
    await t.api('get', '/user', user).expect(403)
    await enqueue(t.ctx.db, resumeRemoval, { user: user.id })
    await t.ctx.jobs.drain()
    expect(await isThere(user)).toBe(false)
    expect((await comments()).length).toBeGreaterThan(0)
    expect(
      await t.ctx.db.read.$count(notes, sql`${notes.note} = 'half way' and ${notes.author_id} = (select id from users where kind = 'ghost')`),
    ).toBe(1)
    expect(await t.ctx.db.read.$count(projects, eq(projects.creator_id, user.id))).toBe(0)
  })
})
