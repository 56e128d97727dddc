import { pathToFileURL } from 'node:url'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { buildApp } from '../../src/app.js'
import { createContext, type OpenContext } from '../../src/cli/create-context.js'
import { GitFault, gitFailure } from '../../src/git/errors.js'
import { directSpawner, type Spawner } from '../../src/git/process/spawner.js'
import { Unavailable } from '../../src/lib/unavailable.js'
import { recover } from '../../src/services/operations/recovery.js'
import { testApp } from '../support/app.js'
import { anAdmin, aProject, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
let ctx: OpenContext
let app: FastifyInstance
let owner: TestUser
let project: TestProject
let request: number
/** The git commands that are killed when they have started. */
let victims: RegExp | null = null
let killed: string[] = []

/** Kills git as an administrator or a system without memory does. */
const killingSpawner: Spawner = {
  async spawn(program, args, options) {
    const command = args.find((arg, i) => !arg.startsWith('-') && args[i - 1] !== '-c') ?? ''
    if (!victims?.test(command)) return directSpawner.spawn(program, args, options)
    killed.push(command)
    // before it has done anything, however busy the machine is
    return directSpawner.spawn('/bin/sh', ['-c', 'kill -9 $$'], options)
  },
  close: async () => {},
}

const call = (options: InjectOptions) => app.inject({ ...options, headers: { 'private-token': owner.token, ...options.headers } })
const api = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) =>
  call({ method, url: `/api/v4${project.path}${path}`, ...(payload && { payload }) })
const headOf = async (branch: string) =>
  (await t.api('get', `${project.path}/repository/branches/${branch}`, owner)).body.commit?.id as string | undefined

beforeAll(async () => {
  owner = await anAdmin(t.ctx)
  project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a.md': 'one\n', 'b.md': 'two\n' } })
  await t.api('post', `${project.path}/repository/branches`, owner).send({ branch: 'topic', ref: 'main' }).expect(201)
  await t
    .api('put', `${project.path}/repository/files/a.md`, owner)
    .send({ branch: 'topic', content: 'three\n', commit_message: 'change' })
    .expect(200)
  request = (
    await t.api('post', `${project.path}/merge_requests`, owner).send({ source_branch: 'topic', target_branch: 'main', title: 'one' }).expect(201)
  ).body.iid
  const programs = pathToFileURL(await build())
  ctx = await createContext({ ...t.ctx.config, baseUrl: 'http://roost.test' }, t.ctx.db, t.ctx.log, killingSpawner, { workers: 1, programs })
  app = await buildApp(ctx)
})
afterAll(async () => {
  victims = null
  await app.close()
  await ctx.close()
})

it('a git that was killed is unavailable, whatever it was to do; one that has failed is a fault (SEC-318)', () => {
  for (const [code, text] of [
    [null, ''],
    [137, ''],
    [143, ''],
    [128, 'error: index-pack died of signal 9\n'],
  ] as const)
    expect(gitFailure('update-ref', code, text)).toBeInstanceOf(Unavailable)
  for (const [code, text] of [
    [1, ''],
    [128, 'fatal: bad object'],
    [129, 'usage: git'],
    [128, 'remote: error: died of signal 9\n'],
  ] as const)
    expect(gitFailure('update-ref', code, text)).toBeInstanceOf(GitFault)
})

it('what git was killed in is 503 with Retry-After, and nothing has happened; afterwards all of it works (SEC-318)', async () => {
  const basic = { authorization: `Basic ${Buffer.from(`root:${owner.token}`).toString('base64')}` }
  const calls: Record<string, () => ReturnType<typeof call>> = {
    compare: () => api('GET', '/repository/compare?from=main&to=topic'),
    blame: () => api('GET', '/repository/files/a.md/blame?ref=main'),
    diff: () => api('GET', '/repository/commits/topic/diff'),
    'commits of a file': () => api('GET', '/repository/commits?path=a.md&ref_name=topic'),
    contributors: () => api('GET', '/repository/contributors'),
    archive: () => api('GET', '/repository/archive.tar.gz?sha=main'),
    search: () => api('GET', '/search?scope=blobs&search=one'),
    'search of commits': () => api('GET', '/search?scope=commits&search=change'),
    patch: () => call({ url: `/${project.fullPath}/-/merge_requests/${request}.patch` }),
    'advertisement of fetches': () => call({ url: `/${project.fullPath}.git/info/refs?service=git-upload-pack` }),
    'advertisement of pushes': () => call({ url: `/${project.fullPath}.git/info/refs?service=git-receive-pack`, headers: basic }),
    branch: () => api('POST', '/repository/branches', { branch: 'new', ref: 'main' }),
    tag: () => api('POST', '/repository/tags', { tag_name: 'v1', ref: 'main' }),
    commit: () =>
      api('POST', '/repository/commits', { branch: 'main', commit_message: 'm', actions: [{ action: 'create', file_path: 'c.md', content: 'c' }] }),
    rebase: () => api('POST', `/repository/commits/topic/cherry_pick`, { branch: 'main' }),
    merge: () => api('PUT', `/merge_requests/${request}/merge`),
    'deletion of a branch': () => api('DELETE', '/repository/branches/topic'),
  }
  const before = await headOf('main')
  victims = /./
  const answers: Record<string, string> = {}
  for (const [name, send] of Object.entries(calls)) {
    killed = []
    const { statusCode, headers, body } = await send()
    const again = Number(headers['retry-after']) > 0 ? ', again later' : ''
    // what needs no git is answered
    if (killed.length > 0 || statusCode >= 300) answers[name] = `${statusCode}${again}${statusCode === 503 ? '' : ` ${killed} ${body.slice(0, 200)}`}`
  }
  victims = null
  expect(new Set(Object.values(answers))).toEqual(new Set(['503, again later']))
  expect(Object.keys(answers).length).toBeGreaterThan(8)
  await recover(ctx)
  expect([await headOf('main'), await headOf('new'), (await headOf('topic')) !== undefined]).toEqual([before, undefined, true])
  const { search: _, 'search of commits': __, ...all } = calls
  for (const [name, send] of Object.entries(all)) expect((await send()).statusCode, name).toBeLessThan(300)
})
