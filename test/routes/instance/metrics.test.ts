import { readFileSync } from 'node:fs'
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { enqueue } from '../../../src/jobs/enqueue.js'
import { defineJob } from '../../../src/jobs/kinds.js'
import { testApp } from '../../support/app.js'
import { commitIn, gitClient, gitOut } from '../../support/clients/git-client.js'
import { callAndLeave } from '../../support/clients/leaving-client.js'
import { aCommit, anAdmin, aProject, aToken, aUser } from '../../support/factories.js'
import { receiver } from '../../support/servers/receiver.js'

const TOKEN = 'a-token-for-the-metrics'

describe('metrics without a token', () => {
  const t = testApp()
  it('are not there (SEC-169)', async () => {
    for (const authorization of ['', `Bearer ${TOKEN}`, 'Bearer '])
      expect((await fetch(`${t.url}/-/metrics`, { headers: { authorization } })).status).toBe(404)
  })

  it('are there for administrators while monitoring_metrics_enabled is on (SEC-169, AS-52)', async () => {
    const [admin, user] = [await anAdmin(t.ctx), await aUser(t.ctx)]
    const readOnly = await aToken(t.ctx, admin, ['read_user'])
    const read = (token: string) => fetch(`${t.url}/-/metrics`, { headers: { 'private-token': token } })
    expect((await read(admin.token)).status).toBe(404)
    await t.api('put', '/application/settings', admin).send({ monitoring_metrics_enabled: true }).expect(200)
    const first = await read(admin.token)
    expect(first.status).toBe(200)
    expect(first.headers.get('content-type')).toMatch(/^text\/plain; version=/)
    await t.api('get', '/projects', user).expect(200)
    expect(await (await read(admin.token)).text()).toMatch(/^roost_request_seconds_count\{.*route="\/api\/v4\/projects".*\} 1$/m)
    for (const method of ['PROPFIND', 'LOCK', 'DELETE']) expect((await fetch(`${t.url}/api/v4/version`, { method })).status).toBe(405)
    const methods = (await (await read(admin.token)).text()).matchAll(/^roost_request_seconds_count\{method="(.*)",route="(.*)",status="405"\}/gm)
    expect([...methods].map(([, method, route]) => [method, route])).toEqual(['PROPFIND', 'LOCK', 'DELETE'].map((method) => [method, 'none']))
    for (const token of [user.token, readOnly, 'no token', TOKEN]) expect((await read(token)).status).toBe(404)
    expect((await fetch(`${t.url}/-/metrics`)).status).toBe(404)
    await t.api('put', '/application/settings', admin).send({ monitoring_metrics_enabled: false }).expect(200)
    expect((await read(admin.token)).status).toBe(404)
  })
})

describe('metrics for addresses', () => {
  const t = testApp({ METRICS_ALLOWED: '10.0.0.0/8, 127.0.0.0/30,::1', ROOST_TRUSTED_PROXIES: '127.0.0.1' })
  it.each([
    ['10.1.2.3', 200],
    ['11.1.2.3', 404],
    ['127.0.0.3', 200],
    ['127.0.0.4', 404],
    ['::ffff:10.1.2.3', 200],
    ['::1', 200],
    ['::2', 404],
  ])('%s gets %i (SEC-169)', async (address, status) => {
    expect((await fetch(`${t.url}/-/metrics`, { headers: { 'x-forwarded-for': address } })).status).toBe(status)
  })
})

describe('metrics for a token', () => {
  const t = testApp({ METRICS_TOKEN: TOKEN, ROOST_ALLOW_LOCAL_REQUESTS: 'true' }, { upkeep: true })
  const there = receiver()
  const page = async () => {
    const answer = await fetch(`${t.url}/-/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^text\/plain/)])
    return answer.text()
  }
  /** The value of one line; undefined: there is none. */
  const lineOf = (text: string, line: string) => {
    const found = text.split('\n').find((each) => each.startsWith(`${line} `))
    return found === undefined ? undefined : Number(found.slice(line.length))
  }

  it('are for no other caller, by any method (SEC-169)', async () => {
    for (const authorization of ['', 'Bearer another-token-for-them', `Basic ${TOKEN}`])
      expect((await fetch(`${t.url}/-/metrics`, { headers: { authorization } })).status).toBe(404)
    expect((await fetch(`${t.url}/-/metrics`, { method: 'POST' })).status).toBe(405)
  })

  it('count deliveries of webhooks by what came of them', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    there.reply('/fails', { status: 500 })
    for (const path of ['works', 'fails']) {
      const { id } = (
        await t
          .api('post', `${project.path}/hooks`, project.creator)
          .send({ url: `${there.url}/${path}` })
          .expect(201)
      ).body
      await t.api('post', `${project.path}/hooks/${id}/test/push_events`, project.creator).expect(201)
    }
    const text = await page()
    for (const result of ['done', 'failed']) expect(lineOf(text, `roost_webhook_seconds_count{event="push_hooks",result="${result}"}`)).toBe(1)
  })

  it('count requests by route and status, pushes, git, sign-ins and jobs, and have no names', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    for (let i = 0; i < 3; i++) await t.api('get', project.path, project.creator).expect(200)
    await t.api('get', '/projects/0', null).expect(404)
    await t.api('get', '/user', { token: 'no-such-token-at-all' }).expect(401)
    const client = gitClient(t)
    const work = await client.cloned(client.url(project.fullPath, project.creator))
    await commitIn(work, 'b')
    await gitOut(work, 'push', '-q', client.url(project.fullPath, project.creator), 'HEAD:main')
    await t.ctx.jobs.drain()
    const text = await page()
    const requests = 'roost_request_seconds_count{method="GET",route="/api/v4/projects/:id"'
    expect(lineOf(text, `${requests},status="200"}`)).toBe(3)
    expect(lineOf(text, `${requests},status="404"}`)).toBe(1)
    expect(lineOf(text, 'roost_pushes_total{kind="project"}')).toBe(1)
    expect(lineOf(text, 'roost_logins_total{how="token",result="refused"}')).toBe(1)
    expect(lineOf(text, 'roost_git_process_seconds_count{kind="receive-pack"}')).toBe(2)
    expect(lineOf(text, 'roost_job_seconds_count{kind="repository upkeep",end="done"}')).toBeGreaterThan(0)
    expect(lineOf(text, 'roost_database_connections{state="waiting"}')).toBe(0)
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds')
    expect(text).toContain('roost_cache_lookups{cache="rendered",result="miss"}')
    for (const secret of [project.fullPath, project.creator.username, project.creator.token]) expect(text).not.toContain(secret)
  })

  it('have the number of waiting jobs by kind, and how long they have waited', async () => {
    const job = defineJob({ kind: 'of a newer version', input: z.object({}), run: async () => undefined })
    await enqueue(t.ctx.db, job, {}, { runAt: new Date(Date.now() - 60_000) })
    await enqueue(t.ctx.db, job, {}, { delay: 3_600_000 })
    const text = await page()
    const jobs = (state: string) => lineOf(text, `roost_jobs{kind="of a newer version",state="${state}"}`)
    expect(['waiting', 'later', 'running', 'failed'].map(jobs)).toEqual([1, 1, 0, 0])
    expect(lineOf(text, 'roost_job_delay_seconds{kind="of a newer version"}')).toBeGreaterThanOrEqual(60)
  })

  it('have every name that the dashboard and the alerts ask for', async () => {
    await aCommit(t.ctx, await aProject(t.ctx, { files: { a: 'a' } }), { b: 'b' })
    await t.api('get', '/user', await aUser(t.ctx)).expect(200)
    const text = await page()
    // those of several processes are shown in test/workers.long.test.ts
    const ofWorkers = ['roost_workers', 'roost_workers_replaced_total']
    const known = new Set([...ofWorkers, ...[...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name as string)])
    const asked = ['docs/monitoring/dashboard.json', 'docs/monitoring.md'].flatMap(
      // points have other names
      (file) =>
        readFileSync(file, 'utf8')
          .replace(/^## Points over UDP\n[^#]*/m, '')
          .match(/\b(?:roost|nodejs|process)_[a-z0-9_]+/g) ?? [],
    )
    const base = asked.map((name) => name.replace(/_(bucket|count|sum)$/, '')).filter((name) => !known.has(name))
    expect(asked.length).toBeGreaterThan(10)
    expect(base).toEqual([])
  })

  it('request lines have the route, the path without secrets, the caller, the project, and what they cost', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const from = t.logged.length
    await t.api('get', `${project.path}/repository/commits?password=hidden-hidden`, project.creator)
    await fetch(`${t.url}/${project.fullPath}/uploads/${'0123456789abcdef'.repeat(2)}/a.png`)
    const lines = () =>
      t.logged
        .slice(from)
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ msg }) => msg === 'request')
    await expect.poll(() => lines().length).toBeGreaterThanOrEqual(2)
    expect(lines()).toContainEqual(
      expect.objectContaining({
        route: '/api/v4/projects/:id/repository/commits',
        path: `/api/v4${project.path}/repository/commits`,
        user: project.creator.username,
        project: project.path.split('/').at(-1),
        database_ms: expect.any(Number),
        bytes: expect.any(Number),
      }),
    )
    expect(lines()).toContainEqual(expect.objectContaining({ path: `/${project.fullPath}/uploads/[masked]/a.png` }))
    expect(t.logged.slice(from).join('')).not.toMatch(/hidden-hidden|0123456789abcdef/)
  })

  it('a call whose client has gone before the answer has a line and counts, with status 499', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const from = t.logged.length
    const counted = async () => lineOf(await page(), 'roost_request_seconds_count{method="GET",route="/api/v4/projects/:id/events",status="499"}')
    expect(await counted()).toBeUndefined()
    await t.ctx.db.transaction(async (tx) => {
      await tx.execute(sql`lock table projects in access exclusive mode`)
      const { hostname, port } = new URL(t.url)
      await callAndLeave(t.app.server, {
        ...{ hostname, port, path: `/api/v4${project.path}/events` },
        headers: { 'private-token': project.creator.token },
      })
      await expect.poll(() => t.logged.slice(from).filter((line) => line.includes('"status":499'))).toHaveLength(1)
    })
    expect(await counted()).toBe(1)
    expect(t.logged.slice(from).filter((line) => line.includes(`${project.path}/events`))).toHaveLength(1)
  })
})
