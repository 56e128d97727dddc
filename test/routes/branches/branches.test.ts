import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aCast, CAST, type Cast, type Role, statuses } from '../../support/cast.js'
import { aCommit, aProject, aToken, aUser, setSettings, type TestProject, type TestUser } from '../../support/factories.js'
import { aBareRepository } from '../../support/git.js'
import { bareOf, pushAs, stateOf } from '../../support/repositories.js'
import { oneIn } from '../../support/rounds.js'

const t = testApp()
let cast: Cast
let branches: string
let main: string

beforeAll(async () => {
  cast = await aCast(t.ctx, { visibility: 'public', files: { 'a.txt': 'a\n' } })
  branches = `${cast.project.path}/repository/branches`
  main = bareOf(t, cast.project).git('rev-parse', 'main').trim()
})

const FORBIDDEN = { message: '403 Forbidden' }
const NO_BRANCH = { message: '404 Branch Not Found' }
const PROTECTED = { message: 'You are not allowed to push into this branch' }

const namesIn = async (path: string, caller: TestUser | null) =>
  (await t.api('get', path, caller).expect(200)).body.map(({ name }: { name: string }) => name)

describe('GET /projects/:id/repository/branches', () => {
  it('lists by name, or by the date of the newest commit; search is a substring without case, with ^ and $, an exact hit first (BR-1)', async () => {
    const project = await aProject(t.ctx)
    const bare = bareOf(t, project)
    bare.commits(
      { branch: 'main', date: 2_000 },
      { branch: 'feature', date: 4_000, parents: [] },
      { branch: 'Fix', date: 1_000, parents: [] },
      { branch: 'a-fix', date: 3_000, parents: [] },
      { branch: 'fix', date: 5_000, parents: [] },
    )
    const names = (query: string) => namesIn(`${project.path}/repository/branches${query}`, project.creator)
    expect(await names('')).toEqual(['Fix', 'a-fix', 'feature', 'fix', 'main'])
    expect(await names('?sort=name_asc')).toEqual(['Fix', 'a-fix', 'feature', 'fix', 'main'])
    expect(await names('?sort=name_desc')).toEqual(['main', 'fix', 'feature', 'a-fix', 'Fix'])
    expect(await names('?sort=name_desc&search=fix')).toEqual(['fix', 'a-fix', 'Fix'])
    expect(await names('?sort=updated_asc')).toEqual(['Fix', 'main', 'a-fix', 'feature', 'fix'])
    expect(await names('?sort=updated_desc')).toEqual(['fix', 'feature', 'a-fix', 'main', 'Fix'])
    expect(await names('?search=FIX')).toEqual(['Fix', 'a-fix', 'fix'])
    expect(await names('?search=fix')).toEqual(['fix', 'Fix', 'a-fix'])
    expect(await names('?search=^f')).toEqual(['Fix', 'feature', 'fix'])
    expect(await names('?search=X$')).toEqual(['Fix', 'a-fix', 'fix'])
    expect(await names('?search=^fix$')).toEqual(['Fix', 'fix'])
    expect(await names('?search=%25')).toEqual([])
    await t.api('get', `${project.path}/repository/branches?sort=size`, project.creator).expect(400, { error: 'sort does not have a valid value' })
  })

  it('is paginated (BR-1)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    for (const name of ['a', 'b', 'c', 'd']) bareOf(t, project).git('branch', name, 'main')
    const path = `${project.path}/repository/branches`
    const { body, headers } = await t.api('get', `${path}?per_page=2&page=2`, project.creator).expect(200)
    expect(body.map(({ name }: { name: string }) => name)).toEqual(['c', 'd'])
    expect(headers).toMatchObject({ 'x-total': '5', 'x-total-pages': '3', 'x-page': '2', 'x-per-page': '2', 'x-prev-page': '1', 'x-next-page': '3' })
    const link = (page: number, rel: string) => `<${t.url}/api/v4${path}?page=${page}&per_page=2>; rel="${rel}"`
    expect(headers['link']).toBe([link(1, 'prev'), link(3, 'next'), link(1, 'first'), link(3, 'last')].join(', '))
    const past = await t.api('get', `${path}?per_page=2&page=9`, project.creator).expect(200, [])
    expect(past.headers).toMatchObject({ 'x-total': '5', 'x-page': '9', 'x-next-page': '', 'x-prev-page': '' })
  })

  it('an empty repository has none (BR-1)', async () => {
    const project = await aProject(t.ctx)
    const { headers } = await t.api('get', `${project.path}/repository/branches`, project.creator).expect(200, [])
    expect(headers['x-total']).toBe('0')
  })
})

describe('GET /projects/:id/repository/branches/:branch', () => {
  it('shows the branch, its commit, and what the caller may do (BR-2)', async () => {
    const { body } = await t.api('get', `${branches}/main`, cast.as.developer).expect(200)
    expect(body).toEqual({
      name: 'main',
      commit: expect.objectContaining({ id: main, title: 'Add files', parent_ids: [] }),
      merged: false,
      protected: true,
      developers_can_push: false,
      developers_can_merge: false,
      can_push: false,
      default: true,
      web_url: `http://roost.test/${cast.project.fullPath}/tree/main`,
    })
  })

  it('merged says that the default branch contains the head and more; can_push is about the caller (BR-2, BR-21)', async () => {
    const bare = bareOf(t, cast.project)
    bare.commits({ branch: 'old', parents: [], files: { o: 'o' } })
    bare.commits({ branch: 'main', parents: [main, bare.git('rev-parse', 'old').trim()], files: { o: 'o' } })
    bare.git('branch', '-f', 'new', 'main')
    const flags = { default: false, protected: false, can_push: false }
    expect((await t.api('get', `${branches}/old`, null).expect(200)).body).toMatchObject({ merged: true, ...flags })
    expect((await t.api('get', `${branches}/new`, null).expect(200)).body).toMatchObject({ merged: false, ...flags })
    const list = (await t.api('get', branches, null).expect(200)).body as { name: string; merged: boolean }[]
    expect(list.filter(({ merged }) => merged).map(({ name }) => name)).toEqual(['old'])
    bare.git('update-ref', 'refs/heads/main', main)
    bare.git('branch', '-D', 'old', 'new')
    bare.commits({ branch: 'ahead', parents: [main], files: { b: 'b' } })
    expect((await t.api('get', `${branches}/ahead`, cast.as.developer).expect(200)).body).toMatchObject({ merged: false, can_push: true })
    for (const role of CAST) {
      const { body } = await t.api('get', `${branches}/main`, cast.as[role]).expect(200)
      expect([role, body.can_push]).toEqual([role, ['maintainer', 'owner', 'admin'].includes(role)])
    }
  })

  it('odd names are only names (W-7, SEC-155)', async () => {
    const bare = bareOf(t, cast.project)
    const names = ['v1.2.txt', 'deep/er/name', '__proto__', 'constructor', 'null', 'NaN', 'true', '0', '1e3', 'a#b%c&d', 'ü+é', 'abcd']
    for (const name of names) {
      bare.git('update-ref', `refs/heads/${name}`, main)
      const { body } = await t.api('get', `${branches}/${encodeURIComponent(name)}`, null).expect(200)
      expect(body.name).toBe(name)
      expect(body.web_url).toBe(`http://roost.test/${cast.project.fullPath}/tree/${name.split('/').map(encodeURIComponent).join('/')}`)
      bare.git('update-ref', '-d', `refs/heads/${name}`)
    }
  })

  // SEC-79, SEC-81
  it.each(['none', '--output=x', '-h', '--', '--all', 'f'.repeat(40), 'HEAD', '@', 'v1%2Fnone'])('404 for %s (BR-2)', async (name) => {
    await t.api('get', `${branches}/${name}`, null).expect(404, NO_BRANCH)
  })

  it.each(['a..b', 'HEAD~3', 'main@{1}', ':/text', 'main:a.txt', '^main', 'a b', 'x.lock', '../tags/v1', 'a/'])(
    '400 for %s, which no ref can be called (BR-2, SEC-81)',
    async (name) => {
      await t.api('get', `${branches}/${encodeURIComponent(name)}`, null).expect(400, { message: 'The branch refname is invalid' })
    },
  )

  it('a tag of the same name is not looked at (SEC-82)', async () => {
    const bare = bareOf(t, cast.project)
    bare.commits({ branch: 'twin', parents: [main], files: { twin: 'x' } })
    bare.git('tag', 'twin', main)
    bare.git('tag', 'only-a-tag', main)
    expect((await t.api('get', `${branches}/twin`, null).expect(200)).body.commit.id).toBe(bare.git('rev-parse', 'refs/heads/twin').trim())
    await t.api('get', `${branches}/only-a-tag`, null).expect(404, NO_BRANCH)
  })
})

describe('HEAD /projects/:id/repository/branches/:branch', () => {
  it.each([
    ['main', 204],
    ['none', 404],
    ['a..b', 404],
  ])('%s: %i (BR-3)', async (name, status) => {
    await t.api('head', `${branches}/${name}`, null).expect(status)
  })

  it('404 for a project out of sight (BR-3)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await t.api('head', `${project.path}/repository/branches/main`, cast.as.stranger).expect(404)
  })
})

describe('POST /projects/:id/repository/branches', () => {
  it('makes a branch of a branch, a tag, a commit or a part of its id (BR-4)', async () => {
    const bare = bareOf(t, cast.project)
    bare.git('tag', '-a', '-m', 'x', 'noted', main)
    for (const [i, ref] of ['main', 'noted', main, main.slice(0, 7), 'HEAD'].entries()) {
      const { body } = await t
        .api('post', branches, cast.as.developer)
        .send({ branch: `new/${i}`, ref })
        .expect(201)
      expect(body).toMatchObject({ name: `new/${i}`, commit: { id: main }, merged: false, protected: false, can_push: true, default: false })
      expect(bare.git('rev-parse', `refs/heads/new/${i}`).trim()).toBe(main)
    }
  })

  it.each([
    ['an unknown ref', { branch: 'x', ref: 'none' }, { message: 'Invalid reference name' }],
    ['an empty ref', { branch: 'x', ref: '' }, { message: 'Invalid reference name' }],
    ['Git’s own syntax', { branch: 'x', ref: 'main~0' }, { message: 'Invalid reference name' }],
    ['an option', { branch: 'x', ref: '--all' }, { message: 'Invalid reference name' }],
    ['a name that is there', { branch: 'main', ref: 'main' }, { message: 'Branch already exists' }],
    ['no name', { ref: 'main' }, { error: 'branch is missing' }],
    ['nothing', {}, { error: 'branch is missing, ref is missing' }],
    ['a map', { branch: { a: 'b' }, ref: 'main' }, { error: 'branch is invalid' }],
  ])('refuses %s and changes nothing (BR-4, SEC-2)', async (_, given, answer) => {
    const before = await stateOf(t, cast.project)
    await t.api('post', branches, cast.as.developer).send(given).expect(400, answer)
    expect(await stateOf(t, cast.project)).toEqual(before)
  })

  it.each([
    '',
    '-a',
    'HEAD',
    'refs/heads/a',
    'refs/x',
    'f'.repeat(40),
    '0'.repeat(64),
    'x'.repeat(245),
    'a..b',
    'a b',
    'a~1',
    'a.lock',
    '/a',
    'a/',
    'a//b',
  ])('refuses the name %j (BR-15, SEC-83)', async (branch) => {
    await t.api('post', branches, cast.as.developer).send({ branch, ref: 'main' }).expect(400, { message: 'Branch name is invalid' })
  })

  it.each(['main/x', 'dir'])('refuses %s, which cannot stand beside a name that is there (SEC-83)', async (branch) => {
    bareOf(t, cast.project).git('branch', '-f', 'dir/inner', main)
    const before = await stateOf(t, cast.project)
    await t
      .api('post', branches, cast.as.developer)
      .send({ branch, ref: 'main' })
      .expect(400, { message: 'Branch name conflicts with the name of another branch' })
    expect(await stateOf(t, cast.project)).toEqual(before)
  })

  it('protection that is there before the branch forbids its creation (BR-4, BR-16)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    const protect = (name: string, push_access_level: number) =>
      t.api('post', `${project.path}/protected_branches`, as.maintainer).send({ name, push_access_level }).expect(201)
    await protect('release/*', 40)
    await protect('closed', 0)
    await protect('open', 30)
    const create = (caller: TestUser, branch: string) => t.api('post', `${project.path}/repository/branches`, caller).send({ branch, ref: 'main' })
    await create(as.developer, 'release/1').expect(400, PROTECTED)
    for (const caller of [as.maintainer, as.owner, as.admin]) await create(caller, 'closed').expect(400, PROTECTED)
    await create(as.developer, 'open').expect(201)
    await create(as.maintainer, 'release/1').expect(201)
  })

  it('makes one of ten at once, and answers the others that it exists (BR-4)', async () => {
    const create = () => t.api('post', branches, cast.as.developer).send({ branch: 'race', ref: 'main' })
    const answers = await Promise.all(Array.from({ length: 10 }, create))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    for (const { status, body } of answers) if (status !== 201) expect([status, body]).toEqual([400, { message: 'Branch already exists' }])
  })

  describe('in an empty repository (BR-20)', () => {
    const make = (project: TestProject, caller: TestUser, branch: string, ref = 'main') =>
      t.api('post', `${project.path}/repository/branches`, caller).send({ branch, ref })

    it('creates the default branch first, with a README.md', async () => {
      const project = await aProject(t.ctx)
      const { body } = await make(project, project.creator, 'topic').expect(201)
      expect(body).toMatchObject({
        name: 'topic',
        default: false,
        merged: false,
        protected: false,
        commit: { message: 'Add README.md', parent_ids: [] },
      })
      const bare = bareOf(t, project)
      expect(bare.git('ls-tree', '--name-only', 'topic')).toBe('README.md\n')
      expect(bare.git('cat-file', 'blob', 'topic:README.md')).toBe('')
      expect((await t.api('get', `${project.path}/repository/branches/main`, project.creator).expect(200)).body).toMatchObject({
        default: true,
        protected: true,
        commit: { id: body.commit.id },
      })
      expect((await t.api('get', project.path, project.creator).expect(200)).body).toMatchObject({ default_branch: 'main', empty_repo: false })
      await make(project, project.creator, 'more', 'topic').expect(201)
    })

    it('the default branch itself, from HEAD, or two at once', async () => {
      const [own, head, both] = [await aProject(t.ctx), await aProject(t.ctx), await aProject(t.ctx)]
      expect((await make(own, own.creator, 'main').expect(201)).body).toMatchObject({ name: 'main', default: true })
      await make(own, own.creator, 'main').expect(400, { message: 'Branch already exists' })
      await make(head, head.creator, 'topic', 'HEAD').expect(201)
      const answers = await Promise.all(['a', 'b', 'c'].map((name) => make(both, both.creator, name)))
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
      expect(await namesIn(`${both.path}/repository/branches`, both.creator)).toEqual(['a', 'b', 'c', 'main'])
      expect(bareOf(t, both).git('rev-list', '--count', '--all').trim()).toBe('1')
    })

    it('refused calls create nothing (SEC-2)', async () => {
      const { project, as } = await aCast(t.ctx)
      const before = await stateOf(t, project)
      await make(project, as.owner, 'topic', 'nowhere').expect(400, { message: 'Invalid reference name' })
      await make(project, as.owner, 'a..b').expect(400, { message: 'Branch name is invalid' })
      await make(project, as.owner, 'main/x').expect(400, { message: 'Branch name is invalid' })
      await t.api('post', `${project.path}/protected_branches`, as.owner).send({ name: 'closed', push_access_level: 0 }).expect(201)
      const guarded = await stateOf(t, project)
      await make(project, as.owner, 'closed').expect(400, PROTECTED)
      expect(await stateOf(t, project)).toEqual(guarded)
      await t.api('delete', `${project.path}/protected_branches/closed`, as.owner).expect(204)
      // BR-18
      await make(project, as.developer, 'topic').expect(400, { message: 'You are not allowed to push into this branch' })
      await make(project, as.reporter, 'topic').expect(403, FORBIDDEN)
      expect(await stateOf(t, project)).toEqual(before)
      await setSettings(t.ctx, { default_branch_protection: 1 })
      await make(project, as.developer, 'topic').expect(201)
      await setSettings(t.ctx, {})
    })
  })
})

describe('DELETE /projects/:id/repository/branches/:branch', () => {
  it('deletes an unprotected branch (BR-5)', async () => {
    const bare = bareOf(t, cast.project)
    bare.git('branch', 'doomed/one', main)
    await t.api('delete', `${branches}/doomed%2Fone`, cast.as.developer).expect(204, {})
    expect(bare.git('branch', '--list', 'doomed/*')).toBe('')
    await t.api('delete', `${branches}/doomed%2Fone`, cast.as.developer).expect(404, NO_BRANCH)
  })

  it('companions 5.1 row 19, 20: never the default branch; a protected one from maintainer up (BR-5, BR-19)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    const bare = bareOf(t, project)
    const path = `${project.path}/repository/branches`
    bare.git('branch', 'kept', 'main')
    await t.api('post', `${project.path}/protected_branches`, as.maintainer).send({ name: 'ke*' }).expect(201)
    const before = await stateOf(t, project)
    await t
      .api('delete', `${path}/kept`, as.developer)
      .expect(400, { message: 'You are not allowed to delete protected branches from this project.' })
    for (const caller of [as.developer, as.owner, as.admin])
      await t.api('delete', `${path}/main`, caller).expect(400, { message: 'The default branch of a project cannot be deleted.' })
    expect(await stateOf(t, project)).toEqual(before)
    await t.api('delete', `${path}/kept`, as.maintainer).expect(204)
    // PU-8: its protection stays
    expect((await stateOf(t, project)).branches.map(({ name }) => name).sort()).toEqual(['ke*', 'main'])
  })
})

describe('DELETE /projects/:id/repository/merged_branches', () => {
  it('deletes merged branches, but neither the default branch nor protected ones (BR-6)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    const bare = bareOf(t, project)
    for (const name of ['merged', 'also/merged', 'kept']) bare.git('branch', name, 'main')
    bare.commits({ branch: 'ahead', parents: [bare.git('rev-parse', 'main').trim()], files: { b: 'b' } })
    bare.commits({ branch: 'main', parents: [bare.git('rev-parse', 'main').trim()], files: { c: 'c' } })
    await t.api('post', `${project.path}/protected_branches`, as.maintainer).send({ name: 'kept' }).expect(201)
    await t.api('delete', `${project.path}/repository/merged_branches`, as.developer).expect(202, { message: '202 Accepted' })
    await t.ctx.jobs.drain()
    expect(await namesIn(`${project.path}/repository/branches`, as.developer)).toEqual(['ahead', 'kept', 'main'])
  })

  it('a branch that was just made of the default branch stays (BR-6, BR-21)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    const path = `${project.path}/repository`
    await t.api('post', `${path}/branches`, as.developer).send({ branch: 'work', ref: 'main' }).expect(201)
    await t.api('delete', `${path}/merged_branches`, as.developer).expect(202)
    expect(await namesIn(`${path}/branches`, as.developer)).toEqual(['main', 'work'])
  })

  it('an empty repository has none (BR-6)', async () => {
    const project = await aProject(t.ctx)
    await t.api('delete', `${project.path}/repository/merged_branches`, project.creator).expect(202, { message: '202 Accepted' })
  })
})

describe('PUT /projects/:id/repository/branches/:branch/protect and unprotect', () => {
  it('absent flags mean false when new and stay when it was protected (BR-7)', async () => {
    const bare = bareOf(t, cast.project)
    bare.git('branch', '-f', 'guarded', main)
    const protect = async (flags: object) => {
      const { body } = await t.api('put', `${branches}/guarded/protect`, cast.as.maintainer).send(flags).expect(200)
      return [body.name, body.protected, body.developers_can_push, body.developers_can_merge, body.can_push]
    }
    expect(await protect({})).toEqual(['guarded', true, false, false, true])
    expect(await protect({ developers_can_push: true })).toEqual(['guarded', true, true, false, true])
    expect(await protect({})).toEqual(['guarded', true, true, false, true])
    expect(await protect({ developers_can_merge: 'yes' })).toEqual(['guarded', true, true, true, true])
    expect(await protect({ developers_can_push: false })).toEqual(['guarded', true, false, true, true])
    const { body } = await t.api('put', `${branches}/guarded/unprotect`, cast.as.maintainer).expect(200)
    expect(body).toMatchObject({ name: 'guarded', protected: false, developers_can_push: false, developers_can_merge: false })
    expect(await protect({ developers_can_push: true, developers_can_merge: true })).toEqual(['guarded', true, true, true, true])
  })

  it('200 too for one that is not protected, and a pattern that covers it stays (BR-8)', async () => {
    bareOf(t, cast.project).git('branch', '-f', 'wild/one', main)
    const { body } = await t.api('put', `${branches}/wild%2Fone/unprotect`, cast.as.maintainer).expect(200)
    expect(body.protected).toBe(false)
    await t.api('post', `${cast.project.path}/protected_branches`, cast.as.maintainer).send({ name: 'wild/*' }).expect(201)
    const covered = await t.api('put', `${branches}/wild%2Fone/unprotect`, cast.as.maintainer).expect(200)
    expect(covered.body.protected).toBe(true)
  })

  it.each(['protect', 'unprotect'])('%s refuses what does not exist, what is no flag, and callers below maintainer (BR-7, BR-8)', async (verb) => {
    const before = await stateOf(t, cast.project)
    await t.api('put', `${branches}/none/${verb}`, cast.as.maintainer).expect(404, NO_BRANCH)
    await t.api('put', `${branches}/main/${verb}`, cast.as.developer).expect(403, FORBIDDEN)
    await t.api('put', `${branches}/main/${verb}`, null).expect(401, { message: '401 Unauthorized' })
    if (verb === 'protect')
      await t
        .api('put', `${branches}/main/protect`, cast.as.maintainer)
        .send({ developers_can_push: 'maybe' })
        .expect(400, { error: 'developers_can_push is invalid' })
    expect(await stateOf(t, cast.project)).toEqual(before)
  })
})

describe('the first branch (BR-17, BR-18, G-73, PU-1)', () => {
  const commit = { commit_message: 'x', actions: [{ action: 'create', file_path: 'a', content: 'a' }] }
  const first = async (protection: 0 | 1 | 2, branch: string, role: 'developer' | 'maintainer') => {
    await setSettings(t.ctx, { default_branch_protection: protection })
    const { project, as } = await aCast(t.ctx)
    const made = await t.api('post', `${project.path}/repository/commits`, as[role]).send({ branch, ...commit })
    return { project, as, made }
  }

  it.each([
    [0, []],
    [1, [['dev', 30, 40, false]]],
    [2, [['dev', 40, 40, false]]],
  ] as const)('with default_branch_protection %i it becomes the default and gets %j', async (protection, expected) => {
    const { project, as, made } = await first(protection, 'dev', 'maintainer')
    expect(made.status).toBe(201)
    const state = await stateOf(t, project)
    expect(state.branches.map((entry) => [entry.name, entry.push_level, entry.merge_level, entry.allow_force_push])).toEqual(expected)
    expect(state.head).toBe('refs/heads/dev\n')
    expect((await t.api('get', project.path, as.developer).expect(200)).body).toMatchObject({ default_branch: 'dev', empty_repo: false })
    // a second one changes nothing
    await t.api('post', `${project.path}/repository/branches`, as.maintainer).send({ branch: 'main', ref: 'dev' }).expect(201)
    expect(await stateOf(t, project)).toMatchObject({ head: 'refs/heads/dev\n', branches: state.branches })
  })

  it('with 2 a developer may not create it, with 0 and 1 they may (BR-18, SEC-109)', async () => {
    const closed = await first(2, 'main', 'developer')
    expect([closed.made.status, closed.made.body]).toEqual([400, PROTECTED])
    expect((await stateOf(t, closed.project)).refs).toBe('')
    for (const protection of [0, 1] as const) expect((await first(protection, 'main', 'developer')).made.status).toBe(201)
  })

  it('an entry that matches already is left as it is', async () => {
    await setSettings(t.ctx, { default_branch_protection: 2 })
    const { project, as } = await aCast(t.ctx)
    await t.api('post', `${project.path}/protected_branches`, as.maintainer).send({ name: 'm*', push_access_level: 30 }).expect(201)
    await aCommit(t.ctx, project, { a: 'a' })
    expect((await stateOf(t, project)).branches.map(({ name }) => name)).toEqual(['m*'])
  })

  it('of several pushed at once it is the configured initial branch', async () => {
    await setSettings(t.ctx, { default_branch_protection: 2 })
    const { project, as } = await aCast(t.ctx)
    const source = aBareRepository()
    try {
      source.commits({ branch: 'main' }, { branch: 'aaa', parents: [] })
      expect((await pushAs(t, as.developer, project, source, 'aaa')).err).toContain(PROTECTED.message)
      expect((await stateOf(t, project)).refs).toBe('')
      expect(await pushAs(t, as.maintainer, project, source, 'aaa', 'main')).toMatchObject({ code: 0 })
    } finally {
      source.remove()
    }
    const { head, branches: entries } = await stateOf(t, project)
    expect([head, entries.map(({ name }) => name)]).toEqual(['refs/heads/main\n', ['main']])
  })
})

describe('pushes to a protected branch (SEC-104, SEC-105, BR-16, BR-19)', () => {
  const FAST = 'fast-forward'
  const FORCE = 'force'
  const DELETE = 'delete'
  type Kind = typeof FAST | typeof FORCE | typeof DELETE
  const may: Record<string, Partial<Record<Kind, Role[]>>> = {
    'not protected': {
      [FAST]: ['developer', 'maintainer', 'admin'],
      [FORCE]: ['developer', 'maintainer', 'admin'],
      [DELETE]: ['developer', 'maintainer', 'admin'],
    },
    'level 40': { [FAST]: ['maintainer', 'admin'] },
    'level 30': { [FAST]: ['developer', 'maintainer', 'admin'] },
    'level 0': {},
    'level 40 with force': { [FAST]: ['maintainer', 'admin'], [FORCE]: ['maintainer', 'admin'] },
    'levels 0 and 30': { [FAST]: ['developer', 'maintainer', 'admin'] },
  }
  const entries: Record<string, object[]> = {
    'not protected': [],
    'level 40': [{ name: 'line', push_access_level: 40 }],
    'level 30': [{ name: 'li*', push_access_level: 30 }],
    'level 0': [{ name: 'line', push_access_level: 0 }],
    'level 40 with force': [{ name: 'line', push_access_level: 40, allow_force_push: true }],
    'levels 0 and 30': [
      { name: 'line', push_access_level: 0 },
      { name: '*ne', push_access_level: 30 },
    ],
  }

  // every third role in turn, in the long run all
  const roles = ['guest', 'reporter', 'developer', 'maintainer', 'admin'] as const
  it.each(Object.keys(may).map((name, turn) => ({ name, turn })))('$name', { tags: ['long'] }, async ({ name, turn }) => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    for (const entry of entries[name] as object[]) await t.api('post', `${project.path}/protected_branches`, as.maintainer).send(entry).expect(201)
    const bare = bareOf(t, project)
    const source = aBareRepository()
    try {
      const [base, next, other] = source.commits({ branch: 'base' }, { branch: 'next', parents: [0] }, { branch: 'other', parents: [0] }) as [
        string,
        string,
        string,
      ]
      bare.gitBytes(['fetch', '-q', source.directory, '+refs/heads/*:refs/keep/*'])
      for (const [i, kind] of ([FAST, FORCE, DELETE] as const).entries())
        for (const role of oneIn(3, roles, (turn + i) % 3)) {
          bare.git('update-ref', 'refs/heads/line', kind === FORCE ? other : base)
          const refspec = kind === DELETE ? ':refs/heads/line' : `+${next}:refs/heads/line`
          const { code } = await pushAs(t, as[role], project, source, refspec)
          const allowed = may[name]?.[kind]?.includes(role) ?? false
          expect([kind, role, code === 0]).toEqual([kind, role, allowed])
          const now = bare.git('for-each-ref', '--format=%(objectname)', 'refs/heads/line').trim()
          expect([kind, role, now]).toEqual([kind, role, !allowed ? (kind === FORCE ? other : base) : kind === DELETE ? '' : next])
        }
    } finally {
      source.remove()
    }
  })

  it.each(Object.keys(may))('%s: the API decides as a push does, but lets a maintainer delete', async (name) => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    for (const entry of entries[name] as object[]) await t.api('post', `${project.path}/protected_branches`, as.maintainer).send(entry).expect(201)
    const bare = bareOf(t, project)
    for (const role of roles) {
      bare.git('update-ref', 'refs/heads/line', 'refs/heads/main')
      const below = role === 'guest' || role === 'reporter'
      const allowed = may[name]?.[FAST]?.includes(role) ?? false
      const refusal = below ? 403 : 400
      const write = { branch: 'line', commit_message: 'm' }
      const actions = [{ action: 'create', file_path: 'x', content: 'x' }]
      const made = await t.api('post', `${project.path}/repository/commits`, as[role]).send({ ...write, actions })
      expect([role, made.status]).toEqual([role, allowed ? 201 : refusal])
      const file = await t.api('put', `${project.path}/repository/files/a`, as[role]).send({ ...write, content: 'b' })
      expect([role, file.status]).toEqual([role, allowed ? 200 : refusal])
      for (const { status, body } of [made, file]) if (status >= 400) expect(body).toEqual(below ? FORBIDDEN : PROTECTED)
      expect(bare.git('rev-list', '--count', 'main..line').trim()).toBe(allowed ? '2' : '0')
      const gone = await t.api('delete', `${project.path}/repository/branches/line`, as[role])
      expect([role, gone.status]).toEqual([role, below ? 403 : role === 'developer' && name !== 'not protected' ? 400 : 204])
    }
  })
})

describe('permissions', () => {
  it.each(statuses(200))('companions 5.3: %s reads the branches of a public project', async (role, status) => {
    await t.api('get', branches, cast.as[role]).expect(status)
    await t.api('get', `${branches}/main`, cast.as[role]).expect(status)
  })

  it.each(statuses(201, { anonymous: 401, stranger: 403, guest: 403, reporter: 403 }))(
    'companions 5.1 row 16: %s creates: %i',
    async (role, status) => {
      const { body } = await t
        .api('post', branches, cast.as[role])
        .send({ branch: `by-${role}`, ref: 'main' })
        .expect(status)
      if (status === 403) expect(body).toEqual(FORBIDDEN)
      if (status === 401) expect(body).toEqual({ message: '401 Unauthorized' })
    },
  )

  it.each(statuses(204, { anonymous: 401, stranger: 403, guest: 403, reporter: 403 }))(
    'companions 5.1 row 16: %s deletes: %i',
    async (role, status) => {
      const bare = bareOf(t, cast.project)
      bare.git('branch', '-f', `del-${role}`, main)
      await t.api('delete', `${branches}/del-${role}`, cast.as[role]).expect(status)
      expect(bare.git('branch', '--list', `del-${role}`) === '').toBe(status === 204)
    },
  )

  it.each(statuses(202, { anonymous: 401, stranger: 403, guest: 403, reporter: 403 }))(
    '%s deletes merged branches: %i (BR-6)',
    async (role, status) => {
      const { project, as } = await aCast(t.ctx, { visibility: 'public' })
      await t.api('delete', `${project.path}/repository/merged_branches`, as[role]).expect(status)
    },
  )

  it.each(statuses(200, { anonymous: 401, stranger: 403, guest: 403, reporter: 403, developer: 403 }))(
    '%s protects: %i (BR-7, BR-8)',
    async (role, status) => {
      bareOf(t, cast.project).git('branch', '-f', `p-${role}`, main)
      await t.api('put', `${branches}/p-${role}/protect`, cast.as[role]).expect(status)
      await t.api('put', `${branches}/p-${role}/unprotect`, cast.as[role]).expect(status)
    },
  )

  it.each<[Role, number]>([
    ['anonymous', 404],
    ['stranger', 404],
    ['guest', 403],
    ['reporter', 200],
    ['developer', 200],
    ['admin', 200],
  ])('companions 5.1 row 3: %s before a private project: %i (G-40)', async (role, status) => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    for (const path of ['', '/main', '/none']) {
      const { body } = await t
        .api('get', `${project.path}/repository/branches${path}`, as[role])
        .expect(path === '/none' && status === 200 ? 404 : status)
      if (status === 404) expect(body).toEqual({ message: '404 Project Not Found' })
      if (status === 403) expect(body).toEqual(FORBIDDEN)
    }
    if (role === 'stranger')
      for (const [method, path] of [
        ['post', ''],
        ['delete', '/main'],
        ['put', '/main/protect'],
      ] as const)
        await t
          .api(method, `${project.path}/repository/branches${path}`, as.stranger)
          .send({ branch: 'x', ref: 'main' })
          .expect(404, { message: '404 Project Not Found' })
  })

  it('an internal project is for signed-in users who are not external (G-65, G-66)', async () => {
    const project = await aProject(t.ctx, { visibility: 'internal', files: { a: 'a' } })
    const path = `${project.path}/repository/branches`
    await t.api('get', path, null).expect(404, { message: '404 Project Not Found' })
    await t.api('get', path, await aUser(t.ctx, { external: true })).expect(404, { message: '404 Project Not Found' })
    await t.api('get', path, await aUser(t.ctx)).expect(200)
  })

  it('an archived project is read, not written, by any protocol (AC-11, SEC-107)', async () => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    const bare = bareOf(t, project)
    bare.git('branch', 'x', 'main')
    await t.api('post', `${project.path}/archive`, as.owner).expect(201)
    const path = `${project.path}/repository/branches`
    const before = await stateOf(t, project)
    await t.api('post', path, as.owner).send({ branch: 'new', ref: 'main' }).expect(403, FORBIDDEN)
    await t.api('delete', `${path}/x`, as.admin).expect(403, FORBIDDEN)
    await t.api('delete', `${project.path}/repository/merged_branches`, as.owner).expect(403, FORBIDDEN)
    expect((await pushAs(t, as.owner, project, bare, 'main:refs/heads/pushed')).code).not.toBe(0)
    expect(await stateOf(t, project)).toEqual(before)
    await t.api('get', `${path}/x`, as.reporter).expect(200)
  })

  it('a repository switched off refuses everybody; one for members refuses others (AC-10, G-68)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const path = `${project.path}/repository/branches`
    await t.api('put', project.path, as.owner).send({ repository_access_level: 'private' }).expect(200)
    for (const caller of [null, as.stranger]) await t.api('get', path, caller).expect(403, FORBIDDEN)
    for (const caller of [as.guest, as.admin]) await t.api('get', path, caller).expect(200)
    await t.api('put', project.path, as.owner).send({ repository_access_level: 'disabled' }).expect(200)
    for (const caller of [null, as.guest, as.owner, as.admin]) await t.api('get', path, caller).expect(403, FORBIDDEN)
    await t.api('post', path, as.owner).send({ branch: 'x', ref: 'main' }).expect(403, FORBIDDEN)
    await t.api('delete', `${path}/main`, as.owner).expect(403, FORBIDDEN)
  })

  it('companions 3.3: read_api reads; read_repository alone does not open branches; neither writes', async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { developer: user, files: { a: 'a' } })
    const path = `${project.path}/repository/branches`
    await t.api('get', path, { token: await aToken(t.ctx, user, ['read_api']) }).expect(200)
    for (const scope of ['read_repository', 'write_repository', 'read_user'] as const)
      await t.api('get', path, { token: await aToken(t.ctx, user, [scope]) }).expect(403)
    await t
      .api('post', path, { token: await aToken(t.ctx, user, ['read_api']) })
      .send({ branch: 'x', ref: 'main' })
      .expect(403)
  })
})
