import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { projects } from '../../../src/db/schema/index.js'
import { ProcessPool } from '../../../src/git/process/pool.js'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import type { TestCommit } from '../../support/git.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()
let keeper: TestUser
let stranger: TestUser

beforeAll(async () => {
  keeper = await aUser(t.ctx)
  stranger = await aUser(t.ctx)
})

interface Blob {
  basename: string
  data: string
  filename: string
  id: string | null
  ref: string
  startline: number
  project_id: number
}

/** A project with commits that native git made. */
async function withCommits(list: TestCommit[], given: Parameters<typeof aProject>[1] = {}) {
  const project = await aProject(t.ctx, { creator: keeper, visibility: 'public', ...given })
  const bare = bareOf(t, project)
  const oids = bare.commits(...list)
  await t.ctx.db.write.update(projects).set({ empty_repo: false }).where(eq(projects.id, project.id))
  return { project, bare, oids }
}

const ask = (project: TestProject, scope: string, search: string, caller = keeper, more = '') =>
  t.api('get', `${project.path}/search?scope=${scope}&search=${encodeURIComponent(search)}${more}`, caller)
const blobs = async (project: TestProject, search: string, more = '', scope = 'blobs') =>
  (await ask(project, scope, search, keeper, `&per_page=100${more}`).expect(200)).body as Blob[]
const commits = async (project: TestProject, search: string, more = '') =>
  (await ask(project, 'commits', search, keeper, more).expect(200)).body as { id: string }[]
const lines = (n: number, hits: number[]) =>
  Array.from({ length: n }, (_, i) => (hits.includes(i + 1) ? `a Needle ${i + 1}` : `line ${i + 1}`)).join('\n')

describe('blobs by content (S-15, S-24, S-25)', () => {
  it('lines with two around them, those that meet as one chunk, by path, with all fields (S-24, S-25)', async () => {
    const { project } = await withCommits([
      {
        files: {
          'files/ruby/popen.rb': `${lines(30, [1, 5, 11, 30])}  \n\n`,
          'a-b/c.tar.gz': 'needle',
          'a/b': 'NEEDLE\n \n\t\n',
          '.gitignore': 'needle\n',
          'd/.hidden.txt': 'needle\n',
          README: 'needle\n',
          bin: Buffer.from('needle\0needle'),
        },
      },
      { branch: 'other', files: { elsewhere: 'needle\n' } },
    ])
    const found = await blobs(project, 'needle')
    expect(found.map(({ filename, startline, basename }) => [filename, startline, basename])).toEqual([
      ['.gitignore', 1, '.gitignore'],
      ['README', 1, 'README'],
      ['a-b/c.tar.gz', 1, 'a-b/c.tar'],
      ['a/b', 1, 'a/b'],
      ['d/.hidden.txt', 1, 'd/.hidden'],
      ['files/ruby/popen.rb', 1, 'files/ruby/popen'],
      ['files/ruby/popen.rb', 9, 'files/ruby/popen'],
      ['files/ruby/popen.rb', 28, 'files/ruby/popen'],
    ])
    expect(found[3]).toEqual({ basename: 'a/b', data: 'NEEDLE', filename: 'a/b', id: null, ref: 'main', startline: 1, project_id: project.id })
    expect(found[5]?.data).toBe('a Needle 1\nline 2\nline 3\nline 4\na Needle 5\nline 6\nline 7')
    expect(found[7]?.data).toBe('line 28\nline 29\na Needle 30')
    expect(await blobs(project, 'n.edle')).toEqual([])
  })

  it('counts the first hundred chunks, and a page past them is empty (S-24)', async () => {
    const files = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`f${String(i).padStart(3, '0')}`, 'hit\n']))
    const { project } = await withCommits([{ files }])
    const first = await ask(project, 'blobs', 'hit', keeper, '&per_page=40').expect(200)
    expect(first.headers).toMatchObject({ 'x-total': '100', 'x-total-pages': '3', 'x-next-page': '2' })
    const third = await ask(project, 'blobs', 'hit', keeper, '&per_page=40&page=3').expect(200)
    expect((third.body as Blob[]).map(({ filename }) => filename)).toEqual(Object.keys(files).slice(80, 100))
    expect((await ask(project, 'blobs', 'hit', keeper, '&per_page=40&page=4').expect(200)).body).toEqual([])
  })
})

describe('blobs by path (S-24, S-26)', () => {
  it('the file of that path, or all below the folder, with how they begin; those with a hit in them once (S-26)', async () => {
    const long = `${'é'.repeat(511)}x${'é'.repeat(10)}`
    const { project, bare } = await withCommits([
      {
        files: {
          'src/a.txt': 'nothing\n',
          'src/deep/er/b.bin': Buffer.from('bin\0ary'),
          'src/long': long,
          'src/self': 'this is src itself\n',
          srcx: 'src\n',
          Src: 'other\n',
        },
      },
    ])
    const found = await blobs(project, 'src')
    expect(found.map(({ filename, id }) => [filename, id !== null])).toEqual([
      ['src/a.txt', true],
      ['src/deep/er/b.bin', true],
      ['src/long', true],
      ['src/self', false],
      ['srcx', false],
    ])
    const id = (path: string) => bare.git('rev-parse', `main:${path}`).trim()
    const a = { basename: 'a.txt', data: 'nothing\n', filename: 'src/a.txt', id: id('src/a.txt'), ref: 'main', startline: 1, project_id: project.id }
    expect(found[0]).toEqual(a)
    expect(found[1]).toMatchObject({ basename: 'b.bin', data: 'bin\0ary', id: id('src/deep/er/b.bin') })
    // 1024 bytes, and no half of a character
    expect(found[2]?.data).toBe(`${'é'.repeat(511)}x`)
    for (const text of ['src/a.txt', '/src/a.txt', '///src/a.txt']) expect(await blobs(project, text)).toEqual([a])
    for (const text of ['SRC/a.txt', 'src/a', 'a.txt', 'src/../src/a.txt', './src/a.txt', '/', '//', '..'])
      expect(await blobs(project, text)).toEqual([])
    expect((await blobs(project, 'Src')).map(({ filename }) => filename)).toEqual(['Src', 'src/self', 'srcx'])
  })

  it('a file whose content is hit is none of them, be its hit beyond the hundred that are shown; the first hundred (S-24)', async () => {
    const files: Record<string, string> = {}
    for (let i = 0; i < 110; i++) files[`a/${String(i).padStart(3, '0')}`] = 'hit\n'
    for (let i = 0; i < 120; i++) files[`hit/${String(i).padStart(3, '0')}`] = i % 10 === 0 ? 'hit\n' : 'nothing\n'
    const { project } = await withCommits([{ files }])
    const answer = await ask(project, 'blobs', 'hit', keeper, '&per_page=100&page=2').expect(200)
    expect(answer.headers['x-total']).toBe('200')
    const without = Object.keys(files).filter((path) => path.startsWith('hit/') && files[path] === 'nothing\n')
    expect((answer.body as Blob[]).map(({ filename }) => filename)).toEqual(without.slice(0, 100))
  })

  it('of a huge file its beginning is shown, and it is left alone otherwise (SEC-146)', async () => {
    const { project } = await withCommits([{ files: { 'huge.txt': Buffer.alloc(12 * 1024 * 1024, 'needle\n'), small: 'needle\n' } }])
    expect((await blobs(project, 'needle')).map(({ filename }) => filename)).toEqual(['small'])
    const [huge] = await blobs(project, 'huge.txt')
    expect([huge?.filename, huge?.data]).toEqual(['huge.txt', 'needle\n'.repeat(200).slice(0, 1_024)])
  })
})

describe('commits (S-14, S-22)', () => {
  it('by message, newest first, then the one that a hash names, wherever it is (S-22)', async () => {
    const { project, oids } = await withCommits([
      { message: 'First needle\n', files: { a: '1' } },
      { message: 'Second\n\nwith a NEEDLE (a) in the body\n', files: { a: '2' } },
      { message: 'Third\n', files: { a: '3' } },
      { branch: 'other', parents: [0], message: 'needle elsewhere\n', files: { a: '4' } },
    ])
    const at = async (text: string) => (await commits(project, text)).map(({ id }) => oids.indexOf(id))
    expect(await at('needle')).toEqual([1, 0])
    expect(await at('NEEDLE (A)')).toEqual([1])
    for (const text of ['n..dle', '^First', 'ada@example.com', '--all', ' \n']) expect(await at(text)).toEqual([])
    const [first, , , elsewhere] = oids as [string, string, string, string]
    for (const text of [elsewhere, elsewhere.slice(0, 7), ` ${elsewhere.slice(0, 12).toUpperCase()} `]) expect(await at(text)).toEqual([3])
    expect(await at(first)).toEqual([0])
    for (const text of [elsewhere.slice(0, 6), 'f'.repeat(40), 'deadbeef', `${elsewhere}0`]) expect(await at(text)).toEqual([])
    const [shown] = await commits(project, 'first needle')
    const { body } = await t.api('get', `${project.path}/repository/commits?ref_name=${first}`, keeper).expect(200)
    expect(shown).toEqual({ ...body[0], project_id: project.id })
  })

  it('a hash means its commit whatever branches are called so, and a commit is found once (S-22)', async () => {
    const { project, bare, oids } = await withCommits([
      { message: 'one\n' },
      { message: 'two\n' },
      { branch: 'aside', parents: [0], message: 'three\n' },
    ])
    const short = oids[2]?.slice(0, 7) as string
    bare.git('branch', short, oids[0] as string)
    expect((await commits(project, short)).map(({ id }) => id)).toEqual([oids[2]])
    const named = bare.commits({ branch: 'main', parents: [oids[1] as string], message: `Reverts ${short}\n` })
    expect((await commits(project, short)).map(({ id }) => id)).toEqual([named[0], oids[2]])
    const itself = bare.git('commit-tree', '-m', 'x', '-p', named[0] as string, 'main^{tree}').trim()
    bare.git('update-ref', 'refs/heads/main', itself)
    expect((await commits(project, itself)).map(({ id }) => id)).toEqual([itself])
  })

  it('a thousand and no more, with the named one behind them (S-22)', async () => {
    const list = Array.from({ length: 1_010 }, (_, i): TestCommit => ({ message: i === 3 ? 'no hit\n' : `abcdef12 ${i}\n` }))
    const { project, oids } = await withCommits(list)
    const answer = await ask(project, 'commits', 'abcdef12', keeper, '&per_page=100&page=10').expect(200)
    expect(answer.headers['x-total']).toBe('1000')
    expect((answer.body as { id: string }[]).map(({ id }) => oids.indexOf(id))).toEqual(Array.from({ length: 100 }, (_, i) => 109 - i))
  })
})

describe('wiki_blobs (S-16, S-23)', () => {
  it('pages by content, in the order of their paths, as they are now (S-16, WK-8)', async () => {
    const project = await aProject(t.ctx, { creator: keeper, visibility: 'public' })
    expect(await blobs(project, 'needle', '', 'wiki_blobs')).toEqual([])
    const page = (title: string, content: string) => t.api('post', `${project.path}/wikis`, keeper).send({ title, content }).expect(201)
    await page('second', 'nothing\n')
    await page('folder/page', `${lines(9, [9])}\n`)
    await page('a page', 'the NEEDLE\n')
    const found = await blobs(project, 'needle', '', 'wiki_blobs')
    expect(found).toEqual([
      { basename: 'a-page', data: 'the NEEDLE', filename: 'a-page.md', id: null, ref: 'main', startline: 1, project_id: project.id },
      {
        basename: 'folder/page',
        data: 'line 7\nline 8\na Needle 9',
        filename: 'folder/page.md',
        id: null,
        ref: 'main',
        startline: 7,
        project_id: project.id,
      },
    ])
    // by content alone
    for (const text of ['second', 'a-page.md', 'folder', '', '  ']) expect(await blobs(project, text, '', 'wiki_blobs')).toEqual([])
    await t.api('delete', `${project.path}/wikis/a-page`, keeper).expect(204)
    expect(await blobs(project, 'needle', '', 'wiki_blobs')).toHaveLength(1)
  })
})

describe('another ref than the default branch (S-29)', () => {
  it('is searched by branch, tag or commit, and shown as it was given', async () => {
    const { project, bare, oids } = await withCommits([
      { message: 'first needle\n', files: { a: 'needle 1\n' } },
      { branch: 'other', parents: [0], message: 'second needle\n', files: { b: 'needle 2\n' } },
    ])
    bare.git('tag', 'v1', 'other')
    const [first, second] = oids as [string, string]
    const names = async (ref: string) => (await blobs(project, 'needle', `&ref=${ref}`)).map(({ filename, ref }) => `${filename} ${ref}`)
    expect(await names('')).toEqual(['a main'])
    for (const ref of ['other', 'v1', second]) expect(await names(ref)).toEqual([`a ${ref}`, `b ${ref}`])
    expect(await names(first)).toEqual([`a ${first}`])
    expect((await blobs(project, 'b', '&ref=other')).map(({ filename, data }) => [filename, data])).toEqual([['b', 'needle 2\n']])
    const found = async (ref: string) => (await commits(project, 'needle', `&ref=${ref}`)).map(({ id }) => oids.indexOf(id))
    expect([await found('other'), await found('main'), await found(first)]).toEqual([[1, 0], [0], [0]])
    for (const ref of ['none', '../other', '--all', 'other~1', 'f'.repeat(40)])
      expect([await names(encodeURIComponent(ref)), await found(encodeURIComponent(ref))]).toEqual([[], []])
  })

  it('of the wiki as well', async () => {
    const project = await aProject(t.ctx, { creator: keeper, visibility: 'public' })
    await t.api('post', `${project.path}/wikis`, keeper).send({ title: 'page', content: 'needle' }).expect(201)
    expect(await blobs(project, 'needle', '&ref=main', 'wiki_blobs')).toHaveLength(1)
    expect(await blobs(project, 'needle', '&ref=none', 'wiki_blobs')).toEqual([])
  })
})

describe('who finds what in code (S-23, S-24, SEC-34)', () => {
  it('callers who may not read the code find none of it; a guest finds wiki pages (SEC-34)', async () => {
    const [guest, reporter, admin] = [await aUser(t.ctx), await aUser(t.ctx), await anAdmin(t.ctx)]
    const project = await aProject(t.ctx, { creator: keeper, guest, reporter, files: { 'a.txt': 'needle\n' } })
    await t.api('post', `${project.path}/wikis`, keeper).send({ title: 'a', content: 'needle' }).expect(201)
    const [{ id: sha }] = (await commits(project, 'add files')) as [{ id: string }]
    const counts = async (who: TestUser) =>
      Promise.all(
        [
          ['blobs', 'needle'],
          ['blobs', 'a.txt'],
          ['commits', 'add files'],
          ['commits', sha],
          ['wiki_blobs', 'needle'],
        ].map(async ([scope, text]) => (await ask(project, scope as string, text as string, who).expect(200)).body.length),
      )
    expect(await counts(guest)).toEqual([0, 0, 0, 0, 1])
    for (const who of [reporter, keeper, admin]) expect(await counts(who)).toEqual([1, 1, 1, 1, 1])
    await ask(project, 'blobs', 'needle', stranger).expect(404)
  })

  it('nothing for a blank text, in an empty repository, or without the default branch (S-3, S-23)', async () => {
    const empty = await aProject(t.ctx, { creator: keeper })
    const { project, bare } = await withCommits([{ files: { a: 'needle \n' }, message: 'needle\n' }])
    for (const scope of ['blobs', 'commits', 'wiki_blobs']) {
      for (const text of ['', ' ', '\t\n ']) expect(await blobs(project, text, '', scope)).toEqual([])
      expect(await blobs(empty, 'needle', '', scope)).toEqual([])
    }
    expect(await blobs(project, 'needle')).toHaveLength(1)
    bare.git('branch', '-m', 'main', 'aside')
    for (const scope of ['blobs', 'commits']) expect(await blobs(project, 'needle', '', scope)).toEqual([])
  })
})

describe('what a search costs (SEC-143, SEC-145)', () => {
  const started = async (work: () => Promise<unknown>) => {
    await t.ctx.jobs.drain()
    const start = vi.spyOn(ProcessPool.prototype, 'start')
    try {
      await work()
      return start.mock.calls.map(([, args]) => args.find((arg) => /^[a-z]+(-[a-z]+)*$/.test(arg)))
    } finally {
      start.mockRestore()
    }
  }

  it('asked again, and page by page, no process is started; a commit is seen at once', async () => {
    const { project, bare } = await withCommits([{ files: { 'd/a': 'needle\n', 'd/b': 'x\n', d2: 'd\n' }, message: 'needle one\n' }])
    for (const [scope, text] of [
      ['blobs', 'needle'],
      ['blobs', 'd'],
      ['commits', 'needle'],
    ] as const) {
      await blobs(project, text, '', scope)
      expect(await started(() => blobs(project, text, '&page=1', scope))).toEqual([])
      expect(await started(() => ask(project, scope, text, stranger, '&per_page=1&page=2').expect(200))).toEqual([])
    }
    bare.commits({ files: { new: 'needle\n' }, message: 'needle two\n' })
    expect(await blobs(project, 'needle')).toHaveLength(2)
    expect(await commits(project, 'needle')).toHaveLength(2)
  })

  it('what finds no turn is refused at once with Retry-After, and calls of other kinds are answered meanwhile (SEC-143)', async () => {
    const { project, bare } = await withCommits([{ files: { a: 'needle\n' } }])
    // one file of a megabyte three thousand times, which takes seconds to read
    const blob = bare.gitBytes(['hash-object', '-w', '--stdin'], 'some other line\n'.repeat(65_000)).toString().trim()
    const rows = Array.from({ length: 3_000 }, (_, i) => `100644 blob ${blob}\tf${i}\0`)
    const tree = bare.gitBytes(['mktree', '-z'], rows.join('')).toString().trim()
    bare.git('update-ref', 'refs/heads/main', bare.git('commit-tree', '-m', 'x', tree).trim())
    const leaving = new AbortController()
    const refused: (string | null)[] = []
    const seen = new Promise<void>((resolve) => {
      for (let i = 0; i < 40; i++)
        fetch(`${t.url}/api/v4${project.path}/search?scope=blobs&search=text${i}`, {
          headers: { 'private-token': keeper.token },
          signal: leaving.signal,
        }).then(
          async (answer) => {
            if (answer.status === 503) refused.push(answer.headers.get('retry-after'))
            if (refused.length === 22) resolve()
          },
          () => {},
        )
    })
    await seen
    expect(new Set(refused)).toEqual(new Set(['1']))
    expect((await t.api('get', `${project.path}/repository/commits`, keeper).expect(200)).body).toHaveLength(1)
    leaving.abort()
  })
})
