// @module-tag long
import { spawn } from 'node:child_process'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ImportReport, importServer } from '../../../src/services/imports/import-server.js'
import { testApp } from '../../support/app.js'
import { anAdmin, type TestUser } from '../../support/factories.js'
import { aBareRepository, type TestRepository } from '../../support/git.js'
import { localServer } from '../../support/servers/local-server.js'

const t = testApp()
let admin: TestUser
let repository: TestRepository
let commits: { main: string; feature: string; merge: string; later: string }
let answers: Record<string, unknown> = {}

/**
 * A list of which a page has two elements, and whose answers have its length but no links; where no page is asked for,
 * the answer is all of it with a link to the second page.
 */
class Counted {
  constructor(readonly elements: unknown[]) {}
  page = (number: number) => this.elements.slice((number - 1) * 2, number * 2)
}

const headers: (string | undefined)[] = []

const local = localServer((request, response) => {
  const { pathname: whole, search, searchParams } = new URL(request.url ?? '', 'http://x')
  const pathname = whole.replace(/^\/place\d+/, '')
  headers.push(request.headers.authorization)
  if (pathname.startsWith('/acme/app.git/')) return uploadPack(pathname, request, response)
  const all = answers[pathname + search] ?? answers[pathname]
  const page = searchParams.get('page')
  const found = all instanceof Counted ? (page === null ? all.elements : all.page(Number(page))) : all
  if (all instanceof Counted) response.setHeader('x-total-count', all.elements.length)
  if (all instanceof Counted && page === null) response.setHeader('link', `<${whole}?page=2>; rel="next"`)
  response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(found ?? {}))
})

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  repository = aBareRepository()
  const [main, feature, merge, later] = repository.commits(
    { files: { 'a.txt': 'a\n' } },
    { branch: 'feature', parents: [0], files: { 'b.txt': 'b\n' } },
    { parents: [0, 1], files: { 'b.txt': 'b\n' } },
    { branch: 'later', parents: [1], files: { 'c.txt': 'c\n' } },
  ) as [string, string, string, string]
  commits = { main, feature, merge, later }
  repository.git('update-ref', '-d', 'refs/heads/later')
  repository.git('update-ref', 'refs/pull/3/head', feature)
  repository.git('update-ref', '-d', 'refs/heads/feature')
  repository.git('tag', 'v1', main)
})
afterAll(() => repository.remove())

/** Git over HTTP, as far as a fetch needs it. */
function uploadPack(path: string, request: IncomingMessage, response: ServerResponse): void {
  const advertises = path.endsWith('/info/refs')
  response.setHeader('content-type', `application/x-git-upload-pack-${advertises ? 'advertisement' : 'result'}`)
  if (advertises) response.write('001e# service=git-upload-pack\n0000')
  const git = spawn('git', ['upload-pack', '--stateless-rpc', ...(advertises ? ['--advertise-refs'] : []), repository.directory], {
    env: { PATH: process.env['PATH'], ...(request.headers['git-protocol'] && { GIT_PROTOCOL: String(request.headers['git-protocol']) }) },
  })
  request.pipe(git.stdin)
  git.stdout.pipe(response)
}

const user = (id: number, login: string, more = {}) => ({ id, login, username: login, full_name: '', email: `${login}@example.com`, ...more })
const [bob, carol] = [user(2, 'bob', { full_name: 'Bob B' }), user(3, 'carol')]
const repo = {
  id: 9,
  name: 'app',
  full_name: 'acme/app',
  owner: user(4, 'acme'),
  description: 'the app',
  private: true,
  empty: false,
  default_branch: 'main',
}
const times = { created_at: '2020-01-02T03:04:05Z', updated_at: '2021-01-02T03:04:05+01:00' }
const label = { id: 1, name: 'bug', color: 'ff0000', description: '' }
const milestone = { id: 8, title: 'v1', description: 'first', state: 'closed', due_on: '2031-01-01T00:00:00Z', ...times }
const issue = {
  id: 11,
  number: 1,
  title: 'It jams',
  body: '- [x] oil',
  user: bob,
  assignee: carol,
  labels: [label],
  milestone,
  state: 'closed',
  comments: 1,
  ...times,
}
const comment = { id: 21, body: 'so it does', user: carol, ...times }
const shared = () => ({
  '/api/v1/orgs/acme/teams': [
    { id: 1, name: 'Owners', permission: 'owner', includes_all_repositories: true },
    { id: 2, name: 'devs', permission: 'write', includes_all_repositories: true },
  ],
  '/api/v1/users/bob/keys': [{ id: 1, title: 'k', key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl bob' }],
  '/api/v1/repos/acme/app/labels': [label],
  '/api/v1/repos/acme/app/milestones': [milestone],
  '/api/v1/repos/acme/app/issues/1/comments': [comment, { ...comment, id: 22, body: '' }],
  '/api/v1/repos/acme/app/releases': [
    { id: 1, tag_name: 'v1', name: 'One', body: 'the first', draft: false, author: bob, ...times },
    { id: 2, tag_name: 'v2', draft: true },
  ],
})
const keysOf = (report: ImportReport) => report.left_out.map(({ kind, reason }) => `${kind}: ${reason}`)

describe('an import from Gitea', () => {
  it('brings users, organisations, repositories, issues and pull requests', async () => {
    const pull = { ...issue, id: 13, number: 3, title: 'More', merged: true, merged_at: times.updated_at, merged_by: carol }
    answers = {
      ...shared(),
      '/api/v1/version': { version: '1.22.0' },
      '/api/v1/admin/users': [bob, carol],
      '/api/v1/orgs': [{ id: 4, username: 'acme', full_name: 'Acme Inc', description: 'all of it', visibility: 'limited' }],
      '/api/v1/teams/1/members': [bob],
      '/api/v1/teams/2/members': [bob, carol],
      '/api/v1/repos/search': { ok: true, data: [repo] },
      '/api/v1/repos/acme/app/issues': [issue, { ...pull, pull_request: { merged: true } }],
      '/api/v1/repos/acme/app/pulls': [
        {
          ...pull,
          merge_commit_sha: commits.merge,
          base: { ref: 'main', sha: commits.main, repo: { id: 9 } },
          head: { ref: 'feature', sha: commits.feature, repo: { id: 9 } },
        },
      ],
      '/api/v1/repos/acme/app/issues/3/comments': [{ ...comment, id: 23 }],
      '/api/v1/repos/acme/app/collaborators': [user(7, 'dave')],
      '/api/v1/repos/acme/app/branch_protections': [{ rule_name: 'main', enable_push: true, enable_push_whitelist: true }],
    }
    const report = await importServer(t.ctx, { url: local.url, token: 'tea' })
    expect(report).toMatchObject({
      from: 'gitea',
      finished: true,
      came: { user: 3, group: 1, project: 1, repository: 1, issue: 1, 'merge request': 1, release: 1, key: 1 },
    })
    expect(keysOf(report).filter((reason) => !/404/.test(reason))).toEqual([])
    expect(new Set(headers.filter(Boolean))).toEqual(new Set(['token tea', `Basic ${Buffer.from('tea:x-oauth-basic').toString('base64')}`]))
    const get = async (path: string) => (await t.api('get', path, admin).expect(200)).body
    const app = '/projects/acme%2Fapp'
    expect(await get('/groups/acme/members')).toMatchObject([
      { username: 'bob', access_level: 50 },
      { username: 'carol', access_level: 30 },
    ])
    expect(await get(`${app}/members`)).toMatchObject([{ username: 'dave', access_level: 20 }])
    expect(await get(`${app}/issues/1`)).toMatchObject({
      ...{ state: 'closed', title: 'It jams', author: { username: 'bob' }, assignee: { username: 'carol' }, labels: ['bug'], user_notes_count: 1 },
      ...{
        created_at: '2020-01-02T03:04:05.000Z',
        updated_at: '2021-01-02T02:04:05.000Z',
        milestone: { title: 'v1', state: 'closed', due_date: '2031-01-01' },
      },
      task_completion_status: { count: 1, completed_count: 1 },
    })
    expect(await get(`${app}/merge_requests/3`)).toMatchObject({
      ...{ state: 'merged', merge_commit_sha: commits.merge, merged_by: { username: 'carol' }, sha: commits.feature, changes_count: '1' },
      ...{ source_branch: 'feature', target_branch: 'main', user_notes_count: 1 },
    })
    expect((await get(`${app}/merge_requests/3/changes`)).changes).toMatchObject([{ new_path: 'b.txt', new_file: true }])
    expect(await get(`${app}/protected_branches`)).toMatchObject([{ name: 'main', push_access_levels: [{ access_level: 40 }] }])
    expect(await get(`${app}/releases`)).toMatchObject([{ tag_name: 'v1', name: 'One', created_at: '2020-01-02T03:04:05.000Z' }])
    expect(await get(app)).toMatchObject({ visibility: 'private', default_branch: 'main' })
  })
})

describe('what a real Gitea answers', () => {
  let place = 0
  /** Each test has its own server: the same one below another path; its group goes into a separate one. */
  const run = async (given: Record<string, unknown>) => {
    answers = { '/api/v1/version': { version: '1.23.8' }, '/api/v1/admin/users': [bob, carol], '/api/v1/orgs': [acme], ...given }
    place++
    const into = `place${place}`
    await t.api('post', '/groups', admin).send({ name: into, path: into, visibility: 'public' }).expect(201)
    const report = await importServer(t.ctx, { url: `${local.url}/${into}`, token: 'tea', into })
    expect(report).toMatchObject({ from: 'gitea', finished: true })
    const get = async (path: string) => (await t.api('get', path, admin).expect(200)).body
    return { report, get, group: `/groups/${into}%2Facme`, app: `/projects/${into}%2Facme%2Fapp` }
  }
  const acme = { id: 4, username: 'acme', full_name: 'Acme Inc', description: '', visibility: 'public' }
  const app = { ...repo, owner: { ...repo.owner, visibility: 'public' } }
  const left = ({ left_out }: ImportReport, of: string) =>
    left_out.flatMap(({ kind, name, reason }) => (kind === of && !/404/.test(reason) ? [`${name}: ${reason}`] : []))

  it('lists without links are read to the length that they say', async () => {
    const labels = [1, 2, 3, 4, 5].map((id) => ({ ...label, id, name: `label ${id}` }))
    const { report } = await run({ '/api/v1/repos/search': [app], '/api/v1/repos/acme/app/labels': new Counted(labels) })
    expect(report.came).toMatchObject({ label: 5 })
    expect(left(report, 'label')).toEqual([])
    // one that is longer than what it gives ends all the same
    class Short extends Counted {
      override page = (number: number) => (number === 1 ? this.elements.slice(0, 2) : [])
    }
    expect((await run({ '/api/v1/repos/search': [app], '/api/v1/repos/acme/app/labels': new Short(labels) })).report.came).toMatchObject({ label: 2 })
  })

  it('a team is for the repositories that it names, with what it may do with code (SEC-212)', async () => {
    const people = [1, 2, 3, 4, 5].map((n) => user(100 + n, `member${n}`))
    const team = (id: number, permission: string, more = {}) => ({ id, name: `team${id}`, permission, includes_all_repositories: true, ...more })
    const {
      report,
      get,
      group,
      app: path,
    } = await run({
      '/api/v1/repos/search': [app],
      '/api/v1/orgs/acme/teams': [
        team(11, 'read'),
        team(12, 'write', { includes_all_repositories: false }),
        team(13, 'write', { units_map: { 'repo.issues': 'write' } }),
        team(14, 'read', { units_map: { 'repo.wiki': 'read' } }),
        team(15, 'none', { units_map: { 'repo.code': 'write', 'repo.issues': 'read' } }),
      ],
      ...Object.fromEntries([11, 12, 13, 14, 15].map((id) => [`/api/v1/teams/${id}/members`, [people[id - 11]]])),
      '/api/v1/teams/12/repos': [{ id: 9, full_name: 'acme/app' }],
      '/api/v1/repos/acme/app/collaborators': [people[1]],
      '/api/v1/repos/acme/app/collaborators/member2/permission': { permission: 'read', user: people[1] },
    })
    const levels = (members: { username: string; access_level: number }[]) =>
      members.map(({ username, access_level }) => [username, access_level]).sort()
    expect(levels(await get(`${group}/members`))).toEqual([
      ['member1', 20],
      ['member3', 10],
      ['member5', 30],
    ])
    expect(levels(await get(`${path}/members`))).toEqual([['member2', 30]])
    expect(left(report, 'team')).toEqual(['acme: team14: its members may read neither code nor issues, for which there is no level'])
  })

  it('says of each collaborator what they may do', async () => {
    const people = ['reader', 'writer', 'keeper', 'chief', 'unsaid'].map((name, at) => user(200 + at, name))
    const rights = ['read', 'write', 'admin', 'owner'].map((permission, at) => [
      `/api/v1/repos/acme/app/collaborators/${people[at]?.login}/permission`,
      { permission, role_name: permission, user: people[at] },
    ])
    const { get, app: path } = await run({
      '/api/v1/repos/search': [app],
      '/api/v1/repos/acme/app/collaborators': new Counted(people),
      ...Object.fromEntries(rights),
    })
    // an owner who is only a collaborator is an administrator of the server there
    expect((await get(`${path}/members?sort=id`)).map(({ access_level }: { access_level: number }) => access_level)).toEqual([20, 30, 40, 20, 20])
  })

  it('what a limited or private user owns is no more visible here', async () => {
    const owned = ['public', 'limited', 'private'].map((visibility, at) => {
      const owner = user(300 + at, `${visibility}-owner`, { visibility })
      return {
        ...repo,
        id: 300 + at,
        name: 'own',
        full_name: `${owner.login}/own`,
        private: false,
        internal: visibility === 'private',
        empty: true,
        owner,
      }
    })
    const { get } = await run({ '/api/v1/repos/search': owned })
    for (const [there, here] of Object.entries({ public: 'public', limited: 'internal', private: 'private' }))
      expect(await get(`/projects/${there}-owner%2Fown`)).toMatchObject({ visibility: here })
  })

  it('a restricted user is an external one', async () => {
    const { get } = await run({ '/api/v1/admin/users': [user(400, 'narrow', { restricted: true })] })
    expect(await get('/users?username=narrow')).toMatchObject([{ external: true, state: 'active' }])
  })

  it('a pull request is what it was when it was merged', async () => {
    repository.git('update-ref', 'refs/heads/develop', commits.later)
    repository.git('update-ref', 'refs/pull/5/head', commits.feature)
    const pull = (number: number, more: object) => ({ ...issue, id: 500 + number, number, milestone: null, state: 'closed', ...more })
    const base = { label: 'main', ref: 'main', sha: commits.merge, repo: { id: 9 } }
    const merged = { merged: true, merged_at: times.updated_at, merged_by: carol, merge_commit_sha: commits.merge, merge_base: commits.main }
    const { get, app: path } = await run({
      '/api/v1/repos/search': [app],
      '/api/v1/repos/acme/app/pulls': [
        // its branch has been deleted
        pull(3, { ...merged, base, head: { label: 'feature', ref: 'refs/pull/3/head', sha: commits.feature, repo: { id: 9 } } }),
        // what it went into has been deleted
        pull(4, {
          ...merged,
          base: { ...base, label: 'gone', ref: 'gone', sha: '' },
          head: { label: 'feature', ref: 'feature', sha: commits.feature },
        }),
        // its branch has moved on
        pull(5, { ...merged, base, head: { label: 'develop', ref: 'develop', sha: commits.later, repo: { id: 9 } } }),
      ],
    })
    for (const [iid, source_branch, target_branch] of [
      [3, 'feature', 'main'],
      [4, 'feature', 'gone'],
      [5, 'develop', 'main'],
    ]) {
      expect(await get(`${path}/merge_requests/${iid}/changes`)).toMatchObject({
        ...{ state: 'merged', source_branch, target_branch, sha: commits.feature, merge_commit_sha: commits.merge },
        changes: [{ new_path: 'b.txt', new_file: true }],
      })
    }
    repository.git('update-ref', '-d', 'refs/heads/develop')
    repository.git('update-ref', '-d', 'refs/pull/5/head')
  })

  it('changes names that are invalid here, and leaves repositories without an owner here', async () => {
    const org = (id: number, username: string, full_name: string) => ({ ...acme, id, username, full_name })
    const own = (id: number, full_name: string) => ({
      ...app,
      id,
      full_name,
      name: full_name.split('/')[1],
      empty: true,
      private: false,
      owner: null,
    })
    const { report, get, group } = await run({
      '/api/v1/admin/users': [user(700, 'help')],
      '/api/v1/orgs': [org(701, 'acme', 'Bell & Sons <b>')],
      '/api/v1/repos/search': [own(702, 'acme/.github'), own(703, 'help/mine')],
      '/api/v1/repos/acme/.github/labels': [{ ...label, id: 704, name: 'this, that' }],
      '/api/v1/repos/acme/.github/issues': [{ ...issue, id: 705, milestone: null, labels: [{ ...label, name: 'this, that' }] }],
    })
    expect(await get(group)).toMatchObject({ name: 'Bell _ Sons _b_', path: 'acme' })
    const path = `/projects/${encodeURIComponent(`${(await get(group)).full_path}/.github`)}`
    expect(await get(path)).toMatchObject({ name: '_github', path: '.github', issues_enabled: true })
    expect(await get(`${path}/issues/1`)).toMatchObject({ labels: ['this; that'] })
    expect(await get(`${path}/labels`)).toMatchObject([{ name: 'this; that', color: '#ff0000' }])
    expect(left(report, 'name of a group')).toEqual([expect.stringContaining('acme: Bell & Sons <b>: has characters')])
    expect(left(report, 'name of a project')).toEqual([expect.stringContaining('acme/.github: .github: has characters')])
    expect(left(report, 'project')).toEqual(['help/mine: its owner was not imported'])
  })

  it('does not request lists of disabled features', async () => {
    const off = { ...app, id: 800, has_issues: false, has_pull_requests: false }
    const repos = [
      off,
      { ...app, id: 801, name: 'void', full_name: 'acme/void', empty: true },
      { ...app, id: 802, name: 'copy', full_name: 'acme/copy', mirror: true },
    ]
    const { report } = await run({ '/api/v1/repos/search': repos, '/api/v1/repos/acme/void/issues': [], '/api/v1/repos/acme/copy/issues': [] })
    expect(report.left_out.filter(({ kind }) => kind === 'issue' || kind === 'merge request')).toEqual([])
  })

  it('a due date is the day in the time zone of the server', async () => {
    const late = '2031-03-04T23:59:59-05:00'
    const { get, app: path } = await run({
      '/api/v1/repos/search': [app],
      '/api/v1/repos/acme/app/milestones': [{ ...milestone, id: 600, due_on: late }],
      '/api/v1/repos/acme/app/issues': [{ ...issue, due_date: late }],
    })
    expect(await get(`${path}/milestones`)).toMatchObject([{ due_date: '2031-03-04' }])
    expect(await get(`${path}/issues/1`)).toMatchObject({ due_date: '2031-03-04' })
  })

  it('a protection that would protect nothing here is reported', async () => {
    const {
      report,
      get,
      app: path,
    } = await run({
      '/api/v1/repos/search': [app],
      '/api/v1/repos/acme/app/branch_protections': [
        { rule_name: 'main', enable_push: true },
        { rule_name: 'release/**', enable_push: false, enable_merge_whitelist: true },
        { rule_name: '{next,stable}', enable_push: false },
        { rule_name: 'v[0-9]', enable_push: false },
      ],
      '/api/v1/repos/acme/app/tag_protections': [
        { id: 1, name_pattern: 'v*' },
        { id: 2, name_pattern: '/^rel-/' },
      ],
    })
    const levels = ({ name, push_access_levels, merge_access_levels }: Record<string, unknown>) => [
      name,
      ...[push_access_levels, merge_access_levels].flat().map((level) => (level as { access_level: number }).access_level),
    ]
    expect((await get(`${path}/protected_branches`)).map(levels)).toEqual([
      ['main', 30, 30],
      ['release/**', 0, 40],
    ])
    expect(await get(`${path}/protected_tags`)).toMatchObject([{ name: 'v*' }])
    expect(left(report, 'protected branch')).toHaveLength(2)
    expect(left(report, 'protected tag')).toEqual([expect.stringContaining('the pattern /^rel-/ is more than names and *')])
  })
})

describe('an import from Gogs', () => {
  it('brings what its API has', async () => {
    answers = {
      ...shared(),
      '/api/v1/orgs/acme/teams': [
        { id: 1, name: 'Owners', description: '', permission: 'owner' },
        { id: 2, name: 'devs', description: '', permission: 'write' },
      ],
      '/api/v1/user': bob,
      '/api/v1/users/search?q=_&limit=100000': { ok: true, data: [bob, carol] },
      '/api/v1/user/orgs': [{ id: 4, username: 'acme', full_name: 'Acme Inc', description: '' }],
      '/api/v1/users/bob/orgs': [{ id: 4, username: 'acme', full_name: 'Acme Inc', description: '' }],
      '/api/v1/users/carol/orgs': [],
      '/api/v1/user/repos': [],
      '/api/v1/orgs/acme/repos': [repo],
      '/api/v1/repos/search': { ok: true, data: [repo] },
      '/api/v1/admin/teams/1/members': [bob],
      '/api/v1/admin/teams/2/members': [carol],
      '/api/v1/repos/acme/app/issues?state=open&page=1&limit=50': [
        { ...issue, id: 12, number: 2, state: 'open', pull_request: null, closed_at: null },
      ],
      '/api/v1/repos/acme/app/issues?state=closed&page=1&limit=50': [issue],
      '/api/v1/repos/acme/app/issues/2/comments': [],
      '/api/v1/repos/acme/app/collaborators': [user(7, 'dave', { permissions: { admin: false, push: true, pull: true } })],
      '/api/v1/repos/acme/app/keys': [],
    }
    const { body } = await t.api('post', '/groups', admin).send({ name: 'Second', path: 'second' }).expect(201)
    // below another path, so that it is another server
    const report = await importServer(t.ctx, { url: local.url.replace('127.0.0.1', 'localhost'), token: 'gogs', into: 'second' })
    expect(report).toMatchObject({
      from: 'gogs',
      finished: true,
      came: { group: 1, project: 1, repository: 1, issue: 2, 'issue note': 1, release: 1, member: 1 },
    })
    expect(report.left_out).toEqual([
      { kind: 'team', name: 'acme: devs', reason: 'the API does not say which projects it is for: add its members where they belong' },
    ])
    expect((await t.api('get', '/groups/second%2Facme/members', admin)).body).toMatchObject([{ username: 'bob', access_level: 50 }])
    expect(report.never.map(({ kind }) => kind)).toContain('pull requests')
    expect((await t.api('get', `/groups/${body.id}/subgroups`, admin)).body).toMatchObject([{ full_path: 'second/acme', visibility: 'private' }])
    expect((await t.api('get', '/projects/second%2Facme%2Fapp/members', admin)).body).toMatchObject([{ username: 'dave', access_level: 30 }])
    expect((await t.api('get', '/projects/second%2Facme%2Fapp/issues?order_by=created_at&sort=asc', admin)).body).toHaveLength(2)
  })

  it('imports a project of a user that its API shows as an organisation as well', async () => {
    answers = {
      ...shared(),
      '/api/v1/user': carol,
      '/api/v1/orgs/bob': { id: 2, username: 'bob', full_name: 'Bob B', description: '' },
      '/api/v1/orgs/bob/teams': [],
      '/api/v1/users/bob': bob,
      '/api/v1/repos/bob/own': { ...repo, id: 10, name: 'own', full_name: 'bob/own', owner: bob, empty: true },
    }
    const { came, left_out } = await importServer(t.ctx, { url: local.url, token: 'gogs', projects: ['bob/own'], from: 'gogs' })
    expect(left_out.filter(({ kind }) => kind === 'group' || kind === 'project')).toEqual([])
    expect(came).toMatchObject({ project: 2 })
    expect((await t.api('get', '/projects/bob%2Fown', admin).expect(200)).body).toMatchObject({ owner: { username: 'bob' } })
  })
})
