import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { projects } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, type Role, statuses } from '../../support/cast.js'
import { aProject, aUser, drawnOf, type TestProject } from '../../support/factories.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()
let cast: Cast
/** The ids of the commits on `main`, oldest first. */
let shas: string[]

const TEN = Array.from({ length: 10 }, (_, n) => `line ${n + 1}\n`)
const text = (...lines: string[]) => lines.join('')

const commentsOf = (project: TestProject, sha: string) => `${project.path}/repository/commits/${encodeURIComponent(sha)}/comments`

/** Changes line 3, adds a line after 9 and takes line 6 away; renames a file and changes it; deletes one. */
const CHANGED = text(...TEN.slice(0, 2), 'changed\n', ...TEN.slice(3, 5), ...TEN.slice(6, 9), 'added\n', ...TEN.slice(9))

beforeAll(async () => {
  cast = await aCast(t.ctx, { visibility: 'public' })
  const bare = bareOf(t, cast.project)
  shas = bare.commits(
    { parents: [], files: { 'a.txt': text(...TEN), 'old.txt': text(...TEN), 'gone.txt': 'one\ntwo\n' } },
    { files: { 'a.txt': CHANGED, 'old.txt': null, 'new.txt': text(...TEN, 'more\n'), 'gone.txt': null, 'dir/ü b.txt': 'x\n' } },
  )
  bare.git('tag', 'v1', 'main')
  bare.git('tag', '-a', '-m', 'x', 'v1-full', 'main')
  bare.git('branch', 'feature/x', 'main')
})

const head = () => shas[1] as string

describe('POST /projects/:id/repository/commits/:sha/comments', () => {
  it('answers the comment, unplaced when no place was given (C-59)', async () => {
    const author = cast.as.developer
    const { body } = await t.api('post', commentsOf(cast.project, head()), author).send({ note: 'Well done\n' }).expect(201)
    expect(body).toEqual({
      note: 'Well done\n',
      path: null,
      line: null,
      line_type: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      author: {
        id: author.id,
        name: author.name,
        username: author.username,
        state: 'active',
        avatar_url: drawnOf(author),
        web_url: `http://roost.test/${author.username}`,
      },
    })
  })

  const placed: [string, object][] = [
    ['an added line', { path: 'a.txt', line: 3, line_type: 'new' }],
    ['another added line', { path: 'a.txt', line: 9, line_type: 'new' }],
    ['a removed line', { path: 'a.txt', line: 3, line_type: 'old' }],
    ['another removed line', { path: 'a.txt', line: 6, line_type: 'old' }],
    ['a line of a new file', { path: 'dir/ü b.txt', line: 1, line_type: 'new' }],
    ['a line of a deleted file', { path: 'gone.txt', line: 2, line_type: 'old' }],
    ['an added line of a renamed file', { path: 'new.txt', line: 11, line_type: 'new' }],
  ]
  it.each(placed)('%s is a place (C-60)', async (_, place) => {
    const { body } = await t
      .api('post', commentsOf(cast.project, head()), cast.as.developer)
      .send({ note: 'here', ...place })
      .expect(201)
    expect(body).toMatchObject({ note: 'here', ...place })
  })

  const unplaced: [string, object][] = [
    ['an unchanged line in sight', { path: 'a.txt', line: 4, line_type: 'new' }],
    ['an unchanged old line', { path: 'a.txt', line: 4, line_type: 'old' }],
    ['a line beyond the file', { path: 'a.txt', line: 1_000, line_type: 'new' }],
    ['line 0', { path: 'a.txt', line: 0, line_type: 'new' }],
    ['a negative line', { path: 'a.txt', line: -3, line_type: 'old' }],
    ['an unchanged line of a renamed file', { path: 'new.txt', line: 1, line_type: 'new' }],
    ['the old path of a renamed file', { path: 'old.txt', line: 1, line_type: 'old' }],
    ['the wrong side of a new file', { path: 'dir/ü b.txt', line: 1, line_type: 'old' }],
    ['the wrong side of a deleted file', { path: 'gone.txt', line: 1, line_type: 'new' }],
    ['an unknown path', { path: 'none.txt', line: 1, line_type: 'new' }],
    ['a folder', { path: 'dir', line: 1, line_type: 'new' }],
    ['a pattern (SEC-80)', { path: '*.txt', line: 3, line_type: 'new' }],
    ['an option (SEC-79)', { path: '--output=x', line: 1, line_type: 'new' }],
    ['no path', { line: 3, line_type: 'new' }],
    ['an empty path', { path: '', line: 3, line_type: 'new' }],
    ['no line', { path: 'a.txt', line_type: 'new' }],
    ['no line_type', { path: 'a.txt', line: 3 }],
  ]
  it.each(unplaced)('%s is no place, and the comment is kept all the same (C-60)', async (_, place) => {
    const { body } = await t
      .api('post', commentsOf(cast.project, head()), cast.as.developer)
      .send({ note: 'somewhere', ...place })
      .expect(201)
    expect(body).toMatchObject({ note: 'somewhere', path: null, line: null, line_type: null })
  })

  it('a branch, a tag, an abbreviation and HEAD mean their commit, and are placed there alike (C-60)', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    const [, last] = bare.commits({ parents: [], files: { a: 'a\n' } }, { files: { a: 'a\nb\n' } }) as [string, string]
    bare.git('tag', '-a', '-m', 'x', 'v1/full', 'main')
    bare.git('branch', 'feature/x', 'main')
    const names = ['main', 'feature/x', 'v1/full', 'HEAD', last.slice(0, 8), last]
    for (const name of names) {
      const sent = { note: name, path: 'a', line: 2, line_type: 'new' }
      const { body } = await t.api('post', commentsOf(project, name), project.creator).send(sent).expect(201)
      expect(body).toMatchObject(sent)
      const missed = await t
        .api('post', commentsOf(project, name), project.creator)
        .send({ ...sent, line: 1 })
        .expect(201)
      expect(missed.body).toMatchObject({ path: null, line: null, line_type: null })
    }
    const { body } = await t.api('get', commentsOf(project, last), project.creator).expect(200)
    expect(body.map(({ note }: { note: string }) => note)).toEqual(names.flatMap((name) => [name, name]))
  })

  it.each(['abc', '1.5', '99999999999', [1], {}])('line %j on a branch or tag is no place, and the comment is kept (C-60)', async (line) => {
    const project = await aProject(t.ctx, { files: { a: 'a\n' } })
    bareOf(t, project).git('tag', 'v1', 'main')
    for (const name of ['main', 'v1', 'HEAD']) {
      const sent = { note: 'x', path: 'a', line, line_type: 'new' }
      const { body } = await t.api('post', commentsOf(project, name), project.creator).send(sent).expect(201)
      expect(body).toMatchObject({ note: 'x', path: null, line: null, line_type: null })
    }
  })

  it('lines of a root commit and of a merge, and lines far beyond what a diff shows (C-60)', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    const big = Array.from({ length: 30_000 }, (_, n) => `line ${n}\n`).join('')
    const [root, , merge, large] = bare.commits(
      { parents: [], files: { a: 'a\nb\n' } },
      { branch: 'side', parents: [0], files: { b: 'b\n' } },
      { parents: [0, 1], files: { c: 'c\n' } },
      { files: { ...Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`f${n}`, 'x\n'])), zz: big } },
    ) as [string, string, string, string]
    const places = [
      [root, 'a', 2],
      [merge, 'c', 1],
      [large, 'f149', 1],
      [large, 'zz', 29_999],
    ] as const
    for (const [sha, path, line] of places) {
      const sent = { note: 'x', path, line, line_type: 'new' }
      expect((await t.api('post', commentsOf(project, sha), project.creator).send(sent).expect(201)).body).toMatchObject(sent)
    }
  })

  it.each([
    [{}, 'note is missing'],
    [{ note: 'x', line: 'x' }, 'line is invalid'],
    [{ note: 'x', line: '1.5' }, 'line is invalid'],
    [{ note: 'x', line_type: 'both' }, 'line_type does not have a valid value'],
    [{ note: 'x', line_type: '' }, 'line_type does not have a valid value'],
    [{ line: 'x', line_type: 'NEW' }, 'note is missing, line is invalid, line_type does not have a valid value'],
  ])('refuses %j (C-59, C-60)', async (sent, error) => {
    await t.api('post', commentsOf(cast.project, head()), cast.as.developer).send(sent).expect(400, { error })
  })

  it.each(['', '   ', '\n\t '])('refuses a blank note %j (C-61)', async (note) => {
    const message = 'Failed to save note {:note=>["can\'t be blank"]}'
    await t.api('post', commentsOf(cast.project, head()), cast.as.developer).send({ note }).expect(400, { message })
  })

  it('a note has at most 1,000,000 characters (SEC-63)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const post = (note: string) => t.api('post', commentsOf(project, 'main'), project.creator).send({ note })
    await post('ü'.repeat(1_000_000)).expect(201)
    const message = 'Failed to save note {:note=>["is too long (maximum is 1000000 characters)"]}'
    await post('ü'.repeat(1_000_001)).expect(400, { message })
    const { headers } = await t.api('get', commentsOf(project, 'main'), project.creator).expect(200)
    expect(headers['x-total']).toBe('1')
  })

  it.each(['none', 'f'.repeat(40), 'HEAD~1', 'a..b', '--all', '__proto__', '-1', '0'])('404 for %s (C-8, SEC-81)', async (sha) => {
    for (const method of ['get', 'post'] as const)
      await t
        .api(method, commentsOf(cast.project, sha), cast.as.developer)
        .send(method === 'post' ? { note: 'x' } : undefined)
        .expect(404, { message: '404 Commit Not Found' })
  })

  // rows of 1.10: as read, and signed in
  const may = (on: 'public' | 'private'): (readonly [Role, number])[] =>
    on === 'public' ? statuses(201, { anonymous: 401 }) : statuses(201, { anonymous: 401, stranger: 404, guest: 403 })
  it.each(['public', 'private'] as const)('permissions to comment in a %s project (C-59, G-10)', async (visibility) => {
    const { project, as } = await aCast(t.ctx, { visibility, files: { a: 'a' } })
    for (const [role, status] of may(visibility)) {
      const { status: got } = await t.api('post', commentsOf(project, 'main'), as[role]).send({ note: 'x' })
      expect([role, got]).toEqual([role, status])
    }
  })

  it('refuses comments in an archived project, whose comments are still read (AC-11, SEC-107)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await t.api('post', commentsOf(project, 'main'), project.creator).send({ note: 'x' }).expect(201)
    await t.api('post', `${project.path}/archive`, project.creator).expect(201)
    await t.api('post', commentsOf(project, 'main'), project.creator).send({ note: 'y' }).expect(403, { message: '403 Forbidden' })
    const { body } = await t.api('get', commentsOf(project, 'main'), project.creator).expect(200)
    expect(body.length).toBe(1)
  })

  it('moves the last activity of the project (G-86)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await t.ctx.db.write
      .update(projects)
      .set({ last_activity_at: new Date(0) })
      .where(eq(projects.id, project.id))
    const { body } = await t.api('post', commentsOf(project, 'main'), project.creator).send({ note: 'x' }).expect(201)
    const shown = await t.api('get', project.path, project.creator).expect(200)
    expect(shown.body.last_activity_at).toBe(body.created_at)
  })

  it('a form is accepted as JSON is, and text is returned unchanged (G-5)', async () => {
    const note = 'ü “quoted” \u202e & <b>\r\n%'
    const { body } = await t
      .api('post', commentsOf(cast.project, head()), cast.as.developer)
      .type('form')
      .send({ note, path: 'a.txt', line: '3', line_type: 'old' })
      .expect(201)
    expect(body).toMatchObject({ note, path: 'a.txt', line: 3, line_type: 'old' })
  })
})

describe('GET /projects/:id/repository/commits/:sha/comments', () => {
  it('oldest first, with place, and with the e-mail and the entry of each author (C-58)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public', files: { a: 'a\n' } })
    await t.api('post', commentsOf(project, 'main'), as.developer).send({ note: 'one' }).expect(201)
    await t.api('post', commentsOf(project, 'main'), as.stranger).send({ note: 'two', path: 'a', line: 1, line_type: 'new' }).expect(201)
    const author = (user: typeof as.developer) => ({
      id: user.id,
      name: user.name,
      username: user.username,
      state: 'active',
      avatar_url: drawnOf(user),
      web_url: `http://roost.test/${user.username}`,
      email: user.email,
      created_at: user.created_at.toISOString(),
    })
    const created_at = expect.any(String)
    const { body } = await t.api('get', commentsOf(project, 'main'), null).expect(200)
    expect(body).toEqual([
      { note: 'one', path: null, line: null, line_type: null, author: author(as.developer), created_at },
      { note: 'two', path: 'a', line: 1, line_type: 'new', author: author(as.stranger), created_at },
    ])
    expect(body[0].created_at <= body[1].created_at).toBe(true)
  })

  it('to G-59: is paginated (G-55)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    for (const note of ['1', '2', '3']) await t.api('post', commentsOf(project, 'main'), project.creator).send({ note }).expect(201)
    const page = async (n: number) => {
      const { body, headers } = await t.api('get', `${commentsOf(project, 'main')}?per_page=2&page=${n}`, project.creator).expect(200)
      return [body.map(({ note }: { note: string }) => note), headers['x-total'], headers['x-total-pages']]
    }
    expect(await page(1)).toEqual([['1', '2'], '3', '2'])
    expect(await page(2)).toEqual([['3'], '3', '2'])
    expect(await page(9)).toEqual([[], '3', '2'])
  })

  it('comments in a fork, and those on another commit, are not shown (C-58, SEC-43)', async () => {
    const project = await aProject(t.ctx)
    const fork = await aProject(t.ctx, { creator: project.creator })
    const commits = [
      { parents: [], files: { a: 'a' }, date: 1_700_000_000 },
      { files: { a: 'b' }, date: 1_700_000_001 },
    ]
    const [first, last] = bareOf(t, project).commits(...commits) as [string, string]
    expect(bareOf(t, fork).commits(...commits)).toEqual([first, last])
    await t.api('post', commentsOf(fork, last), project.creator).send({ note: 'in the fork' }).expect(201)
    await t.api('post', commentsOf(project, first), project.creator).send({ note: 'of the first' }).expect(201)
    await t.api('get', commentsOf(project, last), project.creator).expect(200, [])
    const { body } = await t.api('get', commentsOf(project, first), project.creator).expect(200)
    expect(body.map(({ note }: { note: string }) => note)).toEqual(['of the first'])
  })

  it('asks the database as often for twenty comments of twenty people as for one', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const list = () => t.api('get', `${commentsOf(project, 'main')}?per_page=100`, project.creator).expect(200)
    await t.api('post', commentsOf(project, 'main'), project.creator).send({ note: 'x' }).expect(201)
    await list()
    await t.ctx.jobs.drain()
    const one = await t.queriesOf(list)
    for (let n = 0; n < 19; n++)
      await t
        .api('post', commentsOf(project, 'main'), await aUser(t.ctx))
        .send({ note: 'x' })
        .expect(201)
    await t.ctx.jobs.drain()
    let length = 0
    const many = await t.queriesOf(async () => {
      length = (await list()).body.length
    })
    expect([length, many.length]).toEqual([20, one.length])
    expect(many.filter((query) => query.includes('"notes"')).length).toBe(1)
  })

  it.each([
    ['public', statuses(200)],
    ['internal', statuses(200, { anonymous: 404 })],
    ['private', statuses(200, { anonymous: 404, stranger: 404, guest: 403 })],
  ] as const)('who reads the comments of a %s project (G-10)', async (visibility, expected) => {
    const { project, as } = await aCast(t.ctx, { visibility, files: { a: 'a' } })
    for (const [role, status] of expected) expect([role, (await t.api('get', commentsOf(project, 'main'), as[role])).status]).toEqual([role, status])
  })

  it('with the repository switched off neither is read nor written (G-68)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await t.ctx.db.write.update(projects).set({ repository_access_level: 0 }).where(eq(projects.id, project.id))
    await t.api('get', commentsOf(project, 'main'), project.creator).expect(403)
    await t.api('post', commentsOf(project, 'main'), project.creator).send({ note: 'x' }).expect(403)
  })
})
