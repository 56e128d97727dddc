import { type AddressInfo, connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildApp } from '../../src/app.js'
import { Slices } from '../../src/lib/async/slices.js'
import { testApp } from '../support/app.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
const MIB = 1024 * 1024
const LONG = { timeout: 30_000 }
let user: TestUser
let project: TestProject

beforeAll(async () => {
  user = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: user, guest: await aUser(t.ctx), files: { a: 'a' } })
})

interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

/** A request of which only the given bytes are sent; the answer is there as soon as all of it has come. */
function begin(url: string, bytes: string) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const answer = new Promise<Answer>((resolve, reject) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0)
      if (end < 0 || text.length < end + 4 + length) return
      const [first = '', ...lines] = text.slice(0, end).split('\r\n')
      const headers = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]))
      resolve({ status: Number(first.split(' ')[1]), headers, body: text.slice(end + 4) })
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`closed after ${text.length} bytes`)))
  })
  answer.catch(() => undefined)
  socket.write(bytes, 'latin1')
  return { socket, answer, send: (more: string) => socket.write(more, 'latin1') }
}

const head = (path: string, lines: Record<string, string | number>) =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\n${Object.entries({ 'content-type': 'application/json', ...lines })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

/** The answer to a request of which no more than this will ever be sent. */
async function answerTo(path: string, lines: Record<string, string | number>, part = '', url = t.url): Promise<Answer> {
  const { socket, answer } = begin(url, head(path, lines) + part)
  return answer.finally(() => socket.destroy())
}

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

describe('callers who may send a body above 64 KiB (SEC-71)', () => {
  const commits = () => `/api/v4${project.path}/repository/commits`

  it('a caller without a credential is refused before the body has arrived, and the connection ends', async () => {
    for (const [path, status] of [
      ['/api/v4/projects/999999/issues', 401],
      ['/api/v4/groups', 401],
      ['/api/v4/projects/999999/repository/commits', 404],
      [commits(), 404],
    ] as const) {
      const { status: given, headers } = await answerTo(path, { 'content-length': 8 * MIB })
      expect([path, given, headers['connection']]).toEqual([path, status, 'close'])
    }
  })

  it('nor from a caller whom the access rule refuses', async () => {
    const [stranger, guest] = [await aUser(t.ctx), await aUser(t.ctx)]
    const other = await aProject(t.ctx, { creator: user, guest })
    const path = `/api/v4${other.path}/repository/commits`
    const as = (token: string) => answerTo(path, { 'content-length': 50 * MIB, 'private-token': token })
    expect((await as(stranger.token)).status).toBe(404)
    expect((await as(guest.token)).status).toBe(403)
    expect((await as('unknown')).status).toBe(401)
    expect((await answerTo('/api/v4/users', { 'content-length': 8 * MIB, 'private-token': guest.token })).status).toBe(403)
  })

  it.each(['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=b'])(
    'of unknown length: refused once 64 KiB have come (%s)',
    async (type) => {
      const start = type.startsWith('m')
        ? '--b\r\nContent-Disposition: form-data; name="title"\r\n\r\n'
        : type.endsWith('json')
          ? '{"title":"'
          : 'title='
      const lines = { 'content-type': type, 'transfer-encoding': 'chunked' }
      const { status, headers } = await answerTo('/api/v4/groups', lines, chunk(start) + chunk('a'.repeat(66_000)))
      expect([status, headers['connection']]).toEqual([401, 'close'])
    },
  )

  it('a token in the body counts up to 64 KiB, and above only beside one in the headers (G-12)', async () => {
    const send = (size: number, more = {}, query = '') =>
      t.api('post', `/projects${query}`).send({ name: `sized${size}${query.length}`, private_token: user.token, padding: 'x'.repeat(size), ...more })
    await send(60_000).expect(201)
    await send(66_000).expect(401, { message: '401 Unauthorized' })
    await send(66_000, {}, `?private_token=${user.token}`).expect(201)
    await send(66_000, { private_token: 'unknown' }, `?private_token=${user.token}`).expect(401)
  })

  it('nor many values in few bytes', async () => {
    const part = `{"a":[${'{},'.repeat(10_000)}`
    expect((await answerTo('/api/v4/groups', { 'content-length': 60_000 }, part)).status).toBe(401)
    expect((await answerTo('/oauth/token', { 'content-length': 60_000 }, part)).status).toBe(413)
  })

  it('sudo counts in a body of any size (SEC-20)', async () => {
    const admin = await anAdmin(t.ctx)
    const body = { name: `for-another${user.id}`, sudo: user.username, padding: 'x'.repeat(100_000) }
    expect((await t.api('post', '/projects', admin).send(body).expect(201)).body).toMatchObject({ creator_id: user.id })
  })

  it('is counted once as a request (SEC-148)', async () => {
    const counted = t.ctx.access.requestLimit.count.bind(t.ctx.access.requestLimit)
    let calls = 0
    t.ctx.access.requestLimit.count = (...given) => {
      calls++
      return counted(...given)
    }
    await t
      .api('post', '/projects', user)
      .send({ name: `counted${user.id}`, padding: 'x'.repeat(100_000) })
      .expect(201)
    t.ctx.access.requestLimit.count = counted
    expect(calls).toBe(1)
  })

  it('/oauth/token takes 64 KiB from any caller', async () => {
    const lines = { 'content-type': 'application/x-www-form-urlencoded', authorization: `Bearer ${user.token}` }
    expect((await answerTo('/oauth/token', { ...lines, 'content-length': 65_537 })).status).toBe(413)
    expect((await answerTo('/oauth/token', { ...lines, 'transfer-encoding': 'chunked' }, chunk(`a=${'a'.repeat(66_000)}`))).status).toBe(413)
    expect((await answerTo('/oauth/token', { ...lines, 'content-length': 4 }, 'a=bc')).status).toBe(400)
  })

  it('of many refused bodies few are waited for: the connections of the others end with the answer (SEC-142)', async () => {
    const sent = Array.from({ length: 60 }, () => begin(t.url, head('/api/v4/groups', { 'content-length': 8 * MIB })))
    for (const { answer } of sent) expect((await answer).status).toBe(401)
    const open = () => sent.filter(({ socket }) => !socket.destroyed && !socket.readableEnded).length
    await expect.poll(open).toBeLessThanOrEqual(32)
    for (const { socket } of sent) socket.destroy()
  })

  it('a client that reads the answer after it has sent all gets it', async () => {
    await t
      .api('post', '/groups')
      .send({ name: 'x'.repeat(4 * MIB) })
      .expect(401, { message: '401 Unauthorized' })
  })
})

describe('limits of a body (SEC-71, SEC-75)', () => {
  const open = (type: string) => ({ 'content-type': type, 'content-length': 60 * MIB, 'private-token': user.token })
  const commits = () => `/api/v4${project.path}/repository/commits`

  it.each([
    ['elements', 'application/json', `{"actions":[${'{},'.repeat(100_001)}`, 'too many parameters'],
    ['depth', 'application/json', `{"actions":${'['.repeat(100)}`, 'parameters are nested too deeply'],
    ['a list', 'application/json', '['.repeat(100), 'message body does not match declared format'],
    ['a name', 'application/json', `{"${'a'.repeat(300)}`, 'a parameter name is too long'],
    [
      'parts',
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="a[]"\r\n\r\nx\r\n'.repeat(1_020),
      'the body has too many parts, or one that is not accepted',
    ],
  ])('%s: refused where the limit is passed, not at the end (%s)', async (_, type, part, error) => {
    const { status, body } = await answerTo(commits(), open(type), part)
    expect([status, JSON.parse(body)]).toEqual([400, { error }])
  })

  const PART = '--b\r\nContent-Disposition: form-data; name="content"\r\n'

  it.each([
    ['a file', '--b\r\nContent-Disposition: form-data; name="avatar"; filename="f"\r\n\r\n'],
    ['text before the first part', 'before'],
    ['a line of a header', PART],
    ['text after the last part', `${PART}\r\nx\r\n--b--\r\n`],
  ])('multipart: %s that does not end is a 401 for anonymous callers after 64 KiB, and a 413 for others at the limit', async (_, start) => {
    const lines = { 'content-type': 'multipart/form-data; boundary=b', 'transfer-encoding': 'chunked' }
    const sent = chunk(start) + chunk('x'.repeat(70_000))
    expect(await answerTo('/api/v4/groups', lines, sent)).toMatchObject({ status: 401, headers: { connection: 'close' } })
    const more = chunk('x'.repeat(MIB)).repeat(8)
    expect((await answerTo('/api/v4/groups', { ...lines, 'private-token': user.token }, sent + more)).status).toBe(413)
  })

  it('multipart: a connection is used again, whatever follows the last part', async () => {
    const lines = { 'content-type': 'multipart/form-data; boundary=b', 'transfer-encoding': 'chunked' }
    const sent = chunk(`${PART}\r\nx\r\n--b--\r\n`)
    const { socket, answer, send } = begin(t.url, head('/api/v4/groups', lines) + sent)
    await t.api('get', '/user', user).expect(200)
    send(`${chunk('the end\r\n')}0\r\n\r\n`)
    expect((await answer).headers['connection']).toBe('keep-alive')
    socket.destroy()
  })

  it('multipart: a field that calls itself JSON is a text like any other', async () => {
    const description = '{"a":[1]}'
    const lines = { 'content-type': 'multipart/form-data; boundary=b', 'private-token': user.token }
    const part = `--b\r\nContent-Disposition: form-data; name="title"\r\nContent-Type: application/json\r\n\r\n${description}\r\n--b--\r\n`
    const { status, body } = await answerTo(`/api/v4${project.path}/issues`, { ...lines, 'content-length': part.length }, part)
    expect([status, JSON.parse(body).title]).toEqual([201, description])
  })

  it('a list that is too long costs no look at its elements (SEC-77)', async () => {
    const labels = Array.from({ length: 90_000 }, () => ({}))
    for (const [path, sent] of [
      [`${project.path}/issues`, { title: 'x', assignee_ids: labels }],
      [`${project.path}/issues`, { title: 'x', labels: ','.repeat(1_000_000) }],
      ['/user/personal_access_tokens', { name: 'x', scopes: labels }],
    ] as const)
      expect(Object.keys((await t.api('post', path, user).send(sent).expect(400)).body)).toEqual(['error'])
  })

  it('10,000 actions with all their fields are within the limits (SEC-97)', async () => {
    const actions = Array.from({ length: 10_000 }, (_, i) => ({
      action: 'create',
      file_path: `many/${i % 100}/${i}`,
      content: 'x',
      encoding: 'text',
      execute_filemode: false,
      last_commit_id: '',
    }))
    await t.api('post', `${project.path}/repository/commits`, user).send({ branch: 'main', commit_message: 'Many', actions }).expect(201)
  })

  const form = (more: Record<string, string | number>, text: string) =>
    answerTo(commits(), { 'content-type': 'application/x-www-form-urlencoded', 'private-token': user.token, ...more }, text)

  it('a form has at most 1 MiB, 1,000 fields and 32 levels', async () => {
    expect((await form({ 'content-length': MIB + 1 }, '')).status).toBe(413)
    expect((await form({ 'transfer-encoding': 'chunked' }, chunk(`a=${'a'.repeat(MIB)}`))).status).toBe(413)
    for (const [text, error] of [
      ['a=1&'.repeat(1_001), 'too many parameters'],
      [`a${'[b]'.repeat(32)}=1&`, 'parameters are nested too deeply'],
      [`branch=${'a'.repeat(100_000)}%`, 'a parameter is not valid UTF-8'],
    ] as const)
      expect(await form({ 'content-length': text.length }, text)).toMatchObject({ status: 400, body: JSON.stringify({ error }) })
  })

  it('a form of 1 MiB is read like a small one', async () => {
    const content = 'öffentlich & 100 % = +\n'.repeat(21_000)
    await t
      .api('post', `${project.path}/repository/files/large.txt`, user)
      .type('form')
      .send({ branch: 'main', commit_message: 'A form', content })
      .expect(201)
    expect((await t.api('get', `${project.path}/repository/files/large.txt/raw`, user).expect(200)).text).toBe(content)
  })
})

describe('all bodies together (SEC-71, SEC-150)', () => {
  const small = testApp({ ROOST_MAX_BODY_BYTES: String(MIB), ROOST_BODY_MEMORY_BYTES: String(MIB) })

  it.each([
    ['application/json', '{"branch":"'],
    ['application/x-www-form-urlencoded', 'branch='],
    ['multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data; name="branch"\r\n\r\n'],
  ])(
    '%s: above the bound 503 with Retry-After, and nothing for bodies up to 64 KiB; memory is free again when a request ends',
    async (type, start) => {
      const sender = await aUser(small.ctx)
      const { path } = await aProject(small.ctx, { creator: sender, files: { a: 'a' } })
      const lines = { 'content-type': type, 'content-length': MIB, 'private-token': sender.token }
      const half = () => begin(small.url, `${head(`/api/v4${path}/repository/commits`, lines)}${start}${'x'.repeat(700_000)}`)
      // there is room for one of two: whichever comes first is then waited for
      const refusedOf = (halves: ReturnType<typeof half>[]) => Promise.race(halves.map(async (refused) => ({ refused, ...(await refused.answer) })))
      const halves = [half(), half()]
      const { refused, status, headers } = await refusedOf(halves)
      expect([status, headers['retry-after']]).toEqual([503, expect.stringMatching(/^\d+$/)])
      halves.splice(halves.indexOf(refused), 1, half())
      expect((await refusedOf(halves)).status).toBe(503)
      await small
        .api('put', path, sender)
        .send({ description: 'y'.repeat(1_000) })
        .expect(200)
      for (const { socket } of [refused, ...halves]) socket.destroy()
      await expect
        .poll(async () => (await small.api('put', path, sender).send({ padding: 'y'.repeat(700_000), description: 'z' })).status, LONG)
        .toBe(200)
      // a handler that is done gives back what its body took
      for (let i = 0; i < 5; i++)
        await small
          .api('put', path, sender)
          .send({ padding: 'y'.repeat(700_000), description: 'z' })
          .expect(200)
    },
  )
})

describe('slow bodies (SEC-142)', () => {
  let slow: FastifyInstance
  let url: string
  beforeAll(async () => {
    slow = await buildApp(t.ctx, { minimumRate: { every: 1_000, bytes: 100 } })
    await slow.listen({ host: '127.0.0.1', port: 0 })
    url = `http://127.0.0.1:${(slow.server.address() as AddressInfo).port}`
    return () => slow.close()
  })

  it.each([
    ['/oauth/token', 'application/x-www-form-urlencoded', 'grant_type='],
    ['/api/v4/groups', 'application/json', '{"name":"'],
    ['/api/v4/groups', 'application/x-www-form-urlencoded', 'name='],
    ['/api/v4/groups', 'multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data; name="name"\r\n\r\n'],
    ['/api/v4/groups', 'multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data; name="avatar"; filename="f"\r\n\r\nx'],
    ['/api/v4/groups', 'multipart/form-data; boundary=b', 'before the first part'],
    ['/api/v4/groups', 'multipart/form-data; boundary=b', '--b--\r\nafter the last part'],
    ['/api/v4/groups', 'text/plain', ''],
  ])('%s as %s: what stops coming is 408 and ends the connection', async (path, type, part) => {
    const { status, headers, body } = await answerTo(path, { 'content-type': type, 'content-length': 1_000 }, part, url)
    expect([status, headers['connection'], JSON.parse(body)]).toEqual([408, 'close', { message: '408 Request Timeout' }])
  })

  it('a body that keeps its pace is accepted', async () => {
    const { socket, answer, send } = begin(url, head('/api/v4/groups', { 'content-length': 1_211, 'private-token': user.token }))
    send('{"name":"')
    for (let i = 0; i < 12; i++) {
      await new Promise((resolve) => setTimeout(resolve, 80))
      send('x'.repeat(100))
    }
    send('"}')
    expect((await answer).status).toBe(400)
    socket.destroy()
  })
})

describe('connections (SEC-142)', () => {
  const few = testApp({ ROOST_MAX_CONNECTIONS: '10' })

  it('above the limit are closed unanswered; one that ends makes room', async () => {
    const taken = Array.from({ length: 10 }, () => begin(few.url, 'GET /-/health HTTP/1.1\r\n'))
    const another = async () => {
      const { socket, answer } = begin(few.url, 'GET /-/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
      return (await answer.catch(() => socket.destroy() && null))?.status
    }
    await expect.poll(another, LONG).toBeUndefined()
    taken[0]?.socket.destroy()
    await expect.poll(another, LONG).toBe(200)
    for (const { socket } of taken) socket.destroy()
  })
})

describe('work in slices (SEC-145)', () => {
  it('leaves turns of the event loop between long pieces of any number of callers', async () => {
    const slices = new Slices()
    let turns = 0
    let over = false
    const count = () => {
      turns++
      if (!over) setImmediate(count)
    }
    setImmediate(count)
    const busy = () => {
      for (const until = performance.now() + 6; performance.now() < until; ) turns += 0
    }
    const caller = async () => {
      for (let i = 0; i < 5; i++) await slices.run(busy)
    }
    await Promise.all([caller(), caller(), caller(), caller()])
    over = true
    expect(turns).toBeGreaterThanOrEqual(19)
  })

  it('hands on what a piece gives or throws', async () => {
    const slices = new Slices()
    expect(await slices.run(() => 1)).toBe(1)
    await expect(
      slices.run(() => {
        throw new Error('x')
      }),
    ).rejects.toThrow('x')
    expect(await slices.run(async () => 2)).toBe(2)
  })
})
