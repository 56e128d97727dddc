import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { buildApp } from '../../src/app.js'
import { users } from '../../src/db/schema/index.js'
import { Failure, forbidden, invalidInput, invalidRecord, noSuchRoute, notFound, refused, STATUS } from '../../src/failures.js'
import { gitFailure } from '../../src/git/errors.js'
import { Unavailable } from '../../src/lib/unavailable.js'
import { testApp } from '../support/app.js'
import { aGroup, aProject, aUser } from '../support/factories.js'

const t = testApp()

/** What is answered when a handler throws. */
async function answerOf(error: () => unknown) {
  const app = await buildApp(t.ctx)
  app.get('/throws', { config: { policy: 'anyone' } }, async () => {
    throw await error()
  })
  const response = await app.inject('/throws')
  await app.close()
  return { status: response.statusCode, body: response.json() as unknown, headers: response.headers }
}

describe('a failure on its way out', () => {
  it.each([
    ['G-29, W-20', invalidInput('a is missing'), 400, { error: 'a is missing' }],
    ['G-34, W-21', invalidRecord({ path: ['is invalid'] }), 400, { message: { path: ['is invalid'] } }],
    ['W-22', refused('No.'), 400, { message: 'No.' }],
    ['G-31, W-26', forbidden(), 403, { message: '403 Forbidden' }],
    ['G-31, W-26', forbidden('User is blocked'), 403, { message: '403 Forbidden - User is blocked' }],
    ['G-32, W-28', notFound('Project'), 404, { message: '404 Project Not Found' }],
    ['G-33, W-29', notFound(), 404, { message: '404 Not found' }],
    ['G-1, W-30', noSuchRoute(), 404, { error: '404 Not Found' }],
  ])('%s: %o', async (_, failure, status, body) => {
    const answer = await answerOf(() => failure)
    expect(answer).toMatchObject({ status, body })
    expect(answer.headers['content-type']).toBe('application/json')
  })

  it('every kind has its status', async () => {
    for (const [kind, status] of Object.entries(STATUS)) {
      expect((await answerOf(() => new Failure(kind as keyof typeof STATUS, { message: 'x' }))).status).toBe(status)
    }
  })

  it('a fault shows the caller nothing, and is logged in full (G-39, W-35, SEC-4)', async () => {
    const before = t.logged.length
    expect(await answerOf(() => new Error('select secret from /etc/passwd'))).toMatchObject({
      status: 500,
      body: { message: '500 Internal Server Error' },
    })
    expect(t.logged.slice(before).join('')).toContain('select secret')
    expect(await answerOf(() => 'not even an error')).toMatchObject({ status: 500, body: { message: '500 Internal Server Error' } })
  })

  it('a fault of the database shows the caller nothing, and logs neither statement nor parameters (SEC-4, SEC-167)', async () => {
    const before = t.logged.length
    const thrown = () =>
      t.ctx.db.write.execute(sql`select ${'hunter2-secret'}::integer`).then(
        () => undefined,
        (error: unknown) => error,
      )
    expect(await answerOf(thrown)).toMatchObject({ status: 500, body: { message: '500 Internal Server Error' } })
    expect(t.logged.slice(before).join('')).not.toContain('Failed query')
  })

  it.each(['ENOSPC', 'EROFS', 'EACCES', 'EMFILE', 'ENFILE', 'ENOMEM', 'EIO'])(
    '%s of the machine is a 503 with a text and no path, from Node and from git (SEC-1, SEC-162)',
    async (code) => {
      const words = { ENOSPC: 'No space left on device', EROFS: 'Read-only file system', EACCES: 'Permission denied', EMFILE: 'Too many open files' }
      const said = words[code as keyof typeof words]
      const thrown: Error[] = [Object.assign(new Error(`${code}: open '/secret/path'`), { code })]
      if (said) thrown.push(gitFailure('index-pack', 128, `fatal: unable to create '/secret/path': ${said}\n`))
      for (const error of thrown) {
        const answer = await answerOf(() => error)
        expect(answer).toMatchObject({ status: 503, body: { message: expect.stringMatching(/^503 Service Unavailable: [A-Z][a-z ]+$/) } })
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
      }
    },
  )

  it('temporary failures are 503, also inside the wrapper of the query builder (SEC-1, SEC-162)', async () => {
    const busy = await answerOf(() => new Unavailable('busy', 3))
    expect(busy).toMatchObject({ status: 503, body: { message: '503 Service Unavailable: busy' } })
    expect(busy.headers['retry-after']).toBe('3')
    const cancelled = () =>
      t.ctx.db.write.execute(sql`select pg_terminate_backend(pg_backend_pid())`).then(
        () => undefined,
        (error: unknown) => error,
      )
    expect(await answerOf(cancelled)).toMatchObject({ status: 503 })
  })

  it('several texts of one field and several fields stand in the order of the declaration (G-42)', async () => {
    const { body } = await t
      .api('post', '/projects', await aUser(t.ctx))
      .send({ name: '-', path: '-', description: 'x'.repeat(2_001) })
      .expect(400)
    expect(Object.keys((body as { message: object }).message)).toEqual(['description', 'name', 'path'])
  })

  it('a group is refused in one text, quotes in it escaped (G-43)', async () => {
    const user = await aUser(t.ctx)
    await t
      .api('post', '/groups', user)
      .send({ name: '', path: user.username })
      .expect(400, { message: 'Failed to save group {:name=>["can\'t be blank"], :path=>["has already been taken"]}' })
  })

  it('answers a conflict with 409 and a message (G-36, W-31)', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner, guest: await aUser(t.ctx) })
    const [row] = await t.ctx.db.read
      .select({ id: users.id })
      .from(users)
      .where(sql`id = (select max(user_id) from members where namespace_id = ${group.id})`)
    await t.api('post', `${group.path}/members`, owner).send({ user_id: row?.id, access_level: 10 }).expect(409, { message: 'Member already exists' })
  })

  it('hidden and missing are answered alike, on every method (G-40, SEC-30)', async () => {
    const [hidden, stranger] = [await aProject(t.ctx), await aUser(t.ctx)]
    for (const caller of [stranger, null]) {
      for (const method of ['get', 'head'] as const) {
        const there = await t.api(method, hidden.path, caller)
        const missing = await t.api(method, '/projects/999999', caller)
        expect([there.status, there.text]).toEqual([missing.status, missing.text])
        expect(there.status).toBe(404)
      }
    }
    for (const method of ['put', 'delete'] as const) {
      const there = await t.api(method, hidden.path, stranger).send({ name: 'x' })
      expect(there.body).toEqual({ message: '404 Project Not Found' })
      expect((await t.api(method, `/projects/${encodeURIComponent('no/such')}`, stranger).send({ name: 'x' })).body).toEqual(there.body)
    }
    const group = await aGroup(t.ctx)
    expect((await t.api('get', group.path, stranger).expect(404)).body).toEqual({ message: '404 Group Not Found' })
    expect((await t.api('get', '/groups/999999', stranger).expect(404)).body).toEqual({ message: '404 Group Not Found' })
  })
})
