import { existsSync } from 'node:fs'
import { eq, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Transaction } from '../../src/db/client.js'
import { namespaces, projects, redirects, users } from '../../src/db/schema/index.js'
import { repositoryDirectory } from '../../src/git/storage/create.js'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser } from '../support/factories.js'
import { soon } from '../support/merge-requests.js'

const t = testApp()
let admin: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})

type Method = 'post' | 'put'

/** How many statements wait for a lock. */
const waiting = async () =>
  (await t.ctx.db.write.execute(sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)).rows.length

/** What a call answers that has found what it is about, and waits for the removal of that when it writes. */
async function callDuring(remove: (tx: Transaction) => Promise<unknown>, method: Method, path: string, body: object) {
  const { pending } = await t.ctx.db.transaction(async (tx) => {
    await remove(tx)
    const pending = t
      .api(method, path, admin)
      .send(body)
      .then((response) => response)
    await soon(async () => (await waiting()) > 0)
    return { pending }
  })
  return pending
}

describe('a call that meets a removal answers as after it (W-46, SEC-134)', () => {
  it.each<[Method, string, object]>([
    ['post', 'issues', { title: 'x' }],
    ['post', 'merge_requests', { title: 'x', source_branch: 'main', target_branch: 'topic' }],
    ['post', 'labels', { name: 'x', color: '#ffffff' }],
    ['post', 'variables', { key: 'A', value: 'x' }],
    ['post', 'hooks', { url: 'http://example.com' }],
    ['post', 'star', {}],
    ['post', 'protected_tags', { name: 'x' }],
    ['post', 'repository/branches', { branch: 'x', ref: 'main' }],
    ['post', 'repository/files/b.txt', { branch: 'main', content: 'x', commit_message: 'x' }],
    ['put', 'repository/branches/main/unprotect', {}],
    ['put', 'merge_requests/1/rebase', {}],
    ['post', 'statuses/main', { state: 'success' }],
    ['put', 'notification_settings', { level: 'watch' }],
    ['put', 'issues/1', { title: 'y' }],
    ['post', 'issues/1/notes', { body: 'x' }],
    ['post', 'issues/1/award_emoji', { name: 'thumbsup' }],
    ['put', 'labels/bug', { color: '#000000' }],
    ['put', 'releases/v1', { name: 'x' }],
    ['post', 'wikis', { title: 'other', content: 'x' }],
    ['put', 'wikis/home', { content: 'y' }],
    ['put', 'custom_attributes/a', { value: 'x' }],
  ])('of a project: %s %s', async (method, path, body) => {
    const project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'a' } })
    const given = (place: string, sent: object) => t.api('post', `${project.path}/${place}`, admin).send(sent).expect(201)
    const commit = { branch: 'topic', start_branch: 'main', commit_message: 'x', actions: [{ action: 'create', file_path: 'c', content: 'c' }] }
    await given('repository/commits', commit)
    await given('merge_requests', { title: 'x', source_branch: 'topic', target_branch: 'main' })
    await given('issues', { title: 'x' })
    await given('labels', { name: 'bug', color: '#ffffff' })
    await given('releases', { tag_name: 'v1', ref: 'main' })
    await given('wikis', { title: 'home', content: 'x' })
    const answer = await callDuring((tx) => tx.delete(projects).where(eq(projects.id, project.id)), method, `${project.path}/${path}`, body)
    expect([answer.status, answer.body]).toEqual([404, { message: '404 Project Not Found' }])
  })

  it('of a project that has no wiki yet: its first page, and its first clone, leave no folder', async () => {
    const project = await aProject(t.ctx, { creator: admin, files: { a: 'a' } })
    const folder = repositoryDirectory(t.ctx.config.storages['default'] as string, { storage: 'default', id: project.id, kind: 'wiki' })
    const { pending } = await t.ctx.db.transaction(async (tx) => {
      await tx.delete(projects).where(eq(projects.id, project.id))
      const headers = { authorization: `Basic ${Buffer.from(`x:${admin.token}`).toString('base64')}` }
      const pending = Promise.all([
        t
          .api('post', `${project.path}/wikis`, admin)
          .send({ title: 'x', content: 'x' })
          .then(({ status }) => status),
        fetch(`${t.url}/${project.fullPath}.wiki.git/info/refs?service=git-upload-pack`, { headers }).then(({ status }) => status),
      ])
      await soon(async () => (await waiting()) === 2)
      return { pending }
    })
    expect(await pending).toEqual([404, 404])
    expect(existsSync(folder)).toBe(false)
  })

  it.each<[Method, string, object]>([
    ['post', 'labels', { name: 'x', color: '#ffffff' }],
    ['post', 'milestones', { title: 'x' }],
    ['post', 'variables', { key: 'A', value: 'x' }],
  ])('of a group: %s %s', async (method, path, body) => {
    const group = await aGroup(t.ctx, { creator: admin })
    const answer = await callDuring((tx) => tx.delete(namespaces).where(eq(namespaces.id, group.id)), method, `/groups/${group.id}/${path}`, body)
    expect([answer.status, answer.body]).toEqual([404, { message: '404 Group Not Found' }])
  })

  it('of a user that the call names', async () => {
    const remove = (user: TestUser) => async (tx: Transaction) => {
      await tx.delete(namespaces).where(eq(namespaces.owner_id, user.id))
      await tx.delete(users).where(eq(users.id, user.id))
    }
    const [one, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    const token = await callDuring(remove(one), 'post', `/users/${one.id}/impersonation_tokens`, { name: 'x', scopes: ['api'] })
    expect([token.status, token.body]).toEqual([404, { message: '404 Not found' }])
    const project = await aProject(t.ctx, { creator: admin, developer: other })
    const issue = await callDuring(remove(other), 'post', `${project.path}/issues`, { title: 'x', assignee_ids: [other.id] })
    expect([issue.status, issue.body]).toEqual([404, { message: '404 Not found' }])
    expect((await t.api('get', `${project.path}/issues`, admin).expect(200)).body).toEqual([])
  })

  it('a namespace is renamed while a project in it is removed, which leaves no redirect (GR-39, U-28)', async () => {
    for (const kind of ['group', 'user'] as const) {
      const user = await aUser(t.ctx)
      const group = kind === 'group' ? await aGroup(t.ctx, { creator: user }) : null
      const project = await aProject(t.ctx, { creator: user, ...(group && { namespace_id: group.id }) })
      const stays = await aProject(t.ctx, { creator: user, ...(group && { namespace_id: group.id }) })
      const [path, body] = group
        ? [`/groups/${group.id}`, { path: `${group.fullPath}-2` }]
        : [`/users/${user.id}`, { username: `${user.username}-2` }]
      const { status } = await callDuring((tx) => tx.delete(projects).where(eq(projects.id, project.id)), 'put', path, body)
      expect(status).toBe(200)
      const redirected = await t.ctx.db.write.select({ project_id: redirects.project_id }).from(redirects)
      expect(redirected).toContainEqual({ project_id: stays.id })
      expect(redirected).not.toContainEqual({ project_id: project.id })
    }
  })
})
