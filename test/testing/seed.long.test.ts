// @module-tag long
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { type Roost, type Seed, startRoost } from '../../testing/index.mjs'
import { gitOut } from '../support/clients/git-client.js'
import { startEnvironment } from '../support/servers/started-roost.js'

const FILE = fileURLToPath(new URL('seed.yaml', import.meta.url))

let roost: Roost
beforeAll(async () => {
  await build()
  roost = await startRoost({ seed: FILE, env: startEnvironment() })
})
afterAll(() => roost.stop())

const call = (path: string, token = roost.token) => fetch(`${roost.url}/api/v4${path}`, { headers: { 'private-token': token } })
// biome-ignore lint/suspicious/noExplicitAny: whatever the API answers
const get = async (path: string, token?: string): Promise<any> => {
  const answer = await call(path, token)
  expect(answer.status, path).toBe(200)
  return answer.json()
}
const api = encodeURIComponent('team/api')

describe('a seed file', () => {
  it('makes users, with tokens of given texts', async () => {
    expect((await get('/users')).map(({ username, state }: never) => [username, state])).toEqual([
      ['eve', 'blocked'],
      ['bob', 'active'],
      ['ann', 'active'],
      ['root', 'active'],
    ])
    expect(await get('/user', 'ann-token-1234')).toMatchObject({ username: 'ann', email: 'ann@example.com' })
    expect((await call(`/projects/${api}`, 'bob-token-1234')).status).toBe(403)
    expect(await get('/user/keys', 'ann-token-1234')).toMatchObject([{ title: 'laptop' }])
    const body = new URLSearchParams({ grant_type: 'password', username: 'ann', password: 'ann-password' })
    expect((await fetch(`${roost.url}/oauth/token`, { method: 'POST', body })).status).toBe(200)
  })

  it('makes groups, their members and what they have', async () => {
    const members = async (path: string) => (await get(path)).map(({ username, access_level }: never) => [username, access_level])
    expect(await members('/groups/team/members')).toEqual([
      ['ann', 50],
      ['bob', 30],
    ])
    expect((await get('/groups/team%2Fsub')).parent_id).toBe((await get('/groups/team')).id)
    expect((await get('/groups/team/milestones')).map(({ title }: never) => title)).toEqual(['1.0'])
    expect((await get('/groups/team/variables'))[0]).toMatchObject({ key: 'A', value: 'b' })
    expect((await get('/groups/team/hooks'))[0]).toMatchObject({ url: 'http://127.0.0.1:1/x', push_events: true })
    expect(await members(`/projects/${api}/members`)).toEqual([['bob', 40]])
    expect((await get('/users?username=bob'))[0]).toMatchObject({ public_email: 'bob@example.com', private_profile: true })
    expect(await get('/groups/team%2Fsub')).toMatchObject({
      ...{ emails_disabled: true, default_branch_protection: 0, subgroup_creation_level: 'maintainer', mentions_disabled: true },
      ...{ project_creation_level: 'developer', share_with_group_lock: true },
    })
    expect(await get(`/projects/${api}`)).toMatchObject({
      ...{ squash_option: 'default_on', forking_access_level: 'private', merge_commit_template: 'Merge %{title}', emails_disabled: true },
      ...{ squash_commit_template: 'Squash %{title}', remove_source_branch_after_merge: true, autoclose_referenced_issues: false },
      ...{
        auto_cancel_pending_pipelines: 'disabled',
        allow_merge_on_skipped_pipeline: false,
        issue_branch_template: 'i-%{id}',
        suggestion_commit_message: 'Suggested',
      },
    })
    expect(await get('/projects/root%2Fold')).toMatchObject({ archived: true, owner: { username: 'root' } })
    expect(await get('/projects/ann%2Fown')).toMatchObject({ owner: { username: 'ann' }, empty_repo: true })
  })

  it('makes histories that Git can clone, with authors and dates', async () => {
    const commits = await get(`/projects/${api}/repository/commits?ref_name=stable`)
    expect(commits.map(({ title, author_name }: never) => [title, author_name])).toEqual([
      ['third', 'ann'],
      ['second', 'Bob Builder'],
      ['Initial commit', 'ann'],
    ])
    const folder = await mkdtemp(join(tmpdir(), 'seed-'))
    try {
      await gitOut(folder, 'clone', '-q', `${roost.url}/team/api.git`, '.')
      expect(await gitOut(folder, 'log', '-1', '--format=%an %aI %cI', 'origin/stable~1')).toBe(
        'Bob Builder 2029-12-01T10:00:00+02:00 2029-12-01T10:00:00+02:00',
      )
      expect((await gitOut(folder, 'ls-tree', '-r', '--name-only', 'origin/feature')).split('\n')).toEqual(['README.md', 'c.txt', 'src/a.txt'])
      expect((await gitOut(folder, 'ls-tree', '-r', '--name-only', 'origin/stable')).split('\n')).toEqual(['README.md', 'src/b.txt'])
      expect(await gitOut(folder, 'rev-list', '--count', 'origin/pages')).toBe('1')
      await gitOut(folder, 'fsck', '--strict')
    } finally {
      await rm(folder, { recursive: true })
    }
    const branches = await get(`/projects/${api}/repository/branches`)
    expect(branches.find(({ name }: never) => name === 'copy').commit.title).toBe('feature')
    expect(branches.filter((one: { protected: boolean }) => one.protected).map(({ name }: never) => name)).toEqual(['main'])
    expect((await get(`/projects/${api}/protected_branches`)).map(({ name }: never) => name)).toEqual(['main', 'rel-*'])
    expect((await get(`/projects/${api}/repository/tags`)).map(({ name, message }: never) => [name, message])).toEqual([
      ['v1', 'one'],
      ['v0', null],
    ])
    expect(await get(`/projects/${api}/releases`)).toMatchObject([{ tag_name: 'v1', description: 'First' }])
  })

  it('makes issues with what a guest could not give them', async () => {
    const [second, first] = await get(`/projects/${api}/issues`)
    expect(first).toMatchObject({
      ...{ iid: 1, title: 'first', state: 'opened', author: { username: 'bob' }, assignees: [{ username: 'ann' }] },
      ...{ labels: ['bug', 'own'], milestone: { title: '1.0' }, user_notes_count: 2 },
    })
    expect(second).toMatchObject({ iid: 2, state: 'closed', confidential: true, due_date: '2030-02-01', created_at: '2029-01-01T00:00:00.000Z' })
    const notes = await get(`/projects/${api}/issues/1/notes?sort=asc`)
    expect(notes.filter(({ system }: never) => !system).map(({ body, author }: never) => [body, (author as { username: string }).username])).toEqual([
      ['hello', 'bob'],
      ['hi', 'ann'],
    ])
  })

  it('makes merge requests in each state', async () => {
    const states = []
    for (const iid of [1, 2, 3, 4, 5]) {
      const { title, state, merge_status, work_in_progress, pipeline, merged_by } = await get(`/projects/${api}/merge_requests/${iid}`)
      states.push([title, state, merge_status, work_in_progress, pipeline?.status, merged_by?.username])
    }
    expect(states).toEqual([
      ['feat', 'opened', 'can_be_merged', false, 'failed', undefined],
      ['merged', 'merged', 'can_be_merged', false, undefined, 'ann'],
      ['conflicts', 'opened', 'cannot_be_merged', false, undefined, undefined],
      ['WIP: draft', 'opened', 'can_be_merged', true, undefined, undefined],
      ['rejected', 'closed', 'can_be_merged', false, undefined, undefined],
    ])
  })

  it('makes pipelines, variables, snippets, pages and hooks', async () => {
    expect((await get(`/projects/${api}/pipelines`)).map(({ ref, status }: never) => [ref, status])).toEqual([
      ['v1', 'success'],
      ['main', 'running'],
      ['feature', 'failed'],
    ])
    expect(await get(`/projects/${api}/variables`)).toMatchObject([{ key: 'K', value: 'v' }])
    expect(await get(`/projects/${api}/snippets`)).toMatchObject([{ title: 's', author: { username: 'bob' } }])
    expect(await get('/snippets', 'ann-token-1234')).toMatchObject([{ title: 'mine' }])
    expect((await get(`/projects/${api}/wikis/Home`)).content).toBe('welcome')
    expect(await get(`/projects/${api}/hooks`)).toMatchObject([{ url: 'http://127.0.0.1:1/y', issues_events: true, push_events: false }])
  })

  it('is not among the requests, and is what a reset leads back to', async () => {
    await roost.reset()
    expect(await roost.requests()).toEqual([])
    expect(await roost.seed({ users: [{ username: 'zed' }] })).toEqual({ users: { zed: 5 }, groups: {}, projects: {} })
    expect(await get('/users')).toHaveLength(5)
    await roost.reset()
    expect(await get('/users')).toHaveLength(4)
  })

  it('gives the same ids each time', async () => {
    const seed: Seed = { groups: [{ path: 'same' }, { path: 'same/again' }], projects: [{ path: 'same/again/x' }, { path: 'root/y' }] }
    const made = await roost.seed(seed)
    await roost.reset()
    expect(await roost.seed(seed)).toEqual(made)
    expect(made.projects['same/again/x']).toBe((await get('/projects/same%2Fagain%2Fx')).id)
    await roost.reset()
  })
})

describe('a seed that is wrong names the place', () => {
  const project = (more: object) => ({ projects: [{ path: 'team/other', ...more }] })
  it.each<[object, string | RegExp]>([
    [{ userz: [] }, 'userz: there is no such key'],
    [{ users: [{}] }, 'users[0].username: is missing'],
    [{ users: [{ username: 'ann' }] }, /^users\[0\]: POST \/users is answered with 409: /],
    [{ users: [{ username: 'q', tokens: ['short'] }] }, /^users\[0\]\.tokens\[0\]: /],
    [{ users: [{ username: 'q', tokens: ['ann-token-1234'] }] }, 'users[0].tokens[0]: there is such a token already'],
    [{ users: [{ username: 'q', tokens: [{ token: 'a-token-of-q', scopes: ['all'] }] }] }, /^users\[0\]\.tokens\[0\]: scopes /],
    [{ groups: [{ path: 'no/such' }] }, 'groups[0].path: there is no group no'],
    [{ groups: [{ path: 'g', members: { unknown: 'owner' } }] }, /^groups\[0\]: POST \/groups as unknown is answered with 404/],
    [{ groups: [{ path: 'g', members: { ann: 'king' } }] }, /^groups\[0\]\.members\.ann: /],
    [{ projects: [{ path: 'x' }] }, 'projects[0].path: is not below a group or a username'],
    [project({ issues: [{ titel: 'a' }] }), 'projects[0].issues[0].title: is missing'],
    [project({ issues: [{ title: 'a', more: 1 }] }), 'projects[0].issues[0].more: there is no such key'],
    [project({ issues: [{ title: 'a', assignees: ['unknown'] }] }), 'projects[0].issues[0].assignees: there is no user unknown'],
    [project({ issues: [{ title: 'a', milestone: '9' }] }), 'projects[0].issues[0].milestone: there is no milestone 9 in this seed'],
    [project({ issues: [{ title: 'a', assignees: ['eve'] }] }), 'projects[0].issues[0].assignees: none of them can be assigned here'],
    [project({ issues: [{ title: 'a', author: 'eve' }] }), /^projects\[0\]\.issues\[0\]\.author: /],
    [
      project({ issues: [{ title: 'a'.repeat(255), author: 'bob', created_at: '2029-01-01T00:00:00Z' }] }),
      'projects[0].issues[0].created_at: bob may not set it',
    ],
    [project({ labels: [{ name: 'a', color: 'red' }] }), 'projects[0].labels[0].color: is not a colour such as #428BCA'],
    [project({ labels: [5] }), 'projects[0].labels[0]: is none of string, object'],
    [project({ commits: [{ message: 'm', date: 'now' }] }), 'projects[0].commits[0].date: is not a time such as 2030-01-31T12:00:00Z'],
    [project({ commits: [{ message: 'm', branch: 'b' }] }), 'projects[0].commits[0].from: the branch main has no commits yet'],
    [project({ commits: [{ message: 'm', files: { a: null } }] }), 'projects[0].commits[0]: a: there is no such file'],
    [project({ commits: [{ message: 'm', files: { '../a': 'x' } }] }), 'projects[0].commits[0]: Path cannot include directory traversal'],
    [project({ files: { a: 'b' }, branches: [{ name: 'x', ref: 'y' }] }), 'projects[0].branches[0]: there is no branch y in this seed'],
    [project({ merge_requests: [{ title: 'a', source: 'b' }] }), 'projects[0].merge_requests[0].source: there is no branch b in this seed'],
    [project({ files: { a: 'b' }, tags: [{ name: 't', ref: 'no' }] }), 'projects[0].tags[0].ref: there is no branch or tag no in this seed'],
  ])('%j', async (seed, why) => {
    await roost.reset()
    const refusal = await roost.seed(seed as Seed).then(
      () => 'it was accepted',
      ({ message }: Error) => message.replace('roost: ', ''),
    )
    expect(refusal).toEqual(why instanceof RegExp ? expect.stringMatching(why) : why)
  })

  it('also in a file, whose place YAML names', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'seed-'))
    try {
      const file = join(folder, 'seed.yaml')
      writeFileSync(file, 'users:\n  - [\n')
      await expect(roost.seed(file)).rejects.toThrow(/line 3/)
      const lines = Array.from({ length: 30 }, (_, i) => `x${i + 1}: &x${i + 1} [*x${i}, *x${i}, *x${i}]`)
      writeFileSync(file, `x0: &x0 [a]\n${lines.join('\n')}\n`)
      await expect(roost.seed(file)).rejects.toThrow(/alias/)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('ends the start', async () => {
    const seed = { users: [{ username: 'no name' }] }
    await expect(startRoost({ seed, env: startEnvironment() })).rejects.toThrow(/^roost: users\[0\]: /)
  })
})

it('the example of a seed is one of the schema', () => {
  expect(readFileSync(FILE, 'utf8')).toMatch(/^# yaml-language-server: \$schema=\.\.\/\.\.\/testing\/seed\.schema\.json\n/)
})
