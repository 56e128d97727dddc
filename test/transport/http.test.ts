import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { eq, sql } from 'drizzle-orm'
import Fastify from 'fastify'
import { beforeAll, describe, expect, it } from 'vitest'
import { members, projects, tokens, users } from '../../src/db/schema/index.js'
import { createToken } from '../../src/services/identity/tokens.js'
import { gitHttp } from '../../src/transport/http.js'
import { testApp } from '../support/app.js'
import { commitIn, directoryOf, EMPTY_PACK, gitClient, gitOut, gitProcessesIn, gitRun, packet } from '../support/clients/git-client.js'
import { callAndLeave } from '../support/clients/leaving-client.js'
import { aCommit, aGroup, anAdmin, aProject, aToken, aUser, setSettings, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
const client = gitClient(t)
const ZERO = '0'.repeat(40)

type Service = 'git-upload-pack' | 'git-receive-pack'
interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}
interface Call {
  method?: string
  /** User name and password of HTTP Basic. */
  basic?: [string, string]
  headers?: Record<string, string>
  body?: Buffer | string
  agent?: Agent
  base?: string
}

/** One request as it is, nothing followed and nothing added. */
function http(path: string, { method = 'GET', basic, headers = {}, body, agent, base = t.url }: Call = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const authorization = basic && { authorization: `Basic ${Buffer.from(basic.join(':')).toString('base64')}` }
    const asked = request(`${base}${path}`, { method, agent: agent ?? false, headers: { ...authorization, ...headers } }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({ status: answer.statusCode as number, headers: answer.headers, text: Buffer.concat(chunks).toString('latin1') }),
      )
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

const advertised = (fullPath: string, service: Service, call: Call = {}) => http(`/${fullPath}.git/info/refs?service=${service}`, call)
const posted = (fullPath: string, service: Service, call: Call = {}) => {
  const { headers, ...rest } = call
  return http(`/${fullPath}.git/${service}`, {
    method: 'POST',
    body: '0000',
    ...rest,
    headers: { 'content-type': `application/x-${service}-request`, ...headers },
  })
}
const as = (user: TestUser): Call => ({ basic: ['git', user.token] })

/** Statuses of the advertisement and of the call itself, which must be the same. */
async function statusOf(fullPath: string, service: Service, call: Call = {}) {
  const first = await advertised(fullPath, service, call)
  const second = await posted(fullPath, service, call)
  expect(second.status, `${service} after its advertisement`).toBe(first.status)
  if (first.status !== 200) expect(second.text).toBe(first.text)
  for (const answer of [first, second]) expectPlain(answer)
  return first.status
}

/** What every answer of these routes has, refusals included. */
function expectPlain(answer: Answer) {
  // GH-27: nothing on the way keeps it, and no page of another origin reads it
  expect(answer.headers['cache-control']).toBe('no-cache, max-age=0, must-revalidate')
  expect([answer.headers['pragma'], answer.headers['expires']]).toEqual(['no-cache', 'Fri, 01 Jan 1980 00:00:00 GMT'])
  expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
  expect(answer.headers['x-content-type-options']).toBe('nosniff')
  expect(answer.headers['x-request-id']).toMatch(/^[\w-]+$/)
  if (answer.status === 401) expect(answer.headers['www-authenticate']).toBe('Basic realm="Roost"')
  else expect(answer.headers['www-authenticate']).toBeUndefined()
  if (answer.status >= 400) expect(answer.headers['content-type']).toMatch(/^text\/plain/)
}

const DENIED = 'HTTP Basic: Access denied\n'
const NOT_FOUND = 'The project you were looking for could not be found.\n'

describe('permissions to fetch and push (5.3; GH-10..GH-13, AC-6)', () => {
  const people: Record<string, TestUser | null> = { anonymous: null }
  const places: Record<string, TestProject> = {}
  beforeAll(async () => {
    for (const name of ['stranger', 'guest', 'reporter', 'developer', 'maintainer', 'owner']) people[name] = await aUser(t.ctx)
    people['external'] = await aUser(t.ctx, { external: true })
    people['external guest'] = await aUser(t.ctx, { external: true })
    people['external developer'] = await aUser(t.ctx, { external: true })
    people['admin'] = await anAdmin(t.ctx)
    const person = (name: string) => people[name] as TestUser
    for (const visibility of ['public', 'internal', 'private'] as const) {
      places[visibility] = await aProject(t.ctx, {
        visibility,
        files: { a: 'a' },
        creator: person('owner'),
        guest: [person('guest'), person('external guest')],
        reporter: person('reporter'),
        developer: [person('developer'), person('external developer')],
        maintainer: person('maintainer'),
      })
    }
    places['missing'] = { ...(places['private'] as TestProject), fullPath: 'no-such-namespace/nothing-here' }
    places['nowhere'] = { ...(places['private'] as TestProject), fullPath: 'no/such/group/project' }
  })

  //                       fetch: public internal private missing   push: public internal private missing
  const table: [string, [number, number, number, number], [number, number, number, number]][] = [
    ['anonymous', [200, 401, 401, 401], [401, 401, 401, 401]],
    ['stranger', [200, 200, 404, 404], [403, 403, 404, 404]],
    ['external', [200, 404, 404, 404], [403, 404, 404, 404]],
    ['guest', [200, 200, 403, 404], [403, 403, 403, 404]],
    ['external guest', [200, 403, 403, 404], [403, 403, 403, 404]],
    ['reporter', [200, 200, 200, 404], [403, 403, 403, 404]],
    ['developer', [200, 200, 200, 404], [200, 200, 200, 404]],
    ['external developer', [200, 200, 200, 404], [200, 200, 200, 404]],
    ['maintainer', [200, 200, 200, 404], [200, 200, 200, 404]],
    ['owner', [200, 200, 200, 404], [200, 200, 200, 404]],
    ['admin', [200, 200, 200, 404], [200, 200, 200, 404]],
  ]
  it.each(table)('%s', async (name, fetches, pushes) => {
    const person = people[name]
    const call = person ? as(person) : {}
    for (const [service, expected] of [
      ['git-upload-pack', fetches],
      ['git-receive-pack', pushes],
    ] as const) {
      const found: number[] = []
      for (const place of ['public', 'internal', 'private', 'missing'])
        found.push(await statusOf((places[place] as TestProject).fullPath, service, call))
      expect(found, service).toEqual(expected)
    }
  })

  it('says the same of hidden and of missing projects (SEC-30, SEC-89)', async () => {
    for (const service of ['git-upload-pack', 'git-receive-pack'] as const) {
      for (const [name, text] of [
        ['anonymous', DENIED],
        ['stranger', NOT_FOUND],
        ['external', NOT_FOUND],
      ] as const) {
        const person = people[name]
        const answers = await Promise.all(
          ['private', 'missing', 'nowhere'].map((place) => advertised((places[place] as TestProject).fullPath, service, person ? as(person) : {})),
        )
        for (const answer of answers) {
          expect(answer.text).toBe(text)
          expect(answer.headers['content-type']).toBe(answers[0]?.headers['content-type'])
        }
      }
    }
  })

  it('says why to those who see the project (GH-12, GH-13)', async () => {
    const { fullPath } = places['private'] as TestProject
    const guest = await advertised(fullPath, 'git-upload-pack', as(people['guest'] as TestUser))
    expect(guest.text).toBe('You are not allowed to download code from this project.\n')
    const reporter = await advertised(fullPath, 'git-receive-pack', as(people['reporter'] as TestUser))
    expect(reporter.text).toBe('You are not allowed to push code to this project.\n')
  })

  it('takes the right from the service that will run, not from the query (SEC-89)', async () => {
    const reader = people['reporter'] as TestUser
    const { fullPath } = places['private'] as TestProject
    const path = `/${fullPath}.git/git-receive-pack?service=git-upload-pack`
    expect((await http(path, { ...as(reader), method: 'POST', body: '0000' })).status).toBe(403)
    expect((await http(path, { method: 'POST', body: '0000' })).status).toBe(401)
    const open = `/${(places['public'] as TestProject).fullPath}.git/git-receive-pack?service=git-upload-pack`
    expect((await http(open, { method: 'POST', body: '0000' })).status).toBe(401)
    expect((await http(open, { ...as(people['stranger'] as TestUser), method: 'POST', body: '0000' })).status).toBe(403)
  })

  it('counts a membership that ends, and a level that falls, from the next request on, on an open connection too (SEC-14, AC-15)', async () => {
    const user = await aUser(t.ctx)
    const { id, fullPath } = await aProject(t.ctx, { developer: user })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const call = { ...as(user), agent }
    expect(await statusOf(fullPath, 'git-receive-pack', call)).toBe(200)
    await t.ctx.db.write.update(members).set({ access_level: 20 }).where(eq(members.user_id, user.id))
    expect(await statusOf(fullPath, 'git-receive-pack', call)).toBe(403)
    expect(await statusOf(fullPath, 'git-upload-pack', call)).toBe(200)
    await t.ctx.db.write.update(members).set({ expires_at: '2020-01-01' }).where(eq(members.user_id, user.id))
    expect(await statusOf(fullPath, 'git-upload-pack', call)).toBe(404)
    await t.ctx.db.write.update(projects).set({ visibility: 20 }).where(eq(projects.id, id))
    expect(await statusOf(fullPath, 'git-upload-pack', call)).toBe(200)
    agent.destroy()
  })

  it.each([
    ['disabled', 0],
    ['private', 10],
  ])('the repository feature switched to %s (GH-12)', async (_, level) => {
    const [developer, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const { id, fullPath } = await aProject(t.ctx, { visibility: 'public', developer, files: { a: 'a' } })
    await t.ctx.db.write.update(projects).set({ repository_access_level: level }).where(eq(projects.id, id))
    const member = level === 0 ? 403 : 200
    for (const service of ['git-upload-pack', 'git-receive-pack'] as const) {
      expect(await statusOf(fullPath, service, as(developer))).toBe(member)
      expect(await statusOf(fullPath, service, as(stranger))).toBe(403)
      expect(await statusOf(fullPath, service)).toBe(401)
    }
  })

  it('an archived project can be fetched, and no one pushes to it (GH-14)', async () => {
    const { id, fullPath, creator } = await aProject(t.ctx, { files: { a: 'a' } })
    await t.ctx.db.write.update(projects).set({ archived: true }).where(eq(projects.id, id))
    for (const person of [creator, people['admin'] as TestUser]) {
      expect(await statusOf(fullPath, 'git-upload-pack', as(person))).toBe(200)
      expect(await statusOf(fullPath, 'git-receive-pack', as(person))).toBe(403)
    }
    expect((await advertised(fullPath, 'git-receive-pack', as(creator))).text).toBe('This project is archived.\n')
    const work = await client.cloned(client.url(fullPath, creator))
    await commitIn(work, 'b')
    const pushed = await gitRun(work, 'push', 'origin', 'HEAD:other')
    expect(pushed.code).not.toBe(0)
    expect(pushed.err).toContain('403')
  })

  it('enabled_git_access_protocol (GH-15, SEC-90)', async () => {
    const { fullPath, creator } = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    await setSettings(t.ctx, { enabled_git_access_protocol: 'ssh' })
    expect(await statusOf(fullPath, 'git-upload-pack', as(creator))).toBe(403)
    expect(await statusOf(fullPath, 'git-receive-pack', as(creator))).toBe(403)
    expect(await statusOf(fullPath, 'git-upload-pack')).toBe(403)
    await setSettings(t.ctx, { enabled_git_access_protocol: 'http' })
    expect(await statusOf(fullPath, 'git-receive-pack', as(creator))).toBe(200)
    await setSettings(t.ctx, {})
  })
})

describe('credentials (31.2, GH-9, SEC-12)', () => {
  let user: TestUser
  let project: TestProject
  let open: TestProject
  beforeAll(async () => {
    user = await aUser(t.ctx, { password: 'correct horse: battery' })
    project = await aProject(t.ctx, { creator: user, files: { a: 'a' } })
    open = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
  })

  /** Fetch and push of the caller's project, and the fetch of a public one. */
  const all = async (...basic: [string, string]) => [
    await statusOf(project.fullPath, 'git-upload-pack', { basic }),
    await statusOf(project.fullPath, 'git-receive-pack', { basic }),
    await statusOf(open.fullPath, 'git-upload-pack', { basic }),
  ]

  it.each([
    [['api'], [200, 200, 200]],
    [['write_repository'], [200, 200, 200]],
    [['read_repository'], [200, 403, 200]],
    [['read_user'], [403, 403, 403]],
    [['read_api'], [403, 403, 403]],
    [
      ['read_user', 'read_api'],
      [403, 403, 403],
    ],
    [
      ['read_api', 'read_repository'],
      [200, 403, 200],
    ],
    [
      ['read_user', 'write_repository'],
      [200, 200, 200],
    ],
  ] as const)('a token with %j', async (scopes, expected) => {
    const token = await aToken(t.ctx, user, [...scopes])
    expect(await all('git', token)).toEqual(expected)
  })

  it.each([['oauth2'], ['x'], ['somebody-else'], ['user:name'.split(':')[0] as string], ['']])(
    'any user name is accepted with a token: %j',
    async (name) => {
      expect(await all(name, user.token)).toEqual([200, 200, 200])
    },
  )

  it('tokens of every kind (31.2)', async () => {
    for (const kind of ['impersonation', 'oauth'] as const) {
      const { token, value } = await createToken(t.ctx, user, { name: kind, scopes: ['api'] })
      await t.ctx.db.write.update(tokens).set({ kind }).where(eq(tokens.id, token.id))
      expect(await all('oauth2', value)).toEqual([200, 200, 200])
    }
    const { token, value } = await createToken(t.ctx, user, { name: 'imp', scopes: ['read_user'] })
    await t.ctx.db.write.update(tokens).set({ kind: 'impersonation' }).where(eq(tokens.id, token.id))
    expect(await all('x', value)).toEqual([403, 403, 403])
  })

  it('a password: by user name or e-mail, without case, with a colon in it', async () => {
    expect(await all(user.username, user.password)).toEqual([200, 200, 200])
    expect(await all(user.email, user.password)).toEqual([200, 200, 200])
    expect(await all(user.username.toUpperCase(), user.password)).toEqual([200, 200, 200])
  })

  it('an OAuth token of the password grant', async () => {
    const answer = await http('/oauth/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'password', username: user.username, password: user.password }),
    })
    const { access_token } = JSON.parse(answer.text) as { access_token: string }
    expect(await all('oauth2', access_token)).toEqual([200, 200, 200])
  })

  it.each<[string, () => [string, string] | Promise<[string, string]>]>([
    ['a wrong password', () => [user.username, 'wrong']],
    ['the password of another', async () => [user.username, (await aUser(t.ctx)).password]],
    ['an unknown user', () => ['no-such-user', user.password]],
    ['no password', () => [user.username, '']],
    ['a token as the user name', () => [user.token, '']],
    ['an unknown token', () => ['oauth2', 'x'.repeat(20)]],
    ['a NUL', () => [user.username, `${user.password}\0`]],
    ['a user without a password', async () => [(await aUser(t.ctx, { reset_password: true } as never)).username, '']],
  ])('%s is 401 everywhere, public projects included (GH-9, SEC-11)', async (_, credentials) => {
    const basic = await credentials()
    expect(await all(...basic)).toEqual([401, 401, 401])
    const answer = await advertised(open.fullPath, 'git-upload-pack', { basic })
    expect(answer.text).toBe(DENIED)
  })

  it('a token that has expired, expires today, or was revoked is 401', async () => {
    const today = new Date().toISOString().slice(0, 10)
    expect(await all('x', await aToken(t.ctx, user, ['api'], '2199-01-01'))).toEqual([200, 200, 200])
    for (const day of ['2020-01-01', today]) {
      const { token, value } = await createToken(t.ctx, user, { name: 'old', scopes: ['api'], expires_at: '2199-01-01' })
      await t.ctx.db.write.update(tokens).set({ expires_at: day }).where(eq(tokens.id, token.id))
      expect(await all('x', value)).toEqual([401, 401, 401])
    }
    const { id } = (await t.api('get', '/personal_access_tokens/self', { token: user.token })).body as { id: number }
    expect(id).toBeGreaterThan(0)
    const revoked = await aToken(t.ctx, user, ['api'])
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const call: Call = { basic: ['x', revoked], agent }
    expect(await statusOf(project.fullPath, 'git-upload-pack', call)).toBe(200)
    await t.api('delete', '/personal_access_tokens/self', { token: revoked }).expect(204)
    expect(await statusOf(project.fullPath, 'git-upload-pack', call)).toBe(401)
    expect((await advertised(project.fullPath, 'git-upload-pack', call)).text).toBe(DENIED)
    agent.destroy()
  })

  it('a blocked user gets 401 with a password and 403 with a token until unblocked (SEC-14, SEC-15)', async () => {
    const blocked = await aUser(t.ctx)
    const own = await aProject(t.ctx, { creator: blocked, visibility: 'public', files: { a: 'a' } })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const statuses = async () => [
      await statusOf(own.fullPath, 'git-upload-pack', { ...as(blocked), agent }),
      await statusOf(own.fullPath, 'git-receive-pack', { ...as(blocked), agent }),
      await statusOf(own.fullPath, 'git-upload-pack', { basic: [blocked.username, blocked.password], agent }),
    ]
    expect(await statuses()).toEqual([200, 200, 200])
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, blocked.id))
    expect(await statuses()).toEqual([403, 403, 401])
    expect((await advertised(own.fullPath, 'git-upload-pack', as(blocked))).text).toBe('Your account is blocked\n')
    await t.ctx.db.write.update(users).set({ state: 'active' }).where(eq(users.id, blocked.id))
    expect(await statuses()).toEqual([200, 200, 200])
    await t.ctx.db.write.delete(users).where(eq(users.id, (await aUser(t.ctx)).id))
    agent.destroy()
  })

  it('the tokens of a deleted user are 401 (SEC-15)', async () => {
    const gone = await aUser(t.ctx)
    expect(await statusOf(open.fullPath, 'git-upload-pack', as(gone))).toBe(200)
    await t.ctx.db.write.delete(users).where(eq(users.id, gone.id))
    expect(await statusOf(open.fullPath, 'git-upload-pack', as(gone))).toBe(401)
  })

  it('the API says the same of a token as Git does (SEC-12)', async () => {
    const blocked = await aUser(t.ctx, { state: 'blocked' })
    const cases: [string, number, number][] = [
      [user.token, 200, 200],
      [blocked.token, 403, 403],
      ['x'.repeat(20), 401, 401],
      [await aToken(t.ctx, user, ['read_user']), 403, 403],
    ]
    for (const [token, api, wire] of cases) {
      for (const headers of [{ 'private-token': token }, { authorization: `Bearer ${token}` }] as Record<string, string>[]) {
        expect((await http(`/api/v4${project.path}/repository/branches`, { headers })).status).toBe(api)
      }
      expect(await statusOf(project.fullPath, 'git-upload-pack', { basic: ['x', token] })).toBe(wire)
    }
  })

  it.each([
    ['Bearer', () => `Bearer ${user.token}`],
    ['another scheme', () => 'Digest username="x"'],
    ['no base64', () => 'Basic ***'],
    ['no colon', () => `Basic ${Buffer.from(user.username).toString('base64')}`],
    ['nothing', () => 'Basic'],
  ])('a header with %s is 401, never anonymous (SEC-11)', async (_, authorization) => {
    const call = { headers: { authorization: authorization() } }
    expect(await statusOf(open.fullPath, 'git-upload-pack', call)).toBe(401)
    expect(await statusOf(project.fullPath, 'git-upload-pack', call)).toBe(401)
  })

  it('passwords switched off, or two factors, ask for a token (SEC-90, GH-9)', async () => {
    const basic: [string, string] = [user.username, user.password]
    await setSettings(t.ctx, { password_authentication_enabled_for_git: false })
    expect(await all(...basic)).toEqual([401, 401, 401])
    for (const password of [user.password, 'wrong']) {
      const { text } = await advertised(open.fullPath, 'git-upload-pack', { basic: [user.username, password] })
      expect(text).toMatch(/^HTTP Basic: Access denied.*token/)
    }
    expect(await all('git', user.token)).toEqual([200, 200, 200])
    await setSettings(t.ctx, {})
    expect(await all(...basic)).toEqual([200, 200, 200])
    await t.ctx.db.write.update(users).set({ two_factor_enabled: true }).where(eq(users.id, user.id))
    expect(await all(...basic)).toEqual([401, 401, 401])
    expect((await advertised(project.fullPath, 'git-upload-pack', { basic })).text).toMatch(/^HTTP Basic: Access denied.*token/)
    expect((await advertised(project.fullPath, 'git-upload-pack', { basic: [user.username, 'wrong'] })).text).toBe(DENIED)
    await t.ctx.db.write.update(users).set({ two_factor_enabled: false }).where(eq(users.id, user.id))
  })

  it('no token and no password gets into the log (SEC-24)', async () => {
    await all('git', user.token)
    await all(user.username, user.password)
    await http(`/${project.fullPath}.git/info/refs?service=git-upload-pack&private_token=${user.token}`)
    const log = t.logged.join('')
    expect(log).not.toContain(user.token)
    expect(log).not.toContain(user.password)
    expect(log).not.toContain(Buffer.from(`git:${user.token}`).toString('base64'))
    expect(log).toContain('"service":"git-upload-pack"')
  })

  it('a fetch is a use of the token (CR-9, EV-6)', async () => {
    const { token, value } = await createToken(t.ctx, user, { name: 'used', scopes: ['read_repository'] })
    expect(token.last_used_at).toBeNull()
    await statusOf(project.fullPath, 'git-upload-pack', { basic: ['x', value] })
    await t.ctx.jobs.drain()
    const [row] = await t.ctx.db.write.select().from(tokens).where(eq(tokens.id, token.id))
    expect(row?.last_used_at).toBeInstanceOf(Date)
  })
})

describe('routes (31.1, GH-4, SEC-91)', () => {
  let project: TestProject
  let owner: TestUser
  beforeAll(async () => {
    owner = await aUser(t.ctx)
    project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: 'a' } })
  })

  it('types of the answers (GH-1, GH-2)', async () => {
    for (const service of ['git-upload-pack', 'git-receive-pack'] as const) {
      const first = await advertised(project.fullPath, service, as(owner))
      expect(first.headers['content-type']).toBe(`application/x-${service}-advertisement`)
      expect(first.text).toMatch(new RegExp(`^00[0-9a-f]{2}# service=${service}\n0000`))
      const second = await posted(project.fullPath, service, as(owner))
      expect(second.headers['content-type']).toBe(`application/x-${service}-result`)
    }
  })

  it('paths are without case, ids are no paths', async () => {
    expect(await statusOf(project.fullPath.toUpperCase(), 'git-upload-pack')).toBe(200)
    expect(await statusOf(String(project.id), 'git-upload-pack', as(owner))).toBe(404)
    expect(await statusOf(`projects/${project.id}`, 'git-upload-pack', as(owner))).toBe(404)
  })

  it('slashes too many name the same repository, with the same decision (G-1, SEC-7)', async () => {
    const hidden = await aProject(t.ctx, { creator: owner, files: { a: 'a' } })
    const stranger = await aUser(t.ctx)
    const doubled = `/${hidden.fullPath.replaceAll('/', '//')}`
    expect(await statusOf(doubled, 'git-upload-pack', as(owner))).toBe(200)
    expect(await statusOf(doubled, 'git-upload-pack', as(stranger))).toBe(404)
    expect(await statusOf(doubled, 'git-upload-pack')).toBe(401)
    expect((await http(`/${hidden.fullPath}.git//info//refs/?service=git-upload-pack`, as(owner))).status).toBe(200)
    const work = await client.cloned(client.url(doubled, owner))
    await commitIn(work, 'pushed')
    expect(await gitRun(work, 'push', '-q', 'origin', 'HEAD:pushed')).toMatchObject({ code: 0 })
    const gzip = { ...as(owner), method: 'POST', headers: { 'content-encoding': 'gzip' }, body: gzipSync('0000') }
    expect((await http(`/${hidden.fullPath}.git/git-upload-pack/`, gzip)).status).toBe(200)
  })

  it('without .git the advertisement is redirected and the rest is 404 (GH-4)', async () => {
    const [namespace, name] = project.fullPath.split('/') as [string, string]
    for (const service of ['git-upload-pack', 'git-receive-pack']) {
      const moved = await http(`/${namespace}/${name}/info/refs?service=${service}`)
      expect(moved.status).toBe(301)
      expect(moved.headers['location']).toBe(`http://roost.test/${namespace}/${name}.git/info/refs?service=${service}`)
      expect(moved.headers['cache-control']).toBe('no-cache, max-age=0, must-revalidate')
      expect((await http(`/${namespace}/${name}/${service}`, { method: 'POST', body: '0000' })).status).toBe(404)
    }
    // the same for what is hidden or missing, so that nothing leaks
    expect((await http('/no/such/info/refs?service=git-upload-pack')).status).toBe(301)
    expect((await http(`/${namespace}/${name}/info/refs`)).status).toBe(404)
  })

  it('without a service, or with another, it is 403 (GH-4)', async () => {
    for (const query of [
      '',
      '?service=',
      '?service=git-upload-archive',
      '?service=--upload-pack=x',
      '?service[]=git-upload-pack',
      '?service=git-upload-packs',
    ]) {
      const answer = await http(`/${project.fullPath}.git/info/refs${query}`)
      expect(answer.status, query).toBe(403)
      expect(answer.headers['content-type']).toMatch(/^text\/plain/)
    }
  })

  it.each([
    'HEAD',
    'config',
    'description',
    'index',
    'packed-refs',
    'hooks/pre-receive',
    'objects/info/packs',
    'objects/info/alternates',
    'objects/pack/x.pack',
    `objects/${'a'.repeat(2)}/${'b'.repeat(38)}`,
    'refs/heads/main',
    'info/lfs',
    'info/lfs/locks/verify',
    'info/lfs/objects/abc',
    'info/refs/x',
    'git-upload-archive',
    '../config',
    '%2e%2e/config',
    '..%2f..%2fconfig',
    'info/../config',
    'git-upload-pack',
  ])('GET %s under a repository is 404 (SEC-91)', async (path) => {
    const answer = await http(`/${project.fullPath}.git/${path}`, as(owner))
    expect(answer.status).toBe(404)
    expect(answer.text).not.toMatch(/ref: |\[core\]/)
  })

  it.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS'])('%s is refused', async (method) => {
    const answer = await http(`/${project.fullPath}.git/git-upload-pack`, { method, ...as(owner) })
    expect([404, 405]).toContain(answer.status)
  })

  it('POST of a path for GET, and the other way round, is 404', async () => {
    expect((await http(`/${project.fullPath}.git/info/refs?service=git-upload-pack`, { method: 'POST', body: '' })).status).toBe(404)
    expect((await http(`/${project.fullPath}.git/git-upload-pack`)).status).toBe(404)
  })

  it.each(['%00', 'a%00b/c', '%ff%fe/x', 'a/%2e%2e/b', '..%2f..%2fetc/passwd', "'; drop table projects; --/x", '%F0%9F%98%80/x', 'x'.repeat(3000)])(
    'the path %s is 401 or 4xx and no fault (SEC-1)',
    async (path) => {
      const faults = t.logged.filter((line) => line.includes('"level":50')).length
      for (const call of [{}, as(owner)]) {
        const answer = await http(`/${path.replaceAll(' ', '%20')}.git/info/refs?service=git-upload-pack`, call)
        expect([400, 401, 404]).toContain(answer.status)
      }
      expect(t.logged.filter((line) => line.includes('"level":50')).length).toBe(faults)
    },
  )

  it.each(['?a=%00', '?service=git-upload-pack&x=%ff', '?service=git-upload-pack%00', `?${'a'.repeat(300)}=1`])(
    'the query string %s is 400 and ends nothing (SEC-1)',
    async (query) => {
      expect((await http(`/${project.fullPath}.git/info/refs${query}`)).status).toBe(400)
      expect((await http(`/api/v4/projects${query}`)).status).toBe(400)
    },
  )

  it('a repository missing on disk is 503, and the log says so (SEC-156)', async () => {
    const lost = await aProject(t.ctx, { creator: owner, files: { a: 'a' } })
    rmSync(directoryOf(t, lost.id), { recursive: true })
    expect(await statusOf(lost.fullPath, 'git-upload-pack', as(owner))).toBe(503)
    expect(await statusOf(lost.fullPath, 'git-receive-pack', as(owner))).toBe(503)
    expect(await statusOf(project.fullPath, 'git-upload-pack')).toBe(200)
    expect(t.logged.join('')).toContain('a repository is missing')
  })
})

describe('former paths (GH-4, AC-12)', () => {
  it('serves fetches and pushes of a renamed project and prints its new address for the pusher', async () => {
    const { id, path, fullPath, creator } = await aProject(t.ctx, { files: { a: 'a' } })
    const work = await client.cloned(client.url(fullPath, creator))
    await t
      .api('put', path, creator)
      .send({ path: `renamed-${id}` })
      .expect(200)
    const fresh = await client.cloned(client.url(fullPath, creator))
    expect(await gitOut(fresh, 'rev-parse', 'HEAD')).toBe(await gitOut(work, 'rev-parse', 'HEAD'))
    const head = await commitIn(work, 'b')
    const pushed = await gitRun(work, 'push', 'origin', 'HEAD:main')
    expect(pushed).toMatchObject({ code: 0 })
    expect(pushed.err).toMatch(new RegExp(`remote: .*http://roost\\.test/${creator.username}/renamed-${id}\\.git`))
    expect(await gitOut(directoryOf(t, id), 'rev-parse', 'main')).toBe(head)
    const quiet = await gitRun(work, 'push', client.url(`${creator.username}/renamed-${id}`, creator), 'HEAD:other')
    expect(quiet.err).not.toContain('moved')
    await client.cloned(client.url(`${fullPath}.wiki`, creator))
  })

  it('leads no caller to a project they may not see, and gives way to a new project of that path', async () => {
    const { id, path, fullPath, creator } = await aProject(t.ctx, { files: { a: 'a' } })
    await t
      .api('put', path, creator)
      .send({ path: `hidden-${id}` })
      .expect(200)
    const stranger = await aUser(t.ctx)
    expect(await statusOf(fullPath, 'git-upload-pack', as(stranger))).toBe(404)
    expect(await statusOf(fullPath, 'git-upload-pack')).toBe(401)
    const next = await aProject(t.ctx, { creator, name: `next ${id}`, path: fullPath.split('/')[1] as string, files: { other: 'x' } })
    expect(next.fullPath).toBe(fullPath)
    const work = await client.cloned(client.url(fullPath, creator))
    expect(readdirSync(work)).toContain('other')
  })
})

describe('wiki repositories (GH-3, GH-17)', () => {
  it('is created on first access; developers push, guests read', async () => {
    const [guest, reporter, developer, stranger] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const { id, fullPath } = await aProject(t.ctx, { guest, reporter, developer })
    const wiki = `${fullPath}.wiki`
    expect(await statusOf(wiki, 'git-upload-pack', as(stranger))).toBe(404)
    expect(await statusOf(wiki, 'git-upload-pack')).toBe(401)
    for (const person of [guest, reporter]) {
      expect(await statusOf(wiki, 'git-upload-pack', as(person))).toBe(200)
      expect(await statusOf(wiki, 'git-receive-pack', as(person))).toBe(403)
    }
    const work = await client.cloned(client.url(wiki, developer))
    await gitOut(work, 'checkout', '-qb', 'main')
    const head = await commitIn(work, 'home.md')
    expect(await gitRun(work, 'push', '-q', 'origin', 'main')).toMatchObject({ code: 0 })
    expect(await gitOut(directoryOf(t, id, 'wiki'), 'rev-parse', 'HEAD')).toBe(head)
    expect(readdirSync(await client.cloned(client.url(wiki, guest)))).toContain('home.md')
    // nothing of it is the project's
    const [row] = await t.ctx.db.write.select().from(projects).where(eq(projects.id, id))
    expect(row?.empty_repo).toBe(true)
    // GH-19
    const declined = await gitRun(work, 'push', 'origin', 'HEAD:refs/other/x')
    expect(declined.err).toContain('remote: refs/other/x: only branches, tags and notes can be pushed.')
  })

  it('a public wiki is open to everybody, a disabled one to no one, an archived one to readers', async () => {
    const stranger = await aUser(t.ctx)
    const { id, fullPath, creator } = await aProject(t.ctx, { visibility: 'public' })
    const wiki = `${fullPath}.wiki`
    expect(await statusOf(wiki, 'git-upload-pack')).toBe(200)
    expect(await statusOf(wiki, 'git-receive-pack', as(stranger))).toBe(403)
    await t.ctx.db.write.update(projects).set({ archived: true }).where(eq(projects.id, id))
    expect(await statusOf(wiki, 'git-upload-pack', as(creator))).toBe(200)
    expect(await statusOf(wiki, 'git-receive-pack', as(creator))).toBe(403)
    await t.ctx.db.write.update(projects).set({ archived: false, wiki_access_level: 10 }).where(eq(projects.id, id))
    expect(await statusOf(wiki, 'git-upload-pack', as(stranger))).toBe(403)
    expect(await statusOf(wiki, 'git-upload-pack')).toBe(401)
    expect(await statusOf(wiki, 'git-upload-pack', as(creator))).toBe(200)
    await t.ctx.db.write.update(projects).set({ wiki_access_level: 0 }).where(eq(projects.id, id))
    for (const person of [creator, stranger]) expect(await statusOf(wiki, 'git-upload-pack', as(person))).toBe(403)
  })
})

describe('fetching', () => {
  let owner: TestUser
  let project: TestProject
  let url: string
  beforeAll(async () => {
    owner = await aUser(t.ctx)
    project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { f0: 'x' } })
    for (const n of [1, 2, 3, 4]) await aCommit(t.ctx, project, { [`f${n}`]: `${n}` })
    url = client.url(project.fullPath)
  })

  it.each(['0', '1', '2'])('protocol %s: clone, shallow, deepen, unshallow, filter, fetch (GH-5, GH-6)', async (version) => {
    const protocol = `protocol.version=${version}`
    const head = await gitOut(directoryOf(t, project.id), 'rev-parse', 'main')
    const full = await client.cloned(url, protocol)
    expect(await gitOut(full, 'rev-parse', 'HEAD')).toBe(head)
    expect(await gitOut(full, 'symbolic-ref', '--short', 'HEAD')).toBe('main')
    const shallow = await client.cloned(url, protocol, '--depth=1')
    const count = async (work: string) => Number(await gitOut(work, 'rev-list', '--count', 'HEAD'))
    expect(await count(shallow)).toBe(1)
    await gitOut(shallow, '-c', protocol, 'fetch', '-q', '--deepen=2')
    expect(await count(shallow)).toBe(3)
    await gitOut(shallow, '-c', protocol, 'fetch', '-q', '--unshallow')
    expect(await count(shallow)).toBe(await count(full))
    const filtered = await client.cloned(url, protocol, '--filter=blob:none', '--no-checkout')
    expect((await gitOut(filtered, 'rev-list', '--objects', '--missing=print', '--all')).includes('?')).toBe(true)
    const next = await aCommit(t.ctx, project, { [`more${version}`]: 'x' })
    await gitOut(full, '-c', protocol, 'pull', '-q')
    expect(await gitOut(full, 'rev-parse', 'HEAD')).toBe(next)
    expect(await gitOut(full, 'fsck', '--strict')).toBe('')
  })

  it('speaks the version that is asked for', async () => {
    const ask = (protocol?: string) => advertised(project.fullPath, 'git-upload-pack', protocol ? { headers: { 'git-protocol': protocol } } : {})
    expect((await ask('version=2')).text).toMatch(/^000eversion 2\n/)
    expect((await ask('version=1')).text).toMatch(/\n0000000eversion 1\n/)
    for (const protocol of [undefined, 'version=3', 'nonsense', 'version=2; rm']) expect((await ask(protocol)).text).not.toContain('version ')
  })

  it('capabilities (GH-6, GH-7)', async () => {
    const upload = (await advertised(project.fullPath, 'git-upload-pack')).text
    for (const word of [
      'multi_ack_detailed',
      'no-done',
      'side-band-64k',
      'ofs-delta',
      'include-tag',
      'shallow',
      'symref=HEAD:refs/heads/main',
      'object-format=sha1',
      'agent=',
      'deepen-since',
      'filter',
    ])
      expect(upload).toContain(word)
    const receive = (await advertised(project.fullPath, 'git-receive-pack', as(owner))).text
    for (const word of ['report-status', 'delete-refs', 'ofs-delta', 'side-band-64k', 'quiet', 'atomic']) expect(receive).toContain(word)
  })

  it.each(['0', '2'])('an empty repository clones with protocol %s (GH-8)', async (version) => {
    const empty = await aProject(t.ctx, { creator: owner })
    const { code, err, work } = await client.clone(client.url(empty.fullPath, owner), `protocol.version=${version}`)
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('empty repository') })
    if (version === '2') expect(await gitOut(work, 'symbolic-ref', '--short', 'HEAD')).toBe('main')
    const receive = (await advertised(empty.fullPath, 'git-receive-pack', as(owner))).text
    expect(receive).toMatch(/0000[0-9a-f]{4}0{40} capabilities\^\{\}\0/)
  })

  it('refs of the service are not advertised and not writable (GH-8, SEC-86)', async () => {
    const directory = directoryOf(t, project.id)
    for (const ref of ['refs/keep-around/x', 'refs/roost/x', 'refs/merge-requests/1/head']) await gitOut(directory, 'update-ref', ref, 'main')
    const listed = await gitOut(client.folder(), 'ls-remote', url)
    expect(listed).not.toMatch(/keep-around|roost/)
    expect(listed).toContain('refs/merge-requests/1/head')
    const work = await client.cloned(client.url(project.fullPath, owner))
    await commitIn(work, 'service')
    for (const ref of ['refs/keep-around/y', 'refs/roost/x', 'refs/merge-requests/1/head', 'refs/other/x', 'refs/x']) {
      const pushed = await gitRun(work, 'push', 'origin', `+HEAD:${ref}`)
      expect(pushed.code, ref).not.toBe(0)
    }
    expect(await gitOut(directory, 'for-each-ref', '--format=%(refname)', 'refs/notes', 'refs/x', 'refs/keep-around/y')).toBe('')
  })

  it('gzip and chunked bodies (GH-2)', async () => {
    const head = await gitOut(directoryOf(t, project.id), 'rev-parse', 'main')
    const want = `${packet(`want ${head} side-band-64k ofs-delta\n`)}0000${packet('done\n')}`
    const plain = await posted(project.fullPath, 'git-upload-pack', { body: want })
    expect(plain.text).toContain('PACK')
    for (const encoding of ['gzip', 'x-gzip', 'GZIP']) {
      const zipped = await posted(project.fullPath, 'git-upload-pack', { body: gzipSync(want), headers: { 'content-encoding': encoding } })
      expect(zipped.status).toBe(200)
      expect(zipped.text).toContain('PACK')
    }
    const chunked = await posted(project.fullPath, 'git-upload-pack', {
      body: gzipSync(want),
      headers: { 'content-encoding': 'gzip', 'transfer-encoding': 'chunked' },
    })
    expect(chunked.text).toContain('PACK')
    // as the client itself does it when it has much to say
    const work = await client.cloned(url)
    for (let n = 0; n < 40; n++) await gitOut(work, 'commit', '-q', '--allow-empty', '-m', `${n}`)
    const next = await aCommit(t.ctx, project, { zipped: 'x' })
    await gitOut(work, 'fetch', '-q')
    expect(await gitOut(work, 'rev-parse', 'origin/main')).toBe(next)
  })

  it.each<[string, Call, number]>([
    ['bad gzip', { body: 'not gzip at all', headers: { 'content-encoding': 'gzip' } }, 400],
    ['cut gzip', { body: gzipSync(randomBytes(5000)).subarray(0, 1000), headers: { 'content-encoding': 'gzip' } }, 400],
    ['an unknown encoding', { body: '0000', headers: { 'content-encoding': 'br' } }, 415],
    ['garbage', { body: 'hello' }, 400],
    ['a line that is no want', { body: `${packet('wish you were here\n')}0000` }, 400],
    ['a packet that is cut', { body: '0100want' }, 400],
    ['a want of nothing', { body: `${packet(`want ${'a'.repeat(40)}\n`)}0000${packet('done\n')}` }, 200],
    ['only a flush', { body: '0000' }, 200],
    ['nothing', { body: '' }, 400],
  ])('%s is answered, never with 5xx (SEC-1)', async (_, call, status) => {
    const faults = t.logged.filter((line) => line.includes('"level":50')).length
    for (const service of ['git-upload-pack', 'git-receive-pack'] as const) {
      for (const protocol of ['', 'version=2']) {
        const answer = await posted(project.fullPath, service, { ...as(owner), ...call, headers: { ...call.headers, 'git-protocol': protocol } })
        expect(answer.status, `${service} ${protocol} ${answer.text}`).toBeLessThan(500)
        expectPlain(answer)
        if (service === 'git-upload-pack' && protocol === '') expect(answer.status).toBe(status)
        expect(answer.text).not.toMatch(/\/tmp|roost-app/)
      }
    }
    expect(t.logged.filter((line) => line.includes('"level":50')).length).toBe(faults)
  })

  it('clients that leave, in the middle of a clone or of a push, leave no process after a second (SEC-143)', async () => {
    const big = await aProject(t.ctx, { creator: owner })
    const directory = directoryOf(t, big.id)
    const source = client.folder()
    await gitOut(source, 'init', '-q', '-b', 'main')
    writeFileSync(join(source, 'big'), randomBytes(30_000_000))
    await gitOut(source, 'add', '.')
    await gitOut(source, 'commit', '-qm', 'big')
    await gitOut(source, 'push', '-q', client.url(big.fullPath, owner), 'main')
    const head = await gitOut(source, 'rev-parse', 'HEAD')
    const { hostname, port } = new URL(t.url)
    const authorization = `Basic ${Buffer.from(`x:${owner.token}`).toString('base64')}`
    const ask = (service: Service, said: (asked: ReturnType<typeof request>) => void, heard: (leave: () => void) => void) =>
      new Promise<void>((resolve) => {
        const asked = request({ hostname, port, path: `/${big.fullPath}.git/${service}`, method: 'POST', agent: false, headers: { authorization } })
        const leave = () => {
          asked.destroy()
          resolve()
        }
        asked.on('error', () => undefined)
        asked.on('response', (answer) => answer.once('data', leave))
        said(asked)
        heard(leave)
      })
    for (let round = 0; round < 4; round++) {
      await ask(
        'git-upload-pack',
        (asked) => void asked.end(`${packet(`want ${head}\n`)}0000${packet('done\n')}`),
        () => undefined,
      )
      await ask(
        'git-receive-pack',
        (asked) => {
          asked.write(packet(`${ZERO} ${head} refs/heads/b${round}\0 report-status\n`))
          asked.write('0000')
          asked.write(Buffer.concat([Buffer.from('PACK\0\0\0\x02\0\0\0\x02', 'latin1'), randomBytes(10)]))
        },
        (leave) =>
          void expect
            .poll(() => gitProcessesIn(directory).length, { timeout: 5_000, interval: 10 })
            .toBeGreaterThan(0)
            .then(leave, leave),
      )
    }
    await expect.poll(() => gitProcessesIn(directory), { timeout: 1_000, interval: 20 }).toEqual([])
    expect(readdirSync(join(directory, 'objects')).filter((name) => /tmp|incoming/.test(name))).toEqual([])
    await expect.poll(async () => (await t.ctx.git.open({ storage: 'default', id: big.id, kind: 'project' }).refs('refs/heads/')).length).toBe(1)
  })

  it.each([
    ['GET', 'info/refs?service=git-upload-pack'],
    ['GET', 'info/refs?service=git-receive-pack'],
    ['POST', 'git-upload-pack'],
    ['POST', 'git-receive-pack'],
  ])('one that leaves before it was let in starts nothing, and its call ends (%s %s) (SEC-143)', async (method, action) => {
    const project = await aProject(t.ctx, { creator: owner, files: { a: 'a' } })
    const { hostname, port } = new URL(t.url)
    const authorization = `Basic ${Buffer.from(`x:${owner.token}`).toString('base64')}`
    const headers = { authorization, ...(method === 'POST' && { 'content-length': 100 }) }
    const path = `/${project.fullPath}.git/${action}`
    await t.ctx.db.transaction(async (tx) => {
      await tx.execute(sql`lock table projects in access exclusive mode`)
      await callAndLeave(t.app.server, { hostname, port, path, method, headers }, (asked) => (method === 'POST' ? asked.write('00') : asked.end()))
    })
    await expect.poll(() => t.logged.some((line) => line.includes(project.fullPath) && line.includes('"status":499')), { timeout: 2_000 }).toBe(true)
    expect(gitProcessesIn(directoryOf(t, project.id))).toEqual([])
  })
})

describe('pushing', () => {
  let owner: TestUser
  let project: TestProject
  let directory: string
  let work: string
  beforeAll(async () => {
    owner = await aUser(t.ctx)
    project = await aProject(t.ctx, { creator: owner, files: { a: 'a' } })
    directory = directoryOf(t, project.id)
    work = await client.cloned(client.url(project.fullPath, owner))
  })
  const value = (ref: string) => gitRun(directory, 'rev-parse', '-q', '--verify', ref).then(({ out }) => out.trim())

  it.each(['0', '1', '2'])('new branch, update, force, tag, delete with protocol %s (CL-7)', async (version) => {
    const push = (...args: string[]) => gitRun(work, '-c', `protocol.version=${version}`, 'push', '-q', 'origin', ...args)
    await gitOut(work, 'checkout', '-qB', `b${version}`, 'origin/main')
    const first = await commitIn(work, `one${version}`)
    expect(await push('HEAD')).toMatchObject({ code: 0 })
    expect(await value(`refs/heads/b${version}`)).toBe(first)
    await commitIn(work, `two${version}`)
    expect(await push('HEAD')).toMatchObject({ code: 0 })
    await gitOut(work, 'reset', '-q', '--hard', first)
    const forced = await commitIn(work, `three${version}`)
    expect((await push('HEAD')).code).toBe(1)
    expect(await push('--force', 'HEAD')).toMatchObject({ code: 0 })
    expect(await value(`refs/heads/b${version}`)).toBe(forced)
    await gitOut(work, 'tag', `light${version}`)
    await gitOut(work, 'tag', '-a', '-m', 'words', `heavy${version}`)
    expect(await push('--tags')).toMatchObject({ code: 0 })
    expect(await value(`refs/tags/light${version}`)).toBe(forced)
    expect(await gitOut(directory, 'cat-file', '-t', `refs/tags/heavy${version}`)).toBe('tag')
    expect(await push('--delete', `b${version}`, `light${version}`)).toMatchObject({ code: 0 })
    expect(await value(`refs/heads/b${version}`)).toBe('')
    expect(await value(`refs/tags/light${version}`)).toBe('')
    const branches = (await t.api('get', `${project.path}/repository/branches`, owner).expect(200)).body as { name: string }[]
    expect(branches.map(({ name }) => name)).toEqual(['main'])
  })

  it('a rule of branches or tags refuses all, says why, and moves and keeps nothing (GH-18)', async () => {
    await gitOut(work, 'checkout', '-qB', 'declined', 'origin/main')
    const declined = await commitIn(work, 'declined')
    const pushed = await gitRun(work, 'push', '--porcelain', 'origin', 'HEAD:fine', ':main', 'HEAD:refs/tags/fine')
    expect(pushed.code).toBe(1)
    expect(pushed.err).toMatch(/^remote: The default branch of a project cannot be deleted\.\s*$/m)
    expect(pushed.out.match(/\[remote rejected\] \(pre-receive hook declined\)/g)).toHaveLength(3)
    expect(await value('refs/heads/fine')).toBe('')
    expect(await value('refs/tags/fine')).toBe('')
    expect((await gitRun(directory, 'cat-file', '-e', declined)).code).not.toBe(0)
    expect(readdirSync(join(directory, 'objects')).filter((name) => /tmp|incoming/.test(name))).toEqual([])
  })

  it('--atomic: all or nothing; without it the others proceed (GH-22)', async () => {
    await gitOut(work, 'checkout', '-qB', 'atomic', 'origin/main')
    const head = await commitIn(work, 'atomic')
    await gitOut(work, 'push', '-q', 'origin', 'HEAD:folder')
    // a name below a name cannot be, which Git finds out while it moves refs
    const both = ['HEAD:folder/below', 'HEAD:beside']
    const atomic = await gitRun(work, 'push', '--atomic', 'origin', ...both)
    expect(atomic.code).toBe(1)
    expect(await value('refs/heads/beside')).toBe('')
    const loose = await gitRun(work, 'push', 'origin', ...both)
    expect(loose.code).toBe(1)
    expect(await value('refs/heads/beside')).toBe(head)
    expect(await value('refs/heads/folder/below')).toBe('')
    expect(await gitRun(work, 'push', '--atomic', 'origin', 'HEAD:at1', 'HEAD:at2')).toMatchObject({ code: 0 })
    expect(await value('refs/heads/at1')).toBe(head)
  })

  /** A push as no client would make it. */
  async function raw(
    commands: [old: string, to: string, ref: string][],
    capabilities = 'report-status',
    caller = owner,
    pack: Buffer = EMPTY_PACK,
    to = project,
  ) {
    const lines = commands.map(([old, next, ref], i) => packet(`${old} ${next} ${ref}${i === 0 ? `\0 ${capabilities}` : ''}`))
    const sends = commands.some(([, next]) => next !== ZERO)
    return posted(to.fullPath, 'git-receive-pack', { ...as(caller), body: Buffer.concat([...lines, Buffer.from('0000'), ...(sends ? [pack] : [])]) })
  }

  it('a command whose old value is stale fails alone; with atomic all fail (GH-22)', async () => {
    const [first, second] = [await value('refs/heads/main'), await aCommit(t.ctx, project, { newer: 'x' })]
    await gitOut(directory, 'update-ref', 'refs/heads/stale', second)
    const stale: [string, string, string] = [first, first, 'refs/heads/stale']
    const answer = await raw([stale, [ZERO, second, 'refs/heads/stale-other']])
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('unpack ok')
    expect(answer.text).toMatch(/ng refs\/heads\/stale failed to update ref/)
    expect(answer.text).toContain('ok refs/heads/stale-other')
    expect(await value('refs/heads/stale')).toBe(second)
    const atomic = await raw([stale, [ZERO, second, 'refs/heads/stale-third']], 'report-status atomic')
    expect(atomic.text).toMatch(/ng refs\/heads\/stale /)
    expect(atomic.text).toMatch(/ng refs\/heads\/stale-third /)
    expect(await value('refs/heads/stale-third')).toBe('')
    // one that says the branch is new although it is there
    expect((await raw([[ZERO, first, 'refs/heads/stale']])).text).toContain('ng refs/heads/stale failed to update ref')
    expect(await value('refs/heads/stale')).toBe(second)
  })

  it('invented old values do not pass a rule (GH-20, GH-22)', async () => {
    const developer = await aUser(t.ctx)
    const guarded = await aProject(t.ctx, { developer, files: { a: 'a' } })
    const at = directoryOf(t, guarded.id)
    const head = await gitOut(at, 'rev-parse', 'main')
    for (const ref of ['refs/tags/v1', 'refs/heads/free']) await gitOut(at, 'update-ref', ref, head)
    for (const old of [ZERO, 'a'.repeat(40), head]) {
      for (const ref of ['refs/tags/v1', 'refs/heads/main']) {
        await raw([[old, ZERO, ref]], 'report-status delete-refs', developer, EMPTY_PACK, guarded)
        expect(await gitOut(at, 'rev-parse', ref), `${ref} ${old}`).toBe(head)
      }
    }
    // a delete of an unknown value is not a delete of what is there
    for (const old of [ZERO, 'a'.repeat(40)]) {
      const answer = await raw([[old, ZERO, 'refs/heads/free']], 'report-status delete-refs', developer, EMPTY_PACK, guarded)
      expect(answer.text, old).toContain('ng refs/heads/free')
      expect(await gitOut(at, 'rev-parse', 'refs/heads/free'), old).toBe(head)
    }
    // and an update on an invented base does not count as a fast-forward
    await t.api('post', `${guarded.path}/protected_branches`, guarded.creator).send({ name: 'free', push_access_level: 30 }).expect(201)
    const answer = await raw([['a'.repeat(40), head, 'refs/heads/free']], 'report-status', developer, EMPTY_PACK, guarded)
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('ng refs/heads/free')
    expect(t.logged.filter((line) => line.includes('"level":50') && line.includes(`"project":${guarded.id}`))).toEqual([])
  })

  it('a pack that lacks what it needs moves nothing (GH-7)', async () => {
    const answer = await raw([[ZERO, 'b'.repeat(40), 'refs/heads/hole']])
    expect(answer.status).toBe(200)
    expect(answer.text).toMatch(/ng refs\/heads\/hole/)
    expect(await value('refs/heads/hole')).toBe('')
  })

  it('objects that Git would not check out are refused, and dropped (SEC-87)', async () => {
    const source = client.folder()
    await gitOut(source, 'init', '-q', '-b', 'main')
    writeFileSync(join(source, 'x'), 'x')
    const blob = await gitOut(source, 'hash-object', '-w', 'x')
    for (const name of ['.git', '.GIT', '..', 'a/b']) {
      writeFileSync(join(source, 'tree'), Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.from(blob, 'hex')]))
      const tree = await gitOut(source, 'hash-object', '-t', 'tree', '-w', '--literally', 'tree')
      const commit = await gitOut(source, 'commit-tree', '-m', 'bad', tree)
      const pushed = await gitRun(source, 'push', client.url(project.fullPath, owner), `${commit}:refs/heads/bad`)
      expect(pushed.code, name).toBe(1)
      expect(await value('refs/heads/bad')).toBe('')
      for (const object of [commit, tree]) expect((await gitRun(directory, 'cat-file', '-e', object)).code, name).not.toBe(0)
    }
    expect(readdirSync(join(directory, 'objects')).filter((entry) => /tmp|incoming/.test(entry))).toEqual([])
  })

  it('names that mean something else are no branches (SEC-82, SEC-83)', async () => {
    await gitOut(work, 'checkout', '-qB', 'names', 'origin/main')
    for (const name of ['a'.repeat(40), 'refs/heads/x', 'HEAD', '-x']) {
      const pushed = await gitRun(work, 'push', 'origin', `HEAD:refs/heads/${name}`)
      expect(pushed.code, name).toBe(1)
    }
    expect(await gitOut(directory, 'for-each-ref', '--format=%(refname)', `refs/heads/${'a'.repeat(40)}`, 'refs/heads/refs', 'refs/heads/HEAD')).toBe(
      '',
    )
  })

  it('a branch that cannot have its name is refused alone, and with --atomic all are (GH-18)', async () => {
    await gitOut(work, 'checkout', '-qB', 'names', 'origin/main')
    const head = await commitIn(work, 'names')
    const refs = ['refs/heads/-r', 'refs/heads/named', `refs/heads/${'a'.repeat(40)}`, 'refs/tags/named']
    const pushed = await gitRun(work, 'push', 'origin', ...refs.map((ref) => `HEAD:${ref}`))
    expect(pushed.code).toBe(1)
    expect(pushed.err).toContain("remote: Branch name '-r' is invalid")
    expect(pushed.err).toMatch(/remote rejected\] HEAD -> -r \(deny updating a hidden ref\)/)
    expect(await Promise.all(refs.map(value))).toEqual(['', head, '', head])
    const atomic = await gitRun(work, 'push', '--atomic', 'origin', 'HEAD:refs/heads/-r', 'HEAD:refs/heads/named-too')
    expect([atomic.code, await value('refs/heads/named-too')]).toEqual([1, ''])
    // more names than git is given one by one
    const many: [string, string, string][] = Array.from({ length: 600 }, (_, i) => [ZERO, head, `refs/heads/-${i}`])
    expect((await raw([...many, [ZERO, head, 'refs/heads/among-many']], 'report-status')).text).toContain('ng refs/heads/among-many')
    expect(await value('refs/heads/among-many')).toBe('')
    await gitOut(work, 'push', '-q', 'origin', '--delete', 'refs/heads/named', 'refs/tags/named')
  })

  it('odd but legal names of branches work (SEC-155)', async () => {
    const names = ['schön', 'a+b', 'a#b', 'a%20b', '__proto__', 'null', '0', "it's"]
    await gitOut(work, 'push', '-q', 'origin', ...names.map((name) => `HEAD:refs/heads/${name}`))
    const branches = (await t.api('get', `${project.path}/repository/branches?per_page=100`, owner).expect(200)).body as { name: string }[]
    for (const name of names) expect(branches.map((branch) => branch.name)).toContain(name)
    await gitOut(work, 'push', '-q', 'origin', '--delete', ...names)
  })

  it('a push that probes first, as clients do with large ones', async () => {
    await gitOut(work, 'checkout', '-qB', 'large', 'origin/main')
    const head = await commitIn(work, 'large', randomBytes(3_000_000).toString('hex'))
    expect(await gitRun(work, '-c', 'http.postBuffer=65536', 'push', '-q', 'origin', 'HEAD:large')).toMatchObject({ code: 0 })
    expect(await value('refs/heads/large')).toBe(head)
  })

  it('at most 10,000 refs in one push (SEC-88)', async () => {
    const head = await value('refs/heads/main')
    const commands = Array.from({ length: 10_001 }, (_, i): [string, string, string] => [ZERO, head, `refs/heads/many/${i}`])
    const answer = await raw(commands, 'report-status side-band-64k')
    expect(answer.text).toContain('A push may update at most 10000 refs.')
    expect(await gitOut(directory, 'for-each-ref', '--count=1', 'refs/heads/many')).toBe('')
  })

  it('of several pushes to one branch at once one wins (GH-22)', async () => {
    const clones = await Promise.all([1, 2, 3, 4].map(() => client.cloned(client.url(project.fullPath, owner))))
    const heads = await Promise.all(clones.map((clone, i) => commitIn(clone, `race${i}`)))
    const pushes = await Promise.all(clones.map((clone) => gitRun(clone, 'push', '-q', 'origin', 'HEAD:main')))
    expect(pushes.filter(({ code }) => code === 0)).toHaveLength(1)
    expect(await value('refs/heads/main')).toBe(heads[pushes.findIndex(({ code }) => code === 0)])
  })
})

describe('slow bodies (SEC-142)', () => {
  const slow = Fastify()
  beforeAll(async () => {
    await slow.register(gitHttp, { ctx: t.ctx, minimumRate: { every: 400, bytes: 100 } })
    await slow.listen({ host: '127.0.0.1', port: 0 })
    return () => slow.close()
  })

  it.each(['git-upload-pack', 'git-receive-pack'] as const)(
    '%s: what stops coming is 408 and ends its process; what comes at a pace goes on',
    async (service) => {
      const project = await aProject(t.ctx, { files: { a: 'a' } })
      const { port } = slow.server.address() as AddressInfo
      const authorization = `Basic ${Buffer.from(`x:${project.creator.token}`).toString('base64')}`
      const send = (path: string, say: (asked: ReturnType<typeof request>) => void) =>
        new Promise<{ status: number | undefined; connection: string | undefined }>((resolve, reject) => {
          const asked = request({ host: '127.0.0.1', port, path, method: 'POST', agent: false, headers: { authorization } }, (answer) => {
            answer.resume()
            answer.on('end', () => resolve({ status: answer.statusCode, connection: answer.headers.connection }))
          })
          asked.on('error', reject)
          say(asked)
        })
      const path = `/${project.fullPath}.git/${service}`
      expect(await send(path, (asked) => void asked.write('00'))).toEqual({ status: 408, connection: 'close' })
      await expect.poll(() => gitProcessesIn(directoryOf(t, project.id)), { timeout: 1_000, interval: 20 }).toEqual([])
      // two seconds of a body that keeps coming: unknown capabilities, in one long line
      const head = await gitOut(directoryOf(t, project.id), 'rev-parse', 'main')
      const line =
        service === 'git-upload-pack'
          ? `want ${head} ${'x'.repeat(2_000)}\n`
          : `${ZERO} ${head} refs/heads/paced\0 report-status ${'x'.repeat(2_000)}`
      const body = Buffer.concat([packet(line), Buffer.from('0000'), service === 'git-upload-pack' ? packet('done\n') : EMPTY_PACK])
      const steadily = await send(path, (asked) => {
        let at = 0
        const timer = setInterval(() => {
          asked.write(body.subarray(at, at + 100))
          at += 100
          if (at < body.length) return
          clearInterval(timer)
          asked.end()
        }, 80)
      })
      expect(steadily.status).toBe(200)
    },
  )
})

describe('limits of a push (GH-24, SEC-88)', () => {
  const small = testApp({ ROOST_MAX_PUSH_BYTES: '100000' })
  const pusher = gitClient(small)
  it('a pack above the limit is an unpack error and leaves nothing', async () => {
    const { id, fullPath, creator } = await aProject(small.ctx, { files: { a: 'a' } })
    const work = await pusher.cloned(pusher.url(fullPath, creator))
    await commitIn(work, 'large', randomBytes(200_000).toString('hex'))
    const pushed = await gitRun(work, 'push', 'origin', 'HEAD:large')
    expect(pushed.code).toBe(1)
    expect(pushed.err).toMatch(/unpack|exceeds/)
    const directory = directoryOf(small, id)
    expect(await gitOut(directory, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main')
    expect(readdirSync(join(directory, 'objects')).filter((name) => /tmp|incoming/.test(name))).toEqual([])
    expect(readdirSync(join(directory, 'objects/pack')).filter((name) => name.startsWith('tmp'))).toEqual([])
    await gitOut(work, 'checkout', '-qB', 'small', 'origin/main')
    await commitIn(work, 'small')
    expect(await gitRun(work, 'push', '-q', 'origin', 'HEAD:small')).toMatchObject({ code: 0 })
  })
})

describe('push to create (GH-26)', () => {
  let owner: TestUser
  beforeAll(async () => {
    owner = await aUser(t.ctx)
  })
  const exists = async (fullPath: string) => (await t.api('get', `/projects/${encodeURIComponent(fullPath)}`, owner)).status === 200
  const pushed = async (fullPath: string, user: TestUser, { option, branch = 'trunk' }: { option?: string; branch?: string } = {}) => {
    const work = client.folder()
    await gitOut(work, 'init', '-q', '-b', 'trunk')
    await commitIn(work, 'a')
    return gitRun(work, 'push', ...(option ? [option] : []), client.url(fullPath, user), `HEAD:refs/heads/${branch}`)
  }

  it('creates the private project, takes the push, and says so on the terminal', async () => {
    const fullPath = `${owner.username}/by-push`
    const dry = await pushed(fullPath, owner, { option: '--dry-run' })
    expect([dry.err, dry.code, await exists(fullPath)]).toEqual([expect.stringContaining('[new branch]'), 0, false])
    const first = await pushed(fullPath, owner)
    expect(first.code).toBe(0)
    expect(first.err).toContain(`remote: The private project ${fullPath} was created.`)
    expect(first.err).toContain(`git remote add origin http://roost.test/${fullPath}.git`)
    const { body } = await t.api('get', `/projects/${encodeURIComponent(fullPath)}`, owner).expect(200)
    expect(body).toMatchObject({ visibility: 'private', default_branch: 'trunk', empty_repo: false, creator_id: owner.id })
    const again = await pushed(fullPath, owner, { branch: 'other' })
    expect([again.code, again.err.includes('was created')]).toEqual([0, false])
  })

  it('creates in a group for callers who may create there, once for two pushes at once', async () => {
    const group = await aGroup(t.ctx, { creator: owner })
    const both = await Promise.all([1, 2].map(() => pushed(`${group.fullPath}/twice`, owner, { option: '--force' })))
    expect(both.some(({ code }) => code === 0)).toBe(true)
    expect(await exists(`${group.fullPath}/twice`)).toBe(true)
  })

  it('creates nothing for others, for names that are none, for wikis, and for tokens that only read', async () => {
    const other = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner })
    for (const [fullPath, user] of [
      [`${owner.username}/theirs`, other],
      [`${group.fullPath}/theirs`, other],
      [`no-such-namespace/x`, owner],
      [`${owner.username}/-bad-`, owner],
      [`${owner.username}/none.wiki`, owner],
    ] as const) {
      const { code, err } = await pushed(fullPath, user)
      expect([code, err]).toEqual([128, expect.stringMatching(/not found/i)])
      expect(await exists(fullPath)).toBe(false)
    }
    const reader = await aToken(t.ctx, owner, ['read_repository'])
    expect((await pushed(`${owner.username}/read-only`, { ...owner, token: reader })).code).toBe(128)
    expect((await gitRun(client.folder(), 'clone', client.url(`${owner.username}/never`, owner))).code).toBe(128)
    expect(await exists(`${owner.username}/never`)).toBe(false)
  })
})

describe('what the log says', () => {
  let owner: TestUser
  let project: TestProject
  beforeAll(async () => {
    project = await aProject(t.ctx)
    owner = project.creator
  })
  const since = (from: number, msg: string) =>
    t.logged
      .slice(from)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line['msg'] === msg)

  it('one line a push: who, what and how much; and each Git request by its route', async () => {
    const { fullPath } = await aProject(t.ctx, { creator: owner })
    const work = client.folder()
    await gitOut(work, 'init', '-q', '-b', 'main')
    const head = await commitIn(work, 'a')
    const from = t.logged.length
    await gitOut(work, 'push', '-q', client.url(fullPath, owner), 'main')
    expect(since(from, 'push')).toMatchObject([
      { user: owner.username, project: fullPath, refs: [`refs/heads/main 000000000000..${head.slice(0, 12)}`], refs_total: 1, ip: '127.0.0.1' },
    ])
    expect(since(from, 'push')[0]?.['bytes']).toBeGreaterThan(100)
    // written when the answer is out, which the client may have before
    const routes = () => since(from, 'request').map(({ route, path }) => route ?? path)
    await expect.poll(routes).toContain('/:project.git/git-receive-pack')
    expect(routes()).not.toContain('/*')
    const ids = since(from, 'request').map(({ reqId }) => reqId)
    expect(ids).toEqual([...new Set(ids)])
    // the first request, without credentials, is how Git asks, not a failure
    expect(since(from, 'a sign-in failed')).toEqual([])
  })

  it('paths that are no route, without their query', async () => {
    const from = t.logged.length
    await http('/no/such/page?private_token=secret-secret-secret')
    await http('/api/v4/no/such?private_token=secret-secret-secret')
    await expect.poll(() => since(from, 'request').flatMap(({ path }) => path ?? [])).toEqual(['/no/such/page', '/api/v4/no/such'])
    expect(t.logged.slice(from).join('')).not.toContain('secret-secret')
  })

  it('a failed sign-in with account, address and reason', async () => {
    const from = t.logged.length
    await http(`/${project.fullPath}.git/info/refs?service=git-receive-pack`, { basic: [owner.username, 'wrong password'] as [string, string] })
    await http(`/${project.fullPath}.git/info/refs?service=git-receive-pack`, { basic: ['no-such-user', 'wrong password'] as [string, string] })
    expect(since(from, 'a sign-in failed')).toMatchObject([
      { level: 40, account: owner.username, address: '127.0.0.1', reason: 'wrong password' },
      { level: 40, account: 'no-such-user', address: '127.0.0.1', reason: 'no such account' },
    ])
  })
})
