import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser, setSettings, type TestUser, unique } from '../../support/factories.js'
import { textReceiver } from '../../support/servers/text-receiver.js'

const folder = mkdtempSync(join(tmpdir(), 'providers-'))
const file = join(folder, 'sign-on.json')
// nothing listens there
const company = { name: 'company', label: 'The Company', issuer: 'http://127.0.0.1:9', client_id: 'roost', client_secret: 'secret' }
writeFileSync(file, JSON.stringify({ openid_connect: [company] }))
afterAll(() => rmSync(folder, { recursive: true }))
const t = testApp({ ROOST_SIGN_ON: file })
const filter = textReceiver()
let admin: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})

const CALLS = [
  ['get', '/admin/held_texts'],
  ['post', '/admin/held_texts/1/release'],
  ['delete', '/admin/held_texts/1'],
  ['get', '/admin/request_limits'],
  ['post', '/admin/request_limits'],
  ['delete', '/admin/request_limits/1'],
  ['get', '/admin/sign_in_providers'],
  ['post', '/admin/sign_in_providers/company/test'],
  ['get', '/admin/jobs'],
  ['post', '/admin/jobs/retry'],
  ['post', '/admin/jobs/1/retry'],
  ['delete', '/admin/jobs/1'],
  ['post', '/admin/users/import'],
  ['get', '/sidekiq/queue_metrics'],
  ['get', '/sidekiq/process_metrics'],
  ['get', '/sidekiq/job_stats'],
  ['get', '/sidekiq/compound_metrics'],
  ['get', '/application/statistics'],
] as const

describe('administration by the API', () => {
  it('is for administrators, and 404 for what is not there (WB-392, WB-393)', async () => {
    const user = await aUser(t.ctx)
    for (const [method, path] of CALLS) {
      const given = path.endsWith('limits') ? { caller: 'x', requests: 1 } : path.endsWith('import') ? { text: 'x' } : {}
      await t.api(method, path, null).send(given).expect(401)
      await t.api(method, path, user).send(given).expect(403)
    }
    await t.api('post', '/admin/held_texts/999/release', admin).expect(404, { message: '404 Held Text Not Found' })
    await t.api('delete', '/admin/held_texts/999', admin).expect(404)
    await t.api('delete', '/admin/request_limits/999', admin).expect(404, { message: '404 Request Limit Not Found' })
    await t.api('post', '/admin/sign_in_providers/none/test', admin).expect(404, { message: '404 Sign-in Provider Not Found' })
    await t.api('post', '/admin/jobs/999999/retry', admin).expect(404, { message: '404 Job Not Found' })
    await t.api('delete', '/admin/jobs/999999', admin).expect(404)
  })

  it('lists and tests providers (WB-392)', async () => {
    const listed = async () => (await t.api('get', '/admin/sign_in_providers', admin).expect(200)).body
    const shown = {
      name: 'company',
      label: 'The Company',
      kind: 'openid',
      url: 'http://127.0.0.1:9',
      enabled: true,
      create_accounts: false,
      link_by_address: false,
      second_factor: false,
    }
    expect(await listed()).toEqual([{ ...shown, last_check: null }])
    const { body } = await t.api('post', '/admin/sign_in_providers/company/test', admin).expect(200)
    expect(body).toEqual({ good: false, message: expect.stringMatching(/./) })
    expect(await listed()).toEqual([{ ...shown, last_check: { ...body, checked_at: expect.any(String) } }])
  })

  it('lists, publishes and removes what the spam filter holds (WB-392)', async () => {
    Object.assign(t.ctx.config, { spamFilter: `${filter.url}/%{key}` })
    filter.answer = ({ text }) => ({ body: text.includes('cheap') ? 'true' : 'false' })
    await t.api('put', '/application/settings', admin).send({ spamfilter_enabled: true, spamfilter_api_key: 'a-key' }).expect(200)
    const [author, project] = [await aUser(t.ctx), await aProject(t.ctx, { visibility: 'public' })]
    const post = (given: object) => t.api('post', `${project.path}/issues`, author).set('user-agent', 'browser/1').send(given).expect(400)
    await post({ title: 'cheap <b>watches</b>', description: 'x'.repeat(3_000) })
    await post({ title: 'cheap hats' })
    await t.api('post', '/snippets', author).send({ title: 'a', file_name: 'a', content: 'cheap', visibility: 'public' }).expect(400)
    const { body, headers } = await t.api('get', '/admin/held_texts', admin).expect(200)
    expect(headers['x-total']).toBe('3')
    expect(body).toMatchObject([
      { kind: 'snippet', noteable_type: null, project: null, text_truncated: false },
      { kind: 'issue', project: project.fullPath, text: expect.stringContaining('cheap hats'), author: { username: author.username } },
      { kind: 'issue', text_truncated: true, ip_address: '127.0.0.1', user_agent: 'browser/1' },
    ])
    expect(body[2].text).toHaveLength(2_000)
    expect((await t.api('get', '/admin/held_texts?per_page=1&page=2', admin).expect(200)).body).toEqual([body[1]])
    await t.api('post', `/admin/held_texts/${body[2].id}/release`, admin).expect(204)
    await t.api('post', `/admin/held_texts/${body[2].id}/release`, admin).expect(404)
    await t.api('delete', `/admin/held_texts/${body[1].id}`, admin).expect(204)
    const titles = ((await t.api('get', `${project.path}/issues`, author).expect(200)).body as { title: string }[]).map(({ title }) => title)
    expect(titles).toEqual(['cheap <b>watches</b>'])
    expect(filter.got.map(({ path }) => path).slice(-2)).toEqual(['/a-key/submit-ham', '/a-key/submit-spam'])
    await t.api('post', `/users/${author.id}/block`, admin).expect(201)
    expect((await t.api('post', `/admin/held_texts/${body[0].id}/release`, admin).expect(400)).text).toContain('Its author is blocked')
    expect((await t.api('get', '/admin/held_texts', admin).expect(200)).body).toEqual([{ ...body[0], author: expect.any(Object) }])
    await setSettings(t.ctx, {})
  })

  it('sets limits of requests of single callers, from the next request on (WB-392)', async () => {
    await setSettings(t.ctx, { throttle_authenticated_api_enabled: true, throttle_authenticated_api_requests_per_period: 50 })
    const user = await aUser(t.ctx)
    const set = (caller: string, requests: unknown) => t.api('post', '/admin/request_limits', admin).send({ caller, requests })
    const { body: own } = await set(user.username, 1).expect(201)
    expect(own).toEqual({ id: expect.any(Number), username: user.username, ip_address: null, requests: 1, created_at: expect.any(String) })
    expect((await set('::ffff:192.0.2.9', 5).expect(201)).body).toMatchObject({ username: null, ip_address: '192.0.2.9', requests: 5 })
    const asked = async () => (await t.api('get', '/user', user)).status
    expect([await asked(), await asked()]).toEqual([200, 429])
    const list = (await t.api('get', '/admin/request_limits', admin).expect(200)).body
    expect(list.map(({ ip_address, username }: { ip_address: string; username: string }) => username ?? ip_address)).toEqual([
      '192.0.2.9',
      user.username,
    ])
    await t.api('delete', `/admin/request_limits/${own.id}`, admin).expect(204)
    expect(await asked()).toBe(200)
    const refused = { caller: ['is neither a username nor an IP address'], requests: ['must be between 0 and 1000000'] }
    await set('<b>none</b>', -1).expect(400, { message: refused })
    await set(user.username, 'many').expect(400, { error: 'requests is invalid' })
    await setSettings(t.ctx, {})
  })

  it('shows jobs, tries failed ones again and removes them (WB-393)', async () => {
    await t.ctx.jobs.drain()
    const { rows } = await t.ctx.db.write.execute<{ id: string }>(sql`insert into jobs (kind, payload, run_at, attempts, last_error, failed_at)
      select 'of a later version', jsonb_build_object('n', i), now(), 5, 'Error: no', now() from generate_series(1, 3) i returning id`)
    const [first, second] = rows.map(({ id }) => Number(id))
    const { body } = await t.api('get', '/admin/jobs', admin).expect(200)
    expect(body.kinds.find(({ kind }: { kind: string }) => kind === 'of a later version')).toMatchObject({ failed: 3, waiting: 0 })
    expect(body.failed).toContainEqual({
      id: first,
      kind: 'of a later version',
      payload: { n: 1 },
      attempts: 5,
      failed_at: expect.any(String),
      error: 'Error: no',
    })
    await t.api('post', `/admin/jobs/${first}/retry`, admin).expect(200, { retried: 1 })
    await t.api('post', `/admin/jobs/${first}/retry`, admin).expect(404)
    await t.api('delete', `/admin/jobs/${second}`, admin).expect(204)
    await t.api('post', '/admin/jobs/retry', admin).send({}).expect(200, { retried: 1 })
    expect((await t.api('get', '/admin/jobs', admin).expect(200)).body.failed).toEqual([])
    await t.ctx.db.write.execute(sql`delete from jobs where kind = 'of a later version'`)
  })

  it('shows the queue as clients of Sidekiq read it (RX-1)', async () => {
    const read = async (name: string) => (await t.api('get', `/sidekiq/${name}`, admin).expect(200)).body
    await t.ctx.jobs.drain()
    const before = await read('compound_metrics')
    expect(before.queues).toEqual({ default: { backlog: 0, latency: 0 } })
    expect(before.processes).toMatchObject([{ pid: process.pid, queues: ['default'], labels: [], busy: 0 }])
    expect(before.jobs).toMatchObject({ enqueued: 0, dead: 0 })
    await t.ctx.db.write.execute(sql`insert into jobs (kind, payload, run_at, worker, failed_at) values
      ('of a later version', '{}', now() - interval '90 seconds', null, null),
      ('of a later version', '{}', now() + interval '90 seconds', 'w', null),
      ('of a later version', '{}', now(), null, now())`)
    expect(await read('job_stats')).toEqual({ jobs: { processed: before.jobs.processed + 1, failed: 1, enqueued: 1, dead: 1 } })
    const { queues, processes } = await read('compound_metrics')
    expect(queues.default.backlog).toBe(1)
    expect(queues.default.latency).toBeGreaterThanOrEqual(90)
    expect(processes[0].busy).toBe(1)
    expect(await read('queue_metrics')).toHaveProperty('queues')
    expect(await read('process_metrics')).toHaveProperty('processes')
    await t.ctx.db.write.execute(sql`delete from jobs where kind = 'of a later version'`)
  })

  it('counts what there is (RX-2)', async () => {
    await aProject(t.ctx, { creator: await aUser(t.ctx) })
    const { body } = await t.api('get', '/application/statistics', admin).expect(200)
    expect(Object.keys(body)).toEqual([
      'forks',
      'issues',
      'merge_requests',
      'notes',
      'snippets',
      'ssh_keys',
      'milestones',
      'users',
      'projects',
      'groups',
      'active_users',
    ])
    for (const value of Object.values(body)) expect(value).toMatch(/^\d{1,3}(,\d{3})*$/)
    const { rows } = await t.ctx.db.write.execute<{ n: string }>(sql`select count(*) as n from projects where marked_for_deletion_at is null`)
    expect(body.projects).toBe(rows[0]?.n)
  })

  it('makes accounts from comma-separated values, as text or as a file (WB-393)', async () => {
    const [one, two] = [`one${unique()}`, `two${unique()}`]
    const text = `username,email,password\n${one},${one}@example.com,long enough 0815\n${one},other@example.com,long enough 0815\n`
    const { body } = await t.api('post', '/admin/users/import', admin).send({ text }).expect(201)
    expect(body).toEqual([
      { line: 2, username: one, fault: null, password: null },
      { line: 3, username: one, fault: expect.stringContaining('taken'), password: null },
    ])
    const sent = await t
      .api('post', '/admin/users/import', admin)
      .attach('file', Buffer.from(`username;email\n${two};${two}@example.com\n`), 'users.csv')
      .expect(201)
    expect(sent.body).toEqual([{ line: 2, username: two, fault: null, password: expect.stringMatching(/^[\w-]{20}$/) }])
    expect((await t.api('get', `/users?username=${two}`, admin).expect(200)).body).toHaveLength(1)
    await t.api('post', '/admin/users/import', admin).send({ text: 'name\nx' }).expect(400)
    await t.api('post', '/admin/users/import', admin).send({}).expect(400)
  })
})
