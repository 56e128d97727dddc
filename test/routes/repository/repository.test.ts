import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { bytes } from '../../support/bytes.js'
import { aCast, type Cast, type Role, statuses } from '../../support/cast.js'
import { aProject, aToken, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import type { TestRepository } from '../../support/git.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()
let cast: Cast
let bare: TestRepository
let at: string
let first: string
let second: string

beforeAll(async () => {
  cast = await aCast(t.ctx, { visibility: 'public' })
  at = `${cast.project.path}/repository`
  bare = bareOf(t, cast.project)
  const oids = bare.commits(
    {
      files: {
        'z.txt': 'z\n',
        'a.txt': 'a\n',
        'a/x': 'x\n',
        'a-b/y': 'y\n',
        run: { mode: '100755', content: '#!/bin/sh\n' },
        link: { mode: '120000', content: 'a.txt' },
        module: { mode: '160000', content: 'c'.repeat(40) },
        'deep/er/file': 'deep\n',
      },
    },
    { files: { 'a.txt': 'a\nb\n' }, message: 'Second\n' },
  )
  first = oids[0] as string
  second = oids[1] as string
})

const FORBIDDEN = { message: '403 Forbidden' }
const noTree = { message: '404 Tree Not Found' }
const paths = async (query: string, project: TestProject = cast.project, caller: TestUser | null = null) =>
  (await t.api('get', `${project.path}/repository/tree?per_page=100&${query}`, caller).expect(200)).body.map(({ path }: { path: string }) => path)

describe('GET /projects/:id/repository/tree', () => {
  it('lists trees, blobs, submodules, each by name (RE-1)', async () => {
    const { body, headers } = await t.api('get', `${at}/tree`, null).expect(200)
    const id = (path: string) => bare.git('rev-parse', `main:${path}`).trim()
    const entry = (name: string, type: string, mode: string, oid = id(name)) => ({ id: oid, name, type, path: name, mode })
    expect(body).toEqual([
      entry('a', 'tree', '040000'),
      entry('a-b', 'tree', '040000'),
      entry('deep', 'tree', '040000'),
      entry('a.txt', 'blob', '100644'),
      entry('link', 'blob', '120000'),
      entry('run', 'blob', '100755'),
      entry('z.txt', 'blob', '100644'),
      entry('module', 'commit', '160000', 'c'.repeat(40)),
    ])
    expect(headers['x-total']).toBe('8')
  })

  it('recursive by path, below a path, at a ref (RE-1)', async () => {
    const all = ['a', 'a-b', 'a-b/y', 'a.txt', 'a/x', 'deep', 'deep/er', 'deep/er/file', 'link', 'module', 'run', 'z.txt']
    expect(await paths('recursive=true')).toEqual(all)
    expect(await paths('path=deep')).toEqual(['deep/er'])
    expect(await paths('path=deep/')).toEqual(['deep/er'])
    expect(await paths('path=deep&recursive=1')).toEqual(['deep/er', 'deep/er/file'])
    for (const ref of ['main', first, first.slice(0, 8), 'HEAD', '']) expect(await paths(`ref=${ref}&path=a`)).toEqual(['a/x'])
  })

  it('is paginated, and Link keeps the parameters (RE-1)', async () => {
    const { body, headers } = await t.api('get', `${at}/tree?recursive=true&per_page=5&page=3`, null).expect(200)
    expect(body.map(({ path }: { path: string }) => path)).toEqual(['run', 'z.txt'])
    expect(headers).toMatchObject({ 'x-total': '12', 'x-total-pages': '3', 'x-next-page': '', 'x-prev-page': '2' })
    expect(headers['link']).toContain(`<${t.url}/api/v4${at}/tree?page=2&per_page=5&recursive=true>; rel="prev"`)
  })

  it('recursive pages put together are the whole, whatever their size (RE-1)', async () => {
    const all = await paths('recursive=true')
    for (const size of [1, 3, 4, 11]) {
      const pages = Array.from({ length: Math.ceil(all.length / size) }, (_, i) => paths(`recursive=true&per_page=${size}&page=${i + 1}`))
      expect((await Promise.all(pages)).flat()).toEqual(all)
    }
    expect(await paths('recursive=true&per_page=5&page=4')).toEqual([])
  })

  it('a page costs what it shows, of trees that hold each other so often that they name 10^10 paths (RE-1, SEC-147)', async () => {
    const many = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const own = bareOf(t, many)
    let tree = own.git('rev-parse', 'main^{tree}').trim()
    for (let level = 0; level < 10; level++)
      tree = own
        .gitBytes(['mktree'], Array.from({ length: 10 }, (_, i) => `040000 tree ${tree}\td${i}\n`).join(''))
        .toString()
        .trim()
    own.git('update-ref', 'refs/heads/many', own.git('commit-tree', '-m', 'many', tree).trim())
    // each level holds ten times what is below it, and ten folders
    const total = Array.from({ length: 10 }).reduce((below: number) => 10 * (below + 1), 1)
    const page = async (number: number) => {
      const { body, headers } = await t.api('get', `${many.path}/repository/tree?ref=many&recursive=true&per_page=2&page=${number}`, null).expect(200)
      expect(headers['x-total']).toBe(`${total}`)
      return body.map(({ path }: { path: string }) => path)
    }
    expect(await page(1)).toEqual(['d0', 'd0/d0'])
    expect(await page(total / 2)).toEqual([Array(10).fill('d9').join('/'), `${Array(10).fill('d9').join('/')}/a`])
    expect(await page(total / 2 + 1)).toEqual([])
  })

  // SEC-79, SEC-80, SEC-81: neither options, nor pathspecs, nor Git's own revisions
  it.each([
    'ref=none',
    'path=none',
    'path=a.txt',
    'path=..',
    'path=a//x',
    'path=./a',
    'path=module',
    'path=link',
    'path=:(top)a',
    'path=*',
    'path=--output=x',
    'ref=--all',
    'ref=HEAD~1',
    'ref=main%40{1}',
    'ref=main:a',
    'ref=^main',
    'ref=main..main',
    'ref=:/Second',
    'ref=%40',
    'ref=refs/heads/main',
    'ref=aaaa',
  ])('404 for %s (RE-1)', async (query) => {
    await t.api('get', `${at}/tree?${query}`, null).expect(404, noTree)
  })

  it('404 for an empty repository (RE-1)', async () => {
    const project = await aProject(t.ctx)
    await t.api('get', `${project.path}/repository/tree`, project.creator).expect(404, noTree)
  })

  it('names that mean something elsewhere are only names, and none hides its neighbours (SEC-80, SEC-153, SEC-155)', async () => {
    const project = await aProject(t.ctx)
    const names = [
      '--',
      '-x',
      '*',
      '[a]',
      ':(top)x',
      ':!x',
      ' ',
      'a\nb',
      'a\tb',
      '"q"',
      'back\\slash',
      '__proto__',
      'constructor',
      '1e3',
      'x'.repeat(255),
      'é',
    ]
    bareOf(t, project).commits({ files: Object.fromEntries([...names.map((name) => [`${name}/in`, name]), ['[a]', null]]) })
    const files = Object.fromEntries(names.map((name) => [`${name}/in`, 'x']))
    bareOf(t, project).commits({ files })
    expect((await paths('', project, project.creator)).sort()).toEqual([...names].sort())
    for (const name of names) expect(await paths(`path=${encodeURIComponent(name)}`, project, project.creator)).toEqual([`${name}/in`])
  })

  it('odd modes, a missing default branch (SEC-154)', async () => {
    const project = await aProject(t.ctx)
    const own = bareOf(t, project)
    const blob = own.gitBytes(['hash-object', '-w', '--stdin'], 'x').toString().trim()
    const content = Buffer.concat(['100664 group', '100600 mine'].map((head) => Buffer.concat([Buffer.from(`${head}\0`), Buffer.from(blob, 'hex')])))
    const tree = own.gitBytes(['hash-object', '-t', 'tree', '-w', '--stdin', '--literally'], content).toString().trim()
    own.git('update-ref', 'refs/heads/odd', own.git('commit-tree', '-m', 'odd', tree).trim())
    const { body } = await t.api('get', `${project.path}/repository/tree?ref=odd`, project.creator).expect(200)
    expect(body).toEqual([
      { id: blob, name: 'group', type: 'blob', path: 'group', mode: '100664' },
      { id: blob, name: 'mine', type: 'blob', path: 'mine', mode: '100600' },
    ])
    const diff = await t.api('get', `${project.path}/repository/commits/odd/diff`, project.creator).expect(200)
    expect(diff.body.map(({ new_path }: { new_path: string }) => new_path)).toEqual(['group', 'mine'])
    await t.api('get', `${project.path}/repository/tree`, project.creator).expect(404, noTree)
  })

  it('a name that is no UTF-8 is shown with U+FFFD (SEC-153)', async () => {
    const project = await aProject(t.ctx)
    bareOf(t, project).commits({
      files: [
        [Buffer.from([0x66, 0xff, 0x66]), 'x'],
        ['good', 'y'],
      ],
    })
    expect(await paths('', project, project.creator)).toEqual(['f\ufffdf', 'good'])
  })
})

describe('what a ref means (SEC-82)', () => {
  it('forty hex digits are always the object; then branch, then tag, then the beginning of a hash', async () => {
    const project = await aProject(t.ctx)
    const own = bareOf(t, project)
    const [one, two] = own.commits({ files: { one: '1' } }, { branch: 'other', parents: [], files: { two: '2' } }) as [string, string]
    own.git('update-ref', `refs/heads/${one}`, two)
    own.git('update-ref', 'refs/heads/twin', one)
    own.git('update-ref', 'refs/tags/twin', two)
    own.git('update-ref', 'refs/tags/only', two)
    own.git('update-ref', `refs/tags/${one.slice(0, 6)}`, two)
    const at = (ref: string) => paths(`ref=${ref}`, project, project.creator)
    expect(await at(one)).toEqual(['one'])
    expect(await at(one.toUpperCase())).toEqual(['one'])
    expect(await at('twin')).toEqual(['one'])
    expect(await at('only')).toEqual(['two'])
    expect(await at(one.slice(0, 6))).toEqual(['two'])
    expect(await at(one.slice(0, 7))).toEqual(['one'])
    for (const ref of [one.slice(0, 3), 'a'.repeat(64), own.git('rev-parse', 'main:one').trim()])
      await t.api('get', `${project.path}/repository/tree?ref=${ref}`, project.creator).expect(404, noTree)
  })

  it('the beginning of two commits’ ids is ambiguous: 404', async () => {
    const project = await aProject(t.ctx)
    const oids = bareOf(t, project).commits(...Array.from({ length: 700 }, (_, i) => ({ message: `Commit ${i}\n` })))
    const seen = new Set<string>()
    const prefix = oids.map((oid) => oid.slice(0, 4)).find((head) => seen.has(head) || !seen.add(head))
    expect(prefix).toBeDefined()
    await t.api('get', `${project.path}/repository/tree?ref=${prefix}`, project.creator).expect(404, noTree)
  })
})

describe('GET /projects/:id/repository/blobs/:sha and raw', () => {
  it('content in base64 (RE-2), and the bytes, text or not (RE-3)', async () => {
    const project = await aProject(t.ctx)
    const own = bareOf(t, project)
    const binary = Buffer.from([0, 255, 13, 10, 0])
    own.commits({ files: { text: 'ä\r\n', binary, empty: '' } })
    for (const [name, content, type] of [
      ['text', Buffer.from('ä\r\n'), 'text/plain'],
      ['binary', binary, 'application/octet-stream'],
      ['empty', Buffer.alloc(0), 'text/plain'],
    ] as const) {
      const sha = own.git('rev-parse', `main:${name}`).trim()
      const path = `${project.path}/repository/blobs/${sha}`
      const { body } = await t.api('get', path, project.creator).expect(200)
      expect(body).toEqual({ size: content.length, encoding: 'base64', content: content.toString('base64'), sha })
      const raw = await t.api('get', `${path}/raw`, project.creator).buffer(true).parse(bytes).expect(200)
      expect(raw.body.equals(content)).toBe(true)
      expect(raw.headers).toMatchObject({ 'content-type': type, 'content-length': String(content.length), 'x-content-type-options': 'nosniff' })
      await t.api('head', `${path}/raw`, project.creator).expect(200).expect('content-length', String(content.length))
    }
  })

  it('above 10 MiB there is no JSON, but the bytes come (RE-2, RE-3, SEC-146)', async () => {
    const project = await aProject(t.ctx)
    const own = bareOf(t, project)
    const content = Buffer.alloc(10 * 1024 * 1024 + 1, 'large ')
    own.commits({ files: { large: content } })
    const path = `${project.path}/repository/blobs/${own.git('rev-parse', 'main:large').trim()}`
    await t.api('get', path, project.creator).expect(413, { message: '413 Request Entity Too Large' })
    const raw = await t.api('get', `${path}/raw`, project.creator).buffer(true).parse(bytes).expect(200)
    expect(raw.body.equals(content)).toBe(true)
  })

  it('404 for other objects, and for a blob of another project (RE-2, RE-3, SEC-43)', async () => {
    const other = await aProject(t.ctx)
    bareOf(t, other).commits({ files: { other: 'only there' } })
    const elsewhere = bareOf(t, other).git('rev-parse', 'main:other').trim()
    const blob = bare.git('rev-parse', 'main:a.txt').trim()
    for (const sha of [
      'f'.repeat(40),
      first,
      bare.git('rev-parse', 'main^{tree}').trim(),
      blob.slice(0, 8),
      'main',
      '--batch',
      'main:a.txt',
      elsewhere,
    ])
      for (const end of ['', '/raw'])
        await t.api('get', `${at}/blobs/${encodeURIComponent(sha)}${end}`, null).expect(404, { message: '404 Blob Not Found' })
    await t.api('get', `${at}/blobs/${blob.toUpperCase()}`, null).expect(200)
  })
})

describe('GET /projects/:id/repository/compare', () => {
  it('commits oldest first and the difference from the merge base, or straight (RE-4)', async () => {
    const project = await aProject(t.ctx)
    const own = bareOf(t, project)
    const [base, , , main] = own.commits(
      { files: { a: '1\n' } },
      { branch: 'topic', parents: [0], files: { b: 'b\n' }, message: 'One\n' },
      { branch: 'topic', files: { c: 'c\n' }, message: 'Two\n' },
      { branch: 'main', parents: [0], files: { a: '2\n' } },
    ) as [string, string, string, string]
    const compare = async (query: string) => (await t.api('get', `${project.path}/repository/compare?${query}`, project.creator).expect(200)).body
    const added = (path: string) => ({
      old_path: path,
      new_path: path,
      a_mode: '0',
      b_mode: '100644',
      new_file: true,
      renamed_file: false,
      deleted_file: false,
      diff: `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+${path}\n`,
    })
    const body = await compare('from=main&to=topic')
    expect(body).toEqual({
      commit: body.commits[1],
      commits: [expect.objectContaining({ title: 'One', parent_ids: [base] }), expect.objectContaining({ title: 'Two' })],
      diffs: [added('b'), added('c')],
      compare_timeout: false,
      compare_same_ref: false,
      web_url: `http://roost.test/${project.fullPath}/compare/main...topic`,
    })
    const straight = await compare('from=main&to=topic&straight=true')
    expect(straight.commits).toEqual(body.commits)
    expect(straight.diffs.map(({ new_path }: { new_path: string }) => new_path)).toEqual(['a', 'b', 'c'])
    expect(straight.web_url).toBe(`http://roost.test/${project.fullPath}/compare/main..topic`)
    expect(await compare(`from=${main}&to=main`)).toMatchObject({ commit: null, commits: [], diffs: [], compare_same_ref: true })
    expect(await compare(`from=topic&to=${base}`)).toMatchObject({ commit: null, commits: [], diffs: [], compare_same_ref: false })
  })

  it('histories without a common commit are compared all the same (RE-4)', async () => {
    const project = await aProject(t.ctx)
    bareOf(t, project).commits({ files: { a: 'a\n' } }, { branch: 'orphan', parents: [], files: { b: 'b\n' } })
    const { body } = await t.api('get', `${project.path}/repository/compare?from=main&to=orphan`, project.creator).expect(200)
    expect([body.commits.length, body.diffs.map(({ new_path }: { new_path: string }) => new_path)]).toEqual([1, ['b']])
  })

  it.each([
    ['from=none&to=main', 404, { message: '404 Ref Not Found' }],
    ['from=main&to=none', 404, { message: '404 Ref Not Found' }],
    ['from=&to=main', 404, { message: '404 Ref Not Found' }],
    ['from=main~1&to=main', 404, { message: '404 Ref Not Found' }],
    ['from=--output=x&to=main', 404, { message: '404 Ref Not Found' }],
    ['to=main', 400, { error: 'from is missing' }],
    ['', 400, { error: 'from is missing, to is missing' }],
    ['from=main&to=main&straight=maybe', 400, { error: 'straight is invalid' }],
  ])('refuses %j (RE-4)', async (query, status, answer) => {
    await t.api('get', `${at}/compare?${query}`, null).expect(status, answer)
  })
})

describe('permissions', () => {
  const reads = () => [`tree`, `blobs/${bare.git('rev-parse', 'main:a.txt').trim()}`, `compare?from=${first}&to=${second}`]

  it.each(statuses(200))('companions 5.3: %s reads a public repository', async (role, status) => {
    for (const path of reads()) await t.api('get', `${at}/${path}`, cast.as[role]).expect(status)
  })

  it.each<[Role, number]>([
    ['anonymous', 404],
    ['stranger', 404],
    ['guest', 403],
    ['reporter', 200],
    ['developer', 200],
    ['maintainer', 200],
    ['owner', 200],
    ['admin', 200],
  ])('companions 5.1 row 3: %s before a private repository: %i (G-40)', async (role, status) => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    const sha = bareOf(t, project).git('rev-parse', 'main:a').trim()
    for (const path of ['tree', `blobs/${sha}`, `blobs/${sha}/raw`, 'compare?from=main&to=main']) {
      const { body } = await t.api('get', `${project.path}/repository/${path}`, as[role]).expect(status)
      if (status === 404) expect(body).toEqual({ message: '404 Project Not Found' })
      if (status === 403) expect(body).toEqual(FORBIDDEN)
    }
  })

  it('archived is read, switched off is not (AC-10, AC-11)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public', files: { a: 'a' } })
    await t.api('post', `${project.path}/archive`, as.owner).expect(201)
    await t.api('get', `${project.path}/repository/tree`, null).expect(200)
    await t.api('put', project.path, as.owner).send({ repository_access_level: 'disabled' }).expect(200)
    for (const caller of [null, as.owner, as.admin])
      for (const path of ['tree', `blobs/${'a'.repeat(40)}`, 'compare?from=a&to=b'])
        await t.api('get', `${project.path}/repository/${path}`, caller).expect(403, FORBIDDEN)
  })

  it('companions 3.3: read_repository is enough; read_user and a public project are not', async () => {
    const user = await aUser(t.ctx)
    for (const path of reads()) {
      for (const scope of ['read_repository', 'read_api', 'api'] as const)
        await t.api('get', `${at}/${path}`, { token: await aToken(t.ctx, user, [scope]) }).expect(200)
      const { body } = await t.api('get', `${at}/${path}`, { token: await aToken(t.ctx, user, ['read_user']) }).expect(403)
      expect(body).toMatchObject({ error: 'insufficient_scope', scope: 'api' })
    }
  })
})
