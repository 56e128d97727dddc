import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { projects } from '../../../src/db/schema/index.js'
import { IDENTITY } from '../../git/reader.js'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, type Role, statuses } from '../../support/cast.js'
import { aProject, aToken, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { bareOf, stateOf } from '../../support/repositories.js'

const t = testApp()
let cast: Cast

beforeAll(async () => {
  cast = await aCast(t.ctx, { visibility: 'public', files: { 'a.txt': 'a\n', 'dir/b.txt': 'b\n' } })
})

const FORBIDDEN = { message: '403 Forbidden' }
const NO_COMMIT = { message: '404 Commit Not Found' }
const at = (project: TestProject) => `${project.path}/repository/commits`
const enc = encodeURIComponent
const idsOf = (body: { id: string }[]) => body.map(({ id }) => id)

/** A commit object of these bytes, as any client may have pushed it. */
function rawCommit(project: TestProject, lines: string[], message: string | Buffer) {
  const bare = bareOf(t, project)
  const tree = bare.gitBytes(['mktree'], '').toString().trim()
  const content = Buffer.concat([Buffer.from([`tree ${tree}`, ...lines, '', ''].join('\n'), 'latin1'), Buffer.from(message)])
  return bare.gitBytes(['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'], content).toString().trim()
}

describe('the shape of a commit', () => {
  it('all fields; created_at is the committer’s date; stats against the first parent (C-1, C-3, C-4, C-5, C-6, C-18, C-47)', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    const [root, id] = bare.commits(
      { files: { a: '1\n2\n', bin: Buffer.from([0, 1]) }, message: 'Root\n', date: 1_600_000_000 },
      {
        files: { a: '1\n3\n4\n', bin: Buffer.from([0, 2]) },
        message: 'Second\n\nwith a body\n',
        author: 'Eve <eve@example.org> 1500000000 +0300',
        date: 1_600_000_100,
      },
    ) as [string, string]
    const { body } = await t.api('get', `${at(project)}/${id}`, project.creator).expect(200)
    expect(body).toEqual({
      id,
      short_id: id.slice(0, 8),
      title: 'Second',
      message: 'Second\n\nwith a body\n',
      parent_ids: [root],
      author_name: 'Eve',
      author_email: 'eve@example.org',
      authored_date: '2017-07-14T02:40:00.000Z',
      committer_name: 'Ada',
      committer_email: 'ada@example.com',
      committed_date: '2020-09-13T12:28:20.000Z',
      created_at: '2020-09-13T12:28:20.000Z',
      web_url: `http://roost.test/${project.fullPath}/commit/${id}`,
      stats: { additions: 2, deletions: 1, total: 3 },
      project_id: project.id,
      status: null,
      last_pipeline: null,
    })
    const first = await t.api('get', `${at(project)}/${root}`, project.creator).expect(200)
    expect(first.body).toMatchObject({ parent_ids: [], stats: { additions: 2, deletions: 0, total: 2 } })
  })

  it('stats=false leaves them out of a new commit, too (NP-5)', async () => {
    const commit = (stats?: boolean) =>
      t
        .api('post', `${cast.project.path}/repository/commits`, cast.as.owner)
        .send({
          branch: `stats-${stats}`,
          start_branch: 'main',
          commit_message: 'x',
          stats,
          actions: [{ action: 'create', file_path: 'stats', content: 'x' }],
        })
        .expect(201)
    expect((await commit(false)).body).not.toHaveProperty('stats')
    expect((await commit(true)).body).toHaveProperty('stats')
    expect((await commit()).body).toHaveProperty('stats')
  })

  it('stats=false leaves them out (C-47)', async () => {
    for (const word of ['false', '0', 'no'])
      expect((await t.api('get', `${at(cast.project)}/main?stats=${word}`, null).expect(200)).body).not.toHaveProperty('stats')
    expect((await t.api('get', `${at(cast.project)}/main?stats=`, null).expect(200)).body.stats).toEqual({ additions: 2, deletions: 0, total: 2 })
    await t.api('get', `${at(cast.project)}/main?stats=maybe`, null).expect(400, { error: 'stats is invalid' })
  })

  const eighty = 'x'.repeat(80)
  it.each([
    ['one line', 'one line'],
    ['first\nsecond\n', 'first'],
    ['first\r\nsecond', 'first'],
    ['', '--no commit message'],
    [' \n\n', '--no commit message'],
    ['y'.repeat(99), 'y'.repeat(99)],
    ['y'.repeat(100), `${'y'.repeat(80)}…`],
    [`${'word '.repeat(19)}words`, `${'word '.repeat(16).trim()}…`],
    [`${eighty} ${eighty}`, `${eighty}…`],
    [`${eighty}z ${eighty}`, `${eighty}…`],
    [`${'é'.repeat(50)} ${'é'.repeat(60)}`, `${'é'.repeat(50)}…`],
  ])('the title of %j (C-2)', async (message, title) => {
    const id = rawCommit(cast.project, ['author A <a@b> 1 +0000', 'committer A <a@b> 1 +0000'], message)
    const { body } = await t.api('get', `${at(cast.project)}/${id}`, null).expect(200)
    expect([body.title, body.message]).toEqual([title, message])
  })

  it('an octopus merge lists its parents in order; stats are against the first (C-5, SEC-154)', async () => {
    const project = await aProject(t.ctx)
    const [, b, c, merge] = bareOf(t, project).commits(
      { files: { a: 'a\n' } },
      { branch: 'b', parents: [0], files: { b: 'b\n' } },
      { branch: 'c', parents: [0], files: { c: 'c\n' } },
      { branch: 'main', parents: [1, 2, 0], files: { b: 'b\n', c: 'c\n' } },
    ) as [string, string, string, string]
    const { body } = await t.api('get', `${at(project)}/${merge}`, project.creator).expect(200)
    expect([body.parent_ids.slice(0, 2), body.stats]).toEqual([[b, c], { additions: 1, deletions: 0, total: 1 }])
  })
})

describe('odd commits are shown, their hash unchanged (SEC-151, SEC-152)', () => {
  const person = 'A <a@b> 1 +0000'
  it.each<[string, string[], string | Buffer, object]>([
    [
      'Latin-1 with a header that says so',
      [`author J\xf6rg <a@b> 1 +0000`, `committer ${person}`, 'encoding ISO-8859-1'],
      Buffer.from('Gr\xfc\xdfe\n', 'latin1'),
      { author_name: 'Jörg', message: 'Grüße\n' },
    ],
    [
      'Latin-1 without',
      [`author J\xf6rg <a@b> 1 +0000`, `committer ${person}`],
      Buffer.from('\xfc\n', 'latin1'),
      { author_name: 'J\ufffdrg', message: '\ufffd\n' },
    ],
    [
      'random bytes',
      [`author ${person}`, `committer ${person}`],
      Buffer.from([0xff, 0xfe, 0xc3, 0x0a]),
      { message: expect.stringContaining('\ufffd') },
    ],
    ['UTF-16', [`author ${person}`, `committer ${person}`], Buffer.from('hi', 'utf16le'), { message: 'h\0i\0' }],
    ['an unknown encoding', [`author ${person}`, `committer ${person}`, 'encoding klingon'], 'text\n', { message: 'text\n' }],
    ['an author without a name', ['author <a@b> 1 +0000', `committer ${person}`], 'x', { author_name: '', author_email: 'a@b' }],
    ['an author without an e-mail', ['author Ann <> 1 +0000', `committer ${person}`], 'x', { author_name: 'Ann', author_email: '' }],
    ['no author at all', [`committer ${person}`], 'x', { author_name: '', author_email: '' }],
    ['a date before 1970', ['author A <a@b> -86400 +0000', `committer ${person}`], 'x', { authored_date: '1969-12-31T00:00:00.000Z' }],
    [
      'the year of 2^33',
      ['author A <a@b> 8589934592 +0000', 'committer A <a@b> 8589934592 +9999'],
      'x',
      { authored_date: '2242-03-16T12:56:32.000Z', created_at: '2242-03-16T12:56:32.000Z' },
    ],
    [
      'a date no calendar holds',
      ['author A <a@b> 99999999999999999999 +0000', 'committer A <a@b> 253402300800 +0000'],
      'x',
      { authored_date: '9999-12-31T23:59:59.000Z' },
    ],
    ['no offset', ['author A <a@b> 60', `committer ${person}`], 'x', { authored_date: '1970-01-01T00:01:00.000Z' }],
    ['no date', ['author A <a@b>', `committer ${person}`], 'x', { authored_date: '1970-01-01T00:00:00.000Z' }],
    ['a date in words', ['author A <a@b> yesterday', `committer ${person}`], 'x', { authored_date: '1970-01-01T00:00:00.000Z' }],
  ])('%s', async (_, lines, message, expected) => {
    const id = rawCommit(cast.project, lines, message)
    const { body } = await t.api('get', `${at(cast.project)}/${id}`, null).expect(200)
    expect(body).toMatchObject({ id, ...expected })
    const list = await t.api('get', `${at(cast.project)}?ref_name=${id}`, null).expect(200)
    expect([idsOf(list.body), list.headers['x-total']]).toEqual([[id], '1'])
    await t.api('get', `${at(cast.project)}/${id}/diff`, null).expect(200, [])
  })

  it('a message of 10 MB (SEC-151)', async () => {
    const id = rawCommit(cast.project, [`author ${person}`, `committer ${person}`], Buffer.alloc(10_000_000, 'm'))
    const { body } = await t.api('get', `${at(cast.project)}/${id}`, null).expect(200)
    expect([body.id, body.message.length, body.title]).toEqual([id, 10_000_000, `${'m'.repeat(80)}…`])
  })
})

describe('GET /projects/:id/repository/commits/:sha', () => {
  it('a branch, a tag, an annotated tag, a hash whole or cut, HEAD; names win over cut hashes (C-8, SEC-82)', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    const [one, two] = bare.commits({ message: 'One\n' }, { branch: 'topic/x', parents: [0], message: 'Two\n' }) as [string, string]
    bare.git('tag', 'light', two)
    bare.git('tag', '-a', '-m', 'x', 'full', two)
    bare.git('update-ref', `refs/heads/${one.slice(0, 8)}`, two)
    bare.git('update-ref', `refs/heads/${one}`, two)
    bare.git('update-ref', 'refs/tags/main', two)
    const found = async (sha: string) => (await t.api('get', `${at(project)}/${enc(sha)}`, project.creator).expect(200)).body.id
    for (const name of ['main', 'HEAD', one, one.toUpperCase(), one.slice(0, 7)]) expect([name, await found(name)]).toEqual([name, one])
    for (const name of ['topic/x', 'light', 'full', two, two.slice(0, 7), one.slice(0, 8)]) expect([name, await found(name)]).toEqual([name, two])
  })

  // SEC-79, SEC-81
  it.each([
    'none',
    'f'.repeat(40),
    'a'.repeat(64),
    'abc',
    'HEAD~3',
    'HEAD^',
    'main@{1}',
    ':/Add',
    'main:a.txt',
    '^main',
    'main..main',
    '--all',
    '--output=x',
    '-h',
    '@',
    'refs/heads/main',
    'main^{tree}',
    'dir\nx',
    '__proto__',
    'NaN',
    '-1',
    ' ',
  ])('404 for %j (C-8, SEC-81)', async (sha) => {
    await t.api('get', `${at(cast.project)}/${enc(sha)}`, null).expect(404, NO_COMMIT)
    await t.api('get', `${at(cast.project)}/${enc(sha)}/diff`, null).expect(404, NO_COMMIT)
  })

  it('trees, blobs, tags of them and commits of other projects are no commits here (C-8, SEC-154, SEC-43)', async () => {
    const bare = bareOf(t, cast.project)
    bare.git('tag', '-f', 'of-a-tree', 'main^{tree}')
    const other = await aProject(t.ctx)
    const [elsewhere] = bareOf(t, other).commits({ message: 'only there' }) as [string]
    for (const sha of ['of-a-tree', bare.git('rev-parse', 'main^{tree}').trim(), bare.git('rev-parse', 'main:a.txt').trim(), elsewhere])
      await t.api('get', `${at(cast.project)}/${sha}`, null).expect(404, NO_COMMIT)
  })

  it('an empty repository, and a HEAD that names a missing branch (SEC-154)', async () => {
    const project = await aProject(t.ctx)
    for (const sha of ['main', 'HEAD']) await t.api('get', `${at(project)}/${sha}`, project.creator).expect(404, NO_COMMIT)
    bareOf(t, project).commits({ branch: 'other' })
    await t.api('get', `${at(project)}/HEAD`, project.creator).expect(404, NO_COMMIT)
    await t.api('get', at(project), project.creator).expect(200, [])
  })
})

describe('GET /projects/:id/repository/commits', () => {
  let project: TestProject
  let caller: TestUser
  let ids: string[]
  const list = async (query = '') => {
    const { body, headers } = await t.api('get', `${at(project)}?${query}`, caller).expect(200)
    return { positions: idsOf(body).map((id) => ids.indexOf(id)), total: headers['x-total'], body, headers }
  }

  beforeAll(async () => {
    project = await aProject(t.ctx)
    caller = project.creator
    ids = bareOf(t, project).commits(
      { files: { old: 'a\nb\nc\nd\n', 'dir/x': 'x' }, date: 1_600_000_000 },
      { files: { other: 'o' }, date: 1_600_000_100 },
      { files: { old: null, new: 'a\nb\nc\nd\n' }, date: 1_600_000_200 },
      { files: { new: 'a\nb\nc\nd\ne\n' }, date: 1_600_000_300 },
      { branch: 'side', parents: [1], files: { 'dir/y': 'y' }, date: 1_600_000_250 },
      { branch: 'main', parents: [3, 4], files: { 'dir/y': 'y' }, date: 1_600_000_400 },
    )
  })

  it('newest first, with all fields and neither stats nor status (C-9, C-15)', async () => {
    const { positions, body, total } = await list()
    expect([positions, total]).toEqual([[5, 3, 4, 2, 1, 0], '6'])
    expect(Object.keys(body[0]).sort()).toEqual(
      [
        'id',
        'short_id',
        'title',
        'message',
        'parent_ids',
        'author_name',
        'author_email',
        'authored_date',
        'committer_name',
        'committer_email',
        'committed_date',
        'created_at',
        'web_url',
      ].sort(),
    )
  })

  it('parents never come before children when dates tie (C-9)', async () => {
    const tied = await aProject(t.ctx)
    const oids = bareOf(t, tied).commits(...Array.from({ length: 12 }, (_, i) => ({ message: `${i}\n`, date: 1_600_000_000 })))
    const { body } = await t.api('get', at(tied), tied.creator).expect(200)
    expect(idsOf(body)).toEqual(oids.reverse())
  })

  it('ref_name is a branch, tag or hash; what it does not name has no commits (C-10)', async () => {
    expect((await list('ref_name=side')).positions).toEqual([4, 1, 0])
    expect((await list(`ref_name=${ids[2]}`)).positions).toEqual([2, 1, 0])
    expect((await list('ref_name=')).positions).toEqual([5, 3, 4, 2, 1, 0])
    for (const ref of ['none', 'HEAD~3', 'main@{1}', ':/x', 'main:new', '^main', 'side..main', '--all', '--output=x', '@', '-h']) {
      const { body, total } = await list(`ref_name=${enc(ref)}`)
      expect([ref, body, total]).toEqual([ref, [], '0'])
    }
    const empty = await aProject(t.ctx)
    const { headers } = await t.api('get', at(empty), empty.creator).expect(200, [])
    expect(headers).toMatchObject({ 'x-total': '0', 'x-total-pages': '1' })
  })

  it('path is a file, along its renames, or a directory, literally (C-11, SEC-80)', async () => {
    expect((await list('path=new')).positions).toEqual([3, 2, 0])
    expect((await list('path=dir')).positions).toEqual([4, 0])
    expect((await list('path=dir/')).positions).toEqual([4, 0])
    expect((await list('path=dir/x')).positions).toEqual([0])
    for (const path of ['none', '*', ':(top)new', ':/new', ':!new', '[n]ew', '--output=x', '/new', '../new', 'dir//x']) {
      const { body, total } = await list(`path=${enc(path)}`)
      expect([path, body, total]).toEqual([path, [], '0'])
    }
  })

  it('since and until are inclusive, to the second, of the committer date (C-12)', async () => {
    expect((await list('since=2020-09-13T12:30:00Z')).positions).toEqual([5, 3, 4, 2])
    expect((await list('since=2020-09-13T12:30:00.900Z')).positions).toEqual([5, 3, 4, 2])
    expect((await list('since=2020-09-13T12:30:01Z')).positions).toEqual([5, 3, 4])
    expect((await list('until=2020-09-13T12:30:00Z')).positions).toEqual([2, 1, 0])
    expect((await list('until=2020-09-13T12:29:59.999Z')).positions).toEqual([1, 0])
    for (const plus of ['%2B', '+', '%20'])
      expect([plus, (await list(`since=2020-09-13T15:28:20${plus}03:00&until=2020-09-13T12:30:00`)).positions]).toEqual([plus, [2, 1]])
    expect((await list('since=2020-09-14')).total).toBe('0')
    await t.api('get', `${at(project)}?since=never`, caller).expect(400, { error: 'since is invalid' })
    await t.api('get', `${at(project)}?since=x&until=2020-13-01`, caller).expect(400, { error: 'since is invalid, until is invalid' })
  })

  it('X-Total counts what matches all filters, on every page (C-13)', async () => {
    const first = await list('since=2020-09-13T12:28:20Z&path=new&per_page=1')
    expect([first.positions, first.total]).toEqual([[3], '2'])
    const { positions, headers } = await list('per_page=4&page=2&ref_name=main')
    expect(positions).toEqual([1, 0])
    expect(headers).toMatchObject({ 'x-total': '6', 'x-total-pages': '2', 'x-page': '2', 'x-per-page': '4', 'x-prev-page': '1', 'x-next-page': '' })
    const link = (page: number, rel: string) => `<${t.url}/api/v4${at(project)}?page=${page}&per_page=4&ref_name=main>; rel="${rel}"`
    expect(headers['link']).toBe([link(1, 'prev'), link(1, 'first'), link(2, 'last')].join(', '))
  })

  it('all=true lists every ref, with_stats=true counts lines (C-14)', async () => {
    bareOf(t, project).git('update-ref', 'refs/tags/tip', ids[4] as string)
    expect((await list('all=true&ref_name=none')).positions).toEqual([5, 3, 4, 2, 1, 0])
    expect((await list('with_stats=true&per_page=1&page=6')).body[0].stats).toEqual({ additions: 5, deletions: 0, total: 5 })
  })
})

describe('first_parent, alone and with the other filters (X-10)', () => {
  it('leaves out what merges brought in', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    bare.commits(
      { files: { a: '0' } },
      { files: { a: '1' } },
      { branch: 'side', parents: [0], files: { b: '2' } },
      { branch: 'side', files: { b: '3' } },
      { branch: 'main', parents: [1, 3], files: { b: '3' } },
      { files: { b: '5' } },
    )
    const asGit = (...args: string[]) =>
      bare
        .git('rev-list', ...args)
        .trim()
        .split('\n')
    const shown = async (query: string) => idsOf((await t.api('get', `${at(project)}?${query}`, project.creator).expect(200)).body)
    expect(await shown('first_parent=true')).toEqual(asGit('--first-parent', 'main'))
    expect(await shown('first_parent=false')).toEqual(asGit('main'))
    expect(await shown('first_parent=true&path=b')).toEqual(asGit('--first-parent', 'main', '--', 'b'))
    expect(await shown('first_parent=true&all=true')).toEqual(asGit('--first-parent', '--branches'))
    const paged = await t.api('get', `${at(project)}?first_parent=true&per_page=2&page=2&with_stats=true`, project.creator).expect(200)
    expect([idsOf(paged.body), paged.headers['x-total']]).toEqual([asGit('--first-parent', 'main').slice(2), '4'])
    expect(paged.body[0].stats).toEqual({ additions: 1, deletions: 1, total: 2 })
    await t.api('get', `${at(project)}?first_parent=x&all=maybe`, project.creator).expect(400, { error: 'all is invalid, first_parent is invalid' })
  })
})

describe('POST /projects/:id/repository/commits', () => {
  const create = (file_path: string, content = 'x') => ({ action: 'create', file_path, content })
  const post = (project: TestProject, caller: TestUser, given: object) => t.api('post', at(project), caller).send({ commit_message: 'm', ...given })

  it('applies all actions in order to one commit by the caller (C-18, C-19, C-43, C-45)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { keep: 'keep', old: '1\n2\n', gone: 'g\n', 'dir/only': 'o\n' } })
    const bare = bareOf(t, project)
    const parent = bare.git('rev-parse', 'main').trim()
    const before = Date.now()
    const actions = [
      create('new.txt', 'n\n'),
      { action: 'update', file_path: 'new.txt', content: 'later\n' },
      { action: 'move', file_path: 'moved', previous_path: 'old' },
      { action: 'update', file_path: 'moved', content: '1\n3\n' },
      { action: 'delete', file_path: 'gone' },
      { action: 'delete', file_path: 'dir/only' },
      create('gone/now/a/dir', 'd\n'),
    ]
    const { body } = await post(project, as.developer, {
      branch: 'topic',
      start_branch: 'main',
      commit_message: 'Many things\n\nat once',
      actions,
    }).expect(201)
    const { name, email } = as.developer
    expect(body).toMatchObject({
      id: bare.git('rev-parse', 'topic').trim(),
      parent_ids: [parent],
      title: 'Many things',
      message: 'Many things\n\nat once',
      author_name: name,
      author_email: email,
      committer_name: name,
      committer_email: email,
      project_id: project.id,
      status: null,
    })
    expect(body.stats).toEqual((await t.api('get', `${at(project)}/topic`, as.developer).expect(200)).body.stats)
    expect(Date.parse(body.created_at)).toBeGreaterThan(before - 2_000)
    expect(body.authored_date).toBe(body.created_at)
    expect(bare.git('ls-tree', '-r', '--name-only', 'topic').trim().split('\n')).toEqual(['gone/now/a/dir', 'keep', 'moved', 'new.txt'])
    expect([bare.git('show', 'topic:new.txt'), bare.git('show', 'topic:moved')]).toEqual(['later\n', '1\n3\n'])
    expect(Date.parse((await t.api('get', project.path, as.developer)).body.last_activity_at)).toBeGreaterThanOrEqual(before - 1)
    // SEC-101
    bare.git('fsck', '--strict')
  })

  it('reports a missing or invalid list (C-17)', async () => {
    const { developer } = cast.as
    const send = (body: object) => t.api('post', at(cast.project), developer).send(body)
    await send({}).expect(400, { error: 'branch is missing, commit_message is missing, actions is missing' })
    await send({ branch: 'x', actions: [create('a')] }).expect(400, { error: 'commit_message is missing' })
    await send({ branch: 'x', commit_message: 'm' }).expect(400, { error: 'actions is missing' })
    for (const actions of ['create', 7, [1], ['create'], [[create('a')]], create('a'), {}])
      await send({ branch: 'x', commit_message: 'm', actions }).expect(400, { error: 'actions is invalid' })
    await send({ commit_message: 'm', actions: null }).expect(400, { error: 'branch is missing, actions is missing' })
  })

  it('an empty list of actions is an empty commit, also the first one of a repository (C-17)', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    const first = (await post(project, project.creator, { branch: 'main', actions: [] }).expect(201)).body
    expect(first).toMatchObject({ parent_ids: [], stats: { total: 0 } })
    await post(project, project.creator, { branch: 'main', actions: [create('a')] }).expect(201)
    const { body } = await post(project, project.creator, { branch: 'topic', start_branch: 'main', actions: [] }).expect(201)
    expect(body).toMatchObject({ id: bare.git('rev-parse', 'topic').trim(), stats: { additions: 0, deletions: 0, total: 0 } })
    expect(bare.git('diff', 'main', 'topic')).toBe('')
    bare.git('fsck', '--strict')
  })

  it('actions come as a form too (W-1, W-3, G-5)', async () => {
    const project = await aProject(t.ctx)
    const form =
      'branch=main&commit_message=m&actions[][action]=create&actions[][file_path]=a&actions[][content]=1&actions[][action]=create&actions[][file_path]=b&actions[][content]=2'
    await t.api('post', at(project), project.creator).type('form').send(form).expect(201)
    const more = 'branch=main&commit_message=m&actions[0][action]=create&actions[0][file_path]=c&actions[0][content]=3'
    await t.api('post', at(project), project.creator).type('form').send(more).expect(201)
    expect(bareOf(t, project).git('ls-tree', '--name-only', 'main')).toBe('a\nb\nc\n')
  })

  const EXISTS = 'A file with this name already exists'
  const MISSING = "A file with this name doesn't exist"
  const BLANK = 'You must provide a file path'
  const TRAVERSAL = 'Path cannot include directory traversal'
  const NO_BRANCH = 'You can only create or edit files when you are on a branch'
  const invalid = (path: string) => `invalid path: '${path}'`
  const noName = (branch: string) => `Something went wrong when we tried to create '${branch}' for you: Branch name is invalid`
  const stale = (path: string) => `The file has changed since you started editing it: ${path}`
  const one = (action: object) => ({ branch: 'work', actions: [action] })

  it.each<[string, object, string]>([
    ['C-21 create', one(create('a.txt')), EXISTS],
    ['C-21 create on a directory', one(create('dir')), EXISTS],
    ['C-21 of an earlier action', { branch: 'work', actions: [create('n'), create('n')] }, EXISTS],
    ['C-22 update', one({ action: 'update', file_path: 'none', content: 'x' }), MISSING],
    ['C-22 delete', one({ action: 'delete', file_path: 'none' }), MISSING],
    ['C-22 move', one({ action: 'move', file_path: 'n', previous_path: 'none' }), MISSING],
    [
      'C-22 after a deletion',
      {
        branch: 'work',
        actions: [
          { action: 'delete', file_path: 'a.txt' },
          { action: 'update', file_path: 'a.txt', content: 'x' },
        ],
      },
      MISSING,
    ],
    ['C-41 delete a directory', one({ action: 'delete', file_path: 'dir' }), MISSING],
    ['C-23 move', one({ action: 'move', file_path: 'dir/b.txt', previous_path: 'a.txt' }), EXISTS],
    ['C-40 move to itself', one({ action: 'move', file_path: 'a.txt', previous_path: 'a.txt', content: 'x' }), EXISTS],
    ['C-24', one({ action: 'append', file_path: 'a.txt' }), "Unknown action 'append'"],
    ['C-24 absent', one({ file_path: 'a.txt' }), "Unknown action ''"],
    ['C-24, SEC-155', one({ action: '__proto__', file_path: '..' }), "Unknown action '__proto__'"],
    ['C-25 create', one({ action: 'create', file_path: 'n' }), 'You must provide content'],
    ['C-25 update null', one({ action: 'update', file_path: 'a.txt', content: null }), 'You must provide content'],
    ['C-26 with backslashes', one(create('..\\x')), TRAVERSAL],
    ['C-26 with backslashes inside', one({ action: 'move', file_path: 'dir\\..\\..\\x', previous_path: 'a.txt' }), TRAVERSAL],
    ['C-26', one(create('../n')), TRAVERSAL],
    ['C-26 after normalisation', one(create('dir/../../n')), TRAVERSAL],
    ['C-26 delete', one({ action: 'delete', file_path: '/../a.txt' }), TRAVERSAL],
    ['C-26 source of a move', one({ action: 'move', file_path: 'n', previous_path: '../a.txt' }), TRAVERSAL],
    ['C-27 absent', one({ action: 'create', content: 'x' }), BLANK],
    ['C-27 blank', one(create(' ')), BLANK],
    ['C-27, C-38 nothing left', one(create('dir/..')), BLANK],
    ['C-27 move', one({ action: 'move', file_path: 'n' }), BLANK],
    ['C-28', { branch: 'main', actions: [create('n')] }, 'You are not allowed to push into this branch'],
    ['C-28 before all else (C-35)', { branch: 'main', start_branch: 'none', actions: [{}] }, 'You are not allowed to push into this branch'],
    ['C-29, C-36 no start branch', { branch: 'none', actions: [create('n')] }, NO_BRANCH],
    ['C-29, SEC-98 unknown start branch', { branch: 'b', start_branch: 'none', actions: [create('n')] }, NO_BRANCH],
    ['C-29, C-36 a tag is no start branch', { branch: 'b', start_branch: 'v1', actions: [create('n')] }, NO_BRANCH],
    ['C-29 in Git’s own syntax', { branch: 'b', start_branch: 'main~0', actions: [create('n')] }, NO_BRANCH],
    ['C-29 before C-31 (C-35)', { branch: 'a..b', start_branch: 'none', actions: [create('n')] }, NO_BRANCH],
    [
      'C-30, SEC-98',
      { branch: 'work', start_branch: 'main', actions: [create('n')] },
      "A branch called 'work' already exists. Switch to that branch in order to make changes",
    ],
    ['C-31', { branch: 'a..b', start_branch: 'main', actions: [create('n')] }, noName('a..b')],
    ['C-31, SEC-83 a hash', { branch: 'f'.repeat(40), start_branch: 'main', actions: [create('n')] }, noName('f'.repeat(40))],
    ['C-31, SEC-83 an option', { branch: '-b', start_branch: 'main', actions: [create('n')] }, noName('-b')],
    ['C-31, SEC-83 a full name', { branch: 'refs/heads/b', start_branch: 'main', actions: [create('n')] }, noName('refs/heads/b')],
    ['C-31, SEC-83 below another', { branch: 'work/b', start_branch: 'main', actions: [create('n')] }, noName('work/b')],
    ['C-32, SEC-96 update', one({ action: 'update', file_path: 'a.txt', content: 'x', last_commit_id: 'f'.repeat(40) }), stale('a.txt')],
    ['C-32 delete', one({ action: 'delete', file_path: '/dir/./b.txt', last_commit_id: 'x' }), stale('dir/b.txt')],
    ['C-32 move', one({ action: 'move', file_path: 'n', previous_path: 'a.txt', last_commit_id: 'x' }), stale('a.txt')],
    [
      'C-32 before the actions (C-35)',
      { branch: 'work', actions: [{ action: 'chmod' }, { action: 'delete', file_path: 'a.txt', last_commit_id: 'x' }] },
      stale('a.txt'),
    ],
    ['C-42 without history C-22 decides', one({ action: 'delete', file_path: 'none', last_commit_id: 'x' }), MISSING],
    ['C-35 the first bad action', { branch: 'work', actions: [create('n'), create('a.txt'), { action: 'chmod' }] }, EXISTS],
    ['SEC-99 a link as directory', one(create('link/n')), invalid('link/n')],
    ['C-34 an empty part', one(create('dir//n')), invalid('dir//n')],
    ['SEC-92 a trailing slash', one(create('n/')), invalid('n/')],
    ['SEC-92 a line break', one(create('a\nb')), invalid('a\nb')],
    ['SEC-92 a long part', one(create('x'.repeat(256))), invalid('x'.repeat(256))],
    ['SEC-92 a long path', one(create(`${`${'y'.repeat(250)}/`.repeat(17)}n`)), expect.stringContaining('invalid path') as unknown as string],
    ['SEC-92 many levels', one(create(`${'d/'.repeat(128)}n`)), invalid(`${'d/'.repeat(128)}n`)],
    ...['.git', '.git/config', 'x/.GIT/y', '.git./x', '.git /x', 'git~1', '.git::$INDEX_ALLOCATION/x', '.g\u200cit/x', '.git\\x'].map(
      (path) => [`SEC-93 ${path}`, one(create(path)), invalid(path)] as [string, object, string],
    ),
    ['SEC-93 delete', one({ action: 'delete', file_path: '.git/config' }), invalid('.git/config')],
    ['SEC-93 move', one({ action: 'move', file_path: '.GIT/x', previous_path: 'a.txt' }), invalid('.GIT/x')],
    ['SEC-93 source of a move', one({ action: 'move', file_path: 'n', previous_path: '.git/config' }), invalid('.git/config')],
    ...['!!!', 'YQ', 'YQ=', 'YWJj=', 'YWJ!j', 'YW=J', 'YR==', 'a_-b'].map(
      (content) =>
        [`C-39 ${content}`, one({ ...create('n', content), encoding: 'base64' }), 'The content of n is not valid base64'] as [string, object, string],
    ),
    ['C-39 rot13', one({ ...create('n'), encoding: 'rot13' }), "Unknown encoding 'rot13'"],
    ['C-39 of a deletion', one({ action: 'delete', file_path: 'a.txt', encoding: 'BASE64' }), "Unknown encoding 'BASE64'"],
    ['C-39 a list', one({ ...create('n'), encoding: ['text'] }), "Unknown encoding ''"],
    ...['unknown', 'a@', '@b', 'a b@c', 'a@b@c'].map(
      (author_email) => [`C-43 ${author_email}`, { ...one(create('n')), author_email }, 'author_email is invalid'] as [string, object, string],
    ),
    ['SEC-100 <', { ...one(create('n')), author_name: 'a<b', author_email: 'a@b' }, 'author_name is invalid'],
    ['SEC-100 a line break', { ...one(create('n')), author_name: 'a', author_email: 'a@b\nparent x' }, 'author_email is invalid'],
    ['SEC-100 empty', { ...one(create('n')), author_name: '', author_email: 'a@b' }, 'author_name is invalid'],
    ['SEC-100 long', { ...one(create('n')), author_name: 'n'.repeat(256), author_email: 'a@b' }, 'author_name is invalid'],
  ])('%s is refused and changes nothing (C-20, SEC-2)', async (_, given, message) => {
    const bare = bareOf(t, cast.project)
    if (bare.git('branch', '--list', 'work') === '') {
      const main = bare.git('rev-parse', 'main').trim()
      bare.commits({ branch: 'work', parents: [main], files: { link: { mode: '120000', content: 'dir' } } })
      bare.git('tag', 'v1', main)
    }
    const before = await stateOf(t, cast.project)
    const { body } = await post(cast.project, cast.as.developer, given).expect(400)
    expect(body).toEqual({ message })
    expect(await stateOf(t, cast.project)).toEqual(before)
  })

  it('refuses all of 1,000 actions for one bad one (SEC-95), and more than 10,000 (SEC-97)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const before = await stateOf(t, project)
    const many = Array.from({ length: 999 }, (_, i) => create(`f/${i}`))
    await post(project, project.creator, { branch: 'b', start_branch: 'main', actions: [...many, create('a')] }).expect(400, { message: EXISTS })
    const tooMany = Array.from({ length: 10_001 }, (_, i) => create(`f/${i}`))
    await post(project, project.creator, { branch: 'main', actions: tooMany }).expect(413, { message: '413 Request Entity Too Large' })
    expect(await stateOf(t, project)).toEqual(before)
    await post(project, project.creator, { branch: 'main', actions: many }).expect(201)
  })

  it('a body above 100 MiB is refused before it is read (C-46, SEC-97)', async () => {
    const status = await new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': 100 * 1024 * 1024 + 1, 'private-token': cast.as.developer.token }
      const call = request(`${t.url}/api/v4${at(cast.project)}`, { method: 'POST', headers }, (response) => {
        resolve(response.statusCode)
        call.destroy()
      })
      call.on('error', reject)
      call.flushHeaders()
    })
    expect(status).toBe(413)
  })

  it('on top of a branch, or a new one from a start branch (C-36)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const bare = bareOf(t, project)
    const main = bare.git('rev-parse', 'main').trim()
    const made = await post(project, project.creator, { branch: 'new/one', start_branch: 'main', actions: [create('b')] }).expect(201)
    expect([made.body.parent_ids, bare.git('rev-parse', 'main').trim()]).toEqual([[main], main])
    const next = await post(project, project.creator, { branch: 'new/one', actions: [create('c')] }).expect(201)
    expect(next.body.parent_ids).toEqual([made.body.id])
    const same = await post(project, project.creator, { branch: 'new/one', start_branch: 'new/one', actions: [create('d')] }).expect(201)
    expect(same.body.parent_ids).toEqual([next.body.id])
    const blank = await post(project, project.creator, { branch: 'new/one', start_branch: '', actions: [create('e')] }).expect(201)
    expect(blank.body.parent_ids).toEqual([same.body.id])
  })

  it('in an empty repository any branch will do, and start_branch is ignored (C-37, PU-1)', async () => {
    const project = await aProject(t.ctx)
    const { body } = await post(project, project.creator, { branch: 'first', start_branch: 'none', actions: [create('a')] }).expect(201)
    expect(body.parent_ids).toEqual([])
    const shown = (await t.api('get', project.path, project.creator).expect(200)).body
    expect(shown).toMatchObject({ default_branch: 'first', empty_repo: false })
    expect((await t.api('get', `${project.path}/repository/branches/first`, project.creator)).body).toMatchObject({ default: true, protected: true })
    const other = await aProject(t.ctx)
    await post(other, other.creator, { branch: 'a..b', actions: [create('a')] }).expect(400, { message: noName('a..b') })
  })

  it('paths are normalised, and the normalised path counts (C-38)', async () => {
    const project = await aProject(t.ctx)
    const actions = [create('/a'), create('./b'), create('x/../c'), create('d/./e'), create('//f')]
    await post(project, project.creator, { branch: 'main', actions }).expect(201)
    expect(bareOf(t, project).git('ls-tree', '-r', '--name-only', 'main')).toBe('a\nb\nc\nd/e\nf\n')
    await post(project, project.creator, { branch: 'main', actions: [create('/d/../a')] }).expect(400, { message: EXISTS })
  })

  it.each<[string, object, Buffer]>([
    ['text', { content: 'a\r\nb\rc\n' }, Buffer.from('a\nb\rc\n')],
    ['nothing', { content: '' }, Buffer.alloc(0)],
    ['a number', { content: 7 }, Buffer.from('7')],
    ['base64 text', { content: Buffer.from('ü\r\n').toString('base64'), encoding: 'base64' }, Buffer.from('ü\r\n')],
    ['base64 bytes', { content: Buffer.from([0, 13, 10, 255]).toString('base64'), encoding: 'base64' }, Buffer.from([0, 13, 10, 255])],
    ['base64 in lines', { content: 'Y WJ\r\n\tj\n', encoding: 'base64' }, Buffer.from('abc')],
    ['base64 of nothing', { content: '', encoding: 'base64' }, Buffer.alloc(0)],
    ['text by name', { content: 'YQ==', encoding: 'text' }, Buffer.from('YQ==')],
    ['text by default', { content: 'YQ==', encoding: null }, Buffer.from('YQ==')],
  ])('content as %s (C-39, SEC-94)', async (_, given, stored) => {
    const project = await aProject(t.ctx)
    await post(project, project.creator, { branch: 'main', actions: [{ action: 'create', file_path: 'f', ...given }] }).expect(201)
    expect(bareOf(t, project).gitBytes(['cat-file', 'blob', 'main:f'])).toEqual(stored)
  })

  it('chmod sets and clears the executable bit, and keeps the content (X-10)', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    bare.commits({ files: { run: 'r', plain: { mode: '100755', content: 'p' } } })
    const chmod = (file_path: string, execute_filemode: unknown) => ({ action: 'chmod', file_path, execute_filemode })
    await post(project, project.creator, { branch: 'main', actions: [chmod('run', true), chmod('plain', 'false')] }).expect(201)
    expect(bare.git('ls-tree', '-r', '--format=%(objectmode) %(path)', 'main')).toBe('100644 plain\n100755 run\n')
    expect(['run', 'plain'].map((path) => bare.git('cat-file', 'blob', `main:${path}`))).toEqual(['r', 'p'])
    const refused = (action: object) => post(project, project.creator, { branch: 'main', actions: [action] }).expect(400)
    expect((await refused(chmod('run', undefined))).body).toEqual({ message: 'You must provide execute_filemode' })
    expect((await refused(chmod('missing', true))).body).toEqual({ message: "A file with this name doesn't exist" })
  })

  it('move and update keep the mode, move without content the content, create makes 100644 (C-40, SEC-99)', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    bare.commits({ files: { run: { mode: '100755', content: 'r' }, link: { mode: '120000', content: '/etc/passwd' }, text: 't' } })
    const actions = [
      { action: 'move', file_path: 'bin/run', previous_path: 'run' },
      { action: 'update', file_path: 'bin/run', content: 'r2' },
      { action: 'move', file_path: 'link2', previous_path: 'link' },
      { action: 'move', file_path: 'text2', previous_path: 'text', content: 't2' },
      create('plain'),
    ]
    await post(project, project.creator, { branch: 'main', actions }).expect(201)
    const modes = bare.git('ls-tree', '-r', '--format=%(objectmode) %(path)', 'main')
    expect(modes).toBe('100755 bin/run\n120000 link2\n100644 plain\n100644 text2\n')
    expect(['bin/run', 'link2', 'text2'].map((path) => bare.git('cat-file', 'blob', `main:${path}`))).toEqual(['r2', '/etc/passwd', 't2'])
  })

  it('last_commit_id that is right, and one of a create, let the commit through (C-32, C-42)', async () => {
    const project = await aProject(t.ctx)
    const [first] = bareOf(t, project).commits({ files: { a: '1', c: 'once' } }, { files: { b: '2', c: null } }) as [string]
    const actions = [
      { action: 'update', file_path: 'a', content: 'x', last_commit_id: first },
      { ...create('c'), last_commit_id: 'f'.repeat(40) },
    ]
    const { body } = await post(project, project.creator, { branch: 'main', actions }).expect(201)
    await post(project, project.creator, { branch: 'main', actions: [{ ...actions[0], last_commit_id: body.id }] }).expect(201)
  })

  it('name and address of the author are given, each separately, or are the caller’s (C-43)', async () => {
    const project = await aProject(t.ctx)
    const { name, email } = project.creator
    const author = async (given: object, file: string) => {
      const { body } = await post(project, project.creator, { branch: 'main', actions: [create(file)], ...given }).expect(201)
      expect([body.committer_name, body.committer_email]).toEqual([name, email])
      return [body.author_name, body.author_email]
    }
    expect(await author({ author_name: 'Ada', author_email: 'ada@example.org' }, 'a')).toEqual(['Ada', 'ada@example.org'])
    expect(await author({ author_name: 'Ada' }, 'b')).toEqual(['Ada', email])
    expect(await author({ author_email: 'ada@example.org' }, 'c')).toEqual([name, 'ada@example.org'])
    expect(await author({ author_email: ' Ada@localhost ' }, 'd')).toEqual([name, 'Ada@localhost'])
    expect(await author({}, 'e')).toEqual([name, email])
  })

  it('an unchanged tree makes a commit (C-44)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const { body } = await post(project, project.creator, { branch: 'main', actions: [{ action: 'update', file_path: 'a', content: 'a' }] }).expect(
      201,
    )
    expect(body.stats).toEqual({ additions: 0, deletions: 0, total: 0 })
    const bare = bareOf(t, project)
    expect(bare.git('rev-parse', 'main^{tree}')).toBe(bare.git('rev-parse', 'main~1^{tree}'))
  })

  it('the message keeps its line ends; NUL and broken Unicode are refused (SEC-100)', async () => {
    const project = await aProject(t.ctx)
    const { body } = await post(project, project.creator, { branch: 'main', commit_message: 'a\r\nb', actions: [create('a')] }).expect(201)
    expect(body.message).toBe('a\r\nb')
    for (const text of ['a\0b', '\ud800']) {
      const answer = await post(project, project.creator, { branch: 'main', commit_message: text, actions: [create('b')] }).expect(400)
      expect(Object.keys(answer.body)).toEqual(['error'])
    }
    const broken = Buffer.concat([Buffer.from('{"branch":"main","commit_message":"'), Buffer.from([0xff]), Buffer.from('"}')])
    await t
      .api('post', at(project), project.creator)
      .type('json')
      .serialize((bytes) => bytes)
      .send(broken)
      .expect(400, { error: 'message body does not match declared format' })
  })

  it('odd names stay strings (SEC-155)', async () => {
    const project = await aProject(t.ctx)
    const names = ['__proto__', 'constructor', 'null', 'undefined', 'NaN', 'true', '0', '-1', '1e3']
    await post(project, project.creator, { branch: '__proto__', actions: names.map((name) => create(name, name)) }).expect(201)
    const bare = bareOf(t, project)
    expect(bare.git('ls-tree', '--name-only', '__proto__').trim().split('\n').sort()).toEqual([...names].sort())
    for (const branch of ['constructor', 'null', 'NaN', 'true', '0', '1e3']) {
      await post(project, project.creator, { branch, start_branch: '__proto__', actions: [create('n')] }).expect(201)
      expect(idsOf((await t.api('get', `${at(project)}?ref_name=${branch}`, project.creator).expect(200)).body)).toHaveLength(2)
    }
  })

  it.runIf(process.platform === 'linux')('reads the first MiB of each long message for a list, and all of it for one commit (SEC-178)', async () => {
    const project = await aProject(t.ctx)
    const message = (n: number) => Buffer.from(`Commit ${n}\n\n${'ä'.repeat(4_900_000)}`)
    let parent = ''
    for (let n = 0; n < 8; n++) {
      const lines = [...(parent ? [`parent ${parent}`] : []), 'author Ada <a@b.c> 1600000000 +0000', 'committer Ada <a@b.c> 1600000000 +0000']
      parent = rawCommit(project, lines, message(n))
    }
    bareOf(t, project).git('update-ref', 'refs/heads/main', parent)
    const bytesRead = async () => Number(/^rchar: (\d+)$/m.exec(await readFile('/proc/self/io', 'utf8'))?.[1])
    const before = await bytesRead()
    const { body } = await t.api('get', `${at(project)}?ref_name=main`, project.creator).expect(200)
    // the messages, the answer as it is received, and everything else
    expect((await bytesRead()) - before).toBeLessThan(8 * 2_000_000 + 24_000_000)
    expect(body).toHaveLength(8)
    for (const [n, listed] of body.entries()) {
      expect(listed.title).toBe(`Commit ${7 - n}`)
      expect(listed.message).toMatch(/^Commit \d\n\nä+\.\.\.$/)
      expect(listed.message.length).toBeGreaterThan(500_000)
    }
    const single = await t.api('get', `${at(project)}/${parent}`, project.creator).expect(200)
    expect(single.body.message.length).toBeGreaterThan(body[0].message.length)
  })

  it('a commit that loses its race to others again and again is 503, never 400, and writes nothing (C-33)', async () => {
    const project = await aProject(t.ctx, { files: { seed: 's' } })
    const bare = bareOf(t, project)
    const loop = 'while old=$(git rev-parse main); do git update-ref refs/heads/main "$(git commit-tree -p $old -m other $old^{tree})" $old; done'
    const env = { PATH: process.env['PATH'], ...IDENTITY, GIT_DIR: bare.directory, GIT_CONFIG_GLOBAL: '/dev/null' }
    const others = spawn('/bin/sh', ['-c', loop], { env, stdio: 'ignore', detached: true })
    const statuses: number[] = []
    try {
      for (let i = 0; i < 2; i++) {
        const answer = await post(project, project.creator, { branch: 'main', commit_message: `ours ${i}`, actions: [create(`f${i}`)] })
        statuses.push(answer.status)
        if (answer.status === 503) expect(answer.headers['retry-after']).toMatch(/^\d+$/)
      }
    } finally {
      process.kill(-(others.pid as number), 'SIGKILL')
      await new Promise((resolve) => others.once('close', resolve))
    }
    expect([201, 503]).toEqual(expect.arrayContaining(statuses))
    const ours = bare.git('log', '--format=%s', '--grep=^ours', 'main').split('\n').filter(Boolean)
    expect(ours).toHaveLength(statuses.filter((status) => status === 201).length)
  })

  it('of 20 commits at once each is in the history once, or was refused (C-33, SEC-102)', async () => {
    const project = await aProject(t.ctx, { files: { seed: 's' } })
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => post(project, project.creator, { branch: 'main', commit_message: `c${i}`, actions: [create(`f${i}`)] })),
    )
    const made = answers.filter(({ status }) => status === 201).map(({ body }) => body.id)
    const bare = bareOf(t, project)
    const history = bare.git('log', '--format=%H', 'main').trim().split('\n')
    expect(history).toHaveLength(made.length + 1)
    expect(history.slice(0, -1).sort()).toEqual([...made].sort())
    expect(bare.git('ls-tree', '--name-only', 'main').trim().split('\n')).toHaveLength(made.length + 1)
    // writers of one service stand in line, so none has to try again
    expect(made).toHaveLength(20)
  })
})

describe('start_sha and force (X-10)', () => {
  const given = (more: object) => ({ commit_message: 'm', actions: [{ action: 'create', file_path: 'new', content: 'x' }], ...more })
  const post = (project: TestProject, more: object, caller: TestUser = project.creator) => t.api('post', at(project), caller).send(given(more))

  /** Two commits on main, and one on another branch. */
  async function two(roles: Parameters<typeof aProject>[1] = {}) {
    const project = await aProject(t.ctx, roles)
    const [first, second, other] = bareOf(t, project).commits(
      { files: { a: 'a' } },
      { files: { b: 'b' } },
      { branch: 'other', parents: [0], files: { c: 'c' } },
    ) as [string, string, string]
    await t.ctx.db.write.update(projects).set({ empty_repo: false }).where(eq(projects.id, project.id))
    return { project, bare: bareOf(t, project), first, second, other }
  }

  it('a new branch starts from any commit, which need not be the head of one', async () => {
    const { project, bare, first, second } = await two()
    const { body } = await post(project, { branch: 'old', start_sha: first }).expect(201)
    expect([body.parent_ids, bare.git('rev-parse', 'old').trim()]).toEqual([[first], body.id])
    expect(bare.git('ls-tree', '--name-only', 'old')).toBe('a\nnew\n')
    // a start that is the head of the branch is no other start
    expect((await post(project, { branch: 'main', start_sha: second }).expect(201)).body.parent_ids).toEqual([second])
    expect((await post(project, { branch: 'blank', start_sha: '', start_branch: 'other' }).expect(201)).body.parent_ids).toEqual([
      bare.git('rev-parse', 'other').trim(),
    ])
  })

  it('refuses a start that is no commit, no full hash, or given twice, and changes nothing', async () => {
    const { project, bare, first } = await two()
    const before = await stateOf(t, project)
    const none = ['f'.repeat(40), first.slice(0, 12), 'main', 'HEAD', '--all', bare.git('rev-parse', 'main^{tree}').trim()]
    for (const start_sha of none)
      await post(project, { branch: 'x', start_sha }).expect(400, { message: `There is no commit ${start_sha} to start from` })
    await post(project, { branch: 'x', start_sha: first, start_branch: 'main' }).expect(400, {
      error: 'start_branch, start_sha are mutually exclusive',
    })
    await post(project, { branch: 'main', start_sha: first }).expect(400, {
      message: "A branch called 'main' already exists. Switch to that branch in order to make changes",
    })
    await post(project, { branch: 'main', force: 'maybe' }).expect(400, { error: 'force is invalid' })
    expect(await stateOf(t, project)).toEqual(before)
  })

  it('force resets an existing branch to the start, and creates a missing one', async () => {
    const { project, bare, first, other } = await two()
    await post(project, { branch: 'main', start_branch: 'other' }).expect(400)
    const one = await post(project, { branch: 'main', start_branch: 'other', force: true }).expect(201)
    expect(one.body.parent_ids).toEqual([other])
    const two_ = await post(project, { branch: 'main', start_sha: first, force: true }).expect(201)
    expect([two_.body.parent_ids, bare.git('rev-parse', 'main').trim()]).toEqual([[first], two_.body.id])
    await post(project, { branch: 'fresh', start_branch: 'other', force: true }).expect(201)
    // without another start it is a commit like any other
    const three = await post(project, { branch: 'other', force: true }).expect(201)
    expect(three.body.parent_ids).toEqual([other])
  })

  it('force leaves no history behind on a protected branch that does not allow it (SEC-104, BR-19, PU-9)', async () => {
    const developer = await aUser(t.ctx)
    const { project, bare, second } = await two({ developer })
    const protect = (more: object) =>
      t
        .api('post', `${project.path}/protected_branches`, project.creator)
        .send({ name: 'main', push_access_level: 30, ...more })
        .expect(201)
    await protect({})
    const before = await stateOf(t, project)
    for (const caller of [developer, project.creator])
      await post(project, { branch: 'main', start_branch: 'other', force: true }, caller).expect(400, {
        message: 'You are not allowed to push into this branch',
      })
    expect(await stateOf(t, project)).toEqual(before)
    // a start that goes on from the branch leaves nothing behind
    bare.commits({ branch: 'ahead', parents: [second], files: { d: 'd' } })
    await post(project, { branch: 'main', start_branch: 'ahead', force: true }, developer).expect(201)
    await t.api('delete', `${project.path}/protected_branches/main`, project.creator).expect(204)
    await protect({ allow_force_push: true })
    await post(project, { branch: 'main', start_branch: 'other', force: true }, developer).expect(201)
  })

  it('in an empty repository a start is not looked at (C-37)', async () => {
    const project = await aProject(t.ctx)
    expect((await post(project, { branch: 'main', start_sha: 'f'.repeat(40), force: true }).expect(201)).body.parent_ids).toEqual([])
  })
})

describe('GET /projects/:id/repository/commits/:sha/diff', () => {
  const lines = (n: number, text = 'line') => Array.from({ length: n }, (_, i) => `${text} ${i}\n`).join('')

  it('C-52..C-56: one element a file, by path, as a unified text', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    const ten = lines(10)
    bare.commits({
      files: {
        changed: ten,
        deleted: 'd\n',
        'old-name': ten.replaceAll('line', 'move'),
        same: lines(10, 'same'),
        mode: 'm\n',
        bin: Buffer.from([0, 1]),
        'bin-gone': Buffer.from([0, 9]),
        unended: 'a',
        copied: lines(10, 'copy'),
        kept: 'k',
        link: { mode: '120000', content: 'kept' },
      },
    })
    const [id] = bare.commits({
      parents: [bare.git('rev-parse', 'main').trim()],
      files: {
        changed: ten.replace('line 4', 'LINE 4'),
        deleted: null,
        'old-name': null,
        'z-new-name': ten.replaceAll('line', 'move').replace('move 9', 'MOVE 9'),
        same: null,
        'same-name': lines(10, 'same'),
        mode: { mode: '100755', content: 'm\n' },
        bin: Buffer.from([0, 2]),
        'bin-gone': null,
        'bin-new': Buffer.from([0, 7, 7]),
        unended: 'b',
        'copy-of-copied': lines(10, 'copy'),
        added: 'one\ntwo\n',
        empty: '',
        module: { mode: '160000', content: 'c'.repeat(40) },
        link: { mode: '120000', content: 'added' },
      },
    }) as [string]
    const { body, headers } = await t.api('get', `${at(project)}/${id}/diff`, project.creator).expect(200)
    const flags = { new_file: false, renamed_file: false, deleted_file: false }
    const entry = (path: string, diff: string, more: object = {}) => ({
      old_path: path,
      new_path: path,
      a_mode: '100644',
      b_mode: '100644',
      ...flags,
      diff,
      ...more,
    })
    const added = { a_mode: '0', new_file: true }
    const deleted = { b_mode: '0', deleted_file: true }
    const copy = lines(10, 'copy').replace(/^/gm, '+').slice(0, -1)
    expect(body).toEqual([
      entry('added', '--- /dev/null\n+++ b/added\n@@ -0,0 +1,2 @@\n+one\n+two\n', added),
      entry('bin', 'Binary files a/bin and b/bin differ\n'),
      entry('bin-gone', 'Binary files a/bin-gone and /dev/null differ\n', deleted),
      entry('bin-new', 'Binary files /dev/null and b/bin-new differ\n', added),
      entry(
        'changed',
        '--- a/changed\n+++ b/changed\n@@ -2,7 +2,7 @@ line 0\n line 1\n line 2\n line 3\n-line 4\n+LINE 4\n line 5\n line 6\n line 7\n',
      ),
      entry('copy-of-copied', `--- /dev/null\n+++ b/copy-of-copied\n@@ -0,0 +1,10 @@\n${copy}`, added),
      entry('deleted', '--- a/deleted\n+++ /dev/null\n@@ -1 +0,0 @@\n-d\n', deleted),
      entry('empty', '', added),
      entry('link', '--- a/link\n+++ b/link\n@@ -1 +1 @@\n-kept\n\\ No newline at end of file\n+added\n\\ No newline at end of file\n', {
        a_mode: '120000',
        b_mode: '120000',
      }),
      entry('mode', '', { b_mode: '100755' }),
      entry('module', `--- /dev/null\n+++ b/module\n@@ -0,0 +1 @@\n+Subproject commit ${'c'.repeat(40)}\n`, {
        a_mode: '0',
        b_mode: '160000',
        new_file: true,
      }),
      entry('old-name', '--- a/old-name\n+++ b/z-new-name\n@@ -7,4 +7,4 @@ move 5\n move 6\n move 7\n move 8\n-move 9\n+MOVE 9\n', {
        new_path: 'z-new-name',
        renamed_file: true,
      }),
      entry('same', '', { new_path: 'same-name', renamed_file: true }),
      entry('unended', '--- a/unended\n+++ b/unended\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n'),
    ])
    expect(headers['x-total']).toBe('14')
  })

  it('a root commit is compared with nothing, a merge with its first parent, and an empty commit changes nothing (C-52, SEC-154)', async () => {
    const project = await aProject(t.ctx)
    const [root, , merge, empty] = bareOf(t, project).commits(
      { files: { a: 'a\n' } },
      { branch: 'side', parents: [0], files: { b: 'b\n' } },
      { branch: 'main', parents: [0, 1], files: { b: 'b\n' } },
      { branch: 'main' },
    ) as [string, string, string, string]
    const changed = async (id: string) =>
      (await t.api('get', `${at(project)}/${id}/diff`, project.creator).expect(200)).body.map(({ new_path }: { new_path: string }) => new_path)
    expect(await changed(root)).toEqual(['a'])
    expect(await changed(merge)).toEqual(['b'])
    expect(await changed(empty)).toEqual([])
  })

  it('paginated; at most 1,000 files (C-52, C-62)', async () => {
    const project = await aProject(t.ctx)
    const files = Object.fromEntries(Array.from({ length: 1_020 }, (_, i) => [`f${String(i).padStart(4, '0')}`, 'x\n']))
    bareOf(t, project).commits({ files })
    const { body, headers } = await t.api('get', `${at(project)}/main/diff?per_page=30&page=34`, project.creator).expect(200)
    expect(body.map(({ new_path }: { new_path: string }) => new_path)).toEqual(Object.keys(files).slice(990, 1_000))
    expect(headers).toMatchObject({ 'x-total': '1000', 'x-total-pages': '34', 'x-next-page': '', 'x-diff-overflow': 'true' })
    expect(headers['access-control-expose-headers']).toContain('X-Diff-Overflow')
    expect(headers['link']).toContain('rel="prev"')
  })

  const texts = (name: string) => `${name.repeat(99)}\n`.repeat(900)
  it.each<[string, Record<string, string>, number]>([
    ['50,000 lines', Object.fromEntries(Array.from({ length: 3 }, (_, i) => [`f${i}`, 'x\n'.repeat(20_000)])), 2],
    ['5,000,000 bytes', Object.fromEntries(Array.from({ length: 56 }, (_, i) => [`f${i + 10}`, texts('x')])), 54],
  ])('files beyond %s of text are left out, and the answer says so (C-52, C-62)', async (_, files, kept) => {
    const project = await aProject(t.ctx)
    bareOf(t, project).commits({ files })
    const { body } = await t.api('get', `${at(project)}/main/diff?per_page=100`, project.creator).expect(200)
    expect(body.map(({ new_path }: { new_path: string }) => new_path)).toEqual(Object.keys(files).slice(0, kept))
    const overflow = async (path: string) => (await t.api('get', path, project.creator).expect(200)).headers['x-diff-overflow']
    expect(await overflow(`${at(project)}/main/diff`)).toBe('true')
    const [before, after] = bareOf(t, project).commits(
      { files: { z: '1' } },
      { files: Object.fromEntries(Object.keys(files).map((name) => [name, null])) },
    ) as [string, string]
    expect(await overflow(`${at(project)}/${before}/diff`)).toBeUndefined()
    const compared = `${project.path}/repository/compare`
    expect([await overflow(`${compared}?from=${before}&to=${after}`), await overflow(`${compared}?from=${before}&to=${before}`)]).toEqual([
      'true',
      undefined,
    ])
  })

  it('a file whose text reaches 102,400 bytes has none; one byte less is shown (C-57, C-62)', async () => {
    const project = await aProject(t.ctx)
    const head = (name: string) => `--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+`.length
    const content = (name: string, size: number) => `${'x'.repeat(size - head(name) - 1)}\n`
    bareOf(t, project).commits({ files: { at: content('at', 102_400), up: content('up', 102_399) } })
    const answer = await t.api('get', `${at(project)}/main/diff`, project.creator).expect(200)
    const shown = answer.body as { new_path: string; diff: string; new_file: boolean; too_large?: true; collapsed?: false }[]
    expect(shown.map(({ new_path, diff, new_file, too_large, collapsed }) => [new_path, diff.length, new_file, too_large, collapsed])).toEqual([
      ['at', 0, true, true, false],
      ['up', 102_399, true, undefined, undefined],
    ])
    expect(answer.headers['x-diff-overflow']).toBe('true')
  })

  it('odd file names are listed, none hides its neighbours (SEC-153)', async () => {
    const project = await aProject(t.ctx)
    const names = ['a\nb', 'c\td', '"quoted"', 'back\\slash', '   ', '-x', '--', '*', ':(top)x', '__proto__', 'n'.repeat(255), 'é', '~last']
    bareOf(t, project).commits({ files: [...names.map((name): [string, string] => [name, 'x\n']), [Buffer.from([0x66, 0xff]), 'x\n']] })
    const { body } = await t.api('get', `${at(project)}/main/diff`, project.creator).expect(200)
    expect(body.map(({ new_path }: { new_path: string }) => new_path).sort()).toEqual([...names, 'f\ufffd'].sort())
    for (const { new_path, diff } of body) expect(diff).toBe(`--- /dev/null\n+++ b/${new_path}\n@@ -0,0 +1 @@\n+x\n`)
    for (const name of names) {
      const touched = await t.api('get', `${at(project)}?path=${enc(name)}`, project.creator).expect(200)
      expect([name, touched.body.length]).toEqual([name, 1])
    }
  })

  it('CRLF and a file that becomes a link (SEC-154)', async () => {
    const project = await aProject(t.ctx)
    const [, id] = bareOf(t, project).commits(
      { files: { crlf: 'a\r\n', turns: 'x\n' } },
      { files: { crlf: 'b\r\n', turns: { mode: '120000', content: 'crlf' } } },
    ) as [string, string]
    const { body } = await t.api('get', `${at(project)}/${id}/diff`, project.creator).expect(200)
    expect(body[0].diff).toBe('--- a/crlf\n+++ b/crlf\n@@ -1 +1 @@\n-a\r\n+b\r\n')
    expect(body[1]).toMatchObject({ new_path: 'turns', a_mode: '100644', b_mode: '120000' })
  })
})

describe('permissions', () => {
  it.each(statuses(200))('companions 5.3: %s reads the commits of a public project (G-65)', async (role, status) => {
    for (const path of ['', '/main', '/main/diff']) await t.api('get', at(cast.project) + path, cast.as[role]).expect(status)
  })

  // W-37: without a credential this is a 403, as G-10 and C-16 say for this family
  it.each(statuses(201, { anonymous: 403, stranger: 403, guest: 403, reporter: 403 }))('%s commits: %i (C-16, PU-9)', async (role, status) => {
    const before = status === 201 ? null : await stateOf(t, cast.project)
    const given = { branch: `by-${role}`, start_branch: 'main', commit_message: 'm', actions: [{ action: 'create', file_path: 'n', content: 'x' }] }
    const { body } = await t.api('post', at(cast.project), cast.as[role]).send(given).expect(status)
    if (before) {
      expect(body).toEqual(FORBIDDEN)
      expect(await stateOf(t, cast.project)).toEqual(before)
    }
  })

  it('callers who may not commit are refused before the parameters are read (G-10, G-11)', async () => {
    await t.api('post', at(cast.project), cast.as.guest).send({}).expect(403, FORBIDDEN)
    await t.api('post', at(cast.project), cast.as.developer).send({}).expect(400)
  })

  it.each<[Role, number, number]>([
    ['anonymous', 404, 404],
    ['stranger', 404, 404],
    ['guest', 403, 403],
    ['reporter', 200, 403],
    ['developer', 200, 201],
    ['maintainer', 200, 201],
    ['owner', 200, 201],
    ['admin', 200, 201],
  ])('%s before a private project reads: %i, writes: %i (G-40, G-62)', async (role, reads, writes) => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    for (const path of ['', '/main', '/main/diff']) {
      const { body } = await t.api('get', at(project) + path, as[role]).expect(reads)
      if (reads === 404) expect(body).toEqual({ message: '404 Project Not Found' })
      if (reads === 403) expect(body).toEqual(FORBIDDEN)
    }
    const given = { branch: 'b', start_branch: 'main', commit_message: 'm', actions: [{ action: 'create', file_path: 'n', content: 'x' }] }
    await t.api('post', at(project), as[role]).send(given).expect(writes)
  })

  it.each([
    [0, 201],
    [1, 201],
    [2, 400],
  ] as const)('default_branch_protection %i: a developer’s commit to the default branch: %i (SEC-105)', async (protection, status) => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    // as the setting would have left the entry that the first commit made
    await t.api('delete', `${project.path}/protected_branches/main`, as.maintainer).expect(204)
    if (protection > 0)
      await t
        .api('post', `${project.path}/protected_branches`, as.maintainer)
        .send({ name: 'main', push_access_level: protection === 1 ? 30 : 40 })
        .expect(201)
    const given = { branch: 'main', commit_message: 'm', actions: [{ action: 'create', file_path: 'n', content: 'x' }] }
    const { body } = await t.api('post', at(project), as.developer).send(given).expect(status)
    if (status === 400) expect(body).toEqual({ message: 'You are not allowed to push into this branch' })
  })

  it('an archived repository is read, not written (AC-11, SEC-107, G-69); one that is switched off is neither (AC-10, G-68)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public', files: { a: 'a' } })
    await t.api('post', `${project.path}/archive`, as.owner).expect(201)
    const before = await stateOf(t, project)
    const given = { branch: 'main', commit_message: 'm', actions: [{ action: 'create', file_path: 'n', content: 'x' }] }
    for (const caller of [as.owner, as.admin]) await t.api('post', at(project), caller).send(given).expect(403, FORBIDDEN)
    expect(await stateOf(t, project)).toEqual(before)
    await t.api('get', `${at(project)}/main/diff`, null).expect(200)
    await t.api('post', `${project.path}/unarchive`, as.owner).expect(201)
    await t.api('put', project.path, as.owner).send({ repository_access_level: 'disabled' }).expect(200)
    for (const caller of [null, as.owner, as.admin])
      for (const path of ['', '/main', '/main/diff']) await t.api('get', at(project) + path, caller).expect(403, FORBIDDEN)
    await t.api('post', at(project), as.owner).send(given).expect(403, FORBIDDEN)
  })

  it('companions 3.3: read_api reads; read_repository alone does not open commits; neither writes', async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { developer: user, files: { a: 'a' } })
    await t.api('get', at(project), { token: await aToken(t.ctx, user, ['read_api']) }).expect(200)
    for (const scope of ['read_repository', 'read_user'] as const)
      await t.api('get', at(project), { token: await aToken(t.ctx, user, [scope]) }).expect(403)
    await t
      .api('post', at(project), { token: await aToken(t.ctx, user, ['read_api', 'write_repository']) })
      .send({})
      .expect(403)
  })
})
