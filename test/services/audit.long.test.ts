// @module-tag long
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { asc } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { auditEvents } from '../../src/db/schema/index.js'
import { auditTrail } from '../../src/services/core/audit.js'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestUser, unique } from '../support/factories.js'

const t = testApp()
let admin: TestUser
let user: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
})
beforeEach(() => t.ctx.db.write.delete(auditEvents))

const events = () => t.ctx.db.read.select().from(auditEvents).orderBy(asc(auditEvents.id))
const actions = async () => (await events()).map(({ action, actor, target_id }) => [action, actor, target_id])
const [{ line: key }] = JSON.parse(readFileSync(new URL('../support/keys/ssh-keys.json', import.meta.url), 'utf8')) as [{ line: string }]

describe('the audit (SEC-168)', () => {
  it('records who did what to whom, from where and in which call', async () => {
    const n = unique()
    const given = { username: `audited${n}`, name: 'x', email: `audited${n}@example.com`, password: 'a secret password' }
    const { body, headers } = await t.api('post', '/users', admin).send(given).expect(201)
    const { id } = body as { id: number }
    const [made] = await events()
    expect(made).toMatchObject({
      action: 'user_created',
      actor_id: admin.id,
      actor: admin.username,
      sudoer: null,
      target_type: 'user',
      target_id: id,
      target: given.username,
      address: expect.stringContaining('127.0.0.1'),
      request_id: headers['x-request-id'],
    })
    await t.api('put', `/users/${id}`, admin).send({ admin: true, password: 'another secret' }).expect(200)
    const [, changed] = await events()
    expect(changed).toMatchObject({ action: 'user_updated', changes: { admin: [false, true], password_hash: 'changed' } })
    expect(JSON.stringify(await events())).not.toMatch(/secret|argon2/)
  })

  it('names both behind a sudo call (SEC-20)', async () => {
    await t
      .api('post', '/user/emails', admin)
      .query({ sudo: user.username })
      .send({ email: `s${unique()}@example.com` })
      .expect(201)
    expect((await events())[0]).toMatchObject({ action: 'email_added', actor: user.username, sudoer: admin.username })
  })

  it('has a row for every change of people, keys, tokens, members, visibility and protection', async () => {
    const project = await aProject(t.ctx, { creator: user, files: { a: 'a' } })
    const group = await aGroup(t.ctx, { creator: user })
    const person = await aUser(t.ctx)
    await t.ctx.db.write.delete(auditEvents)
    const id = async (method: 'post' | 'put', path: string, given: object, caller = user) =>
      ((await t.api(method, path, caller).send(given)).body as { id: number }).id
    const keyId = await id('post', '/user/keys', { title: 'x', key })
    await t.api('delete', `/user/keys/${keyId}`, user).expect(204)
    const emailId = await id('post', '/user/emails', { email: `e${unique()}@example.com` })
    await t.api('delete', `/user/emails/${emailId}`, user).expect(204)
    const tokenId = await id('post', '/user/personal_access_tokens', { name: 'x', scopes: ['api'] })
    await t.api('delete', `/personal_access_tokens/${tokenId}`, user).expect(204)
    const impersonation = await id('post', `/users/${person.id}/impersonation_tokens`, { name: 'x', scopes: ['api'] }, admin)
    await t.api('delete', `/users/${person.id}/impersonation_tokens/${impersonation}`, admin).expect(204)
    for (const source of [project, group]) {
      await t.api('post', `${source.path}/members`, user).send({ user_id: person.id, access_level: 20 }).expect(201)
      await t.api('put', `${source.path}/members/${person.id}`, user).send({ access_level: 30 }).expect(200)
      await t.api('delete', `${source.path}/members/${person.id}`, user).expect(204)
    }
    await t.api('put', project.path, user).send({ visibility: 'internal', description: 'x' }).expect(200)
    await t.api('post', `${project.path}/protected_branches`, user).send({ name: 'x' }).expect(201)
    await t.api('delete', `${project.path}/protected_branches/x`, user).expect(204)
    await t.api('put', `${project.path}/repository/branches/main/protect`, user).send({ developers_can_push: true }).expect(200)
    await t.api('put', `${project.path}/repository/branches/main/unprotect`, user).expect(200)
    await t.api('post', `${project.path}/protected_tags`, user).send({ name: 'v*' }).expect(201)
    await t.api('delete', `${project.path}/protected_tags/v*`, user).expect(204)
    await t.api('post', `/users/${person.id}/block`, admin).expect(201)
    await t.api('post', `/users/${person.id}/unblock`, admin).expect(201)
    const [mine, root] = [user.username, admin.username]
    const members = (source: number) => ['member_added', 'member_updated', 'member_removed'].map((action) => [action, mine, source])
    expect(await actions()).toEqual([
      ['key_added', mine, keyId],
      ['key_removed', mine, keyId],
      ['email_added', mine, emailId],
      ['email_removed', mine, emailId],
      ['token_created', mine, tokenId],
      ['token_revoked', mine, tokenId],
      ['token_created', root, impersonation],
      ['token_revoked', root, impersonation],
      ...members(project.id),
      ...members(group.id),
      ['visibility_changed', mine, project.id],
      ['protected_branch_added', mine, project.id],
      ['protected_branch_removed', mine, project.id],
      ['protected_branch_updated', mine, project.id],
      ['protected_branch_removed', mine, project.id],
      ['protected_tag_added', mine, project.id],
      ['protected_tag_removed', mine, project.id],
      ['user_blocked', root, person.id],
      ['user_unblocked', root, person.id],
    ])
    expect((await events()).find(({ action }) => action === 'visibility_changed')?.changes).toEqual({ visibility: ['private', 'internal'] })
  })

  it('a refusal leaves no row (SEC-2)', async () => {
    await t.api('post', '/user/keys', user).send({ title: 'x', key: 'ssh-rsa AAAA' }).expect(400)
    await t.api('put', `/users/${user.id}`, admin).send({ name: '' }).expect(404)
    await t.api('post', `/users/${user.id}/block`, user).expect(403)
    expect(await events()).toEqual([])
  })

  it('is read in batches, oldest first, within a span', async () => {
    const at = (second: number) => new Date(Date.UTC(2020, 0, 1, 0, 0, Math.floor(second / 3)))
    const row = (i: number) => ({ created_at: at(i), action: `a${i}`, target_type: 'user', target: 'x', changes: {} })
    await t.ctx.db.write.insert(auditEvents).values(Array.from({ length: 1_200 }, (_, i) => row(i)))
    const read = async (span: Parameters<typeof auditTrail>[1]) => {
      const found: string[] = []
      for await (const { action } of auditTrail(t.ctx, span)) found.push(action)
      return found
    }
    expect(await read({ since: at(0) })).toEqual(Array.from({ length: 1_200 }, (_, i) => `a${i}`))
    expect(await read({ since: at(3), until: at(9) })).toEqual(['a3', 'a4', 'a5', 'a6', 'a7', 'a8'])
  })
})

describe('roost audit', () => {
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, ['--import', 'tsx', 'src/main.ts', 'audit', ...args], {
      env: {
        PATH: process.env['PATH'],
        TMPDIR: process.env['TMPDIR'],
        DATA_DIR: t.ctx.config.dataDir,
        DATABASE_URL: t.databaseUrl,
      },
    })

  it('prints one JSON object a line, for a span', async () => {
    await t.api('post', '/user/emails', user).send({ email: 'printed@example.com' }).expect(201)
    const { stdout } = await run('--since', '2020-01-01')
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines).toMatchObject([{ action: 'email_added', actor: user.username, target: 'printed@example.com' }])
    expect((await run('--since', '2020-01-01', '--until', '2020-02-01')).stdout).toBe('')
  })

  it('prints the last 50 without a span, oldest first', async () => {
    const rows = Array.from({ length: 60 }, (_, i) => ({ action: `a${i}`, target_type: 'user', target: 'x', changes: {} }))
    await t.ctx.db.write.insert(auditEvents).values(rows)
    const { stdout } = await run()
    const printed = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { action: string }).action)
    expect(printed).toEqual(rows.slice(10).map(({ action }) => action))
  })

  it.each([[['--since', 'yesterday']], [['--since', '2020-01-01', '--until', 'x']]])(
    '%j is one clear line, the way to the help, and exit 2',
    async (args) => {
      await expect(run(...args)).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^roost: [^\n]+\nroost: see 'roost audit --help'\n$/),
      })
    },
  )
})
