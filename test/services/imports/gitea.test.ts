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
let commits: { main: string; feature: string; merge: string }
let answers: Record<string, unknown> = {}
const headers: (string | undefined)[] = []

const local = localServer((request, response) => {
  const { pathname, search } = new URL(request.url ?? '', 'http://x')
  headers.push(request.headers.authorization)
  if (pathname.startsWith('/acme/app.git/')) return uploadPack(pathname, request, response)
  const found = answers[pathname + search] ?? answers[pathname]
  response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(found ?? {}))
})

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  repository = aBareRepository()
  const [main, feature, merge] = repository.commits(
    { files: { 'a.txt': 'a\n' } },
    { branch: 'feature', parents: [0], files: { 'b.txt': 'b\n' } },
    { parents: [0, 1], files: { 'b.txt': 'b\n' } },
  ) as [string, string, string]
  commits = { main, feature, merge }
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
    { id: 1, name: 'Owners', permission: 'owner' },
    { id: 2, name: 'devs', permission: 'write' },
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

describe('an import from Gogs', () => {
  it('brings what its API has', async () => {
    answers = {
      ...shared(),
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
      '/api/v1/repos/acme/app/issues?state=open&limit=50': [{ ...issue, id: 12, number: 2, state: 'open', pull_request: null, closed_at: null }],
      '/api/v1/repos/acme/app/issues?state=closed&limit=50': [issue],
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
    expect(report.left_out).toEqual([])
    expect(report.never.map(({ kind }) => kind)).toContain('pull requests')
    expect((await t.api('get', `/groups/${body.id}/subgroups`, admin)).body).toMatchObject([{ full_path: 'second/acme', visibility: 'private' }])
    expect((await t.api('get', '/projects/second%2Facme%2Fapp/members', admin)).body).toMatchObject([{ username: 'dave', access_level: 30 }])
    expect((await t.api('get', '/projects/second%2Facme%2Fapp/issues?order_by=created_at&sort=asc', admin)).body).toHaveLength(2)
  })

  it('brings a project of a user, whom its API shows as an organisation as well', async () => {
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
