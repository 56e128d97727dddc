import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { deployTokens } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { gitClient, gitRun } from '../../support/clients/git-client.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../../support/factories.js'

const t = testApp()
const client = gitClient(t)

let owner: TestUser
beforeAll(async () => {
  owner = await aUser(t.ctx)
})

const reads = { name: 'deploys', scopes: ['read_repository'] }
const fetches = async (fullPath: string, token: { token: string; username: string }) =>
  (await gitRun(client.folder(), 'ls-remote', '-q', client.url(fullPath, token, token.username))).code === 0

describe('deploy tokens (DK-8)', () => {
  it('are made, shown once, listed and revoked', async () => {
    const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files: { a: 'a' } })
    const path = `${project.path}/deploy_tokens`
    const { body: made } = await t.api('post', path, owner).send(reads).expect(201)
    expect(made).toMatchObject({ ...reads, username: `deploy-token-${made.id}`, expires_at: null, revoked: false, expired: false })
    expect(made.token).toMatch(/^[\w-]{20}$/)
    const { token, ...shown } = made
    expect((await t.api('get', path, owner).expect(200)).body).toEqual([shown])
    expect((await t.api('get', `${path}/${made.id}`, owner).expect(200)).body).toEqual(shown)
    const admin = await anAdmin(t.ctx)
    expect((await t.api('get', '/deploy_tokens', admin).expect(200)).body).toContainEqual(shown)
    await t.api('get', '/deploy_tokens', owner).expect(403)
    expect(await fetches(project.fullPath, made)).toBe(true)
    await t.api('delete', `${path}/${made.id}`, owner).expect(204)
    expect(await fetches(project.fullPath, { token, username: made.username })).toBe(false)
    await t.api('get', `${path}/${made.id}`, owner).expect(404)
  })

  it('need a name and scopes that there are (PT-11)', async () => {
    const project = await aProject(t.ctx, { creator: owner })
    const add = (body: object) => t.api('post', `${project.path}/deploy_tokens`, owner).send(body).expect(400)
    expect((await add({ name: ' ', scopes: ['read_repository'] })).body.message).toEqual({ name: ["can't be blank"] })
    expect((await add({ name: 'x', scopes: ['api'] })).body.message).toEqual({ scopes: ['can only contain available scopes'] })
    expect((await add({ ...reads, username: 'a b' })).body.message).toHaveProperty('username')
    expect((await add({ scopes: ['read_repository'] })).body).toEqual({ error: 'name is missing' })
  })

  it('of a project opens that project for reading, under its own name, until it expires, and never the API', async () => {
    const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files: { a: 'a' } })
    const other = await aProject(t.ctx, { creator: owner, visibility: 'private', files: { a: 'a' } })
    const { body: made } = await t
      .api('post', `${project.path}/deploy_tokens`, owner)
      .send({ ...reads, username: 'robot', expires_at: '2099-01-01' })
      .expect(201)
    expect(await fetches(project.fullPath, made)).toBe(true)
    expect(await fetches(project.fullPath, { ...made, username: 'other' })).toBe(false)
    expect(await fetches(other.fullPath, made)).toBe(false)
    const work = await client.cloned(client.url(project.fullPath, made, 'robot'))
    const push = await gitRun(work, 'push', 'origin', 'HEAD:refs/heads/topic')
    expect(push.code).not.toBe(0)
    expect(push.err).toContain('403')
    await t.api('get', project.path, made).expect(401)
    await t.ctx.db.write
      .update(deployTokens)
      .set({ expires_at: new Date(Date.now() - 1_000) })
      .where(eq(deployTokens.id, made.id))
    expect(await fetches(project.fullPath, made)).toBe(false)
    expect((await t.api('get', `${project.path}/deploy_tokens/${made.id}`, owner)).body.expired).toBe(true)
  })

  it('may be for packages or a container registry, and then do not open Git (PT-11)', async () => {
    const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files: { a: 'a' } })
    const scopes = ['read_registry', 'write_registry', 'read_package_registry', 'write_package_registry']
    const { body: made } = await t.api('post', `${project.path}/deploy_tokens`, owner).send({ name: 'x', scopes }).expect(201)
    expect(made.scopes).toEqual(scopes)
    const { err } = await gitRun(client.folder(), 'ls-remote', '-q', client.url(project.fullPath, made, made.username))
    expect(err).toContain('403')
    const { body: both } = await t
      .api('post', `${project.path}/deploy_tokens`, owner)
      .send({ name: 'x', scopes: ['read_repository', ...scopes] })
      .expect(201)
    expect(await fetches(project.fullPath, both)).toBe(true)
  })

  it('of a group opens its projects and those below it, and no neighbour', async () => {
    const group = await aGroup(t.ctx, { owner: [owner] })
    const { body: sub } = await t.api('post', '/groups', owner).send({ name: 'sub', path: 'sub', parent_id: group.id }).expect(201)
    const inside = async (namespace_id: number) =>
      (
        await t
          .api('post', '/projects', owner)
          .send({ name: `p${namespace_id}`, namespace_id, visibility: 'private' })
          .expect(201)
      ).body
    const [direct, below] = [await inside(group.id), await inside(sub.id)]
    const outside = await aProject(t.ctx, { creator: owner, visibility: 'private' })
    const { body: made } = await t.api('post', `/groups/${group.id}/deploy_tokens`, owner).send(reads).expect(201)
    expect(await fetches(direct.path_with_namespace, made)).toBe(true)
    expect(await fetches(below.path_with_namespace, made)).toBe(true)
    expect(await fetches(outside.fullPath, made)).toBe(false)
    expect((await t.api('get', `/groups/${group.id}/deploy_tokens`, owner).expect(200)).body.length).toBe(1)
    await t.api('delete', `/groups/${group.id}/deploy_tokens/${made.id}`, owner).expect(204)
    expect(await fetches(direct.path_with_namespace, made)).toBe(false)
  })
})
