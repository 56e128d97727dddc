import { and, isNotNull, ne } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { users } from '../../../src/db/schema/index.js'
import { importServer } from '../../../src/services/imports/import-server.js'
import { testApp } from '../../support/app.js'
import { anAdmin, type TestUser } from '../../support/factories.js'
import { gitOut } from '../../support/git-client.js'
import { receiver } from '../../support/receiver.js'
import { type RichServer, richServer } from '../../support/rich-server.js'

const there = testApp()
const here = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
let rich: RichServer
let admin: TestUser
let report: Awaited<ReturnType<typeof importServer>>

const listener = receiver()

beforeAll(async () => {
  rich = await richServer(there)
  admin = await anAdmin(here.ctx, { username: 'boss' })
  await here
    .api('post', '/hooks', admin)
    .send({ url: `${listener.url}/system`, push_events: true, merge_requests_events: true })
    .expect(201)
  report = await importServer(here.ctx, { url: there.url, token: rich.admin.token })
}, 60_000)

const PROJECT = '/projects/works%2Fengines%2Fanalytical'

/** What another server gives anew: ids, addresses, and what depends on who asks. */
const OWN = new Set(
  'id group_id project_id namespace_id parent_id creator_id source_project_id target_project_id noteable_id author_id merge_request_id moved_to_id web_url avatar_url readme_url http_url_to_repo ssh_url_to_repo _links raw_url url assets subscribed permissions user commit_path tag_path forked_from_project last_sign_in_at current_sign_in_at last_activity_on is_admin confirmed_at import_status'.split(
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

describe('an import', () => {
  it('brings repositories and wikis with every ref that clients see', async () => {
    for (const path of ['works/engines/analytical.git', 'works/engines/analytical.wiki.git', 'grace/notes.git']) {
      const refs = ({ url }: { url: string }, token: string) => gitOut('.', 'ls-remote', `${url.replace('://', `://oauth2:${token}@`)}/${path}`)
      expect(await refs(here, admin.token)).toBe(await refs(there, rich.admin.token))
    }
  })

  it('tells nobody: no webhook, no event', async () => {
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

  it('goes on counting numbers after those that came', async () => {
    const { body } = await here.api('post', `${PROJECT}/issues`, admin).send({ title: 'new' }).expect(201)
    expect(body).toMatchObject({ iid: 3 })
    await here.api('delete', `${PROJECT}/issues/3`, admin).expect(204)
  })

  it('that is run again changes nothing, but brings what has come since', async () => {
    const again = await importServer(here.ctx, { url: `${there.url}/`, token: rich.admin.token })
    expect(again).toEqual(report)
    await there.api('post', `${PROJECT}/issues`, rich.admin).send({ title: 'later' }).expect(201)
    const later = await importServer(here.ctx, { url: there.url, token: rich.admin.token, projects: ['works/engines/analytical'] })
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
