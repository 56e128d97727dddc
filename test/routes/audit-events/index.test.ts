import supertest from 'supertest'
import { beforeAll, describe, expect, it } from 'vitest'
import { auditEvents } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { gitClient } from '../../support/clients/git-client.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, type TestUser, unique } from '../../support/factories.js'

const t = testApp({ ROOST_FAILED_CREDENTIALS_DELAY: '0' })
const client = gitClient(t)
let admin: TestUser
beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})

interface Shown {
  id: number
  author_id: number | null
  entity_id: number | null
  entity_type: string
  details: Record<string, unknown>
  created_at: string
}
const list = async (query: string) => (await t.api('get', `/audit_events?${query}`, admin).expect(200)).body as Shown[]
const linesOn = async (entity_type: string, id: number) =>
  (await list(`entity_type=${entity_type}&entity_id=${id}&per_page=100`)).map(({ author_id, details: { action, changes } }) => ({
    author_id,
    action,
    changes,
  }))

describe('GET /audit_events (OT-11, OT-12)', () => {
  it('is for administrators', async () => {
    const user = await aUser(t.ctx)
    for (const path of ['/audit_events', '/audit_events/1']) {
      await t.api('get', path, null).expect(401)
      await t.api('get', path, user).expect(403)
    }
    await t.api('get', '/audit_events/999999999', admin).expect(404, { message: '404 Audit Event Not Found' })
  })

  it('lists by target and time, newest first, in pages', async () => {
    const owner = await aUser(t.ctx)
    const { body } = await t
      .api('post', '/projects', owner)
      .send({ name: `audited${unique()}` })
      .expect(201)
    await t.api('put', `/projects/${body.id}`, owner).send({ visibility: 'public' }).expect(200)
    for (const action of ['archive', 'archive', 'unarchive']) await t.api('post', `/projects/${body.id}/${action}`, owner).expect(201)
    const author_id = owner.id
    expect(await linesOn('Project', body.id)).toEqual([
      { author_id, action: 'project_unarchived', changes: {} },
      { author_id, action: 'project_archived', changes: {} },
      { author_id, action: 'visibility_changed', changes: { visibility: ['private', 'public'] } },
      { author_id, action: 'project_created', changes: {} },
    ])
    const all = await list(`entity_type=Project&entity_id=${body.id}`)
    const answer = await t.api('get', `/audit_events?entity_type=Project&entity_id=${body.id}&per_page=1&page=2`, admin).expect(200)
    expect([answer.body, answer.headers['x-total'], answer.headers['x-next-page']]).toEqual([[all[1]], '4', '3'])
    expect((await t.api('get', `/audit_events/${all[3]?.id}`, admin).expect(200)).body).toEqual({
      id: all[3]?.id,
      author_id,
      entity_id: body.id,
      entity_type: 'Project',
      details: {
        action: 'project_created',
        author_name: owner.username,
        sudoer_id: null,
        sudoer_name: null,
        target_id: body.id,
        target_type: 'Project',
        target_details: body.path_with_namespace,
        changes: {},
        ip_address: expect.stringContaining('127.0.0.1'),
        request_id: expect.any(String),
      },
      created_at: all[3]?.created_at,
    })
    const middle = all[1]?.created_at as string
    const ids = (events: Shown[]) => events.map(({ id }) => id)
    const of = `entity_type=Project&entity_id=${body.id}`
    expect(ids(await list(`${of}&created_after=${middle}`))).toEqual(ids(all.filter(({ created_at }) => created_at >= middle)))
    expect(ids(await list(`${of}&created_before=${middle}`))).toEqual(ids(all.filter(({ created_at }) => created_at <= middle)))
    await t.api('get', '/audit_events?entity_type=Other', admin).expect(400)
    await t.api('get', '/audit_events?created_after=then', admin).expect(400)
  })
})

describe('recorded events (SEC-168)', () => {
  const signIn = (username: string, password: string) => supertest(t.url).post('/oauth/token').send({ grant_type: 'password', username, password })

  it('sign-ins, and refused ones with the name that was tried', async () => {
    const password = 'correct horse battery'
    const user = await aUser(t.ctx, { password })
    const unknown = `unknown${unique()}`
    await signIn(user.username, password).expect(200)
    await signIn(user.username, 'wrong').expect(401)
    await signIn(unknown, 'wrong').expect(401)
    await t.api('post', `/users/${user.id}/block`, admin).expect(201)
    await signIn(user.username, password).expect(401)
    const lines = (await list('entity_type=User&per_page=100')).filter(({ details }) => String(details['action']).startsWith('sign_in'))
    expect(
      lines
        .filter(({ details }) => [user.username, unknown].includes(details['target_details'] as string))
        .map(({ author_id, entity_id, details: { action, target_details, changes } }) => [author_id, entity_id, action, target_details, changes]),
    ).toEqual([
      [null, user.id, 'sign_in_refused', user.username, { reason: 'the account is blocked' }],
      [null, null, 'sign_in_refused', unknown, { reason: 'no such account' }],
      [null, user.id, 'sign_in_refused', user.username, { reason: 'wrong password' }],
      [user.id, user.id, 'sign_in_done', user.username, {}],
    ])
    const tokens = await t.ctx.db.read.select().from(auditEvents)
    expect(tokens.filter(({ action, actor_id }) => action === 'token_created' && actor_id === user.id).length).toBeGreaterThan(0)
    expect(JSON.stringify(tokens)).not.toContain(password)
  })

  it('refused passwords of Git, but no token that was sent as a name (SEC-24)', async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: user, files: { a: 'a' } })
    for (const name of [user.username, user.token, `unknown-${project.id}`]) {
      const { code } = await client.clone(client.url(project.fullPath, { token: 'wrong' }, name))
      expect(code).not.toBe(0)
    }
    const names = (await list('entity_type=User&per_page=100'))
      .filter(({ details }) => details['action'] === 'sign_in_refused' && details['ip_address'] !== null)
      .map(({ details }) => details['target_details'])
    expect(names).toEqual(expect.arrayContaining([user.username, '(a token)', `unknown-${project.id}`]))
    expect(JSON.stringify([await t.ctx.db.read.select().from(auditEvents), t.logged])).not.toContain(user.token)
  })

  it('a password that is changed without a token, with its user', async () => {
    const user = await aUser(t.ctx, { password: 'the first password' })
    const change = { username: user.username, current_password: 'the first password', password: 'the second password' }
    await t.api('put', '/user/password', null).send(change).expect(204)
    expect((await linesOn('User', user.id))[0]).toEqual({ author_id: user.id, action: 'user_updated', changes: { password_hash: 'changed' } })
  })

  it('a merge by the API, with who accepted it', async () => {
    const maintainer = await aUser(t.ctx)
    const project = await aProject(t.ctx, { maintainer, files: { a: 'a' } })
    await aCommit(t.ctx, project, { b: 'b' }, { branch: 'feature', start_branch: 'main' })
    const { body } = await t
      .api('post', `${project.path}/merge_requests`, project.creator)
      .send({ title: 'x', source_branch: 'feature', target_branch: 'main' })
      .expect(201)
    const merged = await t.api('put', `${project.path}/merge_requests/${body.iid}/merge`, maintainer).expect(200)
    expect(await linesOn('MergeRequest', body.id)).toEqual([
      {
        author_id: maintainer.id,
        action: 'merge_request_merged',
        changes: { project_id: project.id, merge_commit_sha: [null, merged.body.merge_commit_sha] },
      },
    ])
  })

  it('creation, transfer, deletion and removal of projects, also with a group or a user', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner })
    const inGroup = await aProject(t.ctx, { creator: owner, namespace_id: group.id })
    const { body: own } = await t
      .api('post', '/projects', owner)
      .send({ name: `own${unique()}` })
      .expect(201)
    await t.api('post', `/groups/${group.id}/projects/${own.id}`, admin).expect(201)
    await t.api('delete', `${group.path}?permanently_remove=true`, owner).expect(204)
    const actions = async (id: number) => (await linesOn('Project', id)).map(({ action, author_id }) => [action, author_id])
    expect(await actions(own.id)).toEqual([
      ['project_deleted', owner.id],
      ['project_transferred', admin.id],
      ['project_created', owner.id],
    ])
    expect((await actions(inGroup.id))[0]).toEqual(['project_deleted', owner.id])
    const last = await aProject(t.ctx, { creator: owner })
    await t.api('delete', `/users/${owner.id}`, admin).expect(204)
    expect((await actions(last.id))[0]).toEqual(['project_deleted', admin.id])
  })
})
