import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { bytes } from '../../support/bytes.js'
import { aCast, type Cast, type Role, statuses } from '../../support/cast.js'
import { aProject, aToken, aUser } from '../../support/factories.js'
import type { TestRepository } from '../../support/git.js'
import { bareOf, stateOf } from '../../support/repositories.js'

const t = testApp()
let cast: Cast
let bare: TestRepository
let at: string
let first: string
let second: string

beforeAll(async () => {
  cast = await aCast(t.ctx, { visibility: 'public', files: { 'seed.txt': 'seed\n' } })
  at = `${cast.project.path}/repository/files`
  bare = bareOf(t, cast.project)
  const seed = bare.git('rev-parse', 'main').trim()
  const oids = bare.commits(
    {
      parents: [seed],
      files: {
        'docs/a b.md': 'text\n',
        run: { mode: '100755', content: 'x' },
        link: { mode: '120000', content: 'run' },
        module: { mode: '160000', content: 'c'.repeat(40) },
      },
    },
    { files: { other: 'o' } },
  )
  first = oids[0] as string
  second = oids[1] as string
})

const FORBIDDEN = { message: '403 Forbidden' }
const NO_FILE = { message: '404 File Not Found' }
const NO_COMMIT = { message: '404 Commit Not Found' }
const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex')
const enc = encodeURIComponent

describe('GET and HEAD /projects/:id/repository/files/:file_path', () => {
  it('the file, its content, and its commits; HEAD means the default branch (RF-1)', async () => {
    for (const ref of ['main', 'HEAD']) {
      const { body } = await t.api('get', `${at}/${enc('docs/a b.md')}?ref=${ref}`, null).expect(200)
      expect(body).toEqual({
        file_name: 'a b.md',
        file_path: 'docs/a b.md',
        size: 5,
        encoding: 'base64',
        content: Buffer.from('text\n').toString('base64'),
        content_sha256: sha256('text\n'),
        ref: 'main',
        blob_id: bare.git('rev-parse', 'main:docs/a b.md').trim(),
        commit_id: second,
        last_commit_id: first,
        execute_filemode: false,
      })
    }
    expect((await t.api('get', `${at}/run?ref=${first}`, null).expect(200)).body).toMatchObject({
      ref: first,
      commit_id: first,
      execute_filemode: true,
    })
  })

  it('the same as headers (RF-2)', async () => {
    const { headers, text } = await t.api('head', `${at}/${enc('docs/a b.md')}?ref=main`, null).expect(200)
    expect(text ?? '').toBe('')
    expect(headers).toMatchObject({
      'x-gitlab-file-name': 'a b.md',
      'x-gitlab-file-path': 'docs/a b.md',
      'x-gitlab-size': '5',
      'x-gitlab-encoding': 'base64',
      'x-gitlab-content-sha256': sha256('text\n'),
      'x-gitlab-ref': 'main',
      'x-gitlab-blob-id': bare.git('rev-parse', 'main:docs/a b.md').trim(),
      'x-gitlab-commit-id': second,
      'x-gitlab-last-commit-id': first,
      'x-gitlab-execute-filemode': 'false',
    })
  })

  it.each([
    ['none', '?ref=main', NO_FILE],
    ['docs', '?ref=main', NO_FILE],
    ['module', '?ref=main', NO_FILE],
    ['run%2Fx', '?ref=main', NO_FILE],
    ['%2Frun', '?ref=main', NO_FILE],
    ['..%2Frun', '?ref=main', NO_FILE],
    ['*', '?ref=main', NO_FILE],
    [':(top)run', '?ref=main', NO_FILE],
    ['--output=x', '?ref=main', NO_FILE],
    ['other', '?ref=none', NO_COMMIT],
    ['other', '?ref=', NO_COMMIT],
    ['other', '?ref=main~1', NO_COMMIT],
    ['other', '?ref=--all', NO_COMMIT],
  ])('to SEC-81: 404 for %s%s (RF-1, RF-2, SEC-79)', async (path, query, answer) => {
    await t.api('get', `${at}/${path}${query}`, null).expect(404, answer)
    await t.api('head', `${at}/${path}${query}`, null).expect(404)
    if (query !== '?ref=') await t.api('get', `${at}/${path}/raw${query}`, null).expect(404, answer)
  })

  it('ref must be there (RF-1, RF-2)', async () => {
    await t.api('get', `${at}/run`, null).expect(400, { error: 'ref is missing' })
    await t.api('head', `${at}/run`, null).expect(400)
  })

  it('a link is a blob that holds its target (SEC-99)', async () => {
    const { body } = await t.api('get', `${at}/link?ref=main`, null).expect(200)
    expect(Buffer.from(body.content, 'base64').toString()).toBe('run')
    await t.api('get', `${at}/link%2Fx?ref=main`, null).expect(404, NO_FILE)
  })

  it('above 10 MiB there is no JSON, but facts and bytes (SEC-146)', async () => {
    const project = await aProject(t.ctx)
    const content = Buffer.alloc(10 * 1024 * 1024 + 1, 'large ')
    bareOf(t, project).commits({ files: { large: content } })
    const path = `${project.path}/repository/files/large`
    await t.api('get', `${path}?ref=main`, project.creator).expect(413, { message: '413 Request Entity Too Large' })
    const facts = { 'x-gitlab-size': String(content.length), 'x-gitlab-content-sha256': sha256(content) }
    expect((await t.api('head', `${path}?ref=main`, project.creator).expect(200)).headers).toMatchObject(facts)
    const raw = await t.api('get', `${path}/raw`, project.creator).buffer(true).parse(bytes).expect(200)
    expect(raw.headers).toMatchObject(facts)
    expect(raw.body.equals(content)).toBe(true)
  })

  it('odd names, in bodies and in headers (SEC-153, SEC-155)', async () => {
    const project = await aProject(t.ctx)
    const names = ['-x', '--', '*', ' ', 'a\nb', 'a\tb', '"q"', 'back\\slash', '😀.txt', 'ü', '__proto__', 'constructor', 'null', '1e3', '-1']
    bareOf(t, project).commits({ files: Object.fromEntries(names.filter((name) => name !== '__proto__').map((name) => [name, name])) })
    bareOf(t, project).commits({ files: [['__proto__', '__proto__']] })
    for (const name of names) {
      const path = `${project.path}/repository/files/${enc(name)}`
      const { body } = await t.api('get', `${path}?ref=main`, project.creator).expect(200)
      expect([body.file_name, body.file_path, Buffer.from(body.content, 'base64').toString()]).toEqual([name, name, name])
      const { headers } = await t.api('head', `${path}?ref=main`, project.creator).expect(200)
      expect(headers['x-gitlab-file-path']).toBe(name.replace(/[^\x20-\x7e]/gu, enc).trim())
      const raw = await t.api('get', `${path}/raw`, project.creator).buffer(true).parse(bytes).expect(200)
      expect(raw.body.toString()).toBe(name)
    }
  })
})

describe('GET and HEAD /projects/:id/repository/files/:file_path/raw', () => {
  it('the bytes and the headers of RF-2, at the default branch unless a ref is named (RF-3)', async () => {
    for (const query of ['', '?ref=', '?ref=main', '?ref=HEAD']) {
      const { body, headers } = await t
        .api('get', `${at}/${enc('docs/a b.md')}/raw${query}`, null)
        .buffer(true)
        .parse(bytes)
        .expect(200)
      expect(body.toString()).toBe('text\n')
      expect(headers).toMatchObject({
        'content-type': 'text/plain',
        'x-gitlab-file-name': 'a b.md',
        'x-gitlab-last-commit-id': first,
        'x-gitlab-commit-id': second,
      })
    }
    const head = await t.api('head', `${at}/${enc('docs/a b.md')}/raw`, null).expect(200)
    expect(head.headers).toMatchObject({ 'content-length': '5', 'x-gitlab-size': '5', 'content-type': 'text/plain' })
  })
})

describe('POST, PUT and DELETE /projects/:id/repository/files/:file_path', () => {
  const show = (path: string, branch: string) => bare.gitBytes(['cat-file', 'blob', `refs/heads/${branch}:${path}`]).toString()
  const mode = (path: string, branch: string) => bare.git('ls-tree', `refs/heads/${branch}`, path).slice(0, 6)
  const onNew = { branch: 'made', start_branch: 'main', commit_message: 'Make it' }

  it('creates, changes and deletes; the author may be given, the committer is the caller (RF-5, RF-6, RF-7, RF-9)', async () => {
    const { developer } = cast.as
    const path = `${at}/${enc('new/dir/file.txt')}`
    await t
      .api('post', path, developer)
      .send({ ...onNew, content: 'one\r\n' })
      .expect(201, { file_path: 'new/dir/file.txt', branch: 'made' })
    expect(show('new/dir/file.txt', 'made')).toBe('one\n')
    expect(bare.git('log', '-1', '--format=%an <%ae>|%cn <%ce>|%B', 'made').trim()).toBe(
      `${developer.name} <${developer.email}>|${developer.name} <${developer.email}>|Make it`,
    )
    const change = {
      branch: 'made',
      commit_message: 'Change it',
      content: Buffer.from('two').toString('base64'),
      encoding: 'base64',
      execute_filemode: true,
      author_name: 'Ada',
      author_email: 'ada@example.org',
    }
    await t.api('put', path, developer).send(change).expect(200, { file_path: 'new/dir/file.txt', branch: 'made' })
    expect([show('new/dir/file.txt', 'made'), mode('new/dir/file.txt', 'made')]).toEqual(['two', '100755'])
    expect(bare.git('log', '-1', '--format=%an <%ae>|%cn', 'made').trim()).toBe(`Ada <ada@example.org>|${developer.name}`)
    await t
      .api('put', path, developer)
      .send({ ...change, content: 'three', encoding: 'text', execute_filemode: undefined })
      .expect(200)
    expect([show('new/dir/file.txt', 'made'), mode('new/dir/file.txt', 'made')]).toEqual(['three', '100755'])
    await t.api('delete', `${path}?branch=made&commit_message=Gone`, developer).expect(204, {})
    expect(bare.git('ls-tree', '-r', '--name-only', 'made')).not.toContain('new/')
    await t.api('post', path, developer).send({ branch: 'made', commit_message: 'x', content: '' }).expect(201)
    await t.api('delete', path, developer).send({ branch: 'made', commit_message: 'From the body' }).expect(204)
    bare.git('fsck', '--strict')
  })

  it('in an empty repository the branch is created (RF-8)', async () => {
    const project = await aProject(t.ctx)
    await t
      .api('post', `${project.path}/repository/files/a`, project.creator)
      .send({ branch: 'start', content: 'a', commit_message: 'x' })
      .expect(201, { file_path: 'a', branch: 'start' })
    expect((await t.api('get', project.path, project.creator)).body.default_branch).toBe('start')
  })

  const base = { branch: 'work', content: 'x', commit_message: 'm' }
  it.each<[string, 'post' | 'put' | 'delete', string, object, object]>([
    ['nothing said', 'post', 'new', {}, { error: 'branch is missing, content is missing, commit_message is missing' }],
    ['nothing said', 'delete', 'run', {}, { error: 'branch is missing, commit_message is missing' }],
    ['an unknown encoding', 'post', 'new', { ...base, encoding: 'utf-7' }, { error: 'encoding does not have a valid value' }],
    ['broken base64', 'put', 'run', { ...base, content: 'a_b', encoding: 'base64' }, { message: 'The content of run is not valid base64' }],
    ['an address that is none', 'put', 'run', { ...base, author_email: 'unknown' }, { message: 'author_email is invalid' }],
    ['a file that is there', 'post', 'run', base, { message: 'A file with this name already exists' }],
    ['a directory', 'post', 'docs', base, { message: 'A file with this name already exists' }],
    ['no such file', 'put', 'none', base, { message: "A file with this name doesn't exist" }],
    ['no such file', 'delete', 'none', base, { message: "A file with this name doesn't exist" }],
    ['a directory', 'delete', 'docs', base, { message: "A file with this name doesn't exist" }],
    ['a path below a link', 'post', 'link/x', base, { message: "invalid path: 'link/x'" }],
    ['an unknown branch', 'post', 'new', { ...base, branch: 'none' }, { message: 'You can only create or edit files when you are on a branch' }],
    [
      'an unknown start branch',
      'post',
      'new',
      { ...base, branch: 'b', start_branch: 'none' },
      { message: 'You can only create or edit files when you are on a branch' },
    ],
    [
      'another start branch',
      'put',
      'run',
      { ...base, start_branch: 'main' },
      { message: "A branch called 'work' already exists. Switch to that branch in order to make changes" },
    ],
    [
      'an invalid branch',
      'post',
      'new',
      { ...base, branch: 'a..b', start_branch: 'main' },
      { message: "Something went wrong when we tried to create 'a..b' for you: Branch name is invalid" },
    ],
    ['a blank path', 'post', ' ', base, { message: 'You must provide a file path' }],
    ['an absolute path', 'post', '/new', base, { message: "invalid path: '/new'" }],
    ['a dot', 'post', './new', base, { message: "invalid path: './new'" }],
    ['two dots', 'post', 'docs/../new', base, { message: 'Path cannot include directory traversal' }],
    ['a trailing slash', 'post', 'new/', base, { message: "invalid path: 'new/'" }],
    ['the repository’s own folder', 'post', '.git/config', base, { message: "invalid path: '.git/config'" }],
    ['the same in disguise', 'put', 'x/.GIT/config', base, { message: "invalid path: 'x/.GIT/config'" }],
    ['the same for a deletion', 'delete', 'git~1/x', base, { message: "invalid path: 'git~1/x'" }],
    ['a protected branch', 'put', 'run', { ...base, branch: 'main' }, { message: 'You are not allowed to push into this branch' }],
    [
      'a stale last_commit_id',
      'put',
      'run',
      { ...base, last_commit_id: 'f'.repeat(40) },
      { message: 'The file has changed since you started editing it: run' },
    ],
    [
      'a stale last_commit_id',
      'delete',
      'run',
      { ...base, last_commit_id: 'f'.repeat(40) },
      { message: 'The file has changed since you started editing it: run' },
    ],
    ['an odd author', 'put', 'run', { ...base, author_name: 'a<b', author_email: 'a@b' }, { message: 'author_name is invalid' }],
  ])('RF-8, SEC-2, SEC-92 to SEC-99: refuses %s (%s %s) and changes nothing', async (_, method, path, given, answer) => {
    bare.git('branch', '-f', 'work', 'main')
    const before = await stateOf(t, cast.project)
    await t
      .api(method, `${at}/${enc(path)}`, cast.as.developer)
      .send(given)
      .expect(400, answer)
    expect(await stateOf(t, cast.project)).toEqual(before)
  })

  it('a matching last_commit_id allows the change (RF-6, SEC-96)', async () => {
    bare.git('branch', '-f', 'work', 'main')
    await t
      .api('put', `${at}/run`, cast.as.developer)
      .send({ ...base, content: 'changed', last_commit_id: first })
      .expect(200)
    await t
      .api('put', `${at}/run`, cast.as.developer)
      .send({ ...base, content: 'changed', last_commit_id: first })
      .expect(400, { message: 'The file has changed since you started editing it: run' })
  })
})

describe('permissions', () => {
  it.each(statuses(200))('companions 5.3: %s reads files of a public project', async (role, status) => {
    await t.api('get', `${at}/run?ref=main`, cast.as[role]).expect(status)
    await t.api('get', `${at}/run/raw`, cast.as[role]).expect(status)
    await t.api('head', `${at}/run?ref=main`, cast.as[role]).expect(status)
  })

  it.each(statuses(201, { anonymous: 401, stranger: 403, guest: 403, reporter: 403 }))(
    'companions 5.1 row 16: %s writes files: %i',
    async (role, status) => {
      const before = status === 201 ? null : await stateOf(t, cast.project)
      const given = { branch: `by-${role}`, commit_message: 'm' }
      const path = `${at}/by-${role}`
      await t
        .api('post', path, cast.as[role])
        .send({ ...given, start_branch: 'main', content: 'x' })
        .expect(status)
      await t
        .api('put', path, cast.as[role])
        .send({ ...given, content: 'y' })
        .expect(status === 201 ? 200 : status)
      await t
        .api('delete', path, cast.as[role])
        .send(given)
        .expect(status === 201 ? 204 : status)
      if (before) expect(await stateOf(t, cast.project)).toEqual(before)
    },
  )

  it.each<[Role, number]>([
    ['anonymous', 404],
    ['stranger', 404],
    ['guest', 403],
    ['reporter', 200],
    ['admin', 200],
  ])('companions 5.1 row 3: %s before a private project: %i (G-40)', async (role, status) => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    for (const path of ['a?ref=main', 'a/raw', 'none?ref=main']) {
      const { body } = await t
        .api('get', `${project.path}/repository/files/${path}`, as[role])
        .expect(status === 200 && path.startsWith('none') ? 404 : status)
      if (status === 404) expect(body).toEqual({ message: '404 Project Not Found' })
      if (status === 403) expect(body).toEqual(FORBIDDEN)
    }
  })

  it('archived is read, not written; switched off is neither (AC-10, AC-11)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const path = `${project.path}/repository/files/a`
    await t.api('post', `${project.path}/archive`, as.owner).expect(201)
    const before = await stateOf(t, project)
    const given = { branch: 'main', commit_message: 'm', content: 'x' }
    for (const method of ['post', 'put', 'delete'] as const) await t.api(method, path, as.owner).send(given).expect(403, FORBIDDEN)
    expect(await stateOf(t, project)).toEqual(before)
    await t.api('get', `${path}?ref=main`, null).expect(200)
    await t.api('post', `${project.path}/unarchive`, as.owner).expect(201)
    await t.api('put', project.path, as.owner).send({ repository_access_level: 'disabled' }).expect(200)
    for (const caller of [null, as.owner, as.admin]) await t.api('get', `${path}?ref=main`, caller).expect(403, FORBIDDEN)
    await t.api('put', path, as.owner).send(given).expect(403, FORBIDDEN)
  })

  it('companions 3.3: read_repository reads files and does not write them', async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { developer: user, files: { a: 'a' } })
    const path = `${project.path}/repository/files/a`
    const token = await aToken(t.ctx, user, ['read_repository'])
    await t.api('get', `${path}?ref=main`, { token }).expect(200)
    await t.api('head', `${path}?ref=main`, { token }).expect(200)
    await t.api('get', `${path}/raw`, { token }).expect(200)
    const { body } = await t.api('put', path, { token }).send({ branch: 'x', start_branch: 'main', commit_message: 'm', content: 'x' }).expect(403)
    expect(body).toMatchObject({ error: 'insufficient_scope', scope: 'api' })
  })
})

describe('GET and HEAD /projects/:id/repository/files/:file_path/blame (RF-4)', () => {
  let place: string
  let oids: string[]
  beforeAll(async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { 'seed.txt': 'seed\n' } })
    place = `${project.path}/repository/files`
    const at = bareOf(t, project)
    const seed = at.git('rev-parse', 'main').trim()
    oids = at.commits(
      { parents: [seed], files: { 'd/lines.txt': 'one\ntwo\nthree\nfour\n', empty: '', module: { mode: '160000', content: 'c'.repeat(40) } } },
      { files: { 'd/lines.txt': 'one\n2\nthree\nfour\nno end' } },
    )
  })
  const blame = (query: string, path = enc('d/lines.txt')) => t.api('get', `${place}/${path}/blame?${query}`, null)
  const found = async (query: string) =>
    ((await blame(query).expect(200)).body as { commit: { id: string }; lines: string[] }[]).map(({ commit, lines }) => [
      oids.indexOf(commit.id),
      lines,
    ])

  it('lines with the commits they come from, consecutive lines of one commit together', async () => {
    expect(await found('ref=main')).toEqual([
      [0, ['one']],
      [1, ['2']],
      [0, ['three', 'four']],
      [1, ['no end']],
    ])
    const { body } = await blame('ref=main').expect(200)
    const single = (await t.api('get', `${place.replace('/files', '/commits')}/${oids[0]}`, null).expect(200)).body
    const { id, parent_ids, message, authored_date, author_name, author_email, committed_date, committer_name, committer_email } = single
    expect(body[0].commit).toEqual({
      id,
      parent_ids,
      message,
      authored_date,
      author_name,
      author_email,
      committed_date,
      committer_name,
      committer_email,
    })
    expect(await found(`ref=${oids[0]}`)).toEqual([[0, ['one', 'two', 'three', 'four']]])
    expect((await blame('ref=main', 'empty').expect(200)).body).toEqual([])
  })

  it('a range of lines, cut at the end of the file', async () => {
    expect(await found('ref=main&range[start]=2&range[end]=3')).toEqual([
      [1, ['2']],
      [0, ['three']],
    ])
    expect(await found('ref=main&range[start]=5&range[end]=900')).toEqual([[1, ['no end']]])
    for (const range of [
      'range[start]=3&range[end]=2',
      'range[start]=0&range[end]=2',
      'range[start]=1',
      'range[end]=1',
      'range=1',
      'range[start]=6&range[end]=7',
    ])
      expect([range, (await blame(`ref=main&${range}`)).status]).toEqual([range, 400])
  })

  it('refuses paths that are no file, needs a ref, and answers 413 for too many lines', async () => {
    await blame('').expect(400)
    expect((await blame('ref=none').expect(404)).body).toEqual(NO_COMMIT)
    for (const path of ['none', 'd', 'module']) expect((await blame('ref=main', path).expect(404)).body).toEqual(NO_FILE)
    const project = await aProject(t.ctx, { visibility: 'public', files: { long: 'x\n'.repeat(50_001) } })
    await t.api('get', `${project.path}/repository/files/long/blame?ref=main`, null).expect(413)
    const { body } = await t.api('get', `${project.path}/repository/files/long/blame?ref=main&range[start]=50001&range[end]=50001`, null).expect(200)
    expect(body[0].lines).toEqual(['x'])
  })

  it('HEAD has the headers of the file', async () => {
    const head = await t.api('head', `${place}/${enc('d/lines.txt')}/blame?ref=main`, null).expect(200)
    const file = await t.api('head', `${place}/${enc('d/lines.txt')}?ref=main`, null).expect(200)
    for (const name of ['x-gitlab-file-name', 'x-gitlab-size', 'x-gitlab-blob-id', 'x-gitlab-last-commit-id']) {
      expect(head.headers[name]).toBeDefined()
      expect(head.headers[name]).toBe(file.headers[name])
    }
    await t.api('head', `${place}/none/blame?ref=main`, null).expect(404)
  })
})
