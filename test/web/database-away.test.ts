import { pathToFileURL } from 'node:url'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { buildApp } from '../../src/app.js'
import { createContext, type OpenContext } from '../../src/cli/create-context.js'
import { type Database, openDatabase } from '../../src/db/client.js'
import { forms, pages } from '../../src/web/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aProject } from '../support/factories.js'
import { relayed, socketOf, startRelay } from '../support/relay.js'
import { testSpawner } from '../support/spawner.js'

const t = testApp()
let relay: Awaited<ReturnType<typeof startRelay>>
let db: Database
let ctx: OpenContext
let app: FastifyInstance
let cookie: string
let token: string
let project: string
let formToken: string

/** Pages that are the same for everybody. */
const HTML = { accept: 'text/html' }

beforeAll(async () => {
  const admin = await anAdmin(t.ctx)
  token = admin.token
  project = (await aProject(t.ctx, { creator: admin, files: { 'README.md': 'one' } })).fullPath
  const browser = new TestBrowser(t.url)
  await browser.signIn(admin)
  cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  formToken = String(browser.page?.$('[name=authenticity_token]').val())
  relay = await startRelay(socketOf(t.databaseUrl))
  db = await openDatabase(relayed(t.databaseUrl, relay.port), { log: t.ctx.log, poolSize: 2 })
  ctx = await createContext({ ...t.ctx.config, baseUrl: 'http://roost.test' }, db, t.ctx.log, testSpawner, {
    workers: 1,
    programs: pathToFileURL(await build()),
  })
  app = await buildApp(ctx)
  for (const headers of [{ ...HTML, cookie }, HTML]) expect((await app.inject({ url: '/help', headers })).statusCode).toBe(200)
  await relay.cut()
  // what is cached for a second goes on meanwhile
  ctx.caches.settings.invalidate()
})
afterAll(async () => {
  await app.close()
  await ctx.close()
  await db.close()
})

const at = (address: string) => address.replace(/^P/, `/${project}`).replace(/^[GU]/, '/root').replace(/:\w+/g, '1').replace(/\*$/, 'main')

/** What an answer is, in one line; a page that needs no database says so by 200 or 302. */
async function answerTo(options: InjectOptions): Promise<string> {
  const { statusCode, headers, body } = await app.inject(options)
  const page = /^text\/html/.test(String(headers['content-type']))
    ? `page${body.includes('<h1') ? '' : ' without a heading'}`
    : String(headers['content-type'])
  return `${statusCode} ${page}, ${Number(headers['retry-after']) > 0 ? 'again later' : 'no retry'}`
}

it.each([
  ['signed in', () => ({ ...HTML, cookie })],
  ['a visitor', () => HTML],
])('every page is the page of 503 with Retry-After while the database is away, %s (SEC-162, WB-434)', async (_, headers) => {
  const odd: string[] = []
  for (const page of pages) {
    const answer = await answerTo({ url: at(page.at), headers: headers() })
    if (answer !== '503 page, again later') odd.push(`${page.at}: ${answer}`)
  }
  expect(odd).toEqual([])
})

it('every form is the page of 503 with Retry-After while the database is away (SEC-162, WB-434)', async () => {
  const odd: string[] = []
  for (const form of forms) {
    const payload = new URLSearchParams({ _method: form.method, authenticity_token: formToken }).toString()
    const answer = await answerTo({
      method: 'POST',
      url: at(form.at),
      headers: { ...HTML, cookie, 'content-type': 'application/x-www-form-urlencoded' },
      payload,
    })
    if (answer !== '503 page, again later') odd.push(`${form.method} ${form.at}: ${answer}`)
  }
  expect(odd).toEqual([])
})

it('all other addresses are 503 with Retry-After, for programs as JSON (SEC-162, WB-434)', async () => {
  const lfs = { accept: 'application/vnd.git-lfs+json', 'content-type': 'application/vnd.git-lfs+json' }
  const addresses: Record<string, InjectOptions> = {
    feed: { url: `/${project}/-/commits/main.atom` },
    'feed of issues': { url: `/${project}/-/issues.atom` },
    dashboard: { url: '/dashboard/projects.atom' },
    raw: { url: `/${project}/-/raw/main/README.md` },
    archive: { url: `/${project}/-/archive/main/one.tar.gz` },
    avatar: { url: '/uploads/-/system/project/avatar/1/a.png' },
    'project upload': { url: `/${project}/uploads/${'a'.repeat(32)}/a.png` },
    release: { url: `/${project}/-/releases/v1/downloads/a` },
    diff: { url: `/${project}/-/commit/${'a'.repeat(40)}.diff` },
    patch: { url: `/${project}/-/merge_requests/1.patch` },
    'go get': { url: `/${project}?go-get=1` },
    git: { url: `/${project}.git/info/refs?service=git-upload-pack` },
    'git push': {
      url: `/${project}.git/info/refs?service=git-receive-pack`,
      headers: { authorization: `Basic ${Buffer.from(`root:${token}`).toString('base64')}` },
    },
    'lfs batch': { method: 'POST', url: `/${project}.git/info/lfs/objects/batch`, headers: lfs, payload: '{"operation":"download","objects":[]}' },
    'lfs object': { url: `/${project}.git/info/lfs/objects/${'a'.repeat(64)}` },
    'lfs locks': { url: `/${project}.git/info/lfs/locks`, headers: lfs },
    token: { method: 'POST', url: '/oauth/token', payload: { grant_type: 'password', username: 'root', password: 'x' } },
    userinfo: { url: '/oauth/userinfo', headers: { authorization: `Bearer ${token}` } },
    introspect: {
      method: 'POST',
      url: '/oauth/introspect',
      headers: { authorization: `Basic ${Buffer.from('a:b').toString('base64')}` },
      payload: { token },
    },
    revoke: { method: 'POST', url: '/oauth/revoke', payload: { token, client_id: 'a', client_secret: 'b' } },
    api: { url: '/api/v4/projects', headers: { 'private-token': token } },
    'api for visitors': { url: '/api/v4/projects' },
  }
  const answers: Record<string, string> = {}
  for (const [name, options] of Object.entries(addresses)) answers[name] = await answerTo(options)
  const odd = Object.entries(answers).filter(([, answer]) => !/^503 (?!page).*, again later$/.test(answer))
  expect(odd).toEqual([])
  const inBrowser: [string, string][] = []
  for (const name of ['feed', 'raw', 'archive', 'project upload', 'release', 'diff', 'patch'])
    for (const own of [{ ...HTML, cookie }, HTML]) inBrowser.push([name, await answerTo({ url: addresses[name]?.url as string, headers: own })])
  expect(inBrowser.filter(([, answer]) => answer !== '503 page, again later')).toEqual([])
})
