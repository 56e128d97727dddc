import { eq, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { tokens, users } from '../../../src/db/schema/index.js'
import { removeBots } from '../../../src/services/operations/user-removal.js'
import { testApp } from '../../support/app.js'
import { ciOf } from '../../support/ci.js'
import { commitIn, gitClient, gitRun } from '../../support/clients/git-client.js'
import { anObject, lfsClient } from '../../support/clients/lfs-client.js'
import { aGroup, anAdmin, aProject, aUser, type Credentialed, type TestUser } from '../../support/factories.js'

const t = testApp()
const client = gitClient(t)
const lfs = lfsClient(t)
const ci = ciOf(t)

let owner: TestUser
beforeAll(async () => {
  owner = await aUser(t.ctx)
})

interface Made extends Credentialed {
  id: number
  user_id: number
}

const wanted = { name: 'deploys', scopes: ['api', 'read_repository', 'write_repository'] }
const ask = (path: string, caller: Credentialed, body: object = {}) => t.api('post', `${path}/access_tokens`, caller).send({ ...wanted, ...body })
const make = async (path: string, caller: Credentialed, body: object = {}) => (await ask(path, caller, body).expect(201)).body as Made
const works = async (caller: Credentialed) => (await t.api('get', '/user', caller)).status === 200
const gone = async (id: number) => (await t.ctx.db.write.$count(users, eq(users.id, id))) === 0

describe.each(['project', 'group'] as const)('tokens of a %s', (kind) => {
  const place = (more: { creator?: TestUser; maintainer?: TestUser } = {}) =>
    kind === 'project' ? aProject(t.ctx, { creator: owner, ...more }) : aGroup(t.ctx, { creator: owner, ...more })

  it('are made with a bot, shown once, listed and revoked (PT-1, PT-4, PT-7)', async () => {
    const at = await place()
    const made = await make(at.path, owner, { access_level: 30, expires_at: '2099-01-01', description: 'for CI' })
    const { token, ...shown } = made
    expect(token).toMatch(/^[\w-]{20}$/)
    expect(shown).toMatchObject({ ...wanted, access_level: 30, expires_at: '2099-01-01', description: 'for CI', active: true, revoked: false })
    expect((await t.api('get', `${at.path}/access_tokens`, owner).expect(200)).body).toEqual([shown])
    expect((await t.api('get', `${at.path}/access_tokens/${made.id}`, owner).expect(200)).body).toEqual(shown)
    const bot = (await t.api('get', '/user', made).expect(200)).body
    expect(bot).toMatchObject({ id: made.user_id, name: 'deploys', bot: true })
    expect(bot.username).toMatch(new RegExp(`^${kind}_${at.id}_bot_[0-9a-f]{32}$`))
    const member = (await t.api('get', `${at.path}/members/${made.user_id}`, owner).expect(200)).body
    expect(member).toMatchObject({ access_level: 30, expires_at: '2099-01-01', username: bot.username })
    await t.api('delete', `${at.path}/access_tokens/${made.id}`, owner).expect(204)
    expect(await works(made)).toBe(false)
    expect(await gone(made.user_id)).toBe(true)
    expect((await t.api('get', `${at.path}/access_tokens`, owner).expect(200)).body).toEqual([])
    await t.api('get', `${at.path}/access_tokens/${made.id}`, owner).expect(404)
    await t.api('delete', `${at.path}/access_tokens/${made.id}`, owner).expect(404)
    const { rows } = await t.ctx.db.write.execute<{ action: string }>(
      sql`select action from audit_events where target_type = ${kind} and target_id = ${at.id} and action like 'access_token%' order by id`,
    )
    expect(rows.map(({ action }) => action)).toEqual(['access_token_created', 'access_token_revoked'])
  })

  it('have a name, scopes, a role that is not above that of the maker, and a term (PT-2)', async () => {
    const at = await place()
    const refused = async (body: object) => (await ask(at.path, owner, body).expect(400)).body.message
    expect(await refused({ name: ' ' })).toEqual({ name: ["can't be blank"] })
    expect(await refused({ scopes: [] })).toEqual({ scopes: ["can't be blank"] })
    for (const scope of ['sudo', 'read_user', 'other'])
      expect(await refused({ scopes: [scope] })).toEqual({ scopes: ['can only contain available scopes'] })
    expect(await refused({ access_level: 35 })).toEqual({ access_level: ['is not included in the list'] })
    expect(await refused({ expires_at: '2001-01-01' })).toEqual({ expires_at: ['cannot be a date in the past'] })
    expect((await ask(at.path, owner, { name: undefined }).expect(400)).body).toEqual({ error: 'name is missing' })
    expect((await make(at.path, owner)) as object).toMatchObject({ access_level: 40, expires_at: null })
  })

  it('make no tokens, keys and addresses, and join nothing else (PT-3)', async () => {
    const at = await place()
    const made = await make(at.path, owner)
    await ask(at.path, made).expect(403)
    await t.api('post', '/user/personal_access_tokens', made).send(wanted).expect(403)
    await t.api('get', '/user/keys', made).expect(403)
    await t.api('post', '/user/emails', made).send({ email: 'bot@example.com' }).expect(403)
    await t.api('post', '/projects', made).send({ name: 'own' }).expect(403)
    await t
      .api('post', '/groups', made)
      .send({ name: 'own', path: `own-${made.id}` })
      .expect(403)
    const other = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    const added = await t.api('post', `${other.path}/members`, owner).send({ user_id: made.user_id, access_level: 30 }).expect(400)
    expect(added.body.message).toHaveProperty('user')
    await t.api('post', `${other.path}/access_requests`, made).expect(403)
    for (const method of ['put', 'delete'] as const)
      await t.api(method, `${at.path}/members/${made.user_id}`, owner).send({ access_level: 10 }).expect(403)
    const admin = await anAdmin(t.ctx)
    await t.api('put', `/users/${made.user_id}`, admin).send({ password: 'a new password' }).expect(404)
    await t.api('post', `/users/${made.user_id}/personal_access_tokens`, admin).send(wanted).expect(404)
    await t
      .api('post', `/users/${made.user_id}/impersonation_tokens`, admin)
      .send({ name: 'x', scopes: ['api'] })
      .expect(404)
  })

  it('are replaced by another with the same bot, by members with its role or by itself (PT-6)', async () => {
    const maintainer = await aUser(t.ctx)
    const at = await place({ maintainer })
    const old = await make(at.path, owner, { access_level: 30, expires_at: '2099-01-01' })
    const path = `${at.path}/access_tokens`
    const second = (await t.api('post', `${path}/${old.id}/rotate`, owner).send({ expires_at: '2098-01-01' }).expect(200)).body as Made
    expect(second).toMatchObject({ user_id: old.user_id, access_level: 30, expires_at: '2098-01-01', active: true })
    expect([await works(old), await works(second)]).toEqual([false, true])
    await t.api('post', `${path}/${old.id}/rotate`, owner).expect(401)
    const member = async () => (await t.api('get', `${at.path}/members/${old.user_id}`, owner).expect(200)).body.expires_at
    expect(await member()).toBe('2098-01-01')
    // the token that it was rotated with has nothing to do with the term of the bot's
    const third = (await t.api('post', `${path}/self/rotate`, second).send({ expires_at: '2097-01-01' }).expect(200)).body as Made
    expect([await works(second), await works(third), await member()]).toEqual([false, true, '2097-01-01'])
    expect((await t.api('post', `${path}/self/rotate`, third).send({ expires_at: '2099-01-01' }).expect(400)).body.message).toHaveProperty(
      'expires_at',
    )
    await t.api('post', `${path}/self/rotate`, owner).expect(400)
    const elsewhere = await place()
    await t.api('post', `${elsewhere.path}/access_tokens/self/rotate`, third).expect(404)
    const again = (await t.api('post', '/personal_access_tokens/self/rotate', third).expect(200)).body as Made
    expect((await t.api('get', `${path}?state=active`, owner).expect(200)).body.map(({ id }: Made) => id)).toEqual([again.id])
    expect((await t.api('get', path, owner).expect(200)).body).toHaveLength(4)
    await t.api('post', `${path}/${again.id}/rotate`, again).expect(403)
  })

  it('end with the project or group, whose bots go (PT-7)', async () => {
    const at = await place()
    const made = await make(at.path, owner)
    await t.api('delete', `${at.path}?permanently_remove=true&full_path=${encodeURIComponent(at.fullPath)}`, owner)
    expect(await works(made)).toBe(false)
    if (!(await gone(made.user_id))) await removeBots.run(t.ctx, {}, {} as never)
    expect(await gone(made.user_id)).toBe(true)
  })

  it('end with their term, and their bots go (PT-7)', async () => {
    const at = await place()
    const made = await make(at.path, owner, { expires_at: '2099-01-01' })
    await t.ctx.db.write.update(tokens).set({ expires_at: '2001-01-01' }).where(eq(tokens.id, made.id))
    expect(await works(made)).toBe(false)
    await removeBots.run(t.ctx, {}, {} as never)
    expect(await gone(made.user_id)).toBe(true)
    expect((await t.api('get', `${at.path}/access_tokens`, owner).expect(200)).body).toEqual([])
  })
})

describe('the bot of a project', () => {
  it('has its role there, with the API and Git under any name, and nothing elsewhere (PT-3, PT-5)', async () => {
    const project = await aProject(t.ctx, { creator: owner, files: { a: 'a' } })
    const other = await aProject(t.ctx, { creator: owner, visibility: 'internal', files: { a: 'a' } })
    const made = await make(project.path, owner, { access_level: 30 })
    await t.api('get', project.path, made).expect(200)
    await t.api('get', `${project.path}/deploy_tokens`, made).expect(403)
    await t.api('get', other.path, made).expect(404)
    const { body: issue } = await t.api('post', `${project.path}/issues`, made).send({ title: 'by the bot' }).expect(201)
    const work = await client.cloned(client.url(project.fullPath, made, 'any'))
    await gitRun(work, 'checkout', '-b', 'topic')
    await commitIn(work, 'b')
    expect((await gitRun(work, 'push', 'origin', 'topic')).code).toBe(0)
    expect((await gitRun(client.folder(), 'ls-remote', client.url(other.fullPath, made))).code).not.toBe(0)
    const object = anObject(Buffer.from('an object of the bot'))
    expect(await lfs.upload(project.fullPath, made as never, object)).toEqual([200, 200])
    // the role of a reporter does not push
    const reader = await make(project.path, owner, { access_level: 20 })
    expect((await gitRun(work, 'push', client.url(project.fullPath, reader), 'HEAD:refs/heads/other')).code).not.toBe(0)
    // nor does a token that is for reading
    const narrow = await make(project.path, owner, { access_level: 40, scopes: ['read_repository'] })
    expect((await gitRun(work, 'push', client.url(project.fullPath, narrow), 'HEAD:refs/heads/other')).code).not.toBe(0)
    await t.api('get', project.path, narrow).expect(403)
    // what it made is the ghost user's when it is gone
    await t.api('delete', `${project.path}/access_tokens/${made.id}`, owner).expect(204)
    expect((await t.api('get', `${project.path}/issues/${issue.iid}`, owner).expect(200)).body.author.username).toMatch(/^ghost/)
    expect((await t.api('get', `${project.path}/events`, owner).expect(200)).body.length).toBeGreaterThan(0)
  })

  it('is made by maintainers (PT-2)', async () => {
    const [developer, maintainer] = [await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { creator: owner })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id, developer, maintainer })
    await ask(project.path, developer).expect(403)
    await t.api('get', `${project.path}/access_tokens`, developer).expect(403)
    const low = await make(project.path, maintainer)
    await t.api('delete', `${project.path}/access_tokens/${low.id}`, maintainer).expect(204)
  })

  it('starts pipelines, whose jobs have its role in this project (PT-5)', async () => {
    const { project, runner } = await ci.withCi('one: { script: [./one] }')
    const made = await make(project.path, project.creator)
    await t.api('post', `${project.path}/pipeline`, made).send({ ref: 'main' }).expect(201)
    await t.ctx.jobs.drain()
    const { body: pipelines } = await t.api('get', `${project.path}/pipelines`, project.creator).expect(200)
    expect(pipelines).toHaveLength(2)
    await runner.takeNamed('one')
    const { token } = await runner.takeNamed('one')
    const other = await aProject(t.ctx, { creator: project.creator, visibility: 'private', files: { a: 'a' } })
    const reads = async (fullPath: string) =>
      (await gitRun(client.folder(), 'ls-remote', client.url(fullPath, { token }, 'gitlab-ci-token'))).code === 0
    expect([await reads(project.fullPath), await reads(other.fullPath)]).toEqual([true, false])
  })

  it('is no person: lists of people leave it out on request, it cannot sign in, and is no last owner (PT-8)', async () => {
    const group = await aGroup(t.ctx, { creator: owner })
    const made = await make(group.path, owner, { access_level: 50 })
    const admin = await anAdmin(t.ctx)
    const ids = async (query: string) =>
      (await t.api('get', `/users?per_page=100&${query}`, admin).expect(200)).body.map(({ id }: { id: number }) => id)
    expect(await ids('')).toContain(made.user_id)
    for (const query of ['without_project_bots=true', 'exclude_internal=true', 'active=true']) expect(await ids(query)).not.toContain(made.user_id)
    const { body: bot } = await t.api('get', `/users/${made.user_id}`, admin).expect(200)
    expect(bot).toMatchObject({ bot: true, external: true, can_create_group: false })
    expect((await t.api('get', `/users/${owner.id}`, admin).expect(200)).body.bot).toBe(false)
    await t.api('delete', `${group.path}/members/${owner.id}`, owner).expect(403)
    await t.api('delete', `/users/${owner.id}`, admin).expect(409)
  })

  it('of a group is a member of what is below it, and of that alone (PT-3)', async () => {
    const group = await aGroup(t.ctx, { creator: owner })
    const made = await make(group.path, owner, { access_level: 50 })
    const { body: sub } = await t.api('post', '/groups', made).send({ name: 'sub', path: 'sub', parent_id: group.id }).expect(201)
    const { body: project } = await t.api('post', '/projects', made).send({ name: 'p', namespace_id: sub.id }).expect(201)
    await t.api('get', `/projects/${project.id}`, made).expect(200)
    expect((await t.api('get', `/groups/${sub.id}/members`, owner).expect(200)).body).toEqual([])
    const outside = await aProject(t.ctx, { creator: owner })
    await t.api('get', outside.path, made).expect(404)
    await t.api('delete', `${group.path}/access_tokens/${made.id}`, owner).expect(204)
    await t.api('get', `/projects/${project.id}`, owner).expect(200)
  })

  it('are at most 100 in one place, of which listing is as many queries as of one (PT-4, SEC-130)', async () => {
    const project = await aProject(t.ctx, { creator: owner })
    await make(project.path, owner)
    const list = () => t.queriesOf(() => t.api('get', `${project.path}/access_tokens`, owner).expect(200))
    await list()
    const one = await list()
    for (let n = 1; n < 100; n++) await make(project.path, owner)
    expect((await list()).length).toBeLessThanOrEqual(one.length)
    expect((await ask(project.path, owner).expect(400)).body.message).toHaveProperty('base')
  })
})
