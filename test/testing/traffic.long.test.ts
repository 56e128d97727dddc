// @module-tag long
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { type Roost, startRoost } from '../../testing/index.mjs'
import { startEnvironment } from '../support/servers/started-roost.js'

let roost: Roost
beforeAll(async () => {
  await build()
  roost = await startRoost({
    env: startEnvironment(),
    seed: { users: [{ username: 'ann', tokens: ['a-token-of-ann'] }], projects: [{ path: 'ann/one', files: { 'README.md': '# One\n' } }] },
  })
})
beforeEach(() => roost.reset())
afterAll(() => roost.stop())

const call = (path: string, init: RequestInit = {}, token = roost.token) =>
  fetch(`${roost.url}/api/v4${path}`, { ...init, headers: { 'private-token': token, 'content-type': 'application/json', ...init.headers } })
const statusOf = async (path: string, init?: RequestInit, token?: string) => (await call(path, init, token)).status

describe('requests', () => {
  it('has each call with its route, caller, status and bodies, and nothing of the seed', async () => {
    expect(await roost.requests()).toEqual([])
    await call('/projects/1/issues?x=1', { method: 'POST', body: JSON.stringify({ title: 'an issue' }) }, 'a-token-of-ann')
    await call('/projects/1', {}, 'no-such-token')
    await call('/no/such/route')
    const [first, second, third] = await roost.requests()
    expect(first).toMatchObject({
      ...{ number: 1, method: 'POST', path: '/api/v4/projects/1/issues', route: '/api/v4/projects/:id/issues', query: '?x=1' },
      ...{ caller: 'ann', sudoer: null, status: 201, body: { title: 'an issue' }, answer: { title: 'an issue', iid: 1 } },
    })
    expect(first?.headers['private-token']).toBe('a-token-of-ann')
    expect(first?.duration).toBeGreaterThan(0)
    expect(second).toMatchObject({ number: 2, caller: null, status: 401, body: null, answer: { message: '401 Unauthorized' } })
    expect(third).toMatchObject({ number: 3, route: null, status: 404 })
  })

  it('has the route of a call whose method it does not have', async () => {
    expect(await statusOf('/projects/1/labels/2', { method: 'POST' })).toBe(405)
    expect(await statusOf('/no/such', { method: 'POST' })).toBe(404)
    expect(await roost.requests({ method: 'POST' })).toMatchObject([
      { route: '/api/v4/projects/:id/labels/:label_id', status: 405 },
      { route: null, status: 404 },
    ])
    await roost.fail({ route: '/version', status: 503 })
    expect(await statusOf('/version', { method: 'DELETE' })).toBe(503)
  })

  it('records who acts for whom, and is read with filters', async () => {
    await call('/user', { headers: { sudo: 'ann' } })
    await call('/version')
    expect(await roost.requests({ route: '/user' })).toMatchObject([{ caller: 'ann', sudoer: 'root' }])
    expect(await roost.requests({ caller: 'root', method: 'GET', path: '*/vers*', status: 200 })).toMatchObject([{ path: '/api/v4/version' }])
    await expect(roost.requests({ route: '/users/:name' })).rejects.toThrow('route: there is no /users/:name')
  })

  it('has the calls of Git, whose bodies are no text', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clone-'))
    try {
      await promisify(execFile)('git', ['clone', '-q', `${roost.url.replace('://', '://ann:a-token-of-ann@')}/ann/one.git`, folder])
    } finally {
      await rm(folder, { recursive: true })
    }
    const calls = await roost.requests({ caller: 'ann' })
    expect(calls.map(({ route, status }) => [route, status])).toEqual([
      ['/:project.git/info/refs', 200],
      ['/:project.git/git-upload-pack', 200],
      ['/:project.git/git-upload-pack', 200],
    ])
    expect(calls.at(-1)?.answer).toBeNull()
  })

  it('keeps the beginning of a large body, as a text', async () => {
    await call('/projects/1/issues', { method: 'POST', body: JSON.stringify({ title: 'x', description: 'y'.repeat(100_000) }) })
    const [recorded] = await roost.requests()
    expect(recorded?.body).toHaveLength(64 * 1024)
    expect(recorded?.body).toMatch(/^\{"title":"x","description":"y+$/)
  })
})

describe('faults', () => {
  it('answers so many calls with a status, in the words of the service', async () => {
    await roost.fail({ route: '/projects/:id', status: 503, times: 2 })
    const answer = await call('/projects/1')
    expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
      503,
      '1',
      { message: '503 Service Unavailable: The service is busy' },
    ])
    expect(answer.headers.get('x-request-id')).not.toBeNull()
    expect([await statusOf('/projects/1'), await statusOf('/projects/1'), await statusOf('/version')]).toEqual([503, 200, 200])
    expect((await roost.requests({ status: 503 })).map(({ caller }) => caller)).toEqual([null, null])
  })

  it.each([
    [401, 'application/json', '{"message":"401 Unauthorized"}'],
    [404, 'application/json', '{"message":"404 Not found"}'],
    [429, 'text/plain; charset=utf-8', 'Retry later'],
    [500, 'application/json', '{"message":"500 Internal Server Error"}'],
    [502, 'text/html', /<title>502 Bad Gateway<\/title>/],
  ])('%i has the body that clients know', async (status, type, body) => {
    await roost.fail({ method: 'GET', path: '/api/*', status })
    const answer = await call('/user')
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, type])
    expect(await answer.text()).toEqual(body instanceof RegExp ? expect.stringMatching(body) : body)
  })

  it('takes a body and headers, of a route that does not exist as well', async () => {
    await roost.fail({ path: '/api/v4/not/yet', status: 418, body: { message: 'soon' }, headers: { 'x-more': 'yes' } })
    const answer = await call('/not/yet')
    expect([answer.status, answer.headers.get('x-more'), await answer.json()]).toEqual([418, 'yes', { message: 'soon' }])
    expect(await statusOf('/not/yet')).toBe(404)
  })

  it('skips the first calls, and never ends if requested', async () => {
    await roost.fail({ route: '/version', status: 500, after: 2, times: 'always' })
    const seen: number[] = []
    for (let i = 0; i < 5; i++) seen.push(await statusOf('/version'))
    expect(seen).toEqual([200, 200, 500, 500, 500])
  })

  it('disconnects, and cuts answers short', async () => {
    await roost.fail({ route: '/version', disconnect: true })
    await expect(call('/version')).rejects.toThrow()
    await roost.fail({ route: '/version', cut: 5 })
    await expect(call('/version').then((answer) => answer.text())).rejects.toThrow()
    expect((await roost.requests()).map(({ status, answer }) => [status, answer])).toEqual([
      [null, null],
      [200, '{"ver'],
    ])
    expect(await statusOf('/version')).toBe(200)
  })

  it('delays a call, which is served then', async () => {
    await roost.fail({ route: '/version', delay: 0.05 })
    expect(await statusOf('/version')).toBe(200)
    await roost.fail({ route: '/version', delay: 600 })
    await expect(call('/version', { signal: AbortSignal.timeout(50) })).rejects.toThrow(/timeout/)
    await expect.poll(() => roost.requests({ route: '/version' })).toMatchObject([{ status: 200 }, { status: null }])
  })

  it('answers Git in its own words', async () => {
    await roost.fail({ route: '/:project.git/info/refs', status: 503 })
    const answer = await fetch(`${roost.url}/ann/one.git/info/refs?service=git-upload-pack`)
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      503,
      'text/plain',
      'The service is busy. Please try again.\n',
    ])
  })

  it.each([
    [{ status: 200 }, /^roost: status: /],
    [{ status: 500, cut: 1 }, /more than one of/],
    [{ route: '/version' }, /none of status/],
    [{ route: '/verzion', status: 500 }, /there is no \/verzion/],
    [{ delay: 1, body: 'x' }, /without a status/],
    [{ status: 500, time: 1 }, /time/],
  ])('refuses %j', async (fault, why) => {
    await expect(roost.fail(fault as never)).rejects.toThrow(why)
  })
})

describe('rateLimit (SEC-148, W-34)', () => {
  it('counts each credential for itself, and answers as the service does', async () => {
    await roost.rateLimit({ route: '/version', limit: 2, window: 600 })
    const left: (string | null)[] = []
    for (let i = 0; i < 2; i++) left.push((await call('/version')).headers.get('ratelimit-remaining'))
    expect(left).toEqual(['1', '0'])
    const answer = await call('/version')
    expect([answer.status, await answer.text()]).toEqual([429, 'Retry later'])
    const { 'ratelimit-limit': limit, 'ratelimit-observed': observed, 'retry-after': wait } = Object.fromEntries(answer.headers)
    expect([limit, observed, Number(wait) > 590 && Number(wait) <= 600]).toEqual(['2', '3', true])
    expect(Number(answer.headers.get('ratelimit-reset'))).toBeGreaterThan(Date.now() / 1_000)
    expect([await statusOf('/user'), await statusOf('/version', {}, 'a-token-of-ann')]).toEqual([200, 200])
  })

  it('ends with a reset, as faults do', async () => {
    await roost.rateLimit({ limit: 0 })
    await roost.fail({ status: 500, times: 'always' })
    expect(await statusOf('/version')).toBe(500)
    await roost.reset()
    expect(await statusOf('/version')).toBe(200)
    expect(await roost.requests()).toHaveLength(1)
  })
})

it('clears records and faults separately, through the control channel', async () => {
  const clear = async (part: string) => (await fetch(`${roost.control}/worlds/${roost.world}/${part}`, { method: 'DELETE' })).status
  await roost.fail({ route: '/version', status: 500, times: 'always' })
  await roost.rateLimit({ route: '/user', limit: 0 })
  expect([await statusOf('/version'), await statusOf('/user')]).toEqual([500, 429])
  expect([await clear('requests'), await roost.requests()]).toEqual([204, []])
  expect([await clear('faults'), await statusOf('/version'), await statusOf('/user')]).toEqual([204, 200, 429])
  expect([await clear('limits'), await statusOf('/user')]).toEqual([204, 200])
  expect((await roost.requests()).map(({ number }) => number)).toEqual([1, 2, 3])
})

it('a server without --clock has no clock to advance', async () => {
  await expect(roost.advance(1)).rejects.toThrow('the server was started without --clock')
})
