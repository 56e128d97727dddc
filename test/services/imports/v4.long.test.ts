// @module-tag long
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { and, isNotNull, ne, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { build } from '../../../scripts/build.mjs'
import { users } from '../../../src/db/schema/index.js'
import { importServer } from '../../../src/services/imports/import-server.js'
import { testApp } from '../../support/app.js'
import { gitOut } from '../../support/clients/git-client.js'
import { lfsClient } from '../../support/clients/lfs-client.js'
import { anAdmin, type TestUser } from '../../support/factories.js'
import { localServer } from '../../support/servers/local-server.js'
import { receiver } from '../../support/servers/receiver.js'
import { PICTURE, type RichServer, richServer } from '../../support/servers/rich-server.js'

const startScript = fileURLToPath(new URL('../../../scripts/start.mjs', import.meta.url))

const there = testApp()
const here = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const killed = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
let rich: RichServer
let admin: TestUser
let report: Awaited<ReturnType<typeof importServer>>
/** Requests that the proxy still lets through; the following ones fail. */
let left = Number.POSITIVE_INFINITY
const proxy = localServer((asked, answer) => {
  if (left-- <= 0) return void answer.writeHead(502, { 'retry-after': '0' }).end()
  const { method, headers, url: path } = asked
  const call = request(`${there.url}${path}`, { method, headers }, (response) => {
    answer.writeHead(response.statusCode ?? 500, response.headers)
    response.pipe(answer)
  })
  call.on('error', () => answer.destroy())
  asked.pipe(call)
})
/** How the runs of the import ended. */
const faults: (string | null)[] = []

const listener = receiver()

beforeAll(async () => {
  rich = await richServer(there)
  admin = await anAdmin(here.ctx, { username: 'boss' })
  await here
    .api('post', '/hooks', admin)
    .send({ url: `${listener.url}/system`, push_events: true, merge_requests_events: true })
    .expect(201)
  await build()
  for (let most = 10; faults.at(-1) !== null; most += 3) {
    left = most
    report = await importServer(here.ctx, { url: proxy.url, token: rich.admin.token })
    faults.push(report.fault)
  }
  left = Number.POSITIVE_INFINITY
}, 120_000)

const PROJECT = '/projects/works%2Fengines%2Fanalytical'

/** What another server assigns itself, or what depends on the caller: ids and addresses. */
const OWN = new Set(
  'id group_id project_id namespace_id parent_id creator_id source_project_id target_project_id noteable_id author_id merge_request_id moved_to_id web_url avatar_url readme_url http_url_to_repo ssh_url_to_repo _links raw_url url assets subscribed permissions user commit_path tag_path forked_from_project last_sign_in_at current_sign_in_at last_activity_on is_admin confirmed_at import_status runners_token'.split(
    ' ',
  ),
)

/** An answer without them; users by their names. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([field]) => !OWN.has(field))
  return Object.fromEntries(entries.map(([field, each]) => [field, bare(each)]))
}

const ask = async (path: string) => {
  const [source, copy] = await Promise.all([there.api('get', path, rich.admin), here.api('get', path, admin)])
  return { source: source.body as unknown, copy: copy.body as unknown, statuses: [source.status, copy.status] }
}

describe('what an import from a server with the v4 API brings', () => {
  it('is said in its report', () => {
    expect(report).toMatchObject({ from: 'v4', finished: true, fault: null, dry_run: false })
    expect(report.left_out).toEqual([{ kind: 'administrator', name: 'chief', reason: 'is an ordinary user here' }])
    expect(report.came).toMatchObject({ user: 4, group: 2, project: 3, repository: 3, wiki: 1, issue: 2, 'merge request': 4, 'deploy key': 1 })
  })

  it.each([
    '/users?username=ada',
    '/users?username=gone',
    '/groups/works?with_projects=false',
    '/groups/works%2Fengines?with_projects=false',
    '/groups/works/members',
    '/groups/works/labels',
    '/groups/works/milestones',
    '/groups/works/variables',
    PROJECT,
    `${PROJECT}/members`,
    `${PROJECT}/labels`,
    `${PROJECT}/milestones`,
    `${PROJECT}/variables`,
    `${PROJECT}/hooks`,
    `${PROJECT}/deploy_keys`,
    `${PROJECT}/protected_branches`,
    `${PROJECT}/protected_tags`,
    `${PROJECT}/repository/branches`,
    `${PROJECT}/repository/tags`,
    `${PROJECT}/issues?order_by=created_at&sort=asc`,
    `${PROJECT}/issues/1/discussions`,
    `${PROJECT}/issues/1/participants`,
    `${PROJECT}/issues/1/closed_by`,
    `${PROJECT}/merge_requests/1`,
    `${PROJECT}/merge_requests/2`,
    `${PROJECT}/merge_requests/3`,
    `${PROJECT}/merge_requests/1/changes`,
    `${PROJECT}/merge_requests/2/changes`,
    `${PROJECT}/merge_requests/1/versions`,
    `${PROJECT}/merge_requests/1/approvals`,
    `${PROJECT}/merge_requests/1/commits`,
    `${PROJECT}/merge_requests/1/discussions`,
    `${PROJECT}/releases`,
    `${PROJECT}/snippets`,
    `${PROJECT}/wikis?with_content=1`,
    '/projects/ada%2Fnotes',
    '/projects/ada%2Fnotes/merge_requests/1',
    '/projects/ada%2Fnotes/merge_requests/1/changes',
    '/projects/grace%2Fnotes',
    '/snippets/public',
  ])('is the same here and there: %s', async (path) => {
    const { source, copy, statuses } = await ask(path)
    expect(statuses).toEqual([200, 200])
    expect(bare(copy)).toEqual(bare(source))
  })
})

/** How many rows each table has: as many as there. */
async function rowsOf({ ctx }: typeof there): Promise<Record<string, number>> {
  const tables = 'users namespaces routes members projects labels milestones issues issue_labels merge_requests merge_request_labels notes mentions'
  const more =
    'merge_request_versions merge_request_commits merge_request_approvals releases release_links snippets variables web_hooks ssh_keys deploy_keys_projects'
  const counts: Record<string, number> = {}
  for (const table of `${tables} ${more} protected_branches protected_tags`.split(' ')) {
    const { rows } = await ctx.db.write.execute<{ count: string }>(sql`select count(*) from ${sql.identifier(table)}`)
    counts[table] = Number(rows[0]?.count)
  }
  return counts
}

describe('links of releases', () => {
  it('have the same addresses below the project (RL-7)', async () => {
    const { source, copy } = await ask(`${PROJECT}/releases/v1.0/assets/links`)
    const addresses = (links: unknown) => (links as { direct_asset_url: string }[]).map((link) => new URL(link.direct_asset_url).pathname)
    expect(addresses(copy)).toEqual(['/plan', '/works/engines/analytical/-/releases/v1.0/downloads/bin/engine'])
    expect(addresses(copy)).toEqual(addresses(source))
  })
})

describe('an import', () => {
  it('continues where the other server failed', () => {
    expect(faults.length).toBeGreaterThan(2)
    expect(new Set(faults)).toEqual(new Set(['the server answers 502', null]))
  })

  it('leaves nothing twice', async () => {
    const counts = await rowsOf(here)
    // an administrator and a hook were here before
    for (const table of ['users', 'namespaces', 'routes', 'web_hooks']) counts[table] = (counts[table] ?? 0) - 1
    expect(counts).toEqual(await rowsOf(there))
  })

  it('continues where it was killed', async () => {
    const env = { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], DATA_DIR: killed.dataDir, DATABASE_URL: killed.databaseUrl }
    const run = () =>
      spawn(process.execPath, [startScript, 'import', proxy.url, '--token', rich.admin.token, '--json'], {
        env: { ...env, ROOST_ALLOW_LOCAL_REQUESTS: 'true' },
      })
    for (let round = 0; round < 12; round++) {
      const child = run()
      const ended = once(child, 'exit')
      // its first request comes before anything is written
      await Promise.race([once(proxy.server, 'request'), ended])
      await sleep(Math.random() * 1_500)
      child.kill('SIGKILL')
      await ended
    }
    const last = run()
    const [code] = await once(last, 'exit')
    expect(code).toBe(0)
    expect(await rowsOf(killed)).toEqual(await rowsOf(there))
    await killed.ctx.jobs.drain()
    const { rows } = await killed.ctx.db.write.execute<{ count: string }>(
      sql`select count(*) from pending_repository_deletions where project_id in (select id from projects)`,
    )
    expect(rows[0]?.count).toBe('0')
  })

  it('brings repositories and wikis with every ref that clients see', async () => {
    for (const path of ['works/engines/analytical.git', 'works/engines/analytical.wiki.git', 'grace/notes.git']) {
      const refs = ({ url }: { url: string }, token: string) => gitOut('.', 'ls-remote', `${url.replace('://', `://oauth2:${token}@`)}/${path}`)
      expect(await refs(here, admin.token)).toBe(await refs(there, rich.admin.token))
    }
  })

  it('brings the objects of Git LFS', async () => {
    const { body } = await lfsClient(here).batch('works/engines/analytical', admin, 'download', [PICTURE])
    expect(body.objects).toMatchObject([{ oid: PICTURE.oid, actions: { download: {} } }])
    expect(report.came).toMatchObject({ 'LFS object': 1 })
  })

  it('sends nothing: no webhook, no event', async () => {
    await here.ctx.jobs.drain()
    expect(listener.got).toEqual([])
    expect((await here.api('get', `${PROJECT}/events`, admin)).body).toEqual([])
  })

  it('gives new accounts neither a password nor rights over the server, and old ones no keys', async () => {
    const { body } = await here.api('get', '/users?username=chief', admin)
    expect(body).toMatchObject([{ is_admin: false, state: 'active' }])
    const keys = async (name: string) => (await here.api('get', `/users/${(await idOf(name)) ?? 0}/keys`, admin)).body as unknown[]
    expect(await keys('ada')).toHaveLength(1)
    expect(await here.ctx.db.write.$count(users, and(ne(users.username, 'boss'), isNotNull(users.password_hash)))).toBe(0)
  })

  it('continues numbers after the imported ones', async () => {
    const { body } = await here.api('post', `${PROJECT}/issues`, admin).send({ title: 'new' }).expect(201)
    expect(body).toMatchObject({ iid: 3 })
    await here.api('delete', `${PROJECT}/issues/3`, admin).expect(204)
  })

  it('that is repeated changes nothing, but imports new items', async () => {
    const again = await importServer(here.ctx, { url: `${proxy.url}/`, token: rich.admin.token })
    expect(again).toEqual(report)
    await there.api('post', `${PROJECT}/issues`, rich.admin).send({ title: 'later' }).expect(201)
    const later = await importServer(here.ctx, { url: proxy.url, token: rich.admin.token, projects: ['works/engines/analytical'] })
    expect(later.came).toEqual({ ...report.came, issue: 3 })
  })

  it('puts groups below another one, and only those that are wanted', async () => {
    const { body: group } = await here.api('post', '/groups', admin).send({ name: 'Old', path: 'old', visibility: 'internal' }).expect(201)
    const port = new URL(there.url).port
    // another name of the same server is another server
    const given = { url: `http://localhost:${port}`, token: rich.admin.token, groups: ['works/engines'], into: 'old' }
    const { came, left_out } = await importServer(here.ctx, { ...given, users: new Map([['chief', 'boss']]) })
    expect(came).toMatchObject({ group: 2, project: 1 })
    expect(left_out.filter(({ kind }) => kind === 'deploy key' || kind === 'key')).toEqual([])
    const { body: moved } = await here.api('get', '/projects/old%2Fworks%2Fengines%2Fanalytical', admin).expect(200)
    expect(moved).toMatchObject({ visibility: 'internal' })
    expect((await here.api('get', `/groups/${group.id}/subgroups`, admin)).body).toMatchObject([{ path: 'works', visibility: 'internal' }])
  })
})

const idOf = async (name: string) => (await here.api('get', `/users?username=${name}`, admin)).body[0]?.id as number | undefined
