import { eq } from 'drizzle-orm'
import supertest from 'supertest'
import { beforeAll, describe, expect, it } from 'vitest'
import { tokens, users } from '../../src/db/schema/index.js'
import { digestOf } from '../../src/lib/crypto/secret.js'
import { families } from '../../src/routes/index.js'
import { testApp } from '../support/app.js'
import { anAdmin, aProject, aToken, aUser, type TestProject } from '../support/factories.js'
import { oneIn } from '../support/rounds.js'

const t = testApp()
const bad: Record<string, { token: string; status: number; body: object; git: number }> = {}
let reader: string
let project: TestProject

beforeAll(async () => {
  // administrators, so that nothing but the credential can refuse
  const admin = await anAdmin(t.ctx)
  project = await aProject(t.ctx, { creator: admin, visibility: 'public', files: { 'a.txt': 'a\n' } })
  const blocked = await anAdmin(t.ctx)
  await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, blocked.id))
  const revoked = await aToken(t.ctx, admin, ['api'])
  await t.ctx.db.write
    .update(tokens)
    .set({ revoked: true })
    .where(eq(tokens.digest, digestOf(revoked)))
  const expired = await aToken(t.ctx, admin, ['api'], '2020-01-01')
  reader = await aToken(t.ctx, admin, ['read_user'])
  const deleted = await aUser(t.ctx)
  await t.ctx.db.write.delete(users).where(eq(users.id, deleted.id))
  const invalid = (description: string) => ({ error: 'invalid_token', error_description: description })
  Object.assign(bad, {
    blocked: { token: blocked.token, status: 403, body: { message: '403 Forbidden - User is blocked' }, git: 403 },
    expired: {
      token: expired,
      status: 401,
      body: invalid('Token is expired. You can either do re-authorization or token refresh.'),
      git: 401,
    },
    revoked: { token: revoked, status: 401, body: invalid('Token was revoked. You have to re-authorize from the user.'), git: 401 },
    'of a deleted user': { token: deleted.token, status: 401, body: { message: '401 Unauthorized' }, git: 401 },
  })
})

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete' | 'head'
const routes = families.flat().map(({ method, path }) => ({
  method: method.toLowerCase() as Method,
  path: path.replace(/\([^)]*\)/g, '').replace(/:[a-z_]+/g, '1'),
  declared: path,
}))

const carriers: Record<string, (token: string) => { headers?: Record<string, string>; query?: Record<string, string> }> = {
  'PRIVATE-TOKEN': (token) => ({ headers: { 'private-token': token } }),
  Bearer: (token) => ({ headers: { authorization: `Bearer ${token}` } }),
  private_token: (token) => ({ query: { private_token: token } }),
  access_token: (token) => ({ query: { access_token: token } }),
}

/** A call without a connection: there are thousands. */
async function call(method: Method, path: string, carried: ReturnType<(typeof carriers)[string]>) {
  const { statusCode: status, body: text } = await t.app.inject({ method, url: `/api/v4${path}`, ...carried })
  return { status, text }
}

const git = (token: string, service: string) => supertest(t.url).get(`/${project.fullPath}.git/info/refs?service=${service}`).auth('anything', token)

/** Every route by one carrier in turn, in the long run by each. */
const ways = routes.flatMap((route, turn) =>
  oneIn(4, Object.entries(carriers), turn % 4).map(([carrier, carry]) => ({ ...route, carry, of: `${carrier} ${route.method} ${route.declared}` })),
)

describe('every route, every carrier', () => {
  it.each(['blocked', 'expired', 'revoked', 'of a deleted user'])('to SEC-15: a token that is %s (SEC-10)', { tags: ['long'] }, async (name) => {
    const { token, status, body } = bad[name] as (typeof bad)[string]
    const different: string[] = []
    for (const { method, path, carry, of } of ways) {
      const answer = await call(method, path, carry(token))
      const same = answer.status === status && (method === 'head' || answer.text === JSON.stringify(body))
      if (!same) different.push(`${of}: ${answer.status} ${answer.text}`)
    }
    expect(routes.length).toBeGreaterThan(90)
    expect(different).toEqual([])
  })

  it('a token that reads users opens GET of the user routes alone (SEC-16, G-9)', { tags: ['long'] }, async () => {
    const different: string[] = []
    for (const { method, path, declared, carry, of } of ways) {
      const answer = await call(method, path, carry(reader))
      const opens = method === 'get' && /^\/users?(\/|$)/.test(declared)
      const refused = answer.status === 403 && (method === 'head' || JSON.parse(answer.text).error === 'insufficient_scope')
      if (refused === opens) different.push(`${of}: ${answer.status} ${answer.text}`)
    }
    for (const [carrier, carry] of Object.entries(carriers))
      for (const path of ['/user', '/users', '/user/keys']) {
        const answer = await call('head', path, carry(reader))
        if (answer.status !== 403) different.push(`${carrier} head ${path}: ${answer.status}`)
      }
    expect(different).toEqual([])
  })

  it.each(['git-upload-pack', 'git-receive-pack'])('%s judges them alike (SEC-12, SEC-15, GH-9)', async (service) => {
    for (const [name, { token, git: status }] of Object.entries(bad)) expect([name, (await git(token, service)).status]).toEqual([name, status])
    expect((await git(reader, service)).status).toBe(403)
    expect((await git(project.creator.token, service)).status).toBe(200)
  })
})
