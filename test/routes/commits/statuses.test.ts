import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { commitStatuses, iidCounters, pipelines, projects, users } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, type Role, statuses } from '../../support/cast.js'
import { aProject, aToken, aUser, type Credentialed, drawnOf, type TestProject } from '../../support/factories.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()
let cast: Cast
let sha: string

beforeAll(async () => {
  cast = await aCast(t.ctx, { visibility: 'public', files: { 'a.txt': 'a\n' } })
  sha = tipOf(cast.project)
})

const FORBIDDEN = { message: '403 Forbidden' }
const NO_COMMIT = { message: '404 Commit Not Found' }
const UNAUTHORIZED = { message: '401 Unauthorized' }
const refusal = (event: string, from: string) => ({
  message: `Cannot transition status via :${event} from :${from} (Reason(s): Status cannot transition via "${event}")`,
})

const tipOf = (project: TestProject, ref = 'main') => bareOf(t, project).git('rev-parse', ref).trim()
const post = (project: TestProject, commit: string, caller: Credentialed | null, body: object = {}) =>
  t.api('post', `${project.path}/statuses/${commit}`, caller).send(body)
const list = (project: TestProject, commit: string, caller: Credentialed | null, query = '') =>
  t.api('get', `${project.path}/repository/commits/${commit}/statuses${query}`, caller)

/** A project with one commit, the caller its owner, and a short way to post. */
async function aBuilt() {
  const project = await aProject(t.ctx, { files: { 'a.txt': 'a\n' } })
  const commit = tipOf(project)
  return { project, commit, say: (body: object, caller: Credentialed = project.creator) => post(project, commit, caller, body) }
}

/** All that posting may write. */
async function rowsOf({ id }: TestProject) {
  const { write } = t.ctx.db
  return {
    pipelines: await write.select().from(pipelines).where(eq(pipelines.project_id, id)).orderBy(pipelines.id),
    statuses: await write.select().from(commitStatuses).where(eq(commitStatuses.project_id, id)).orderBy(commitStatuses.id),
    counters: await write.select().from(iidCounters).where(eq(iidCounters.project_id, id)),
  }
}

describe('permissions', () => {
  it.each(statuses(200, { anonymous: 401 }))('read statuses of a public project: %s %i (ST-1)', async (role, status) => {
    const { body } = await list(cast.project, sha, cast.as[role]).expect(status)
    if (status === 401) expect(body).toEqual(UNAUTHORIZED)
  })

  it.each(statuses(403, { anonymous: 401, developer: 201, maintainer: 201, owner: 201, admin: 201 }))(
    'post a status to a public project: %s %i (ST-9)',
    async (role, status) => {
      const before = await rowsOf(cast.project)
      const { body } = await post(cast.project, sha, cast.as[role], { state: 'success', name: `by ${role}` }).expect(status)
      if (status === 201) return
      expect(body).toEqual(status === 401 ? UNAUTHORIZED : FORBIDDEN)
      expect(await rowsOf(cast.project)).toEqual(before)
    },
  )

  it('of a private project, where strangers find nothing and guests nothing to read (ST-1, ST-9, G-40, SEC-30)', async () => {
    const closed = await aCast(t.ctx, { files: { 'a.txt': 'a\n' } })
    const commit = tipOf(closed.project)
    const seen: Partial<Record<Role, [number, number]>> = {}
    for (const role of Object.keys(closed.as) as Role[]) {
      const read = await list(closed.project, commit, closed.as[role])
      const written = await post(closed.project, commit, closed.as[role], { state: 'success' })
      seen[role] = [read.status, written.status]
      if (role === 'stranger') expect([read.body, written.body]).toEqual([{ message: '404 Project Not Found' }, { message: '404 Project Not Found' }])
    }
    expect(seen).toEqual({
      anonymous: [401, 401],
      stranger: [404, 404],
      guest: [403, 403],
      reporter: [200, 403],
      developer: [200, 201],
      maintainer: [200, 201],
      owner: [200, 201],
      admin: [200, 201],
    })
  })

  it('an internal project is open to users, and hidden from external ones (ST-1, AC-6)', async () => {
    const project = await aProject(t.ctx, { visibility: 'internal', files: { a: 'a' } })
    await list(project, 'main', await aUser(t.ctx)).expect(200, [])
    await list(project, 'main', await aUser(t.ctx, { external: true })).expect(404, { message: '404 Project Not Found' })
  })

  it('answers 401 without a credential first, then checks the parameters, then the project (G-10)', async () => {
    await post(cast.project, 'none', null).expect(401, UNAUTHORIZED)
    await t
      .api('post', '/projects/999999/statuses/x', cast.as.developer)
      .expect(400, { error: 'state is missing, state does not have a valid value' })
    await t.api('post', '/projects/999999/statuses/x', cast.as.developer).send({ state: 'success' }).expect(404, { message: '404 Project Not Found' })
    await t.api('get', '/projects/999999/repository/commits/x/statuses?all=maybe', cast.as.guest).expect(400, { error: 'all is invalid' })
    await post(cast.project, 'none', cast.as.guest, { state: 'success' }).expect(403, FORBIDDEN)
  })

  it('a repository that is switched off refuses both; switched-off jobs leave statuses alone (AC-10, G-68)', async () => {
    const { project, commit, say } = await aBuilt()
    const set = (columns: object) => t.ctx.db.write.update(projects).set(columns).where(eq(projects.id, project.id))
    await set({ builds_access_level: 0 })
    await say({ state: 'success' }).expect(201)
    expect((await list(project, commit, project.creator).expect(200)).body).toHaveLength(1)
    await set({ repository_access_level: 0 })
    await say({ state: 'success' }).expect(403, FORBIDDEN)
    await list(project, commit, project.creator).expect(403, FORBIDDEN)
  })

  it('an archived project takes no status and shows those it has (AC-11)', async () => {
    const { project, commit, say } = await aBuilt()
    await say({ state: 'running' }).expect(201)
    await t.ctx.db.write.update(projects).set({ archived: true }).where(eq(projects.id, project.id))
    const before = await rowsOf(project)
    await say({ state: 'success' }).expect(403, FORBIDDEN)
    expect(await rowsOf(project)).toEqual(before)
    expect((await list(project, commit, project.creator).expect(200)).body).toHaveLength(1)
  })

  it('a token of scope read_user opens neither (G-21, G-22)', async () => {
    const reader = { token: await aToken(t.ctx, cast.as.developer, ['read_user']) }
    expect((await list(cast.project, sha, reader).expect(403)).body.error).toBe('insufficient_scope')
    expect((await post(cast.project, sha, reader, { state: 'success' }).expect(403)).body.error).toBe('insufficient_scope')
  })
})

describe('POST /projects/:id/statuses/:sha', () => {
  it('a new status has all fields, its coverage and its pipeline (ST-8, ST-12, ST-13, ST-19, X-11)', async () => {
    const { project, commit, say } = await aBuilt()
    const { body } = await say({
      state: 'running',
      ref: 'main',
      name: 'unit tests',
      target_url: 'https://ci.example.com/1',
      description: 'Running',
      coverage: 99.5,
    }).expect(201)
    expect(body).toEqual({
      id: expect.any(Number),
      sha: commit,
      ref: 'main',
      status: 'running',
      name: 'unit tests',
      target_url: 'https://ci.example.com/1',
      description: 'Running',
      coverage: 99.5,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      started_at: body.created_at,
      finished_at: null,
      allow_failure: false,
      pipeline_id: expect.any(Number),
      author: {
        id: project.creator.id,
        name: project.creator.name,
        username: project.creator.username,
        state: 'active',
        avatar_url: drawnOf(project.creator),
        web_url: `http://roost.test/${project.creator.username}`,
      },
    })
    const [pipeline, ...more] = (await rowsOf(project)).pipelines
    expect([pipeline, more]).toMatchObject([
      { id: body.pipeline_id, iid: 1, sha: commit, ref: 'main', tag: false, source: 'external', user_id: project.creator.id, status: 'running' },
      [],
    ])
  })

  it('the same commit and ref share a pipeline; another ref, or another commit, has its own (ST-13)', async () => {
    const { project, say } = await aBuilt()
    const ids = []
    for (const ref of ['main', 'main', 'other', 'main', 'other']) ids.push((await say({ state: 'success', ref }).expect(201)).body.pipeline_id)
    expect(ids).toEqual([ids[0], ids[0], ids[2], ids[0], ids[2]])
    expect(ids[2]).not.toBe(ids[0])
    const [next] = bareOf(t, project).commits({ files: { b: 'b' } }) as [string]
    const { body } = await post(project, next, project.creator, { state: 'success', ref: 'main' }).expect(201)
    expect(ids).not.toContain(body.pipeline_id)
    expect((await rowsOf(project)).pipelines.map(({ iid }) => iid)).toEqual([1, 2, 3])
  })

  it('a branch, a tag or an abbreviation names the commit; the status has the full hash (ST-9)', async () => {
    const { project, commit } = await aBuilt()
    bareOf(t, project).git('tag', '-a', '-m', 'x', 'v1/full', 'main')
    for (const named of ['main', 'v1%2Ffull', commit.slice(0, 8), commit, commit.toUpperCase(), 'HEAD'])
      expect((await post(project, named, project.creator, { state: 'success' }).expect(201)).body).toMatchObject({ sha: commit, ref: 'main' })
  })

  // SEC-79, SEC-81
  it.each(['none', '0'.repeat(40), 'f'.repeat(40), 'HEAD~1', 'main:a.txt', 'main..main', '--all', '--output=x', '%00', '@', 'abcd%0Amain'])(
    '%s names no commit (ST-2, ST-9)',
    async (named) => {
      await post(cast.project, named, cast.as.developer, { state: 'success' }).expect(404, named === '%00' ? /.*/ : JSON.stringify(NO_COMMIT))
      await list(cast.project, named, cast.as.developer).expect(404)
    },
  )

  it('a commit that only another project has is none (SEC-43)', async () => {
    const other = await aProject(t.ctx, { files: { 'secret.txt': 's' } })
    await post(cast.project, tipOf(other), cast.as.developer, { state: 'success' }).expect(404, NO_COMMIT)
  })

  it.each([
    [{}, 'state is missing, state does not have a valid value'],
    [{ state: '' }, 'state does not have a valid value'],
    [{ state: 'created' }, 'state does not have a valid value'],
    [{ state: 'skipped' }, 'state does not have a valid value'],
    [{ state: 'SUCCESS' }, 'state does not have a valid value'],
    [{ state: 'success', coverage: 'much' }, 'coverage is invalid'],
    [{ state: 'success', coverage: '1e400' }, 'coverage is invalid'],
    [{ state: 'success', coverage: 'NaN' }, 'coverage is invalid'],
    [{ state: 'success', coverage: 'Infinity' }, 'coverage is invalid'],
    [{ state: 'success', pipeline_id: 'x' }, 'pipeline_id is invalid'],
    [{ state: 'no', coverage: 'x' }, 'state does not have a valid value, coverage is invalid'],
  ])('%j is refused (ST-10, SEC-60)', async (body, error) => {
    const before = await rowsOf(cast.project)
    await post(cast.project, sha, cast.as.developer, body).expect(400, { error })
    expect(await rowsOf(cast.project)).toEqual(before)
  })

  it('coverage is any finite number; -0 is 0 (G-49, SEC-60)', async () => {
    const { say } = await aBuilt()
    for (const [coverage, stored] of [
      ['12.5', 12.5],
      ['1e2', 100],
      [0, 0],
      ['-0', 0],
      ['.5', 0.5],
      ['', null],
      [null, null],
    ] as const)
      expect((await say({ state: 'success', coverage }).expect(201)).body.coverage).toBe(stored)
  })

  it('without a ref the default branch if it contains the commit, else the first branch by name that does (ST-11)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const bare = bareOf(t, project)
    const [root, onMain] = bare.commits({ branch: 'tmp', parents: [tipOf(project)] }, { branch: 'main', parents: [0] }) as [string, string]
    const [side] = bare.commits({ branch: 'z-side', parents: [root] }) as [string]
    bare.git('branch', 'b-side', side)
    bare.git('branch', 'a-side/x', side)
    bare.git('branch', '-D', 'tmp')
    bare.git('branch', 'aaa', onMain)
    const refOf = async (commit: string) => (await post(project, commit, project.creator, { state: 'success' }).expect(201)).body.ref
    expect([await refOf(onMain), await refOf(root), await refOf(side)]).toEqual(['main', 'main', 'a-side/x'])
    // among very many it is the same
    bare.gitBytes(['update-ref', '--stdin'], Array.from({ length: 60 }, (_, i) => `create refs/heads/many/${i} ${onMain}\n`).join(''))
    expect([await refOf(onMain), await refOf(root), await refOf(side)]).toEqual(['main', 'main', 'a-side/x'])
    // a blank one counts as none (SEC-81)
    expect((await post(project, side, project.creator, { state: 'success', ref: '' }).expect(201)).body.ref).toBe('a-side/x')
  })

  it('404 when no branch contains the commit; a given ref need not exist (ST-11)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const bare = bareOf(t, project)
    const [lost] = bare.commits({ branch: 'gone', parents: [] }) as [string]
    bare.git('tag', 'kept', lost)
    bare.git('branch', '-D', 'gone')
    const before = await rowsOf(project)
    await post(project, lost, project.creator, { state: 'success' }).expect(404, { message: '404 References for commit Not Found' })
    expect(await rowsOf(project)).toEqual(before)
    expect((await post(project, lost, project.creator, { state: 'success', ref: 'nowhere' }).expect(201)).body.ref).toBe('nowhere')
    await post(project, lost, project.creator, { state: 'success', ref: 'kept' }).expect(201)
    expect((await rowsOf(project)).pipelines.map(({ ref, tag }) => [ref, tag])).toEqual([
      ['nowhere', false],
      ['kept', true],
    ])
  })

  it('name, else context, else default (ST-12)', async () => {
    const { say } = await aBuilt()
    const nameOf = async (body: object) => (await say({ state: 'success', ...body }).expect(201)).body.name
    expect(await nameOf({ name: 'n', context: 'c' })).toBe('n')
    expect(await nameOf({ context: 'c' })).toBe('c')
    expect(await nameOf({})).toBe('default')
    expect(await nameOf({ name: '', context: 'c' })).toBe('c')
    for (const name of ['__proto__', 'constructor', 'null', '0', 'Ünï/çode 🚀']) expect(await nameOf({ name })).toBe(name)
  })

  it('only an unfinished status of the same name, ref and poster is updated (ST-14, PL-2, SEC-166)', async () => {
    const { project, say } = await aBuilt()
    const other = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: other.id, access_level: 30 }).expect(201)
    const idOf = async (body: object, caller: Credentialed = project.creator) => (await say(body, caller).expect(201)).body.id
    const first = await idOf({ state: 'pending' })
    expect(await idOf({ state: 'running' })).toBe(first)
    expect(await idOf({ state: 'running', name: 'another' })).not.toBe(first)
    expect(await idOf({ state: 'running', ref: 'elsewhere' })).not.toBe(first)
    const theirs = await idOf({ state: 'running' }, other)
    expect(theirs).not.toBe(first)
    // theirs has taken its place, but it is still the poster's own and unfinished
    expect(await idOf({ state: 'success' })).toBe(first)
    const again = await idOf({ state: 'success' })
    expect(again).toBeGreaterThan(theirs)
    expect(await idOf({ state: 'pending' })).toBeGreaterThan(again)
  })

  it('given values that are not blank are set; absent ones keep their value on update (ST-15)', async () => {
    const { say } = await aBuilt()
    const all = { target_url: 'http://ci.example.com/1', description: 'One', coverage: 10 }
    const shown = ({ body }: { body: Record<string, unknown> }) => ({
      target_url: body['target_url'],
      description: body['description'],
      coverage: body['coverage'],
    })
    expect(shown(await say({ state: 'pending', ...all }).expect(201))).toEqual(all)
    expect(shown(await say({ state: 'running', target_url: '', description: ' ', coverage: '' }).expect(201))).toEqual(all)
    expect(shown(await say({ state: 'success', description: 'Two' }).expect(201))).toEqual({ ...all, description: 'Two' })
    // a new row starts afresh
    expect(shown(await say({ state: 'success' }).expect(201))).toEqual({ target_url: null, description: null, coverage: null })
  })

  const STATES = ['pending', 'running', 'success', 'failed', 'canceled'] as const
  it.each(STATES)('a new status may be %s at once (ST-17)', async (state) => {
    const { say } = await aBuilt()
    expect((await say({ state }).expect(201)).body.status).toBe(state)
  })

  it.each(STATES.flatMap((from) => STATES.map((to) => [from, to] as const)))('from %s to %s (ST-14, ST-17, ST-18, PL-3)', async (from, to) => {
    const { project, say } = await aBuilt()
    const { body: first } = await say({ state: from }).expect(201)
    const refused: Record<string, object> = {
      'pending pending': refusal('enqueue', 'pending'),
      'running pending': refusal('enqueue', 'running'),
      'running running': refusal('run', 'running'),
    }
    const expected = refused[`${from} ${to}`]
    const before = await rowsOf(project)
    const { body } = await say({ state: to, description: 'changed', coverage: 1, target_url: 'http://x.example' }).expect(expected ? 400 : 201)
    if (expected) {
      expect(body).toEqual(expected)
      // nothing of the call was saved (ST-18, SEC-2)
      expect(await rowsOf(project)).toEqual(before)
    } else {
      expect(body.status).toBe(to)
      expect(body.id === first.id).toBe(from === 'pending' || from === 'running')
    }
  })

  it('started_at on becoming running, finished_at at an end; created finished has no start (ST-19, PL-4)', async () => {
    const { say } = await aBuilt()
    const times = async (state: string) => {
      const { body } = await say({ state }).expect(201)
      return [body.started_at, body.finished_at]
    }
    expect(await times('pending')).toEqual([null, null])
    const [started, notYet] = await times('running')
    expect([started, notYet]).toEqual([expect.any(String), null])
    const [kept, finished] = await times('failed')
    expect([kept, finished]).toEqual([started, expect.any(String)])
    expect(finished >= started).toBe(true)
    expect(await times('success')).toEqual([null, expect.any(String)])
    await say({ state: 'pending' }).expect(201)
    expect(await times('canceled')).toEqual([null, expect.any(String)])
  })

  const url = (length: number) => `https://ci.example.com/${'x'.repeat(length - 23)}`
  it.each([
    'http://ci.example.com',
    'https://ci.example.com:8443/a?b=c#d',
    'ssh://ci.example.com/x',
    'git://ci.example.com/x.git',
    'HTTPS://ci.example.com/',
    'http://[::1]/x',
    url(255),
  ])('takes %s (ST-23, SEC-63, SEC-64)', async (target_url) => {
    expect((await post(cast.project, sha, cast.as.developer, { state: 'success', target_url }).expect(201)).body.target_url).toBe(target_url)
  })

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'ftp://example.com',
    '//example.com/x',
    'example.com',
    'http:example.com',
    'http://',
    'https:///x',
    'http://user@example.com/',
    'https://user:secret@example.com/',
    'ssh://git@example.com/x',
    'http://@example.com/',
    'http://example.com/a b',
    'http://example.com/\r\nX: y',
    'http://example.com/\u0001',
    'http://exa\tmple.com/',
    'http://[::1/x',
    ' http://example.com/',
  ])('refuses %j (ST-23, SEC-64)', async (target_url) => {
    await post(cast.project, sha, cast.as.developer, { state: 'success', target_url }).expect(400, {
      message: { target_url: ['must be a valid URL'] },
    })
  })

  const tooLong = (n: number) => `is too long (maximum is ${n} characters)`
  it('texts at their limit are taken, one above refused, all at once (ST-23, ST-24, SEC-63)', async () => {
    const { project, say } = await aBuilt()
    const at = { name: 'é'.repeat(255), description: '🚀'.repeat(255), target_url: url(255), ref: 'r'.repeat(1_024) }
    expect((await say({ state: 'success', ...at }).expect(201)).body).toMatchObject(at)
    const before = await rowsOf(project)
    for (const [field, value, limit] of [
      ['name', 'é'.repeat(256), 255],
      ['description', 'd'.repeat(256), 255],
      ['target_url', url(256), 255],
      ['ref', 'r'.repeat(1_025), 1_024],
    ] as const)
      await say({ state: 'success', [field]: value }).expect(400, { message: { [field]: [tooLong(limit)] } })
    await say({ state: 'success', target_url: 'x'.repeat(256), description: 'd'.repeat(256) }).expect(400, {
      message: { target_url: ['must be a valid URL', tooLong(255)], description: [tooLong(255)] },
    })
    expect(await rowsOf(project)).toEqual(before)
  })

  it('of several pipelines of a commit and ref the newest has it (ST-13)', async () => {
    const project = await aProject(t.ctx, { files: { '.gitlab-ci.yml': 'job: { script: x }' } })
    await t.ctx.jobs.drain()
    const run = async () => (await t.api('post', `${project.path}/pipeline`, project.creator).send({ ref: 'main' }).expect(201)).body.id
    const [first, second] = [await run(), await run()]
    const commit = tipOf(project)
    const { body } = await post(project, commit, project.creator, { state: 'running', ref: 'main', name: 'ci' }).expect(201)
    expect(body.pipeline_id).toBe(second)
    expect((await post(project, commit, project.creator, { state: 'success', ref: 'main', name: 'ci' }).expect(201)).body).toMatchObject({
      id: body.id,
    })
    expect((await post(project, commit, project.creator, { state: 'success', name: 'ci', pipeline_id: first }).expect(201)).body.pipeline_id).toBe(
      first,
    )
  })

  it('pipeline_id names the pipeline, and brings its ref along (X-11, PL-1)', async () => {
    const { commit, say } = await aBuilt()
    const { body: first } = await say({ state: 'success', ref: 'topic' }).expect(201)
    const { body } = await say({ state: 'success', name: 'more', pipeline_id: first.pipeline_id }).expect(201)
    expect(body).toMatchObject({ pipeline_id: first.pipeline_id, ref: 'topic', sha: commit })
    expect((await say({ state: 'success', name: 'more', ref: 'topic', pipeline_id: first.pipeline_id }).expect(201)).body.ref).toBe('topic')
  })

  it('a pipeline of another project, commit or ref, or none at all, is not found (X-11, SEC-31)', async () => {
    const { project, say } = await aBuilt()
    const { pipeline_id } = (await say({ state: 'success' }).expect(201)).body
    const elsewhere = await aBuilt()
    const foreign = (await elsewhere.say({ state: 'success' }).expect(201)).body.pipeline_id
    const [next] = bareOf(t, project).commits({ files: { b: 'b' } }) as [string]
    const before = await rowsOf(project)
    const missing = { message: '404 Not found' }
    for (const id of [foreign, 999_999, 0, '9'.repeat(30)]) await say({ state: 'success', pipeline_id: id }).expect(404, missing)
    await say({ state: 'success', pipeline_id, ref: 'other' }).expect(404, missing)
    await post(project, next, project.creator, { state: 'success', pipeline_id }).expect(404, missing)
    expect(await rowsOf(project)).toEqual(before)
  })

  it('the calls of a client that reads the last pipeline, posts with context and its id, and repeats (CL-4)', async () => {
    const { project, commit, say } = await aBuilt()
    await say({ state: 'pending', context: 'renovate/stability-days' }).expect(201)
    const { body: shown } = await t.api('get', `${project.path}/repository/commits/${commit}`, project.creator).expect(200)
    const again = { state: 'pending', context: 'renovate/stability-days', description: 'd', pipeline_id: shown.last_pipeline.id }
    expect((await say(again).expect(400)).body.message).toMatch(/^Cannot transition status via :enqueue from :pending/)
    expect((await list(project, commit, project.creator).expect(200)).body).toMatchObject([{ name: 'renovate/stability-days', status: 'pending' }])
  })

  it('takes form, query and JSON alike (G-5, W-1)', async () => {
    const { project, commit } = await aBuilt()
    const at = `${project.path}/statuses/${commit}`
    await t.api('post', `${at}?state=success&name=query`, project.creator).expect(201)
    await t.api('post', at, project.creator).type('form').send({ state: 'success', name: 'form', coverage: '1.5' }).expect(201)
    await t.api('post', at, project.creator).field('state', 'success').field('name', 'parts').expect(201)
    const { body } = await list(project, commit, project.creator).expect(200)
    expect(body.map(({ name }: { name: string }) => name)).toEqual(['query', 'form', 'parts'])
  })

  it('unknown parameters are not stored (SEC-9)', async () => {
    const { project, say } = await aBuilt()
    const { body } = await say({
      state: 'success',
      id: 77,
      allow_failure: true,
      sha: 'x',
      user_id: 1,
      created_at: '2000-01-01',
      latest: false,
    }).expect(201)
    expect([body.allow_failure, body.author.id]).toEqual([false, project.creator.id])
    expect(body.created_at > '2020').toBe(true)
    expect((await rowsOf(project)).statuses).toMatchObject([{ latest: true }])
  })

  it('NUL is refused in every text (SEC-49)', async () => {
    for (const field of ['ref', 'name', 'context', 'target_url', 'description'])
      await post(cast.project, sha, cast.as.developer, { state: 'success', [field]: 'a\u0000b' }).expect(400)
  })

  it("sudo posts as the target, a blocked one too, and shows the target's state (G-28)", async () => {
    const { project, commit } = await aBuilt()
    const blocked = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: blocked.id, access_level: 30 }).expect(201)
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, blocked.id))
    const { body } = await t
      .api('post', `${project.path}/statuses/${commit}?sudo=${blocked.id}`, cast.as.admin)
      .send({ state: 'success' })
      .expect(201)
    expect(body.author).toMatchObject({ id: blocked.id, state: 'blocked' })
  })

  it('costs the same few statements with one status and with many', async () => {
    const { say } = await aBuilt()
    const queries = async (body: object) => (await t.queriesOf(() => say({ state: 'success', ...body }).expect(201), { jobs: true })).length
    await queries({})
    const few = await queries({})
    for (let i = 0; i < 20; i++) await say({ state: 'success', name: `job ${i}` }).expect(201)
    expect([await queries({}), await queries({ name: 'job 3' })]).toEqual([few, few])
  })
})

describe('GET /projects/:id/repository/commits/:sha/statuses', () => {
  it('none; then by id, with the fields of the contract and no coverage (ST-3, ST-7, ST-8)', async () => {
    const { project, commit, say } = await aBuilt()
    const { headers } = await list(project, commit, project.creator).expect(200, [])
    expect(headers['x-total']).toBe('0')
    const posted = []
    for (const name of ['b', 'a', 'c']) posted.push((await say({ state: 'success', name, coverage: 5 }).expect(201)).body)
    const { body } = await list(project, commit, project.creator).expect(200)
    expect(body).toEqual(posted.map(({ coverage, ...shown }) => shown))
  })

  it('is paginated (ST-7)', async () => {
    const { project, commit, say } = await aBuilt()
    for (let i = 0; i < 5; i++) await say({ state: 'success', name: `job ${i}` }).expect(201)
    const page = (query: string) => list(project, commit, project.creator, query).expect(200)
    const { body, headers } = await page('?per_page=2&page=3')
    expect([body.map(({ name }: { name: string }) => name), headers['x-total'], headers['x-total-pages']]).toEqual([['job 4'], '5', '3'])
    const beyond = await page('?per_page=2&page=9')
    expect([beyond.body, beyond.headers['x-total']]).toEqual([[], '5'])
  })

  it('only the latest of each name within each pipeline; all of them with all (ST-4, ST-16)', async () => {
    const { project, commit, say } = await aBuilt()
    for (const [name, state] of [
      ['a', 'failed'],
      ['b', 'success'],
      ['a', 'failed'],
      ['a', 'success'],
    ])
      await say({ state, name }).expect(201)
    await say({ state: 'failed', name: 'a', ref: 'other' }).expect(201)
    const shown = async (query: string) =>
      (await list(project, commit, project.creator, query).expect(200)).body.map((s: { name: string; status: string }) => `${s.name} ${s.status}`)
    expect(await shown('')).toEqual(['b success', 'a success'])
    for (const word of ['true', '1', 'yes']) expect(await shown(`?all=${word}`)).toEqual(['a failed', 'b success', 'a failed', 'a success'])
    expect(await shown('?all=false')).toEqual(['b success', 'a success'])
    expect(await shown('?ref=other')).toEqual(['a failed'])
  })

  it('without a ref those of the default branch; with one an exact match (ST-5)', async () => {
    const { project, commit, say } = await aBuilt()
    for (const ref of ['main', 'other', 'Main']) await say({ state: 'success', ref }).expect(201)
    const refs = async (query: string) => (await list(project, commit, project.creator, query).expect(200)).body.map((s: { ref: string }) => s.ref)
    expect([await refs(''), await refs('?ref='), await refs('?ref=other'), await refs('?ref=Main'), await refs('?ref=oth')]).toEqual([
      ['main'],
      ['main'],
      ['other'],
      ['Main'],
      [],
    ])
  })

  it('without a ref those of all refs, of a commit that the default branch does not contain (ST-5)', async () => {
    const { project, commit, say } = await aBuilt()
    const at = `${project.path}/repository/commits`
    const { body: ahead } = await t
      .api('post', at, project.creator)
      .send({ branch: 'ahead', start_branch: 'main', commit_message: 'ahead', actions: [{ action: 'create', file_path: 'ahead', content: '' }] })
      .expect(201)
    for (const ref of ['ahead', 'other'])
      await t.api('post', `${project.path}/statuses/${ahead.id}`, project.creator).send({ state: 'success', ref }).expect(201)
    await say({ state: 'success', ref: 'other' }).expect(201)
    const refs = async (sha: string, query = '') =>
      (await list(project, sha, project.creator, query).expect(200)).body.map((s: { ref: string }) => s.ref)
    expect([await refs(ahead.id), await refs(ahead.id, '?ref=other'), await refs(commit)]).toEqual([['ahead', 'other'], ['other'], []])
  })

  it('stage and name match exactly; blank ones are no filter; filters combine (ST-6)', async () => {
    const { project, commit, say } = await aBuilt()
    for (const [name, ref] of [
      ['test', 'main'],
      ['Test', 'main'],
      ['test', 'other'],
    ])
      await say({ state: 'success', name, ref }).expect(201)
    const shown = async (query: string) =>
      (await list(project, commit, project.creator, query).expect(200)).body.map((s: { name: string; ref: string }) => `${s.name} ${s.ref}`)
    expect(await shown('?name=test')).toEqual(['test main'])
    expect(await shown('?name=Test')).toEqual(['Test main'])
    expect(await shown('?name=tes')).toEqual([])
    expect(await shown('?name=&stage=')).toEqual(['test main', 'Test main'])
    expect(await shown('?stage=external')).toEqual(['test main', 'Test main'])
    expect(await shown('?stage=External')).toEqual([])
    expect(await shown('?stage=test')).toEqual([])
    expect(await shown('?name=test&ref=other&stage=external')).toEqual(['test other'])
    expect(await shown("?name=test'%20or%201=1--")).toEqual([])
  })

  it('a branch or an abbreviation is resolved to its commit first (ST-2)', async () => {
    const { project, commit, say } = await aBuilt()
    await say({ state: 'success' }).expect(201)
    for (const named of ['main', commit.slice(0, 10)])
      expect((await list(project, named, project.creator).expect(200)).body).toMatchObject([{ sha: commit }])
  })

  it('an empty repository has no commit (ST-2)', async () => {
    const project = await aProject(t.ctx)
    await list(project, 'main', project.creator).expect(404, NO_COMMIT)
  })

  it('shows many as quickly as few: the same number of queries', async () => {
    const { project, commit, say } = await aBuilt()
    await say({ state: 'success' }).expect(201)
    await t.ctx.jobs.drain()
    const queries = () => t.queriesOf(() => list(project, commit, project.creator).expect(200))
    await queries()
    const few = (await queries()).length
    for (let i = 0; i < 15; i++) await say({ state: 'success', name: `job ${i}` }).expect(201)
    expect(await queries()).toHaveLength(few)
  })
})

describe('the status of a commit', () => {
  it('status and last_pipeline are those of its newest pipeline over all refs (C-7, C-47, PL-6)', async () => {
    const { project, commit, say } = await aBuilt()
    const shown = async (named = commit) => (await t.api('get', `${project.path}/repository/commits/${named}`, project.creator).expect(200)).body
    expect(await shown()).toMatchObject({ status: null, last_pipeline: null })
    await say({ state: 'running', ref: 'main' }).expect(201)
    const { pipeline_id: id } = (await say({ state: 'failed', ref: 'other' }).expect(201)).body
    expect(await shown('main')).toMatchObject({ status: 'failed', last_pipeline: { id, sha: commit, ref: 'other', status: 'failed' } })
    await say({ state: 'success', ref: 'main' }).expect(201)
    const { last_pipeline } = await shown()
    expect(last_pipeline).toMatchObject({ id, sha: commit, ref: 'other', status: 'failed', created_at: expect.any(String) })
    expect((await t.api('get', `${project.path}/pipelines?ref=other`, project.creator).expect(200)).body).toEqual([last_pipeline])
    const [next] = bareOf(t, project).commits({ files: { b: 'b' } }) as [string]
    expect(await shown(next)).toMatchObject({ status: null, last_pipeline: null })
  })

  it('costs one query (C-7)', async () => {
    const { project, commit } = await aBuilt()
    const queries = await t.queriesOf(() => t.api('get', `${project.path}/repository/commits/${commit}`, project.creator).expect(200))
    expect(queries.filter((text) => text.includes('"pipelines"'))).toHaveLength(1)
  })
})

describe('many at once', () => {
  const CLIENTS = 32
  const together = <T>(work: (n: number) => Promise<T>) => Promise.all(Array.from({ length: CLIENTS }, (_, n) => work(n)))

  it('the first posts of one commit and ref make one pipeline (ST-13, SEC-165)', async () => {
    const { project, say } = await aBuilt()
    const answers = await together((n) => say({ state: 'success', name: `job ${n}` }))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.pipeline_id}`)).size).toBe(1)
    const rows = await rowsOf(project)
    expect(rows.pipelines).toMatchObject([{ iid: 1, status: 'success' }])
    expect(rows.counters).toMatchObject([{ kind: 'pipeline', last: 1 }])
    expect(rows.statuses.filter(({ latest }) => latest)).toHaveLength(CLIENTS)
  })

  it('pipelines made at once are numbered without gap or repetition (SEC-165)', async () => {
    const { project, say } = await aBuilt()
    for (const { status } of await together((n) => say({ state: 'success', ref: `ref ${n % 16}` }))) expect(status).toBe(201)
    const { pipelines: made } = await rowsOf(project)
    expect(made.map(({ iid }) => iid).sort((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, n) => n + 1))
    expect(new Set(made.map(({ ref }) => ref)).size).toBe(16)
  })

  it('the same state, name and poster: one wins and the others are refused (ST-14, ST-16, ST-18)', async () => {
    const { project, say } = await aBuilt()
    const answers = await together(() => say({ state: 'running' }))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    for (const { body } of answers.filter(({ status }) => status !== 201)) expect(body).toEqual(refusal('run', 'running'))
    expect((await rowsOf(project)).statuses).toMatchObject([{ status: 'running', latest: true }])
  })

  it('to ST-20: mixed states of one name by several posters end as some order of the calls would have them (ST-14)', async () => {
    const { project, say } = await aBuilt()
    const posters = [project.creator, await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    for (const poster of posters.slice(1))
      await t.api('post', `${project.path}/members`, project.creator).send({ user_id: poster.id, access_level: 30 }).expect(201)
    const states = ['pending', 'running', 'success', 'failed', 'canceled']
    for (let round = 0; round < 3; round++) {
      const answers = await together((n) => say({ state: states[(n * 7 + round) % states.length] }, posters[n % posters.length]))
      for (const { status, body } of answers) {
        if (status !== 201)
          expect([status, body.message]).toEqual([
            400,
            expect.stringMatching(/^Cannot transition status via :(enqueue from :(pending|running)|run from :running) /),
          ])
      }
      const { pipelines: made, statuses: rows } = await rowsOf(project)
      expect(made).toHaveLength(1)
      // every accepted post made or moved a row that it returned, and there are no other rows
      const accepted = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id))
      expect(rows.filter(({ id }) => accepted.has(id))).toHaveLength(accepted.size)
      // one row of the name is the latest: the newest
      expect(rows.filter(({ latest }) => latest).map(({ id }) => id)).toEqual([rows.at(-1)?.id])
      // there are no two unfinished ones
      const open = rows.filter(({ status }) => status === 'pending' || status === 'running').map(({ user_id }) => user_id)
      expect(new Set(open).size).toBe(open.length)
      expect(made[0]?.status).toBe(rows.at(-1)?.status)
    }
  })

  it('different names, each from pending to its end: the pipeline agrees with the final statuses (ST-20)', async () => {
    const { project, say } = await aBuilt()
    const ends = ['success', 'failed', 'canceled']
    const answers = await together(async (n) => {
      const name = `job ${n}`
      const codes = [(await say({ state: 'pending', name })).status, (await say({ state: 'running', name })).status]
      return [...codes, (await say({ state: ends[n % 3], name })).status]
    })
    expect(new Set(answers.flat())).toEqual(new Set([201]))
    const rows = await rowsOf(project)
    expect(rows.pipelines).toMatchObject([{ status: 'failed' }])
    expect(rows.statuses.map(({ latest }) => latest)).toEqual(Array(CLIENTS).fill(true))
    await together((n) => say({ state: 'success', name: `job ${n}` }).expect(201))
    expect((await rowsOf(project)).pipelines).toMatchObject([{ status: 'success' }])
  })
})
