// @module-tag long
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aProject, type TestProject } from '../../support/factories.js'
import { aBareRepository, type TestRepository } from '../../support/git.js'
import { askEverything } from '../../support/odd.js'
import { bareOf, pushAs } from '../../support/repositories.js'

const t = testApp({}, { upkeep: true })

const bytes = (...parts: (string | Buffer)[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))
const latin1 = (text: string) => Buffer.from(text, 'latin1')
const RANDOM = Buffer.from(Array.from({ length: 300 }, (_, n) => (n * 181 + 7) % 256).filter((byte) => byte !== 0))
/** The same without what ends a name. */
const RANDOM_NAME = Buffer.from([...RANDOM].filter((byte) => ![10, 60, 62].includes(byte)))
const ADA = 'Ada <ada@example.com> 1600000000 +0000'

interface Raw {
  author?: string | Buffer | null
  committer?: string | Buffer | null
  message?: string | Buffer
  /** Between the headers and the message. */
  headers?: string
  parents?: string[]
  tree?: string
}

const namesOf = (body: unknown) => (body as { name: string }[]).map(({ name }) => name)

/** Writes a commit byte by byte, as no Git would; its id. */
function plant(bare: TestRepository, { author = ADA, committer = ADA, message = 'm\n', headers = '', parents = [], tree }: Raw): string {
  const root = tree ?? bare.git('mktree').trim()
  const content = bytes(
    `tree ${root}\n`,
    ...parents.map((parent) => `parent ${parent}\n`),
    ...(author === null ? [] : ['author ', author, '\n']),
    ...(committer === null ? [] : ['committer ', committer, '\n']),
    headers,
    '\n',
    message,
  )
  return plantObject(bare, 'commit', content)
}

const plantObject = (bare: TestRepository, type: string, content: Buffer) =>
  bare.gitBytes(['hash-object', '-w', '--literally', '-t', type, '--stdin'], content).toString().trim()

/** An empty project and its repository on disk, recorded as having a branch. */
async function planted(): Promise<{ project: TestProject; bare: TestRepository }> {
  const project = await aProject(t.ctx, { files: { 'start.txt': 'start\n' } })
  return { project, bare: bareOf(t, project) }
}

const people: [string, Raw][] = [
  [
    'Latin-1',
    { author: bytes(latin1('J\xf6rg M\xfcller <j\xf6rg@example.com> 1600000000 +0000')), message: latin1('Gr\xfc\xdfe\n\n\xe4\xf6\xfc\n') },
  ],
  [
    'Latin-1, declared',
    { author: bytes(latin1('J\xf6rg <j@example.com> 1600000000 +0000')), headers: 'encoding ISO-8859-1\n', message: latin1('Gr\xfc\xdfe\n') },
  ],
  [
    'UTF-16',
    { author: bytes(Buffer.from('\ufeffÄda', 'utf16le'), ' <a@example.com> 1600000000 +0000'), message: Buffer.from('\ufeffGrüße\n', 'utf16le') },
  ],
  ['UTF-16, declared', { headers: 'encoding UTF-16\n', message: Buffer.from('\ufeffGrüße\n', 'utf16le') }],
  ['random bytes', { author: bytes(RANDOM_NAME, ' <', RANDOM_NAME, '> 1600000000 +0000'), message: RANDOM }],
  ['an unknown encoding', { headers: 'encoding x-nothing\n', message: 'Grüße\n' }],
  ['an empty encoding', { headers: 'encoding \n', message: RANDOM }],
  [
    'lone surrogates as bytes',
    { author: bytes(Buffer.from([0xed, 0xa0, 0x80]), ' <a@b> 1 +0000'), message: Buffer.from([0xed, 0xb0, 0x80, 0xf4, 0x90, 0x80, 0x80]) },
  ],
  ['no e-mail', { author: 'Ada 1600000000 +0000' }],
  ['an empty e-mail', { author: 'Ada <> 1600000000 +0000' }],
  ['no name', { author: '<ada@example.com> 1600000000 +0000' }],
  ['an empty name', { author: ' <ada@example.com> 1600000000 +0000' }],
  ['neither', { author: '1600000000 +0000' }],
  ['nothing at all', { author: '', committer: '' }],
  ['no author line', { author: null }],
  ['no committer line', { committer: null }],
  ['neither line', { author: null, committer: null }],
  ['brackets without end', { author: 'A <b <c> d> > 1600000000 +0000', committer: '<<<>>> 1 +0' }],
  ['NUL', { author: 'A\0B <a\0@b> 1600000000 +0000', message: 'one\0two\nthree\0' }],
  ['very long lines', { author: `${'n'.repeat(100_000)} <${'e'.repeat(100_000)}@x> 1600000000 +0000`, message: 'x'.repeat(200_000) }],
  ['an empty message', { message: '' }],
  ['a blank message', { message: ' \n\t\n\r\n' }],
  ['a message without line end', { message: 'end' }],
  ['CR LF', { message: 'one\r\ntwo\r\n' }],
  ['emoji and right-to-left marks', { author: 'א\u202e👩‍👩‍👧 <א@b> 1600000000 +0000', message: '👩‍👩‍👧'.repeat(60) }],
  ['headers of another kind', { headers: 'gpgsig -----BEGIN\n \n x\n -----END\nx-header \xff\nmergetag object\n', message: 'm' }],
]

const dates: [string, string][] = [
  ['negative', '-5 +0000'],
  ['far before 1970', '-99999999999999 +0000'],
  ['2^33', `${2 ** 33} +0000`],
  ['beyond any calendar', '99999999999999999999999999 +0000'],
  ['beyond a Date', '8640000000001 +0000'],
  ['+9999', '1600000000 +9999'],
  ['-9999', '1600000000 -9999'],
  ['a long offset', '1600000000 +12345678901234567890'],
  ['no offset', '1600000000'],
  ['no date', ''],
  ['a fraction', '1.5 +0000'],
  ['words', 'yesterday noon'],
  ['a zone by name', '1600000000 UTC'],
]

describe('commits that no Git of today would make (SEC-151, SEC-152)', () => {
  /** One upon the other, the first upon `main`, each with a file less or more than the last; `odd` is the last. */
  async function chain(list: Raw[]) {
    const { project, bare } = await planted()
    let parent = bare.git('rev-parse', 'main').trim()
    const trees = [bare.git('mktree').trim(), bare.git('rev-parse', 'main^{tree}').trim()]
    const commits = list.map((raw, i) => {
      parent = plant(bare, { ...raw, parents: [parent], tree: trees[i % 2] as string })
      return parent
    })
    bare.git('update-ref', 'refs/heads/odd', parent)
    bare.git('tag', 'odd-tag', parent)
    return { project, commits }
  }

  const check = async (list: Raw[]) => {
    const { project, commits } = await chain(list)
    const answers = await askEverything(t, project, { revisions: ['odd', 'odd-tag'], commits, paths: ['start.txt'] })
    // the upkeep that follows a write ends as well
    await t.api('post', `${project.path}/repository/branches`, project.creator).send({ branch: 'more', ref: 'odd' }).expect(201)
    await t.ctx.jobs.drain()
    for (const [i, id] of commits.entries()) expect([i, answers.get(`commits/${id}`)]).toMatchObject([i, { status: 200, body: { id } }])
    const { body } = await t.api('get', `${project.path}/repository/commits?ref_name=odd&per_page=100`, project.creator).expect(200)
    expect((body as { id: string }[]).map(({ id }) => id)).toEqual(expect.arrayContaining(commits))
    expect(body).toHaveLength(commits.length + 1)
  }

  it('authors and messages of any bytes, or none (SEC-151)', () => check(people.map(([, raw]) => raw)), 120_000)

  it('a message of 10 MB (SEC-151)', () => check([{ message: `title\n\n${'0123456789abcde\n'.repeat(655_360)}` }]), 120_000)

  it('decodes declared encodings, and replaces other bytes (SEC-151)', async () => {
    const { project, bare } = await planted()
    const shown = async (raw: Raw) => (await t.api('get', `${project.path}/repository/commits/${plant(bare, raw)}`, project.creator).expect(200)).body
    const text = latin1('J\xf6rg <j@example.com> 1600000000 +0000')
    const declared = await shown({ author: text, headers: 'encoding ISO-8859-1\n', message: latin1('Gr\xfc\xdfe\n') })
    expect(declared).toMatchObject({ author_name: 'Jörg', message: 'Grüße\n', title: 'Grüße' })
    expect(await shown({ author: text, message: latin1('Gr\xfc\n') })).toMatchObject({ author_name: 'J\ufffdrg', message: 'Gr\ufffd\n' })
    expect(await shown({ author: 'Ada <> 1600000000 +0000', message: '' })).toMatchObject({
      author_name: 'Ada',
      author_email: '',
      message: '',
      title: '--no commit message',
    })
  })

  it('dates of any size and kind, or none (SEC-152)', () => {
    const dated = (date: string) => ({ author: `Ada <a@b> ${date}`, committer: `Ada <a@b> ${date}` })
    return check(dates.map(([, date]) => dated(date)))
  })

  it('as real clients push them, and as the events show them (SEC-151)', async () => {
    const project = await aProject(t.ctx)
    const source = aBareRepository()
    try {
      const messages: [string, string | Buffer][] = [
        ['latin1', latin1('Gr\xfc\xdfe\n')],
        ['bytes', RANDOM],
        ['empty', ''],
        ['large', 'a title\n\n'.padEnd(10_000_000, 'text\n')],
        ['long', '👩'.repeat(300)],
      ]
      for (const [branch, message] of messages) {
        source.commits({ branch, parents: [], files: { [branch]: 'x' }, message })
        expect([branch, await pushAs(t, project.creator, project, source, `refs/heads/${branch}`)]).toMatchObject([branch, { code: 0 }])
      }
      source.git('tag', '-a', '-m', 'of a tree', 'tree', 'latin1^{tree}')
      source.git('tag', 'blob', 'latin1:latin1')
      source.git('tag', '-a', '-m', 'outer', 'nested', 'tree')
      await pushAs(t, project.creator, project, source, 'refs/tags/*')
      const answers = await askEverything(t, project, { revisions: [...messages.map(([branch]) => branch), 'tree', 'blob', 'nested'] })
      const events = answers.get('events?per_page=100')?.body as { push_data?: { ref: string; commit_title: string | null } }[]
      const titles = Object.fromEntries(events.flatMap(({ push_data }) => (push_data ? [[push_data.ref, push_data.commit_title]] : [])))
      expect(titles).toMatchObject({
        latin1: 'Gr\ufffd\ufffde',
        empty: '',
        large: 'a title',
        long: '👩'.repeat(70),
        tree: null,
        blob: null,
        nested: null,
      })
    } finally {
      source.remove()
    }
  })
})

describe('file names (SEC-153)', () => {
  const NAMES: (string | Buffer)[] = [
    'a\nb',
    'a\tb',
    '"quoted"',
    "it's",
    'back\\slash',
    ' ',
    '   ',
    ' lead',
    'trail ',
    '-x',
    '--',
    '--output=x',
    '*',
    '?',
    '[a]',
    ':(top)x',
    ':!x',
    '!',
    '~',
    '^',
    '@',
    '@{0}',
    '#',
    '%41',
    '%',
    'a%2Fb',
    '+',
    '&',
    '=',
    ';',
    '$x',
    '`x`',
    '|',
    '<b>',
    'ü',
    'u\u0308',
    '日本語',
    '👩‍👩‍👧',
    '\u202e',
    '\ufeff',
    '\ufffd',
    '...',
    '.a',
    'a.',
    'CON',
    'a:b',
    '__proto__',
    'constructor',
    'toString',
    'null',
    'undefined',
    'NaN',
    'true',
    '0',
    '-1',
    '1e3',
    'x'.repeat(255),
    `${`${'long'.repeat(60)}/`.repeat(10)}end`,
    Buffer.from([0x66, 0xff, 0xfe]),
    Buffer.from([0x80]),
    Buffer.from([0xc3]),
    Buffer.from([0xed, 0xa0, 0x80]),
    latin1('\xe4\xf6'),
    Buffer.from([1, 2, 27]),
    Buffer.from([0x7f]),
  ]
  const shown = (name: string | Buffer) => Buffer.from(name as string).toString('utf8')

  it('are listed in trees and diffs, each with its row, and found by their names', async () => {
    const { project, bare } = await planted()
    const files = (content: string) => NAMES.map((name) => [name, content] as [string | Buffer, string])
    const [first, second] = bare.commits(
      { branch: 'names', parents: [], files: files('one\n') },
      { branch: 'names', files: files('one\ntwo\n') },
    ) as [string, string]
    bare.commits({ branch: 'names', files: NAMES.map((name): [string | Buffer, null] => [name, null]) })
    const answers = await askEverything(t, project, { revisions: [second], commits: [first], paths: NAMES.map(shown) })
    const texts = NAMES.map(shown).sort()
    for (const sha of [first, second]) {
      const { body } = await t.api('get', `${project.path}/repository/commits/${sha}/diff?per_page=100`, project.creator).expect(200)
      expect((body as { new_path: string }[]).map(({ new_path }) => new_path).sort()).toEqual(texts)
    }
    const tree = answers.get(`tree?ref=${second}&recursive=true&per_page=100`)?.body as { path: string; type: string }[]
    expect(tree.flatMap(({ path, type }) => (type === 'blob' ? [path] : [])).sort()).toEqual(texts)
    for (const name of NAMES) {
      const path = shown(name)
      // what is no UTF-8 cannot be asked for, nor can what the service never lets be written (SEC-92)
      if (!Buffer.from(path).equals(Buffer.from(name as string)) || path.includes('\ufffd')) continue
      const e = encodeURIComponent(path)
      const listed = answers.get(`commits?ref_name=${second}&path=${e}`)?.body as { id: string }[]
      expect([path, listed.map(({ id }) => id)]).toEqual([path, [second, first]])
      const placed = answers.get(`comment on ${second} ${JSON.stringify({ path, line: 1, line_type: 'new' })}`)?.body
      if (placed) expect(placed).toMatchObject({ path: null })
      const { body } = await t
        .api('post', `${project.path}/repository/commits/${second}/comments`, project.creator)
        .send({ note: 'x', path, line: 2, line_type: 'new' })
        .expect(201)
      expect(body).toMatchObject({ path, line: 2, line_type: 'new' })
    }
  })
})

describe('what trees may hold (SEC-154)', () => {
  it('submodules, links, modes, binaries, missing line ends, CRLF, renames, empty and root commits, merges of many', async () => {
    const { project, bare } = await planted()
    const binary = Buffer.from([0, 1, 2, 10, 255, 0])
    const big = Array.from({ length: 50 }, (_, n) => `line ${n}\n`).join('')
    const made = bare.commits(
      {
        branch: 'kinds',
        parents: [],
        files: {
          sub: { mode: '160000', content: 'a'.repeat(40) },
          link: { mode: '120000', content: '../../etc/passwd' },
          dangling: { mode: '120000', content: '' },
          run: { mode: '100755', content: '#!\n' },
          bin: binary,
          'no-end': 'x',
          crlf: 'a\r\nb\r\n',
          empty: '',
          was: big,
          type: 'file\n',
        },
      },
      {
        branch: 'kinds',
        files: {
          sub: { mode: '160000', content: 'b'.repeat(40) },
          link: { mode: '120000', content: 'crlf' },
          run: { mode: '100644', content: '#!\n' },
          bin: Buffer.concat([binary, binary]),
          'no-end': 'x\n',
          crlf: 'a\nb\n',
          was: null,
          is: big,
          type: { mode: '120000', content: 'x' },
        },
      },
      { branch: 'kinds', files: {} },
      { branch: 'one', parents: [2], files: { one: '1' } },
      { branch: 'two', parents: [2], files: { two: '2' } },
      { branch: 'three', parents: [2], files: { three: '3' } },
      { branch: 'kinds', parents: [2, 3, 4, 5], files: { four: '4' } },
      { branch: 'alone', parents: [], files: {} },
    )
    const [root, changed, empty, , , , octopus, alone] = made as [string, string, string, string, string, string, string, string]
    const paths = ['sub', 'sub/x', 'link', 'link/x', 'dangling', 'run', 'bin', 'no-end', 'crlf', 'empty', 'was', 'is', 'type', 'four']
    const blobs = ['bin', 'empty', 'link'].map((path) => bare.git('rev-parse', `kinds:${path}`).trim())
    const more = [bare.git('rev-parse', 'kinds^{tree}').trim(), root, 'a'.repeat(40), 'x', '0', '__proto__']
    const answers = await askEverything(t, project, {
      revisions: ['kinds'],
      commits: [root, changed, empty, octopus, alone],
      paths,
      blobs: [...blobs, ...more],
    })
    const diff = (sha: string) =>
      (answers.get(`commits/${sha}/diff`)?.body ?? []) as { new_path: string; a_mode: string; b_mode: string; diff: string; renamed_file: boolean }[]
    const of = (sha: string, path: string) => diff(sha).find(({ new_path }) => new_path === path)
    expect(of(changed, 'run')).toMatchObject({ a_mode: '100755', b_mode: '100644', diff: '' })
    expect(of(changed, 'is')).toMatchObject({ renamed_file: true, diff: '' })
    expect(of(changed, 'sub')?.diff).toContain('Subproject commit')
    expect(of(changed, 'bin')?.diff).toBe('Binary files a/bin and b/bin differ\n')
    expect(of(changed, 'no-end')?.diff).toContain('\\ No newline at end of file')
    expect([diff(empty), diff(alone)]).toEqual([[], []])
    expect(diff(octopus).map(({ new_path }) => new_path)).toEqual(['four'])
    expect(answers.get(`commits/${octopus}`)?.body).toMatchObject({ parent_ids: made.slice(2, 6) })
    for (const sha of more) expect([sha, answers.get(`blobs/${sha}`)?.status]).toEqual([sha, 404])
  })

  it('odd modes, as old Gits wrote them', async () => {
    const { project, bare } = await planted()
    const blob = bare.gitBytes(['hash-object', '-w', '--stdin'], 'x\n').toString().trim()
    const sub = bare.git('rev-parse', 'main^{tree}').trim()
    const entry = (mode: string, name: string, oid: string) => bytes(`${mode} ${name}\0`, Buffer.from(oid, 'hex'))
    const trees = [
      bytes(entry('100664', 'a', blob), entry('100600', 'b', blob), entry('040000', 'c', sub)),
      bytes(entry('100640', 'a', blob), entry('120777', 'b', blob), entry('40000', 'c', sub)),
      bytes(entry('100644', 'a', blob), entry('100644', 'a', blob)),
      bytes(entry('100644', '.git', blob), entry('100644', '..', blob), entry('100644', 'x/y', blob)),
    ].map((content) => plantObject(bare, 'tree', content))
    const commits = trees.map((tree, i) => {
      const oid = plant(bare, { tree })
      bare.git('update-ref', `refs/heads/modes-${i}`, oid)
      return oid
    })
    await askEverything(t, project, { revisions: commits, paths: ['a', 'b', 'c', 'c/start.txt', '.git', '..', '', 'x/y'] }, [200, 400, 404])
  })
})

describe('names of branches and tags (SEC-155)', () => {
  const NAMES = [
    '__proto__',
    'constructor',
    'prototype',
    'hasOwnProperty',
    'toString',
    'null',
    'undefined',
    'NaN',
    'true',
    'false',
    '0',
    '-1',
    '1e3',
    '00',
    '0x1',
    'HEAD',
    'head',
    'refs/heads/x',
    'a/b/c',
    'v1.0',
    'ü',
    '👩',
    "it's",
    '"q"',
    '&',
    '%',
    '%2F',
    '#',
    '+',
    '(a)',
    '<b>',
    '$x',
    ';',
    '|',
    '-',
    '--all',
    'deadbeef',
    'main',
    'x'.repeat(200),
    '@a',
    'a@',
    '日本',
    'a,b',
    '=',
    '!',
  ]

  it('are only names: found, listed, compared, commented and deleted like any other', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const bare = bareOf(t, project)
    const oids = new Map<string, string>()
    for (const [i, name] of NAMES.entries()) {
      const [oid] = bare.commits({ branch: 'scratch', parents: [], files: { [`f${i}`]: name }, message: name }) as [string]
      bare.git('update-ref', `refs/heads/${name}`, oid)
      bare.git('update-ref', `refs/tags/t-${name}`, oid)
      if (name !== 'HEAD') oids.set(name, oid)
    }
    const answers = await askEverything(t, project, {
      revisions: [...NAMES.slice(0, 20), ...NAMES.slice(0, 4).map((name) => `t-${name}`)],
      commits: NAMES.slice(20),
    })
    for (const [name, oid] of oids) {
      const e = encodeURIComponent(name)
      expect([name, answers.get(`branches/${e}`)]).toMatchObject([name, { status: 200, body: { name, commit: { id: oid } } }])
      expect([name, answers.get(`commits/${e}`)]).toMatchObject([name, { status: 200, body: { id: oid } }])
    }
    const { body } = await t.api('get', `${project.path}/repository/branches?per_page=100`, project.creator).expect(200)
    expect((body as { name: string }[]).map(({ name }) => name).sort()).toEqual([...NAMES, 'scratch'].sort())
    for (const name of ['__proto__', 'null', '0', '1e3', 'constructor'])
      await t.api('delete', `${project.path}/repository/branches/${name}`, project.creator).expect(204)
    const after = (await t.api('get', `${project.path}/repository/branches?per_page=100`, project.creator).expect(200)).body as unknown[]
    expect(after.length).toBe(NAMES.length + 1 - 5)
  })

  it('what only looks like a name is none (SEC-81)', async () => {
    const { project } = await planted()
    const revisions = [
      'HEAD~1',
      'main^',
      'main@{0}',
      '@',
      ':/x',
      'main:start.txt',
      '^main',
      'a..b',
      '--all',
      '-h',
      'refs/heads/',
      'main/',
      '/main',
      'a\nb',
      ' ',
      '*',
      'f'.repeat(40),
      'F'.repeat(64),
      'x'.repeat(900),
    ]
    const answers = await askEverything(t, project, { revisions }, [200, 400, 404])
    for (const name of revisions) expect([name, answers.get(`commits/${encodeURIComponent(name)}`)?.status]).toEqual([name, 404])
  })
})

describe('tags (SEC-154)', () => {
  it('of trees, blobs, tags, nothing, and of each other', async () => {
    const { project, bare } = await planted()
    bare.git('tag', 'tree', 'main^{tree}')
    bare.git('tag', 'blob', 'main:start.txt')
    for (const [name, target] of [
      ['full', 'main'],
      ['full-tree', 'tree'],
      ['full-blob', 'blob'],
      ['twice', 'full'],
      ['thrice', 'twice'],
      ['of-tree-tag', 'full-tree'],
    ] as const)
      bare.git('tag', '-a', '-m', name, name, target)
    const main = bare.git('rev-parse', 'main').trim()
    const tag = (content: string | Buffer) => plantObject(bare, 'tag', bytes(content))
    const head = `object ${main}\ntype commit\ntag x\n`
    const odd = [
      `${head}\nno tagger\n`,
      `${head}tagger Ada\n\nm`,
      `${head}tagger <> 99999999999999999999 +9999\n\n`,
      bytes(head, 'tagger ', latin1('J\xf6 <j> 1 +0000'), '\n\n', RANDOM),
      head,
      `object ${main}\ntype commit\n\nm`,
      bytes(head, 'tagger A <a> 1 +0000\n\n', 'x'.repeat(1_000_000), '\0y'),
    ].map(tag)
    for (const [i, oid] of odd.entries()) writeFileSync(join(bare.directory, `refs/tags/odd-${i}`), `${oid}\n`)
    const revisions = [
      'tree',
      'blob',
      'full',
      'full-tree',
      'full-blob',
      'twice',
      'thrice',
      'of-tree-tag',
      ...odd.map((_, i) => `odd-${i}`),
      ...odd.slice(0, 2),
    ]
    const answers = await askEverything(t, project, { revisions })
    for (const name of ['tree', 'blob', 'full-tree', 'full-blob', 'of-tree-tag']) {
      expect([name, answers.get(`tags/${name}`)]).toMatchObject([name, { status: 200, body: { name, commit: null } }])
      expect([name, answers.get(`commits/${name}`)?.status]).toEqual([name, 404])
    }
    for (const name of ['full', 'twice', 'thrice']) expect([name, answers.get(`commits/${name}`)]).toMatchObject([name, { body: { id: main } }])
    const listed = namesOf(answers.get('tags?order_by=name&sort=asc')?.body)
    expect(listed).toEqual(expect.arrayContaining(['full', 'odd-0', 'thrice', 'twice']))
  })
})

describe('repositories that are not as they should be (SEC-154, SEC-156)', () => {
  const ASKED = { revisions: ['main', 'HEAD', 'none', 'f'.repeat(40), 'f'.repeat(8)], paths: ['a', '', '/'], blobs: ['f'.repeat(40), 'x'] }

  it('an empty one (SEC-154)', async () => {
    const project = await aProject(t.ctx)
    const answers = await askEverything(t, project, ASKED, [200, 400, 404])
    expect(answers.get('commits')).toEqual({ status: 200, body: [] })
    expect(answers.get('branches')).toEqual({ status: 200, body: [] })
    expect(answers.get('commits/main')?.status).toBe(404)
  })

  it.each(['refs/heads/none', 'refs/heads/a/b', 'refs/tags/none'])('HEAD at %s, which is not there (SEC-154)', async (ref) => {
    const { project, bare } = await planted()
    bare.git('symbolic-ref', 'HEAD', ref)
    const answers = await askEverything(t, project, ASKED, [200, 400, 404])
    expect(answers.get('commits/main')?.status).toBe(200)
    expect(answers.get('commits/HEAD')?.status).toBe(404)
  })

  it('the default branch gone from under it (SEC-154)', async () => {
    const { project, bare } = await planted()
    bare.git('update-ref', 'refs/heads/other', 'main')
    bare.git('update-ref', '-d', 'refs/heads/main')
    const answers = await askEverything(t, project, { ...ASKED, revisions: [...ASKED.revisions, 'other'] }, [200, 400, 404])
    expect(answers.get('commits/other')?.status).toBe(200)
    expect(answers.get('commits')).toEqual({ status: 200, body: [] })
  })

  it('missing on disk: its own answers are 503 and never empty, nothing is made in its place, lists of projects work, and the fault is logged (SEC-156)', async () => {
    const { project, bare } = await planted()
    await t.ctx.jobs.drain()
    rmSync(bare.directory, { recursive: true })
    const before = t.logged.length
    const answers = await askEverything(t, project, ASKED, [400, 404, 503])
    expect(answers.get('commits/main')?.status).toBe(503)
    expect(answers.get('branches')?.status).toBe(503)
    await t.api('get', '/projects', project.creator).expect(200)
    const actions = [{ action: 'create', file_path: 'b', content: 'b' }]
    const commit = { branch: 'main', commit_message: 'b', actions }
    await t.api('post', `${project.path}/repository/commits`, project.creator).send(commit).expect(503).expect('retry-after', /\d/)
    await t.api('post', `${project.path}/repository/branches`, project.creator).send({ branch: 'b', ref: 'main' }).expect(503)
    expect(existsSync(bare.directory)).toBe(false)
    await expect.poll(() => t.logged.slice(before).join('')).toContain('a repository is missing or cannot be read')
  })
})
