import { once } from 'node:events'
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { eq, sql } from 'drizzle-orm'
import tar from 'tar-stream'
import { beforeAll, describe, expect, it } from 'vitest'
import { ARCHIVED } from '../../../src/db/copies/project-archive.js'
import { projects } from '../../../src/db/schema/index.js'
import { removeExports } from '../../../src/services/projects/archives/export.js'
import { removeArchives } from '../../../src/services/projects/archives/import.js'
import { type TestApp, testApp } from '../../support/app.js'
import { directoryOf, gitOut } from '../../support/clients/git-client.js'
import { anObject, lfsClient } from '../../support/clients/lfs-client.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'

const here = testApp({}, { upkeep: true })
const there = testApp({}, { upkeep: true })

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')
const LARGE = anObject('a large object')
const NAMES = ['olga', 'peter'] as const
type People = Record<(typeof NAMES)[number] | 'admin', TestUser>
let from: People
let to: People
let project: TestProject

const people = async (t: TestApp): Promise<People> => {
  const made = async (username: string) => aUser(t.ctx, { username, name: username, email: `${username}@example.com` })
  return { olga: await made('olga'), peter: await made('peter'), admin: await anAdmin(t.ctx, { username: 'boss', name: 'boss' }) }
}

const say = async (t: TestApp, path: string, body: object, caller: TestUser) => (await t.api('post', path, caller).send(body).expect(201)).body

/** A project with some of everything. */
async function aRichProject(t: TestApp, { olga, peter }: People): Promise<TestProject> {
  const group = await aGroup(t.ctx, { creator: olga, path: 'works', name: 'Works' })
  await say(t, `${group.path}/members`, { user_id: peter.id, access_level: 30 }, olga)
  await say(t, `${group.path}/labels`, { name: 'of the group', color: '#112233' }, olga)
  await say(t, `${group.path}/milestones`, { title: 'group stone' }, olga)
  const made = await aProject(t.ctx, {
    creator: olga,
    namespace_id: group.id,
    path: 'rich',
    name: 'Rich',
    files: { 'a.txt': 'one\ntwo\nthree\n', Größe: 'x' },
  })
  const p = made.path
  await t
    .api('put', p, olga)
    .send({ description: 'All of it', merge_method: 'ff', tag_list: ['x', 'y'] })
    .expect(200)
  await t.api('put', p, olga).attach('avatar', PNG, 'a.png').expect(200)
  await say(t, `${p}/labels`, { name: 'bug', color: '#ff0000', description: 'A `bug`', priority: 1 }, olga)
  const stone = await say(t, `${p}/milestones`, { title: 'v1', due_date: '2027-01-01' }, olga)
  const groupStone = (await t.api('get', `${group.path}/milestones`, olga).expect(200)).body[0]
  const { markdown } = (await t.api('post', `${p}/uploads`, olga).attach('file', Buffer.from('hello'), 'hello.txt').expect(201)).body
  const first = {
    title: 'An issue',
    description: `see ${markdown} @peter`,
    labels: 'bug,of the group',
    milestone_id: stone.id,
    assignee_ids: [peter.id, olga.id],
  }
  await say(t, `${p}/issues`, first, olga)
  await say(t, `${p}/issues`, { title: 'Secret', confidential: true, milestone_id: groupStone.id }, peter)
  const note = await say(t, `${p}/issues/1/notes`, { body: 'A note on #2' }, peter)
  await say(t, `${p}/issues/1/notes/${note.id}/award_emoji`, { name: 'tada' }, olga)
  await say(t, `${p}/issues/1/award_emoji`, { name: 'thumbsup' }, peter)
  await say(t, `${p}/issues/1/time_estimate`, { duration: '2h' }, olga).catch(() => undefined)
  const edit = [{ action: 'update', file_path: 'a.txt', content: 'one\n2\nthree\n' }]
  await say(t, `${p}/repository/commits`, { branch: 'work', start_branch: 'main', commit_message: 'Edit', actions: edit }, olga)
  const sent = { description: 'Closes #1', reviewer_ids: [olga.id, peter.id], assignee_ids: [peter.id, olga.id] }
  const request = await aMergeRequest(t, { project: made, source: 'work', files: null, sent })
  await aCommit(t.ctx, made, { 'b.txt': 'b' }, { branch: 'work' })
  await t.ctx.jobs.drain()
  const { sha, diff_refs } = (await t.api('get', request.path, olga).expect(200)).body
  const position = { position_type: 'text', ...diff_refs, old_path: 'a.txt', new_path: 'a.txt', new_line: 2 }
  const thread = await say(t, `${request.path}/discussions`, { body: 'Why?\n```suggestion\n22\n```', position }, peter)
  await say(t, `${request.path}/discussions/${thread.id}/notes`, { body: 'Because' }, olga)
  await t.api('put', `${request.path}/discussions/${thread.id}`, olga).send({ resolved: true }).expect(200)
  await say(t, `${request.path}/approve`, {}, peter)
  await say(t, `${p}/statuses/${sha}`, { state: 'success', ref: 'work', name: 'test', coverage: 81.5 }, olga)
  await say(t, `${p}/snippets`, { title: 'S', file_name: 's.txt', content: 'snip', visibility: 'private' }, peter)
  await say(t, `${p}/wikis`, { title: 'home', content: '# Home' }, olga)
  await say(t, `${p}/repository/tags`, { tag_name: 'v1', ref: 'main', message: 'first' }, olga)
  await say(
    t,
    `${p}/releases`,
    { tag_name: 'v1', name: 'One', description: 'notes', milestones: ['v1'], assets: { links: [{ name: 'x', url: 'https://example.com/x' }] } },
    olga,
  )
  await say(t, `${p}/protected_branches`, { name: 'stable-*', push_access_level: 40 }, olga)
  await say(t, `${p}/repository/commits/${sha}/comments`, { note: 'On a commit' }, peter)
  await say(t, `${p}/variables`, { key: 'SECRET_KEY', value: 'hidden-value-123' }, olga)
  expect(await lfsClient(t).upload(made.fullPath, olga, LARGE)).toEqual([200, 200])
  await t.ctx.jobs.drain()
  return made
}

async function archiveOf(t: TestApp, { path }: TestProject, caller: TestUser): Promise<Buffer> {
  await t.api('post', `${path}/export`, caller).expect(202, { message: '202 Accepted' })
  await t.ctx.jobs.drain()
  const { body } = await t.api('get', `${path}/export`, caller).expect(200)
  expect(body).toMatchObject({ export_status: 'finished', path_with_namespace: 'works/rich' })
  const answer = await fetch(body._links.api_url.replace('http://roost.test', t.url), { headers: { 'private-token': caller.token } })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/gzip'])
  expect(answer.headers.get('content-disposition')).toMatch(/filename="[\d-]+_works_rich_export\.tar\.gz"/)
  return Buffer.from(await answer.arrayBuffer())
}

const OF_THE_GROUP = 'of the group'

/** An answer without ids, so that it can be compared with that of another instance. */
function withoutIds(value: unknown): unknown {
  if (typeof value === 'string')
    return value.replace(/\/(projects|avatar|note_|merge_requests|issues|milestones)\/?\d+/g, '/$1/N').replace(/#note_\d+/g, '#note_N')
  if (Array.isArray(value)) return value.map(withoutIds).filter((one) => one !== OF_THE_GROUP)
  if (value === null || typeof value !== 'object') return value
  // what was the group's is the project's
  if ('title' in value && value.title === 'group stone') return OF_THE_GROUP
  if ('name' in value && value.name === 'of the group') return OF_THE_GROUP
  const entries = Object.entries(value).filter(([key]) => !/(^|_)ids?$/.test(key) || key === 'discussion_id')
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutIds(inner)]))
}

const LISTS = [
  '',
  '/issues?order_by=created_at&sort=asc',
  '/issues/1/notes?sort=asc',
  '/issues/1/discussions',
  '/issues/1/award_emoji',
  '/issues/1/participants',
  '/issues/1/closed_by',
  '/issues/2/notes',
  '/merge_requests',
  '/merge_requests/1',
  '/merge_requests/1/notes?sort=asc',
  '/merge_requests/1/discussions',
  '/merge_requests/1/versions',
  '/merge_requests/1/changes',
  '/merge_requests/1/commits',
  '/merge_requests/1/approvals',
  '/merge_requests/1/pipelines',
  '/merge_requests/1/reviewers',
  '/labels',
  '/milestones',
  '/pipelines',
  '/jobs',
  '/snippets',
  '/releases',
  '/wikis?with_content=1',
  '/protected_branches',
  '/repository/branches',
  '/repository/tags',
  '/repository/commits?all=true',
  '/events?sort=asc',
  '/languages',
]

beforeAll(async () => {
  from = await people(here)
  to = await people(there)
  project = await aRichProject(here, from)
})

describe('the archive of a project', () => {
  it('becomes an equal project in another instance (EX-2, EX-5, EX-6)', async () => {
    const archive = await archiveOf(here, project, from.olga)
    const group = await aGroup(there.ctx, { creator: to.olga, path: 'works', name: 'Works' })
    await say(there, `${group.path}/members`, { user_id: to.peter.id, access_level: 30 }, to.olga)
    const made = await there
      .api('post', '/projects/import', to.admin)
      .field({ path: 'rich', name: 'Rich', namespace: 'works' })
      .attach('file', archive, 'x.tar.gz')
      .expect(201)
    expect(made.body).toMatchObject({ path_with_namespace: 'works/rich', import_status: 'scheduled' })
    await there.ctx.jobs.drain()
    const path = `/projects/${made.body.id}`
    expect((await there.api('get', `${path}/import`, to.admin).expect(200)).body).toMatchObject({ import_status: 'finished', import_error: null })
    for (const list of LISTS) {
      const [before, after] = [
        (await here.api('get', project.path + list, from.olga).expect(200)).body,
        (await there.api('get', path + list, to.olga).expect(200)).body,
      ].map((body) => JSON.parse(JSON.stringify(withoutIds(body))))
      for (const body of [before, after]) {
        for (const one of Array.isArray(body) ? body : [body])
          for (const key of ['updated_at', 'last_activity_at', 'import_status', 'merged_by', 'runners_token']) if (list === '') delete one[key]
      }
      expect(after, list).toEqual(before)
    }
    const lines = (t: TestApp, id: number) =>
      gitOut(directoryOf(t, id), 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads', 'refs/tags', 'refs/merge-requests')
    expect(await lines(there, made.body.id)).toBe(await lines(here, project.id))
    const [upload] = /\/uploads\/[0-9a-f]{32}\/hello\.txt/.exec((await there.api('get', `${path}/issues/1`, to.olga)).body.description) ?? []
    const cookieless = await fetch(`${there.url}/works/rich${upload}`, { headers: { 'private-token': to.olga.token } })
    expect(await cookieless.text()).toBe('hello')
    expect((await lfsClient(there).download('works/rich', to.olga, LARGE)).bytes?.toString()).toBe('a large object')
    // new numbers go on where the old ones ended
    expect((await say(there, `${path}/issues`, { title: 'next' }, to.olga)).iid).toBe(3)
    expect((await there.api('get', `${path}/variables`, to.olga).expect(200)).body).toEqual([])
    expect(gunzipSync(archive).includes('hidden-value-123')).toBe(false)
    expect(gunzipSync(archive).includes('olga@example.com')).toBe(false)
    expect(await readdir(join(there.dataDir, 'imports'))).toEqual([])
  })

  it('of a project without issues, merge requests and notes becomes one, too (EX-2)', async () => {
    const plain = await aProject(there.ctx, { creator: to.olga, files: { a: 'a' } })
    await there.api('post', `${plain.path}/export`, to.olga).expect(202)
    await there.ctx.jobs.drain()
    const answer = await fetch(`${there.url}/api/v4${plain.path}/export/download`, { headers: { 'private-token': to.olga.token } })
    const archive = Buffer.from(await answer.arrayBuffer())
    const { body } = await there.api('post', '/projects/import', to.admin).field({ path: 'plain' }).attach('file', archive, 'x.tar.gz').expect(201)
    await there.ctx.jobs.drain()
    expect((await there.api('get', `/projects/${body.id}/import`, to.admin).expect(200)).body).toMatchObject({ import_status: 'finished' })
    await there.api('get', `/projects/${body.id}/repository/files/a/raw?ref=main`, to.admin).expect(200, 'a')
  })

  it('gives what others wrote to the ghost user, where they are not (EX-5)', async () => {
    const archive = await archiveOf(here, project, from.olga)
    await there.api('put', `/users/${to.peter.id}`, to.admin).send({ username: 'petra' }).expect(200)
    const { body } = await there.api('post', '/projects/import', to.admin).field({ path: 'ghosts' }).attach('file', archive, 'x.tar.gz').expect(201)
    await there.ctx.jobs.drain()
    const path = `/projects/${body.id}`
    const [issue] = (await there.api('get', `${path}/issues?iids[]=1`, to.admin).expect(200)).body
    expect([issue.author.username, issue.assignees.map((one: { username: string }) => one.username), issue.upvotes]).toEqual(['olga', ['olga'], 0])
    const notes = (await there.api('get', `${path}/issues/1/notes`, to.admin).expect(200)).body
    expect(notes.find((note: { body: string }) => note.body === 'A note on #2').author.username).toBe('ghost')
    expect((await there.api('get', `${path}/merge_requests/1/approvals`, to.admin).expect(200)).body.approved_by).toEqual([])
    await there.api('put', `/users/${to.peter.id}`, to.admin).send({ username: 'peter' }).expect(200)
  })

  it('is for maintainers, and an import for administrators (EX-1, EX-5)', async () => {
    const [stranger, guest] = [await aUser(here.ctx), await aUser(here.ctx)]
    for (const [method, path] of [
      ['post', '/export'],
      ['get', '/export'],
      ['get', '/export/download'],
    ] as const) {
      await here.api(method, project.path + path).expect(401)
      await here.api(method, project.path + path, stranger).expect(404)
      await here.api(method, project.path + path, from.peter).expect(403)
    }
    await here.api('post', '/projects/import', guest).field({ path: 'x' }).attach('file', Buffer.from('x'), 'x').expect(403)
    await here.api('post', '/projects/import', from.admin).field({ path: 'x', overwrite: 'true' }).attach('file', Buffer.from('x'), 'x').expect(400)
    await here
      .api('post', `${project.path}/export`, from.olga)
      .send({ upload: { url: 'http://example.com' } })
      .expect(400)
  })

  it('is not made while project_export_enabled is off (EX-1)', async () => {
    await here.api('put', '/application/settings', from.admin).send({ project_export_enabled: false }).expect(200)
    for (const [method, path] of [
      ['post', '/export'],
      ['get', '/export'],
      ['get', '/export/download'],
    ] as const)
      await here.api(method, project.path + path, from.olga).expect(404)
    await here.api('put', '/application/settings', from.admin).send({ project_export_enabled: true }).expect(200)
  })
})

type Row = Record<string, unknown>

/** The rows of a file of an archive. */
const rowsOf = (data: Buffer): Row[] =>
  data
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

/** Rewrites the files of an archive. */
async function changed(archive: Buffer, change: (name: string, data: Buffer) => Buffer | null, more: Record<string, Buffer> = {}): Promise<Buffer> {
  const pack = tar.pack()
  const extract = tar.extract()
  const chunks: Buffer[] = []
  pack.on('data', (chunk: unknown) => chunks.push(chunk as Buffer))
  const ended = once(pack, 'end')
  extract.end(gunzipSync(archive))
  for await (const entry of extract) {
    const parts: Buffer[] = []
    for await (const part of entry) parts.push(part as Buffer)
    const data = change(entry.header.name, Buffer.concat(parts))
    if (data) pack.entry({ name: entry.header.name }, data)
  }
  for (const [name, data] of Object.entries(more)) pack.entry({ name }, data)
  pack.finalize()
  await ended
  return gzipSync(Buffer.concat(chunks))
}

describe('what an interrupted attempt has left', () => {
  it('is removed by the next one, and old archives after a day (EX-4)', async () => {
    const folder = join(here.dataDir, 'exports')
    await mkdir(join(folder, `.${project.id}`, 'rows'), { recursive: true })
    await writeFile(join(folder, `.${project.id}`, 'rows', 'issues.jsonl'), 'half a r')
    await writeFile(join(folder, `.${project.id}.tar.gz`), 'half')
    await archiveOf(here, project, from.olga)
    await writeFile(join(folder, '987654.tar.gz'), 'of a project that is gone')
    await removeExports.run(here.ctx, {}, { id: 1, number: 1, signal: new AbortController().signal })
    expect(await readdir(folder)).toEqual([`${project.id}.tar.gz`])
    const old = new Date(Date.now() - 25 * 3_600_000)
    await utimes(join(folder, `${project.id}.tar.gz`), old, old)
    await here.api('get', `${project.path}/export/download`, from.olga).expect(404)
    expect((await here.api('get', `${project.path}/export`, from.olga).expect(200)).body.export_status).toBe('none')
    await removeExports.run(here.ctx, {}, { id: 1, number: 1, signal: new AbortController().signal })
    expect(await readdir(folder)).toEqual([])
  })

  it('of an import too, which then begins again (EX-7)', async () => {
    const archive = await archiveOf(here, project, from.olga)
    const { body } = await there.api('post', '/projects/import', to.admin).field({ path: 'again' }).attach('file', archive, 'x').expect(201)
    await mkdir(join(there.dataDir, 'imports', `.${body.id}`, 'rows'), { recursive: true })
    await writeFile(join(there.dataDir, 'imports', `.${body.id}`, 'rows', 'issues.jsonl'), 'half a r')
    await there.ctx.db.write.update(projects).set({ import_status: 'started' }).where(eq(projects.id, body.id))
    await there.ctx.jobs.drain()
    expect((await there.api('get', `/projects/${body.id}/import`, to.admin)).body.import_status).toBe('finished')
    expect((await there.api('get', `/projects/${body.id}/issues`, to.admin)).body).toHaveLength(2)
    expect(await readdir(join(there.dataDir, 'imports'))).toEqual([])
  })
})

it('an archive whose project is not there is removed (EX-7)', async () => {
  const folder = join(there.dataDir, 'imports')
  await mkdir(join(folder, '.999999'), { recursive: true })
  await writeFile(join(folder, '999999.tar.gz'), 'of a creation that was not committed')
  await removeArchives.run(there.ctx, {}, { id: 1, number: 1, signal: new AbortController().signal })
  expect(await readdir(folder)).toEqual([])
})

it('an import that was tried in vain says so, and keeps no archive (EX-7)', async () => {
  const archive = await archiveOf(here, project, from.olga)
  const { body } = await there.api('post', '/projects/import', to.admin).field({ path: 'in-vain' }).attach('file', archive, 'x').expect(201)
  await there.ctx.db.write.execute(`update jobs set attempts = 40 where kind = 'import of an archive'`)
  await there.ctx.jobs.drain()
  const { import_status, import_error } = (await there.api('get', `/projects/${body.id}/import`, to.admin)).body
  expect([import_status, import_error]).toEqual(['failed', expect.stringMatching(/^The server could not do it/)])
  expect(await readdir(join(there.dataDir, 'imports'))).toEqual([])
})

describe('the archive of an earlier version', () => {
  it('had one assignee and one reviewer, who are the only ones here (MR-620)', async () => {
    const first = (ids: unknown) => (ids as number[])[0] ?? null
    const archive = await changed(await archiveOf(here, project, from.olga), (name, data) => {
      if (name !== 'rows/issues.jsonl' && name !== 'rows/merge_requests.jsonl') return data
      const rows = rowsOf(data).map(({ assignee_ids, reviewer_ids, reviews_requested_at, ...row }) => ({
        ...row,
        assignee_id: first(assignee_ids),
        ...(name.includes('merge') && { reviewer_id: first(reviewer_ids), review_requested_at: '2020-01-02T03:04:05.678Z' }),
      }))
      return Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
    })
    const { body } = await there.api('post', '/projects/import', to.admin).field({ path: 'earlier' }).attach('file', archive, 'x.tar.gz').expect(201)
    await there.ctx.jobs.drain()
    const get = async (path: string) => (await there.api('get', `/projects/${body.id}${path}`, to.admin).expect(200)).body
    expect(await get('/import')).toMatchObject({ import_status: 'finished', import_error: null })
    const names = (people: { username: string }[]) => people.map(({ username }) => username)
    expect([names((await get('/issues/1')).assignees), names((await get('/issues/2')).assignees)]).toEqual([['peter'], []])
    expect(names((await get('/merge_requests/1')).assignees)).toEqual(['peter'])
    expect((await get('/merge_requests/1/reviewers'))[0]).toMatchObject({ user: { username: 'olga' }, created_at: '2020-01-02T03:04:05.678Z' })
    await there.api('delete', `/projects/${body.id}`, to.admin).expect(202)
  })
})

describe('an archive that somebody has changed', () => {
  it('gives the project nothing that its importer could not (EX-67)', async () => {
    const { olga, peter, admin } = to
    const importer = await anAdmin(there.ctx)
    const group = await aGroup(there.ctx, { creator: olga })
    const inGroup = await aGroup(there.ctx, { creator: olga })
    await say(there, `${inGroup.path}/members`, { user_id: importer.id, access_level: 40 }, olga)
    const secret = anObject('of somebody else')
    const kept = await aProject(there.ctx, { creator: olga, visibility: 'private' })
    expect(await lfsClient(there).upload(kept.fullPath, olga, secret)).toEqual([200, 200])
    await there.api('put', kept.path, olga).attach('avatar', PNG, 'a.png').expect(200)
    const image = (await there.api('get', kept.path, olga).expect(200)).body.avatar_url.split('/').slice(-3).join('/')
    const ofGroup = (row?: Row) => ({ ...row, id: 990_001, project_id: null, namespace_id: group.id })
    const evil = { description_html: '<img src=x onerror=alert(1)>' }
    const changes: Record<string, (rows: Row[]) => Row[]> = {
      projects: ([row]) => [{ ...row, avatar: `../../../uploads/${image}`, last_activity_at: '2999-01-01T00:00:00Z' }],
      members: (rows) => [
        ...rows.map((row) => ({ ...row, access_level: 50 })),
        { ...ofGroup(rows[0]), access_level: 50, user_id: rows[0]?.['user_id'] },
        { ...rows[0], id: 990_002, user_id: peter.id, requested_at: '2020-01-01T00:00:00Z' },
      ],
      labels: (rows) => [...rows.map((row) => ({ ...row, ...evil })), { ...ofGroup(rows[0]), ...evil, title: 'forged' }],
      milestones: (rows) => [...rows, { ...ofGroup(rows[0]), iid: 99, title: 'forged' }],
      releases: (rows) => rows.map((row) => ({ ...row, ...evil })),
      release_links: (rows) => [...rows, { ...rows[0], id: 990_003, name: 'forged', url: 'javascript:alert(1)' }],
      snippets: (rows) => [...rows, { ...rows[0], id: 990_004, project_id: null, title: 'forged', visibility: 20 }],
      commit_statuses: (rows) => rows.map((row) => ({ ...row, target_url: 'javascript:alert(1)' })),
      issues: (rows) => rows.map((row) => ({ ...row, created_at: '2999-01-01T00:00:00Z' })),
      iid_counters: (rows) => rows.filter(({ kind }) => kind !== 'issue'),
      lfs_object_projects: (rows) => [...rows, { ...rows[0], oid: secret.oid }],
      project_uploads: (rows) => [...rows, { ...rows[0], id: 990_005, secret: 'f'.repeat(32), filename: '../x' }],
    }
    await say(here, `${project.path}/members`, { user_id: from.peter.id, access_level: 40 }, from.olga)
    const archive = await changed(await archiveOf(here, project, from.olga), (name, data) => {
      const table = /^rows\/(\w+)\.jsonl$/.exec(name)?.[1] ?? ''
      const change = changes[table]
      return change
        ? Buffer.from(
            change(rowsOf(data))
              .map((row) => `${JSON.stringify(row)}\n`)
              .join(''),
          )
        : data
    })
    await here.api('delete', `${project.path}/members/${from.peter.id}`, from.olga).expect(204)
    const { body } = await there
      .api('post', '/projects/import', importer)
      .field({ path: 'forged', namespace: String(inGroup.id) })
      .attach('file', archive, 'x')
      .expect(201)
    await there.api('put', `/users/${importer.id}`, admin).send({ admin: false }).expect(200)
    await there.ctx.jobs.drain()
    const path = `/projects/${body.id}`
    const get = async (below: string, caller = olga) => (await there.api('get', below, caller).expect(200)).body
    expect(await get(`${path}/import`)).toMatchObject({ import_status: 'finished', import_error: null })
    const members = await there.ctx.db.write.execute(sql`select user_id::int, access_level from members where project_id = ${body.id}`)
    expect(members.rows).toEqual([{ user_id: peter.id, access_level: 40 }])
    expect((await get(`${group.path}/members`)).map(({ username }: { username: string }) => username)).toEqual(['olga'])
    expect(await get(`${group.path}/labels`)).toEqual([])
    expect(await get(`${group.path}/milestones`)).toEqual([])
    expect((await get('/snippets')).filter(({ title }: { title: string }) => title === 'forged')).toEqual([])
    const labels = await get(`${path}/labels`)
    expect(labels.find(({ name }: { name: string }) => name === 'bug').description_html).toMatch(/A <code>bug<\/code>/)
    const [release] = await get(`${path}/releases`)
    expect(release.description_html).toMatch(/^<p[^>]*>notes<\/p>/)
    expect(release.assets.links.map(({ name }: { name: string }) => name)).toEqual(['x'])
    const [{ sha }] = await get(`${path}/pipelines`)
    expect((await get(`${path}/repository/commits/${sha}/statuses`))[0].target_url).toBeNull()
    const objects = await there.ctx.db.write.execute(sql`select oid from lfs_object_projects where project_id = ${body.id}`)
    expect(objects.rows).toEqual([{ oid: LARGE.oid }])
    const shown = await get(path)
    expect(shown.avatar_url).toBeNull()
    expect(new Date(shown.last_activity_at).getTime()).toBeLessThanOrEqual(there.ctx.now().getTime())
    expect((await get(`${path}/issues`)).every(({ created_at }: { created_at: string }) => new Date(created_at) <= there.ctx.now())).toBe(true)
    expect((await say(there, `${path}/issues`, { title: 'next' }, olga)).iid).toBe(3)
    const uploads = await there.ctx.db.write.execute(sql`select filename from project_uploads where project_id = ${body.id}`)
    expect(uploads.rows).toEqual([{ filename: 'hello.txt' }])
  })

  it('has no reference that is not led to a row of the project (EX-67)', async () => {
    const known = new Set(['id', 'project_id', 'namespace_id', 'commit_id', 'discussion_id'])
    for (const [table, { refers = {} }] of Object.entries(ARCHIVED)) {
      if (table === 'projects') continue
      const { rows } = await there.ctx.db.write.execute<{ name: string }>(
        sql`select attname as name from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attname ~ '(^|_)id$'`,
      )
      expect([table, rows.map(({ name }) => name).filter((name) => !known.has(name) && !(name in refers))]).toEqual([table, []])
    }
  })
})

describe('an archive that does not fit', () => {
  const inFile = (file: string, edit: (text: string) => string) => (name: string, data: Buffer) =>
    name === file ? Buffer.from(edit(data.toString())) : data
  const faults: [string, (archive: Buffer) => Promise<Buffer> | Buffer, RegExp][] = [
    ['is no archive', () => Buffer.from('not a tar'), /not an archive/],
    ['is cut off', (archive) => archive.subarray(0, archive.length / 2), /not an archive/],
    [
      'has no project',
      (archive) =>
        changed(
          archive,
          inFile('rows/projects.jsonl', () => ''),
        ),
      /not an archive/,
    ],
    ['lacks a table', (archive) => changed(archive, (name, data) => (name === 'rows/issues.jsonl' ? null : data)), /issues/],
    [
      'is of a newer version',
      (archive) =>
        changed(
          archive,
          inFile('version.json', () => '{"format":99}'),
        ),
      /newer version/,
    ],
    [
      'has an unknown column',
      (archive) =>
        changed(
          archive,
          inFile('rows/issues.jsonl', (text) => text.replaceAll('"iid"', '"size"')),
        ),
      /column "size"/,
    ],
    [
      'has a value of another type',
      (archive) =>
        changed(
          archive,
          inFile('rows/issues.jsonl', (text) => text.replaceAll('"iid":1', '"iid":"x"')),
        ),
      /issues: invalid input/,
    ],
    [
      'has the same number twice',
      (archive) =>
        changed(
          archive,
          inFile('rows/issues.jsonl', (text) => text.replaceAll(/"iid":\d+/g, '"iid":7')),
        ),
      /issues: duplicate key/,
    ],
    [
      'is no JSON',
      (archive) =>
        changed(
          archive,
          inFile('rows/notes.jsonl', () => '{"a":'),
        ),
      /notes: invalid input/,
    ],
    [
      'has a state that there is not',
      (archive) =>
        changed(
          archive,
          inFile('rows/issues.jsonl', (text) => text.replaceAll('"state":"opened"', '"state":"ajar"')),
        ),
      /issues: a value of state/,
    ],
    [
      'has a level that there is not',
      (archive) =>
        changed(
          archive,
          inFile('rows/protected_branches.jsonl', (text) => text.replaceAll(/"push_level":\d+/g, '"push_level":60')),
        ),
      /protected_branches: a value of push_level/,
    ],
    [
      'has a time without end',
      (archive) =>
        changed(
          archive,
          inFile('rows/notes.jsonl', (text) => text.replaceAll(/"created_at":"[^"]*"/g, '"created_at":"infinity"')),
        ),
      /notes: a value of created_at/,
    ],
    [
      'has a position that is a list',
      (archive) =>
        changed(
          archive,
          inFile('rows/notes.jsonl', (text) =>
            text.replaceAll(/"position":\{[^}]*\{.*?\}\}/g, '"position":[]').replaceAll(/"position":\{/g, '"position":[],"x":{'),
          ),
        ),
      /notes/,
    ],
    ['has a damaged bundle', (archive) => changed(archive, (name, data) => (name === 'project.bundle' ? data.subarray(0, 200) : data)), /repository/],
  ]

  it.each(faults)('because it %s fails with the reason and leaves an empty project (EX-7)', async (_, make, reason) => {
    const archive = await make(await archiveOf(here, project, from.olga))
    const errors = there.logged.filter((line) => line.includes('"level":50')).length
    const { body } = await there
      .api('post', '/projects/import', to.admin)
      .field({ path: `bad${Date.now()}` })
      .attach('file', archive, 'x')
      .expect(201)
    await there.ctx.jobs.drain()
    const shown = (await there.api('get', `/projects/${body.id}/import`, to.admin).expect(200)).body
    expect([shown.import_status, shown.import_error]).toEqual(['failed', expect.stringMatching(reason)])
    expect((await there.api('get', `/projects/${body.id}/issues`, to.admin).expect(200)).body).toEqual([])
    expect(await readdir(join(there.dataDir, 'imports'))).toEqual([])
    expect(there.logged.filter((line) => line.includes('"level":50')).length).toBe(errors)
  })

  it('with paths that lead out of it writes nothing there (EX-7)', async () => {
    const archive = await changed(await archiveOf(here, project, from.olga), (_, data) => data, {
      '../../evil': Buffer.from('x'),
      'uploads/../../evil': Buffer.from('x'),
      [`uploads/${'a'.repeat(32)}/../../evil`]: Buffer.from('x'),
    })
    const { body } = await there.api('post', '/projects/import', to.admin).field({ path: 'paths' }).attach('file', archive, 'x').expect(201)
    await there.ctx.jobs.drain()
    expect((await there.api('get', `/projects/${body.id}/import`, to.admin)).body.import_status).toBe('finished')
    expect((await readdir(there.dataDir, { recursive: true })).filter((name) => name.includes('evil'))).toEqual([])
  })
})

it('every column of an archived table that holds the id of a row is declared, and every table of a project is in it or left out (EX-2)', async () => {
  const { rows } = await here.ctx.db.write.execute<{ table: string; column: string }>(sql`
    select c.table_name as table, c.column_name as column from information_schema.columns c
    where c.table_schema = 'public' and c.data_type = 'bigint' and c.column_name like '%\\_id' order by 1, 2`)
  const LEFT_OUT =
    'artifacts bots container_blobs container_repositories feature_flag_clients invitations package_files package_tags packages deployments environments job_token_allowlist pipeline_triggers resource_groups pending_builds registration_tokens runner_projects custom_attributes former_repositories held_texts hook_changes integrations repository_moves deploy_keys_projects deploy_tokens draft_notes lfs_locks mirrors notification_settings pending_repository_deletions project_fetches project_imports project_shares project_stars redirects ref_intents repository_checks routes todos variables web_hooks'
  const withProject = [...new Set(rows.filter(({ column }) => column === 'project_id').map(({ table }) => table))]
  expect(withProject.filter((table) => !(table in ARCHIVED)).filter((table) => !LEFT_OUT.split(' ').includes(table))).toEqual([])
  const undeclared = rows.filter(({ table, column }) => {
    const { refers = {}, as = {} } = ARCHIVED[table] ?? {}
    return table in ARCHIVED && table !== 'projects' && !['project_id', 'namespace_id'].includes(column) && !(column in refers) && !(column in as)
  })
  expect(undeclared).toEqual([])
})
