import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { sshKeys, users } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { commitIn } from '../../support/clients/git-client.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { type KeyPair, sshClient } from '../../support/ssh/ssh.js'

const t = testApp({ SSH_PORT: '0' })
const client = sshClient(t)

let owner: TestUser
let admin: TestUser
beforeAll(async () => {
  owner = await aUser(t.ctx)
  admin = await anAdmin(t.ctx)
})

const files = { 'a.txt': 'one' }
const aPlace = (creator = owner) => aProject(t.ctx, { creator, visibility: 'private', files })
const added = async (project: TestProject, pair: KeyPair, body: object = {}, as = project.creator) =>
  (
    await t
      .api('post', `${project.path}/deploy_keys`, as)
      .send({ title: 'deploys', key: pair.line, ...body })
      .expect(201)
  ).body

let count = 0
const clone = (pair: KeyPair, project: TestProject) => {
  const path = join(client.folder, `d${++count}`)
  return client.git(client.folder, pair, 'clone', '-q', client.url(project.fullPath), path).then((ended) => ({ ...ended, path }))
}

describe('deploy keys (DK-1 to DK-6)', () => {
  it('are added, listed, changed and removed by maintainers, and the key is deleted with its last project', async () => {
    const [one, two] = [await aPlace(), await aPlace()]
    const pair = client.newKey()
    const key = await added(one, pair)
    expect(key).toMatchObject({ title: 'deploys', key: pair.line, can_push: false, expires_at: null })
    expect(key.fingerprint).toMatch(/^([0-9a-f]{2}:){15}[0-9a-f]{2}$/)
    expect(key.fingerprint_sha256).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/)
    // a second time it is returned as it is (DK-3)
    expect(await added(one, pair, { title: 'other', can_push: true })).toEqual(key)
    expect((await t.api('get', `${one.path}/deploy_keys`, owner).expect(200)).body).toEqual([key])
    // known from another project it is shared
    expect(await added(two, pair, { can_push: true })).toEqual({ ...key, can_push: true })
    const { body: changed } = await t.api('put', `${one.path}/deploy_keys/${key.id}`, owner).send({ title: 'new', can_push: true }).expect(200)
    expect(changed).toEqual({ ...key, title: 'new', can_push: true })
    await t.api('put', `${one.path}/deploy_keys/${key.id}`, owner).send({}).expect(400)
    expect((await t.api('get', `${two.path}/deploy_keys/${key.id}`, owner).expect(200)).body.title).toBe('new')
    await t.api('delete', `${one.path}/deploy_keys/${key.id}`, owner).expect(204)
    expect((await t.api('get', `${one.path}/deploy_keys/${key.id}`, owner).expect(404)).body.message).toBe('404 Deploy Key Not Found')
    await t.api('get', `/keys/${key.id}`, admin).expect(200)
    await t.api('delete', `${two.path}/deploy_keys/${key.id}`, owner).expect(204)
    await t.api('get', `/keys/${key.id}`, admin).expect(404)
    await t.api('delete', `${two.path}/deploy_keys/${key.id}`, owner).expect(404)
  })

  it('go with a project that is deleted', async () => {
    const project = await aPlace()
    const key = await added(project, client.newKey())
    await t.api('delete', `${project.path}?permanently_remove=true`, owner).expect(202)
    await expect.poll(async () => (await t.api('get', `/keys/${key.id}`, admin)).status, { timeout: 20_000 }).toBe(404)
  })

  it('refuses invalid keys, and keys of users', async () => {
    const project = await aPlace()
    const add = (body: object) => t.api('post', `${project.path}/deploy_keys`, owner).send(body)
    expect((await add({ key: client.newKey().line }).expect(400)).body).toEqual({ error: 'title is missing' })
    expect((await add({ title: 'x' }).expect(400)).body).toEqual({ error: 'key is missing' })
    expect((await add({ title: 'x', key: 'ssh-ed25519 nothing' }).expect(400)).body.message).toHaveProperty('fingerprint')
    const mine = await client.stored(owner, client.newKey())
    const taken = ['has already been taken']
    expect((await add({ title: 'x', key: mine.line }).expect(400)).body.message).toEqual({ fingerprint: taken, key: taken })
    // nor may a user have one that deploys
    const pair = client.newKey()
    await added(project, pair)
    expect((await t.api('post', '/user/keys', owner).send({ title: 'x', key: pair.line }).expect(400)).body.message).toEqual({
      fingerprint: taken,
      key: taken,
    })
  })

  it('are enabled by callers who manage another of their projects, and by no others (DK-5)', async () => {
    const project = await aPlace()
    const key = await added(project, client.newKey())
    const stranger = await aUser(t.ctx)
    const theirs = await aPlace(stranger)
    expect((await t.api('post', `${theirs.path}/deploy_keys/${key.id}/enable`, stranger).expect(404)).body.message).toBe('404 Deploy Key Not Found')
    await t.api('post', `${theirs.path}/deploy_keys`, stranger).send({ title: 'x', key: key.key }).expect(400)
    const mine = await client.stored(owner, client.newKey())
    const second = await aPlace()
    await t.api('post', `${second.path}/deploy_keys/${mine.id}/enable`, owner).expect(404)
    expect((await t.api('post', `${second.path}/deploy_keys/${key.id}/enable`, owner).expect(201)).body).toEqual({ ...key, can_push: false })
    await t.api('post', `${theirs.path}/deploy_keys/${key.id}/enable`, admin).expect(201)
  })

  it('administrators see all of them (DK-1), and any key with its user (OT-6)', async () => {
    const project = await aPlace()
    const key = await added(project, client.newKey(), { can_push: true })
    const { body: all } = await t.api('get', '/deploy_keys?per_page=100', admin).expect(200)
    expect(all.find(({ id }: { id: number }) => id === key.id)).toMatchObject({ title: 'deploys', fingerprint: key.fingerprint })
    expect((await t.api('get', '/deploy_keys?public=true', admin).expect(200)).body).toEqual([])
    await t.api('get', '/deploy_keys', owner).expect(403)
    const { body: found } = await t.api('get', `/keys/${key.id}`, admin).expect(200)
    expect(found).toMatchObject({ id: key.id, last_used_at: null, user: { username: owner.username } })
    expect(found.deploy_keys_projects).toEqual([{ id: expect.any(Number), project_id: project.id, can_push: true }])
    for (const fingerprint of [key.fingerprint, `MD5:${key.fingerprint}`, key.fingerprint_sha256])
      expect((await t.api('get', `/keys?fingerprint=${encodeURIComponent(fingerprint)}`, admin).expect(200)).body).toEqual(found)
    const mine = await client.stored(owner, client.newKey(), { expires_at: '2099-01-01' })
    const { body: own } = await t.api('get', `/keys/${mine.id}`, admin).expect(200)
    expect(own).toMatchObject({ user: { username: owner.username }, expires_at: '2099-01-01T00:00:00.000Z' })
    expect(own).not.toHaveProperty('deploy_keys_projects')
    await t.api('get', `/keys/${mine.id}`, owner).expect(403)
    await t.api('get', '/keys?fingerprint=nothing', admin).expect(404)
  })
})

describe('a deploy key (DK-7)', () => {
  it('reads what it is attached to, and nothing else of its creator', async () => {
    const [project, other, open] = [await aPlace(), await aPlace(), await aProject(t.ctx, { creator: owner, visibility: 'public', files })]
    const pair = client.newKey()
    const key = await added(project, pair)
    const { code, path } = await clone(pair, project)
    expect(code).toBe(0)
    for (const place of [other, open])
      expect(await clone(pair, place)).toMatchObject({ code: 128, err: expect.stringContaining('could not be found') })
    await commitIn(path, 'b.txt')
    const push = await client.git(path, pair, 'push', '-q', 'origin', 'HEAD:refs/heads/topic')
    expect(push.err).toContain('You are not allowed to push code to this project.')
    expect((await client.ssh(pair)).out).toBe(`Welcome to Roost, deploy key ${key.id}!\n`)
  })

  it('with can_push writes like a maintainer, protected branches included, in the name of its creator', async () => {
    const project = await aPlace(admin)
    const pair = client.newKey()
    await added(project, pair, { can_push: true })
    const { path } = await clone(pair, project)
    await commitIn(path, 'b.txt')
    expect(await client.git(path, pair, 'push', '-q', 'origin', 'HEAD:refs/heads/main', 'HEAD:refs/heads/topic')).toMatchObject({ code: 0 })
    await t.ctx.jobs.drain()
    const { body: events } = await t.api('get', `${project.path}/events?action=pushed`, admin).expect(200)
    expect(events[0]).toMatchObject({ author_username: admin.username })
    // its creator is an administrator, and it is not: no one may push here
    await t.api('post', `${project.path}/protected_branches`, admin).send({ name: 'closed', push_access_level: 0 }).expect(201)
    expect((await client.git(path, pair, 'push', 'origin', 'HEAD:refs/heads/closed')).err).toContain('You are not allowed to push into this branch')
    // and creates no projects
    expect((await client.git(path, pair, 'push', client.url(`${admin.username}/by-push`), 'HEAD:refs/heads/main')).code).not.toBe(0)
  })

  it('opens only what it is still attached to, and writes only while its creator is active', async () => {
    const creator = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, maintainer: [creator], visibility: 'private', files })
    const pair = client.newKey()
    const key = await added(project, pair, { can_push: true }, creator)
    const { path } = await clone(pair, project)
    await commitIn(path, 'b.txt')
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, creator.id))
    expect((await client.git(path, pair, 'fetch', '-q')).code).toBe(0)
    expect((await client.git(path, pair, 'push', 'origin', 'HEAD:refs/heads/topic')).err).toContain('You are not allowed to push code')
    await t.api('delete', `${project.path}/deploy_keys/${key.id}`, owner).expect(204)
    expect(await client.ssh(pair)).toMatchObject({ ready: false })
  })

  it('expires', async () => {
    const project = await aPlace()
    const pair = client.newKey()
    const key = await added(project, pair, { expires_at: '2099-01-01' })
    expect(key.expires_at).toBe('2099-01-01T00:00:00.000Z')
    expect((await clone(pair, project)).code).toBe(0)
    await t.ctx.db.write
      .update(sshKeys)
      .set({ expires_at: new Date(Date.now() - 1_000) })
      .where(eq(sshKeys.id, key.id))
    expect(await client.ssh(pair)).toMatchObject({ ready: false })
  })
})

describe('public deploy keys (PT-10)', () => {
  it('are added by administrators, open nothing by themselves, and are enabled by maintainers', async () => {
    const project = await aPlace()
    const pair = client.newKey()
    const body = { title: 'public', key: pair.line }
    await t.api('post', '/deploy_keys', owner).send(body).expect(403)
    const { body: key } = await t.api('post', '/deploy_keys', admin).send(body).expect(201)
    expect(key).toMatchObject({ title: 'public', expires_at: null })
    expect((await t.api('post', '/deploy_keys', admin).send(body).expect(400)).body.message).toHaveProperty('fingerprint')
    expect((await t.api('get', '/deploy_keys?public=true&per_page=100', admin).expect(200)).body).toContainEqual(key)
    expect((await clone(pair, project)).code).not.toBe(0)
    await t.api('post', `${project.path}/deploy_keys/${key.id}/enable`, owner).expect(201)
    expect((await clone(pair, project)).code).toBe(0)
    // its title is that of all projects
    await t.api('put', `${project.path}/deploy_keys/${key.id}`, owner).send({ title: 'mine', can_push: true }).expect(403)
    await t.api('put', `${project.path}/deploy_keys/${key.id}`, owner).send({ can_push: true }).expect(200)
    // it stays without projects
    await t.api('delete', `${project.path}/deploy_keys/${key.id}`, owner).expect(204)
    expect((await clone(pair, project)).code).not.toBe(0)
    const again = await t.api('post', `${project.path}/deploy_keys`, owner).send(body).expect(201)
    expect(again.body.id).toBe(key.id)
  })

  it('have a page of the administration, and are offered on the page of a project', async () => {
    const project = await aPlace()
    const browser = new TestBrowser(t.url)
    await browser.signIn(admin)
    await browser.open('/admin/deploy_keys')
    expect((await browser.submit('Add key', { 'deploy_key[title]': 'shared', 'deploy_key[key]': 'no key' })).$('#deploy_key_key_fault').length).toBe(
      1,
    )
    const pair = client.newKey()
    await browser.submit('Add key', { 'deploy_key[title]': 'shared', 'deploy_key[key]': pair.line })
    const maintainer = new TestBrowser(t.url)
    await maintainer.signIn(owner)
    await maintainer.open(`/${project.fullPath}/-/deploy_keys`)
    expect((await maintainer.submit('Enable')).text).toContain('The key “shared” is enabled.')
    expect((await clone(pair, project)).code).toBe(0)
    await browser.open('/admin/deploy_keys')
    // those of this and of other tests
    while (browser.page?.$('main .rows form').length) await browser.submit('Remove')
    expect((await clone(pair, project)).code).not.toBe(0)
    const { rows } = await t.ctx.db.write.execute<{ action: string }>(
      sql`select action from audit_events where target_type = 'key' and changes->>'title' = 'shared' order by id`,
    )
    expect(rows.map(({ action }) => action)).toEqual(['deploy_key_added', 'deploy_key_removed'])
  })
})
