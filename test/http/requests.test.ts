import { readFileSync } from 'node:fs'
import { count } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { namespaces, projects, users } from '../../src/db/schema/index.js'
import { families, sections } from '../../src/routes/index.js'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, aToken, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { rawAnswer } from '../support/raw.js'
import { oneIn } from '../support/rounds.js'

const t = testApp()
const sshKeys = (JSON.parse(readFileSync('test/support/keys/ssh-keys.json', 'utf8')) as { bits: number; line: string }[]).filter(
  ({ bits }) => bits >= 2048,
)
let admin: TestUser
let user: TestUser
let project: TestProject

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: user, visibility: 'public', files: { 'README.md': 'hello\n' } })
})

const rows = async () => {
  const of = async (table: typeof users | typeof projects | typeof namespaces) => (await t.ctx.db.read.select({ n: count() }).from(table))[0]?.n
  return [await of(users), await of(projects), await of(namespaces)]
}

/** A call whose bytes are given; the connection ends with the answer. */
const raw = (method: string, path: string, { headers = [], body = '' }: { headers?: string[]; body?: string } = {}) =>
  rawAnswer(
    t.url,
    [
      `${method} ${path} HTTP/1.1`,
      'Host: roost.test',
      'Connection: close',
      `PRIVATE-TOKEN: ${user.token}`,
      ...headers,
      ...(body ? [`Content-Length: ${body.length}`] : []),
      '',
      body,
    ].join('\r\n'),
  )

describe('route and method (G-1, W-30, VE-5)', () => {
  it('each family of endpoints is a plugin, with the name of its section in the reference', () => {
    const plugins = t.app.printPlugins()
    for (const { name } of sections) expect(plugins.split(` ${name} `).length, name).toBe(2)
  })

  it.each(['/nothing', '/projects/1/nothing', '', '/', '/users/abc', '/users/1x', '/users/-1', '/users/1.0', '/users/%2B1'])(
    'GET %s is no route',
    async (path) => {
      await t.api('get', path, user).expect(404, { error: '404 Not Found' }).expect('content-type', 'application/json')
    },
  )

  it.each(['/projects/1/nothing', '/session', '/nothing'])('POST %s is no route, whatever the body and the token are (G-1, G-10)', async (path) => {
    for (const caller of [user, null]) {
      const answers = [
        await t.api('post', path, caller),
        await t.api('post', path, caller).send({ a: 'b' }),
        await t.api('post', path, caller).type('form').send('a=b'),
        await t.api('post', path, caller).field('a', 'b'),
      ]
      for (const { status, body } of answers) expect([status, body]).toEqual([404, { error: '404 Not Found' }])
    }
  })

  it('/users/:id takes digits only, for every method (G-3)', async () => {
    for (const method of ['get', 'post', 'put', 'patch', 'delete'] as const)
      await t.api(method, '/users/abc', admin).expect(404, { error: '404 Not Found' })
    await t.api('patch', `/users/${user.id}`, admin).expect(405)
  })

  it('another path parameter that is no integer is named (G-3)', async () => {
    await t.api('get', `${project.path}/members/abc`, user).expect(400, { error: 'user_id is invalid' })
    await t.api('delete', `${project.path}/members/1x`, user).expect(400, { error: 'user_id is invalid' })
  })

  it('every declared path answers an undefined method with 405 and the methods it has', async () => {
    const of = new Map<string, Set<string>>()
    for (const { method, path } of families.flat()) {
      const url = path.replace(/:[a-z_]+(\([^/]*\))?/g, '1')
      const methods = of.get(url) ?? new Set()
      methods.add(method)
      if (method === 'GET') methods.add('HEAD')
      of.set(url, methods)
    }
    expect(of.size).toBeGreaterThan(30)
    // a wiki page may be called as what stands beside it
    for (const method of of.get('/projects/1/wikis/1') ?? []) of.get('/projects/1/wikis/attachments')?.add(method)
    for (const [url, methods] of of) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
        if (methods.has(method)) continue
        const response = await t.app.inject({ method, url: `/api/v4${url}`, headers: { 'private-token': admin.token } })
        expect([method, url, response.statusCode, response.headers['allow']]).toEqual([method, url, 405, [...methods].sort().join(', ')])
        expect(response.json()).toEqual({ error: '405 Not Allowed' })
      }
    }
  })

  it('other routes say so too (SEC-3)', async () => {
    for (const [method, path, allow] of [
      ['GET', '/oauth/token', 'POST'],
      ['DELETE', '/-/health', 'GET, HEAD'],
      ['PUT', '/api/v4/openapi.json', 'GET, HEAD'],
    ] as const) {
      const response = await fetch(t.url + path, { method })
      expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
    }
  })

  it.each(['/api/v4/./user', '/api/v4/user;x', '/API/v4/user', '/api/v4/User', '/api/v4/user/%2F', '/api/v4%2Fuser', '/api/v4/x/../user'])(
    '%s is not /user, whatever a proxy makes of it (SEC-7)',
    async (path) => {
      const { status, body } = await raw('GET', path)
      expect([status, JSON.parse(body)]).toEqual([404, { error: '404 Not Found' }])
    },
  )

  it('slashes too many name the same route, with the same decision, for every endpoint (G-1, SEC-7)', { tags: ['long'] }, async () => {
    const reader = await aToken(t.ctx, user, ['read_user'])
    const ask = (method: string, path: string, credential: string) =>
      rawAnswer(t.url, `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${credential}Content-Length: 0\r\n\r\n`)
    for (const [i, { method, path }] of families.flat().entries()) {
      const plain = `/api/v4${path.replace(/:[a-z_]+(\([^/]*\))?/g, '1')}`
      for (const credential of oneIn(2, ['', `PRIVATE-TOKEN: ${reader}\r\n`], i % 2)) {
        const { status, body, headers } = await ask(method, plain, credential)
        for (const odd of [`${plain}/`, `${plain.replaceAll('/', '//')}///`]) {
          const given = await ask(method, odd, credential)
          expect([method, odd, given.status, given.headers['allow']]).toEqual([method, odd, status, headers['allow']])
          if (status >= 400) expect(given.body).toBe(body)
        }
      }
    }
  })

  it('they are no part of what a request is about (G-1)', async () => {
    const own = await aProject(t.ctx, { creator: user })
    const { body } = await t.api('post', `${own.path}/issues/`, user).send({ title: 'Slashed' }).expect(201)
    expect((await t.api('get', `${own.path}//issues/${body.iid}/`, user).expect(200)).body).toMatchObject({ title: 'Slashed' })
    expect((await t.api('get', `/projects/${encodeURIComponent(own.fullPath)}/`, user).expect(200)).body).toMatchObject({ id: own.id })
    // an escaped slash is none of them
    for (const path of [`${own.fullPath.replace('/', '%2F%2F')}`, `${encodeURIComponent(own.fullPath)}%2F`])
      await t.api('get', `/projects/${path}`, user).expect(404, { message: '404 Project Not Found' })
    await t.api('put', '/projects/', user).expect(405).expect('allow', 'GET, HEAD, POST')
    const answer = await rawAnswer(
      t.url,
      `GET //api/v4//users/?page=2&per_page=1&search=//x/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nPRIVATE-TOKEN: ${user.token}\r\n\r\n`,
    )
    expect(answer.status).toBe(200)
    expect(answer.headers['link']).toContain('<http://a/api/v4/users?page=1&per_page=1&search=%2F%2Fx%2F>; rel="first"')
  })

  it('an escaped letter is the letter, with the same decision (SEC-7)', async () => {
    const reader = await aToken(t.ctx, user, ['read_user'])
    const answer = (path: string) => rawAnswer(t.url, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nPRIVATE-TOKEN: ${reader}\r\n\r\n`)
    expect((await answer('/api/v4/%75ser')).status).toBe(200)
    expect((await answer('/api/v4/%70rojects')).status).toBe(403)
  })

  it('nothing is redirected (W-18)', async () => {
    for (const method of ['post', 'put'] as const) expect(Math.trunc((await t.api(method, '/projects/', user)).status / 100)).toBe(4)
  })
})

describe('ids and paths (G-2, W-7, W-8)', () => {
  it('a project and a group are found by id and by full path, whatever its case', async () => {
    const group = await aGroup(t.ctx, { creator: user, path: `Mixed-Case${user.id}` })
    const inner = await aProject(t.ctx, { creator: user, namespace_id: group.id, name: 'Dots.and_more', path: 'Dots.and_more' })
    const encoded = encodeURIComponent(inner.fullPath)
    for (const name of [inner.id, encoded, encoded.toLowerCase(), encoded.replaceAll('.', '%2E')]) {
      expect((await t.api('get', `/projects/${name}`, user).expect(200)).body).toMatchObject({ id: inner.id })
    }
    for (const name of [group.id, group.fullPath, group.fullPath.toUpperCase()])
      expect((await t.api('get', `/groups/${name}`, user).expect(200)).body).toMatchObject({ id: group.id })
  })

  it('a raw slash is a separator, %252F is no slash, and a value without one names no project', async () => {
    await t.api('get', `/projects/${project.fullPath}`, user).expect(404, { error: '404 Not Found' })
    await t.api('get', `/projects/${project.fullPath.replace('/', '%252F')}`, user).expect(404, { message: '404 Project Not Found' })
    await t.api('get', '/projects/justaname', user).expect(404, { message: '404 Project Not Found' })
  })

  it('digits are an id and never a path (SEC-52)', async () => {
    const group = await aGroup(t.ctx, { creator: user, path: '77777' })
    await t.api('get', '/groups/77777', user).expect(404)
    expect((await t.api('get', `/groups/${group.id}`, user).expect(200)).body).toMatchObject({ path: '77777' })
  })

  it.each(['0', '-1', '%201', '1.0', '1e3', '0x1', '%D9%A1', '1abc', '2147483648', '9223372036854775808', '9'.repeat(40)])(
    'the id %s has no user (SEC-51, G-49)',
    async (id) => {
      for (const path of [`/projects/${id}`, `/groups/${id}`, `/namespaces/${id}`, `/users/${id}`])
        expect((await t.api('get', path, admin)).status).toBe(404)
      expect([400, 404]).toContain((await t.api('get', `${project.path}/members/${id}`, user)).status)
    },
  )

  it('long parameters are found or missed, never a fault (W-7, SEC-68)', async () => {
    for (const length of [200, 1_024, 4_000])
      await t.api('get', `/projects/${'a'.repeat(length)}%2Fb`, user).expect(404, { message: '404 Project Not Found' })
    expect([404, 414]).toContain((await t.api('get', `/projects/${'a'.repeat(5_000)}`, user)).status)
    const branch = `${'long/'.repeat(39)}name`
    await t.api('post', `${project.path}/repository/branches`, user).send({ branch, ref: 'main' }).expect(201)
    expect((await t.api('get', `${project.path}/repository/branches/${encodeURIComponent(branch)}`, user).expect(200)).body).toMatchObject({
      name: branch,
    })
  })

  it('a path parameter wins over query and body, the body over the query (G-4)', async () => {
    const other = await aProject(t.ctx, { creator: user })
    expect((await t.api('get', `${project.path}?id=${other.id}`, user).expect(200)).body).toMatchObject({ id: project.id })
    const { body } = await t
      .api('put', `${other.path}?description=query&id=${project.id}`, user)
      .send({ id: project.id, description: 'body' })
      .expect(200)
    expect(body).toMatchObject({ id: other.id, description: 'body' })
  })
})

describe('bodies (G-5, W-1, W-2, W-3)', () => {
  it('the same parameters come as query, form, multipart and JSON', async () => {
    const call = () => t.api('post', '/projects', user)
    const names = ['q', 'f', 'm', 'j'].map((kind) => `${kind}${user.id}`)
    const tags = (answer: { body: unknown }) => (answer.body as { tag_list: string[] }).tag_list
    expect(tags(await t.api('post', `/projects?name=${names[0]}&tag_list[]=a&tag_list[]=b`, user).expect(201))).toEqual(['a', 'b'])
    expect(tags(await call().type('form').send(`name=${names[1]}&tag_list[]=a&tag_list[]=b`).expect(201))).toEqual(['a', 'b'])
    expect(
      tags(
        await call()
          .field('name', names[2] ?? '')
          .field('tag_list[]', ['a', 'b'])
          .expect(201),
      ),
    ).toEqual(['a', 'b'])
    expect(
      tags(
        await call()
          .send({ name: names[3], tag_list: ['a', 'b'] })
          .expect(201),
      ),
    ).toEqual(['a', 'b'])
  })

  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json ;charset=UTF-8',
    'application/json;\tcharset="utf-8"',
  ])('%s is JSON (SEC-74)', async (type) => {
    await t.api('post', '/groups', user).set('content-type', type).send('{"path":"x"}').expect(400, { error: 'name is missing' })
  })

  it('clients 1: an empty JSON body is none, on every method (W-2)', async () => {
    const json = (method: 'get' | 'post' | 'put' | 'delete', path: string) => t.api(method, path, user).set('content-type', 'application/json')
    const own = await aProject(t.ctx, { creator: user })
    await json('get', own.path).expect(200)
    await json('post', `${own.path}/star`).expect(201)
    expect((await json('put', own.path).expect(400)).body).toMatchObject({
      error: expect.stringContaining('at least one parameter must be provided') as string,
    })
    await json('delete', own.path).expect(202)
  })

  it('names the attributes that an update does not have, if it has no other (NP-4)', async () => {
    const own = await aProject(t.ctx, { creator: user, files: { a: 'x' } })
    const group = await aGroup(t.ctx, { creator: user })
    const say = async (path: string, body: object) => (await t.api('post', path, user).send(body).expect(201)).body
    const hook = await say(`${own.path}/hooks`, { url: 'http://example.com' })
    await say(`${own.path}/issues`, { title: 'x' })
    await say(`${own.path}/merge_requests`, { title: 'x', source_branch: 'topic', target_branch: 'main' })
    await say(`${own.path}/labels`, { name: 'bug', color: '#000000' })
    const milestone = await say(`${own.path}/milestones`, { title: 'v1' })
    await say(`${own.path}/releases`, { tag_name: 'v1', ref: 'main' })
    const updates: [string, number][] = [
      [own.path, 400],
      [group.path, 400],
      [`/users/${user.id}`, 404],
      [`${own.path}/hooks/${hook.id}`, 400],
      [`${own.path}/issues/1`, 400],
      [`${own.path}/merge_requests/1`, 400],
      [`${own.path}/labels/bug`, 400],
      [`${own.path}/milestones/${milestone.id}`, 400],
      [`${own.path}/releases/v1`, 400],
      [`${own.path}/notification_settings`, 400],
      [`${group.path}/notification_settings`, 400],
      ['/notification_settings', 400],
    ]
    for (const [path, status] of updates) {
      const caller = path.startsWith('/users') ? admin : user
      const { body } = await t.api('put', path, caller).send({ colour: 'x', 'weight two': 1, private_token: caller.token }).expect(status)
      expect([path, body]).toEqual([
        path,
        {
          error: expect.stringMatching(
            /^no such attribute: colour, weight two; [a-z_, ]+ are missing, at least one parameter must be provided$/,
          ) as string,
        },
      ])
    }
    // what it has is changed, whatever stands beside it (G-6)
    await t.api('put', group.path, user).send({ description: 'y', colour: 'x' }).expect(200)
    await t.api('put', group.path, user).expect(200)
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${'x'.repeat(200)}${i}`, 1]))
    const { body } = await t.api('put', own.path, user).send(many).expect(400)
    expect(body.error.length).toBeLessThan(5_000)
  })

  it('a deletion is refused where the resource has changed since If-Unmodified-Since (G-89)', async () => {
    const own = await aProject(t.ctx, { creator: user, files: { a: 'x' } })
    const say = async (path: string, body: object) => (await t.api('post', path, user).send(body).expect(201)).body
    const snippet = { title: 's', file_name: 'a', content: 'x', visibility: 'private' }
    const person = await aUser(t.ctx)
    await say(`${own.path}/members`, { user_id: person.id, access_level: 20 })
    await say(`${own.path}/repository/branches`, { branch: 'topic', ref: 'main' })
    const fork = await aProject(t.ctx, { creator: user })
    await t.api('post', `${fork.path}/fork/${own.id}`, user).expect(201)
    const key = await say(`${own.path}/deploy_keys`, { title: 'k', key: (sshKeys[0] as { line: string }).line })
    const paths: [string, number][] = [
      [`${own.path}/snippets/${(await say(`${own.path}/snippets`, snippet)).id}`, 204],
      [`/snippets/${(await say('/snippets', snippet)).id}`, 204],
      [`${own.path}/members/${person.id}`, 204],
      [`${own.path}/deploy_keys/${key.id}`, 204],
      [`${own.path}/repository/branches/topic`, 204],
      [`${fork.path}/fork`, 204],
      [own.path, 202],
    ]
    for (const [path, status] of paths) {
      const remove = (since: string) => t.api('delete', path, user).set('If-Unmodified-Since', since)
      const { body } = await remove('Mon, 01 Jan 2018 00:00:00 GMT').expect(412)
      expect([path, body]).toEqual([path, { message: '412 Precondition Failed' }])
      await remove('Thu, 01 Jan 2099 00:00:00 GMT').expect(status)
    }
  })

  it('the body of a DELETE is read, that of a GET is not (W-2, SEC-76)', async () => {
    const sudo = { sudo: user.username }
    const own = await aProject(t.ctx, { creator: user })
    await t.api('delete', own.path, admin).type('form').send('sudo=no-such-user').expect(404)
    const answer = await rawAnswer(
      t.url,
      `GET /api/v4/user HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: text/odd\r\nPRIVATE-TOKEN: ${admin.token}\r\nContent-Length: ${JSON.stringify(sudo).length}\r\n\r\n${JSON.stringify(sudo)}`,
    )
    expect(JSON.parse(answer.body)).toMatchObject({ username: admin.username })
  })

  it.each(['{', '[1]', '"x"', 'true'])('%s is no JSON object (W-20)', async (text) => {
    const { body } = await t.api('post', '/groups', user).set('content-type', 'application/json').send(text).expect(400)
    expect((body as { error: string }).error).toContain('message body does not match declared format')
  })

  it.each(['text/plain', 'application/xml', 'json', 'a/b;;', 'application/json/x', 'image/png'])(
    'a body of type %s is refused by its name (G-5)',
    async (type) => {
      const { body } = await t.api('post', '/groups', user).set('content-type', type).send('x').expect(406)
      expect(body).toEqual({ error: `The requested content-type '${type.split(';')[0]}' is not supported.` })
      await t.api('post', '/groups', user).set('content-type', type).expect(400, { error: 'name is missing, path is missing' })
    },
  )

  it('other charsets and compressed bodies are refused, a missing type too (SEC-74, SEC-76)', async () => {
    await t.api('post', '/groups', user).set('content-type', 'application/json; charset=latin1').send('{}').expect(415)
    await t.api('post', '/groups', user).set('content-type', 'application/json').set('content-encoding', 'gzip').send('{}').expect(415)
    expect((await raw('POST', '/api/v4/groups', { body: 'name=x' })).status).toBe(406)
  })

  it('8 MiB pass, one byte more is a 413, before and without a length (SEC-71)', async () => {
    const limit = 8 * 1024 * 1024
    const body = (size: number) => `{"name":"${'a'.repeat(size - 11)}"}`
    const send = (size: number) => t.api('post', '/groups', user).set('content-type', 'application/json').send(body(size))
    await send(limit).expect(400, { error: 'path is missing' })
    await send(limit + 1).expect(413, { message: '413 Request Entity Too Large' })
    const streamed = await fetch(`${t.url}/api/v4/groups`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'PRIVATE-TOKEN': user.token },
      body: new Blob([body(limit + 1)]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect(streamed.status).toBe(413)
    // a commit may be larger
    await t
      .api('post', `${project.path}/repository/commits`, user)
      .send({ branch: 'main', commit_message: 'Large', actions: [{ action: 'create', file_path: 'x', content: 'a'.repeat(limit) }] })
      .expect(201)
  })

  it('bytes that are no text are refused before anything is stored (SEC-50, SEC-49)', async () => {
    const before = await rows()
    const bytes = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff]), Buffer.from('","path":"a"}')])
    const { status } = await fetch(`${t.url}/api/v4/groups`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'PRIVATE-TOKEN': user.token },
      body: bytes,
    })
    expect(status).toBe(400)
    for (const text of ['{"name":"a\\u0000","path":"a"}', '{"name":"\\ud800","path":"a"}'])
      await t.api('post', '/groups', user).set('content-type', 'application/json').send(text).expect(400)
    for (const query of ['a=%00', 'a=%ff', '%00=1', 'search=%ed%a0%80', `${'a'.repeat(300)}=1`])
      expect((await raw('GET', `/api/v4/projects?${query}`)).status).toBe(400)
    for (const path of ['/api/v4/projects/a%00b', '/api/v4/groups/%00', '/a%00/b.git/info/refs?service=git-upload-pack'])
      expect((await raw('GET', path)).status).toBe(404)
    for (const path of ['/api/v4/projects/%ff', '/api/v4/projects/%zz', '/%']) expect((await raw('GET', path)).status).toBe(400)
    expect(await rows()).toEqual(before)
    expect((await t.api('get', '/user', user)).status).toBe(200)
  })

  it('text comes back as it was sent (SEC-50, W-12)', async () => {
    const description = 'emoji 🎉, right to left \u202eabc, combining e\u0301, "quotes" \\ and\nlines'
    const own = await aProject(t.ctx, { creator: user })
    for (const send of [
      (call: ReturnType<typeof t.api>) => call.send({ description }),
      (call: ReturnType<typeof t.api>) => call.type('form').send({ description }),
      (call: ReturnType<typeof t.api>) => call.field('description', description),
    ])
      expect((await send(t.api('put', own.path, user)).expect(200)).body).toMatchObject({ description })
  })
})

describe('multipart (SEC-75)', () => {
  const body = (...parts: string[]) => `${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`
  const field = (name: string, value: string) => `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}`
  const send = (text: string) => raw('POST', '/api/v4/groups', { headers: ['Content-Type: multipart/form-data; boundary=b'], body: text })

  it('reads fields, with brackets', async () => {
    expect(JSON.parse((await send(body(field('path', 'x')))).body)).toEqual({ error: 'name is missing' })
    const answer = await raw('POST', '/api/v4/projects', {
      headers: ['Content-Type: multipart/form-data; boundary=b'],
      body: body(field('name', `mp${user.id}`), field('tag_list[]', 'a'), field('tag_list[]', 'b')),
    })
    expect(JSON.parse(answer.body)).toMatchObject({ tag_list: ['a', 'b'] })
  })

  it.each([
    ['one name twice', body(field('name', 'a'), field('name', 'b'))],
    ['a part without a name', body('Content-Disposition: form-data\r\n\r\nx')],
    ['a NUL', body(field('name', 'a\0b'))],
    ['no UTF-8', body(field('name', 'a\xff'))],
    ['a prototype', body(field('__proto__', 'x'))],
    ['1,001 fields', body(...Array.from({ length: 1_001 }, (_, i) => field(`f${i}`, 'x')))],
    ['an end that never comes', `--b\r\n${field('name', 'a')}`],
    ['no boundary at all', 'nothing of that kind'],
  ])('refuses %s', async (_, text) => {
    const { status, body: answer } = await send(text)
    expect(status).toBe(400)
    expect(JSON.parse(answer)).toHaveProperty('error')
  })

  it('a field above 1 MiB, and fields above 8 MiB together, are a 413 (SEC-75, SEC-71)', async () => {
    expect((await send(body(field('name', 'a'.repeat(1_048_577))))).status).toBe(413)
    expect((await send(body(...Array.from({ length: 9 }, (_, i) => field(`f${i}`, 'a'.repeat(1_000_000)))))).status).toBe(413)
  })

  it('bracket names repeat, as clients send a commit (W-3)', async () => {
    const parts = [field('branch', 'main'), field('commit_message', 'Two files')]
    for (const name of ['one', 'two'])
      parts.push(field('actions[][action]', 'create'), field('actions[][file_path]', `${name}.txt`), field('actions[][content]', name))
    const { status } = await raw('POST', `/api/v4${project.path}/repository/commits`, {
      headers: ['Content-Type: multipart/form-data; boundary=b'],
      body: body(...parts),
    })
    expect(status).toBe(201)
  })
})

describe('parameters over HTTP', () => {
  it('unknown and misplaced parameters are ignored and never stored (G-6, W-6, SEC-9)', async () => {
    const { body } = await t
      .api('post', '/projects', user)
      .send({
        name: `sly${user.id}`,
        id: 1,
        creator_id: admin.id,
        created_at: '2001-01-01',
        star_count: 99,
        archived: true,
        namespace: admin.id,
        forks_count: 7,
        state: 'x',
      })
      .expect(201)
    expect(body).toMatchObject({ creator_id: user.id, star_count: 0, forks_count: 0, archived: false, namespace: { path: user.username } })
    expect((body as { created_at: string }).created_at > '2020').toBe(true)
    const group = await t
      .api('post', '/groups', user)
      .send({ name: 'Sly', path: `sly-group${user.id}`, owner_id: admin.id, full_path: 'x/y', admin: true })
      .expect(201)
    expect(group.body).toMatchObject({ full_path: `sly-group${user.id}` })
    expect((await t.api('get', '/user?is_admin=true&admin=true', user).expect(200)).body).not.toHaveProperty('is_admin')
  })

  it('a scalar as list or map, or twice, is no fault (SEC-54)', async () => {
    for (const query of ['search[]=x', 'search[$ne]=x', 'page[]=1', 'archived[a]=1', 'order_by[]=id'])
      await t.api('get', `/projects?${query}`, user).expect(400)
    await t.api('get', '/projects?search=x&search=project', user).expect(200)
    await t
      .api('post', '/groups', user)
      .send({ name: { a: 1 }, path: ['x'] })
      .expect(400, { error: 'name is invalid, path is invalid' })
  })

  it('words are fixed and values are bound (SEC-55, SEC-56)', async () => {
    await t
      .api('get', `/projects?order_by=${encodeURIComponent('id;drop table users--')}`, user)
      .expect(400, { error: 'order_by does not have a valid value' })
    for (const word of ["'", '"', ';', '--', '$1', '\\', "') or true --", '%', '_', '\u0001']) {
      expect((await t.api('get', `/projects?search=${encodeURIComponent(word)}&membership=true`, user).expect(200)).body).toEqual(expect.any(Array))
      await t.api('get', `/namespaces?search=${encodeURIComponent(word)}`, user).expect(200)
    }
  })

  it('wildcards are letters, and a search ends at 255 characters (SEC-57)', async () => {
    const own = await aProject(t.ctx, { creator: user, name: 'hundred_percent', description: '100% \\o/' })
    const found = async (text: string) =>
      ((await t.api('get', `/projects?search=${encodeURIComponent(text)}`, user).expect(200)).body as { id: number }[]).map(({ id }) => id)
    expect(await found('100%')).toEqual([own.id])
    expect(await found('\\o/')).toEqual([own.id])
    expect(await found('d_p')).toEqual([own.id])
    expect(await found('dXp')).toEqual([])
    for (const path of ['/projects', '/groups', '/namespaces', '/users', '/personal_access_tokens']) {
      await t.api('get', `${path}?search=${'a'.repeat(255)}`, user).expect(200)
      await t.api('get', `${path}?search=${'a'.repeat(256)}`, user).expect(400, { error: 'search is too long (maximum is 255 characters)' })
    }
  })

  it('no key of a body reaches a prototype (SEC-72)', async () => {
    await t
      .api('post', '/groups', user)
      .set('content-type', 'application/json')
      .send('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')
      .expect(400)
    await t.api('get', '/projects?a[__proto__][polluted]=1&__proto__[polluted]=1', user).expect(200)
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  // an expression that backtracks would exceed the timeout many times
  it('long runs of one character are refused in linear time (SEC-67)', async () => {
    for (const char of ['-', '.', ' ', 'a', '/', '@']) {
      const text = char.repeat(1_000_000)
      await t.api('post', '/groups', user).send({ name: text, path: text, description: text }).expect(400)
      await t.api('post', '/users', admin).send({ name: text, username: text, email: text, password: text, website_url: text, bio: text }).expect(400)
    }
  })
})

describe('answers (G-7, G-8, W-12 to W-19)', () => {
  it('the headers of every answer (SEC-5, G-8, W-12, W-19)', async () => {
    const calls: [string, string, number][] = [
      ['GET', '/api/v4/user', 200],
      ['GET', '/api/v4/nothing', 404],
      ['PUT', '/api/v4/user', 405],
      ['GET', '/api/v4/projects/%zz', 400],
      ['GET', '/api/v4/projects?page=x', 400],
      ['POST', '/api/v4/groups', 400],
      ['GET', '/x/y', 404],
      ['GET', '/-/readiness', 200],
    ]
    for (const [method, path, status] of calls) {
      const response = await fetch(t.url + path, { method, headers: { 'PRIVATE-TOKEN': user.token } })
      expect([path, response.status]).toEqual([path, status])
      const header = (name: string) => response.headers.get(name)
      expect(header('content-type')).toBe('application/json')
      expect(header('x-frame-options')).toBe('SAMEORIGIN')
      expect(header('x-content-type-options')).toBe('nosniff')
      expect(header('x-request-id')).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
      expect(header('cache-control')).toMatch(/^(private|no-store)/)
      expect(header('access-control-allow-origin')).toBe('*')
      expect(header('access-control-allow-credentials')).toBeNull()
      expect([header('server'), header('x-powered-by'), header('set-cookie')]).toEqual([null, null, null])
      await response.json()
    }
  })

  it('the id of a request is the client’s when it is harmless (SEC-5)', async () => {
    await t.api('get', '/user', user).set('X-Request-Id', 'abc_DEF-123').expect('x-request-id', 'abc_DEF-123')
    for (const id of ['a b', 'a'.repeat(65), 'ä', '<x>', 'a;b']) {
      const { headers } = await raw('GET', '/api/v4/user', { headers: [`X-Request-Id: ${id}`] })
      expect(headers['x-request-id']).toMatch(/^[0-9a-f]{24}$/)
    }
  })

  it('the statuses of success; 204 and 304 have neither body nor type (G-7, W-13, W-14, W-15)', async () => {
    const created = await t
      .api('post', '/projects', user)
      .send({ name: `life${user.id}` })
      .expect(201)
    const path = `/projects/${(created.body as { id: number }).id}`
    await t.api('get', path, user).expect(200)
    await t.api('put', path, user).send({ description: 'x' }).expect(200)
    await t.api('post', `${path}/star`, user).expect(201)
    for (const response of [
      await t.api('post', `${path}/star`, user).expect(304),
      await t.api('delete', `/personal_access_tokens/${await tokenId()}`, user).expect(204),
    ]) {
      expect(response.headers['content-type']).toBeUndefined()
      expect(response.text).toBeFalsy()
    }
    await t.api('delete', `${path}?permanently_remove=true`, user).expect(202, { message: '202 Accepted' })
    await t.api('get', path, user).expect(404)
  })

  const tokenId = async () =>
    (
      (
        await t
          .api('post', '/user/personal_access_tokens', user)
          .send({ name: 'x', scopes: ['api'] })
          .expect(201)
      ).body as { id: number }
    ).id

  it('HEAD answers as GET does, without the body (W-9, G-9)', async () => {
    for (const path of ['/user', '/projects', project.path, '/groups', '/version', `${project.path}/members`, '/projects/999999', '/users?page=x']) {
      const get = await t.api('get', path, user)
      const head = await t.api('head', path, user)
      const shown = ({ headers }: typeof get) =>
        ['content-type', 'content-length', 'x-total', 'link'].map((name) => headers[name] as string | undefined)
      expect([path, head.status, ...shown(head)]).toEqual([path, get.status, ...shown(get)])
      expect(head.text).toBeFalsy()
    }
  })

  it('moments are UTC with milliseconds; those of commits have a fraction of zeros (G-81, W-16)', async () => {
    const { body } = await t.api('get', project.path, user).expect(200)
    expect((body as { created_at: string }).created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    const commits = await t.api('get', `${project.path}/repository/commits`, user).expect(200)
    expect((commits.body as { committed_date: string }[])[0]?.committed_date).toMatch(/T\d\d:\d\d:\d\d\.000(Z|[+-]\d\d:\d\d)$/)
  })

  it('refused calls change nothing (SEC-2)', async () => {
    const before = await rows()
    await t.api('post', '/groups', user).send({ name: 'a', path: '-bad' }).expect(400)
    await t.api('post', '/projects', user).send({ name: 'x', path: project.fullPath }).expect(400)
    await t.api('post', '/users', user).send({ email: 'a@example.com', password: 'password', name: 'a', username: 'abcdef' }).expect(403)
    await t.api('post', '/users', admin).send({ email: 'a@example.com', password: 'short', name: 'a', username: 'abcdef' }).expect(400)
    await t
      .api('put', project.path, await aUser(t.ctx))
      .send({ name: 'taken' })
      .expect(403)
    const [people, ...rest] = await rows()
    expect([people, ...rest]).toEqual([(before[0] ?? 0) + 1, before[1], (before[2] ?? 0) + 1])
    expect((await t.api('get', project.path, user)).body).toMatchObject({ id: project.id })
  })

  it('the shapes of all answers are closed (SEC-8)', () => {
    const open: string[] = []
    const walk = (schema: unknown, where: string) => {
      const def = (schema as { def?: Record<string, unknown> } | undefined)?.def
      if (!def) return
      if (def['type'] === 'object') {
        if ((def['catchall'] as { def?: { type?: string } } | undefined)?.def?.type !== 'never') open.push(where)
        for (const [name, inner] of Object.entries(def['shape'] as object)) walk(inner, `${where}.${name}`)
      }
      for (const inner of [def['element'], def['innerType'], def['valueType'], ...((def['options'] as unknown[] | undefined) ?? [])])
        walk(inner, where)
    }
    for (const { method, path, output } of families.flat()) walk(output, `${method} ${path}`)
    expect(open).toEqual([])
    expect(families.flat().filter(({ output }) => output).length).toBeGreaterThan(40)
  })
})

describe('the order of checks (G-10, G-11, W-36, W-37)', () => {
  it('route and method come before the body', async () => {
    for (const [method, path, status] of [
      ['PUT', '/api/v4/nothing', 404],
      ['PATCH', '/api/v4/user', 405],
      ['POST', '/x', 404],
    ] as const) {
      expect((await raw(method, path, { headers: ['Content-Type: application/json'], body: '{' })).status).toBe(status)
    }
  })

  it('the body is checked before credentials, credentials before parameters', async () => {
    await t.api('post', '/groups').set('content-type', 'application/json').send('{').expect(400)
    await t.api('post', '/groups').send({}).expect(401, { message: '401 Unauthorized' })
    await t.api('get', '/projects?page=x', { token: 'unknown' }).expect(401)
    await t.api('get', '/projects?page=x').expect(400)
  })

  it('parameters of /users are checked before permissions (G-11)', async () => {
    await t.api('post', '/users', user).send({}).expect(400)
    await t.api('post', '/users').send({}).expect(401)
    await t
      .api('post', '/users', user)
      .send({ email: 'e@example.com', name: 'n', username: 'nnn', password: 'password' })
      .expect(403, { message: '403 Forbidden' })
  })

  it('for commits the project and the right to push come before parameters (G-11)', async () => {
    const [guest, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const hidden = await aProject(t.ctx, { guest })
    await t.api('post', `${hidden.path}/repository/commits`, guest).send({}).expect(403, { message: '403 Forbidden' })
    await t.api('post', `${hidden.path}/repository/commits`, stranger).send({}).expect(404, { message: '404 Project Not Found' })
    await t.api('post', `${hidden.path}/repository/commits`, hidden.creator).send({}).expect(400)
  })

  it('without a credential a write is a 401 before anything is looked up, but for commits (W-37, SEC-10)', async () => {
    for (const path of ['/projects/999999/star', '/groups/999999/members', '/projects'])
      await t.api('post', path).send({}).expect(401, { message: '401 Unauthorized' })
    await t.api('delete', '/projects/999999').expect(401)
    await t.api('post', '/projects/999999/repository/commits').send({}).expect(404, { message: '404 Project Not Found' })
    await t.api('post', `${project.path}/repository/commits`).send({}).expect(403)
    await t.api('get', '/projects/999999').expect(404)
    await t.api('get', `${project.path}/members`).expect(401)
    await t.api('get', '/users').expect(403)
  })

  it('groups read their parameters before the group is looked up (W-36)', async () => {
    await t.api('get', '/groups/999999?with_projects=maybe', user).expect(400, { error: 'with_projects is invalid' })
    await t.api('get', '/groups/999999', user).expect(404)
  })
})

describe('broken HTTP (SEC-1, SEC-69, SEC-76)', () => {
  it.each([
    ['no HTTP at all', 'GARBAGE\r\n\r\n', 400],
    ['an unknown method', 'FOO / HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['no host', 'GET /api/v4/groups HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['a NUL in a header', 'GET /api/v4/user HTTP/1.1\r\nHost: a\r\nPRIVATE-TOKEN: a\0b\r\n\r\n', 400],
    ['two lengths', 'POST /api/v4/groups HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx', 400],
    ['length and chunks', 'POST /api/v4/groups HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    ['bad chunks', 'POST /api/v4/groups HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400],
    ['headers above 16 KiB', `GET /api/v4/groups HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(17_000)}\r\n\r\n`, 431],
    ['a request line above 8 KiB', `GET /api/v4/groups?${'a'.repeat(8_200)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, 414],
    ['a request line above 16 KiB', `GET /api/v4/groups?${'a'.repeat(17_000)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, 431],
  ])('%s is answered in JSON and the connection closes', async (_, bytes, status) => {
    const answer = await rawAnswer(t.url, bytes)
    expect(answer.status).toBe(status)
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'x-content-type-options': 'nosniff', 'x-frame-options': 'SAMEORIGIN' })
    expect(answer.headers['x-request-id']).toBeTruthy()
    expect(answer.body).toMatch(/^\{"(message|error)":"[^"]+"\}$/)
    expect(answer.body).not.toMatch(/node_modules|at .*\.(js|ts)|HPE_/)
  })

  it('a bad request does not spoil the next one', async () => {
    expect((await t.api('get', '/user', user)).status).toBe(200)
  })

  it('a token in the URL is in no line of the log (SEC-24)', async () => {
    await t.api('get', `/user?private_token=${user.token}`).expect(200)
    await t.api('get', `/user?access_token=wrong${user.token}`).expect(401)
    await t.api('get', '/user').set('X-Token', user.token).set('Authorization', `Basic ${user.token}`).expect(401)
    expect(t.logged.length).toBeGreaterThan(0)
    expect(t.logged.filter((line) => line.includes(user.token) || line.includes(admin.token))).toEqual([])
  })
})
